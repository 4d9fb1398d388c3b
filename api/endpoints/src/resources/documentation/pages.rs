//! The texts of `api/docs` as pages for clients and, in the console, for operators. Each is served as HTML and as
//! Markdown. The navigation of the pages and the index `/llms.txt` follow from the same lists.

use std::{
    fmt::Write,
    sync::{LazyLock, OnceLock},
};

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// A text and its address.
pub(super) struct DocumentationPage {
    /// `CLIENTS` or `OPERATORS`.
    base: &'static str,
    /// Path below `base`, and file in `api/docs` without `.md`.
    pub(super) name: &'static str,
    title: &'static str,
    /// Description in `/llms.txt`. Empty for texts for operators, which the index does not list.
    about: &'static str,
    text: &'static str,
    html: OnceLock<String>,
    markdown: OnceLock<String>,
}

impl DocumentationPage {
    const fn new(
        base: &'static str,
        name: &'static str,
        title: &'static str,
        about: &'static str,
        text: &'static str,
    ) -> DocumentationPage {
        DocumentationPage { base, name, title, about, text, html: OnceLock::new(), markdown: OnceLock::new() }
    }

    pub(super) fn path(&self) -> String {
        format!("{}{}", self.base, self.name)
    }

    pub(super) fn html(&'static self) -> &'static str {
        self.html.get_or_init(|| layout(self))
    }

    /// Returns the text with links that work at its path plus `.md`.
    pub(super) fn markdown(&'static self) -> &'static str {
        self.markdown.get_or_init(|| with_markdown_links(self))
    }

    /// Returns the target of a link in the text, where paths of pages end in `suffix`. Returns `None` for files that
    /// are not pages.
    fn target(&self, link: &str, suffix: &str) -> Option<String> {
        let (file, anchor) = link.split_at(link.find('#').unwrap_or(link.len()));
        let of_operators = self.base == OPERATORS;
        let of_clients = file.strip_prefix("../").unwrap_or(file);
        let clients = || CLIENT_PAGES.iter().find(|it| of_clients.strip_suffix(".md") == Some(it.name));
        let operators = || OPERATOR_PAGES.iter().find(|it| of_operators && file.strip_suffix(".md") == Some(it.name));
        match operators().or_else(clients) {
            Some(page) => Some(format!("{}{suffix}{anchor}", page.path())),
            None if !file.is_empty() && !file.contains("://") => None,
            None => Some(link.to_owned()),
        }
    }
}

/// Declares a text by its file and its title, and for clients by its description.
macro_rules! page {
    (clients: $name:literal, $title:literal, $about:literal) => {
        DocumentationPage::new(CLIENTS, $name, $title, $about, include_str!(concat!("../../../../docs/", $name, ".md")))
    };
    (operators: $name:literal, $title:literal) => {
        DocumentationPage::new(
            OPERATORS,
            $name,
            $title,
            "",
            include_str!(concat!("../../../../docs/operations/", $name, ".md")),
        )
    };
}

/// Base path of the texts for clients.
const CLIENTS: &str = "/docs/";
/// Base path of the texts for operators in the console.
const OPERATORS: &str = "/console/docs/";

/// The text about webhooks. Its last section has the files of `snippets`, which tests run.
const WEBHOOKS: &str = concat!(
    include_str!("../../../../docs/webhooks.md"),
    "\n### Node.js\n\n```js\n",
    include_str!("snippets/verify.mjs"),
    "```\n\n### Python\n\n```python\n",
    include_str!("snippets/verify.py"),
    "```\n\n### Ruby\n\n```ruby\n",
    include_str!("snippets/verify.rb"),
    "```\n\n### Go\n\n```go\n",
    include_str!("snippets/verify.go"),
    "```\n\n### Rust\n\n```rust\n",
    include_str!("snippets/verify.rs"),
    "```\n",
);

pub(super) static CLIENT_PAGES: [DocumentationPage; 7] = [
    page!(clients: "guide", "Guide", "from an API key to bookings, reads, webhooks and error handling"),
    page!(clients: "agents", "Voice and chat agents", "the tools of the MCP server, a prompt, and set-up of platforms"),
    page!(
        clients: "coming-from-another-api",
        "Coming from a v2 or v3 API",
        "the differences that an existing client of such an API meets"
    ),
    page!(clients: "specification", "Rules", "the specification: every rule and every endpoint"),
    page!(clients: "glossary", "Glossary", "the terms of the documents"),
    DocumentationPage::new(
        CLIENTS,
        "webhooks",
        "Receiving webhooks",
        "form, order, retries and verification of messages, with code in five languages",
        WEBHOOKS,
    ),
    page!(clients: "sandbox", "Rehearsing trouble", "patient names and switches that make a sandbox fail"),
];

pub(super) static OPERATOR_PAGES: [DocumentationPage; 16] = [
    page!(operators: "runbooks", "Runbooks"),
    page!(operators: "commands", "Commands and calls"),
    page!(operators: "console", "Console"),
    page!(operators: "observe", "Observe"),
    page!(operators: "install", "Install"),
    page!(operators: "configure", "Configure"),
    page!(operators: "configuration", "Every key"),
    page!(operators: "store", "The store"),
    page!(operators: "backup", "Back up and restore"),
    page!(operators: "audit", "The audit trail"),
    page!(operators: "nodes", "Several nodes"),
    page!(operators: "freshness", "Fresh schedules"),
    page!(operators: "adapters", "Adapters"),
    page!(operators: "workstations", "Workstations"),
    page!(operators: "security", "Security"),
    page!(operators: "upgrade", "Upgrade"),
];

/// The interactive page, which is not a text.
const REFERENCE: (&str, &str) = ("/docs", "Reference");

/// The index of the texts for clients and of the machine-readable descriptions, in the form of llmstxt.org.
pub(super) static INDEX: LazyLock<String> = LazyLock::new(|| {
    let line = |page: &DocumentationPage| format!("- [{}]({}.md): {}\n", page.title, page.path(), page.about);
    include_str!("llms.md").replace("<!-- pages -->\n", &CLIENT_PAGES.iter().map(line).collect::<String>())
});

/// The interactive page, with links to the texts for clients.
pub(super) static REFERENCE_PAGE: LazyLock<String> = LazyLock::new(|| {
    let line = |page: &DocumentationPage| format!("      <li><a href=\"{}\">{}</a></li>\n", page.path(), page.title);
    include_str!("page.html").replace("<!-- pages -->\n", &CLIENT_PAGES.iter().map(line).collect::<String>())
});

fn layout(page: &DocumentationPage) -> String {
    let (mut links, mut contents, mut body) = (String::new(), String::new(), String::new());
    let texts: Vec<(String, &str)> = match page.base == OPERATORS {
        true => OPERATOR_PAGES.iter().map(|it| (it.path(), it.title)).collect(),
        false => {
            let (path, title) = REFERENCE;
            CLIENT_PAGES.iter().map(|it| (it.path(), it.title)).chain([(path.to_owned(), title)]).collect()
        }
    };
    for (path, title) in texts {
        let here = if title == page.title { " aria-current=\"page\"" } else { "" };
        let _ = write!(links, "<a href=\"{path}\"{here}>{title}</a>");
    }
    let mut links_of = Links { page, is_dead: false };
    let mut events: Vec<Event> = parse(page.text).filter_map(|event| links_of.linked(event)).collect();
    for (name, title, level) in headings(&mut events) {
        if level == HeadingLevel::H2 {
            let _ = write!(contents, "<li><a href=\"#{name}\">{}</a></li>", escaped(&title));
        }
    }
    html::push_html(&mut body, events.into_iter());
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n  <meta charset=\"utf-8\">\n  <meta name=\"viewport\" content=\"width=device-width, \
         initial-scale=1\">\n  <title>{title}: practice-sync</title>\n  <link rel=\"icon\" href=\"data:,\">\n  <link rel=\"stylesheet\" \
         href=\"/docs/style.css\">\n</head>\n<body class=\"page\">\n<header><strong>practice-sync</strong> <nav aria-label=\"Documents\">\
         {links}</nav></header>\n<aside><nav aria-label=\"On this page\"><ul>{contents}</ul></nav></aside>\n<main>\n{body}</main>\n</body>\n</html>\n",
        title = page.title
    )
}

fn parse(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES)
}

