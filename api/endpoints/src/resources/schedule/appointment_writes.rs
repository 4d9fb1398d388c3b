//! POST /appointments, PATCH /appointments/{id}. Their messages are those of specification 7.3.

use engine::commands::{AppointmentChange, ChangeAppointment, CreateAppointment};
use framework::{
    access::{
        arguments::FromPath,
        tenancy::{AtLocationOfBody, InLocationsOfQuery},
    },
    values::{
        kinds::{shared::appointments_per_timeslot, times::Clock},
        limits::APPOINTMENT_MINUTES,
    },
};
use location::{decision::NotOpenReason, slots::Fit};

use super::{
    appointments::{AppointmentView, find, view},
    available_slots::minutes,
};
use crate::{prelude::*, resources::practice::providers::ProviderNames};

/// An appointment that was created or changed.
#[derive(Serialize, JsonSchema)]
pub struct AppointmentSaved<'a> {
    /// The appointment as it is after the request.
    appt: AppointmentView<'a>,
    /// Always null: appointments do not include a payment.
    stripe_client_secret: Option<()>,
}

/// An appointment in a request.
#[input(container("appt", "The appointment."), check = NewAppointmentInput::check)]
pub struct NewAppointmentInput {
    /// Has no effect: patients are not notified.
    #[query(boolean(), default = false)]
    notify_patient: bool,
    #[body(appointments_per_timeslot(), name = "appointments_per_timeslot", default = 1)]
    per_timeslot: i64,
    #[body(patient())]
    patient_id: u32,
    #[body(provider())]
    provider_id: u32,
    #[body(operatory())]
    operatory_id: Option<u64>,
    #[body(start_time(&input.clock), name = "appt.start_time", required)]
    start: Option<Timestamp>,
    #[body(end_time(&input.clock), name = "appt.end_time")]
    end: Option<Timestamp>,
    #[body(appointment_type())]
    appointment_type_id: Option<u32>,
    #[body(note(), nonempty)]
    note: Option<String>,
    /// `true` for a block of unavailable time.
    #[body(boolean().example_of(false), or = false)]
    unavailable: bool,
    /// `true` if the person who books is the patient's guardian.
    #[body(boolean(), or = false)]
    is_guardian: bool,
    /// `true` if the patient is new to the practice.
    #[body(boolean(), or = false)]
    is_new_clients_patient: bool,
    /// Person or source that referred the patient.
    #[body(text(MAX_NAME), nonempty)]
    referrer: Option<String>,
    #[read(dependent(&mut input.body, input.today))]
    dependent: Option<PatientDetails>,
    /// Ids of appointment descriptors in the health record system.
    #[body(id().referring_to(Resource::AppointmentDescriptors))]
    descriptor_ids: Vec<u32>,
}

pub async fn create(
    mut call: ApiCall,
    AtLocationOfBody(location, given): AtLocationOfBody<NewAppointmentInput>,
) -> Answer<Created<AppointmentSaved<'static>>> {
    if given.unavailable {
        return Err(Failure::UnavailableNotSupported.into());
    }
    let span = given.span(&mut call, &location)?;
    let new = CreateAppointment {
        patient_id: given.patient_id,
        is_guardian: given.is_guardian || given.dependent.is_some(),
        dependent: given.dependent,
        provider_id: given.provider_id,
        operatory_id: given.operatory_id,
        span,
        appointment_type_id: given.appointment_type_id,
        note: given.note,
        is_new_clients_patient: given.is_new_clients_patient,
        referrer: given.referrer,
        descriptor_ids: given.descriptor_ids,
        join_blocks: !call.version.is_v2(),
        created_by: call.key.name.clone(),
    };
    let saved = call.save(&location, new).await;
    let saved = saved.map_err(|refused| refusal(refused, location.setup.id.0, call.version.is_v2()))?;
    call.audit(if saved.replay { "read" } else { "create" }, "appointment", saved.record.id);
    if given.per_timeslot > 1 {
        call.warn("appointments_per_timeslot has no effect: an operatory holds one appointment at a time.");
    }
    Ok(call.created(saved.replay, saved_view(&call, &location.tenant(), &location, &saved.record)?))
}

/// A change of an appointment. Times without an offset use the zone of its location, which the request need not name.
pub struct AppointmentUpdate {
    id: AppointmentId,
    tenant: Tenant,
    named: Option<OpenLocation>,
    asked: AppointmentUpdateInput,
}

pub(crate) struct AppointmentUpdateInput {
    cancelled: bool,
    change: AppointmentChange,
}

impl FromCall for AppointmentUpdate {
    fn from_call(call: &mut ApiCall) -> Result<AppointmentUpdate, ApiError> {
        let Id(id) = Id::from_path(call)?;
        let id = AppointmentId(id);
        call.times_at(|engine| engine.appointment(id).ok().flatten().map(|it| LocationId(it.location())));
        let InLocationsOfQuery(tenant, named, asked) = InLocationsOfQuery::from_call(call)?;
        Ok(AppointmentUpdate { id, tenant, named, asked })
    }
}

