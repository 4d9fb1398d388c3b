//! POST /intent/booking/find (our addition): the upcoming visits of a patient, with tokens to change them.
//!
//! A caller must give enough details to be the patient, and learns nothing about other people: a patient that does not
//! exist, details that do not match, several patients with these details, and a patient without visits all have the
//! same answer, after the same reads.

use engine::{
    lists::PageAt,
    records::demographics::{name, phone::Number},
};
use framework::http::find_limits::Contact;

use super::{failure::BookingAnswer, offer_view::OfferLocation, visits::token_for, with_provider};
use crate::{prelude::*, resources::practice::providers::ProviderNames, views::locations::booking_location};

/// Maximum number of visits in an answer.
const VISITS: usize = 10;
/// Maximum number of patients with the same details that are read. More than one is as good as none.
const NAMESAKES: usize = 10;
/// Maximum number of records that are read for one list.
const READS: usize = 20_000;
/// Visits further ahead are not found.
const AHEAD: Millis = 3 * 366 * DAY;
/// No patient has this id: the visits are read although no patient was found, so that both take equally long.
const NO_PATIENT: u32 = 0;

const NOTHING: &str = "No upcoming visit was found for these details. Please check the spelling of the name, the date \
    of birth, and the telephone number or e-mail address, and give the first name, too.";

/// The upcoming visits of a patient.
#[view]
pub struct FoundVisits<'a> {
    ok: bool,
    /// The result, as a sentence that may be read to the patient.
    message: String,
    /// The upcoming visits, soonest first, at most 10; empty if the details match no patient, or several, or if the
    /// patient has no visits.
    visits: Vec<VisitView>,
    /// A warning, such as the names of ignored parameters and fields; absent if there is none.
    description: Omittable<&'a str>,
}

/// An upcoming visit.
#[view]
struct VisitView {
    /// Token to confirm, reschedule or cancel the visit, valid for 30 minutes: `vis_...`.
    visit_token: String,
    start_local: String,
    start_iso: String,
    duration_minutes: i64,
    /// Display name of the provider, or the full name if there is none; null if the visit has no provider.
    provider: Option<String>,
    /// Name of the appointment type; null if unknown.
    appointment_type: Option<String>,
    /// Id of the appointment type, to search for another slot; null if unknown.
    appointment_type_id: Option<u32>,
    /// The location of the visit.
    location: OfferLocation,
    /// Reference of the booking; null for a visit that the practice booked itself.
    booking_ref: Option<String>,
    /// The changes that the patient may make now.
    can: PossibleChanges,
}

/// The possible changes of a visit.
#[derive(Serialize, JsonSchema)]
struct PossibleChanges {
    /// `true` if `POST /intent/booking/confirm` accepts the visit; otherwise the reason why not.
    confirm: PossibleChange,
    /// `true` if `POST /intent/booking/reschedule` accepts the visit; otherwise the reason why not.
    reschedule: PossibleChange,
    /// `true` if `POST /intent/booking/cancel` accepts the visit; otherwise the reason why not.
    cancel: PossibleChange,
}

/// `true` if the change is possible, otherwise the reason why not.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum PossibleChange {
    Possible(bool),
    Impossible(Word<Obstacle>),
}

/// The reason why a patient cannot make a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Obstacle {
    AlreadyConfirmed,
    NotSynced,
    NotSupportedByEhr,
    NotBookableOnline,
    TooLate,
}

closed! {
    Obstacle: "VisitObstacle"
        "The reason why a change of a visit is not possible. New values may be added; existing values keep their meaning." {
        AlreadyConfirmed = "already_confirmed", NotSynced = "appointment_not_synced",
        NotSupportedByEhr = "not_supported_by_ehr", NotBookableOnline = "not_bookable_online",
        TooLate = "change_too_late",
    }
}

