//! Adapter for a cloud EHR that has no API: it makes the calls the web application's own pages make, in the session of a staff member
//! logged in at a workstation, and reaches nothing any other way. `requests` builds, `responses` and `markup` parse, `map` translates, `faults`
//! judges, `client` sends, `booking` and `patients` write.

pub mod booking;
pub mod client;
pub mod cursor;
pub mod faults;
pub mod map;
pub mod markup;
pub mod patients;
pub mod requests;
pub mod responses;
pub mod settings;

use adapter_sdk::{
    Adapter, Deletions, Description, Fault, Hosting, MaxLength, Page, PatientField, PullAbility, Receipt, Resource,
    SkippedRecord, Write, WriteKind,
};

use client::{Client, Listed};
use cursor::Cursor;
use map::Kind;
use settings::Settings;

pub struct GatedCloud;

adapter_sdk::export_adapter!(GatedCloud);

/// In the order in which they refer to each other.
const PULLS: [Resource; 6] = [
    Resource::Providers,
    Resource::AppointmentTypes,
    Resource::Operatories,
    Resource::Patients,
    Resource::WorkingHours,
    Resource::Appointments,
];

const WRITES: [WriteKind; 8] = [
    WriteKind::CreatePatient,
    WriteKind::UpdatePatient,
    WriteKind::CreateAppointment,
    WriteKind::RescheduleAppointment,
    WriteKind::ConfirmAppointment,
    WriteKind::CheckInAppointment,
    WriteKind::CancelAppointment,
    WriteKind::NoteAppointment,
];

const UNKEPT: [PatientField; 5] = [
    PatientField::Ssn,
    PatientField::WorkPhoneExtension,
    PatientField::BillingType,
    PatientField::Premedication,
    PatientField::Extra,
];

impl Adapter for GatedCloud {
    /// Asks nobody: a location is set up before anyone has logged in.
    fn describe() -> Result<Description, Fault> {
        let ability = |resource| PullAbility { resource, delta: true, deletions: Deletions::Reported };
        Ok(Description {
            name: "Demo Cloud EHR".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            hosting: Hosting::Cloud,
            pulls: PULLS.map(ability).to_vec(),
            writes: WRITES.to_vec(),
            unkept_patient_fields: UNKEPT.to_vec(),
            max_lengths: vec![MaxLength::new("appointment.note", 4_000)],
            new_patients: true,
            operatories: true,
            requests_per_minute: Settings::read()?.requests_per_minute,
            gated: true,
            ..Description::default()
        })
    }

    fn pull(resource: Resource, cursor: Option<String>, limit: u32) -> Result<Page, Fault> {
        let kind = map::kind(resource).ok_or_else(|| Fault::unsupported("this adapter does not read such records"))?;
        let asked = Cursor::parse(cursor.as_deref());
        let mut at = asked.ok_or_else(|| Fault::rejected("not a cursor of this adapter"))?;
        let client = Client::default();
        let listed = match client.changes(kind, at.mark(), limit)? {
            Some(listed) => listed,
            // The application keeps other books now: whatever it had is shown again.
            None => {
                at = at.started_over();
                let again = client.changes(kind, None, limit)?;
                again.ok_or_else(|| Fault::retry_later("the EHR refuses the mark it gave", None))?
            }
        };
        page(kind, at, listed)
    }

    fn push(key: String, write: Write) -> Result<Receipt, Fault> {
        let client = Client::default();
        match &write {
            Write::CreatePatient(patient) => patients::create(&client, &key, patient),
            Write::UpdatePatient(change) => patients::update(&client, change),
            Write::CreateAppointment(change) => booking::create(&client, &key, &change.appointment),
            Write::RescheduleAppointment(change) => booking::reschedule(&client, &change.appointment),
            Write::ConfirmAppointment(change) => booking::confirm(&client, &change.appointment),
            Write::CheckInAppointment(change) => booking::check_in(&client, &change.appointment),
            Write::NoteAppointment(change) => booking::note(&client, &change.appointment),
            Write::CancelAppointment(change) => booking::cancel(&client, &change.appointment, change.reason.as_deref()),
            _ => Err(Fault::unsupported("this adapter does not write such records")),
        }
    }

    fn find(key: String, write: Write) -> Result<Option<Receipt>, Fault> {
        let client = Client::default();
        match &write {
            Write::CreatePatient(_) => patients::find(&client, &key),
            Write::UpdatePatient(change) => patients::find_update(&client, change),
            Write::CreateAppointment(_) => booking::find(&client, &key),
            Write::RescheduleAppointment(change) => booking::find_change(&client, &change.appointment, booking::stands),
            Write::ConfirmAppointment(change) => {
                booking::find_change(&client, &change.appointment, booking::is_confirmed)
            }
            Write::CheckInAppointment(change) => {
                booking::find_change(&client, &change.appointment, booking::has_arrived)
            }
            Write::NoteAppointment(change) => {
                booking::find_change(&client, &change.appointment, |held, wanted| held.note == wanted.note)
            }
            Write::CancelAppointment(change) => {
                booking::find_change(&client, &change.appointment, |held, _| held.is_off())
            }
            _ => Err(Fault::unsupported("this adapter does not write such records")),
        }
    }
}

fn page(kind: Kind, at: Cursor, listed: Listed) -> Result<Page, Fault> {
    let (mut records, mut skipped) = (Vec::with_capacity(listed.items.len()), Vec::new());
    for item in listed.items {
        match (kind.record)(item)? {
            Ok(record) => records.push(record),
            Err(id) => skipped.push(SkippedRecord::new(id, "it contradicts itself")),
        }
    }
    Ok(Page {
        records,
        skipped,
        deleted: listed.removed,
        whole: at.whole(),
        estimate: at.whole().then_some(listed.total),
        last: !listed.more,
        cursor: at.next(&listed.mark, listed.more).to_string(),
    })
}
