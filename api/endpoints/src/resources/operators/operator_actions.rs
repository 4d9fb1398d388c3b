//! The table of operators' actions. Each action has a route, a form of the console and a command:
//!
//! - Route: `routes::table` declares its documentation, and its handler calls the same function as the action.
//! - Form: `console::actions` asks for confirmation and runs the action. A page links to the form.
//! - Command: `cli` calls the route.

use std::{future::Future, pin::Pin, str::FromStr};

use actix_web::http::Method;
use engine::workstations::CodeKind;
use location::{WriteId, pause::Directions};

use self::ActionResult::{Done, PairingCode, Replay, RollOut};
use super::{
    adapters::{RollOutView, roll_back_version, roll_out_version},
    sync::{self, CycleAction},
    webhooks::{redeliver_failed_messages, redeliver_message, send_test_message},
};
use crate::{
    prelude::*,
    resources::{
        practice::write_requests::{self, WriteAction, parsed},
        webhook::webhook_deliveries::WebhookReplayView,
        workstation::workstations::{PairingCodeView, create_code, revoke_workstation},
    },
};

pub struct Action {
    /// Name of the console's form.
    pub name: &'static str,
    pub role: Role,
    pub method: Method,
    pub path: &'static str,
    /// Command with its subcommands, such as `queue retry`.
    pub command: &'static str,
    /// Names of the form's fields.
    pub input: &'static [&'static str],
    pub title: &'static str,
    /// The consequences, shown on the confirmation page.
    pub consequence: &'static str,
    pub button: &'static str,
    /// Message of the console after success, with the word that selects it in the URL. `None` for actions with a result
    /// to show.
    pub done: Option<(&'static str, &'static str)>,
    pub run: for<'a> fn(&'a ActionContext<'a>, ActionFields<'a>) -> RunningAction<'a>,
}

type RunningAction<'a> = Pin<Box<dyn Future<Output = Result<ActionResult, ApiError>> + 'a>>;

impl Action {
    /// Returns the name of the command without the commands that contain it.
    pub fn subcommand(&self) -> &'static str {
        self.command.rsplit(' ').next().unwrap_or_default()
    }

    /// Returns the description of the command.
    pub fn help(&self) -> String {
        format!("{}. {}", self.title, self.consequence.trim_end_matches('.'))
    }
}

/// The result of an action, as far as the console shows it.
pub enum ActionResult {
    Done,
    PairingCode(PairingCodeView),
    Replay(WebhookReplayView),
    RollOut(RollOutView),
}

/// Names and values of a query or a form.
#[derive(Clone, Copy)]
pub struct ActionFields<'a>(pub &'a [(String, String)]);

impl<'a> ActionFields<'a> {
    pub fn text(self, name: &str) -> Result<&'a str, ApiError> {
        let found = self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        found.ok_or_else(|| ApiError::bad(format!("{name} is missing")))
    }

    pub fn parse<T: FromStr>(self, name: &str) -> Result<T, ApiError> {
        self.text(name)?.parse().map_err(|_| ApiError::bad(format!("{name} is not one")))
    }

    pub fn location(self) -> Result<LocationId, ApiError> {
        self.parse("location").map(LocationId)
    }

    pub fn resource(self) -> Result<Resource, ApiError> {
        resource_names::named(self.text("resource")?).ok_or_else(|| ApiError::bad("resource is not one"))
    }

    pub fn directions(self) -> Result<Directions, ApiError> {
        match self.text("what")? {
            "reading" => Ok(Directions { reading: true, writing: false }),
            "writing" => Ok(Directions { reading: false, writing: true }),
            "both" => Ok(Directions { reading: true, writing: true }),
            _ => Err(ApiError::bad("what must be reading, writing or both")),
        }
    }

    pub fn write(self) -> Result<(LocationId, WriteId), ApiError> {
        let (location, write) = parsed(self.text("write")?).ok_or_else(|| ApiError::bad("write is not one"))?;
        Ok((LocationId(location), WriteId(write)))
    }

    pub fn endpoint(self) -> Result<EndpointId, ApiError> {
        self.parse("endpoint").map(EndpointId)
    }
}

/// Returns the message for the word of a completed action. The fixed list prevents URLs that inject other messages.
pub fn message(word: &str) -> Option<&'static str> {
    let mut known = ACTIONS.iter().filter_map(|action| action.done);
    known.find(|(known, _)| *known == word).map(|(_, message)| message)
}

/// Declares the actions: `id "form": role, method "path", command "command", [input] {...}`.
macro_rules! actions {
    ($(
        $id:ident $name:literal: $role:ident, $method:ident $path:literal, command $command:literal, $input:tt {
            title: $title:literal, button: $button:literal, done: $done:expr,
            consequence: $consequence:literal,
            run: |$action:ident, $it:ident| $run:expr,
        }
    )*) => {
        $(pub static $id: Action = Action {
            name: $name,
            role: Role::$role,
            method: Method::$method,
            path: $path,
            command: $command,
            input: &$input,
            title: $title,
            consequence: $consequence,
            button: $button,
            done: $done,
            run: |$action, $it| Box::pin(async move { $run }),
        };)*

        pub static ACTIONS: &[&Action] = &[$(&$id),*];
    };
}

