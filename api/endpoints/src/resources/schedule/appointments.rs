//! GET /appointments, GET /appointments/{id} and its descriptors. Writes are in `appointment_writes`.

use framework::values::kinds::{
    shared::{operatories, providers},
    times::end_of,
    zone,
};

use super::{
    appointment_types::AppointmentTypeView,
    descriptors::{self, AppointmentDescriptorView, ListDescriptors},
};
use crate::{
    prelude::*,
    resources::{
        care::clinical::ProcedureView,
        practice::{operatories::OperatoryView, providers::ProviderNames},
        record_handlers::Related,
    },
    views::persons::{PatientBasic, PersonView},
};

/// An appointment, or a block of unavailable time.
#[view(of = Appointment, named = "appointment", args(location: &LocationSetup, provider_name: Option<String>))]
pub struct AppointmentView<'a> {
    id: u64,
    /// Id of the patient; null for a block of unavailable time, and if the health record system provides no patient.
    patient_id: Option<u32>,
    /// Id of the provider; null if the appointment has none.
    #[view(with = entry.placement.provider.map(|it| it.0))]
    provider_id: Option<u32>,
    /// Display name of the provider, or the full name if there is none; null if the appointment has no provider.
    #[view(with = provider_name)]
    provider_name: Option<String>,
    #[view(with = At(entry.placement.span.start))]
    start_time: At,
    confirmed: bool,
    /// `true` if the patient missed the appointment.
    patient_missed: bool,
    created_at: At,
    updated_at: At,
    /// Free text by staff or by a client; null if there is none.
    note: Option<&'a str>,
    #[view(with = At(entry.placement.span.end))]
    end_time: At,
    /// `true` for a block of unavailable time, without a patient.
    unavailable: bool,
    /// `true` if the appointment is cancelled or was deleted in the health record system.
    cancelled: bool,
    /// IANA name of the location's time zone.
    #[view(with = location.zone.name())]
    timezone: &'static str,
    institution_id: u32,
    /// Id of the appointment type; null if the appointment has none.
    appointment_type_id: Option<u32>,
    /// Time at which the patient checked in, in UTC; null before check-in.
    checkin_at: Option<At>,
    /// Id of the location of the appointment.
    #[view(with = entry.location())]
    location_id: u32,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    misc: Option<()>,
    last_sync_time: Option<At>,
    /// `true` if the patient confirmed the appointment.
    patient_confirmed: bool,
    /// Always null: users are not recorded.
    created_by_user_id: Option<()>,
    /// `true` if the person who books is the patient's guardian, as specified by the client; null for appointments that
    /// were not created through the API.
    #[view(with = entry.booking.as_ref().map(|it| it.is_guardian))]
    is_guardian: Option<bool>,
    /// Time at which this service detected the confirmation by the patient, in UTC; null if there is none.
    patient_confirmed_at: Option<At>,
    /// Time at which this service detected the cancellation, in UTC; null if the appointment is not cancelled.
    cancelled_at: Option<At>,
    /// `true` if the patient is new to the practice, as specified by the client; null for appointments that were not
    /// created through the API.
    #[view(with = entry.booking.as_ref().map(|it| it.is_new_clients_patient))]
    is_new_clients_patient: Option<bool>,
    /// Time at which this service detected the confirmation by the practice, in UTC; null if there is none.
    confirmed_at: Option<At>,
    sooner_if_possible: Option<()>,
    /// Id of the operatory: a chair, column or room. Null if the appointment has none.
    #[view(with = entry.placement.operatory.map(|it| it.0))]
    operatory_id: Option<u64>,
    /// `true` if the patient has checked out.
    #[view(with = entry.checked_out_at.is_some())]
    checked_out: bool,
    /// Time at which the patient checked out, in UTC; null before checkout.
    checked_out_at: Option<At>,
    /// Person or source that referred the patient, as specified by the client; null if none was specified, and for
    /// appointments that were not created through the API.
    #[view(with = entry.booking.as_ref().and_then(|it| it.referrer.as_deref()))]
    referrer: Option<&'a str>,
    is_past_patient: Option<()>,
    /// Offset of the location from UTC at the start: `-05:00`.
    #[view(with = times::offset(entry.placement.span.start, location.zone))]
    timezone_offset: String,
    /// Start time in the location's time zone, with its offset: `2026-12-01T09:30:00.000-05:00`.
    #[view(with = times::with_zone(entry.placement.span.start, location.zone))]
    start_time_with_tz: String,
    /// End time in the location's time zone, with its offset: `2026-12-01T10:00:00.000-05:00`.
    #[view(with = times::with_zone(entry.placement.span.end, location.zone))]
    end_time_with_tz: String,
    /// The same time as `created_at`, in the location's time zone, with its offset.
    #[view(with = times::with_zone(entry.created_at, location.zone))]
    created_at_with_tz: String,
    #[view(flatten = WriteState::from_appointment(entry))]
    write: WriteState<'a>,
}

