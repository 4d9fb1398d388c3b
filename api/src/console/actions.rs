//! What operators do at the console. Each action is asked about first, on a page of its own that says what will happen; only the form there does
//! it, with the word of its session.

use actix_web::{
    HttpResponse,
    web::{Form, Path},
};
use askama::Template;
use engine::webhooks::model::EndpointId;
use engine::workstations::CodeKind;
use location::{
    ids::{LocationId, WriteId},
    pause::Directions,
    pull::Resource,
};
use uuid::Uuid;

use super::{
    page::{Failure, Frame, query, see_other},
    visit::Visit,
    webhooks::endpoint,
};
use crate::{
    http::errors::ApiError,
    resources::{
        adapters::CONFIGURED,
        resource_names,
        webhook_deliveries::record_of,
        write_requests::{parsed, public_id},
    },
    values::{role::Role, times},
};

#[derive(Template)]
#[template(path = "console/action.html")]
struct ActionPage {
    frame: Frame,
    about: String,
    consequence: &'static str,
    /// How the button is called.
    word: &'static str,
    action: &'static str,
    fields: Vec<(&'static str, String)>,
    back: String,
}

#[derive(Template)]
#[template(path = "console/outcome.html")]
struct OutcomePage {
    frame: Frame,
    about: String,
    /// To be read out or copied, shown once.
    code: Option<String>,
    lines: Vec<String>,
    back: String,
}

/// What is to be done.
enum Action {
    Sync(LocationId),
    AcceptDeletions(LocationId, Resource),
    Retry(LocationId, WriteId),
    Drop(LocationId, WriteId),
    Pair(LocationId),
    Revoke(LocationId, Uuid),
    Redeliver(EndpointId, Uuid),
    /// None: the version of the configuration.
    RollOut(LocationId, Option<String>),
    RollBack(LocationId),
    Pause(LocationId, Directions),
    Resume(LocationId, Directions),
}

/// What became of it.
enum Outcome {
    /// The page it came from says so.
    Done(&'static str),
    Shown {
        code: Option<String>,
        lines: Vec<String>,
    },
}

/// Names and values of a query or a form.
type Fields = [(String, String)];

fn field<'f>(fields: &'f Fields, name: &str) -> Result<&'f str, ApiError> {
    let found = fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    found.ok_or_else(|| ApiError::bad(format!("{name} is missing")))
}

fn number<T: std::str::FromStr>(fields: &Fields, name: &str) -> Result<T, ApiError> {
    field(fields, name)?.parse().map_err(|_| ApiError::bad(format!("{name} is not one")))
}

const DIRECTIONS: [(&str, Directions); 3] = [
    ("reading", Directions { reading: true, writing: false }),
    ("writing", Directions { reading: false, writing: true }),
    ("both", Directions { reading: true, writing: true }),
];

fn directions(fields: &Fields) -> Result<Directions, ApiError> {
    let name = field(fields, "what")?;
    let known = DIRECTIONS.iter().find(|(known, _)| *known == name).map(|(_, which)| *which);
    known.ok_or_else(|| ApiError::bad("what must be reading, writing or both"))
}

fn what(which: Directions) -> &'static str {
    DIRECTIONS.iter().find(|(_, known)| *known == which).map_or("both", |(name, _)| name)
}

