//! Adapter for the simulated EHR. It has all parts of an adapter, in the layout that ours share: `requests` builds,
//! `responses` parses, `map` converts, `faults` maps refusals, `client` sends, and the tables here combine them.

pub mod client;
pub mod faults;
pub mod map;
pub mod requests;
pub mod responses;

use adapter_sdk::{
    Description, Fault, MaxLength, PatientField, Resource, WriteKind, clock, config, streams::Stream, tables::Tables,
    writes::Handler,
};

pub use client::Sandbox;
use responses::About;

adapter_sdk::export_adapter!(Sandbox);

/// The streams of resources, by the function that maps their rows.
macro_rules! streams {
    ($($map:ident: $($resource:ident)+;)+) => {
        &[$($(Stream::changes(Resource::$resource, Sandbox::list, "id", map::$map),)+)+]
    };
}

/// Returns the EHR's writes that a write of the contract needs.
fn needs(kind: WriteKind) -> &'static [&'static str] {
    match kind {
        WriteKind::CreatePatient => &["create_patient"],
        WriteKind::UpdatePatient => &["update_patient"],
        WriteKind::CreateAppointment => &["create_appointment"],
        WriteKind::RescheduleAppointment => &["move_appointment"],
        WriteKind::ConfirmAppointment | WriteKind::CheckInAppointment | WriteKind::NoteAppointment => {
            &["update_appointment"]
        }
        WriteKind::CancelAppointment => &["cancel_appointment"],
        WriteKind::CreateWorkingHour => &["create_hours"],
        WriteKind::UpdateWorkingHour => &["update_hours"],
        WriteKind::DeleteWorkingHour => &["delete_hours"],
        WriteKind::CreateInsurancePlan => &["create_insurance_plan"],
        WriteKind::CreateCoverage => &["create_coverage"],
        WriteKind::DeleteCoverage => &["delete_coverage"],
        WriteKind::SavePatientHistoryItem => &["create_patient_history_item", "update_patient_history_item"],
        WriteKind::CreatePatientAlert => &["create_patient_alert"],
        WriteKind::DisablePatientAlert => &["update_patient_alert"],
        WriteKind::CreateCommunicationLog => &["create_communication_log"],
        WriteKind::CreateFormResponse => &["create_form_response"],
        WriteKind::CreatePayment => &["create_payment"],
        WriteKind::CreateAdjustment => &["create_adjustment"],
    }
}