impl FromInput for AppointmentUpdateInput {
    fn from_input(input: &mut Input) -> AppointmentUpdateInput {
        let (b, clock) = (&mut input.body, &input.clock);
        b.required("appt", object("The appointment."));
        let change = AppointmentChange {
            confirmed: b.optional_not_null(
                "appt.confirmed",
                boolean().about("`true` if the practice confirmed the appointment."),
            ),
            checkin_at: b
                .optional_not_null("appt.checkin_at", instant(clock).about("Time at which the patient checked in.")),
            start: b.optional_not_null("appt.start_time", start_time(clock)),
            end: b.optional_not_null("appt.end_time", end_time(clock)),
            operatory_id: b.optional_not_null("appt.operatory_id", operatory()),
            note: b.optional_not_null("appt.note", note()),
            join_blocks: false,
        };
        let cancelled = b
            .optional_not_null(
                "appt.cancelled",
                boolean().omit_from_example().about("`true` if the appointment is cancelled."),
            )
            .unwrap_or(false);
        if cancelled && change != AppointmentChange::default() {
            b.problem("appt.cancelled cannot be combined with other changes.");
        }
        AppointmentUpdateInput { cancelled, change }
    }
}

pub async fn update(
    mut call: ApiCall,
    AppointmentUpdate { id, tenant, named, asked: AppointmentUpdateInput { cancelled, change } }: AppointmentUpdate,
) -> Answer<One<AppointmentSaved<'static>>> {
    let (location, before) = find(&call, &tenant, id)?;
    if let Some(other) = named.filter(|named| named.setup.id != location.setup.id) {
        return Err(ApiError::not_at_location(format!("Appointment with id {id}"), other.setup.id));
    }
    let (start, end) = (change.start.filter(|start| *start != before.placement.span.start), change.end);
    let kept = |start: Timestamp| start.plus(before.placement.span.length());
    let until = end.or_else(|| start.map(kept)).unwrap_or(before.placement.span.end);
    let span = Span { start: start.unwrap_or(before.placement.span.start), end: until };
    let problems = problems(span, (start.is_some(), end.is_some()), call.api.engine.now());
    if !problems.is_empty() {
        return Err(call.with_unknown(ApiError::invalid(problems), AppointmentUpdateInput::unknown));
    }
    let record = if cancelled && before.cancelled {
        before
    } else if cancelled {
        // Works while the insert is in flight, too, as in /intent/booking/cancel.
        let cancelled = call.api.engine.cancel(location.setup.id, id, None).await;
        cancelled.map_err(|refused| refine_refusal(refused, &before))?;
        find(&call, &tenant, id)?.1
    } else {
        let change = AppointmentChange { join_blocks: !call.version.is_v2(), ..change };
        let saved = call.save(&location, ChangeAppointment { id, change }).await;
        let v2 = call.version.is_v2();
        saved.map_err(|refused| refusal(refine_refusal(refused, &before), location.setup.id.0, v2))?;
        find(&call, &tenant, id)?.1
    };
    call.audit("update", "appointment", record.id);
    Ok(call.show(saved_view(&call, &tenant, &location, &record)?))
}

fn saved_view<'a>(
    call: &'a ApiCall,
    tenant: &Tenant,
    location: &OpenLocation,
    record: &'a Record<Appointment>,
) -> Result<AppointmentSaved<'a>, ApiError> {
    let appt = view(call, location, record, &mut ProviderNames::new(call, tenant))?;
    Ok(AppointmentSaved { appt, stripe_client_secret: None })
}

/// Reads the dependent for whom a guardian books. Its fields are required if the object exists.
fn dependent(b: &mut Fields, today: Date) -> Option<PatientDetails> {
    let given = b.optional("appt.patient", object("The patient."));
    b.container("appt.patient.bio", "Contact and personal data.");
    let first_name = b.required_in("appt.patient", "appt.patient.first_name", given_name());
    let last_name = b.required_in("appt.patient", "appt.patient.last_name", family_name());
    let date_of_birth = b.required_in("appt.patient", "appt.patient.bio.date_of_birth", birth_date(today));
    let gender = b.optional("appt.patient.bio.gender", gender());
    given.map(|()| PatientDetails {
        first_name,
        last_name,
        date_of_birth: Some(date_of_birth),
        gender: gender.map(str::to_owned),
        ..PatientDetails::default()
    })
}

