//! The actions of operators. Each action has a confirmation page that describes its consequences. Only the form on that
//! page performs the action, protected by the CSRF token of the session (`csrf_token`).

use actix_web::{
    HttpResponse,
    web::{Form, Path},
};
use askama::Template;
use engine::webhooks::{delivery_log::Replay, model::EndpointId};
use engine::workstations::CodeKind;
use location::{
    ids::{LocationId, WriteId},
    pause::Directions,
    pull::Resource,
    time::{DAY, Millis},
};
use uuid::Uuid;

use super::{
    page::{ConsoleError, PageFrame, query, see_other},
    visit::ConsoleRequest,
    webhooks::endpoint,
    write_page,
};
use crate::{
    http::errors::ApiError,
    resources::{
        adapters::CONFIGURED,
        resource_names,
        webhook_deliveries::record_of,
        write_requests::{parsed, public_id},
    },
    values::{role::Role, secret::random, times},
};

#[derive(Template)]
#[template(path = "console/action.html")]
struct ActionPage {
    frame: PageFrame,
    about: String,
    action: &'static Action,
    /// The parameters of the action, as submitted.
    fields: Vec<(String, String)>,
    back: String,
}

#[derive(Template)]
#[template(path = "console/outcome.html")]
struct OutcomePage {
    frame: PageFrame,
    about: String,
    /// A code to read out or copy, shown once.
    code: Option<String>,
    lines: Vec<String>,
    back: String,
}

/// An action of the console.
struct Action {
    name: &'static str,
    role: Role,
    title: &'static str,
    /// The consequences, shown on the confirmation page.
    consequence: &'static str,
    button: &'static str,
    read: fn(&FormFields) -> Result<ActionCommand, ApiError>,
}

static ACTIONS: [Action; 13] = [
    Action {
        name: "sync",
        role: Role::Operator,
        title: "Read now",
        consequence: "A read cycle starts immediately, and writes in a backoff pause are attempted.",
        button: "Read now",
        read: |it| location(it).map(ActionCommand::Sync),
    },
    Action {
        name: "accept-deletions",
        role: Role::Operator,
        title: "Accept deletions",
        consequence: "The next full pass deletes the records that are missing from the health record system. It was stopped because their number is unusually large.",
        button: "Accept",
        read: |it| {
            let resource = resource_names::named(field(it, "resource")?).ok_or(ApiError::bad("resource is not one"))?;
            Ok(ActionCommand::AcceptDeletions(location(it)?, resource))
        },
    },
    Action {
        name: "retry",
        role: Role::Operator,
        title: "Retry the write",
        consequence: "The write is queued again, as a new write, and sent to the health record system.",
        button: "Retry",
        read: |it| write(it).map(|(location, write)| ActionCommand::Retry(location, write)),
    },
    Action {
        name: "drop",
        role: Role::Operator,
        title: "Drop the write",
        consequence: "The write and the writes that depend on it are dropped permanently. They will not reach the health record system.",
        button: "Drop",
        read: |it| write(it).map(|(location, write)| ActionCommand::Drop(location, write)),
    },
    Action {
        name: "pair",
        role: Role::Operator,
        title: "Make a pairing code",
        consequence: "The code pairs one workstation with the location, within ten minutes. It is shown once.",
        button: "Make a code",
        read: |it| location(it).map(ActionCommand::Pair),
    },
    Action {
        name: "revoke",
        role: Role::Operator,
        title: "Revoke the workstation",
        consequence: "The workstation is disconnected immediately and must be paired again.",
        button: "Revoke",
        read: |it| Ok(ActionCommand::Revoke(location(it)?, parse(it, "workstation")?)),
    },
    Action {
        name: "redeliver",
        role: Role::Operator,
        title: "Redeliver the message",
        consequence: "The message is sent to the endpoint again, with the same delivery id.",
        button: "Redeliver",
        read: |it| Ok(ActionCommand::Redeliver(EndpointId(parse(it, "endpoint")?), parse(it, "delivery")?)),
    },
    Action {
        name: "redeliver-failed",
        role: Role::Operator,
        title: "Redeliver undelivered messages",
        consequence: "Every message of the last seven days that was not delivered is sent to the endpoint again, in the order in which they were made.",
        button: "Redeliver",
        read: |it| Ok(ActionCommand::RedeliverFailed(EndpointId(parse(it, "endpoint")?))),
    },
    Action {
        name: "test-webhook",
        role: Role::Operator,
        title: "Send a test message",
        consequence: "A message without any record is sent to the endpoint.",
        button: "Send",
        read: |it| Ok(ActionCommand::TestWebhook(EndpointId(parse(it, "endpoint")?))),
    },
    Action {
        name: "roll-out",
        role: Role::Admin,
        title: "Roll the version out",
        consequence: "The version is tried at the location first: it describes the health record system and reads a page. If that works, the \
                      location runs it from its next call on. If it fails, nothing changes.",
        button: "Try and roll out",
        read: |it| {
            let version = field(it, "version")?.to_owned();
            Ok(ActionCommand::RollOut(location(it)?, (version != CONFIGURED).then_some(version)))
        },
    },
    Action {
        name: "roll-back",
        role: Role::Admin,
        title: "Roll back",
        consequence: "The location runs the version from before the last roll-out, from its next call on.",
        button: "Roll back",
        read: |it| location(it).map(ActionCommand::RollBack),
    },
    Action {
        name: "pause",
        role: Role::Operator,
        title: "Pause",
        consequence: "Until an operator resumes it, restarts included. Calls in progress end. While reading is paused, clients see the schedule \
                      as it was last read, and changes in the EHR are not seen. While writing is paused, bookings are taken and wait; a write \
                      that is not written by its deadline fails.",
        button: "Pause",
        read: |it| Ok(ActionCommand::Pause(location(it)?, directions(it)?)),
    },
    Action {
        name: "resume",
        role: Role::Operator,
        title: "Resume",
        consequence: "Reading or writing resumes immediately where it was paused.",
        button: "Resume",
        read: |it| Ok(ActionCommand::Resume(location(it)?, directions(it)?)),
    },
];

