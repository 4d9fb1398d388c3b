//! Payments and adjustments that are split by charge.

use std::any::Any;

use records::{Adjustment, Charge, Patient, Payment, ehr::singular};

use super::prelude::*;

impl Processor {
    /// Returns the charges in the splits of a ledger entry that belong to another family than its patient. A family is
    /// a guarantor and all patients for whom they pay. Charges without patient are accepted.
    pub(super) fn charges_of_others(
        &self,
        entry: &dyn Any,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<Vec<PreconditionError>, Reject> {
        let (resource, payer, splits) = if let Some(payment) = entry.downcast_ref::<Payment>() {
            (Resource::Payments, payment.patient_id, payment.charge_splits.as_slice())
        } else if let Some(adjustment) = entry.downcast_ref::<Adjustment>() {
            (Resource::Adjustments, adjustment.patient_id, adjustment.charge_splits.as_slice())
        } else {
            return Ok(Vec::new());
        };
        let Some(payer) = payer.filter(|_| !splits.is_empty()) else { return Ok(Vec::new()) };
        // An unknown patient is reported as such.
        let Some(patient) = unit.get::<Record<Patient>>(self.institution.id.0, payer.into())? else {
            return Ok(Vec::new());
        };
        let family = [Some(payer), patient.guarantor_id];
        let mut wrong = Vec::new();
        for id in splits.iter().map(|split| split.charge_id) {
            let Some(charge) = unit.get::<Record<Charge>>(self.source().unwrap_or(0), id)? else { continue };
            let (patient, guarantor) = (charge.body.patient_id, charge.body.guarantor_id);
            let people = [patient, guarantor, self.guarantor_of(patient, unit)?];
            if people.iter().any(Option::is_some) && !people.iter().any(|it| it.is_some() && family.contains(it)) {
                let name = singular(resource);
                wrong.push(PreconditionError::InvalidValue(format!(
                    "{name}.charge_splits must hold charges of the patient or their family: charge {id} is of another patient."
                )));
            }
        }
        Ok(wrong)
    }

    fn guarantor_of(&self, patient: Option<u32>, unit: &mut UnitOfWork<'_>) -> Result<Option<u32>, Reject> {
        let Some(id) = patient else { return Ok(None) };
        let found = unit.get::<Record<Patient>>(self.institution.id.0, id.into())?;
        Ok(found.and_then(|patient| patient.guarantor_id))
    }
}