impl PossibleChange {
    /// Returns the first obstacle that exists.
    fn unless<const N: usize>(obstacles: [(bool, Obstacle); N]) -> PossibleChange {
        let first = obstacles.into_iter().find(|(exists, _)| *exists);
        first.map_or(PossibleChange::Possible(true), |(_, obstacle)| PossibleChange::Impossible(Word(obstacle)))
    }
}

#[input(object("patient", "The patient. A phone number or an e-mail address is required."), check = SoughtPatient::check)]
pub struct SoughtPatient {
    /// Given name. Required only if several patients share the other details.
    #[body(given_name(), nonempty)]
    first_name: Option<String>,
    #[body(filled(family_name()))]
    last_name: String,
    #[body(birth_date(input.today))]
    date_of_birth: Date,
    #[body(phone(), nonempty)]
    phone_number: Option<String>,
    #[body(email(), nonempty)]
    email: Option<String>,
}

impl SoughtPatient {
    fn check(&self, input: &mut Input) {
        // An invalid value was reported already.
        if self.phone_number.is_none() && self.email.is_none() && input.body.problem_count() == 0 {
            input.body.problem("patient.phone_number or patient.email is missing.");
        }
    }

    /// Returns the contacts that count towards the limit of searches. All spellings of a number in one of the countries
    /// are the same contact, as they are for `is`.
    fn contacts<'c>(&self, institution: InstitutionId, countries: impl Iterator<Item = &'c str>) -> Vec<Contact> {
        let number = self.phone_number.as_deref();
        let lines = countries.filter_map(|country| Number::read(number?, country));
        let lines = lines.map(|line| line.last_digits().join(","));
        let email = self.email.as_deref().map(plain);
        let contacts = lines.chain(email).map(|contact| Contact::new(institution, &contact));
        let contacts: BTreeSet<Contact> = contacts.collect();
        contacts.into_iter().collect()
    }

    /// Returns `true` if these are the patient's details, by the rules of bookings. Without a first name, the others
    /// must match.
    fn is(&self, it: &Record<Patient>, country: &str) -> bool {
        let number = self.phone_number.as_deref().and_then(|number| Number::read(number, country));
        let same_number = number.is_some() && it.phones().any(|known| Number::read(known, country) == number);
        let email = self.email.as_deref().map(plain);
        let same_email = email.is_some() && it.email.as_deref().map(plain) == email;
        name::is_same(&it.last_name, &self.last_name)
            && self.first_name.as_ref().is_none_or(|first_name| name::is_same(&it.first_name, first_name))
            && (same_number || same_email)
    }
}

fn plain(text: &str) -> String {
    text.trim().to_lowercase()
}

/// The open locations with one data source, and the records of their patient.
struct Chart {
    source: Option<u32>,
    locations: Vec<OpenLocation>,
    /// Two while the EHR shows a new patient whose write is not known to have succeeded.
    patients: Vec<u32>,
}

pub async fn create(
    call: ApiCall,
    InLocations(tenant, at, patient): InLocations<SoughtPatient>,
) -> BookingAnswer<FoundVisits<'static>> {
    let institution = tenant.institution.id;
    let locations = at.map_or_else(|| call.open_locations(&tenant), |location| vec![location]);
    let countries = locations.iter().map(|location| location.setup.country(&location.institution));
    call.api.edge().find_limits.admit(&call.key.hash, &patient.contacts(institution, countries))?;
    let mut charts: Vec<Chart> = Vec::new();
    for location in locations {
        match charts.iter_mut().find(|chart| chart.source == location.setup.source) {
            Some(chart) => chart.locations.push(location),
            None => {
                charts.push(Chart { source: location.setup.source, locations: vec![location], patients: Vec::new() })
            }
        }
    }
    let mut first_name: Option<String> = None;
    let mut ambiguous = false;
    for chart in &mut charts {
        for found in patients_like(&call, institution, chart, &patient)? {
            let known = first_name.get_or_insert_with(|| found.first_name.clone());
            ambiguous |= !name::is_same(known, &found.first_name);
            chart.patients.push(found.id);
        }
    }
    // Several patients with these details are as unknown as none.
    charts.iter_mut().filter(|_| ambiguous).for_each(|chart| chart.patients.clear());
    let mut found = Vec::new();
    for chart in &charts {
        found.extend(upcoming(&call, chart)?);
    }
    found.sort_by_key(|(_, it)| (it.placement.span.start, it.id));
    // The EHR may show a visit whose write is not known to have succeeded.
    found.dedup_by_key(|(location, it)| (location.setup.id, it.placement));
    found.truncate(VISITS);
    let mut names = ProviderNames::new(&call, &tenant);
    let mut visits = Vec::with_capacity(found.len());
    for (location, it) in &found {
        visits.push(view(&call, location, it, &mut names)?);
        call.audit("find", "appointment", it.id);
    }
    if visits.is_empty() {
        call.audit_action("find", "appointment");
    }
    let message = message(&visits);
    Ok(call.plain(FoundVisits { ok: true, message, visits, description: call.description() }))
}

