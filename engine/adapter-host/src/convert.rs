//! Between the contract's types and the engine's, in both directions; what comes from a guest is checked on the way.

use std::{collections::BTreeSet, time::Duration};

use location::hours::{HourKind, RecurrenceUnit, Weekday, WorkingHour};
use records::ehr::{
    Description, EhrAppointment, EhrAppointmentType, EhrOperatory, EhrPatient, EhrProvider, EhrRecurrence,
    EhrWorkingHour, Fault, Page, PullAbility, Receipt, Resource, Write,
};
use records::schema::Limit;

use super::{
    bindings::{exports::practice_sync::ehr::ehr as wit, practice_sync::ehr::types},
    check::{self, Broken, Checked, require},
    limits::{CURSOR_BYTES, DELETED_IDS, DESCRIBED, SHORT_TEXT_BYTES},
    log_line::plain_char,
    record::{self, Convert},
};

macro_rules! resources {
    ($($name:ident)*) => {
        pub(crate) fn resource(resource: Resource) -> wit::Resource {
            match resource { $(Resource::$name => wit::Resource::$name,)* }
        }

        fn known_resource(resource: wit::Resource) -> Resource {
            match resource { $(wit::Resource::$name => Resource::$name,)* }
        }
    };
}

resources! {
    Providers Operatories AppointmentTypes Patients WorkingHours Appointments
    AppointmentDescriptors FeeSchedules InsurancePlans Coverages HistoryItems PatientHistoryItems
    PatientAlerts CommunicationLogs Conversations FormSchemas FormResponses ProcedureCodeCategories
    ProcedureCodes Fees Procedures TreatmentPlans ClinicalNotes RecallTypes
    PatientRecalls DocumentTypes Documents PaymentTypes AdjustmentTypes Charges
    Claims PaymentPlans Payments Adjustments GuarantorBalances InsuranceBalances
}

/// Its reason as the guest said it.
pub(crate) fn fault(fault: wit::Fault) -> Fault {
    match fault {
        wit::Fault::Rejected(reason) => Fault::Rejected(reason),
        wit::Fault::RetryLater((reason, after)) => {
            Fault::RetryLater { reason, after: after.map(|seconds| Duration::from_secs(seconds.into())) }
        }
        wit::Fault::Unknown(reason) => Fault::Unknown(reason),
        wit::Fault::Unauthorized(reason) => Fault::Unauthorized(reason),
        wit::Fault::Unsupported(reason) => Fault::Unsupported(reason),
        wit::Fault::GateClosed => Fault::GateClosed,
    }
}

pub(crate) fn description(from: wit::Description) -> Checked<Description> {
    require(!from.name.is_empty(), "name", "must not be empty")?;
    require(matches!(from.hosting.as_str(), "cloud" | "onprem"), "hosting", "must be cloud or onprem")?;
    require(from.pulls.len() <= DESCRIBED, "pulls", "must have at most 200 entries")?;
    require(from.writes.len() <= DESCRIBED, "writes", "must have at most 200 entries")?;
    require(
        from.required_patient_fields.len() <= DESCRIBED,
        "required_patient_fields",
        "must have at most 200 entries",
    )?;
    let few = from.unkept_patient_fields.len() <= DESCRIBED;
    require(few, "unkept_patient_fields", "must have at most 200 entries")?;
    require(from.max_lengths.len() <= DESCRIBED, "max_lengths", "must have at most 200 entries")?;
    require(from.requests_per_minute != Some(0), "requests_per_minute", "must be at least 1")?;
    let pulls: Vec<PullAbility> = from.pulls.into_iter().map(pull_ability).collect();
    let distinct: BTreeSet<Resource> = pulls.iter().map(|ability| ability.resource).collect();
    require(distinct.len() == pulls.len(), "pulls", "must name each resource once")?;
    let length = |(field, characters)| (check::text(field), characters);
    Ok(Description {
        name: shown(from.name),
        version: shown(from.version),
        hosting: from.hosting,
        pulls,
        writes: from.writes.into_iter().map(|kind| write_kind(kind).to_string()).collect(),
        required_patient_fields: from.required_patient_fields.into_iter().map(check::text).collect(),
        unkept_patient_fields: from.unkept_patient_fields.into_iter().map(check::text).collect(),
        max_lengths: from.max_lengths.into_iter().map(length).collect(),
        new_patients: from.new_patients,
        operatories: from.operatories,
        requests_per_minute: from.requests_per_minute,
        gated: from.gated,
    })
}

