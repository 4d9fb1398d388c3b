//! Forms, medical history, clinical records and communication.

pub mod clinical;
pub mod communication_logs;
pub mod conversations;
pub mod forms;
pub mod medical_history;
