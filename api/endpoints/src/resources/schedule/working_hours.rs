//! Working hours: those of the EHR, and those created through the API. In v2.2.2 they are called availabilities.

use chrono_tz::Tz;
use engine::commands::{WorkingHourChange, WorkingHourDetails, WriteWorkingHour};
use framework::values::kinds::times::time_of_day;
use location::{Recurrence, Weekday, WorkingHour as Rules, hours::RecurrenceUnit};

use super::{
    appointment_types::{self, AppointmentTypeView},
    working_hour_labels::{WorkingHourLabelView, label_id},
};
use crate::prelude::*;

/// Working hours of a provider.
#[view]
pub struct WorkingHourView<'a> {
    /// Id of the working hours.
    id: u32,
    /// Id of the provider who sees patients in these hours.
    provider_id: Option<u32>,
    location_id: Option<u32>,
    /// Id of the operatory; null if the health record system schedules by provider only.
    operatory_id: Option<u64>,
    /// Begin time at the location, `HH:MM`.
    begin_time: String,
    /// End time at the location, `HH:MM`. A time that is not after the begin time is on the next day; `24:00` is the
    /// end of the day.
    end_time: String,
    /// Days of the week; empty for a single date and for a custom recurrence.
    #[schemars(with = "Vec<String>")]
    days: &'a [Weekday],
    /// The single date to which the hours apply, `YYYY-MM-DD`; null if they recur.
    specific_date: Option<String>,
    /// The recurrence, if it is not weekly; otherwise null.
    custom_recurrence: Option<CustomRecurrence>,
    /// The location's current offset from UTC: `-05:00`.
    tz_offset: String,
    /// `true` if these hours offer slots; `false` once they have been deleted in the health record system, or if it
    /// refused them.
    active: bool,
    /// Source of the working hours. `manual`: created through the API. `synced`: read from the health record system.
    source: Word<HourSource>,
    /// The label of the hours; null if they have none.
    label: Option<WorkingHourLabelView<'a>>,
    /// Hours the health record system would not have at all are not active.
    write: WriteState<'a>,
    /// The only appointment types that can be booked in these hours; an empty list allows all types. Only with
    /// `include[]=appointment_types`, in the availabilities of a provider, which can list all types, and in the
    /// response to a change.
    pub appointment_types: IncludedList<AppointmentTypeView>,
}

/// Every `num` units, counted from `ref`.
#[view]
pub(crate) struct CustomRecurrence {
    /// Number of units between two occurrences.
    num: u32,
    /// The unit of the recurrence.
    unit: Word<RecurrenceUnit>,
    /// A date on which the hours apply, `YYYY-MM-DD`. The recurrence is counted from this date.
    #[serde(rename = "ref")]
    reference: String,
}

impl<'a> WorkingHourView<'a> {
    pub(crate) fn from_record(record: &'a Record<WorkingHour>, zone: Tz, now: Timestamp) -> WorkingHourView<'a> {
        let (days, specific_date, custom_recurrence) = match &record.recurrence {
            Recurrence::Weekly(days) => (days.as_slice(), None, None),
            Recurrence::On(date) => (&[][..], Some(date.to_string()), None),
            Recurrence::Every { number, unit, reference } => {
                let custom = CustomRecurrence { num: *number, unit: Word(*unit), reference: reference.to_string() };
                (&[][..], None, Some(custom))
            }
        };
        WorkingHourView {
            id: record.id,
            provider_id: Some(record.provider_id),
            location_id: Some(record.location()),
            operatory_id: record.operatory_id,
            begin_time: hours_and_minutes(record.begin),
            end_time: hours_and_minutes(record.end),
            days,
            specific_date,
            custom_recurrence,
            tz_offset: times::offset(now, zone),
            active: record.in_force(),
            source: Word(record.source),
            label: record.label.as_deref().map(|name| WorkingHourLabelView::new(record.location(), name)),
            write: WriteState::from_write(record.write.as_ref()),
            appointment_types: None,
        }
    }
}

impl Published for WorkingHour {
    type View = WorkingHourView<'static>;

