//! Each operators' action has a route, a form of the console and a command.

#![allow(clippy::unwrap_used)]

use std::{fs, path::Path};

use actix_web::http::Method;
use clap::CommandFactory;
use endpoints::{
    resources::operators::operator_actions::{ACTIONS, Action, TEST_WEBHOOK},
    routes::table::TABLE,
};

use super::Arguments;

/// Returns the templates of the console's pages.
fn pages() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("console/templates/console");
    fs::read_dir(folder).unwrap().map(|page| fs::read_to_string(page.unwrap().path()).unwrap()).collect()
}

/// Returns `true` if a link on a page leads to the form of the action, with all of its fields.
fn has_form(action: &Action, pages: &str) -> bool {
    let link = format!("\"/console/actions/{}?", action.name);
    let mut queries = pages.split(&link).skip(1).map(|rest| rest.split('"').next().unwrap_or_default());
    queries.any(|query| action.input.iter().all(|field| query.contains(&format!("{field}="))))
}

fn has_command(action: &Action) -> bool {
    // Commands for adapters need the feature.
    if cfg!(not(feature = "demo")) && action.command.starts_with("adapter ") {
        return true;
    }
    let program = Arguments::command();
    let found = action.command.split(' ').try_fold(&program, |command, name| command.find_subcommand(name));
    found.is_some_and(|command| command.get_about().map(ToString::to_string) == Some(action.help()))
}

fn missing(action: &Action, pages: &str) -> Vec<&'static str> {
    let same = |method: &Method, path: &str| *method == action.method && path == action.path;
    let has_route = TABLE.iter().any(|it| same(&it.method, it.path) && it.role == Some(action.role));
    let parts = [("route", has_route), ("form", has_form(action, pages)), ("command", has_command(action))];
    parts.into_iter().filter(|(_, exists)| !exists).map(|(part, _)| part).collect()
}

#[test]
fn every_action_has_a_route_a_form_and_a_command() {
    let pages = pages();
    for action in ACTIONS {
        assert_eq!(missing(action, &pages), [""; 0], "{}", action.name);
    }
}

/// Returns the action `test-webhook` with another name, path, input and command.
fn like(name: &'static str, path: &'static str, input: &'static [&'static str], command: &'static str) -> Action {
    Action { name, method: TEST_WEBHOOK.method.clone(), path, command, input, ..TEST_WEBHOOK }
}

#[test]
fn an_action_without_route_form_or_command_is_found() {
    let (pages, Action { name, path, input, command, .. }) = (pages(), &TEST_WEBHOOK);
    assert_eq!(missing(&like(name, path, input, command), &pages), [""; 0]);
    assert_eq!(missing(&like(name, "/webhooks/{id}", input, command), &pages), ["route"]);
    assert_eq!(missing(&like("no-form", path, input, command), &pages), ["form"]);
    assert_eq!(missing(&like(name, path, &["endpoint", "delivery"], command), &pages), ["form"]);
    assert_eq!(missing(&like(name, path, input, "webhooks wrong"), &pages), ["command"]);
}

#[test]
fn actions_have_unique_names_and_messages() {
    let unique = |mut words: Vec<&str>| {
        let all = words.len();
        words.sort_unstable();
        words.dedup();
        words.len() == all
    };
    assert!(unique(ACTIONS.iter().map(|action| action.name).collect()));
    assert!(unique(ACTIONS.iter().map(|action| action.command).collect()));
    assert!(unique(ACTIONS.iter().filter_map(|action| action.done).map(|(word, _)| word).collect()));
}
