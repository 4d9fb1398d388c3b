//! Alerts of a patient: /patients/{id}/alerts

use engine::commands::ChangeRecord;
use framework::access::arguments::AlertId;

use super::find;
use crate::{prelude::*, views::common::second};

/// An alert of a patient.
#[view(of = PatientAlert, named = "alert", published)]
pub struct PatientAlertView<'a> {
    id: u64,
    /// Id of the patient that the alert is about.
    patient_id: u32,
    /// Text of the alert, shown to staff together with the patient.
    note: &'a str,
    /// Time at which the alert was disabled, or deleted in the health record system, in UTC; null while it is in force.
    #[view(with = entry.body.disabled_at.map(|it| second(it, entry.created_at)).or(entry.deleted_at.map(At)))]
    disabled_at: Option<At>,
    created_at: At,
    updated_at: At,
    write: WriteState<'a>,
}

#[input]
pub struct ListAlerts {
    /// `true` to include disabled records.
    #[query(boolean(), default = false)]
    include_disabled: bool,
}

pub async fn list(
    mut call: ApiCall,
    Id(id): Id<u32>,
    InTenant(tenant, ListAlerts { include_disabled }): InTenant<ListAlerts>,
) -> Answer<Listed<PatientAlertView<'static>>> {
    let patient = find(&call, &tenant, id)?;
    let source: Vec<u32> = patient.source_id.into_iter().collect();
    let theirs = vec![Filter::Patient(id.into())];
    let mut alerts: Vec<Record<PatientAlert>> = call.all_entries_including_deleted(&source, theirs)?;
    alerts.retain(|it| include_disabled || (it.body.disabled_at.is_none() && it.deleted_at.is_none()));
    Ok(call.list(&alerts.iter().map(PatientAlertView::from_record).collect::<Vec<_>>()))
}

pub async fn show(
    call: ApiCall,
    (Id(patient), AlertId(alert)): (Id<u32>, AlertId),
    tenant: Tenant,
) -> Answer<One<PatientAlertView<'static>>> {
    Ok(call.show(PatientAlertView::from_record(&one(&call, &tenant, patient, alert)?)))
}

#[input(container("patient_alert", "The alert."))]
pub struct NewAlert {
    #[body(filled(note()))]
    note: String,
}

pub async fn create(
    mut call: ApiCall,
    Id(id): Id<u32>,
    InTenant(tenant, NewAlert { note }): InTenant<NewAlert>,
) -> Answer<Created<PatientAlertView<'static>>> {
    let patient = find(&call, &tenant, id)?;
    let location = patient.source_id.and_then(|source| call.location_for(&tenant, source, &patient.location_ids));
    let location = location.ok_or_else(not_synced)?;
    let alert = PatientAlert { patient_id: id, note, disabled_at: None, extra: Vec::new() };
    let saved = call.save_entry(&location, &alert, Some(id)).await.map_err(|refused| match refused {
        EngineError::Precondition(PreconditionError::PatientNotSynced) => not_synced(),
        other => other.into(),
    })?;
    Ok(call.created(saved.replay, PatientAlertView::from_record(&saved.record)))
}

/// Refuses alerts of a patient that the EHR does not have (specification 7.3).
fn not_synced() -> ApiError {
    Failure::AlertOfUnsyncedPatient.into()
}

#[input(object("patient_alert", "The alert."))]
pub struct AlertUpdate {
    /// `true` to disable the alert.
    #[body(boolean(), not_null)]
    disabled: Option<bool>,
}

pub async fn update(
    mut call: ApiCall,
    (Id(patient), AlertId(alert)): (Id<u32>, AlertId),
    InTenant(tenant, AlertUpdate { disabled }): InTenant<AlertUpdate>,
) -> Answer<One<PatientAlertView<'static>>> {
    let alert = one(&call, &tenant, patient, alert)?;
    let is_disabled = alert.body.disabled_at.is_some() || alert.deleted_at.is_some();
    match disabled {
        Some(false) if is_disabled => {
            return Err(Failure::AlertNotEnabled.into());
        }
        Some(true) if !is_disabled => {}
        _ => return Ok(call.show(PatientAlertView::from_record(&alert))),
    }
    let location =
        call.location_for(&tenant, alert.source(), alert.location_id.as_slice()).ok_or_else(ApiError::internal)?;
    let body = PatientAlert { disabled_at: Some(call.api.engine.now().into()), ..alert.body };
    let saved = call.save(&location, ChangeRecord { id: alert.id.into(), body: Some(body) }).await?;
    call.audit("update", "Patient Alert", alert.id.into());
    Ok(call.show(PatientAlertView::from_record(&saved.record)))
}

fn one(call: &ApiCall, tenant: &Tenant, patient: u32, id: u64) -> Result<Record<PatientAlert>, ApiError> {
    find(call, tenant, patient)?;
    let alert = call.entry::<PatientAlert>(tenant, id)?;
    let theirs = alert.body.patient_id == patient;
    if theirs { Ok(alert) } else { Err(ApiError::not_found(format!("Patient Alert with id {id}"))) }
}