    fn publish(entry: &Record<WorkingHour>, context: &ViewContext<'_>, _: &dyn RelatedRecords) -> Rendered {
        to_json(&WorkingHourView::from_record(entry, context.location.zone, context.now))
    }
}

fn hours_and_minutes(minutes: u16) -> String {
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

#[input]
pub struct ListWorkingHours {
    #[query(includes(&["appointment_types"]))]
    include: Vec<&'static str>,
    criteria: Criteria,
    #[read(input.listing().provider().done())]
    listing: Listing,
}

pub async fn list(
    call: ApiCall,
    AtLocation(location, ListWorkingHours { listing, criteria, include }): AtLocation<ListWorkingHours>,
) -> Answer<Paged<WorkingHourView<'static>>> {
    let now = call.api.engine.now();
    let today = times::local(now, location.setup.zone).0;
    let page = listing.page(&call, &[location.setup.id.0], &location.sources(), |it: &Record<WorkingHour>| {
        let past = matches!(it.recurrence, Recurrence::On(date) if date < today);
        criteria.keeps(it) && !(criteria.not_past && past)
    })?;
    let types = types_of(&call, &location, &include)?;
    Ok(call.page(&page.views(|it| view(it, &location, &types, now))))
}

#[input]
struct Criteria {
    #[query(operatory(), name = "operatory_id")]
    operatory: Option<u64>,
    /// Id of the label.
    #[query(long_id(), name = "label_id")]
    label: Option<u64>,
    /// Only working hours from this source.
    #[query(word())]
    source: Option<HourSource>,
    #[query(active(), default = true)]
    active: bool,
    /// `true` to exclude working hours for past dates.
    #[query(boolean(), name = "ignore_past_dates", default = false)]
    not_past: bool,
}

impl Criteria {
    fn keeps(&self, it: &Record<WorkingHour>) -> bool {
        let label = || it.label.as_ref().map(|name| label_id(it.location(), name));
        is_visible(it)
            && it.in_force() == self.active
            && self.operatory.is_none_or(|id| it.operatory_id == Some(id))
            && self.label.is_none_or(|id| label() == Some(id))
            && self.source.is_none_or(|source| it.source == source)
    }
}

/// Returns whether hours are visible. Hours deleted by the EHR stay visible but inactive; others disappear.
fn is_visible(it: &Record<WorkingHour>) -> bool {
    it.deleted_at.is_none() || it.source == HourSource::Synced
}

#[input]
pub struct ShowWorkingHour {
    #[read(input.includes(&["appointment_types"]))]
    include: Vec<&'static str>,
}

pub async fn show(
    call: ApiCall,
    Id(id): Id<u32>,
    InTenant(tenant, ShowWorkingHour { include }): InTenant<ShowWorkingHour>,
) -> Answer<One<WorkingHourView<'static>>> {
    let (location, record) = find(&call, &tenant, id, is_visible)?;
    let types = types_of(&call, &location, &include)?;
    Ok(call.show(view(&record, &location, &types, call.api.engine.now())))
}

/// In v2.2.2 the object is called `availability`.
#[input(
    object("working_hour", "The working hours."),
    alias = "availability",
    builds = WorkingHourDetails,
    unknown = unknown
)]
pub struct NewWorkingHour {
    #[body(provider())]
    provider_id: u32,
    #[body(begin_time(), name = "working_hour.begin_time")]
    begin: u16,
    #[body(end_time(), name = "working_hour.end_time")]
    end: u16,
    #[body(operatory())]
    operatory_id: Option<u64>,
    #[body(types_of_hours())]
    appointment_type_ids: Vec<u32>,
    #[read(required_recurrence(&mut input.body))]
    recurrence: Recurrence,
    #[body(active(), default = true)]
    active: bool,
}

