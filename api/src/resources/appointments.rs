//! GET /appointments, GET /appointments/{id}

use engine::{
    EngineError,
    records::{Appointment, Writeback},
    setup::LocationSetup,
};
use location::{
    ids::{AppointmentId, LocationId},
    time::{Span, Timestamp},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Answer, appointment_types::AppointmentTypeView, operatories::OperatoryView, patients::PatientView, providers::Names,
};
use crate::{
    bounds::MAX_TEXT,
    cursor::Position,
    errors::ApiError,
    kinds::{boolean, id, instant_in, long_id, one_of, sort, text, zone},
    pages::Page,
    scope::{Call, Place, Tenant},
    wire::{self, At, WritebackState, foreign_id_type},
};

/// An appointment, or a block of unavailable time.
#[derive(Serialize, JsonSchema)]
pub struct AppointmentView<'a> {
    id: u64,
    patient_id: Option<u32>,
    provider_id: Option<u32>,
    provider_name: Option<String>,
    start_time: At,
    confirmed: bool,
    patient_missed: bool,
    created_at: At,
    updated_at: At,
    note: Option<&'a str>,
    end_time: At,
    unavailable: bool,
    cancelled: bool,
    timezone: &'static str,
    institution_id: u32,
    appointment_type_id: Option<u32>,
    checkin_at: Option<At>,
    location_id: u32,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    misc: Option<()>,
    last_sync_time: Option<At>,
    patient_confirmed: bool,
    created_by_user_id: Option<()>,
    is_guardian: Option<()>,
    patient_confirmed_at: Option<At>,
    cancelled_at: Option<At>,
    is_new_clients_patient: Option<()>,
    confirmed_at: Option<At>,
    sooner_if_possible: Option<()>,
    operatory_id: Option<u64>,
    checked_out: bool,
    checked_out_at: Option<At>,
    referrer: Option<()>,
    is_past_patient: Option<()>,
    timezone_offset: String,
    start_time_with_tz: String,
    end_time_with_tz: String,
    created_at_with_tz: String,
}

impl<'a> AppointmentView<'a> {
    fn of(
        record: &'a Appointment,
        location: &LocationSetup,
        adapter: Option<&'a str>,
        provider_name: Option<String>,
    ) -> Self {
        let (span, zone) = (record.placement.span, location.zone);
        AppointmentView {
            id: record.id,
            patient_id: record.patient_id,
            provider_id: record.placement.provider.map(|it| it.0),
            provider_name,
            start_time: At(span.start),
            confirmed: record.confirmed,
            patient_missed: record.patient_missed,
            created_at: At(record.created_at),
            updated_at: At(record.updated_at),
            note: record.note.as_deref(),
            end_time: At(span.end),
            unavailable: record.unavailable,
            cancelled: record.cancelled,
            timezone: zone.name(),
            institution_id: record.institution_id,
            appointment_type_id: record.appointment_type_id,
            checkin_at: record.checkin_at.map(At),
            location_id: record.location_id,
            foreign_id: record.foreign_id.as_deref(),
            foreign_id_type: foreign_id_type(record.foreign_id.as_deref(), adapter),
            misc: None,
            last_sync_time: record.last_sync_time.map(At),
            patient_confirmed: record.patient_confirmed,
            created_by_user_id: None,
            is_guardian: None,
            patient_confirmed_at: record.patient_confirmed_at.map(At),
            cancelled_at: record.cancelled_at.map(At),
            is_new_clients_patient: None,
            confirmed_at: record.confirmed_at.map(At),
            sooner_if_possible: None,
            operatory_id: record.placement.operatory.map(|it| it.0),
            checked_out: record.checked_out_at.is_some(),
            checked_out_at: record.checked_out_at.map(At),
            referrer: None,
            is_past_patient: None,
            timezone_offset: wire::offset(span.start, zone),
            start_time_with_tz: wire::with_zone(span.start, zone),
            end_time_with_tz: wire::with_zone(span.end, zone),
            created_at_with_tz: wire::with_zone(record.created_at, zone),
        }
    }
}