impl Tables for Sandbox {
    const STREAMS: &'static [Stream<Sandbox>] = streams! {
        provider: Providers;
        appointment_type: AppointmentTypes;
        operatory: Operatories;
        patient: Patients;
        hours: WorkingHours;
        appointment: Appointments;
        filed: AppointmentDescriptors FeeSchedules InsurancePlans Coverages HistoryItems PatientHistoryItems
            PatientAlerts CommunicationLogs Conversations FormSchemas FormResponses ProcedureCodeCategories
            ProcedureCodes Fees Procedures TreatmentPlans ClinicalNotes RecallTypes PatientRecalls DocumentTypes
            Documents PaymentTypes AdjustmentTypes Charges Claims PaymentPlans Payments Adjustments GuarantorBalances
            InsuranceBalances;
    };
    // The EHR finds each write by its key.
    const WRITES: &'static [Handler<Sandbox>] = &[
        Handler::create_patient(
            |ehr, key, p| ehr.post("patients", &requests::with_key(key, requests::patient(p))),
            Sandbox::find_write,
        ),
        Handler::update_patient(
            |ehr, key, c| ehr.patch("patients", &c.patient.id, &requests::with_key(key, c.fields(requests::patient))),
            Sandbox::find_write,
        ),
        Handler::create_appointment(
            |ehr, key, c| ehr.post("appointments", &requests::new_appointment(key, &ehr.location, &c.appointment)),
            Sandbox::find_write,
        ),
        Handler::reschedule_appointment(
            |ehr, key, c| ehr.change(c, &requests::reschedule(key, &c.appointment)),
            Sandbox::find_write,
        ),
        Handler::confirm_appointment(
            |ehr, key, c| ehr.change(c, &requests::confirm(key, &c.appointment)),
            Sandbox::find_write,
        ),
        Handler::check_in_appointment(
            |ehr, key, c| ehr.change(c, &requests::check_in(key, &c.appointment)),
            Sandbox::find_write,
        ),
        Handler::note_appointment(
            |ehr, key, c| ehr.change(c, &requests::note(key, &c.appointment)),
            Sandbox::find_write,
        ),
        Handler::cancel_appointment(Sandbox::cancel, Sandbox::find_write),
        Handler::create_working_hour(
            |ehr, key, hour| ehr.post("hours", &requests::new_hours(key, &ehr.location, hour)),
            Sandbox::find_write,
        ),
        Handler::update_working_hour(
            |ehr, key, hour| ehr.patch("hours", &hour.id, &requests::hours(key, hour)),
            Sandbox::find_write,
        ),
        Handler::delete_working_hour(|ehr, key, id| ehr.delete("hours", key, id), Sandbox::find_write),
        Handler::create_insurance_plan(|ehr, key, plan| ehr.file("insurance_plans", key, plan), Sandbox::find_write),
        Handler::create_coverage(|ehr, key, coverage| ehr.file("coverages", key, coverage), Sandbox::find_write),
        Handler::delete_coverage(|ehr, key, id| ehr.delete("coverages", key, id), Sandbox::find_write),
        Handler::save_patient_history_item(
            |ehr, key, item| match item.id.is_empty() {
                true => ehr.file("patient_history_items", key, item),
                false => ehr.refile("patient_history_items", key, &item.id, item),
            },
            Sandbox::find_write,
        ),
        Handler::create_patient_alert(|ehr, key, alert| ehr.file("patient_alerts", key, alert), Sandbox::find_write),
        Handler::disable_patient_alert(
            |ehr, key, alert| {
                let disabled_at = alert.disabled_at.unwrap_or_else(clock::now);
                ehr.patch("patient_alerts", &alert.id, &requests::disabled(key, disabled_at))
            },
            Sandbox::find_write,
        ),
        Handler::create_communication_log(
            |ehr, key, log| ehr.file("communication_logs", key, log),
            Sandbox::find_write,
        ),
        Handler::create_form_response(
            |ehr, key, response| ehr.file("form_responses", key, response),
            Sandbox::find_write,
        ),
        Handler::create_payment(|ehr, key, payment| ehr.file("payments", key, payment), Sandbox::find_write),
        Handler::create_adjustment(
            |ehr, key, adjustment| ehr.file("adjustments", key, adjustment),
            Sandbox::find_write,
        ),
    ];
    const UNKEPT: &'static [PatientField] = &[
        PatientField::Ssn,
        PatientField::WorkPhoneExtension,
        PatientField::BillingType,
        PatientField::Premedication,
        PatientField::NonPatient,
        PatientField::Extra,
    ];

    fn open() -> Result<Sandbox, Fault> {
        Ok(Sandbox { location: config::require("location")? })
    }

    fn about(&self, mut by_tables: Description) -> Result<Description, Fault> {
        let about: About = self.read(requests::ABOUT)?.json()?;
        by_tables
            .writes
            .retain(|kind| needs(*kind).iter().all(|write| about.writes.iter().any(|taken| taken == write)));
        Ok(Description {
            name: about.name,
            version: env!("CARGO_PKG_VERSION").into(),
            required_patient_fields: about.required_patient_fields.iter().filter_map(|name| map::field(name)).collect(),
            max_lengths: about.max_plan_name.map(|n| MaxLength::new("insurance-plan.name", n)).into_iter().collect(),
            new_patients: about.new_patients,
            operatories: true,
            requests_per_minute: about.requests_per_minute,
            ..by_tables
        })
    }
}