impl Action {
    fn read(name: &str, fields: &Fields) -> Result<Action, ApiError> {
        let location = || number(fields, "location").map(LocationId);
        let write = || {
            let (location, write) = parsed(field(fields, "write")?).ok_or(ApiError::bad("write is not one"))?;
            Ok::<_, ApiError>((LocationId(location), WriteId(write)))
        };
        Ok(match name {
            "sync" => Action::Sync(location()?),
            "accept-deletions" => {
                let resource = resource_names::named(field(fields, "resource")?);
                Action::AcceptDeletions(location()?, resource.ok_or(ApiError::bad("resource is not one"))?)
            }
            "retry" => write().map(|(location, write)| Action::Retry(location, write))?,
            "drop" => write().map(|(location, write)| Action::Drop(location, write))?,
            "pair" => Action::Pair(location()?),
            "revoke" => Action::Revoke(location()?, number(fields, "workstation")?),
            "redeliver" => Action::Redeliver(EndpointId(number(fields, "endpoint")?), number(fields, "delivery")?),
            "roll-out" => {
                let version = field(fields, "version")?.to_owned();
                Action::RollOut(location()?, (version != CONFIGURED).then_some(version))
            }
            "roll-back" => Action::RollBack(location()?),
            "pause" => Action::Pause(location()?, directions(fields)?),
            "resume" => Action::Resume(location()?, directions(fields)?),
            _ => return Err(ApiError::NotFound("The action".to_owned())),
        })
    }

