//! Changes a patient (specification 4.4).

use location::{
    command::DecisionContext, decision::Decision, ids::PatientId, order::OrderingKey, pull::Resource,
    resource::Operation,
};
use records::{
    Patient,
    record::{Record, RecordWrite},
    values::Address,
};

use super::save::queued;
use crate::{
    error::Reject,
    processor::Processor,
    reply::Saved,
    request::Request,
    unit_of_work::{UnitOfWork, merge_base::fields},
};

#[derive(Clone)]
pub struct ChangePatient {
    pub id: u32,
    pub change: PatientChange,
}

/// The text fields that clients may change.
macro_rules! changes {
    ($($field:ident)*) => {
        /// Changes of a patient. Absent fields stay unchanged (specification 4.4). An empty text clears an optional
        /// field.
        #[derive(Clone, Default)]
        pub struct PatientChange {
            $(pub $field: Option<String>,)*
            pub address: Option<Address>,
        }

        impl PatientChange {
            fn apply(&self, patient: &mut Patient) {
                $(if let Some(value) = &self.$field {
                    patient.$field.set(value);
                })*
                if let Some(change) = &self.address {
                    change_address(patient.address.get_or_insert_default(), change);
                }
            }
        }
    };
}

changes! {
    first_name middle_name last_name email date_of_birth gender cell_phone home_phone work_phone work_phone_extension ssn
}

impl Request for ChangePatient {
    type Reply = Saved<Record<Patient>>;

    fn prepare(
        &self,
        at: &Processor,
        cx: DecisionContext,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(Decision, Self::Reply), Reject> {
        let before = at.synced_patient(self.id, unit)?;
        let mut after = before.clone();
        self.change.apply(&mut after);
        if after == before {
            return Ok((Decision::nothing(), Saved::new(before)));
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
        Ok((decision, Saved { warnings, ..Saved::new(after) }))
    }
}

impl Processor {
    /// Returns a warning for each changed field that the EHR does not store.
    pub fn unkept(&self, before: &Patient, after: &Patient) -> Result<Vec<String>, Reject> {
        let unkept = self.description.as_ref().map_or(&[][..], |description| &description.unkept_patient_fields);
        let (was, is) = (fields(before)?, fields(after)?);
        let own = is.iter().filter(|(name, value)| was.get(*name) != Some(value)).map(|(name, _)| name);
        let own = own.filter(|name| name.as_str() != "extra" && unkept.contains(name));
        let more = after.extra.iter().filter(|pair| !before.extra.contains(pair)).map(|(name, _)| name);
        let more = more.filter(|_| unkept.iter().any(|name| name == "extra"));
        Ok(own
            .chain(more)
            .map(|name| format!("{name} stays here: the health record system has no field for it."))
            .collect())
    }
}

/// A text field that a client sets.
trait Text {
    fn set(&mut self, value: &str);
}

impl Text for String {
    fn set(&mut self, value: &str) {
        value.clone_into(self);
    }
}

impl Text for Option<String> {
    fn set(&mut self, value: &str) {
        *self = Some(value.to_owned()).filter(|value| !value.is_empty());
    }
}

fn change_address(address: &mut Address, change: &Address) {
    let parts = [
        (&mut address.line1, &change.line1),
        (&mut address.line2, &change.line2),
        (&mut address.city, &change.city),
        (&mut address.region, &change.region),
        (&mut address.postal_code, &change.postal_code),
        (&mut address.country, &change.country),
    ];
    for (part, given) in parts {
        if let Some(value) = given {
            part.set(value);
        }
    }
}
