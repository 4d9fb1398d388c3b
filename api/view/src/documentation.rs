//! Documentation of the fields that many views have.

/// Returns the documentation of a field by its name, if all views document it the same way.
pub(crate) fn of_field(name: &str, record: Option<&str>) -> Option<String> {
    let text = match name {
        "id" => return record.map(|record| format!("Id of the {record}.")),
        "foreign_id" => "Identifier in the health record system, opaque; null for a record that exists only here.",
        "foreign_id_type" => "Name of the health record system's adapter; `nex` for a record that exists only here.",
        "created_at" => "When this service first stored the record, in UTC.",
        "updated_at" => "When the record last changed in this service, in UTC.",
        "deleted_at" => {
            "When this service learned that it was deleted in the health record system, in UTC; null if it was not."
        }
        "last_sync_time" => {
            "When the health record system last showed a change of the record or took a write of it, in UTC; null before the first time."
        }
        "patient_id" => "Id of the patient; null if the health record system names none.",
        "provider_id" => "Id of the provider; null if the health record system names none.",
        "guarantor_id" => {
            "Id of the guarantor, the person responsible for the account; null if the health record system names none."
        }
        "patient" => "The patient; null if there is none. Only with `include[]=patient`.",
        "provider" => "The provider; null if there is none. Only with `include[]=provider`.",
        "guarantor" => "The guarantor; null if there is none. Only with `include[]=guarantor`.",
        _ => return None,
    };
    Some(text.to_owned())
}
