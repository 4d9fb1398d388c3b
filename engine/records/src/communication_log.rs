//! Communication logs of patients.

use record_macro::record;

use crate::{
    Seconds,
    words::{Direction, Mode},
};

/// An entry of a patient's communication log.
#[record(
    resource = CommunicationLogs, tag = 27, id = u64, scope = Source,
    contract = "communication-log", name = "Communication Log",
    writes(Create = "create-communication-log")
)]
pub struct CommunicationLog {
    #[record(refers(patient = Patients), find = Patient)]
    pub patient_id: u32,
    /// Text of the communication.
    #[record(limit = Long)]
    pub note: String,
    /// none, email, mail, phone, in_person or text.
    pub mode: Mode,
    /// sent or received.
    pub direction: Direction,
    pub occurred_at: Seconds,
}
