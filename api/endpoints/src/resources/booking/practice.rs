//! GET /intent/practice/info (our addition): the facts about a practice that callers ask for before they book.

use framework::values::rule_texts::notice_in_words;
use location::{Closure, rules::Instead};

use super::failure::BookingAnswer;
use crate::{
    prelude::*,
    resources::{practice::providers::ProviderNames, schedule::appointment_types},
    views::locations::{BookingLocation, booking_location},
};

/// Days of the opening hours in an answer.
const DAYS: i32 = 7;
/// Maximum number of closures in an answer.
const CLOSURES: usize = 20;
/// Minutes of a day by the clock.
const DAY_MINUTES: u16 = 1_440;

/// The facts about a practice location that callers ask for.
#[derive(Serialize, JsonSchema)]
pub struct PracticeInfo<'a> {
    /// Always true: the request was carried out.
    ok: bool,
    /// Address, telephone number and today's opening hours, in words that may be read to the patient. Without any
    /// working hours, it reports that the opening hours are not known.
    message: String,
    /// The location.
    location: BookingLocation<'a>,
    /// Phone number of the location; null if not configured.
    phone_number: Option<&'a str>,
    /// E-mail address of the location; null if not configured.
    email: Option<&'a str>,
    /// Today in the location's time zone, `YYYY-MM-DD`.
    today: String,
    /// Time zone of the location, such as `America/New_York`.
    timezone: &'static str,
    /// The current time in the location's time zone: `Tue, Dec 1 2026, 9:30 AM EST`.
    now_local: String,
    /// The next seven days, today first, with the hours in which a provider works.
    opening_hours: Vec<OpeningDay>,
    /// The appointment types that patients may book themselves.
    appointment_types: Vec<BookableType>,
    /// The providers who work at the location.
    providers: Vec<WorkingProvider>,
    /// The booking rules of the practice, as sentences.
    rules: Vec<String>,
    /// The requests that the location can carry out.
    can: IntentAbilities,
    /// A warning, such as the names of ignored parameters; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
}

/// The opening hours of a day.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct OpeningDay {
    /// The day, `YYYY-MM-DD`.
    date: String,
    /// Name of the day of the week, such as `Monday`.
    weekday: String,
    /// The times in which a provider works; empty if the practice is closed.
    open: Vec<OpeningTime>,
}

/// A time in which a provider works.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct OpeningTime {
    /// Begin time at the location, `HH:MM`.
    begin_time: String,
    /// End time at the location, `HH:MM`; `24:00` is the end of the day.
    end_time: String,
}

/// An appointment type that patients may book themselves.
#[derive(Serialize, JsonSchema)]
struct BookableType {
    /// Id of the appointment type.
    id: u32,
    /// Name of the appointment type.
    name: String,
    /// Length in minutes.
    minutes: u32,
}

/// A provider who works at the location.
#[derive(Serialize, JsonSchema)]
struct WorkingProvider {
    /// Id of the provider.
    id: u32,
    /// Display name of the provider, or the full name if there is none.
    name: String,
}

/// The requests that a location can carry out, by its health record system and its rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IntentAbilities {
    /// `true` if visits can be booked.
    pub book: bool,
    /// `true` if patients who are new to the practice can book.
    pub new_patients: bool,
    /// `true` if visits can be moved.
    pub reschedule: bool,
    /// `true` if visits can be cancelled.
    pub cancel: bool,
    /// `true` if visits have an operatory.
    pub operatories: bool,
    /// `true` if a schedule is read from a health record system.
    #[serde(skip)]
    pub reads_schedule: bool,
}

impl IntentAbilities {
    /// Returns the abilities of a location. An EHR that has not described itself yet counts as able to do everything.
    pub fn of_location(api: &Api, location: &LocationSetup, channel: Option<&str>) -> Result<Self, ApiError> {
        let ehr = if location.source.is_some() { api.engine.description(location.id)? } else { None };
        Ok(IntentAbilities::new(location, ehr.as_ref(), channel))
    }

    /// Returns the abilities of which one of two locations has each.
    pub fn or(self, other: IntentAbilities) -> IntentAbilities {
        IntentAbilities {
            book: self.book || other.book,
            new_patients: self.new_patients || other.new_patients,
            reschedule: self.reschedule || other.reschedule,
            cancel: self.cancel || other.cancel,
            operatories: self.operatories || other.operatories,
            reads_schedule: self.reads_schedule || other.reads_schedule,
        }
    }

