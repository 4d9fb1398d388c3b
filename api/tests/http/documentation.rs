use std::{
    fs,
    path::{Path, PathBuf},
};

use sandbox_ehr::{Control, triggers::NAMES};
use serde_json::Value;

use crate::{
    console::{ConsoleBrowser, console_world},
    support::*,
};

const MARKDOWN: &str = "text/markdown; charset=utf-8";

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")
}

/// Returns the names of the texts in a folder, without `.md`, and the texts.
fn texts_in(folder: &Path) -> Vec<(String, String)> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let texts = files.filter(|file| file.extension().is_some_and(|extension| extension == "md"));
    let name = |file: &Path| file.file_stem().unwrap().to_str().unwrap().to_owned();
    texts.map(|file| (name(&file), fs::read_to_string(&file).unwrap())).collect()
}

/// Returns the texts for clients. The overview of the texts for operators is none of them.
fn texts() -> Vec<(String, String)> {
    texts_in(&docs()).into_iter().filter(|(name, _)| name != "operations").collect()
}

/// Returns the targets of the links outside of code blocks, except those of other hosts.
fn links(text: &str) -> Vec<&str> {
    let mut is_code = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    let targets = lines.flat_map(|line| line.split("](").skip(1).filter_map(|rest| rest.split(')').next()));
    targets.filter(|target| !target.starts_with("https://")).collect()
}

fn without_targets(text: &str) -> String {
    let mut parts = text.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + "](" + part.split_once(')').map_or(part, |(_, rest)| rest))
}

/// Returns whether a text has the heading of an anchor.
fn has_heading(text: &str, anchor: &str) -> bool {
    let mut titles = text.lines().filter_map(|line| line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' '));
    let kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
    let name = |title: &str| title.chars().filter(kept).collect::<String>().replace(' ', "-").to_ascii_lowercase();
    titles.any(|title| name(title) == anchor)
}

fn alternate(path: &str) -> String {
    format!("<{path}.md>; rel=\"alternate\"; type=\"text/markdown\"")
}

#[actix_web::test]
async fn the_document_is_public() {
    let world = world().await;
    let anyone = |path: &str| world.get(path).without("Authorization").without("Svc-Api-Version").without("User-Agent");
    let v3 = anyone("/openapi.json").ok().await;
    assert_eq!(v3["openapi"], "3.1.0");
    assert!(v3["paths"]["/available_slots"].is_object() && v3["paths"]["/appointment_slots"].is_null());
    let v2 = anyone("/openapi.json?version=v2.2.2").ok().await;
    assert!(v2["paths"]["/available_slots"].is_null() && v2["paths"]["/appointment_slots"].is_object());
    let parameters = v2["paths"]["/providers"]["get"]["parameters"].as_array().unwrap();
    let shared = |it: &Value| it["$ref"].as_str().map(|path| v2.pointer(path.trim_start_matches('#')).unwrap().clone());
    let named = |name: &str| parameters.iter().any(|it| shared(it).as_ref().unwrap_or(it)["name"] == name);
    assert!(named("page") && named("per_page") && !named("end_cursor"));
    anyone("/openapi.json?version=v9").fails(400).await;
    let path_of = |audience: &str| format!("/openapi.json?for={audience}");
    for (audience, own, other) in [
        ("clients", "/patients", "/adapters"),
        ("operators", "/adapters", "/patients"),
        ("workstations", "/workstations/pair", "/adapters"),
    ] {
        let document = anyone(&path_of(audience)).ok().await;
        assert!(document["paths"][own].is_object() && document["paths"][other].is_null(), "{audience}");
    }
    let wrong = anyone("/openapi.json?for=everyone").fails(400).await;
    assert!(wrong[0].contains("for") && wrong[0].contains("operators"), "{wrong:?}");
}

#[actix_web::test]
async fn the_page_loads_no_foreign_content() {
    let world = world().await;
    let others = [("/docs", "text/html"), ("/docs/style.css", "text/css"), ("/docs/script.js", "text/javascript")];
    let others = others.map(|(path, kind)| (path.to_owned(), kind));
    for (path, kind) in texts().into_iter().map(|(name, _)| (format!("/docs/{name}"), "text/html")).chain(others) {
        let reply = world.get(&path).without("Authorization").reply().await;
        assert_eq!(reply.status, 200);
        assert!(reply.header("Content-Type").unwrap().starts_with(kind));
        let policy = reply.header("Content-Security-Policy").unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        for elsewhere in ["=\"http", "=\"//", "url(", "@import", "innerHTML", "style=\"", " onclick", "fetch(\"http"] {
            assert!(!reply.text.contains(elsewhere), "{path} has {elsewhere}");
        }
    }
}