pub async fn create(
    mut call: ApiCall,
    AtLocation(location, NewWorkingHour(new)): AtLocation<NewWorkingHour>,
) -> Answer<Created<WorkingHourView<'static>>> {
    let saved = save(&mut call, &location, WriteWorkingHour::Create(new)).await?;
    name_oddities(&mut call, &location, &saved.record);
    let view = WorkingHourView::from_record(&saved.record, location.setup.zone, call.api.engine.now());
    Ok(call.created(saved.replay, view))
}

/// In v2.2.2 the object is called `availability`.
#[input(
    object("working_hour", "The working hours."),
    alias = "availability",
    builds = WorkingHourChange,
    unknown = unknown
)]
pub struct WorkingHourUpdate {
    #[body(provider(), not_null)]
    provider_id: Option<u32>,
    #[body(operatory())]
    operatory_id: Option<Option<u64>>,
    #[body(begin_time(), name = "working_hour.begin_time", not_null)]
    begin: Option<u16>,
    #[body(end_time(), name = "working_hour.end_time", not_null)]
    end: Option<u16>,
    #[body(types_of_hours())]
    appointment_type_ids: Option<Vec<u32>>,
    #[read(recurrence(&mut input.body))]
    recurrence: Option<Recurrence>,
    #[body(active(), not_null)]
    active: Option<bool>,
}

pub async fn update(
    mut call: ApiCall,
    Id(id): Id<u32>,
    InTenant(tenant, WorkingHourUpdate(change)): InTenant<WorkingHourUpdate>,
) -> Answer<One<WorkingHourView<'static>>> {
    let (location, _) = find(&call, &tenant, id, |it| it.deleted_at.is_none())?;
    let saved = save(&mut call, &location, WriteWorkingHour::Change(id, change)).await?;
    name_oddities(&mut call, &location, &saved.record);
    let types = types_of(&call, &location, &["appointment_types"])?;
    Ok(call.show(view(&saved.record, &location, &types, call.api.engine.now())))
}

pub async fn delete(mut call: ApiCall, Id(id): Id<u32>, tenant: Tenant) -> Answer<Empty> {
    let (location, _) = find(&call, &tenant, id, |it| it.deleted_at.is_none())?;
    save(&mut call, &location, WriteWorkingHour::Remove(id)).await?;
    Ok(call.empty())
}

/// Warns about valid hours that may be typing errors.
fn name_oddities(call: &mut ApiCall, location: &OpenLocation, it: &Record<WorkingHour>) {
    if it.end <= it.begin && it.end > 0 {
        let (hours, minutes) = (it.end / 60, it.end % 60);
        call.warn(&format!("The hours end after midnight: at {hours:02}:{minutes:02} of the next day."));
    }
    let today = times::local(call.api.engine.now(), location.setup.zone).0;
    if let Recurrence::On(date) = it.recurrence
        && date < today
    {
        call.warn(&format!("specific_date {date} is in the past: these hours offer no slots."));
    }
}

async fn save(
    call: &mut ApiCall,
    location: &OpenLocation,
    request: WriteWorkingHour,
) -> Result<Saved<Record<WorkingHour>>, ApiError> {
    call.save(location, request).await.map_err(|refused| match refused {
        EngineError::Precondition(unmet) => precondition_failure(unmet),
        other => other.into(),
    })
}

fn unknown(Reference { resource, id }: Reference, _: Option<LocationId>) -> ApiError {
    precondition_failure(PreconditionError::NotFound { resource, id })
}

/// Converts an unmet precondition. Its messages call providers users (specification 7.3).
fn precondition_failure(unmet: PreconditionError) -> ApiError {
    match unmet {
        PreconditionError::Several(all) => ApiError::all(all.into_iter().map(precondition_failure)),
        PreconditionError::NotFound { resource: Resource::Providers, id } => {
            ApiError::not_found(format!("User with id {id}"))
        }
        other => other.into(),
    }
}

fn begin_time() -> Kind<u16> {
    time_of_day().map(|minutes| minutes as u16).about("Begin time in the location's time zone.")
}