/// A parsed action with its parameters.
enum ActionCommand {
    Sync(LocationId),
    AcceptDeletions(LocationId, Resource),
    Retry(LocationId, WriteId),
    Drop(LocationId, WriteId),
    Pair(LocationId),
    Revoke(LocationId, Uuid),
    Redeliver(EndpointId, Uuid),
    RedeliverFailed(EndpointId),
    TestWebhook(EndpointId),
    /// `None` for the version of the configuration.
    RollOut(LocationId, Option<String>),
    RollBack(LocationId),
    Pause(LocationId, Directions),
    Resume(LocationId, Directions),
}

/// The result of an action.
enum ActionOutcome {
    /// A redirect to the previous page, which shows a message for this word.
    Done(&'static str),
    Shown {
        code: Option<String>,
        lines: Vec<String>,
    },
}

/// Age up to which failed messages are sent again.
const REDELIVERED: Millis = 7 * DAY;

/// Names and values of a query or a form.
type FormFields = [(String, String)];

fn field<'f>(fields: &'f FormFields, name: &str) -> Result<&'f str, ApiError> {
    let found = fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    found.ok_or_else(|| ApiError::bad(format!("{name} is missing")))
}

fn parse<T: std::str::FromStr>(fields: &FormFields, name: &str) -> Result<T, ApiError> {
    field(fields, name)?.parse().map_err(|_| ApiError::bad(format!("{name} is not one")))
}

fn location(fields: &FormFields) -> Result<LocationId, ApiError> {
    parse(fields, "location").map(LocationId)
}

fn write(fields: &FormFields) -> Result<(LocationId, WriteId), ApiError> {
    let (location, write) = parsed(field(fields, "write")?).ok_or(ApiError::bad("write is not one"))?;
    Ok((LocationId(location), WriteId(write)))
}

const DIRECTIONS: [(&str, Directions); 3] = [
    ("reading", Directions { reading: true, writing: false }),
    ("writing", Directions { reading: false, writing: true }),
    ("both", Directions { reading: true, writing: true }),
];

fn directions(fields: &FormFields) -> Result<Directions, ApiError> {
    let name = field(fields, "what")?;
    let known = DIRECTIONS.iter().find(|(known, _)| *known == name).map(|(_, which)| *which);
    known.ok_or_else(|| ApiError::bad("what must be reading, writing or both"))
}

fn what(which: Directions) -> &'static str {
    DIRECTIONS.iter().find(|(_, known)| *known == which).map_or("both", |(name, _)| name)
}

fn read(name: &str, fields: &FormFields) -> Result<(&'static Action, ActionCommand), ApiError> {
    let action = ACTIONS.iter().find(|action| action.name == name);
    let action = action.ok_or_else(|| ApiError::not_found("Action"))?;
    Ok((action, (action.read)(fields)?))
}