/// What operators and clients are shown: one line, and no markup for a page that forgets to escape it.
fn shown(text: String) -> String {
    let plain = |c: char| if matches!(c, '<' | '>') { ' ' } else { plain_char(c) };
    check::cut(text, SHORT_TEXT_BYTES).chars().map(plain).collect()
}

fn pull_ability(from: wit::PullAbility) -> PullAbility {
    let deletions_by_absence = matches!(from.deletions, wit::Deletions::ByAbsence);
    PullAbility { resource: known_resource(from.resource), delta: from.delta, deletions_by_absence }
}

/// The name the contract gives it.
fn write_kind(kind: wit::WriteKind) -> &'static str {
    match kind {
        wit::WriteKind::CreatePatient => "create-patient",
        wit::WriteKind::UpdatePatient => "update-patient",
        wit::WriteKind::CreateAppointment => "create-appointment",
        wit::WriteKind::RescheduleAppointment => "reschedule-appointment",
        wit::WriteKind::ConfirmAppointment => "confirm-appointment",
        wit::WriteKind::CheckInAppointment => "check-in-appointment",
        wit::WriteKind::CancelAppointment => "cancel-appointment",
        wit::WriteKind::CreateWorkingHour => "create-working-hour",
        wit::WriteKind::UpdateWorkingHour => "update-working-hour",
        wit::WriteKind::DeleteWorkingHour => "delete-working-hour",
        wit::WriteKind::CreateInsurancePlan => "create-insurance-plan",
        wit::WriteKind::CreateCoverage => "create-coverage",
        wit::WriteKind::DeleteCoverage => "delete-coverage",
        wit::WriteKind::SavePatientHistoryItem => "save-patient-history-item",
        wit::WriteKind::CreatePatientAlert => "create-patient-alert",
        wit::WriteKind::DisablePatientAlert => "disable-patient-alert",
        wit::WriteKind::CreateCommunicationLog => "create-communication-log",
        wit::WriteKind::CreateFormResponse => "create-form-response",
        wit::WriteKind::CreatePayment => "create-payment",
        wit::WriteKind::CreateAdjustment => "create-adjustment",
        wit::WriteKind::NoteAppointment => "note-appointment",
    }
}

/// A page that was asked for with this resource, cursor and limit; or the rule it breaks.
pub(crate) fn page(from: wit::Page, asked: Resource, cursor: Option<&str>, limit: u32) -> Result<Page, String> {
    let whole_page = |holds: bool, rule: &str| if holds { Ok(()) } else { Err(rule.to_string()) };
    whole_page(from.records.len() <= limit as usize, "the page holds more records than were asked for")?;
    whole_page(from.deleted.len() <= DELETED_IDS, "field deleted: must have at most 10000 entries")?;
    whole_page(from.cursor.len() <= CURSOR_BYTES, "field cursor: must have at most 4096 bytes")?;
    let moves = from.last || cursor != Some(from.cursor.as_str());
    whole_page(moves, "field cursor: must move on a page that is not the last")?;
    let mut records = Vec::with_capacity(from.records.len());
    for (index, wit_record) in from.records.into_iter().enumerate() {
        let (kind, converted) = record::read(wit_record);
        let converted = converted.map_err(|broken| format!("record {index} ({kind}), {broken}"))?;
        whole_page(
            converted.resource() == asked,
            &format!("record {index} is of kind {kind}, but {asked:?} were asked for"),
        )?;
        records.push(converted);
    }
    let deleted = from.deleted.into_iter().enumerate();
    let deleted = deleted
        .map(|(index, id)| check::id("deleted", id).map_err(|broken| format!("deletion {index}, {broken}")))
        .collect::<Result<_, _>>()?;
    Ok(Page { records, deleted, cursor: from.cursor, last: from.last, whole: from.whole, estimate: from.estimate })
}

