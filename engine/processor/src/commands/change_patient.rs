//! Changes a patient (specification 4.4).

use location::{
    command::Cx, decision::Decision, ids::PatientId, order::OrderingKey, pull::Resource, resource::Operation,
};
use records::{
    self,
    record::{Record, RecordWrite},
};

use super::save::queued;
use crate::{
    error::Reject,
    processor::Processor,
    request::Request,
    requests::Saved,
    unit_of_work::{UnitOfWork, merge_base::fields},
};

#[derive(Clone)]
pub struct ChangePatient {
    pub id: u32,
    pub change: PatientChange,
}

/// Only what is given changes (specification 4.4).
#[derive(Clone, Default)]
pub struct PatientChange {
    pub first_name: Option<String>,
    pub middle_name: Option<String>,
    pub last_name: Option<String>,
    pub email: Option<String>,
    pub date_of_birth: Option<String>,
    pub gender: Option<String>,
    pub cell_phone: Option<String>,
    pub home_phone: Option<String>,
    pub work_phone: Option<String>,
    pub work_phone_extension: Option<String>,
    pub ssn: Option<String>,
    pub address: Option<records::values::Address>,
}

impl Request for ChangePatient {
    type Reply = Saved<Record<records::Patient>>;

    fn prepare(&self, at: &Processor, cx: Cx, unit: &mut UnitOfWork<'_>) -> Result<(Decision, Self::Reply), Reject> {
        let before = at.synced_patient(self.id, unit)?;
        let mut after = before.clone();
        self.change.apply(&mut after);
        if after == before {
            return Ok((Decision::nothing(), Saved::of(before)));
        }
        after.updated_at = cx.now;
        let ordering_key = OrderingKey::Patient(PatientId(self.id));
        let decision =
            at.decide_save(cx, Resource::Patients, self.id.into(), Operation::Update, ordering_key, false)?;
        if queued(&decision) {
            after.write = Some(RecordWrite::pending());
            unit.keep_merge_base(&before)?;
        }
        at.index_patient(Some(&before), &after, unit)?;
        unit.put(&after)?;
        let warnings = at.unkept(&before, &after)?;
        Ok((decision, Saved { warnings, ..Saved::of(after) }))
    }
}

impl Processor {
    /// What of a change the EHR has no field for.
    pub fn unkept(&self, before: &records::Patient, after: &records::Patient) -> Result<Vec<String>, Reject> {
        let unkept = self.description.as_ref().map_or(&[][..], |description| &description.unkept_patient_fields);
        let (was, is) = (fields(before)?, fields(after)?);
        let own = is.iter().filter(|(name, value)| was.get(*name) != Some(value)).map(|(name, _)| name);
        let own = own.filter(|name| unkept.contains(name));
        let more = after.extra.iter().filter(|pair| !before.extra.contains(pair)).map(|(name, _)| name);
        let more = more.filter(|_| unkept.iter().any(|name| name == "extra"));
        Ok(own
            .chain(more)
            .map(|name| format!("{name} stays here: the health record system has no field for it."))
            .collect())
    }
}

impl PatientChange {
    fn apply(&self, patient: &mut Record<records::Patient>) {
        let set = |field: &mut String, value: &Option<String>| {
            if let Some(value) = value {
                field.clone_from(value);
            }
        };
        // An empty text empties the field.
        let put = |field: &mut Option<String>, value: &Option<String>| {
            if value.is_some() {
                *field = value.clone().filter(|value| !value.is_empty());
            }
        };
        set(&mut patient.first_name, &self.first_name);
        set(&mut patient.last_name, &self.last_name);
        put(&mut patient.middle_name, &self.middle_name);
        put(&mut patient.email, &self.email);
        put(&mut patient.date_of_birth, &self.date_of_birth);
        put(&mut patient.gender, &self.gender);
        put(&mut patient.cell_phone, &self.cell_phone);
        put(&mut patient.home_phone, &self.home_phone);
        put(&mut patient.work_phone, &self.work_phone);
        put(&mut patient.work_phone_extension, &self.work_phone_extension);
        put(&mut patient.ssn, &self.ssn);
        if let Some(address) = &self.address {
            let known = patient.address.get_or_insert_default();
            put(&mut known.line1, &address.line1);
            put(&mut known.line2, &address.line2);
            put(&mut known.city, &address.city);
            put(&mut known.region, &address.region);
            put(&mut known.postal_code, &address.postal_code);
            put(&mut known.country, &address.country);
        }
    }
}