/// An appointment with the names of its patient, provider and operatory.
#[view(
    of = Appointment,
    args(
        context: &ViewContext<'a>,
        patient: Option<&Record<Patient>>,
        provider: Option<&Record<Provider>>,
        operatory: Option<&'a Record<Operatory>>
    )
)]
pub(crate) struct AppointmentEvent<'a> {
    #[view(flatten = {
        let (location, adapter) = (context.location, context.adapter(context.location.source));
        AppointmentView::from_record(entry, location, provider.map(|it| it.name()), adapter)
    })]
    appointment: AppointmentView<'a>,
    /// Full name of the patient; null if the appointment has no patient.
    #[view(with = patient.map(|it| it.name()))]
    patient_name: Option<String>,
    /// Display name of the operatory, or its name if there is none; null if the appointment has no operatory.
    #[view(with = operatory.map(|it| it.display_name.as_deref().unwrap_or(&it.name)))]
    operatory_name: Option<&'a str>,
    /// Status of the appointment: the first of `cancelled`, `missed`, `checked_out`, `checked_in`, `confirmed`,
    /// `failed` and `scheduled` that applies.
    #[schemars(extend("enum" = [
        "cancelled", "missed", "checked_out", "checked_in", "confirmed", "failed", "scheduled"
    ]))]
    #[view(with = status(entry))]
    status: &'static str,
    /// `true` if the appointment has ended.
    #[view(with = entry.placement.span.end <= context.now)]
    is_past: bool,
    /// Always null: appointments do not refer to insurance.
    insurance_plan_id: Option<()>,
    /// Always null: appointments do not refer to insurance.
    insurance_carrier_id: Option<()>,
    /// Always null: appointments do not refer to insurance.
    insurance_description: Option<()>,
    /// Always null: appointments do not refer to insurance.
    insurance_choice_type: Option<()>,
}

impl Published for Appointment {
    type View = AppointmentEvent<'static>;

    fn publish(it: &Record<Appointment>, context: &ViewContext<'_>, related: &dyn RelatedRecords) -> Rendered {
        let (institution, place) = (it.institution_id, &it.placement);
        let patient =
            it.patient_id.map(|id| related.get::<Record<Patient>>(institution, id.into())).transpose()?.flatten();
        let provider =
            place.provider.map(|id| related.get::<Record<Provider>>(institution, id.0.into())).transpose()?.flatten();
        let operatory =
            place.operatory.map(|id| related.get::<Record<Operatory>>(it.location(), id.0)).transpose()?.flatten();
        to_json(&AppointmentEvent::from_record(it, context, patient.as_ref(), provider.as_ref(), operatory.as_ref()))
    }
}