/// Rewrites links between files into links between the Markdown forms of pages. All other bytes are unchanged.
fn with_markdown_links(page: &DocumentationPage) -> String {
    let mut text = page.text.to_owned();
    let mut links = Vec::new();
    for (event, range) in parse(page.text).into_offset_iter() {
        if let Event::Start(Tag::Link { dest_url, .. }) = event {
            links.push((dest_url, range));
        }
    }
    // From the last link to the first, so that a change leaves the earlier ranges valid.
    for (link, range) in links.into_iter().rev() {
        let (source, written) = (&page.text[range.clone()], format!("]({link})"));
        let Some((title, "")) = source.rsplit_once(written.as_str()) else { continue };
        let rewritten = match page.target(&link, ".md") {
            Some(target) => format!("{title}]({target})"),
            None => title.trim_start_matches('[').to_owned(),
        };
        text.replace_range(range, &rewritten);
    }
    text
}

/// Rewrites links between files into links between pages, and shows HTML in a text as text.
struct Links<'p> {
    page: &'p DocumentationPage,
    /// The current link has no target; only its text is shown.
    is_dead: bool,
}

impl Links<'_> {
    fn linked<'e>(&mut self, event: Event<'e>) -> Option<Event<'e>> {
        match event {
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let Some(dest_url) = self.page.target(&dest_url, "") else {
                    self.is_dead = true;
                    return None;
                };
                Some(Event::Start(Tag::Link { link_type, dest_url: dest_url.into(), title, id }))
            }
            Event::End(TagEnd::Link) if std::mem::take(&mut self.is_dead) => None,
            Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
            event => Some(event),
        }
    }
}

