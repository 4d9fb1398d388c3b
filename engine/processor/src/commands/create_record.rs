//! Creates a record that the scheduling rules do not depend on, and writes it to the EHR.

use std::any::Any;

use query::idempotency::{self, IdempotencyKey, Numbered};
use records::{FormResponse, FormSchema, form_answers};

use super::{
    prelude::*,
    references::{all_met, set_aside},
    save::ordering_key_of,
};
use crate::unit_of_work::merge_base::fields;

#[derive(Clone)]
pub struct CreateRecord<T> {
    pub body: T,
    /// The patient of the record. Writes of one patient go to the EHR one after the other.
    pub patient: Option<u32>,
    /// The client's number of the record. There is one record per number.
    pub number: Option<IdempotencyKey>,
}

impl<T: Body> Request for CreateRecord<T> {
    type Reply = Saved<Record<T>>;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        let (resource, source) = (T::RESOURCE, at.source().unwrap_or(0));
        let mut wrong = Vec::new();
        if let Some(response) = (&self.body as &dyn Any).downcast_ref::<FormResponse>() {
            set_aside(at.fits_its_form(response, unit), &mut wrong)?;
        }
        match self.number.as_ref().map(|number| idempotency::numbered(unit, number)).transpose()?.flatten() {
            Some(Numbered::Same(id)) => {
                // The current version of the record.
                let record = unit.get::<Record<T>>(source, id)?;
                let record = record.ok_or(Reject::Damaged("a number without its record"))?;
                return Ok((Decision::nothing(), Saved { replay: true, ..Saved::new(record) }));
            }
            Some(Numbered::Other(id)) => return Err(PreconditionError::NumberTaken { resource, id }.into()),
            None => {}
        }
        let mut unknown = at.unusable(&self.body, unit)?;
        if let Some(id) = self.patient {
            let mut of_patient = Vec::new();
            if set_aside(at.synced_patient(id, unit), &mut of_patient)?.is_none() {
                // `of_patient` has a more specific reason.
                unknown.retain(|it| *it != PreconditionError::NotFound { resource: Resource::Patients, id: id.into() });
                unknown.splice(0..0, of_patient);
            }
        }
        wrong.extend(at.charges_of_others(&self.body, unit)?);
        wrong.extend(unknown);
        all_met(wrong)?;
        let id = unit.allot(resource)?;
        let decision =
            at.decide_save(cx, resource, id, Operation::Create, ordering_key_of(self.patient, resource, id), false)?;
        let entry = Record {
            source_id: at.source(),
            location_id: Some(at.setup.id.0),
            write: Some(RecordWrite::pending()),
            ..Record::new(narrow(id)?, at.institution.id.0, cx.now, self.body.clone())
        };
        unit.put(&entry)?;
        if let Some(number) = &self.number {
            idempotency::number(unit, number, id);
        }
        let warnings = at.too_long(resource, &fields(&self.body)?);
        Ok((decision, Saved { warnings, ..Saved::new(entry) }))
    }
}

impl Processor {
    /// Checks the answers against the form.
    fn fits_its_form(&self, response: &FormResponse, unit: &mut UnitOfWork<'_>) -> Result<(), Reject> {
        let schema = unit.get::<Record<FormSchema>>(self.source().unwrap_or(0), response.form_schema_id)?;
        // A missing form is reported with the other references.
        let Some(schema) = schema else { return Ok(()) };
        let problems = form_answers::problems(&schema.body.schema_json.value(), &response.answers_json.value());
        if problems.is_empty() { Ok(()) } else { Err(PreconditionError::InvalidAnswers(problems).into()) }
    }
}
