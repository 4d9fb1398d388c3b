//! Related records (`include[]`): the requested ones are read before the view of the main record is built.

use engine::{
    lists::{Filter, ListQuery, Order, PageRequest},
    records::{
        Adjustment, Charge, InsurancePlan, Patient, Payment, Procedure, Provider, TreatmentPlan,
        record::{Body, Record},
    },
};

use crate::{
    access::{call::ApiCall, tenancy::Tenant},
    http::errors::ApiError,
    records::visible::is_live,
    views::{
        clinical::{ProcedureView, TreatmentPlanView},
        insurance::InsurancePlanView,
        ledger::{AdjustmentView, ChargeView, PaymentView},
        parts::Included,
        people::{PatientBasic, PersonView, ProviderBasic},
    },
};

/// Reads related records by name. Those that were not requested stay absent.
pub(super) struct Related<'a> {
    pub call: &'a ApiCall,
    pub tenant: &'a Tenant,
    pub asked: &'a [&'static str],
}

impl Related<'_> {
    pub(super) fn asks_for(&self, name: &str) -> bool {
        self.asked.contains(&name)
    }

    pub(super) fn patient(&self, name: &str, id: Option<u32>) -> Result<Included<Record<Patient>>, ApiError> {
        let institution = self.tenant.institution.id;
        let found = self.read(name, id, |id| Ok(self.call.api.engine.patient(institution, id)?))?;
        if let Some(Some(patient)) = &found {
            self.call.audit("read", "patient", patient.id.into());
        }
        Ok(found)
    }

    pub(super) fn provider(&self, name: &str, id: Option<u32>) -> Result<Included<Record<Provider>>, ApiError> {
        self.read(name, id, |id| Ok(self.call.api.engine.provider(self.tenant.institution.id, id)?))
    }

    pub(super) fn entry<T: Body>(&self, name: &str, id: Option<u64>) -> Result<Included<Record<T>>, ApiError> {
        self.read(name, id, |id| self.call.try_entry(self.tenant, id))
    }

    fn read<I, T>(
        &self,
        name: &str,
        id: Option<I>,
        read: impl FnOnce(I) -> Result<Option<T>, ApiError>,
    ) -> Result<Included<T>, ApiError> {
        if !self.asks_for(name) {
            return Ok(None);
        }
        Ok(Some(id.map(read).transpose()?.flatten()))
    }
}

/// Converts the records that were read into their views.
pub(super) fn map_included<'a, T, V>(found: &'a Included<T>, view: impl FnOnce(&'a T) -> V) -> Included<V> {
    found.as_ref().map(|found| found.as_ref().map(view))
}

impl ApiCall {
    /// Returns the records of a data source that match a filter and are not deleted, in order of id, up to a limit.
    pub(crate) fn find_all<T: Body>(
        &self,
        source: u32,
        filter: Filter,
        limit: usize,
    ) -> Result<Vec<Record<T>>, ApiError> {
        let query = ListQuery::new([source], Order::Id).filtered([filter]);
        let shown = |it: &Record<T>| it.deleted_at.is_none() && is_live(it) && self.is_visible(it);
        Ok(self.api.engine.list(&query, &PageRequest::whole(limit), shown)?.rows)
    }

    /// Returns the view of a procedure, with its fee only if the key may see amounts (specification 5.10).
    pub(crate) fn procedure<'a>(&self, procedure: &'a Record<Procedure>) -> ProcedureView<'a> {
        ProcedureView::from_record(procedure).amounts(self.key.grants.financial)
    }

    pub(crate) fn treatment_plan<'a>(
        &self,
        plan: &'a Record<TreatmentPlan>,
        procedures: impl IntoIterator<Item = &'a Record<Procedure>>,
    ) -> TreatmentPlanView<'a> {
        TreatmentPlanView::from_record(plan, procedures).amounts(self.key.grants.financial)
    }

    pub(crate) fn insurance_plan<'a>(&self, plan: &'a Record<InsurancePlan>) -> InsurancePlanView<'a> {
        InsurancePlanView::from_record(plan).amounts(self.key.grants.financial)
    }

    pub(crate) fn charge<'a>(&self, charge: &'a Record<Charge>) -> ChargeView<'a> {
        ChargeView::in_version(charge, self.version)
    }

    pub(crate) fn payment<'a>(&self, payment: &'a Record<Payment>) -> PaymentView<'a> {
        PaymentView::in_version(payment, self.version)
    }

    pub(crate) fn adjustment<'a>(&self, adjustment: &'a Record<Adjustment>) -> AdjustmentView<'a> {
        AdjustmentView::in_version(adjustment, self.version)
    }

    pub(crate) fn patient_basic<'a>(&'a self, patient: &'a Record<Patient>) -> PatientBasic<'a> {
        PatientBasic::from_record(patient, self.directory.adapter_of_source(patient.source_id))
    }

    pub(crate) fn patient_user<'a>(&'a self, patient: &'a Record<Patient>) -> PersonView<'a> {
        PersonView::patient(patient, self.directory.adapter_of_source(patient.source_id))
    }

    pub(crate) fn provider_basic<'a>(&'a self, provider: &'a Record<Provider>) -> ProviderBasic<'a> {
        ProviderBasic::from_record(provider, self.directory.adapter_of_source(provider.source_id))
    }
}
