//! Moves a visit to a slot offered to its patient. The visit keeps its id and its booking reference.

use location::{
    AppointmentTypeId, Reply,
    command::{KeyUse, Reschedule},
};
use records::{Appointment, Writeback};
use sha2::{Digest, Sha256};
use store::keys;

use super::{
    book_slot::{Claim, Offer, key_digest},
    prelude::*,
};

/// A visit with the slot token of its new time. The slot is at the location of the visit.
#[derive(Clone)]
pub struct RescheduleVisit {
    pub appointment: AppointmentId,
    pub offer: Offer,
    pub idempotency_key: String,
    pub reason: Option<String>,
}

pub struct Rescheduled {
    /// `true` if an earlier request with the same idempotency key moved the visit.
    pub replay: bool,
    pub warnings: Vec<String>,
}

impl Request for RescheduleVisit {
    type Reply = Rescheduled;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Rescheduled> {
        let (id, to) = (self.appointment, self.offer.placement());
        let digest = key_digest(&self.idempotency_key);
        let claim_key = keys::claim(at.institution.id.0, &digest);
        let claimed_by = Claim::owner(&claim_key, cx.now, unit)?;
        let found = unit.get::<Record<Appointment>>(0, id.0)?.filter(|record| record.location() == at.setup.id.0);
        let before = found.ok_or(PreconditionError::NotFound { resource: Resource::Appointments, id: id.0 })?;
        let appointment_type = before.appointment_type_id.map(AppointmentTypeId);
        let closed = at.closed_to_patients(appointment_type.or(self.offer.appointment_type))?;
        let command = Command::Reschedule(Reschedule {
            appointment: id,
            appointment_type,
            offer: self.offer.slot(closed),
            key: Some(KeyUse { key: hex::encode(digest), fingerprint: self.fingerprint(), claimed_by }),
        });
        let decision = at.decide(cx, &command)?;
        let replay = match decision.reply {
            Reply::Rescheduled { replay } => replay,
            _ => return Err(Reject::Damaged("a reschedule with an unexpected reply")),
        };
        let mut warnings = Vec::new();
        if !replay {
            Claim::put(at, cx, claim_key, unit)?;
            if before.placement != to {
                let mut after = self.moved(at, cx, before);
                unit.put(&after)?;
                // The projection of the move event changes the stored placement.
                after.placement = to;
                warnings.extend(at.double_booked(&after));
            }
        }
        Ok((decision, Rescheduled { replay, warnings }))
    }
}

impl RescheduleVisit {
    /// Returns the record with the state of this change. A change of a pending change keeps the time from which the
    /// first one moved the visit, because the EHR may still have it.
    fn moved(&self, at: &Processor, cx: DecisionContext, before: Record<Appointment>) -> Record<Appointment> {
        let pending = before.reschedule.as_ref().filter(|it| it.is_pending()).map(|it| it.from);
        let from = pending.unwrap_or(before.placement.span.start);
        let status = if at.settings().capabilities.integrated { Writeback::Pending } else { Writeback::Confirmed };
        let to = self.offer.span.start;
        let mut after = before;
        after.reschedule =
            Some(records::Reschedule { status, from, to, reason: self.reason.clone(), failure_reason: None });
        after.updated_at = cx.now;
        after
    }

    /// Returns a digest of the request that used the key. It differs from that of a booking with the same token.
    fn fingerprint(&self) -> String {
        let request = serde_json::json!(["reschedule", self.appointment.0, self.offer.hold, self.reason]);
        hex::encode(Sha256::digest(request.to_string().as_bytes()))
    }
}
