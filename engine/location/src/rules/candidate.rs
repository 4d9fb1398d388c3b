//! A candidate time of an intent, and the facts about its patient.

use crate::{
    AppointmentTypeId, Date, Holder, Slot,
    command::{Book, Closed},
    schedule::calendar::Column,
};

/// Facts about the patient of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatientFacts {
    /// `true` if the practice does not know the patient yet.
    pub is_new: bool,
    /// The date of birth. Without it, limits of age are not checked.
    pub date_of_birth: Option<Date>,
}

/// Another visit of the same request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Companion {
    pub slot: Slot,
    pub appointment_type: Option<AppointmentTypeId>,
}

impl Companion {
    /// Returns the visit of a booking, or `None` if it names no provider.
    pub(crate) fn from_booking(booking: &Book) -> Option<Companion> {
        let slot = Slot::from_placement(&booking.offer.placement)?;
        Some(Companion { slot, appointment_type: booking.offer.appointment_type })
    }
}

/// A candidate time of an intent.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    pub slot: Slot,
    pub appointment_type: Option<AppointmentTypeId>,
    /// `true` if schedulable blocks join synced hours (v3.0.0 and later).
    pub join_blocks: bool,
    /// Holders that do not count as taken: the hold in use, or both placements of an appointment that moves.
    pub own: Vec<Holder>,
    /// Operatories and types that the practice closed to patients.
    pub closed: &'a Closed,
    /// The channel of the caller's API key.
    pub channel: Option<&'a str>,
    /// The patient; `None` if the request names none.
    pub patient: Option<PatientFacts>,
    /// Visits of the same request that count as taken, such as the earlier members of a group.
    pub also_taken: &'a [Companion],
}

impl Candidate<'_> {
    /// Returns the placements of the same request that prevent the provider from working in the operatory.
    pub(super) fn conflicting_slots(&self) -> impl Iterator<Item = &Slot> {
        let Slot { provider, operatory, .. } = self.slot;
        let columns = [operatory.map(Column::Operatory), Some(Column::Provider(provider))];
        let slots = self.also_taken.iter().map(|other| &other.slot);
        slots.filter(move |other| columns.contains(&Some(other.column())))
    }
}