/// Returns the patients of a data source with these details. One that the EHR rejected counts only if no other matches.
/// Records with one first name are of one patient, as they are for bookings.
fn patients_like(
    call: &ApiCall,
    institution: InstitutionId,
    chart: &Chart,
    sought: &SoughtPatient,
) -> Result<Vec<Record<Patient>>, ApiError> {
    let Some(location) = chart.locations.first() else { return Ok(Vec::new()) };
    let country = location.setup.country(&location.institution);
    let born = Filter::DateOfBirth(sought.date_of_birth);
    let query = ListQuery::new([institution.0], Order::Id).filtered([born]);
    let is_sought = |it: &Record<Patient>| {
        it.source_id == chart.source && it.deleted_at.is_none() && !it.non_patient && sought.is(it, country)
    };
    let mut found = call.api.engine.lists().list(&query, &first(NAMESAKES), is_sought)?.rows;
    if found.iter().any(|it| !it.rejected()) {
        found.retain(|it| !it.rejected());
    }
    Ok(found)
}

fn first(size: usize) -> PageRequest {
    PageRequest { at: PageAt::Start, budget: READS, ..PageRequest::whole(size) }
}

/// Returns the next visits of the patient of a data source. An unknown patient costs as much as a known one.
fn upcoming<'a>(call: &ApiCall, chart: &'a Chart) -> Result<Vec<(&'a OpenLocation, Record<Appointment>)>, ApiError> {
    let now = call.api.engine.now();
    let owners: Vec<u32> = chart.locations.iter().map(|location| location.setup.id.0).collect();
    let at = |it: &Record<Appointment>| chart.locations.iter().find(|place| place.setup.id.0 == it.location());
    let unknown = chart.patients.is_empty().then_some(NO_PATIENT);
    let mut visits = Vec::new();
    for patient in chart.patients.iter().copied().chain(unknown) {
        let of_patient = Filter::Patient(u64::from(patient));
        let ahead = Filter::Starting(Span { start: now.plus(1), end: now.plus(AHEAD) });
        let query = ListQuery::new(owners.clone(), Order::StartsAt).filtered([of_patient, ahead]);
        let is_visit = |it: &Record<Appointment>| {
            let is_failed = it.booking.as_ref().is_some_and(|booking| booking.writeback == Writeback::Failed);
            !it.cancelled && !it.unavailable && !is_failed && it.patient_id == Some(patient) && patient != NO_PATIENT
        };
        let found = call.api.engine.lists().list(&query, &first(VISITS), is_visit)?.rows;
        visits.extend(found.into_iter().filter_map(|it| Some((at(&it)?, it))));
    }
    Ok(visits)
}