    fn new(location: &LocationSetup, ehr: Option<&Description>, channel: Option<&str>) -> IntentAbilities {
        let writes = |kind: &str| ehr.is_none_or(|ehr| ehr.supports(kind));
        IntentAbilities {
            book: writes("create-appointment"),
            new_patients: ehr.is_none_or(|ehr| ehr.new_patients)
                && location.settings.booking.rules.effective(None, channel).new_patients,
            reschedule: writes("reschedule-appointment") || ehr.is_some_and(Description::moves_by_replacement),
            cancel: writes("cancel-appointment"),
            operatories: ehr.is_none_or(|ehr| ehr.operatories),
            reads_schedule: location.source.is_some(),
        }
    }
}

pub async fn show(call: ApiCall, AtLocation(location, ()): AtLocation<()>) -> BookingAnswer<PracticeInfo<'static>> {
    let OpenLocation { setup, .. } = &location;
    let (now, zone) = (call.api.engine.now(), setup.zone);
    let today = times::local(now, zone).0;
    let rules = setup.settings.booking.rules.effective(None, call.key.channel.as_deref());
    let can = IntentAbilities::of_location(&call.api, setup, call.key.channel.as_deref())?;
    let mut hours = call.api.engine.working_hours(setup.id).map_err(ApiError::from)?;
    hours.retain(|it| it.deleted_at.is_none() && it.in_force());
    let opening_hours: Vec<OpeningDay> =
        (0..DAYS).map(|days| opening_day(today.add_days(days), &hours, &rules.closures)).collect();
    let here = booking_location(setup);
    // Hours that were not read yet, or that the EHR does not have, are not those of a closed practice.
    let known_today = opening_hours.first().filter(|_| !hours.is_empty());
    let message = message(&here, setup.phone_number.as_deref(), known_today);
    Ok(call.plain(PracticeInfo {
        ok: true,
        message,
        location: here,
        phone_number: setup.phone_number.as_deref(),
        email: setup.email.as_deref(),
        today: today.to_string(),
        timezone: zone.name(),
        now_local: times::for_people(now, zone),
        opening_hours,
        appointment_types: bookable_types(&call, &location)?,
        providers: providers(&call, &location, &hours)?,
        rules: sentences(&rules, today),
        can,
        description: call.description(),
    }))
}

fn bookable_types(call: &ApiCall, location: &OpenLocation) -> Result<Vec<BookableType>, ApiError> {
    let mut all = appointment_types::all(call, &location.tenant())?;
    all.retain(|it| it.bookable_online && appointment_types::is_at(it, std::slice::from_ref(location)));
    let view = |it: Record<AppointmentType>| BookableType { id: it.id, name: it.body.name, minutes: it.body.minutes };
    Ok(all.into_iter().map(view).collect())
}

fn providers(
    call: &ApiCall,
    location: &OpenLocation,
    hours: &[Record<WorkingHour>],
) -> Result<Vec<WorkingProvider>, ApiError> {
    let tenant = location.tenant();
    let mut names = ProviderNames::new(call, &tenant);
    let ids: BTreeSet<u32> = hours.iter().map(|it| it.provider_id).collect();
    let mut providers = Vec::with_capacity(ids.len());
    for id in ids {
        providers.extend(names.get(id)?.map(|name| WorkingProvider { id, name }));
    }
    Ok(providers)
}

fn opening_day(date: Date, hours: &[Record<WorkingHour>], closures: &[Closure]) -> OpeningDay {
    let of_day = hours.iter().filter(|it| it.recurrence.applies_on(date));
    // Hours that end on the next day are shown to the end of this one.
    let spans = of_day.map(|it| (it.begin, if it.end > it.begin { it.end } else { DAY_MINUTES }));
    let closed = closures.iter().filter(|it| it.from <= date && date <= it.to).map(|it| {
        let begin = if it.from == date { it.from_minute } else { 0 };
        (begin, if it.to == date { it.to_minute } else { DAY_MINUTES })
    });
    let open = closed.fold(merged(spans.collect()), without);
    let clock = |minutes: u16| format!("{:02}:{:02}", minutes / 60, minutes % 60);
    let time = |(begin, end)| OpeningTime { begin_time: clock(begin), end_time: clock(end) };
    OpeningDay {
        date: date.to_string(),
        weekday: format!("{:?}", date.weekday()),
        open: open.into_iter().map(time).collect(),
    }
}

/// Returns the union of spans of minutes.
fn merged(mut spans: Vec<(u16, u16)>) -> Vec<(u16, u16)> {
    spans.sort_unstable();
    let mut merged: Vec<(u16, u16)> = Vec::new();
    for (begin, end) in spans {
        match merged.last_mut() {
            Some(last) if begin <= last.1 => last.1 = last.1.max(end),
            _ => merged.push((begin, end)),
        }
    }
    merged
}

