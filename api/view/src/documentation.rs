//! Documentation of the fields that many views have.

/// The documentation of a field of the type `Option<()>`.
pub(crate) const ALWAYS_NULL: &str = "Always null: no health record system provides it.";

/// Returns the documentation of a field by its name, if all views document it the same way.
pub(crate) fn for_field(name: &str, record: Option<&str>) -> Option<String> {
    let text = match name {
        "id" => return record.map(|record| format!("Id of the {record}.")),
        "name" => return record.map(|record| format!("Name of the {record}.")),
        "active" => {
            return record.map(|record| {
                format!(
                    "`true` if the {record} is in use; `false` once it has been deleted in the health record system."
                )
            });
        }
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
        "subdomain" => "Subdomain of the institution: the value of the query parameter `subdomain`.",
        "institution_id" => "Id of the institution that the record belongs to.",
        "location_id" => "Id of the location.",
        "operatory_id" => "Id of the operatory; null if the working hours have none.",
        "resource" => "The resource, as in the path of its list endpoint.",
        "patient_id" => "Id of the patient; null if the health record system provides none.",
        "provider_id" => "Id of the provider; null if the health record system provides none.",
        "guarantor_id" => {
            "Id of the guarantor, the person responsible for the account; null if the health record system provides none."
        }
        "patient" => "The patient; null if there is none. Only with `include[]=patient`.",
        "provider" => "The provider; null if there is none. Only with `include[]=provider`.",
        "guarantor" => "The guarantor; null if there is none. Only with `include[]=guarantor`.",
        "ok" => "Always true: the request was carried out.",
        "start_time" => "Start time, in UTC.",
        "start_iso" => "Start time as an ISO 8601 instant in UTC.",
        "start_local" => "Human-readable start time in the location's time zone: `Tue, Dec 1 2026, 9:30 AM EST`.",
        "duration_minutes" => "Length in minutes.",
        "confirmed" => "`true` if the practice confirmed the appointment.",
        "end_time" => "End time, in UTC.",
        "note" => "Free text; null if there is none.",
        "display_name" => "Display name; null if the health record system has none.",
        "hipaa" => "The patient's privacy authorizations.",
        "email" => "E-mail address; null if unknown.",
        "first_name" => "Given name.",
        "middle_name" => "Middle name; null if unknown.",
        "last_name" => "Family name.",
        "inactive" => "`true` if the record is no longer in use or was deleted in the health record system.",
        "home_phone_number" => "Home phone number; null if unknown.",
        "work_phone_number" => "Work phone number; null if unknown.",
        "chart_id" => {
            "Chart number that staff use for the patient; null if the health record system does not provide it."
        }
        "preferred_language" => "Preferred language, ISO 639-1; null if unknown.",
        "gender" => "Gender: `Male`, `Female` or `Other`; null if unknown.",
        "new_patient" => "`true` if the patient is new to the practice and has not been seen there yet.",
        "non_patient" => "`true` if the person is not a patient, for example a guarantor.",
        "date_of_birth" => "Date of birth, `YYYY-MM-DD`; null if unknown.",
        "location_ids" => "Ids of the locations at which the patient was created, read or seen.",
        "npi" => "National Provider Identifier; null if the health record system does not provide it.",
        "tin" => "Taxpayer identification number; null if the health record system does not provide it.",
        "state_license" => "Number of the state licence; null if the health record system does not provide it.",
        "specialty_code" => "Code of the specialty; null if the health record system does not provide it.",
        "interval_num" => "Number of units between two visits, 1 to 1000.",
        "interval_unit" => "Unit of the time between two visits.",
        "description" => "Description of the entry; null if there is none.",
        "fee" => "Amount charged; null if the health record system does not provide it.",
        "charged_at" => "Date of the charge, `YYYY-MM-DD`; null if the health record system does not provide it.",
        _ => return None,
    };
    Some(text.to_owned())
}
