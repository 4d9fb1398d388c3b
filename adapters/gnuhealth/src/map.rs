//! Conversion of the EHR's rows to the contract's records.

use adapter_sdk::{
    Record, clock, limits,
    records::{
        self, CommunicationDirection, CommunicationMode, HistoryCategory, InsuranceType, Money, ProcedureStatus,
        Relation, extra,
    },
    streams::{Mapped, Shown, one_record},
    time::{instant_of, is_date},
    warn,
};

use crate::{
    conventions::{self, Contact, GENDERS, MIDDLE, note},
    responses::{
        AddressRow, AppointmentRow, Coded, Company, Condition, DentalCode, Insurance, Invoice, LangRow, Medicament,
        Medication, Membership, Pathology, PatientNote, PatientRow, PaymentLine, PaymentMethod, Plan, ProcedureCode,
        Professional, TreatmentProcedure, contact, is_allergy,
    },
    settings::{AppointmentType, Settings},
    values::Decimal,
};

/// The reason for skipping a patient without a person.
const NO_PERSON: &str = "it has no person";

pub fn patient(_: &Settings, row: PatientRow) -> Mapped {
    given(row.party.id).ok_or(NO_PERSON)?;
    one_record(Record::Patient(person(&row)))
}

pub fn person(row: &PatientRow) -> records::Patient {
    let person = &row.party;
    let (first, middle) = given_names(person.name.as_deref().unwrap_or_default());
    let contact = |kind: Contact| contact(&person.contacts, kind)?.value.clone();
    records::Patient {
        id: row.id.to_string(),
        first_name: first,
        middle_name: middle,
        last_name: person.lastname.clone().unwrap_or_default(),
        date_of_birth: person.dob.map(|date| date.text()),
        gender: person.gender.as_deref().and_then(|code| GENDERS.meaning(code)),
        email: contact(Contact::Email),
        cell_phone: contact(Contact::Mobile),
        home_phone: contact(Contact::Home),
        work_phone: contact(Contact::Work),
        address: person.address().filter(|row| !row.is_empty()).map(address),
        provider: row.primary_care_doctor.map(|id| id.to_string()),
        chart_id: person.puid.clone(),
        preferred_language: person.language().and_then(language_of),
        inactive: !row.active.0 || !person.active.0 || person.deceased.0,
        ..records::Patient::default()
    }
}

/// Splits given names at [`MIDDLE`].
fn given_names(name: &str) -> (String, Option<String>) {
    match name.split_once(MIDDLE) {
        Some((first, middle)) => (first.to_owned(), Some(middle.to_owned()).filter(|middle| !middle.trim().is_empty())),
        None => (name.to_owned(), None),
    }
}

pub fn language_of(row: &LangRow) -> Option<String> {
    language(row.lang.as_ref()?.code.as_deref()?)
}

/// Converts `pt_BR` to `pt`.
fn language(code: &str) -> Option<String> {
    let code = code.split('_').next()?;
    (code.len() == 2).then(|| code.to_owned())
}

pub fn address(row: &AddressRow) -> records::Address {
    let mut street =
        row.street.as_deref().unwrap_or_default().lines().map(str::to_owned).filter(|line| !line.trim().is_empty());
    records::Address {
        line1: street.next(),
        line2: Some(street.collect::<Vec<_>>().join(", ")).filter(|rest| !rest.is_empty()),
        city: row.city.clone(),
        region: row.subdivision.as_ref().and_then(|subdivision| region(subdivision.code.as_deref()?)),
        postal_code: row.postal_code.clone(),
        country: row.country.as_ref().and_then(|country| country.code.clone()),
    }
}

/// Converts `US-NY` to `NY`; the country is a separate field.
fn region(code: &str) -> Option<String> {
    Some(code.split_once('-').map_or(code, |(_, region)| region).to_owned())
}

pub fn provider(_: &Settings, row: Professional) -> Mapped {
    given(row.party.id).ok_or(NO_PERSON)?;
    let code = row.specialties.iter().find_map(|held| held.specialty.as_ref()?.code.clone());
    one_record(Record::Provider(records::Provider {
        id: row.id.to_string(),
        first_name: row.party.name.clone().unwrap_or_default(),
        last_name: row.party.lastname.clone().unwrap_or_default(),
        email: contact(&row.party.contacts, Contact::Email).and_then(|mail| mail.value.clone()),
        state_license: row.code,
        specialty_code: code,
        inactive: !row.active.0 || !row.party.active.0,
        ..records::Provider::default()
    }))
}