impl ActionCommand {
    fn location(&self) -> Option<LocationId> {
        match self {
            ActionCommand::Sync(location)
            | ActionCommand::AcceptDeletions(location, _)
            | ActionCommand::Retry(location, _)
            | ActionCommand::Drop(location, _)
            | ActionCommand::Pair(location)
            | ActionCommand::Revoke(location, _)
            | ActionCommand::RollOut(location, _)
            | ActionCommand::RollBack(location)
            | ActionCommand::Pause(location, _)
            | ActionCommand::Resume(location, _) => Some(*location),
            ActionCommand::Redeliver(..) | ActionCommand::RedeliverFailed(_) | ActionCommand::TestWebhook(_) => None,
        }
    }

    fn back(&self) -> String {
        match self {
            ActionCommand::Redeliver(endpoint, _)
            | ActionCommand::RedeliverFailed(endpoint)
            | ActionCommand::TestWebhook(endpoint) => {
                format!("/console/webhooks/{endpoint}")
            }
            ActionCommand::Retry(location, write) | ActionCommand::Drop(location, write) => {
                format!("/console/writes/{}", public_id(location.0, write.0))
            }
            _ => self.location().map_or_else(String::new, |location| format!("/console/locations/{location}")),
        }
    }

    /// Describes the target of the action in one line.
    async fn about(&self, visit: &ConsoleRequest) -> Result<String, ConsoleError> {
        let place = match self.location() {
            Some(id) => {
                let (location, institution) = visit.location_here(id)?;
                visit.about(&location);
                format!("{}, {}", location.name, institution.name)
            }
            None => String::new(),
        };
        Ok(match self {
            ActionCommand::Sync(_) | ActionCommand::Pair(_) | ActionCommand::RollBack(_) => place,
            ActionCommand::Pause(_, which) | ActionCommand::Resume(_, which) => match what(*which) {
                "both" => format!("Reading and writing at {place}"),
                one => format!("Only {one} at {place}"),
            },
            ActionCommand::AcceptDeletions(_, resource) => {
                format!("{} at {place}", resource_names::name(*resource).replace('_', " "))
            }
            ActionCommand::Retry(location, write) | ActionCommand::Drop(location, write) => {
                let found = visit.api.engine.write_request(*location, write.0).await?;
                let found = found.ok_or_else(|| write_page::not_found(*location, write.0))?;
                format!("{} at {place}", write_page::described(visit, &found))
            }
            ActionCommand::Revoke(location, workstation) => {
                let all = visit.api.engine.gateway().workstations(*location).map_err(ApiError::from)?;
                let found = all.into_iter().find(|it| it.id == *workstation);
                let found = found.ok_or_else(|| ApiError::not_found(format!("Workstation with id {workstation}")))?;
                format!("{} at {place}", found.name)
            }
            ActionCommand::Redeliver(id, delivery) => {
                format!("Message {delivery} to the endpoint {}", endpoint(&visit.api, *id)?.id)
            }
            ActionCommand::RedeliverFailed(id) | ActionCommand::TestWebhook(id) => {
                format!("To the endpoint {} of {}", id, endpoint(&visit.api, *id)?.owner.0)
            }
            ActionCommand::RollOut(_, None) => format!("The version of the configuration at {place}"),
            ActionCommand::RollOut(_, Some(version)) => format!("Version {} at {place}", super::words::short(version)),
        })
    }