/// Sets the id of each heading as the links expect it. Returns the headings.
fn headings(events: &mut [Event]) -> Vec<(String, String, HeadingLevel)> {
    let mut found = Vec::new();
    for at in 0..events.len() {
        let Event::Start(Tag::Heading { level, .. }) = events[at] else { continue };
        let inside = events[at + 1..].iter().take_while(|it| !matches!(it, Event::End(_)));
        let title: String = inside
            .filter_map(|it| match it {
                Event::Text(text) | Event::Code(text) => Some(&**text),
                _ => None,
            })
            .collect();
        let kept = title.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        let name: String = kept.map(|letter| if letter == ' ' { '-' } else { letter.to_ascii_lowercase() }).collect();
        if let Event::Start(Tag::Heading { id, .. }) = &mut events[at] {
            *id = Some(CowStr::from(name.clone()));
        }
        found.push((name, title, level));
    }
    found
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use engine::records::sync_state::Cause;

    use super::*;
    use crate::resources::practice::problems::runbook;

    /// Checks paths and anchors.
    #[test]
    fn every_link_leads_to_an_existing_page_and_heading() {
        for page in CLIENT_PAGES.iter().chain(&OPERATOR_PAGES) {
            let links = page.html().split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
            for link in links.filter(|link| !["data:,", "/docs/style.css"].contains(link)) {
                let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
                let of = CLIENT_PAGES.iter().chain(&OPERATOR_PAGES).find(|it| path == it.path());
                let target = if path.is_empty() { Some(page) } else { of };
                let there =
                    target.is_some_and(|it| anchor.is_empty() || it.html().contains(&format!("id=\"{anchor}\"")));
                assert!(there || path == REFERENCE.0 || path.starts_with("https://"), "{}: {link}", page.name);
            }
        }
    }

    #[test]
    fn every_problem_leads_to_a_heading_of_a_runbook() {
        let causes = [
            Cause::Damaged,
            Cause::Adapter,
            Cause::Paused,
            Cause::Workstation,
            Cause::Approval,
            Cause::Credentials,
            Cause::Deletions,
            Cause::Stuck,
            Cause::FirstCycle,
            Cause::OtherSource,
            Cause::Ehr,
        ];
        for link in causes.map(runbook) {
            assert!(is_of_operators(link), "{link}");
        }
    }

    #[test]
    fn the_runbooks_of_alerts_lead_to_headings() {
        let alerts = include_str!("../../../../deploy/alerts.yml").lines();
        let links = alerts.filter_map(|line| line.trim().strip_prefix("runbook_url: 'http://{{ $labels.instance }}"));
        let links: Vec<&str> = links.map(|link| link.trim_end_matches('\'')).collect();
        assert!(links.len() > 20, "{links:?}");
        for link in links {
            assert!(is_of_operators(link), "{link}");
        }
    }

    /// Returns `true` if the link leads to an existing page and heading for operators.
    fn is_of_operators(link: &str) -> bool {
        let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
        let page = OPERATOR_PAGES.iter().find(|it| it.path() == path);
        page.is_some_and(|page| anchor.is_empty() || page.html().contains(&format!("id=\"{anchor}\"")))
    }

    #[test]
    fn markup_in_a_text_stays_text() {
        static ODD: DocumentationPage = DocumentationPage::new(
            CLIENTS,
            "odd",
            "Odd",
            "",
            "# A <script>x</script>\n\n<b>bold</b> [x](guide.md#errors)\n",
        );
        let html = ODD.html();
        assert!(!html.contains("<script>") && !html.contains("<b>"), "{html}");
        assert!(html.contains("href=\"/docs/guide#errors\""), "{html}");
    }

    #[test]
    fn only_links_differ_between_the_markdown_and_the_file() {
        static TEXT: DocumentationPage = DocumentationPage::new(
            OPERATORS,
            "text",
            "Text",
            "",
            "[a](../guide.md#errors) [`b`\nc](store.md) [d](../../deploy/README.md#x) [e](#f) <https://g.example> [`h`]\n\n\
             ```\n[i](store.md)\n```\n",
        );
        let expected = "[a](/docs/guide.md#errors) [`b`\nc](/console/docs/store.md) d [e](#f) <https://g.example> [`h`]\n\n\
                        ```\n[i](store.md)\n```\n";
        assert_eq!(TEXT.markdown(), expected);
    }
}
