//! The EHR's responses.

use adapter_sdk::fields::Names;
use serde::Deserialize;
use serde_json::Value;

/// `GET /v1/about`.
#[derive(Debug, Deserialize)]
pub struct About {
    pub name: String,
    /// The supported writes, with the EHR's names: `create_patient`, `update_appointment`, ...
    pub writes: Vec<String>,
    pub new_patients: bool,
    pub required_patient_fields: Vec<String>,
    pub max_plan_name: Option<u32>,
    pub requests_per_minute: Option<u32>,
}

/// A page of a list: changes after the requested revision.
#[derive(Debug, Deserialize)]
pub struct List {
    pub records: Vec<Value>,
    pub deleted: Vec<String>,
    pub revision: u64,
    pub more: bool,
    pub total: u64,
}

#[derive(Debug, Deserialize)]
pub struct ErrorBody {
    pub error: String,
}

/// The common fields of a response to a write and of `GET /v1/writes/<key>`.
#[derive(Debug, Deserialize)]
pub struct WriteReply {
    pub id: String,
    pub version: Option<u64>,
}

/// The EHR's records with the contract's names.
pub const PATIENT: Names = Names(
    "id version first_name middle_name? last_name date_of_birth=born? gender? email? cell_phone=cell? home_phone=home? work_phone=work? \
     address/line1=address/street? address/line2=address/street2? address/city? address/region=address/state? \
     address/postal_code=address/zip? address/country? guarantor? provider? chart_id=chart? preferred_language=language? inactive \
     new_patient=new unsubscribed_sms=no_texts unsubscribed_email=no_emails",
);
pub const PROVIDER: Names =
    Names("id first_name last_name title? email? npi? specialty_code=specialty? inactive=retired");
pub const OPERATORY: Names = Names("id name active=in_use bookable_online=web_booking appointment_types=types");
pub const APPOINTMENT_TYPE: Names = Names("id name minutes bookable_online=web_booking");
pub const HOURS: Names = Names(
    "id provider operatory? begin_time=begin end_time=end days? specific_date=date? recurrence=every? block appointment_types=types \
     label? active",
);
pub const RECURRENCE: Names = Names("number unit reference=from");
pub const APPOINTMENT: Names = Names(
    "id version patient? provider? operatory? appointment_type=type? start end note? status reason? unavailable=blocked \
     patient_confirmed checkin_at=arrived_at? checked_out_at=left_at? write_key?",
);

pub const STATUSES: [&str; 6] = ["scheduled", "confirmed", "arrived", "done", "missed", "cancelled"];
