//! Appointments and their booking data.

use location::{OperatoryId, Placement, ProviderId, Resource, SECOND, Span, Timestamp};
use record_macro::record_form;
use serde::{Deserialize, Serialize};

use crate::{
    Body, Record, RecordWrite, Writeback,
    index::{Field, OrderBy, Term},
    references::{ForeignId, ForeignIdOf, Invalid, Missing, Reference, ResolveId},
    values::Extra,
};

/// An appointment, or a block of unavailable time, which has no patient.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Appointment {
    /// Version tag in the EHR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// `None` in a block, and if the EHR names no patient.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patient_id: Option<u32>,
    /// The appointment type; kept if the EHR no longer returns one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub appointment_type_id: Option<u32>,
    /// Provider, operatory and time.
    pub placement: Placement,
    /// Free text by staff or a client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// A block of time, not a visit.
    pub unavailable: bool,
    /// Cancelled or broken, or deleted in the EHR.
    pub cancelled: bool,
    /// Time at which this service learned of the cancellation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled_at: Option<Timestamp>,
    /// The reason given by the client; reasons of the EHR are not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel_reason: Option<String>,
    /// Confirmed by the practice.
    pub confirmed: bool,
    /// Time at which this service learned of the confirmation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmed_at: Option<Timestamp>,
    pub patient_confirmed: bool,
    /// Time at which this service learned of the patient's confirmation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patient_confirmed_at: Option<Timestamp>,
    /// Time at which the patient confirmed through a client. Kept whatever the EHR shows, because not every EHR stores
    /// confirmations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patient_confirmed_here: Option<Timestamp>,
    /// The patient did not come.
    pub patient_missed: bool,
    /// Time of the check-in, by the EHR's clock unless a client checked the patient in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkin_at: Option<Timestamp>,
    /// Time of the check-out, by the EHR's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked_out_at: Option<Timestamp>,
    /// Progress by the EHR's own status, in addition to the times.
    #[serde(default, skip_serializing_if = "Progress::is_expected")]
    pub progress: Progress,
    /// The booking data; only for appointments created here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub booking: Option<Booking>,
    /// The last change of the time by a patient; `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reschedule: Option<Reschedule>,
    /// Appointments of the EHR that moves of this one replaced, because the EHR cannot move appointments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<ReplacedInEhr>,
}

/// An appointment of the EHR that another one of the same visit replaced. It is kept after its cancellation, because
/// the EHR may still show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplacedInEhr {
    /// Its number: the id of the first write that cancels it.
    pub write: u64,
    /// The identifier in the EHR.
    pub foreign_id: String,
    /// Version tag in the EHR.
    pub version: Option<String>,
    /// Provider, operatory and time in the EHR.
    pub placement: Placement,
    /// Time at which this service learned of its cancellation; `None` if the EHR still has it.
    pub cancelled_at: Option<Timestamp>,
}

impl ReplacedInEhr {
    /// Returns `true` if the EHR still has the appointment, and its number is `write`. Later ones may have the number
    /// of a cancelled one.
    pub fn is_left(&self, write: u64) -> bool {
        self.write == write && self.cancelled_at.is_none()
    }
}

impl Appointment {
    /// Creates an appointment of which only the placement is known.
    pub fn at(placement: Placement) -> Appointment {
        Appointment {
            version: None,
            patient_id: None,
            appointment_type_id: None,
            placement,
            note: None,
            unavailable: false,
            cancelled: false,
            cancelled_at: None,
            cancel_reason: None,
            confirmed: false,
            confirmed_at: None,
            patient_confirmed: false,
            patient_confirmed_at: None,
            patient_confirmed_here: None,
            patient_missed: false,
            checkin_at: None,
            checked_out_at: None,
            progress: Progress::Expected,
            booking: None,
            reschedule: None,
            replaced: Vec::new(),
        }
    }

    /// Sets the time of each flag that is newly set.
    pub fn set_flag_times(&mut self, now: Timestamp) {
        let flags = [
            (self.cancelled, &mut self.cancelled_at),
            (self.confirmed, &mut self.confirmed_at),
            (self.patient_confirmed, &mut self.patient_confirmed_at),
        ];
        for (_, since) in flags.into_iter().filter(|(holds, _)| *holds) {
            since.get_or_insert(now);
        }
    }
}