actions! {
    SYNC "sync": Operator, POST "/locations/{id}/sync", command "sync", ["location"] {
        title: "Read now", button: "Read now", done: Some(("sync", "Reading begins, and waiting writes are tried.")),
        consequence: "A read cycle starts immediately, and writes in a backoff pause are attempted.",
        run: |action, it| sync::act(action, it.location()?, CycleAction::Start).await.map(|_| Done),
    }
    ACCEPT_DELETIONS "accept-deletions": Operator, POST "/locations/{id}/sync/accept_deletions",
        command "accept-deletions", ["location", "resource"] {
        title: "Accept deletions", button: "Accept", done: Some(("accepted", "The deletions of the next full pass are accepted.")),
        consequence: "The next full pass deletes the records that are missing from the EHR. It was stopped because \
            their number is unusually large.",
        run: |action, it| sync::act(action, it.location()?, CycleAction::AcceptDeletions(it.resource()?)).await.map(|_| Done),
    }
    PAUSE "pause": Operator, POST "/locations/{id}/pause", command "pause", ["location", "what"] {
        title: "Pause", button: "Pause", done: Some(("paused", "It is paused until an operator resumes it.")),
        consequence: "Until an operator resumes it, restarts included. Calls in progress end. While reading is paused, \
            clients see the schedule as it was last read, and changes in the EHR are not seen. While writing \
            is paused, bookings are taken and wait; a write that is not written by its deadline fails.",
        run: |action, it| sync::act(action, it.location()?, CycleAction::Pause(it.directions()?)).await.map(|_| Done),
    }
    RESUME "resume": Operator, POST "/locations/{id}/resume", command "resume", ["location", "what"] {
        title: "Resume", button: "Resume", done: Some(("resumed", "Resumed.")),
        consequence: "Reading or writing resumes immediately where it was paused.",
        run: |action, it| sync::act(action, it.location()?, CycleAction::Resume(it.directions()?)).await.map(|_| Done),
    }
    RETRY "retry": Operator, POST "/write_requests/{id}/retry", command "queue retry", ["write"] {
        title: "Retry the write", button: "Retry", done: Some(("retried", "The write is queued again.")),
        consequence: "The write is queued again, as a new write, and sent to the EHR.",
        run: |action, it| write_requests::act(action, it.write()?, WriteAction::Retry).await.map(|_| Done),
    }
    DROP "drop": Operator, POST "/write_requests/{id}/drop", command "queue drop", ["write"] {
        title: "Drop the write", button: "Drop", done: Some(("dropped", "The write was dropped.")),
        consequence: "The write and the writes that depend on it are dropped permanently. They will not reach the EHR.",
        run: |action, it| write_requests::act(action, it.write()?, WriteAction::Drop).await.map(|_| Done),
    }
    PAIR "pair": Operator, POST "/locations/{id}/pairing_codes", command "workstations code", ["location"] {
        title: "Make a pairing code", button: "Make a code", done: None,
        consequence: "The code pairs one workstation with the location, within ten minutes. It is shown once.",
        run: |action, it| create_code(action, it.location()?, CodeKind::Single).await.map(PairingCode),
    }
    REVOKE "revoke": Operator, DELETE "/locations/{id}/workstations/{workstation}",
        command "workstations revoke", ["location", "workstation"] {
        title: "Revoke the workstation", button: "Revoke", done: Some(("revoked", "The workstation was revoked.")),
        consequence: "The workstation is disconnected immediately and must be paired again.",
        run: |action, it| revoke_workstation(action, it.location()?, it.parse("workstation")?).await.map(|_| Done),
    }
    REDELIVER "redeliver": Operator, POST "/webhooks/{id}/deliveries/{delivery_id}/redeliver",
        command "webhooks redeliver", ["endpoint", "delivery"] {
        title: "Redeliver the message", button: "Redeliver", done: Some(("redelivered", "The message is sent again.")),
        consequence: "The message is sent to the endpoint again, with the same delivery id.",
        run: |action, it| redeliver_message(action, it.endpoint()?, it.parse("delivery")?).await.map(|_| Done),
    }
    REDELIVER_FAILED "redeliver-failed": Operator, POST "/webhooks/{id}/redeliver_failed",
        command "webhooks redeliver-failed", ["endpoint"] {
        title: "Redeliver undelivered messages", button: "Redeliver", done: None,
        consequence: "Every message of the last seven days that was not delivered is sent to the endpoint again, in \
            the order in which they were made.",
        run: |action, it| redeliver_failed_messages(action, it.endpoint()?).await.map(Replay),
    }
    TEST_WEBHOOK "test-webhook": Operator, POST "/webhooks/{id}/test", command "webhooks test", ["endpoint"] {
        title: "Send a test message", button: "Send", done: Some(("tested", "A test message is sent.")),
        consequence: "A message without any record is sent to the endpoint.",
        run: |action, it| send_test_message(action, it.endpoint()?, None).await.map(|_| Done),
    }
    ROLL_OUT "roll-out": Admin, POST "/locations/{id}/adapter", command "adapter rollout", ["location", "version"] {
        title: "Roll the version out", button: "Try and roll out", done: None,
        consequence: "The version is tried at the location first: it describes the EHR and reads a page. If that works, \
            the location runs it from its next call on. If it fails, nothing changes.",
        run: |action, it| roll_out_version(action, it.location()?, it.text("version")?, false).await.map(RollOut),
    }
    ROLL_BACK "roll-back": Admin, POST "/locations/{id}/adapter/rollback", command "adapter rollback", ["location"] {
        title: "Roll back", button: "Roll back", done: Some(("back", "The last roll-out was taken back.")),
        consequence: "The location runs the version from before the last roll-out, from its next call on.",
        run: |action, it| roll_back_version(action, it.location()?).await.map(|_| Done),
    }
}