pub fn appointment_type(kind: &AppointmentType) -> Record {
    Record::AppointmentType(records::AppointmentType {
        id: kind.id.clone(),
        name: kind.name.clone(),
        minutes: kind.minutes,
        bookable_online: kind.bookable_online,
        ..records::AppointmentType::default()
    })
}

/// Returns `true` if the appointment is of another institution, in case the search did not exclude it.
fn is_of_other_institution(settings: &Settings, row: &AppointmentRow) -> bool {
    settings.institution().is_some_and(|institution| row.institution.is_some_and(|of| of != institution))
}

pub fn appointment(settings: &Settings, row: AppointmentRow) -> Mapped {
    if is_of_other_institution(settings, &row) {
        return Ok(Shown::Nothing);
    }
    // A free appointment is a working hour. If it was never changed, it was never a booked appointment.
    if row.is_free() {
        let was = row.write_date.map(|_| row.id.to_string());
        return Ok(was.map_or(Shown::Nothing, Shown::Gone));
    }
    let (start, end) = row.span(settings.default_minutes).ok_or("it has no time")?;
    let note = row.note();
    let version = row.version();
    let own = |id: &&str| settings.types().iter().any(|kind| kind.id == *id);
    let kind = note.get("type").or(row.appointment_type.as_deref()).filter(own);
    let reason = note.get("reason").map(str::to_owned);
    let extra = extra([("number", row.name.clone()), ("visit_type", row.visit_type.clone()), ("reason", reason)]);
    one_record(Record::Appointment(records::Appointment {
        id: row.id.to_string(),
        patient: row.patient.map(|id| id.to_string()),
        provider: row.healthprof.map(|id| id.to_string()),
        appointment_type: kind.map(str::to_owned),
        start,
        end,
        // An appointment without a patient still occupies time.
        unavailable: row.patient.is_none(),
        cancelled: row.is_cancelled(),
        confirmed: ["confirmed", "checked_in", "done"].iter().any(|state| row.is(state)),
        patient_confirmed: note.get("patient-confirmed").is_some(),
        patient_missed: row.is("no_show"),
        checkin_at: row.checked_in_date.and_then(|at| at.instant()),
        note: note.text,
        write_key: note.key,
        version,
        extra,
        ..records::Appointment::default()
    }))
}

/// Converts a free appointment to a working hour on its local date.
pub fn working_hour(settings: &Settings, row: AppointmentRow) -> Mapped {
    if is_of_other_institution(settings, &row) || !row.is("free") {
        return Ok(Shown::Nothing);
    }
    let local = |at| clock::to_local(at).text;
    let hours = row.span(0).and_then(|(start, end)| local_hours(&local(start), &local(end)));
    let Some(([date, begin_time, end_time], provider)) = hours.zip(row.healthprof) else {
        warn!("the free appointment {} has no end after its start or no professional: it is no place", row.id);
        return Ok(Shown::Nothing);
    };
    one_record(Record::WorkingHour(records::WorkingHour {
        id: row.id.to_string(),
        provider: provider.to_string(),
        begin_time,
        end_time,
        specific_date: Some(date),
        active: true,
        ..records::WorkingHour::default()
    }))
}

/// Returns date, begin and end of a local span. Returns `None` if it does not end in a later minute, such as while
/// clocks are put back: its end would be that of the next day.
pub fn local_hours(start: &str, end: &str) -> Option<[String; 3]> {
    let later = start.get(..16)? < end.get(..16)?;
    later.then_some([start.get(..10)?, start.get(11..16)?, end.get(11..16)?].map(str::to_owned))
}

pub fn pathology(_: &Settings, row: Pathology) -> Mapped {
    let extra = extra([("code", row.code)]);
    let id = format!("gnuhealth.pathology,{}", row.id);
    let category = category_of(&row.groups);
    one_record(Record::HistoryItem(records::HistoryItem { id, category, name: row.name.unwrap_or_default(), extra }))
}

/// Returns the id of a referenced record.
fn given(id: i64) -> Option<i64> {
    Some(id).filter(|id| *id > 0)
}

fn category_of(groups: &[Membership]) -> HistoryCategory {
    if is_allergy(groups) { HistoryCategory::Allergies } else { HistoryCategory::Conditions }
}

pub fn medicament(_: &Settings, row: Medicament) -> Mapped {
    one_record(Record::HistoryItem(records::HistoryItem {
        id: format!("gnuhealth.medicament,{}", row.id),
        category: HistoryCategory::Medications,
        name: row.rec_name.unwrap_or_default(),
        extra: Vec::new(),
    }))
}

