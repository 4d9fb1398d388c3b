//! Rule: the language of CONTRIBUTING.md, as far as it can be counted. Words of the former dialect per 1,000 words of
//! comments (by folder of a crate) and of Markdown, lines of comments over 120 columns, and prefixes of test names.

use std::collections::BTreeMap;

use regex::Regex;

use crate::{
    documents::prose,
    tree::{Finding, Tree},
};

const DIALECT: &str = r"(?i)\b(stands?|lies|told|tells?|says?|said|goes on|nobody|whoever|somebody|anew|besides?|what (?:is|was|it|they|a|the|comes|has)|who (?:is|has|was)|so many|at one time|lets? go|mends?|spoils?|of its own|under way|is there)\b";
const TEST_NAME: &str = r"^\s*(?:pub )?(?:async )?fn (?:what|who|whoever|whose|nobody)_";
const COLUMNS: usize = 120;

/// Allowed per 1,000 words of comments and of Markdown, unless a table allows more.
const COMMENTS_PER_1000: usize = 1;
const MARKDOWN_PER_1000: usize = 2;

/// Exceptions that predate the rule. The numbers may only decrease.
pub struct Allowed {
    /// Words of the dialect in comments, by folder of a crate.
    pub comments: &'static [(&'static str, usize)],
    /// Words of the dialect in a Markdown file.
    pub markdown: &'static [(&'static str, usize)],
    pub long_lines: usize,
    pub test_names: usize,
}

#[derive(Clone, Copy, Default)]
struct Count {
    dialect: usize,
    words: usize,
}

pub fn check(tree: &Tree, allowed: &Allowed) -> Vec<Finding> {
    let [dialect, test_name] = [DIALECT, TEST_NAME].map(|text| Regex::new(text).expect("an expression"));
    let mut comments: BTreeMap<String, Count> = BTreeMap::new();
    let mut findings = Vec::new();
    let (mut long_lines, mut test_names) = (Vec::new(), Vec::new());
    let count = |text: &str| Count { dialect: dialect.find_iter(text).count(), words: text.split_whitespace().count() };
    for (path, file) in tree.files() {
        if path.ends_with(".md") {
            let lines: Vec<&str> = prose(&file.text).map(|(_, line)| line).collect();
            let Count { dialect, words } = count(&lines.join("\n"));
            findings.extend(over(path, dialect, words, MARKDOWN_PER_1000, allowed.markdown));
        }
        if !path.ends_with(".rs") || path.contains("bindings") {
            continue;
        }
        for (line, text) in (1..).zip(file.text.lines()) {
            if test_name.is_match(text) {
                test_names.push(Finding::at(path, line, "a test name states subject, condition and result"));
            }
            let Some(comment) = text.trim_start().strip_prefix("//") else { continue };
            let found = count(comment);
            let of_crate = comments.entry(folder(path)).or_default();
            of_crate.dialect += found.dialect;
            of_crate.words += found.words;
            if text.chars().count() > COLUMNS {
                long_lines.push(Finding::at(path, line, format!("more than {COLUMNS} columns")));
            }
        }
    }
    for (folder, Count { dialect, words }) in comments {
        findings.extend(over(&folder, dialect, words, COMMENTS_PER_1000, allowed.comments));
    }
    for (found, allowed) in [(long_lines, allowed.long_lines), (test_names, allowed.test_names)] {
        if found.len() > allowed {
            findings.push(Finding::at("", 0, format!("{} of these, {allowed} are allowed", found.len())));
            findings.extend(found);
        }
    }
    findings
}

/// Returns the folder of a crate in a top folder: `engine/store` of `engine/store/src/lib.rs`.
fn folder(path: &str) -> String {
    path.split('/').take(2).collect::<Vec<_>>().join("/")
}

fn over(path: &str, dialect: usize, words: usize, per_1000: usize, allowed: &[(&str, usize)]) -> Option<Finding> {
    let most = allowed.iter().find(|(known, _)| *known == path).map_or(words * per_1000 / 1_000, |(_, most)| *most);
    (dialect > most.max(1)).then(|| Finding::at(path, 0, format!("{dialect} words of the dialect, {most} are allowed")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRICT: Allowed = Allowed { comments: &[], markdown: &[], long_lines: 0, test_names: 0 };

    fn found(path: &str, text: &str, allowed: &Allowed) -> usize {
        check(&Tree::from_files(&[(path, text)]), allowed).len()
    }

    #[test]
    fn words_of_the_dialect_are_counted_in_comments_and_markdown_alone() {
        let dialect = "// Nobody is told what it was.\n";
        assert_eq!(found("a/b/src/lib.rs", dialect, &STRICT), 1);
        assert_eq!(found("a/b/src/bindings.rs", dialect, &STRICT), 0);
        assert_eq!(found("a/b/src/lib.rs", "let told = \"nobody says what it is\";\n", &STRICT), 0);
        assert_eq!(found("a/b/README.md", "Whoever stands there.\n", &STRICT), 1);
        assert_eq!(found("a/b/README.md", "```\nWhoever stands there.\n```\n", &STRICT), 0);
        let allowed = Allowed { comments: &[("a/b", 3)], ..STRICT };
        assert_eq!(found("a/b/src/lib.rs", dialect, &allowed), 0);
        assert_eq!(found("a/b/src/lib.rs", &dialect.repeat(2), &allowed), 1);
    }

    #[test]
    fn long_comments_and_riddles_as_test_names_are_found() {
        assert_eq!(found("a/b/src/lib.rs", &format!("/// {}\n", "long ".repeat(30)), &STRICT), 2);
        assert_eq!(found("a/b/src/lib.rs", &format!("let a = \"{}\";\n", "long ".repeat(30)), &STRICT), 0);
        assert_eq!(found("a/b/src/lib.rs", "    async fn what_is_gone_is_gone() {}\n", &STRICT), 2);
        assert_eq!(found("a/b/src/lib.rs", "fn whole_pages_are_kept() {}\n", &STRICT), 0);
    }
}
