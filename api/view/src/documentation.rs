//! Documentation of the fields that many views have.

/// Returns the documentation of a field by its name, if all views document it the same way.
pub(crate) fn for_field(name: &str, record: Option<&str>) -> Option<String> {
    let text = match name {
        "id" => return record.map(|record| format!("Id of the {record}.")),
        "foreign_id" => {
            "Opaque identifier in the health record system; null for a record that exists only in this service."
        }
        "foreign_id_type" => {
            "Name of the health record system's adapter; `nex` for a record that exists only in this service."
        }
        "created_at" => "Time at which this service first stored the record, in UTC.",
        "updated_at" => "Time of the last change of the record in this service, in UTC.",
        "deleted_at" => {
            "Time at which this service detected the deletion of the record in the health record system, in UTC; null if it was not deleted."
        }
        "last_sync_time" => {
            "Time at which the health record system last reported a change of the record or accepted a write of it, in UTC; null before the first time."
        }
        "institution_id" => "Id of the institution that the record belongs to.",
        "patient_id" => "Id of the patient; null if the health record system provides none.",
        "provider_id" => "Id of the provider; null if the health record system provides none.",
        "guarantor_id" => {
            "Id of the guarantor, the person responsible for the account; null if the health record system provides none."
        }
        "patient" => "The patient; null if there is none. Only with `include[]=patient`.",
        "provider" => "The provider; null if there is none. Only with `include[]=provider`.",
        "guarantor" => "The guarantor; null if there is none. Only with `include[]=guarantor`.",
        _ => return None,
    };
    Some(text.to_owned())
}