/// Redacted, because the appointment may contain patient data.
impl std::fmt::Debug for Appointment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Appointment({:?}, redacted)", self.placement)
    }
}

/// The progress of a visit by the EHR's own status. Some EHRs have a status, but no times of check-in and check-out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// The status reports neither, or the EHR has none.
    #[default]
    Expected,
    /// The patient is at the practice.
    Arrived,
    /// The visit is done.
    Completed,
}

/// Words for an arrived patient in the status of an EHR: FHIR.
const ARRIVED: [&str; 2] = ["arrived", "checked-in"];
/// Words for a visit that is done: FHIR and Open Dental.
const COMPLETED: [&str; 2] = ["fulfilled", "complete"];

impl Progress {
    /// Reads the value `status` of an appointment's further values.
    pub fn from_extra(extra: &[(String, String)]) -> Progress {
        let status = extra.iter().find(|(name, _)| name == "status").map_or("", |(_, status)| status.as_str());
        let is_one_of = |words: [&str; 2]| words.iter().any(|word| word.eq_ignore_ascii_case(status));
        if is_one_of(ARRIVED) {
            Progress::Arrived
        } else if is_one_of(COMPLETED) {
            Progress::Completed
        } else {
            Progress::Expected
        }
    }

    /// Returns `true` if the status reports neither an arrival nor the end of the visit.
    pub fn is_expected(&self) -> bool {
        *self == Progress::Expected
    }
}

/// The booking data of an appointment (specification 2.10).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booking {
    /// `bkg_`, the appointment's id and a proof, which makes it unguessable.
    pub booking_ref: String,
    /// State of the insert into the EHR.
    pub writeback: Writeback,
    /// The reason why the insert failed, without patient data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    /// State of the cancellation that a client requested; `None` if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancellation: Option<Writeback>,
    /// The first name given by the client, for the booking object.
    pub patient_first_name: String,
    /// The last name given by the client.
    pub patient_last_name: String,
    /// `true` if the patient was known before; `None` if that was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patient_matched: Option<bool>,
    /// Name of the API key used for the booking.
    pub created_by: String,
    /// `true` if the patient books for another person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_guardian: bool,
    /// As given by the client; not sent to the EHR.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_new_clients_patient: bool,
    /// As given by the client; not sent to the EHR.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub referrer: Option<String>,
    /// As given by the client. The contract's appointment has no such field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub descriptor_ids: Vec<u32>,
}

/// A change of an appointment's time by its patient.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reschedule {
    /// `pending` until the EHR has the new time.
    pub status: Writeback,
    /// The start before the change. If the change failed, the start at which the appointment is.
    pub from: Timestamp,
    /// The requested start.
    pub to: Timestamp,
    /// The reason given by the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The reason of a failure, without patient data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
}

impl Reschedule {
    /// Returns `true` until the EHR has answered.
    pub fn is_pending(&self) -> bool {
        self.status == Writeback::Pending
    }

    /// Returns `true` if the change has not failed, and no later one has moved the appointment away from `start`.
    pub fn is_at(&self, start: Timestamp) -> bool {
        self.status != Writeback::Failed && self.to == start
    }

    /// Ends a pending change of an appointment that is not in the EHR.
    pub fn end(&mut self, why: &str) {
        if self.is_pending() {
            self.status = Writeback::Failed;
            self.failure_reason = Some(why.to_owned());
        }
    }
}

impl Record<Appointment> {
    /// Returns the state of the last write to the EHR, and the reason of a failure. The insert takes precedence until
    /// it is done, then the last change counts. Returns `None` if no client has written the appointment.
    pub fn last_write(&self) -> Option<(Writeback, Option<&str>)> {
        let insert = self.booking.as_ref().map(|it| (it.writeback, it.failure_reason.as_deref()));
        let change = self.write.as_ref().map(RecordWrite::writeback);
        insert.filter(|(state, _)| *state != Writeback::Confirmed).or(change).or(insert)
    }
}

