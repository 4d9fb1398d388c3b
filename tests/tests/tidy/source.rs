//! The paths, imports, modules and items of a Rust file, parsed from its tokens. Code for tests only is skipped.

use std::{collections::BTreeSet, str::FromStr};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

#[derive(Debug, Default)]
pub struct RustSource {
    /// All paths with at least two names, including imports.
    pub paths: Vec<Path>,
    /// Names imported by `use`.
    pub uses: Vec<Use>,
    /// `mod name;`
    pub mods: Vec<Mod>,
    /// Names of items defined in the file.
    pub defines: BTreeSet<String>,
    /// The file begins with `//!`.
    pub has_docs: bool,
    /// The file only declares modules and re-exports names.
    pub is_transparent: bool,
    /// Number of lines for tests only.
    pub test_lines: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    pub names: Vec<String>,
    pub line: usize,
    /// The inline modules that contain the path.
    pub inside: Vec<String>,
}

#[derive(Debug)]
pub struct Use {
    pub path: Path,
    /// `*` for glob imports.
    pub name: String,
}

#[derive(Debug)]
pub struct Mod {
    pub name: String,
    pub test: bool,
    /// The value of the `path` attribute.
    pub path: Option<String>,
}

impl RustSource {
    pub fn read(text: &str) -> Result<RustSource, String> {
        let tokens = TokenStream::from_str(text).map_err(|error| error.to_string())?;
        let mut source = RustSource { is_transparent: true, ..RustSource::default() };
        source.has_docs = begins_with_docs(&trees(tokens.clone()));
        source.scan(&trees(tokens), &[], true);
        Ok(source)
    }

    /// `items`: the tokens are at the top level of the file or of a module.
    fn scan(&mut self, tokens: &[TokenTree], inside: &[String], items: bool) {
        let top = items && inside.is_empty();
        let mut attributes: Vec<&Group> = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let start = at;
            match &tokens[at] {
                TokenTree::Punct(mark) if mark.as_char() == '#' => {
                    at += 1;
                    let inner = matches!(tokens.get(at), Some(TokenTree::Punct(mark)) if mark.as_char() == '!');
                    at += usize::from(inner);
                    if let Some(TokenTree::Group(group)) = tokens.get(at) {
                        if !inner {
                            attributes.push(group);
                        }
                        at += 1;
                    }
                    continue;
                }
                TokenTree::Group(group) => {
                    self.scan(&trees(group.stream()), inside, false);
                    at += 1;
                }
                TokenTree::Ident(name) => {
                    let test = attributes.iter().any(|attribute| is_for_tests(attribute));
                    let word = name.to_string();
                    match word.as_str() {
                        "mod" if matches!(tokens.get(at + 1), Some(TokenTree::Ident(_))) => {
                            at = self.module(tokens, at, inside, &attributes, test);
                        }
                        _ if test => at = self.skip(tokens, at),
                        "use" => at = self.used(tokens, at + 1, inside),
                        // Skips the visibility before an item's keyword.
                        "pub" => {
                            at += 1;
                            if matches!(tokens.get(at), Some(TokenTree::Group(_))) {
                                at += 1;
                            }
                            continue;
                        }
                        _ => {
                            if top {
                                self.is_transparent = false;
                            }
                            at = self.word(tokens, at, inside, items);
                        }
                    }
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => at += 1,
            }
            debug_assert!(at > start, "the scan continues");
            attributes.clear();
        }
    }

    /// Reads `mod name;` or `mod name { ... }` and returns its end.
    fn module(
        &mut self,
        tokens: &[TokenTree],
        at: usize,
        inside: &[String],
        attributes: &[&Group],
        test: bool,
    ) -> usize {
        let name = tokens[at + 1].to_string();
        match tokens.get(at + 2) {
            Some(TokenTree::Group(_)) if test => self.skip(tokens, at),
            Some(TokenTree::Group(body)) => {
                self.is_transparent = false;
                let inside = [inside, &[name]].concat();
                self.scan(&trees(body.stream()), &inside, true);
                at + 3
            }
            _ => {
                let path = attributes.iter().find_map(|attribute| path_attribute(attribute));
                self.mods.push(Mod { name, test, path });
                at + 3
            }
        }
    }

    /// Skips an item for tests, up to its `;` or its body.
    fn skip(&mut self, tokens: &[TokenTree], at: usize) -> usize {
        let ends = |token: &TokenTree| match token {
            TokenTree::Punct(mark) => mark.as_char() == ';',
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            _ => false,
        };
        let length = tokens[at..].iter().position(ends).map_or(tokens.len() - at, |length| length + 1);
        let (first, last) = (tokens[at].span().start().line, tokens[at + length - 1].span().end().line);
        self.test_lines += last - first + 1;
        at + length
    }

    fn used(&mut self, tokens: &[TokenTree], at: usize, inside: &[String]) -> usize {
        let end = tokens[at..].iter().position(|token| is_mark(Some(token), ';')).map_or(tokens.len(), |n| at + n);
        let mut found = Vec::new();
        use_tree(&tokens[at..end], &[], &mut found);
        for (names, name, line) in found {
            let path = Path { names, line, inside: inside.to_vec() };
            self.paths.push(path.clone());
            self.uses.push(Use { path, name });
        }
        end + 1
    }