pub fn condition(_: &Settings, row: Condition) -> Mapped {
    one_record(Record::PatientHistoryItem(records::PatientHistoryItem {
        id: format!("gnuhealth.patient.disease,{}", row.id),
        patient: row.patient.ok_or("it has no patient")?.to_string(),
        category: category_of(&row.pathology.groups),
        item: format!("gnuhealth.pathology,{}", given(row.pathology.id).ok_or("it has no pathology")?),
        note: note(row.extra_info.as_deref()).text,
        active: row.is_active.0,
        extra: extra([("diagnosed", row.diagnosed_date.map(|date| date.text()))]),
    }))
}

pub fn medication(_: &Settings, row: Medication) -> Mapped {
    one_record(Record::PatientHistoryItem(records::PatientHistoryItem {
        id: format!("gnuhealth.patient.medication,{}", row.id),
        patient: row.patient.ok_or("it has no patient")?.to_string(),
        category: HistoryCategory::Medications,
        item: format!("gnuhealth.medicament,{}", given(row.medicament).ok_or("it has no medicament")?),
        note: note(row.notes.as_deref()).text,
        active: row.is_active.0,
        extra: Vec::new(),
    }))
}

fn plan_of(id: String, name: Option<String>, company: &Company) -> Record {
    Record::InsurancePlan(records::InsurancePlan {
        id,
        payer_id: company.identifier(conventions::PAYER),
        name: name.unwrap_or_default(),
        address: company.addresses.iter().find(|row| !row.is_empty()).map(address),
        group_number: company.identifier(conventions::GROUP),
        employer_name: company.identifier(conventions::EMPLOYER),
        ..records::InsurancePlan::default()
    })
}

pub fn company(_: &Settings, row: Company) -> Mapped {
    one_record(plan_of(format!("party.party,{}", row.id), row.name.clone(), &row))
}

pub fn plan(_: &Settings, row: Plan) -> Mapped {
    one_record(plan_of(format!("gnuhealth.insurance.plan,{}", row.id), row.rec_name, &row.company))
}

pub fn coverage(_: &Settings, row: Insurance) -> Mapped {
    let Some(patient) = row.patient else { return Ok(Shown::Gone(row.id.to_string())) };
    let fields = note(row.notes.as_deref());
    let plan = match row.plan_id {
        Some(plan) => format!("gnuhealth.insurance.plan,{plan}"),
        None => format!("party.party,{}", given(row.company).ok_or("it has no company")?),
    };
    one_record(Record::Coverage(records::Coverage {
        id: row.id.to_string(),
        patient: patient.to_string(),
        plan,
        relation: fields.get("relation").and_then(Relation::from_word).unwrap_or(Relation::Oneself),
        priority: fields.get("priority").and_then(|text| text.parse().ok()).filter(|rank| (1..=1_000).contains(rank)),
        subscriber: fields.id("subscriber"),
        subscriber_name: fields.get("subscriber-name").map(str::to_owned),
        subscriber_date_of_birth: fields.get("subscriber-born").filter(|day| is_date(day)).map(str::to_owned),
        subscriber_number: row.number,
        effective_date: row.member_since.map(|date| date.text()),
        expiration_date: row.member_exp.map(|date| date.text()),
        insurance_type: fields.get("type").and_then(insurance_type),
        active: row.status.as_deref() != Some("expired"),
        extra: Vec::new(),
    }))
}

/// Parses one of the words that we write; staff may have changed it.
fn insurance_type(word: &str) -> Option<InsuranceType> {
    Some(InsuranceType::from(word.to_owned())).filter(|kind| !matches!(kind, InsuranceType::Other(_)))
}

pub fn communication_log(_: &Settings, row: PatientNote) -> Mapped {
    let patient = row.resource.as_deref().and_then(|resource| resource.strip_prefix("gnuhealth.patient,"));
    let fields = note(row.message.as_deref());
    let at = fields.get("at").and_then(instant_of).or(row.create_date.and_then(|at| at.instant()));
    let direction = fields.get("direction").and_then(CommunicationDirection::from_word);
    one_record(Record::CommunicationLog(records::CommunicationLog {
        id: row.id.to_string(),
        patient: patient.ok_or("it is about no patient")?.to_owned(),
        mode: fields.get("mode").and_then(CommunicationMode::from_word).unwrap_or(CommunicationMode::None),
        note: fields.text.unwrap_or_default(),
        direction: direction.unwrap_or(CommunicationDirection::Sent),
        occurred_at: at.ok_or("it has no date")?,
        extra: Vec::new(),
    }))
}

