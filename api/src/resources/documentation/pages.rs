//! The texts of `api/docs` that are for clients, as pages.

use std::{fmt::Write, sync::OnceLock};

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, html};

/// A text, and where it is shown.
pub(crate) struct Page {
    /// Below `/docs/`.
    name: &'static str,
    /// In `api/docs`, as the texts name each other.
    file: &'static str,
    title: &'static str,
    text: &'static str,
    html: OnceLock<String>,
}

impl Page {
    const fn new(name: &'static str, file: &'static str, title: &'static str, text: &'static str) -> Page {
        Page { name, file, title, text, html: OnceLock::new() }
    }

    pub(crate) fn html(&'static self) -> &'static str {
        self.html.get_or_init(|| layout(self))
    }
}

pub(crate) static GUIDE: Page = Page::new("guide", "guide.md", "Guide", include_str!("../../../docs/guide.md"));
pub(crate) static MOVING: Page = Page::new(
    "coming-from-another-api",
    "coming-from-another-api.md",
    "Coming from a v2 or v3 API",
    include_str!("../../../docs/coming-from-another-api.md"),
);
pub(crate) static RULES: Page =
    Page::new("specification", "specification.md", "Rules", include_str!("../../../docs/specification.md"));
pub(crate) static GLOSSARY: Page =
    Page::new("glossary", "glossary.md", "Glossary", include_str!("../../../docs/glossary.md"));

static PAGES: [&Page; 4] = [&GUIDE, &MOVING, &RULES, &GLOSSARY];
/// Pages that are written for the browser.
const OTHERS: [(&str, &str); 3] =
    [("/docs", "Reference"), ("/docs/webhooks", "Receiving webhooks"), ("/docs/sandbox", "Rehearsing trouble")];

fn layout(page: &Page) -> String {
    let (mut links, mut contents, mut body) = (String::new(), String::new(), String::new());
    let texts = PAGES.iter().map(|it| (format!("/docs/{}", it.name), it.title));
    for (path, title) in texts.chain(OTHERS.map(|(path, title)| (path.to_owned(), title))) {
        let here = if title == page.title { " aria-current=\"page\"" } else { "" };
        let _ = write!(links, "<a href=\"{path}\"{here}>{title}</a>");
    }
    let mut events: Vec<Event> = Parser::new_ext(page.text, Options::ENABLE_TABLES).map(linked).collect();
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

/// Texts lead to each other's files; pages lead to pages. Markup of a text's own is shown as what it is.
fn linked(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let (file, rest) = dest_url.split_once('#').map_or((&*dest_url, None), |(file, rest)| (file, Some(rest)));
            let page = PAGES.iter().find(|it| it.file == file);
            let anchor = rest.map(|rest| format!("#{rest}")).unwrap_or_default();
            let dest_url = page.map_or(dest_url.clone(), |it| format!("/docs/{}{anchor}", it.name).into());
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        event => event,
    }
}

/// Names each heading as the texts' own links do, and tells of them.
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

    /// Whoever clicks comes somewhere.
    #[test]
    fn every_link_leads_to_a_page_and_a_heading_that_are_there() {
        let known = |path: &str| OTHERS.iter().any(|(other, _)| *other == path);
        for page in PAGES {
            let links = page.html().split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
            for link in links.filter(|link| !["data:,", "/docs/style.css"].contains(link)) {
                let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
                let of = PAGES.iter().find(|it| path == format!("/docs/{}", it.name));
                let target = if path.is_empty() { Some(&page) } else { of };
                let there =
                    target.is_some_and(|it| anchor.is_empty() || it.html().contains(&format!("id=\"{anchor}\"")));
                assert!(there || known(path) || path.starts_with("https://"), "{}: {link}", page.name);
            }
        }
    }

    #[test]
    fn markup_in_a_text_stays_text() {
        static ODD: Page =
            Page::new("odd", "odd.md", "Odd", "# A <script>x</script>\n\n<b>bold</b> [x](guide.md#errors)\n");
        let html = ODD.html();
        assert!(!html.contains("<script>") && !html.contains("<b>"), "{html}");
        assert!(html.contains("href=\"/docs/guide#errors\""), "{html}");
    }
}