    fn name(&self) -> &'static str {
        match self {
            Action::Sync(_) => "sync",
            Action::AcceptDeletions(..) => "accept-deletions",
            Action::Retry(..) => "retry",
            Action::Drop(..) => "drop",
            Action::Pair(_) => "pair",
            Action::Revoke(..) => "revoke",
            Action::Redeliver(..) => "redeliver",
            Action::RollOut(..) => "roll-out",
            Action::RollBack(_) => "roll-back",
            Action::Pause(..) => "pause",
            Action::Resume(..) => "resume",
        }
    }

    fn fields(&self) -> Vec<(&'static str, String)> {
        let at = |location: &LocationId| ("location", location.to_string());
        match self {
            Action::Sync(location) | Action::Pair(location) | Action::RollBack(location) => vec![at(location)],
            Action::AcceptDeletions(location, resource) => {
                vec![at(location), ("resource", resource_names::name(*resource).to_owned())]
            }
            Action::Retry(location, write) | Action::Drop(location, write) => {
                vec![("write", public_id(location.0, write.0))]
            }
            Action::Pause(location, which) | Action::Resume(location, which) => {
                vec![at(location), ("what", what(*which).to_owned())]
            }
            Action::Revoke(location, workstation) => vec![at(location), ("workstation", workstation.to_string())],
            Action::Redeliver(endpoint, delivery) => {
                vec![("endpoint", endpoint.to_string()), ("delivery", delivery.to_string())]
            }
            Action::RollOut(location, version) => {
                vec![at(location), ("version", version.clone().unwrap_or_else(|| CONFIGURED.to_owned()))]
            }
        }
    }

    fn role(&self) -> Role {
        match self {
            Action::RollOut(..) | Action::RollBack(_) => Role::Admin,
            _ => Role::Operator,
        }
    }

    fn location(&self) -> Option<LocationId> {
        match self {
            Action::Sync(location)
            | Action::AcceptDeletions(location, _)
            | Action::Retry(location, _)
            | Action::Drop(location, _)
            | Action::Pair(location)
            | Action::Revoke(location, _)
            | Action::RollOut(location, _)
            | Action::RollBack(location)
            | Action::Pause(location, _)
            | Action::Resume(location, _) => Some(*location),
            Action::Redeliver(..) => None,
        }
    }

    /// Title, what follows from it, and the word of the button.
    fn told(&self) -> (&'static str, &'static str, &'static str) {
        match self {
            Action::Sync(_) => (
                "Read now",
                "A read cycle begins at once, and writes that wait for a pause to end are tried.",
                "Read now",
            ),
            Action::AcceptDeletions(..) => (
                "Accept deletions",
                "The next full pass deletes here what the health record system no longer shows. It was stopped because that is unusually much.",
                "Accept",
            ),
            Action::Retry(..) => (
                "Retry the write",
                "The write is queued again, as a new write, and sent to the health record system.",
                "Retry",
            ),
            Action::Drop(..) => (
                "Drop the write",
                "The write is given up for good, with the writes that rest on it. The health record system will not have it.",
                "Drop",
            ),
            Action::Pair(_) => (
                "Make a pairing code",
                "The code pairs one workstation with the location, within ten minutes. It is shown once.",
                "Make a code",
            ),
            Action::Revoke(..) => (
                "Revoke the workstation",
                "The workstation loses its connection at once, and has to be paired anew.",
                "Revoke",
            ),
            Action::Redeliver(..) => (
                "Redeliver the message",
                "The message is sent to the endpoint again, with the same delivery id.",
                "Redeliver",
            ),
            Action::RollOut(..) => (
                "Roll the version out",
                "The version is tried at the location first: it describes the health record system and reads a page. If that works, the location runs \
                 it from its next call on. If it fails, nothing changes.",
                "Try and roll out",
            ),
            Action::Pause(..) => (
                "Pause",
                "Nothing is read, or written, until an operator resumes it, restarts included. What is under way ends. Bookings are taken and wait; a \
                 write that is not written by its deadline fails.",
                "Pause",
            ),
            Action::Resume(..) => ("Resume", "Reading, or writing, goes on at once where it stood.", "Resume"),
            Action::RollBack(_) => (
                "Roll back",
                "The location runs the version from before the last roll-out, from its next call on.",
                "Roll back",
            ),
        }
    }

    fn back(&self) -> String {
        match self {
            Action::Redeliver(endpoint, _) => format!("/console/webhooks/{endpoint}"),
            _ => self.location().map_or_else(String::new, |location| format!("/console/locations/{location}")),
        }
    }

    /// Which one, in a line.
    fn about(&self, visit: &Visit) -> Result<String, Failure> {
        let place = match self.location() {
            Some(id) => {
                let (location, institution) = visit.location_here(id)?;
                visit.about(&location);
                format!("{}, {}", location.name, institution.name)
            }
            None => String::new(),
        };
        Ok(match self {
            Action::Sync(_) | Action::Pair(_) | Action::RollBack(_) => place,
            Action::Pause(_, which) | Action::Resume(_, which) => match what(*which) {
                "both" => format!("Reading and writing at {place}"),
                one => format!("Only {one} at {place}"),
            },
            Action::AcceptDeletions(_, resource) => {
                format!("{} at {place}", resource_names::name(*resource).replace('_', " "))
            }
            Action::Retry(location, write) | Action::Drop(location, write) => {
                format!("Write {} at {place}", public_id(location.0, write.0))
            }
            Action::Revoke(location, workstation) => {
                let all = visit.api.engine.gateway().workstations(*location).map_err(ApiError::from)?;
                let found = all.into_iter().find(|it| it.id == *workstation);
                let found = found.ok_or_else(|| ApiError::NotFound(format!("Workstation with id {workstation}")))?;
                format!("{} at {place}", found.name)
            }
            Action::Redeliver(id, delivery) => {
                format!("Message {delivery} to the endpoint {}", endpoint(&visit.api, *id)?.id)
            }
            Action::RollOut(_, None) => format!("The version of the configuration at {place}"),
            Action::RollOut(_, Some(version)) => format!("Version {} at {place}", super::words::short(version)),
        })
    }

    /// As the operators' endpoint of the same name does it.
    async fn run(&self, visit: &Visit) -> Result<Outcome, Failure> {
        let engine = &visit.api.engine;
        let at = |what, location: LocationId| visit.note(what, "location", location.0.into());
        Ok(match self {
            Action::Sync(location) => {
                engine.sync_now(*location).await?;
                at("start read cycle", *location);
                Outcome::Done("sync")
            }
            Action::AcceptDeletions(location, resource) => {
                engine.accept_deletions(*location, *resource).await?;
                at("accept deletions", *location);
                Outcome::Done("accepted")
            }
            Action::Retry(location, write) => {
                engine.retry_write(*location, *write).await?;
                visit.note("retry", "write request", write.0);
                Outcome::Done("retried")
            }
            Action::Drop(location, write) => {
                engine.drop_write(*location, *write).await?;
                visit.note("drop", "write request", write.0);
                Outcome::Done("dropped")
            }
            Action::Pair(location) => {
                let made = engine.gateway().new_code(*location, CodeKind::Single).await.map_err(ApiError::from)?;
                at("make pairing code", *location);
                let until = format!("Valid once, until {}.", times::utc(made.expires));
                Outcome::Shown { code: Some(made.code), lines: vec![until] }
            }
            Action::Revoke(location, workstation) => {
                let revoked = engine.gateway().revoke(*location, *workstation).await.map_err(ApiError::from)?;
                if !revoked {
                    return Err(ApiError::NotFound(format!("Workstation with id {workstation}")).into());
                }
                at("revoke workstation", *location);
                Outcome::Done("revoked")
            }
            Action::Redeliver(id, delivery) => {
                let owner = endpoint(&visit.api, *id)?.owner.clone();
                let sent = engine.webhook_log().redeliver(&owner, *id, *delivery, engine.now()).await;
                visit.note("send", "webhook message", record_of(&sent.map_err(ApiError::from)?));
                Outcome::Done("redelivered")
            }
            Action::RollOut(location, version) => {
                let tried = engine.try_adapter(*location, version.as_deref()).await.map_err(ApiError::from)?;
                engine.roll_out(*location, version.clone()).await.map_err(ApiError::from)?;
                at("roll out adapter", *location);
                let lines = tried.into_iter().map(|it| match it.resource {
                    None => "It described the health record system.".to_owned(),
                    Some(resource) => {
                        let (records, skipped) = (it.records, it.skipped);
                        format!(
                            "It read {records} {}, and left {skipped} out.",
                            resource_names::name(resource).replace('_', " ")
                        )
                    }
                });
                let lines = lines.chain(["The location runs it now.".to_owned()]).collect();
                Outcome::Shown { code: None, lines }
            }
            Action::Pause(location, which) => {
                engine.pause(*location, *which).await?;
                at("pause", *location);
                Outcome::Done("paused")
            }
            Action::Resume(location, which) => {
                engine.resume(*location, *which).await?;
                at("resume", *location);
                Outcome::Done("resumed")
            }
            Action::RollBack(location) => {
                engine.roll_back(*location).await.map_err(ApiError::from)?;
                at("roll back adapter", *location);
                Outcome::Done("back")
            }
        })
    }
}

