//! The search box. Finds locations by name or id, and writes by their id or by the id of their request. Roles that see
//! records also find bookings by reference and patients by id.

use std::sync::Arc;

use endpoints::resources::practice::write_requests::parsed;
use engine::{
    Place,
    lists::{Filter, ListQuery, Order, PageRequest},
    records::{Appointment, Record},
    setup::Institution,
};
use location::InstitutionId;

use crate::{
    audit::AuditRow,
    location_page::{Write, status_badge},
    page::see_other,
    prelude::*,
    words::clock,
    write_page::{self, RequestHistory},
};

/// Maximum number of appointments shown for a patient; the newest are shown.
const APPOINTMENTS: usize = 20;

#[derive(Default, Template)]
#[template(path = "console/search.html")]
struct SearchPage {
    frame: PageFrame,
    q: String,
    booking: Option<FoundAppointment>,
    /// Writes of the booking or of the request.
    writes: Vec<Write>,
    /// The search is for a request by its id.
    is_request: bool,
    /// Audit entries of the request.
    rows: Vec<AuditRow>,
    patient: Option<FoundPatient>,
    /// The institutions with a patient of this id, if there are several.
    institutions: Vec<Arc<Institution>>,
}

struct FoundPatient {
    id: u32,
    name: String,
    institution: String,
    appointments: Vec<FoundAppointment>,
}

struct FoundAppointment {
    id: u64,
    location: LocationId,
    location_name: String,
    day: String,
    from: String,
    badge: Badge,
    writing: Option<String>,
}

pub(crate) async fn show(visit: ConsoleRequest) -> Result<HttpResponse, ConsoleError> {
    let q = visit.query_value("q").unwrap_or_default().to_owned();
    if let Some((location, _)) = parsed(&q)
        && visit.api.directory().location(LocationId(location)).is_some()
    {
        return Ok(see_other(&format!("/console/writes/{q}")));
    }
    let asked = q.clone();
    let page = read_blocking(&visit, move |visit| async move { read(&visit, asked).await }).await?;
    match page {
        Some(page) => visit.show("GET /console/search", &page).await,
        // Every role may search for locations.
        None => Ok(see_other(&format!("/console?{}", query(&[("q", &q)])))),
    }
}

/// Returns `None` if the text is no booking, patient or request.
async fn read(visit: &ConsoleRequest, q: String) -> Result<Option<SearchPage>, ConsoleError> {
    let page = SearchPage { frame: visit.frame("", "Search"), q, ..SearchPage::default() };
    if visit.sees_patients()
        && let Some(booking) = visit.api.engine.booking(&page.q)?
    {
        if let Some(location) = visit.api.directory().location(LocationId(booking.location())) {
            visit.about(location);
        }
        let writes = write_page::appointment_writes(visit, LocationId(booking.location()), booking.id).await?;
        return Ok(Some(SearchPage { booking: Some(row(visit, &booking)?), writes, ..page }));
    }
    if let Some(id) = page.q.parse::<u32>().ok().filter(|_| visit.sees_patients()) {
        let institutions = with_patient(visit, id)?;
        match &institutions[..] {
            [] => {}
            [institution] => return Ok(Some(SearchPage { patient: patient(visit, institution, id)?, ..page })),
            // The operator chooses an institution. Names of patients are not shown here.
            _ => return Ok(Some(SearchPage { institutions, ..page })),
        }
    }
    if is_location(visit, &page.q) {
        return Ok(None);
    }
    let found = write_page::find_request(visit, &page.q).await?;
    Ok(found.map(|RequestHistory { writes, rows }| SearchPage { writes, rows, is_request: true, ..page }))
}

/// Returns `true` if the text is part of the name of a location or institution, or the id of a location.
fn is_location(visit: &ConsoleRequest, q: &str) -> bool {
    let (directory, q) = (visit.api.directory(), q.to_lowercase());
    let named = |name: &str| name.to_lowercase().contains(&q);
    let mut institutions = directory.institutions();
    institutions.any(|it| named(&it.name) || named(&it.subdomain))
        || directory.locations().any(|it| it.id.0.to_string() == q || named(&it.name))
}

/// Returns the institutions with a patient of this id, limited to the chosen institution if there is one.
fn with_patient(visit: &ConsoleRequest, id: u32) -> Result<Vec<Arc<Institution>>, ConsoleError> {
    let (engine, directory) = (&visit.api.engine, visit.api.directory());
    let only = visit.query_value("institution").and_then(|id| id.parse().ok()).map(InstitutionId);
    let asked = directory.institutions().map(|institution| institution.id);
    let asked = asked.filter(|id| only.is_none_or(|only| only == *id) && engine.place(*id) == Place::Mine);
    let found = engine.with_patient(&asked.collect::<Vec<_>>(), id)?;
    Ok(found.into_iter().filter_map(|id| directory.institution(id).cloned()).collect())
}

fn patient(visit: &ConsoleRequest, institution: &Institution, id: u32) -> Result<Option<FoundPatient>, ConsoleError> {
    let Some(patient) = visit.api.engine.patient(institution.id, id)? else { return Ok(None) };
    visit.about_institution(institution);
    visit.note("read", "patient", id.into());
    let appointments = appointments(visit, institution, id)?;
    Ok(Some(FoundPatient { id, name: patient.name(), institution: institution.name.clone(), appointments }))
}

fn appointments(
    visit: &ConsoleRequest,
    institution: &Institution,
    patient: u32,
) -> Result<Vec<FoundAppointment>, ConsoleError> {
    let directory = visit.api.directory();
    let owners: Vec<u32> = directory.locations_of(institution.id).iter().map(|it| it.id.0).collect();
    let query = ListQuery::new(owners, Order::StartsAt).filtered([Filter::Patient(patient.into())]);
    let newest = PageRequest { descending: true, ..PageRequest::whole(APPOINTMENTS) };
    let found = visit.api.engine.lists().list::<Record<Appointment>>(&query, &newest, |_| true)?;
    found.rows.iter().map(|it| row(visit, it)).collect()
}

fn row(visit: &ConsoleRequest, it: &Record<Appointment>) -> Result<FoundAppointment, ConsoleError> {
    let id = LocationId(it.location());
    let directory = visit.api.directory();
    let location = directory.location(id).ok_or_else(|| ApiError::location_not_found(id))?;
    visit.note("read", "appointment", it.id);
    let start = it.placement.span.start;
    Ok(FoundAppointment {
        id: it.id,
        location: id,
        location_name: location.name.clone(),
        day: times::local(start, location.zone).0.to_string(),
        from: clock(start, location.zone),
        badge: status_badge(it, location.source.is_some()),
        writing: it.write.as_ref().and_then(|write| write.reason.clone()),
    })
}