    /// Reads a path or an item's keyword and returns its end.
    fn word(&mut self, tokens: &[TokenTree], at: usize, inside: &[String], items: bool) -> usize {
        const ITEMS: [&str; 9] = ["struct", "enum", "fn", "const", "static", "trait", "type", "union", "macro_rules"];
        let line = tokens[at].span().start().line;
        let first = tokens[at].to_string();
        if items && ITEMS.contains(&first.as_str()) {
            let name = tokens[at + 1..].iter().find_map(|token| match token {
                TokenTree::Ident(name) => Some(name.to_string()),
                _ => None,
            });
            if let Some(name) = name.filter(|_| inside.is_empty()) {
                self.defines.insert(name);
            }
            return at + 1;
        }
        // `$crate` does not refer to a module here.
        let foreign = at > 0 && is_mark(tokens.get(at - 1), '$');
        let (mut names, mut at) = (vec![first], at + 1);
        while is_mark(tokens.get(at), ':') && is_mark(tokens.get(at + 1), ':') {
            let Some(TokenTree::Ident(name)) = tokens.get(at + 2) else { break };
            names.push(name.to_string());
            at += 3;
        }
        if names.len() > 1 && !foreign {
            self.paths.push(Path { names, line, inside: inside.to_vec() });
        }
        at
    }
}

fn trees(tokens: TokenStream) -> Vec<TokenTree> {
    tokens.into_iter().collect()
}

fn is_mark(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(found)) if found.as_char() == mark)
}

/// Collects the paths of `a::{b, c::d as e, f::*}`, each with its local name.
fn use_tree(tokens: &[TokenTree], before: &[String], found: &mut Vec<(Vec<String>, String, usize)>) {
    let mut names = before.to_vec();
    let mut alias = None;
    let mut line = 0;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token {
            TokenTree::Ident(word) if word == "as" => {
                alias = tokens.get(at + 1).map(ToString::to_string);
                at += 1;
            }
            TokenTree::Ident(word) => {
                line = word.span().start().line;
                names.push(word.to_string());
            }
            TokenTree::Punct(mark) if mark.as_char() == '*' => {
                found.push((names, "*".to_owned(), mark.span().start().line));
                return;
            }
            TokenTree::Group(group) => {
                for part in trees(group.stream()).split(|token| is_mark(Some(token), ',')) {
                    use_tree(part, &names, found);
                }
                return;
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => (),
        }
        at += 1;
    }
    if names.len() > 1 && names.last().is_some_and(|last| last == "self") {
        names.pop();
    }
    if let Some(last) = names.last().filter(|_| names.len() > before.len() || line > 0) {
        let name = alias.unwrap_or_else(|| last.clone());
        found.push((names, name, line));
    }
}

/// Returns whether the attribute is `cfg(test)` or `cfg(all(test, ...))`.
fn is_for_tests(attribute: &Group) -> bool {
    let text = attribute.stream().to_string().replace(' ', "");
    text == "cfg(test)" || text.starts_with("cfg(all(test,")
}

fn path_attribute(attribute: &Group) -> Option<String> {
    let text = attribute.stream().to_string();
    let value = text.strip_prefix("path")?.trim_start().strip_prefix('=')?;
    Some(value.trim().trim_matches('"').to_owned())
}

fn begins_with_docs(tokens: &[TokenTree]) -> bool {
    let mut at = 0;
    while is_mark(tokens.get(at), '#') && is_mark(tokens.get(at + 1), '!') {
        let Some(TokenTree::Group(attribute)) = tokens.get(at + 2) else { return false };
        if matches!(trees(attribute.stream()).first(), Some(TokenTree::Ident(name)) if name == "doc") {
            return true;
        }
        at += 3;
    }
    false
}

#[test]
fn paths_imports_modules_and_items_of_a_file_are_read() {
    let text = "//! Docs.\nuse crate::{a::B, c::{self, D as E}, f::*};\nmod g;\n#[cfg(test)]\nmod tests {\n use x::Y;\n}\n\
        pub(crate) fn h() { let i = crate::j::K::new(vec![super::l::m()]); }\n";
    let source = RustSource::read(text).unwrap();
    let uses: Vec<(String, &str)> = source.uses.iter().map(|it| (it.path.names.join("::"), it.name.as_str())).collect();
    let expected = [("crate::a::B", "B"), ("crate::c", "c"), ("crate::c::D", "E"), ("crate::f", "*")];
    assert_eq!(uses, expected.map(|(path, name)| (path.to_owned(), name)));
    let inline: Vec<(String, usize)> =
        source.paths[4..].iter().map(|path| (path.names.join("::"), path.line)).collect();
    assert_eq!(inline, [("crate::j::K::new".to_owned(), 8), ("super::l::m".to_owned(), 8)]);
    assert_eq!((source.mods.len(), source.test_lines, source.has_docs, source.is_transparent), (1, 3, true, false));
    assert!(source.defines.contains("h"));
}

#[test]
fn file_with_only_modules_and_reexports_is_transparent() {
    let is_transparent = |text| RustSource::read(text).unwrap().is_transparent;
    assert!(is_transparent(
        "//! Docs.\n#![allow(x)]\nmod a;\n/// Docs.\npub mod b;\npub use a::C;\n#[cfg(test)]\nmod tests;"
    ));
    assert!(!is_transparent("mod a;\nfn b() {}") && !is_transparent("pub const A: u8 = 1;"));
}