pub(super) async fn ask(visit: Visit, name: Path<String>) -> Result<HttpResponse, Failure> {
    let action = Action::read(&name, visit.queried())?;
    visit.needs(action.role())?;
    let (title, consequence, word) = action.told();
    let page = ActionPage {
        frame: visit.frame("", title),
        about: action.about(&visit)?,
        consequence,
        word,
        action: action.name(),
        fields: action.fields(),
        back: action.back(),
    };
    visit.show(ROUTE_ASK, &page).await
}

const ROUTE_ASK: &str = "GET /console/actions/{action}";
const ROUTE: &str = "POST /console/actions/{action}";

pub(super) async fn act(
    visit: Visit,
    name: Path<String>,
    form: Form<Vec<(String, String)>>,
) -> Result<HttpResponse, Failure> {
    if field(&form, "form_word").ok() != Some(visit.session.form_word.as_str()) {
        return Err(Failure::Form);
    }
    let action = Action::read(&name, &form)?;
    visit.needs(action.role())?;
    visit.api.may_change()?;
    let about = action.about(&visit)?;
    // It goes on to its end, its entry in the audit trail included, whether or not the browser still waits.
    let acting = actix_web::rt::spawn(async move {
        let answer = async {
            Ok(match action.run(&visit).await? {
                Outcome::Done(word) => see_other(&format!("{}?{}", action.back(), query(&[("done", word)]))),
                Outcome::Shown { code, lines } => {
                    let frame = visit.frame("", action.told().0);
                    let page = OutcomePage { frame, about, code, lines, back: action.back() };
                    super::page::html(actix_web::http::StatusCode::OK, &page)
                }
            })
        };
        visit.change(ROUTE, answer).await
    });
    acting.await.unwrap_or_else(|_| {
        tracing::error!("an action at the console ended in a panic");
        Err(ApiError::Internal.into())
    })
}