/// An appointment, or a block of unavailable time (`unavailable`, without patient).
#[record_form(
    of = Appointment, resource = Appointments, tag = 6, id = u64, scope = Everywhere,
    contract = "appointment", name = "Appointment"
)]
#[derive(Default)]
pub struct EhrAppointment {
    #[record(refers = Patients)]
    pub patient: Option<ForeignId>,
    #[record(refers = Providers)]
    pub provider: Option<ForeignId>,
    #[record(refers = Operatories)]
    pub operatory: Option<ForeignId>,
    #[record(refers = AppointmentTypes)]
    pub appointment_type: Option<ForeignId>,
    /// Start, in seconds since 1970, UTC.
    #[record(limit = Instant)]
    pub start: i64,
    /// End, after the start.
    #[record(limit = Instant)]
    pub end: i64,
    /// Free text.
    #[record(limit = Long)]
    pub note: Option<String>,
    /// A block of time, not a visit.
    pub unavailable: bool,
    /// Cancelled or broken.
    pub cancelled: bool,
    /// Confirmed by the practice.
    pub confirmed: bool,
    pub patient_confirmed: bool,
    /// The patient did not come.
    pub patient_missed: bool,
    #[record(limit = Instant)]
    pub checkin_at: Option<i64>,
    #[record(limit = Instant)]
    pub checked_out_at: Option<i64>,
    /// The write key of our write, if the EHR kept it.
    #[record(limit = Exact)]
    pub write_key: Option<String>,
    /// Version tag in the EHR, sent back with an update so that the EHR can refuse a stale one.
    #[record(limit = Exact)]
    pub version: Option<String>,
}

impl Body for Appointment {
    const LISTED_BY_ID: bool = false;

    /// Keeps the fields that the EHR does not return. The caller sets the times of new confirmations and cancellations.
    fn resolve<E: From<Invalid>>(
        shown: &EhrAppointment,
        kept: Option<&Appointment>,
        resolve_id: ResolveId<'_, E>,
    ) -> Result<Appointment, E> {
        let time = |seconds: i64| Timestamp(seconds.saturating_mul(SECOND));
        let span = Span::new(time(shown.start), time(shown.end)).ok_or(Invalid("end is not after start"))?;
        let operatory: Option<u64> = Reference::resolve(&shown.operatory, Resource::Operatories, resolve_id)?;
        let provider: Option<u32> = Reference::resolve(&shown.provider, Resource::Providers, resolve_id)?;
        let kind: Option<u32> = Reference::resolve(&shown.appointment_type, Resource::AppointmentTypes, resolve_id)?;
        let confirmed_here = kept.and_then(|kept| kept.patient_confirmed_here);
        let patient_confirmed = shown.patient_confirmed || confirmed_here.is_some();
        Ok(Appointment {
            version: shown.version.clone(),
            patient_id: Reference::resolve(&shown.patient, Resource::Patients, resolve_id)?,
            appointment_type_id: kind.or(kept.and_then(|kept| kept.appointment_type_id)),
            placement: Placement { operatory: operatory.map(OperatoryId), provider: provider.map(ProviderId), span },
            note: shown.note.clone(),
            unavailable: shown.unavailable,
            cancelled: shown.cancelled,
            cancelled_at: kept.and_then(|kept| kept.cancelled_at).filter(|_| shown.cancelled),
            cancel_reason: kept.and_then(|kept| kept.cancel_reason.clone()).filter(|_| shown.cancelled),
            confirmed: shown.confirmed,
            confirmed_at: kept.and_then(|kept| kept.confirmed_at).filter(|_| shown.confirmed),
            patient_confirmed,
            patient_confirmed_at: kept.and_then(|kept| kept.patient_confirmed_at).filter(|_| patient_confirmed),
            patient_confirmed_here: confirmed_here,
            patient_missed: shown.patient_missed,
            checkin_at: shown.checkin_at.map(time),
            checked_out_at: shown.checked_out_at.map(time),
            progress: Progress::from_extra(&shown.extra),
            booking: kept.and_then(|kept| kept.booking.clone()),
            reschedule: kept.and_then(|kept| kept.reschedule.clone()),
            replaced: kept.map(|kept| kept.replaced.clone()).unwrap_or_default(),
        })
    }