fn procedure_code(id: String, code: String, description: String) -> Mapped {
    let active = true;
    one_record(Record::ProcedureCode(records::ProcedureCode { id, code, description, active, ..Default::default() }))
}

pub fn dental_code(_: &Settings, row: DentalCode) -> Mapped {
    let (code, name) = (row.code.unwrap_or_default(), row.name.unwrap_or_default());
    procedure_code(format!("gnuhealth.dentistry.procedure,{}", row.id), code, name)
}

pub fn medical_code(_: &Settings, row: ProcedureCode) -> Mapped {
    let code = row.name.unwrap_or_default();
    let description = row.description.unwrap_or_else(|| code.clone());
    procedure_code(format!("gnuhealth.procedure,{}", row.id), code, description)
}

pub fn procedure(_: &Settings, row: TreatmentProcedure) -> Mapped {
    let surfaces = [
        ('M', row.mesial),
        ('O', row.occlusal),
        ('D', row.distal),
        ('V', row.vestibular),
        ('L', row.lingual),
        ('R', row.root),
    ];
    let surface: String = surfaces.into_iter().filter_map(|(letter, set)| set.0.then_some(letter)).collect();
    let treatment = &row.treatment;
    let done = treatment.state.as_deref() == Some("done");
    let date = treatment.treatment_date.map(|date| date.text());
    one_record(Record::Procedure(records::Procedure {
        id: row.id.to_string(),
        patient: treatment.patient.map(|id| id.to_string()),
        provider: treatment.healthprof.map(|id| id.to_string()),
        code: Some(row.procedure.code.unwrap_or_default()),
        name: Some(row.procedure.name.unwrap_or_default()),
        status: Some(if done { ProcedureStatus::Completed } else { ProcedureStatus::Planned }),
        teeth: row.tooth.into_iter().collect(),
        surface: Some(surface).filter(|surface| !surface.is_empty()),
        end_date: date.clone().filter(|_| done),
        start_date: date,
        ..records::Procedure::default()
    }))
}

pub fn payment_type(_: &Settings, row: PaymentMethod) -> Mapped {
    let (id, name, active) = (row.id.to_string(), row.name.unwrap_or_default(), row.active.0);
    one_record(Record::PaymentType(records::PaymentType { id, name, active, ..Default::default() }))
}

/// Returns an amount in digits, as the contract requires.
fn plain(amount: &Decimal) -> Result<String, String> {
    amount.exact().map(|_| amount.text().to_owned()).ok_or_else(|| "its amount is no plain number".to_owned())
}

fn currency(row: Coded) -> Result<String, String> {
    let code = row.code.filter(|code| limits::is_currency(code));
    code.ok_or_else(|| "it has no currency".to_owned())
}

/// Converts an invoice to a patient.
pub fn charge(_: &Settings, row: Invoice) -> Mapped {
    let Some(patient) = row.patient else { return Ok(Shown::Gone(row.id.to_string())) };
    let lines: Vec<&str> = row.lines.iter().filter_map(|line| line.description.as_deref()).collect();
    let currency = currency(row.currency)?;
    let amount = row.total_amount.as_ref().map(plain).transpose()?;
    let fee = amount.map(|amount| Money { amount, currency });
    one_record(Record::Charge(records::Charge {
        id: row.id.to_string(),
        patient: Some(patient.to_string()),
        description: row.description.or(Some(lines.join("; ")).filter(|text| !text.is_empty())),
        fee,
        charged_at: row.invoice_date.map(|date| date.text()),
        extra: extra([("number", row.number)]),
        ..records::Charge::default()
    }))
}

pub fn payment(_: &Settings, row: PaymentLine) -> Mapped {
    let Some(patient) = row.patient else { return Ok(Shown::Gone(row.id.to_string())) };
    let fields = note(row.entry.description.as_deref());
    // A refund is on the debit side.
    let amount = match row.credit.exact() {
        Some(0) => format!("-{}", plain(&row.debit)?),
        _ => plain(&row.credit)?,
    };
    let currency = currency(row.currency)?;
    one_record(Record::Payment(records::Payment {
        id: row.id.to_string(),
        patient: Some(patient.to_string()),
        charge: row.invoice_payment.map(|id| id.to_string()),
        payment_type: fields.id("type"),
        amount: Money { amount, currency },
        paid_at: row.date.map(|date| date.text()),
        transaction_id: fields.get("transaction").map(str::to_owned),
        description: fields.text,
        ..records::Payment::default()
    }))
}