/// One appointment with what was asked to come along.
#[derive(Serialize, JsonSchema)]
pub struct AppointmentDetail<'a> {
    #[serde(flatten)]
    appointment: AppointmentView<'a>,
    /// Only for appointments made here (specification 3).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<WritebackState>")]
    ehr_writeback: Option<Writeback>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patient: Option<Option<PatientView>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operatory: Option<Option<OperatoryView<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    appointment_type: Option<Option<AppointmentTypeView>>,
}

struct Filter {
    range: Span,
    descending: bool,
    cancelled: Option<bool>,
    unavailable: Option<bool>,
    nex_only: bool,
    since: Option<Timestamp>,
    appointment_type: Option<u32>,
    foreign_id: Option<String>,
    patients: Vec<u32>,
    providers: Vec<u32>,
    operatories: Vec<u64>,
}

pub async fn list(mut call: Call) -> Answer {
    let (tenant, place, (paging, filter)) = call.in_places(|input| {
        let q = &mut input.query;
        let zone = q.optional("timezone", zone());
        let (start, end) = (q.required("start", instant_in(zone)), q.required("end", instant_in(zone)));
        let range = start.zip(end).map(|(start, end)| Span::new(start, end));
        if range == Some(None) {
            q.problem("end must lie after start.");
        }
        let descending = q.defaulted("sort", sort(&["start_time"]), "start_time").descending;
        let (cancelled, unavailable) = (q.optional("cancelled", boolean()), q.optional("unavailable", boolean()));
        let nex_only = q.defaulted("nex_only", boolean(), false);
        let since = q.optional("updated_since", instant_in(zone));
        let appointment_type = q.optional("appointment_type_id", id());
        let foreign_id = q.optional("foreign_id", text(MAX_TEXT));
        let (patients, providers) = (q.list("patient_ids", id()), q.list("provider_ids", id()));
        let operatories = q.list("operatory_ids", long_id());
        let paging = input.paging();
        let range = range??;
        let filter = Filter {
            range,
            descending,
            cancelled,
            unavailable,
            nex_only,
            since,
            appointment_type,
            foreign_id,
            patients,
            providers,
            operatories,
        };
        Some((paging, filter))
    })?;
    let places = place.map_or_else(|| call.open_places(&tenant), |place| vec![place]);
    let page = paging.collect(
        filter.descending,
        |at, backwards, limit| nearest(&call, &places, filter.range, at, backwards, limit),
        |it| filter.keeps(it),
        position,
    )?;
    let mut names = Names::new(&call, &tenant);
    let mut rows = Vec::with_capacity(page.rows.len());
    for it in &page.rows {
        if let Some(place) = places.iter().find(|place| place.location.id.0 == it.location_id) {
            rows.push(view(&call, place, it, &mut names)?);
        }
    }
    Ok(call.page(&Page { rows, found: page.found }))
}

pub async fn show(mut call: Call) -> Answer {
    let id = call.path_id(long_id())?;
    let (tenant, include) = call.in_tenant(|input| {
        const INCLUDES: &[(&str, Include)] = &[
            ("patient", Include::Patient),
            ("operatory", Include::Operatory),
            ("appointment_type", Include::AppointmentType),
            ("guarantor", Include::Elsewhere),
            ("descriptors", Include::Elsewhere),
            ("booking_details", Include::Elsewhere),
            ("procedures", Include::Elsewhere),
        ];
        let mut include = input.query.list("include", one_of(INCLUDES));
        if include.contains(&Include::Elsewhere) {
            input.query.without_effect("include");
        }
        if include.is_empty() {
            include.push(Include::Patient);
        }
        Some(include)
    })?;
    let (place, record) = find(&call, &tenant, AppointmentId(id))?;
    let appointment = view(&call, &place, &record, &mut Names::new(&call, &tenant))?;
    let asked = |what: Include| include.contains(&what);
    let patient = asked(Include::Patient).then(|| patient_of(&call, &tenant, &record)).transpose()?;
    let operatory = asked(Include::Operatory).then(|| operatory_of(&call, &place, &record)).transpose()?;
    let adapter = call.api.directory.adapter(&place.location);
    let operatory = operatory.as_ref().map(|found| found.as_ref().map(|it| OperatoryView::basic(it, adapter)));
    let appointment_type = asked(Include::AppointmentType).then(|| type_of(&call, &tenant, &record)).transpose()?;
    let ehr_writeback = record.booking.as_ref().map(|booking| booking.writeback);
    Ok(call.show(AppointmentDetail { appointment, ehr_writeback, patient, operatory, appointment_type }))
}