impl NewAppointmentInput {
    fn check(&self, input: &mut Input) {
        if self.notify_patient {
            input.query.without_effect("notify_patient");
        }
        if self.start.zip(self.end).is_some_and(|(start, end)| end <= start) {
            input.body.problem("appt.end_time must be after start_time.");
        }
        if self.unavailable {
            // Blocks cannot be created through this endpoint, whatever the other fields (specification 7.3).
            input.body.take_problems();
            input.body.references.clear();
        }
    }

    /// Returns the time span. Without an end it has the length of the type.
    fn span(&self, call: &mut ApiCall, location: &OpenLocation) -> Result<Span, ApiError> {
        let kind = self.appointment_type_id.map(|id| call.api.engine.appointment_type(location.institution.id, id));
        let kind = kind.transpose()?.flatten();
        let usual = minutes(None, kind.as_ref());
        let start = self.start.ok_or_else(ApiError::internal)?;
        let span = Span { start, end: self.end.unwrap_or_else(|| start.plus(usual * MINUTE)) };
        let problems = problems(span, (true, self.end.is_some()), call.api.engine.now());
        if !problems.is_empty() {
            return Err(call.with_unknown(ApiError::invalid(problems), NewAppointmentInput::unknown));
        }
        let lasts = span.length() / MINUTE;
        if let Some(kind) = kind.filter(|_| lasts != usual) {
            call.warn(&format!("The appointment lasts {lasts} minutes; its type, {}, takes {usual}.", kind.name));
        }
        Ok(span)
    }
}

fn start_time(clock: &Clock) -> Kind<Timestamp> {
    instant(clock).about(
        "Start time. A time without an offset is read in the location's time zone, and `description` reports how it \
         was read.",
    )
}

fn end_time(clock: &Clock) -> Kind<Timestamp> {
    instant(clock).about("End time.")
}

/// Returns the problems of a time span of which the start, the end or both were given.
fn problems(span: Span, (start, end): (bool, bool), now: Timestamp) -> Vec<String> {
    let (least, most) = (APPOINTMENT_MINUTES.start() * MINUTE, APPOINTMENT_MINUTES.end() * MINUTE);
    let uneven = |at: Timestamp| at.0.rem_euclid(MINUTE) != 0;
    let wrong = [
        (start && uneven(span.start), "appt.start_time must be a whole minute.".to_owned()),
        (end && uneven(span.end), "appt.end_time must be a whole minute.".to_owned()),
        (start && span.start <= now, "appt.start_time is in the past.".to_owned()),
        (
            start && span.start > now.plus(MAX_DAYS_AHEAD * DAY),
            format!("appt.start_time must not be more than {MAX_DAYS_AHEAD} days ahead."),
        ),
        // An end before the start is reported elsewhere.
        (
            end && span.length() > 0 && !(least..=most).contains(&span.length()),
            format!(
                "appt.end_time must be {} minutes to {} hours after start_time.",
                APPOINTMENT_MINUTES.start(),
                APPOINTMENT_MINUTES.end() / 60
            ),
        ),
    ];
    wrong.into_iter().filter(|(wrong, _)| *wrong).map(|(_, problem)| problem).collect()
}

/// Refines a refusal for an appointment that is no longer in the location's calendar, using its record.
fn refine_refusal(refused: EngineError, record: &Record<Appointment>) -> EngineError {
    let forgotten = [Refusal::AppointmentNotFound, Refusal::AppointmentNotOpen(NotOpenReason::Forgotten)];
    if !forgotten.iter().any(|refusal| refused == EngineError::Refused(refusal.clone())) {
        return refused;
    }
    let failed = record.booking.as_ref().is_some_and(|booking| booking.writeback == Writeback::Failed);
    EngineError::Refused(Refusal::AppointmentNotOpen(match record.cancelled {
        true => NotOpenReason::Cancelled,
        false if failed => NotOpenReason::Failed,
        false => NotOpenReason::Past,
    }))
}

/// Converts a refusal (specification 7.3).
fn refusal(refused: EngineError, location: u32, v2: bool) -> ApiError {
    match refused {
        EngineError::Precondition(PreconditionError::Several(all)) => {
            ApiError::all(all.into_iter().map(|unmet| refusal(EngineError::Precondition(unmet), location, v2)))
        }
        EngineError::Refused(Refusal::SlotTaken { fit: Fit::TypeNotAccepted, .. }) => {
            Failure::AppointmentTypeNotConfigured.into()
        }
        EngineError::Refused(Refusal::SlotTaken { fit: Fit::OutsideHours, .. }) if v2 => {
            Failure::OutsideWorkingHoursV2.into()
        }
        EngineError::Precondition(PreconditionError::PatientOfOtherEhr { id, synced: true }) => {
            ApiError::new(Failure::ReferenceNotAtLocation, &[&format!("Patient with ID {id}"), &location])
        }
        EngineError::Precondition(PreconditionError::NotFound { resource: Resource::Patients, id }) => {
            ApiError::not_found(format!("Patient with id {id}"))
        }
        other => other.into(),
    }
}