fn end_time() -> Kind<u16> {
    time_of_day()
        .map(|minutes| minutes as u16)
        .about("End time in the location's time zone. An end time that is not after the begin time is on the next day.")
        .example_of("17:00")
}

fn types_of_hours() -> Kind<u32> {
    id().referring_to(Resource::AppointmentTypes).about(
        "Only appointments of these types can be booked in these hours; an empty list allows all types. The time is \
         not reserved for these types: other types can be booked if other hours cover the same time.",
    )
}

const ONE_RECURRENCE: &str = "working_hour needs exactly one of days, specific_date and custom_recurrence.";

/// Placeholder for an invalid recurrence.
const NEVER: Recurrence = Recurrence::Weekly(Vec::new());

fn required_recurrence(b: &mut Fields) -> Recurrence {
    recurrence(b).unwrap_or_else(|| {
        b.problem(ONE_RECURRENCE);
        NEVER
    })
}

/// Reads the recurrence. Returns `None` if it is not given.
fn recurrence(b: &mut Fields) -> Option<Recurrence> {
    let before = b.problem_count();
    let has_days = !b.is_absent("working_hour.days");
    let days = b.list("working_hour.days", word().about("The days of the week on which the hours recur."));
    let specific = b.optional(
        "working_hour.specific_date",
        date().omit_from_example().about("The single date to which the hours apply."),
    );
    let custom = b
        .optional("working_hour.custom_recurrence", object("The recurrence, if it is not weekly.").omit_from_example());
    let every = 1..=i64::from(Rules::MAX_INTERVAL);
    let number = b.required_in(
        "working_hour.custom_recurrence",
        "working_hour.custom_recurrence.num",
        integer(every).about("Number of units between two occurrences."),
    );
    let unit = b.required_in(
        "working_hour.custom_recurrence",
        "working_hour.custom_recurrence.unit",
        word().about("The unit of the recurrence."),
    );
    let reference = b.required_in(
        "working_hour.custom_recurrence",
        "working_hour.custom_recurrence.ref",
        date().about("The date from which the recurrence is counted."),
    );
    let wrong = b.problem_count() > before;
    match (has_days.then_some(days), specific, custom) {
        _ if wrong => Some(NEVER),
        (None, None, None) => None,
        (Some(days), None, None) if !days.is_empty() => Some(Recurrence::Weekly(days)),
        (None, Some(date), None) => Some(Recurrence::On(date)),
        (None, None, Some(())) => Some(Recurrence::Every { number: number as u32, unit, reference }),
        _ => {
            b.problem(ONE_RECURRENCE);
            Some(NEVER)
        }
    }
}

/// Finds working hours of the caller at any location.
fn find(
    call: &ApiCall,
    tenant: &Tenant,
    id: u32,
    wanted: impl Fn(&Record<WorkingHour>) -> bool,
) -> Result<(OpenLocation, Record<WorkingHour>), ApiError> {
    for location in call.open_locations(tenant) {
        let found = call.api.engine.working_hour(location.setup.id, id)?;
        if let Some(record) = found.filter(&wanted) {
            return Ok((location, record));
        }
    }
    Err(ApiError::not_found(format!("Working Hour with id {id}")))
}

pub type Types = Option<HashMap<u32, AppointmentTypeView>>;

fn types_of(call: &ApiCall, location: &OpenLocation, include: &[&str]) -> Result<Types, ApiError> {
    (!include.is_empty()).then(|| appointment_types::by_id(call, &location.tenant())).transpose()
}

pub fn view<'a>(
    it: &'a Record<WorkingHour>,
    location: &OpenLocation,
    types: &Types,
    now: location::time::Timestamp,
) -> WorkingHourView<'a> {
    let mut view = WorkingHourView::from_record(it, location.setup.zone, now);
    view.appointment_types = types.as_ref().map(|types| {
        let own = it.appointment_type_ids.iter().filter_map(|id| types.get(id)).cloned();
        own.collect()
    });
    view
}