/// Returns the status derived from the appointment's fields; the specification leaves the values open.
fn status(appointment: &Record<Appointment>) -> &'static str {
    let failed = appointment.booking.as_ref().is_some_and(|booking| booking.writeback == Writeback::Failed);
    match &appointment.body {
        Appointment { cancelled: true, .. } => "cancelled",
        Appointment { patient_missed: true, .. } => "missed",
        Appointment { checked_out_at: Some(_), .. } => "checked_out",
        Appointment { checkin_at: Some(_), .. } => "checked_in",
        Appointment { confirmed: true, .. } => "confirmed",
        _ if failed => "failed",
        _ => "scheduled",
    }
}

/// An appointment with the included records.
#[view]
pub struct AppointmentDetail<'a> {
    #[serde(flatten)]
    appointment: AppointmentView<'a>,
    /// The patient of the appointment; null if it has none. Present with `include[]=patient` or `include[]=guarantor`,
    /// and without any `include[]`.
    patient: Included<PatientWithGuarantor<'a>>,
    /// The operatory of the appointment; null if it has none. Only with `include[]=operatory`.
    operatory: Included<OperatoryView<'a>>,
    /// The type of the appointment; null if it has none. Only with `include[]=appointment_type`.
    appointment_type: Included<AppointmentTypeView>,
    /// Procedures planned for the appointment or performed in it. Only with `include[]=procedures`.
    procedures: IncludedList<ProcedureView<'a>>,
    /// Descriptors of the appointment and of its type. Only with `include[]=descriptors`.
    descriptors: IncludedList<AppointmentDescriptorView<'a>>,
    /// Always null: campaigns are not supported.
    booking_details: Included<()>,
}

/// The patient of an appointment.
#[view]
pub(crate) struct PatientWithGuarantor<'a> {
    #[serde(flatten)]
    patient: PatientBasic<'a>,
    /// The guarantor of the patient, the person responsible for the account; null if there is none. Only with
    /// `include[]=guarantor`.
    guarantor: Included<PersonView<'a>>,
}

#[input]
pub struct ListAppointments {
    #[read(period(input))]
    period: Span,
    #[query(sort(&["start_time", "id", "updated_at"]), default = "start_time")]
    sort: Sort,
    criteria: AppointmentCriteria,
    #[read(input.listing().foreign_ids().done())]
    listing: Listing,
}

/// Reads the period. If the client names a time zone, all times of the query are read in it.
fn period(input: &mut Input) -> Span {
    input.clock = input.clock.named(input.query.optional("timezone", zone()));
    let start = instant(&input.clock).about(
        "Start of the period. A time without an offset is read in `timezone`, otherwise in the location's time zone.",
    );
    let end = end_of(&input.clock).about("End of the period, exclusive. A date without a time includes that day.");
    let start = input.query.required_or_none("start", start);
    let end = input.query.required_or_none("end", end.example_of("2026-12-02T00:00:00Z"));
    let range = start.zip(end).map(|(start, end)| Span::new(start, end));
    if range == Some(None) {
        input.query.problem("end must be after start.");
    }
    range.flatten().unwrap_or(Span { start: Timestamp::MIN, end: Timestamp::MAX })
}

#[input]
struct AppointmentCriteria {
    /// `true` if the appointment is cancelled.
    #[query(boolean())]
    cancelled: Option<bool>,
    /// `true` for a block of unavailable time.
    #[query(boolean())]
    unavailable: Option<bool>,
    /// `true` to list only records that are not in the health record system yet.
    #[query(boolean(), default = false)]
    nex_only: bool,
    #[query(updated_since(&input.clock), name = "updated_since")]
    since: Option<Timestamp>,
    #[query(appointment_type(), name = "appointment_type_id")]
    appointment_type: Option<u32>,
    /// Only records created by this user. Users are not recorded, so the list is empty.
    #[query(id())]
    created_by: Option<u32>,
    /// Only these patients. A single patient can also be sent as `patient_id`.
    #[query(id(), name = "patient_ids")]
    patients: Vec<u32>,
    #[query(providers(), name = "provider_ids")]
    providers: Vec<u32>,
    #[query(operatories(), name = "operatory_ids")]
    operatories: Vec<u64>,
}