pub(crate) fn receipt(from: wit::Receipt) -> Checked<Receipt> {
    Ok(Receipt { id: check::id("id", from.id)?, version: check::optional_exact("version", from.version)? })
}

pub(crate) fn patient(from: types::Patient) -> Checked<EhrPatient> {
    let gender = from.gender.as_deref();
    require(
        gender.is_none_or(|g| matches!(g, "Male" | "Female" | "Other")),
        "gender",
        "must be Male, Female or Other",
    )?;
    Ok(EhrPatient {
        id: check::id("id", from.id)?,
        first_name: check::text(from.first_name),
        middle_name: check::optional_text(from.middle_name),
        last_name: check::text(from.last_name),
        date_of_birth: check::optional_date("date_of_birth", from.date_of_birth)?,
        gender: from.gender,
        email: check::optional_text(from.email),
        cell_phone: check::optional_text(from.cell_phone),
        home_phone: check::optional_text(from.home_phone),
        work_phone: check::optional_text(from.work_phone),
        work_phone_extension: check::optional_text(from.work_phone_extension),
        primary_phone: check::optional_text(from.primary_phone),
        address: Convert::read(from.address, "address", Limit::Short)?,
        ssn: None,
        guarantor: check::optional_id("guarantor", from.guarantor)?,
        provider: check::optional_id("provider", from.provider)?,
        billing_type: check::optional_text(from.billing_type),
        chart_id: check::optional_text(from.chart_id),
        preferred_language: check::optional_text(from.preferred_language),
        premedication: check::optional_long_text(from.premedication),
        inactive: from.inactive,
        new_patient: from.new_patient,
        non_patient: from.non_patient,
        unsubscribed_sms: from.unsubscribed_sms,
        unsubscribed_email: from.unsubscribed_email,
        extra: check::extra(from.extra)?,
    })
}

pub(crate) fn provider(from: types::Provider) -> Checked<EhrProvider> {
    Ok(EhrProvider {
        id: check::id("id", from.id)?,
        first_name: check::text(from.first_name),
        middle_name: check::optional_text(from.middle_name),
        last_name: check::text(from.last_name),
        display_name: check::optional_text(from.display_name),
        email: check::optional_text(from.email),
        npi: check::optional_text(from.npi),
        tin: check::optional_text(from.tin),
        state_license: check::optional_text(from.state_license),
        specialty_code: check::optional_text(from.specialty_code),
        inactive: from.inactive,
        extra: check::extra(from.extra)?,
    })
}

pub(crate) fn operatory(from: types::Operatory) -> Checked<EhrOperatory> {
    Ok(EhrOperatory {
        id: check::id("id", from.id)?,
        name: check::text(from.name),
        display_name: check::optional_text(from.display_name),
        active: from.active,
        bookable_online: from.bookable_online,
        appointment_types: check::ids("appointment_types", from.appointment_types)?,
        extra: check::extra(from.extra)?,
    })
}

pub(crate) fn appointment_type(from: types::AppointmentType) -> Checked<EhrAppointmentType> {
    require((1..=1440).contains(&from.minutes), "minutes", "must be 1 to 1440")?;
    Ok(EhrAppointmentType {
        id: check::id("id", from.id)?,
        name: check::text(from.name),
        minutes: from.minutes,
        bookable_online: from.bookable_online,
        extra: check::extra(from.extra)?,
    })
}

