//! Changes of documents by moves in an EHR that cannot move appointments.

use location::{Resource, replacement::Replacement};
use records::{Appointment, Record, appointment::ReplacedInEhr, document::Link};

use super::Projection;
use crate::Reject;

impl Projection<'_, '_> {
    /// Handles a step of a replacement. The visit keeps its id; its foreign id becomes that of the new appointment, and
    /// the old one stays linked to the visit.
    pub(super) fn replacement(&mut self, step: &Replacement) -> Result<(), Reject> {
        let now = self.cx.now;
        match step {
            Replacement::Done { appointment, replaced, from, to: _, written } => {
                self.link(Resource::Appointments, appointment.0, written)?;
                let mut old = None;
                self.change(*appointment, |record| {
                    let before = record.foreign_id.replace(written.foreign_id.clone()).zip(*from);
                    old = before.as_ref().map(|(foreign_id, _)| foreign_id.clone());
                    let version = std::mem::replace(&mut record.version, written.version.clone());
                    record.last_sync_time = Some(now);
                    record.replaced.extend(before.map(|(foreign_id, placement)| ReplacedInEhr {
                        write: replaced.0,
                        foreign_id,
                        version,
                        placement,
                        cancelled_at: None,
                    }));
                })?;
                self.link_replaced(appointment.0, old.as_deref())?;
            }
            Replacement::Late { appointment, replaced, at, visit: _, written } => {
                // Also if staff have moved the visit to another location, because this location cancels it.
                self.unit.change::<Record<Appointment>>(0, appointment.0, |record| {
                    record.updated_at = now;
                    record.replaced.push(ReplacedInEhr {
                        write: replaced.0,
                        foreign_id: written.foreign_id.clone(),
                        version: written.version.clone(),
                        placement: *at,
                        cancelled_at: None,
                    });
                })?;
                self.link_replaced(appointment.0, Some(&written.foreign_id))?;
            }
            Replacement::Shown { appointment, replaced, at } => {
                self.change(*appointment, |record| {
                    let shown = record.replaced.iter_mut().filter(|known| known.is_left(replaced.0));
                    shown.for_each(|known| known.placement = *at);
                })?;
            }
            Replacement::Gone { appointment, replaced } => {
                self.change(*appointment, |record| {
                    let gone = record.replaced.iter_mut().filter(|known| known.is_left(replaced.0));
                    gone.for_each(|known| known.cancelled_at = Some(now));
                })?;
            }
        }
        Ok(())
    }

    /// Links an appointment that the EHR may still show to the visit that it belonged to.
    fn link_replaced(&mut self, visit: u64, foreign_id: Option<&str>) -> Result<(), Reject> {
        let (Some(source), Some(foreign_id)) = (self.processor.source(), foreign_id) else { return Ok(()) };
        if !self.processor.was_read_elsewhere(foreign_id, visit, self.unit)? {
            self.unit.put_link(source, Resource::Appointments, foreign_id, Link::replaced(visit));
        }
        Ok(())
    }
}