#[actix_web::test]
async fn the_sandbox_page_lists_every_trigger_and_valid_commands() {
    let world = world().await;
    let page = world.get("/docs/sandbox").without("Authorization").reply().await.text;
    for (name, _) in NAMES {
        assert!(page.contains(&format!("<td><code>{name}</code></td>")), "{name} is missing");
    }
    let named = page.matches("<td><code>Sandbox-").count();
    assert_eq!(named, NAMES.len(), "a name that means nothing");
    let bodies = page.split("<code>").skip(1).filter_map(|code| code.split("</code>").next());
    let bodies: Vec<&str> = bodies.filter(|code| code.starts_with('{')).collect();
    assert!(bodies.len() > 10, "{bodies:?}");
    for body in bodies {
        serde_json::from_str::<Control>(body).unwrap_or_else(|wrong| panic!("{body}: {wrong}"));
    }
}

#[actix_web::test]
async fn every_text_is_served_as_a_page_and_as_markdown() {
    let world = world().await;
    let anyone = |path: &str| world.get(path).without("Authorization").without("Svc-Api-Version").without("User-Agent");
    for (name, text) in texts() {
        let path = format!("/docs/{name}");
        let page = anyone(&path).reply().await;
        assert_eq!((page.status.as_u16(), page.header("Link")), (200, Some(&*alternate(&path))), "{path}");
        let path = format!("{path}.md");
        let markdown = anyone(&path).reply().await;
        assert_eq!((markdown.status.as_u16(), markdown.header("Content-Type")), (200, Some(MARKDOWN)), "{path}");
        let again = anyone(&path).with("If-None-Match", markdown.header("ETag").unwrap()).reply().await;
        assert_eq!(again.status, 304, "{path}");
        let (served, text) = (without_targets(&markdown.text), without_targets(&text));
        if name == "webhooks" {
            let code = served.strip_prefix(&text).expect("the text comes before the code");
            assert_eq!(code.matches("\n### ").count(), 5, "{code}");
        } else {
            assert_eq!(served, text, "{path}");
        }
    }
    let reference = anyone("/docs").reply().await;
    assert_eq!(reference.header("Link"), Some(&*alternate("/docs")));
    assert_eq!(anyone("/docs.md").reply().await.header("Content-Type"), Some(MARKDOWN));
    for path in ["/docs/nothing", "/docs/nothing.md", "/docs/operations.md", "/docs/.md"] {
        assert_eq!(anyone(path).answers(404).await["reason"], "unknown_path", "{path}");
    }
}

#[actix_web::test]
async fn the_index_lists_every_text_once() {
    let world = world().await;
    let index = world.get("/llms.txt").without("Authorization").without("User-Agent").reply().await;
    assert_eq!(index.header("Content-Type"), Some("text/plain; charset=utf-8"));
    assert!(index.text.starts_with("# practice-sync\n\n> ") && !index.text.contains("<!--"), "{}", index.text);
    let reference = world.get("/docs").without("Authorization").reply().await.text;
    for (name, _) in texts() {
        let entries = index.text.lines().filter(|line| line.contains(&format!("](/docs/{name}.md): "))).count();
        assert_eq!(entries, 1, "{name}");
        assert_eq!(reference.matches(&format!("href=\"/docs/{name}\"")).count(), 1, "{name}");
    }
    assert_eq!(index.text.matches("](/docs/").count(), texts().len(), "{}", index.text);
}

#[actix_web::test]
async fn links_in_markdown_lead_to_served_pages_and_headings() {
    let world = world().await;
    let anyone = |path: &str| world.get(path).without("Authorization").without("Svc-Api-Version").without("User-Agent");
    let pages = texts().into_iter().map(|(name, _)| format!("/docs/{name}.md"));
    for page in pages.chain(["/llms.txt".to_owned(), "/docs.md".to_owned()]) {
        let text = anyone(&page).reply().await.text;
        for link in links(&text) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let path = if path.is_empty() { page.as_str() } else { path };
            let target = anyone(path).reply().await;
            // Only POST exists there.
            let status = if path == "/mcp" { 405 } else { 200 };
            assert_eq!(target.status.as_u16(), status, "{page}: {link}");
            assert!(anchor.is_empty() || has_heading(&target.text, anchor), "{page}: {link}");
        }
    }
}

#[actix_web::test]
async fn texts_for_operators_are_served_as_markdown_with_working_links() {
    let (world, _folder) = console_world().await;
    let viewer = ConsoleBrowser::signed_in(&world, VIEWER).await;
    for (name, _) in texts_in(&docs().join("operations")) {
        let path = format!("/console/docs/{name}");
        assert_eq!(viewer.get(&path).await.header("Link"), alternate(&path));
        let path = format!("{path}.md");
        let markdown = viewer.get(&path).await;
        assert_eq!((markdown.status.as_u16(), markdown.header("Content-Type")), (200, MARKDOWN), "{path}");
        for link in links(&markdown.text) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = viewer.page(if file.is_empty() { path.as_str() } else { file }).await;
            assert!(anchor.is_empty() || has_heading(&target, anchor), "{path}: {link}");
        }
    }
}
