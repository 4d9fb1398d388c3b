//! Requests of clients and operators to a location. Each has a file with its reply and its commit.
//!
//! ```text
//!  request ── prepare(processor, now, unit of work) ──► decision of the machine + reply
//!                                 ├─► references, patients: its preconditions
//!                                 └─► unit of work: records and keys of its commit
//! ```

mod appointment_types;
mod appointments;
mod own_records;
mod records;
mod references;
mod save;
mod splits;
mod working_hours;

pub mod book_slot;
pub mod cancel_appointment;
pub mod change_appointment;
pub mod change_appointment_type;
pub mod change_own_record;
pub mod change_patient;
pub mod change_record;
pub mod change_working_hour;
pub mod create_appointment;
pub mod create_appointment_type;
pub mod create_own_record;
pub mod create_patient;
pub mod create_record;
pub mod create_working_hour;
pub mod drop_write;
pub mod hold_slot;
pub mod remove_appointment_type;
pub mod remove_own_record;
pub mod remove_record;
pub mod remove_working_hour;
pub mod retry_write;
pub mod save_history_item;

pub use ::records::PatientChange;

pub use self::{
    book_slot::{BookSlot, Booked, Offer},
    cancel_appointment::CancelAppointment,
    change_appointment::{AppointmentChange, ChangeAppointment},
    change_appointment_type::{AppointmentTypeChange, ChangeAppointmentType},
    change_own_record::ChangeOwnRecord,
    change_patient::ChangePatient,
    change_record::ChangeRecord,
    change_working_hour::{ChangeWorkingHour, WorkingHourChange},
    create_appointment::CreateAppointment,
    create_appointment_type::CreateAppointmentType,
    create_own_record::CreateOwnRecord,
    create_patient::CreatePatient,
    create_record::CreateRecord,
    create_working_hour::CreateWorkingHour,
    drop_write::DropWrite,
    hold_slot::HoldSlot,
    remove_appointment_type::RemoveAppointmentType,
    remove_own_record::RemoveOwnRecord,
    remove_record::RemoveRecord,
    remove_working_hour::RemoveWorkingHour,
    retry_write::RetryWrite,
    save_history_item::SaveHistoryItem,
    working_hours::WorkingHourDetails,
};