pub async fn list(
    call: ApiCall,
    InLocations(tenant, location, request): InLocations<ListAppointments>,
) -> Answer<Paged<AppointmentView<'static>>> {
    let ListAppointments { period, sort, criteria, listing } = request;
    let patient = (criteria.patients.len() == 1).then(|| Filter::Patient(criteria.patients[0].into()));
    let filters = criteria.since.map(Filter::UpdatedSince).into_iter().chain(patient);
    let listing = listing.filtered(filters).starting(period, sort);
    let locations = location.map_or_else(|| call.open_locations(&tenant), |location| vec![location]);
    let owners: Vec<u32> = locations.iter().map(|location| location.setup.id.0).collect();
    let sources: Vec<u32> = locations.iter().flat_map(OpenLocation::sources).collect();
    let page = listing.rows(&call, &owners, &sources, |it: &Record<Appointment>| criteria.keeps(it))?;
    let mut names = ProviderNames::new(&call, &tenant);
    let mut rows = Vec::with_capacity(page.rows.len());
    for row in &page.rows {
        if let Some(location) = locations.iter().find(|location| location.setup.id.0 == row.location()) {
            let (name, adapter) = (provider_name(row, &mut names)?, call.directory.adapter(&location.setup));
            let view = |it| AppointmentView::from_record(it, &location.setup, name.clone(), adapter);
            rows.push(call.render(row, name.as_deref(), view)?);
            call.audit("read", "appointment", row.id);
        }
    }
    call.page_of_rendered(&ListPage { rows, info: page.info })
}

const INCLUDES: &[&str] =
    &["patient", "operatory", "appointment_type", "guarantor", "descriptors", "booking_details", "procedures"];

#[input]
pub struct ShowAppointment {
    #[read(input.includes(INCLUDES))]
    include: Vec<&'static str>,
}

pub async fn show(
    call: ApiCall,
    Id(id): Id<u64>,
    InTenant(tenant, ShowAppointment { mut include }): InTenant<ShowAppointment>,
) -> Answer<One<AppointmentDetail<'static>>> {
    if include.is_empty() || include.contains(&"guarantor") {
        // The guarantor is part of the patient.
        include.push("patient");
    }
    let (location, record) = find(&call, &tenant, AppointmentId(id))?;
    call.audit("read", "appointment", record.id);
    let related = Related::new(&call, &tenant, &include);
    let patient = related.is_requested("patient").then(|| related.record::<Patient>(record.patient_id)).transpose()?;
    let guarantor_id = patient.flatten().and_then(|it| it.guarantor_id);
    let guarantor = related.included::<PersonView>("guarantor", guarantor_id)?;
    let of_place = related.is_requested("operatory").then_some(record.placement.operatory);
    let operatory: Included<_> =
        of_place.map(|id| id.map_or(Ok(None), |id| call.api.engine.operatory(location.setup.id, id.0))).transpose()?;
    let procedures = related.is_requested("procedures").then(|| procedures_of(&call, &location, id)).transpose()?;
    let descriptors =
        related.is_requested("descriptors").then(|| descriptors_of(&call, &tenant, &record)).transpose()?;
    let adapter = call.directory.adapter(&location.setup);
    let detail = AppointmentDetail {
        appointment: view(&call, &location, &record, &mut ProviderNames::new(&call, &tenant))?,
        patient: patient
            .map(|it| it.map(|it| PatientWithGuarantor { patient: PatientBasic::render(it, &call), guarantor })),
        operatory: operatory.as_ref().map(|it| it.as_ref().map(|it| OperatoryView::from_record(it, adapter))),
        appointment_type: related.included::<AppointmentTypeView>("appointment_type", record.appointment_type_id)?,
        procedures: procedures.as_ref().map(|all| all.iter().map(|it| ProcedureView::render(it, &call)).collect()),
        descriptors: descriptors.as_ref().map(|all| descriptors::views(&call, all)),
        booking_details: related.is_requested("booking_details").then_some(None),
    };
    Ok(call.show(detail))
}