pub(crate) fn working_hour(from: types::WorkingHour) -> Checked<EhrWorkingHour> {
    let ways = [!from.days.is_empty(), from.specific_date.is_some(), from.recurrence.is_some()];
    let exactly_one = ways.into_iter().filter(|way| *way).count() == 1;
    require(exactly_one, "days", "exactly one of days, specific_date and recurrence must be given")?;
    let days: Vec<Weekday> = from.days.into_iter().map(weekday).collect();
    require(days.iter().collect::<BTreeSet<_>>().len() == days.len(), "days", "must name each day once")?;
    Ok(EhrWorkingHour {
        id: check::id("id", from.id)?,
        provider: check::id("provider", from.provider)?,
        operatory: check::optional_id("operatory", from.operatory)?,
        begin_time: check::time_of_day("begin_time", from.begin_time, false)?,
        end_time: check::time_of_day("end_time", from.end_time, true)?,
        days,
        specific_date: check::optional_date("specific_date", from.specific_date)?,
        recurrence: from.recurrence.map(recurrence).transpose()?,
        kind: match from.kind {
            types::HourKind::WorkingHour => HourKind::WorkingHour,
            types::HourKind::SchedulableBlock => HourKind::SchedulableBlock,
        },
        appointment_types: check::ids("appointment_types", from.appointment_types)?,
        label: check::optional_text(from.label),
        active: from.active,
        extra: check::extra(from.extra)?,
    })
}

fn recurrence(from: types::Recurrence) -> Checked<EhrRecurrence> {
    require((1..=WorkingHour::MAX_INTERVAL).contains(&from.number), "recurrence.number", "must be 1 to 10000")?;
    let unit = match from.unit {
        types::RecurrenceUnit::Day => RecurrenceUnit::Day,
        types::RecurrenceUnit::Week => RecurrenceUnit::Week,
        types::RecurrenceUnit::Month => RecurrenceUnit::Month,
    };
    Ok(EhrRecurrence { number: from.number, unit, reference: check::date("recurrence.reference", from.reference)? })
}

fn weekday(from: types::Weekday) -> Weekday {
    match from {
        types::Weekday::Monday => Weekday::Monday,
        types::Weekday::Tuesday => Weekday::Tuesday,
        types::Weekday::Wednesday => Weekday::Wednesday,
        types::Weekday::Thursday => Weekday::Thursday,
        types::Weekday::Friday => Weekday::Friday,
        types::Weekday::Saturday => Weekday::Saturday,
        types::Weekday::Sunday => Weekday::Sunday,
    }
}

pub(crate) fn appointment(from: types::Appointment) -> Checked<EhrAppointment> {
    let (start, end) = (check::instant("start", from.start)?, check::instant("end", from.end)?);
    require(start < end, "end", "must lie after start")?;
    Ok(EhrAppointment {
        id: check::id("id", from.id)?,
        patient: check::optional_id("patient", from.patient)?,
        provider: check::optional_id("provider", from.provider)?,
        operatory: check::optional_id("operatory", from.operatory)?,
        appointment_type: check::optional_id("appointment_type", from.appointment_type)?,
        start,
        end,
        note: check::optional_long_text(from.note),
        unavailable: from.unavailable,
        cancelled: from.cancelled,
        confirmed: from.confirmed,
        patient_confirmed: from.patient_confirmed,
        patient_missed: from.patient_missed,
        checkin_at: check::optional_instant("checkin_at", from.checkin_at)?,
        checked_out_at: check::optional_instant("checked_out_at", from.checked_out_at)?,
        write_key: check::optional_exact("write_key", from.write_key)?,
        version: check::optional_exact("version", from.version)?,
        extra: check::extra(from.extra)?,
    })
}

/// A write the contract has no case for is unsupported.
pub(crate) fn write(write: Write) -> Result<wit::Write, Fault> {
    let change = |appointment, reason| wit::AppointmentChange { appointment: to_appointment(appointment), reason };
    Ok(match write {
        Write::CreatePatient(patient) => wit::Write::CreatePatient(to_patient(patient)),
        Write::CreateAppointment(appointment) => wit::Write::CreateAppointment(change(appointment, None)),
        Write::RescheduleAppointment(appointment) => wit::Write::RescheduleAppointment(change(appointment, None)),
        Write::CancelAppointment(appointment, reason) => wit::Write::CancelAppointment(change(appointment, reason)),
        Write::UpdatePatient(patient, before) => wit::Write::UpdatePatient(wit::PatientChange {
            patient: to_patient(patient),
            before: before.map(|before| to_patient(*before)),
        }),
        Write::ConfirmAppointment(appointment) => wit::Write::ConfirmAppointment(change(appointment, None)),
        Write::CheckInAppointment(appointment) => wit::Write::CheckInAppointment(change(appointment, None)),
        Write::NoteAppointment(appointment) => wit::Write::NoteAppointment(change(appointment, None)),
        Write::CreateWorkingHour(hour) => wit::Write::CreateWorkingHour(to_working_hour(hour)),
        Write::UpdateWorkingHour(hour) => wit::Write::UpdateWorkingHour(to_working_hour(hour)),
        Write::DeleteWorkingHour(id) => wit::Write::DeleteWorkingHour(id),
        Write::Record(operation, record) => record::write(operation, record)?,
    })
}

