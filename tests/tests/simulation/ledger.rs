//! The reference for the invariants: answers to clients, and events committed by locations.

use std::collections::{BTreeMap, BTreeSet};

use location::{
    command::Placement,
    event::{Event, InsertFailure},
    ids::{AppointmentId, InstitutionId, LocationId},
    intent::WriteIntent,
    time::Timestamp,
};
use processor::commands::{BookSlot, BookSlots, RescheduleVisit};

/// A booking committed by a location.
pub struct LedgerBooking {
    pub location: LocationId,
    /// The current place, as known to the location.
    pub place: Placement,
    /// The place in the EHR while a replacement at another place is queued.
    pub replaced: Option<Placement>,
    /// The location has accepted its cancellation.
    pub cancelled: bool,
    /// The slot is free again: the booking failed, or it is no longer in the EHR.
    pub ended: bool,
    /// A client got the answer.
    pub acknowledged: bool,
}

/// An accepted key from the client's view.
pub struct Promise {
    pub location: LocationId,
    pub appointment: AppointmentId,
    pub request: BookSlot,
    pub expires: Timestamp,
}

/// A key of a committed reschedule.
pub struct PinnedKey {
    pub appointment: AppointmentId,
    pub expires: Timestamp,
}

/// A committed group.
pub struct BookedGroup {
    /// The appointments in the order of the request.
    pub members: Vec<AppointmentId>,
    pub expires: Timestamp,
}

/// The confirmation of a visit by its patient.
#[derive(Default)]
pub struct LedgerConfirmation {
    /// A client got the answer.
    pub acknowledged: bool,
    /// A write to the EHR was queued.
    pub queued: bool,
    /// A write ended without being written.
    pub failed: bool,
}

pub type KeyName = (InstitutionId, String);

#[derive(Default)]
pub struct Ledger {
    pub bookings: BTreeMap<AppointmentId, LedgerBooking>,
    pub promises: BTreeMap<KeyName, Promise>,
    /// Reschedules requested by clients.
    pub reschedules: Vec<RescheduleVisit>,
    /// Number of accepted reschedules with new keys.
    pub moves: usize,
    /// Number of accepted reschedules with keys that were known.
    pub replays: usize,
    /// Keys of committed reschedules by their name at a location.
    pub pinned: BTreeMap<(LocationId, String), PinnedKey>,
    /// Committed confirmations.
    pub confirmations: BTreeMap<AppointmentId, LedgerConfirmation>,
    /// Groups requested by clients.
    pub group_requests: Vec<BookSlots>,
    /// Committed groups by the name of their key at a location.
    pub groups: BTreeMap<(LocationId, String), BookedGroup>,
    /// All uses of a key, with location and data.
    pub attempts: BTreeMap<KeyName, BTreeSet<(LocationId, String)>>,
}

impl Ledger {
    /// Returns the promise unless it has expired.
    pub fn promise(&self, key: &KeyName, now: Timestamp) -> Option<&Promise> {
        self.promises.get(key).filter(|promise| now < promise.expires)
    }

    /// Applies a committed event.
    pub fn note(&mut self, location: LocationId, event: &Event) {
        match event {
            Event::Booked { appointment, placement, key, .. } => {
                if let Some(key) = key.as_ref().filter(|key| !key.others.is_empty()) {
                    let members = [&[*appointment][..], &key.others].concat();
                    let group = BookedGroup { members, expires: key.expires };
                    self.groups.insert((location, key.key.clone()), group);
                }
                let booking = LedgerBooking {
                    location,
                    place: *placement,
                    replaced: None,
                    cancelled: false,
                    ended: false,
                    acknowledged: false,
                };
                self.bookings.insert(*appointment, booking);
            }
            Event::Moved { appointment, to, .. } => self.change(*appointment, |booking| {
                booking.replaced.get_or_insert(booking.place);
                booking.place = *to;
            }),
            Event::MoveReverted { appointment, to, .. } => self.change(*appointment, |booking| {
                (booking.place, booking.replaced) = (*to, None);
            }),
            Event::Cancelled { appointment, .. } => self.change(*appointment, |booking| booking.cancelled = true),
            Event::WriteDone { work: WriteIntent::Replace(appointment), .. } => {
                self.change(*appointment, |booking| booking.replaced = None);
            }
            // The EHR still has the appointment at its earlier place, until it is cancelled there.
            Event::WriteFailed { work: WriteIntent::Replace(appointment), how: InsertFailure::Withdrawn, .. } => {
                self.change(*appointment, |booking| {
                    if let Some(earlier) = booking.replaced.filter(|_| booking.cancelled) {
                        (booking.place, booking.replaced) = (earlier, None);
                    }
                });
            }
            Event::AppointmentPulled { record, keep: false } => {
                self.change(record.id, |booking| {
                    (booking.place, booking.replaced) = (record.placement, None);
                    booking.ended = false;
                });
            }
            Event::KeyUsed { appointment, key } => {
                let pinned = PinnedKey { appointment: *appointment, expires: key.expires };
                self.pinned.insert((location, key.key.clone()), pinned);
            }
            Event::AppointmentChanged { appointment, what } if what.confirmation => {
                self.confirmations.entry(*appointment).or_default();
            }
            Event::WriteQueued { work: WriteIntent::Confirm(appointment), .. } => {
                self.confirmations.entry(*appointment).or_default().queued = true;
            }
            Event::WriteFailed { work: WriteIntent::Confirm(appointment), .. } => {
                self.confirmations.entry(*appointment).or_default().failed = true;
            }
            Event::InsertFailed { appointment, .. }
            | Event::CancelConfirmed { appointment }
            | Event::AppointmentGone { appointment } => self.change(*appointment, |booking| booking.ended = true),
            _ => {}
        }
    }

    pub fn change(&mut self, id: AppointmentId, change: impl FnOnce(&mut LedgerBooking)) {
        if let Some(booking) = self.bookings.get_mut(&id) {
            change(booking);
        }
    }
}

/// Returns the content of a request for comparisons.
pub fn request_content(request: &BookSlot) -> String {
    let BookSlot { offer, patient, note, .. } = request;
    format!("{} {} {:?} {note:?}", offer.hold, patient.last_name, patient.phone_number)
}