fn view(
    call: &ApiCall,
    location: &OpenLocation,
    it: &Record<Appointment>,
    names: &mut ProviderNames<'_>,
) -> Result<VisitView, ApiError> {
    let start = it.placement.span.start;
    let here = booking_location(&location.setup);
    let kind = it.appointment_type_id.map(|id| call.api.engine.appointment_type(location.institution.id, id));
    let kind = kind.transpose()?.flatten();
    let can = possible_changes(call, location, it, kind.as_ref())?;
    Ok(VisitView {
        visit_token: token_for(call, location, it),
        start_local: times::for_people(start, location.setup.zone),
        start_iso: times::utc(start),
        duration_minutes: it.placement.span.length() / MINUTE,
        provider: it.placement.provider.map(|id| names.get(id.0)).transpose()?.flatten(),
        appointment_type: kind.map(|kind| kind.body.name),
        appointment_type_id: it.appointment_type_id,
        location: OfferLocation { location_id: here.location_id.0, name: here.name.to_owned(), address: here.address },
        booking_ref: it.booking.as_ref().map(|booking| booking.booking_ref.clone()),
        can,
    })
}

fn possible_changes(
    call: &ApiCall,
    location: &OpenLocation,
    it: &Record<Appointment>,
    kind: Option<&Record<AppointmentType>>,
) -> Result<PossibleChanges, ApiError> {
    let integrated = location.setup.source.is_some();
    let ehr: Option<Description> = if integrated { call.api.engine.description(location.setup.id)? } else { None };
    let writes = |name: &str| !integrated || ehr.iter().any(|ehr| ehr.writes.iter().any(|known| known == name));
    // The insert sends the last time, and is withdrawn for a cancellation.
    let unsent = integrated && it.booking.as_ref().is_some_and(|booking| booking.writeback == Writeback::Pending);
    // An EHR that cannot move an appointment gets a new one, and the old one is cancelled.
    let moves = writes("reschedule-appointment") || (writes("create-appointment") && writes("cancel-appointment"));
    let closed = kind.is_some_and(|kind| !kind.bookable_online);
    let kind = it.appointment_type_id.map(AppointmentTypeId);
    let rules = location.setup.settings.booking.rules.effective(kind, call.key.channel.as_deref());
    let left = it.placement.span.start.since(call.api.engine.now());
    Ok(PossibleChanges {
        confirm: PossibleChange::unless([
            (it.patient_confirmed, Obstacle::AlreadyConfirmed),
            (unsent, Obstacle::NotSynced),
        ]),
        reschedule: PossibleChange::unless([
            (closed, Obstacle::NotBookableOnline),
            (left < rules.reschedule_notice, Obstacle::TooLate),
            (!unsent && !moves, Obstacle::NotSupportedByEhr),
        ]),
        cancel: PossibleChange::unless([
            (left < rules.cancel_notice, Obstacle::TooLate),
            (!unsent && !writes("cancel-appointment"), Obstacle::NotSupportedByEhr),
        ]),
    })
}

fn message(visits: &[VisitView]) -> String {
    match visits {
        [] => NOTHING.to_owned(),
        [next, ..] => {
            let with = with_provider(next.provider.as_deref());
            format!("The next visit{with} is on {} at {}.", next.start_local, next.location.name)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contacts(phone: &str, countries: &[&str]) -> Vec<Contact> {
        let sought = SoughtPatient {
            first_name: None,
            last_name: "Meier".to_owned(),
            date_of_birth: Date(0),
            phone_number: Some(phone.to_owned()),
            email: None,
        };
        sought.contacts(InstitutionId(1), countries.iter().copied())
    }

    #[test]
    fn all_spellings_of_a_number_count_as_one_contact() {
        let one = contacts("030 901820", &["DE"]);
        assert_eq!(one.len(), 1);
        for other in ["+49 30 901820", "+49 (0)30 901820", "0049 30 901820", "030 901820 x3"] {
            assert!(contacts(other, &["DE", "DE"]) == one, "{other}");
        }
        assert!(contacts("030 901821", &["DE"]) != one);
        assert_eq!(contacts("030 901820", &["DE", "US"]).len(), 2, "the national form is that of a location");
    }
}