#[derive(Clone, Copy, PartialEq)]
enum Include {
    Patient,
    Operatory,
    AppointmentType,
    /// Of resources that come from elsewhere in the EHR.
    Elsewhere,
}

/// One of the caller's appointments; those of other tenants and of closed locations do not exist.
pub fn find(call: &Call, tenant: &Tenant, id: AppointmentId) -> Result<(Place, Appointment), ApiError> {
    let not_found = || ApiError::NotFound(format!("Appointment with id {id}"));
    let record = call.api.engine.appointment(id)?.filter(|it| it.institution_id == tenant.institution.id.0);
    let record = record.ok_or_else(not_found)?;
    let place = call.place(tenant, LocationId(record.location_id)).map_err(|error| match error {
        ApiError::NotFound(_) => not_found(),
        other => other,
    })?;
    Ok((place, record))
}

impl Filter {
    fn keeps(&self, it: &Appointment) -> bool {
        let among = |ids: &[u32], id: Option<u32>| ids.is_empty() || id.is_some_and(|id| ids.contains(&id));
        let operatory = it.placement.operatory.map(|it| it.0);
        self.cancelled.is_none_or(|cancelled| it.cancelled == cancelled)
            && self.unavailable.is_none_or(|unavailable| it.unavailable == unavailable)
            && (!self.nex_only || it.foreign_id.is_none())
            && self.since.is_none_or(|since| it.updated_at >= since)
            && self.appointment_type.is_none_or(|id| it.appointment_type_id == Some(id))
            && self.foreign_id.as_ref().is_none_or(|id| it.foreign_id.as_ref() == Some(id))
            && among(&self.patients, it.patient_id)
            && among(&self.providers, it.placement.provider.map(|it| it.0))
            && (self.operatories.is_empty() || operatory.is_some_and(|id| self.operatories.contains(&id)))
    }
}

fn position(it: &Appointment) -> Position {
    Position { at: it.placement.span.start.0, id: it.id }
}

/// The appointments of several locations next to a position, as if they were one list.
fn nearest(
    call: &Call,
    places: &[Place],
    range: Span,
    at: Option<Position>,
    backwards: bool,
    limit: usize,
) -> Result<Vec<Appointment>, EngineError> {
    let at = at.map(|at| (Timestamp(at.at), at.id));
    let mut found = Vec::new();
    for place in places {
        found.extend(call.api.engine.appointments(place.location.id, range, at, backwards, limit)?);
    }
    found.sort_by_key(position);
    if backwards {
        found.reverse();
    }
    found.truncate(limit);
    Ok(found)
}

fn view<'a>(
    call: &'a Call,
    place: &Place,
    it: &'a Appointment,
    names: &mut Names<'_>,
) -> Result<AppointmentView<'a>, ApiError> {
    let name = it.placement.provider.map(|id| names.of(id.0)).transpose()?.flatten();
    Ok(AppointmentView::of(it, &place.location, call.api.directory.adapter(&place.location), name))
}

fn patient_of(call: &Call, tenant: &Tenant, it: &Appointment) -> Result<Option<PatientView>, ApiError> {
    let Some(id) = it.patient_id else { return Ok(None) };
    let found = call.api.engine.patient(tenant.institution.id, id)?;
    if found.is_some() {
        call.audit("read", "patient", id.into());
    }
    Ok(found.map(|patient| PatientView::of(&patient, call.api.directory.adapter_of_source(patient.source_id))))
}

fn operatory_of(
    call: &Call,
    place: &Place,
    it: &Appointment,
) -> Result<Option<engine::records::Operatory>, EngineError> {
    it.placement.operatory.map_or(Ok(None), |id| call.api.engine.operatory(place.location.id, id.0))
}

fn type_of(call: &Call, tenant: &Tenant, it: &Appointment) -> Result<Option<AppointmentTypeView>, EngineError> {
    let Some(id) = it.appointment_type_id else { return Ok(None) };
    Ok(call.api.engine.appointment_type(tenant.institution.id, id)?.as_ref().map(AppointmentTypeView::of))
}
