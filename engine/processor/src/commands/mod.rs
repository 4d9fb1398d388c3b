//! Requests of clients and operators to a location. Each has a file with its reply and its commit.
//!
//! ```text
//!  request ── prepare(processor, now, unit of work) ──► decision of the machine + reply
//!                                 ├─► references, patients: its preconditions
//!                                 └─► unit of work: records and keys of its commit
//! ```

mod appointments;
mod prelude;
mod records;
mod references;
mod save;
mod splits;

pub mod appointment_types;
pub mod book_slot;
pub mod cancel_appointment;
pub mod change_appointment;
pub mod change_patient;
pub mod change_record;
pub mod confirm_visit;
pub mod create_appointment;
pub mod create_patient;
pub mod create_record;
pub mod drop_write;
pub mod hold_slot;
pub mod own_records;
pub mod reschedule_visit;
pub mod retry_write;
pub mod save_history_item;
pub mod working_hours;

pub use ::records::PatientChange;

pub use self::{
    appointment_types::{AppointmentTypeChange, WriteAppointmentType},
    book_slot::{BookSlot, BookSlots, Booked, BookedGroup, DERIVED_KEY, Offer, SlotBooking},
    cancel_appointment::CancelAppointment,
    change_appointment::{AppointmentChange, ChangeAppointment},
    change_patient::ChangePatient,
    change_record::ChangeRecord,
    confirm_visit::{ConfirmVisit, Confirmation},
    create_appointment::CreateAppointment,
    create_patient::CreatePatient,
    create_record::CreateRecord,
    drop_write::DropWrite,
    hold_slot::HoldSlot,
    own_records::WriteOwnRecord,
    reschedule_visit::{RescheduleVisit, Rescheduled},
    retry_write::RetryWrite,
    save_history_item::SaveHistoryItem,
    working_hours::{WorkingHourChange, WorkingHourDetails, WriteWorkingHour},
};