fn to_patient(from: EhrPatient) -> types::Patient {
    types::Patient {
        id: from.id,
        first_name: from.first_name,
        middle_name: from.middle_name,
        last_name: from.last_name,
        date_of_birth: from.date_of_birth,
        gender: from.gender,
        email: from.email,
        cell_phone: from.cell_phone,
        home_phone: from.home_phone,
        work_phone: from.work_phone,
        work_phone_extension: from.work_phone_extension,
        primary_phone: from.primary_phone,
        address: from.address.write(),
        ssn: from.ssn,
        guarantor: from.guarantor,
        provider: from.provider,
        billing_type: from.billing_type,
        chart_id: from.chart_id,
        preferred_language: from.preferred_language,
        premedication: from.premedication,
        inactive: from.inactive,
        new_patient: from.new_patient,
        non_patient: from.non_patient,
        unsubscribed_sms: from.unsubscribed_sms,
        unsubscribed_email: from.unsubscribed_email,
        extra: from.extra,
    }
}

fn to_appointment(from: EhrAppointment) -> types::Appointment {
    types::Appointment {
        id: from.id,
        patient: from.patient,
        provider: from.provider,
        operatory: from.operatory,
        appointment_type: from.appointment_type,
        start: from.start,
        end: from.end,
        note: from.note,
        unavailable: from.unavailable,
        cancelled: from.cancelled,
        confirmed: from.confirmed,
        patient_confirmed: from.patient_confirmed,
        patient_missed: from.patient_missed,
        checkin_at: from.checkin_at,
        checked_out_at: from.checked_out_at,
        write_key: from.write_key,
        version: from.version,
        extra: from.extra,
    }
}

fn to_working_hour(from: EhrWorkingHour) -> types::WorkingHour {
    types::WorkingHour {
        id: from.id,
        provider: from.provider,
        operatory: from.operatory,
        begin_time: from.begin_time,
        end_time: from.end_time,
        days: from.days.into_iter().map(to_weekday).collect(),
        specific_date: from.specific_date,
        recurrence: from.recurrence.map(to_recurrence),
        kind: match from.kind {
            HourKind::WorkingHour => types::HourKind::WorkingHour,
            HourKind::SchedulableBlock => types::HourKind::SchedulableBlock,
        },
        appointment_types: from.appointment_types,
        label: from.label,
        active: from.active,
        extra: from.extra,
    }
}

fn to_recurrence(from: EhrRecurrence) -> types::Recurrence {
    let unit = match from.unit {
        RecurrenceUnit::Day => types::RecurrenceUnit::Day,
        RecurrenceUnit::Week => types::RecurrenceUnit::Week,
        RecurrenceUnit::Month => types::RecurrenceUnit::Month,
    };
    types::Recurrence { number: from.number, unit, reference: from.reference }
}

fn to_weekday(from: Weekday) -> types::Weekday {
    match from {
        Weekday::Monday => types::Weekday::Monday,
        Weekday::Tuesday => types::Weekday::Tuesday,
        Weekday::Wednesday => types::Weekday::Wednesday,
        Weekday::Thursday => types::Weekday::Thursday,
        Weekday::Friday => types::Weekday::Friday,
        Weekday::Saturday => types::Weekday::Saturday,
        Weekday::Sunday => types::Weekday::Sunday,
    }
}

/// A rule broken in an answer that is one thing.
pub(crate) fn broken(what: &str, broken: Broken) -> String {
    format!("{what}, {broken}")
}
