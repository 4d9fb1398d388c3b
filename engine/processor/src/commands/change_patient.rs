//! Changes a patient (specification 4.4).

use std::collections::BTreeSet;

use records::{Patient, PatientChange};

use super::{prelude::*, save::queued};
use crate::unit_of_work::merge_base::fields;

#[derive(Clone)]
pub struct ChangePatient {
    pub id: u32,
    pub change: PatientChange,
}

impl Request for ChangePatient {
    type Reply = Saved<Record<Patient>>;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
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
        let warnings = at.warn_about_unsupported_fields(&before, &after)?;
        Ok((decision, Saved { warnings, ..Saved::new(after) }))
    }
}

impl Processor {
    /// Returns a warning for each changed field that the EHR does not store.
    pub fn warn_about_unsupported_fields(&self, before: &Patient, after: &Patient) -> Result<Vec<String>, Reject> {
        let unkept = self.description.as_ref().map_or(&[][..], |description| &description.unkept_patient_fields);
        let (was, is) = (fields(before)?, fields(after)?);
        // Fields without a value are absent.
        let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
        let own = names.into_iter().filter(|name| was.get(*name) != is.get(*name));
        let own = own.filter(|name| name.as_str() != "extra" && unkept.contains(name));
        let more = after.extra.iter().filter(|pair| !before.extra.contains(pair)).map(|(name, _)| name);
        let more = more.filter(|_| unkept.iter().any(|name| name == "extra"));
        Ok(own
            .chain(more)
            .map(|name| format!("{name} stays here: the health record system has no field for it."))
            .collect())
    }
}