fn without(spans: Vec<(u16, u16)>, (from, to): (u16, u16)) -> Vec<(u16, u16)> {
    let around = spans.into_iter().flat_map(|(begin, end)| [(begin, end.min(from)), (begin.max(to), end)]);
    around.filter(|(begin, end)| begin < end).collect()
}

fn message(here: &BookingLocation<'_>, phone_number: Option<&str>, today: Option<&OpeningDay>) -> String {
    let name = here.name;
    let mut sentences = Vec::new();
    if !here.address.is_empty() {
        sentences.push(format!("{name} is at {}.", here.address));
    }
    sentences.extend(phone_number.map(|number| format!("The telephone number is {number}.")));
    let open = today.map(|day| day.open.iter().map(in_words).collect::<Vec<String>>().join(" and from "));
    sentences.push(match open.as_deref() {
        None => format!("The opening hours of {name} are not known."),
        Some("") => format!("{name} is closed today."),
        Some(open) => format!("{name} is open today from {open}."),
    });
    sentences.join(" ")
}

fn in_words(time: &OpeningTime) -> String {
    format!("{} to {}", time.begin_time, time.end_time)
}

/// Returns a sentence for each rule that differs from the neutral one and that a caller can observe.
fn sentences(rules: &VisitRules, today: Date) -> Vec<String> {
    let ahead = |notice: Millis| format!("Visits must be booked at least {} ahead.", notice_in_words(notice));
    let days = match rules.minimum_notice_days {
        0 => None,
        1 => Some("No visits are booked on the same day.".to_owned()),
        days => Some(format!("Visits must be booked at least {days} days ahead.")),
    };
    let cutoff = rules.cutoff.map(|minutes| {
        format!("After {:02}:{:02}, the first day that can be booked is one day later.", minutes / 60, minutes % 60)
    });
    let change = |what: &str, notice: Millis| {
        (notice > 0).then(|| format!("A visit can be {what} until {} before its start.", notice_in_words(notice)))
    };
    let instead = rules.instead.map(|instead| match instead {
        Instead::Call => "If a rule refuses a visit, the practice wants the patient to call.".to_owned(),
        Instead::Request => "If a rule refuses a visit, the practice takes a request and answers it.".to_owned(),
        Instead::Type(id) => format!("If a rule refuses a visit, offer the appointment type {id}."),
    });
    let closures = rules.closures.iter().filter(|it| it.to >= today).take(CLOSURES);
    [
        (rules.minimum_notice > 0).then(|| ahead(rules.minimum_notice)),
        days,
        cutoff,
        Some(format!("Visits can be booked up to {} days ahead.", rules.horizon_days)),
        (!rules.new_patients).then(|| "Patients who are new to the practice cannot book this way.".to_owned()),
        (!rules.known_patients).then(|| "Patients whom the practice knows cannot book this way.".to_owned()),
        rules.age_min.map(|age| format!("Patients must be at least {age} years old.")),
        rules.age_max.map(|age| format!("Patients must be at most {age} years old.")),
        change("cancelled", rules.cancel_notice),
        change("moved", rules.reschedule_notice),
        instead,
    ]
    .into_iter()
    .flatten()
    .chain(closures.map(|closure| format!("Closed: {closure}.")))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opening_times_are_the_union_of_hours_without_closures() {
        let open = merged(vec![(540, 720), (480, 600), (780, 1_020), (720, 730)]);
        assert_eq!(open, [(480, 730), (780, 1_020)]);
        assert_eq!(without(open.clone(), (600, 800)), [(480, 600), (800, 1_020)]);
        assert!(without(open.clone(), (0, DAY_MINUTES)).is_empty());
        assert_eq!(without(open.clone(), (1_100, 1_200)), open);
        assert_eq!(without(open, (540, 600)), [(480, 540), (600, 730), (780, 1_020)]);
    }

    #[test]
    fn rules_are_sentences_and_past_closures_are_left_out() {
        let day = Date(20_000);
        let closures = [day.add_days(-1), day].map(|date| Closure::of_days(date, date)).to_vec();
        let rules = VisitRules { minimum_notice_days: 1, new_patients: false, closures, ..VisitRules::default() };
        assert_eq!(
            sentences(&rules, day),
            [
                "No visits are booked on the same day.".to_owned(),
                "Visits can be booked up to 730 days ahead.".to_owned(),
                "Patients who are new to the practice cannot book this way.".to_owned(),
                format!("Closed: {day}."),
            ]
        );
    }
}