    /// Performs the action like the operators' endpoint of the same name.
    async fn run(&self, visit: &ConsoleRequest) -> Result<ActionOutcome, ConsoleError> {
        let engine = &visit.api.engine;
        let at = |what, location: LocationId| visit.note(what, "location", location.0.into());
        let write_at = |what, location: LocationId, write: WriteId| {
            engine.setup().locations.get(&location).iter().for_each(|location| visit.about(location));
            visit.note(what, "write request", write.0);
        };
        Ok(match self {
            ActionCommand::Sync(location) => {
                engine.sync_now(*location).await?;
                at("start read cycle", *location);
                ActionOutcome::Done("sync")
            }
            ActionCommand::AcceptDeletions(location, resource) => {
                engine.accept_deletions(*location, *resource).await?;
                at("accept deletions", *location);
                ActionOutcome::Done("accepted")
            }
            ActionCommand::Retry(location, write) => {
                engine.retry_write(*location, *write).await?;
                write_at("retry", *location, *write);
                ActionOutcome::Done("retried")
            }
            ActionCommand::Drop(location, write) => {
                engine.drop_write(*location, *write).await?;
                write_at("drop", *location, *write);
                ActionOutcome::Done("dropped")
            }
            ActionCommand::Pair(location) => {
                let made = engine.gateway().new_code(*location, CodeKind::Single).await.map_err(ApiError::from)?;
                at("make pairing code", *location);
                let until = format!("Valid once, until {}.", times::utc(made.expires));
                ActionOutcome::Shown { code: Some(made.code), lines: vec![until] }
            }
            ActionCommand::Revoke(location, workstation) => {
                let revoked = engine.gateway().revoke(*location, *workstation).await.map_err(ApiError::from)?;
                if !revoked {
                    return Err(ApiError::not_found(format!("Workstation with id {workstation}")).into());
                }
                at("revoke workstation", *location);
                ActionOutcome::Done("revoked")
            }
            ActionCommand::Redeliver(id, delivery) => {
                let owner = endpoint(&visit.api, *id)?.owner.clone();
                let sent = engine.webhook_log().redeliver(&owner, *id, *delivery, engine.now()).await;
                visit.note("send", "webhook message", record_of(&sent.map_err(ApiError::from)?));
                ActionOutcome::Done("redelivered")
            }
            ActionCommand::RedeliverFailed(id) => {
                let owner = endpoint(&visit.api, *id)?.owner.clone();
                let now = engine.now();
                let asked = Replay { since: now.minus(REDELIVERED), until: now, undelivered: true };
                let replayed = engine.webhook_log().replay(&owner, *id, asked, |_| true, now).await;
                let replayed = replayed.map_err(ApiError::from)?;
                visit.note_action("send", "webhook message");
                let mut lines = vec![format!("Messages that are sent again: {}", replayed.deliveries)];
                if replayed.next.is_some() {
                    lines.push("The queue is full; repeat the action after these messages were sent.".to_owned());
                }
                ActionOutcome::Shown { code: None, lines }
            }
            ActionCommand::TestWebhook(id) => {
                let owner = endpoint(&visit.api, *id)?.owner.clone();
                let random = uuid::Builder::from_random_bytes(random()).into_uuid();
                let made = engine.webhook_log().test(&owner, *id, random, None, engine.now()).await;
                made.map_err(ApiError::from)?;
                visit.note_action("send", "webhook message");
                ActionOutcome::Done("tested")
            }
            ActionCommand::RollOut(location, version) => {
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
                ActionOutcome::Shown { code: None, lines }
            }
            ActionCommand::Pause(location, which) => {
                engine.pause(*location, *which).await?;
                at("pause", *location);
                ActionOutcome::Done("paused")
            }
            ActionCommand::Resume(location, which) => {
                engine.resume(*location, *which).await?;
                at("resume", *location);
                ActionOutcome::Done("resumed")
            }
            ActionCommand::RollBack(location) => {
                engine.roll_back(*location).await.map_err(ApiError::from)?;
                at("roll back adapter", *location);
                ActionOutcome::Done("back")
            }
        })
    }
}

pub(super) async fn ask(visit: ConsoleRequest, name: Path<String>) -> Result<HttpResponse, ConsoleError> {
    let (action, deed) = read(&name, visit.queried())?;
    visit.needs(action.role)?;
    let page = ActionPage {
        frame: visit.frame("", action.title),
        about: deed.about(&visit).await?,
        action,
        fields: visit.queried().to_vec(),
        back: deed.back(),
    };
    visit.show("GET /console/actions/{action}", &page).await
}

pub(super) async fn act(
    visit: ConsoleRequest,
    name: Path<String>,
    form: Form<Vec<(String, String)>>,
) -> Result<HttpResponse, ConsoleError> {
    if field(&form, "csrf_token").ok() != Some(visit.session.csrf_token.as_str()) {
        return Err(ConsoleError::Form);
    }
    let (action, deed) = read(&name, &form)?;
    visit.needs(action.role)?;
    visit.api.may_change()?;
    let about = deed.about(&visit).await?;
    // A separate task, so that the action and its audit entry complete even if the browser disconnects.
    let acting = actix_web::rt::spawn(async move {
        let answer = async {
            Ok(match deed.run(&visit).await? {
                ActionOutcome::Done(word) => see_other(&format!("{}?{}", deed.back(), query(&[("done", word)]))),
                ActionOutcome::Shown { code, lines } => {
                    let page =
                        OutcomePage { frame: visit.frame("", action.title), about, code, lines, back: deed.back() };
                    super::page::html(actix_web::http::StatusCode::OK, &page)
                }
            })
        };
        visit.change("POST /console/actions/{action}", answer).await
    });
    acting.await.unwrap_or_else(|_| {
        tracing::error!("console action panicked");
        Err(ApiError::internal().into())
    })
}