/// GET /appointments/{id}/appointment_descriptors
pub async fn descriptors(
    call: ApiCall,
    Id(id): Id<u64>,
    InTenant(tenant, request): InTenant<ListDescriptors>,
) -> Answer<Listed<AppointmentDescriptorView<'static>>> {
    let (_, record) = find(&call, &tenant, AppointmentId(id))?;
    let found = descriptors_of(&call, &tenant, &record)?;
    Ok(descriptors::list(&call, &found, &request))
}

/// Finds an appointment of the caller. Those of other tenants and of closed locations are not found.
pub fn find(
    call: &ApiCall,
    tenant: &Tenant,
    id: AppointmentId,
) -> Result<(OpenLocation, Record<Appointment>), ApiError> {
    let not_found = || ApiError::not_found(format!("Appointment with id {id}"));
    let record = call.api.engine.appointment(id)?.filter(|it| it.institution_id == tenant.institution.id.0);
    let record = record.ok_or_else(not_found)?;
    let location = call.location(tenant, LocationId(record.location()));
    Ok((location.map_err(|error| error.if_not_found(not_found))?, record))
}

impl AppointmentCriteria {
    fn keeps(&self, it: &Record<Appointment>) -> bool {
        let among = |ids: &[u32], id: Option<u32>| ids.is_empty() || id.is_some_and(|id| ids.contains(&id));
        let operatory = it.placement.operatory.map(|it| it.0);
        self.cancelled.is_none_or(|cancelled| it.cancelled == cancelled)
            && self.unavailable.is_none_or(|unavailable| it.unavailable == unavailable)
            && (!self.nex_only || it.foreign_id.is_none())
            && self.appointment_type.is_none_or(|id| it.appointment_type_id == Some(id))
            // No user is recorded as creator: `created_by_user_id` is always null.
            && self.created_by.is_none()
            && among(&self.patients, it.patient_id)
            && among(&self.providers, it.placement.provider.map(|it| it.0))
            && (self.operatories.is_empty() || operatory.is_some_and(|id| self.operatories.contains(&id)))
    }
}

pub fn view<'a>(
    call: &'a ApiCall,
    location: &OpenLocation,
    it: &'a Record<Appointment>,
    names: &mut ProviderNames<'_>,
) -> Result<AppointmentView<'a>, ApiError> {
    let name = provider_name(it, names)?;
    Ok(AppointmentView::from_record(it, &location.setup, name, call.directory.adapter(&location.setup)))
}

fn provider_name(it: &Record<Appointment>, names: &mut ProviderNames<'_>) -> Result<Option<String>, ApiError> {
    Ok(it.placement.provider.map(|id| names.get(id.0)).transpose()?.flatten())
}

fn procedures_of(call: &ApiCall, location: &OpenLocation, id: u64) -> Result<Vec<Record<Procedure>>, ApiError> {
    let Some(source) = location.setup.source else { return Ok(Vec::new()) };
    call.find_all(source, Filter::Appointment(id), MAX_RELATED)
}

/// Returns the appointment's own descriptors and those of its type.
fn descriptors_of(
    call: &ApiCall,
    tenant: &Tenant,
    it: &Record<Appointment>,
) -> Result<Vec<Record<AppointmentDescriptor>>, ApiError> {
    let own = it.booking.iter().flat_map(|booking| booking.descriptor_ids.clone());
    let kind = it.appointment_type_id.map(|id| call.api.engine.appointment_type(tenant.institution.id, id));
    let of_type = kind.transpose()?.flatten().map_or_else(Vec::new, |kind| kind.body.descriptor_ids);
    descriptors::by_ids(call, tenant, own.chain(of_type))
}
