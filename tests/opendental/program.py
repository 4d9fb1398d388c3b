"""A typed client of Open Dental's API on the fake: program.py BASE_URL DEVELOPER_KEY CUSTOMER_KEY KEYS

KEYS is JSON with the keys of rows. The program prints the rows it has read as JSON. Its models refuse a row with a
missing field or a field of another type.
"""

import json
import sys

from opendental import OpenDentalClient
from opendental.exceptions import OpenDentalAPIError
from opendental.resources.appointments.models import Appointment
from opendental.resources.insurance_plans.models import InsurancePlan
from opendental.resources.procedure_codes.models import ProcedureCode
from opendental.resources.procedure_logs.models import ProcedureLog

base_url, developer, customer, keys = sys.argv[1:]
keys = json.loads(keys)
client = OpenDentalClient(developer, customer, base_url, max_retries=0)


def refused(call):
    """Returns the status and the text of a refusal."""
    try:
        call()
    except OpenDentalAPIError as error:
        return [error.status_code, str(error)]
    return None


def absent(model, row):
    """Returns the documented fields of a model that a row lacks."""
    return sorted({field.alias for field in model.model_fields.values()} - row.keys())


lists = {
    "patients": client.patients.get_all(0),
    "appointments": client.appointments.list(),
    "providers": client.providers.get_all(0),
    "operatories": client.operatories.get_all(0),
    "schedules": client.schedules.list(),
    "carriers": client.carriers.get_all(0),
    "insplans": client.insurance_plans.get_all(0),
    "inssubs": client.ins_subs.get_all(throttle_delay=0),
    "patplans": client.pat_plans.get_all(0),
    "procedurecodes": client.procedure_codes.get_all(0),
    "procedurelogs": client.procedure_logs.list(pat_num=keys["patient"]),
    "feescheds": client.fee_scheds.get_all(throttle_delay=0),
    "fees": client.fees.get_all(throttle_delay=0),
}
told = {name: len(rows) for name, rows in lists.items()}

# Writes of the product as seen by staff.
booked = client.appointments.get(keys["booked"])
theirs = {
    "arrived": str(booked.date_time_arrived),
    "confirmed": booked.confirmed,
    "status": booked.apt_status,
    "start": str(booked.apt_date_time),
}

# Changes by staff, to be read by the product.
visit = client.appointments.get(keys["visit"])
arrived = client.appointments.set_arrived(visit.apt_num, "09:02:00")
wrong = refused(lambda: client.appointments.set_arrived(visit.apt_num, "2026-12-01 09:02:00"))
client.appointments.confirm(visit.apt_num, confirm_val="Confirmed")
automated = client.appointments.get(visit.apt_num).confirmed_str
client.appointments.confirm(visit.apt_num, def_num=keys["confirmed"])
client.appointments.append_note(visit.apt_num, "by the client")
client.appointments.break_appointment(keys["other"])

print(
    json.dumps(
        {
            "lists": told,
            "booked": theirs,
            "arrived": str(arrived.date_time_arrived),
            "wrong": wrong,
            "automated": automated,
            "ignored": len(client.get("/providers", {"Nonsense": "1"})),
            "refused": refused(lambda: client.get("/patients", {"DateTStamp": "2026-01-01 00:00:00"})),
            "absent": {
                "appointments": absent(Appointment, client.get("/appointments")[0]),
                "insplans": absent(InsurancePlan, client.get("/insplans")[0]),
                "procedurelogs": absent(ProcedureLog, client.get("/procedurelogs")[0]),
                "procedurecodes": absent(ProcedureCode, client.get("/procedurecodes")[0]),
            },
        }
    )
)