    /// Leaves out a provider, operatory or type that the EHR does not have.
    fn for_ehr<E: From<Missing>>(&self, id: ForeignId, foreign_id_of: ForeignIdOf<'_, E>) -> Result<EhrAppointment, E> {
        let seconds = |at: Timestamp| at.0.div_euclid(SECOND);
        let Placement { operatory, provider, span } = self.placement;
        let mut of = |to, id: Option<u64>| id.map_or(Ok(None), |id| foreign_id_of(to, id));
        Ok(EhrAppointment {
            id,
            patient: of(Resource::Patients, self.patient_id.map(u64::from))?,
            provider: of(Resource::Providers, provider.map(|id| id.0.into()))?,
            operatory: of(Resource::Operatories, operatory.map(|id| id.0))?,
            appointment_type: of(Resource::AppointmentTypes, self.appointment_type_id.map(u64::from))?,
            start: seconds(span.start),
            end: seconds(span.end),
            note: self.note.clone(),
            unavailable: self.unavailable,
            cancelled: self.cancelled,
            confirmed: self.confirmed,
            patient_confirmed: self.patient_confirmed,
            patient_missed: self.patient_missed,
            checkin_at: self.checkin_at.map(seconds),
            checked_out_at: self.checked_out_at.map(seconds),
            write_key: None,
            version: self.version.clone(),
            extra: Extra::new(),
        })
    }

    fn terms(&self) -> Vec<Term> {
        self.patient_id.map(|id| Term::number(Field::Patient, id)).into_iter().collect()
    }

    fn orders(&self) -> Vec<(OrderBy, Timestamp)> {
        vec![(OrderBy::Start, self.placement.span.start)]
    }

    /// Cancels the appointment, which frees its slot.
    fn mark_deleted(record: &mut Record<Appointment>, now: Timestamp) {
        record.cancelled = true;
        record.cancelled_at.get_or_insert(now);
    }

    fn is_deleted(record: &Record<Appointment>) -> bool {
        record.cancelled
    }

    fn is_made_here(record: &Record<Appointment>) -> bool {
        record.booking.is_some()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn at(start: i64) -> Appointment {
        let span = Span::new(Timestamp(start), Timestamp(start + 10)).unwrap();
        Appointment::at(Placement { operatory: None, provider: None, span })
    }

    #[test]
    fn progress_follows_the_status_of_the_ehr() {
        let of = |name: &str, word: &str| Progress::from_extra(&[("a".into(), "b".into()), (name.into(), word.into())]);
        assert_eq!([of("status", "arrived"), of("status", "checked-in")], [Progress::Arrived; 2]);
        assert_eq!([of("status", "fulfilled"), of("status", "Complete")], [Progress::Completed; 2]);
        assert_eq!([of("status", "booked"), of("state", "arrived")], [Progress::Expected; 2]);
        assert_eq!(Progress::from_extra(&[]), Progress::Expected);
    }

    #[test]
    fn an_appointment_without_progress_is_stored_as_before() {
        let stored = serde_json::to_value(at(100)).unwrap();
        assert_eq!(stored.get("progress"), None);
        assert!(serde_json::from_value::<Appointment>(stored).unwrap() == at(100));
        let done = Appointment { progress: Progress::Completed, ..at(100) };
        let stored = serde_json::to_value(&done).unwrap();
        assert_eq!(stored["progress"], "completed");
        assert!(serde_json::from_value::<Appointment>(stored).unwrap() == done);
    }

    #[test]
    fn fields_without_a_value_are_not_stored() {
        fn has_values<T: Body>(body: T, id: T::Id) -> bool {
            let record = Record::new(id, 1, Timestamp(5), body);
            let stored = serde_json::to_value(&record).unwrap();
            assert!(serde_json::from_value::<Record<T>>(stored.clone()).unwrap() == record);
            [&stored, &stored["body"]].iter().all(|fields| fields.as_object().unwrap().values().all(|it| !it.is_null()))
        }
        assert!(has_values(at(100), 7) && has_values(crate::Patient::default(), 7));
    }
}
