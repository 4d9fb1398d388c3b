//! Workstations of an EHR that opens only while staff is logged in: POST /locations/{id}/pairing_codes, GET and DELETE
//! /locations/{id}/workstations for operators, POST /workstations/pair for the extension (our addition).

use std::net::{IpAddr, Ipv4Addr};

use engine::workstations::{
    CodeKind, EhrAccess, Paired, Workstation,
    limits::{ENROLMENT_HOURS, ENROLMENT_USES},
};

use framework::{access::arguments::WorkstationId, values::kinds::uuid};

use crate::prelude::*;

/// Maximum length of a code as typed, with hyphens and spaces between its letters.
const MAX_CODE: usize = 64;

/// A code that pairs workstations with a location. It is shown only once.
#[derive(Serialize, JsonSchema)]
pub struct PairingCodeView {
    /// Id of the location that workstations are paired with.
    location_id: u32,
    /// The code that staff type into the extension.
    pub code: String,
    /// Number of workstations that can be paired with this code.
    uses: u32,
    /// Time at which the code expires, in UTC.
    pub expires_at: At,
}

/// A workstation paired with a location.
#[view(value = Workstation, named = "workstation")]
pub struct WorkstationView {
    id: Uuid,
    /// Name of the workstation, as specified when it was paired.
    name: String,
    /// Time at which the workstation was last paired, in UTC.
    paired_at: At,
    /// Time at which the workstation was last connected; the current time while it is connected.
    #[view(from = last_seen)]
    last_seen_at: Option<At>,
    /// Version of the workstation's extension; null before the first connection.
    #[view(with = Some(entry.version.clone()).filter(|version| !version.is_empty()))]
    extension_version: Option<String>,
    /// `true` if the workstation is connected.
    connected: bool,
    /// `true` if staff are logged in to the health record system at the workstation; null if unknown.
    logged_in: Option<bool>,
    /// `true` if staff paused the workstation; `false` while it is not connected.
    paused: bool,
    /// Number of writes that wait for approval by staff at the workstation.
    #[view(from = awaiting)]
    writes_awaiting_approval: u32,
    /// `true` if the workstation currently serves the location; the other workstations are on standby.
    #[view(from = holds_lease)]
    working: bool,
}

/// A newly paired workstation.
#[view(value = Paired)]
pub struct PairedWorkstationView<'a> {
    /// Token that the workstation sends in the first message of every connection. It is shown only once.
    token: &'a str,
    /// Id of the workstation. An installation that is paired again keeps its id.
    workstation: Uuid,
    /// The location that the workstation is paired with.
    #[view(with = PairedLocation::from_value(entry))]
    location: PairedLocation<'a>,
    /// The web application to which the workstation may send requests.
    #[view(with = EhrAccessView::from_value(&entry.ehr))]
    ehr: EhrAccessView<'a>,
}

/// The location of a paired workstation.
#[view(value = Paired, named = "location")]
pub(crate) struct PairedLocation<'a> {
    #[view(from = location)]
    id: u32,
    #[view(from = location_name)]
    name: &'a str,
}

/// The web application to which the workstation may send requests.
#[view(value = EhrAccess)]
pub(crate) struct EhrAccessView<'a> {
    /// Scheme, host and port of the web application: `https://ehr.example`.
    origin: &'a str,
    /// Path prefix of all requests, such as `/app`; may be empty.
    base_path: &'a str,
    /// Allowed path prefixes below the base path.
    paths: &'a [String],
    /// Path below the base path that returns 200 with JSON only while a user is logged in.
    probe: &'a str,
}

#[input]
pub struct NewPairingCode {
    /// Number of workstations that can be paired with the code. Default: one.
    #[body(integer(1..=ENROLMENT_USES.into()))]
    uses: Option<i64>,
    /// Lifetime of the code, in hours. Default: ten minutes.
    #[body(integer(1..=ENROLMENT_HOURS.into()), name = "expires_in_hours")]
    hours: Option<i64>,
}

pub async fn new_code(
    call: ApiCall,
    OfLocation(location, NewPairingCode { uses, hours }): OfLocation<NewPairingCode>,
) -> Answer<One<PairingCodeView>> {
    let kind = match (uses, hours) {
        (None, None) => CodeKind::Single,
        (Some(uses), Some(hours)) => CodeKind::Enrolment { uses: uses as u32, hours: hours as u32 },
        _ => {
            let why = "uses and expires_in_hours must be sent together or not at all.";
            return Err(ApiError::refused(why));
        }
    };
    Ok(call.show(create_code(&call.action(), location.setup.id, kind).await?))
}

pub async fn create_code(action: &ActionContext<'_>, location: LocationId, kind: CodeKind) -> Answer<PairingCodeView> {
    let made = action.api.engine.gateway().new_code(location, kind).await?;
    action.shown.audit("make pairing code", "location", location.0.into());
    Ok(PairingCodeView { location_id: location.0, code: made.code, uses: made.uses, expires_at: At(made.expires) })
}

pub async fn list(call: ApiCall, OfLocation(location, ()): OfLocation<()>) -> Answer<Listed<WorkstationView>> {
    let location = location.setup.id;
    let all = call.api.engine.gateway().workstations(location)?;
    Ok(call.list(&all.iter().map(WorkstationView::from_value).collect::<Vec<_>>()))
}

pub async fn revoke(
    call: ApiCall,
    (Id(id), WorkstationId(workstation)): (Id<u32>, WorkstationId),
    tenants: Vec<Tenant>,
) -> Answer<Empty> {
    let location = call.location_of_any(&tenants, LocationId(id))?.setup.id;
    revoke_workstation(&call.action(), location, workstation).await?;
    Ok(call.empty())
}

pub async fn revoke_workstation(action: &ActionContext<'_>, location: LocationId, workstation: Uuid) -> Answer<()> {
    if !action.api.engine.gateway().revoke(location, workstation).await? {
        return Err(ApiError::not_found(format!("Workstation with id {workstation}")));
    }
    action.shown.audit("revoke workstation", "location", location.0.into());
    Ok(())
}

#[input]
pub struct NewWorkstation {
    /// The pairing code, as displayed.
    #[body(filled(text(MAX_CODE)))]
    code: String,
    /// Name.
    #[body(person_name(MAX_NAME))]
    name: String,
    /// Id of the installation, created by the extension.
    #[body(uuid())]
    install: Uuid,
}

pub async fn pair(
    call: ApiCall,
    Anywhere(NewWorkstation { code, name, install }): Anywhere<NewWorkstation>,
) -> Answer<Plain<PairedWorkstationView<'static>, 201>> {
    let client = call.client.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let paired = call.api.engine.gateway().pair(client, &code, &name, install).await?;
    Ok(call.plain(PairedWorkstationView::from_value(&paired)))
}
