//! The texts of `api/docs` as pages for clients and, in the console, for operators.

use std::{fmt::Write, sync::OnceLock};

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// A text and its address.
pub(crate) struct DocumentationPage {
    /// `CLIENTS` or `OPERATORS`.
    base: &'static str,
    /// Path below `base`.
    name: &'static str,
    /// File in `api/docs`, as used by links between the texts.
    file: &'static str,
    title: &'static str,
    text: &'static str,
    html: OnceLock<String>,
}

impl DocumentationPage {
    fn path(&self) -> String {
        format!("{}{}", self.base, self.name)
    }

    pub(super) fn html(&'static self) -> &'static str {
        self.html.get_or_init(|| layout(self))
    }
}

/// Declares a text by its base path, its folder in `api/docs`, the name of its file, and its title.
macro_rules! page {
    ($base:expr, $folder:literal, $name:literal, $title:literal) => {
        DocumentationPage {
            base: $base,
            name: $name,
            file: concat!($name, ".md"),
            title: $title,
            text: include_str!(concat!("../../../../docs/", $folder, $name, ".md")),
            html: OnceLock::new(),
        }
    };
}

/// Base path of the texts for clients.
const CLIENTS: &str = "/docs/";
/// Base path of the texts for operators in the console.
const OPERATORS: &str = "/console/docs/";

pub(crate) static GUIDE: DocumentationPage = page!(CLIENTS, "", "guide", "Guide");
pub(crate) static MOVING: DocumentationPage =
    page!(CLIENTS, "", "coming-from-another-api", "Coming from a v2 or v3 API");
pub(super) static RULES: DocumentationPage = page!(CLIENTS, "", "specification", "Rules");
pub(crate) static GLOSSARY: DocumentationPage = page!(CLIENTS, "", "glossary", "Glossary");

static OPERATOR_PAGES: [DocumentationPage; 16] = [
    page!(OPERATORS, "operations/", "runbooks", "Runbooks"),
    page!(OPERATORS, "operations/", "commands", "Commands and calls"),
    page!(OPERATORS, "operations/", "console", "Console"),
    page!(OPERATORS, "operations/", "observe", "Observe"),
    page!(OPERATORS, "operations/", "install", "Install"),
    page!(OPERATORS, "operations/", "configure", "Configure"),
    page!(OPERATORS, "operations/", "configuration", "Every key"),
    page!(OPERATORS, "operations/", "store", "The store"),
    page!(OPERATORS, "operations/", "backup", "Back up and restore"),
    page!(OPERATORS, "operations/", "audit", "The audit trail"),
    page!(OPERATORS, "operations/", "nodes", "Several nodes"),
    page!(OPERATORS, "operations/", "freshness", "Fresh schedules"),
    page!(OPERATORS, "operations/", "adapters", "Adapters"),
    page!(OPERATORS, "operations/", "workstations", "Workstations"),
    page!(OPERATORS, "operations/", "security", "Security"),
    page!(OPERATORS, "operations/", "upgrade", "Upgrade"),
];

/// Returns a text for operators as a page.
pub(super) fn operator_page(name: &str) -> Option<&'static str> {
    OPERATOR_PAGES.iter().find(|page| page.name == name).map(DocumentationPage::html)
}

static PAGES: [&DocumentationPage; 4] = [&GUIDE, &MOVING, &RULES, &GLOSSARY];
/// Pages written in HTML.
const OTHERS: [(&str, &str); 3] =
    [("/docs", "Reference"), ("/docs/webhooks", "Receiving webhooks"), ("/docs/sandbox", "Rehearsing trouble")];

fn layout(page: &DocumentationPage) -> String {
    let (mut links, mut contents, mut body) = (String::new(), String::new(), String::new());
    let texts: Vec<(String, &str)> = match page.base == OPERATORS {
        true => OPERATOR_PAGES.iter().map(|it| (it.path(), it.title)).collect(),
        false => {
            let others = OTHERS.map(|(path, title)| (path.to_owned(), title));
            PAGES.iter().map(|it| (it.path(), it.title)).chain(others).collect()
        }
    };
    for (path, title) in texts {
        let here = if title == page.title { " aria-current=\"page\"" } else { "" };
        let _ = write!(links, "<a href=\"{path}\"{here}>{title}</a>");
    }
    let mut links_of = Links { page, is_dead: false };
    let parsed = Parser::new_ext(page.text, Options::ENABLE_TABLES);
    let mut events: Vec<Event> = parsed.filter_map(|event| links_of.linked(event)).collect();
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
                let Some(dest_url) = self.target(&dest_url) else {
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

    /// Returns the target of a link on a page. Returns `None` for files that are not pages, which only texts for
    /// operators link to.
    fn target(&self, link: &str) -> Option<String> {
        let (file, rest) = link.split_once('#').map_or((link, None), |(file, rest)| (file, Some(rest)));
        let anchor = rest.map(|rest| format!("#{rest}")).unwrap_or_default();
        let of_operators = self.page.base == OPERATORS;
        let clients = || PAGES.iter().copied().find(|it| it.file == file.strip_prefix("../").unwrap_or(file));
        let operators = || OPERATOR_PAGES.iter().find(|it| of_operators && it.file == file);
        match operators().or_else(clients) {
            Some(page) => Some(format!("{}{anchor}", page.path())),
            None if of_operators && !file.is_empty() && !file.contains("://") => None,
            None => Some(link.to_owned()),
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
    use super::*;

    /// Checks paths and anchors.
    #[test]
    fn every_link_leads_to_an_existing_page_and_heading() {
        let known = |path: &str| OTHERS.iter().any(|(other, _)| *other == path);
        for page in PAGES.into_iter().chain(&OPERATOR_PAGES) {
            let links = page.html().split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
            for link in links.filter(|link| !["data:,", "/docs/style.css"].contains(link)) {
                let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
                let of = PAGES.into_iter().chain(&OPERATOR_PAGES).find(|it| path == it.path());
                let target = if path.is_empty() { Some(page) } else { of };
                let there =
                    target.is_some_and(|it| anchor.is_empty() || it.html().contains(&format!("id=\"{anchor}\"")));
                assert!(there || known(path) || path.starts_with("https://"), "{}: {link}", page.name);
            }
        }
    }

    #[test]
    fn every_problem_leads_to_a_heading_of_a_runbook() {
        for link in crate::resources::practice::problems::RUNBOOKS {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let page = OPERATOR_PAGES.iter().find(|it| it.path() == path);
            let page = page.unwrap_or_else(|| panic!("{link} is no page"));
            assert!(anchor.is_empty() || page.html().contains(&format!("id=\"{anchor}\"")), "{link}");
        }
    }

    #[test]
    fn markup_in_a_text_stays_text() {
        static ODD: DocumentationPage = DocumentationPage {
            base: CLIENTS,
            name: "odd",
            file: "odd.md",
            title: "Odd",
            text: "# A <script>x</script>\n\n<b>bold</b> [x](guide.md#errors)\n",
            html: OnceLock::new(),
        };
        let html = ODD.html();
        assert!(!html.contains("<script>") && !html.contains("<b>"), "{html}");
        assert!(html.contains("href=\"/docs/guide#errors\""), "{html}");
    }
}
