//! Rule: files of a crate have no circular imports. An import is a path over `crate::`, `super::`, `self::` or an
//! imported module. It refers to the file that defines the name, also through re-exports. Files that only declare and
//! re-export are ignored.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    crates::Crates,
    source::{Path, RustSource},
    tree::{Finding, Tree, is_below},
};

/// A known circle that should be removed.
pub struct ImportCycle {
    pub name: &'static str,
    /// The files of the circle, or folders with them.
    pub files: &'static [&'static str],
    pub reason: &'static str,
}

/// Imports by file and imported file, each with its line and path.
type Imports = BTreeMap<String, BTreeMap<String, (usize, String)>>;

pub fn check(tree: &Tree, crates: &Crates, known: &[ImportCycle]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut needed: BTreeSet<(&str, &str)> = BTreeSet::new();
    for it in &crates.all {
        for modules in &it.roots {
            let imports = Modules::new(tree, modules).imports();
            for circle in circles(&imports) {
                let of_crate: Vec<&ImportCycle> = known.iter().filter(|known| known.name == it.name).collect();
                let row = of_crate.iter().max_by_key(|row| circle.iter().filter(|file| lies_in(file, row)).count());
                let outside: Vec<&String> =
                    circle.iter().filter(|file| row.is_none_or(|row| !lies_in(file, row))).collect();
                if let Some(first) = outside.first() {
                    findings.push(found(&it.name, first, &circle, &imports));
                }
                if let Some(row) = row {
                    let rows = row.files.iter().filter(|room| circle.iter().any(|file| is_below(file, room)));
                    needed.extend(rows.map(|room| (row.name, *room)));
                }
            }
        }
    }
    for row in known {
        assert!(!row.reason.is_empty(), "a circle has a reason");
        let stale = row.files.iter().filter(|room| !needed.contains(&(row.name, **room)));
        findings.extend(stale.map(|room| Finding::stale(format!("the circle of {} through {room}", row.name))));
    }
    findings
}

fn lies_in(file: &str, row: &ImportCycle) -> bool {
    row.files.iter().any(|room| is_below(file, room))
}

fn found(name: &str, file: &str, circle: &[String], imports: &Imports) -> Finding {
    let mut ties = Vec::new();
    for from in circle {
        let within = imports[from].iter().filter(|(to, _)| circle.contains(*to));
        ties.extend(within.map(|(to, (line, path))| format!("  {from}:{line} → {to} ({path})")));
    }
    let line = imports[file].iter().find(|(to, _)| circle.contains(*to)).map_or(0, |(_, (line, _))| *line);
    Finding::at(file, line, format!("{name}: a circle of {} files:\n{}", circle.len(), ties.join("\n")))
}

/// The modules of one root.
struct Modules<'a> {
    files: &'a BTreeMap<Vec<String>, String>,
    sources: BTreeMap<Vec<String>, Arc<RustSource>>,
}

impl Modules<'_> {
    fn new<'a>(tree: &Tree, files: &'a BTreeMap<Vec<String>, String>) -> Modules<'a> {
        let source = |file: &String| tree.get(file).and_then(|file| file.source().ok());
        let sources = files.iter().filter_map(|(module, file)| Some((module.clone(), source(file)?))).collect();
        Modules { files, sources }
    }

    fn imports(&self) -> Imports {
        let mut imports = Imports::new();
        for (module, source) in &self.sources {
            let file = &self.files[module];
            let to = imports.entry(file.clone()).or_default();
            for path in &source.paths {
                let target = self.absolute(module, path, 0).and_then(|names| self.file_of(&names, 0));
                if let Some(target) = target.filter(|target| target != file) {
                    to.entry(target).or_insert_with(|| (path.line, path.names.join("::")));
                }
            }
        }
        imports
    }

    /// Resolves a path to names from the crate root. Returns `None` if it leaves the crate or is unknown.
    fn absolute(&self, module: &[String], path: &Path, depth: usize) -> Option<Vec<String>> {
        if depth > 8 {
            return None;
        }
        let mut base = [module, &path.inside].concat();
        let mut rest = &path.names[..];
        match rest[0].as_str() {
            "crate" => (base, rest) = (Vec::new(), &rest[1..]),
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|name| name == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            first => {
                let child = [&base[..], &[first.to_owned()]].concat();
                if !self.files.contains_key(&child) {
                    let uses = &self.sources.get(module)?.uses;
                    let brought = uses.iter().find(|it| it.name == first && it.path.names[0] != first)?;
                    base = self.absolute(module, &brought.path, depth + 1)?;
                    // If `base` is not a module, the import itself already counts.
                    self.files.contains_key(&base).then_some(())?;
                    rest = &rest[1..];
                }
            }
        }
        base.extend_from_slice(rest);
        Some(base)
    }

    /// Returns the file that defines a name. Returns `None` for modules and for files that only re-export.
    fn file_of(&self, names: &[String], depth: usize) -> Option<String> {
        let length = (0..=names.len()).rev().find(|length| self.files.contains_key(&names[..*length]))?;
        let (module, rest) = names.split_at(length);
        let name = rest.first()?;
        let source = self.sources.get(module)?;
        if source.defines.contains(name) || depth > 8 {
            return Some(self.files[module].clone());
        }
        let handed = source.uses.iter().filter(|it| it.path.inside.is_empty());
        for it in handed {
            let target = self.absolute(module, &it.path, 0);
            let found = match (it.name.as_str(), target) {
                (brought, Some(target)) if brought == name => {
                    self.file_of(&[&target[..], &rest[1..]].concat(), depth + 1)
                }
                ("*", Some(target)) if self.has(&target, name) => {
                    self.file_of(&[&target[..], rest].concat(), depth + 1)
                }
                _ => None,
            };
            if found.is_some() {
                return found;
            }
        }
        (!source.is_transparent).then(|| self.files[module].clone())
    }

    fn has(&self, module: &[String], name: &str) -> bool {
        self.sources
            .get(module)
            .is_some_and(|source| source.defines.contains(name) || source.uses.iter().any(|it| it.name == name))
    }
}

/// Returns the strongly connected components, by Tarjan's algorithm.
fn circles(imports: &Imports) -> Vec<Vec<String>> {
    #[derive(Default)]
    struct Walk<'a> {
        index: BTreeMap<&'a str, usize>,
        low: BTreeMap<&'a str, usize>,
        stack: Vec<&'a str>,
        found: Vec<Vec<String>>,
    }
    fn visit<'a>(file: &'a str, imports: &'a Imports, walk: &mut Walk<'a>) {
        let number = walk.index.len();
        walk.index.insert(file, number);
        walk.low.insert(file, number);
        walk.stack.push(file);
        for to in imports.get(file).into_iter().flat_map(|to| to.keys()) {
            let reached = match walk.index.get(to.as_str()) {
                None => {
                    visit(to, imports, walk);
                    walk.low[to.as_str()]
                }
                Some(number) if walk.stack.contains(&to.as_str()) => *number,
                Some(_) => continue,
            };
            let low = walk.low[file].min(reached);
            walk.low.insert(file, low);
        }
        if walk.low[file] == number {
            let at = walk.stack.iter().position(|it| *it == file).expect("it is on the stack");
            let mut circle: Vec<String> = walk.stack.split_off(at).into_iter().map(str::to_owned).collect();
            circle.sort();
            if circle.len() > 1 {
                walk.found.push(circle);
            }
        }
    }
    let mut walk = Walk::default();
    for file in imports.keys() {
        if !walk.index.contains_key(file.as_str()) {
            visit(file, imports, &mut walk);
        }
    }
    walk.found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)], known: &[ImportCycle]) -> Vec<String> {
        let files = [&[("a/Cargo.toml", "[package]\nname = \"a\"")], files].concat();
        let tree = Tree::from_files(&files);
        check(&tree, &Crates::from_tree(&tree), known).iter().map(ToString::to_string).collect()
    }

    const LIB: (&str, &str) = ("a/src/lib.rs", "mod b;\nmod c;\nmod d;\npub use b::B;\npub use d::D;");

    #[test]
    fn one_way_imports_are_not_a_circle() {
        let files = [LIB, ("a/src/b.rs", "use crate::c::C;\npub struct B;"), ("a/src/c.rs", "pub struct C;")];
        assert_eq!(found(&files, &[]), [""; 0]);
    }

    #[test]
    fn two_files_that_import_each_other_are_found_with_their_lines() {
        let b = "use crate::c::C;\npub struct B;";
        for c in [
            "\nuse super::b::B;\npub struct C;",
            "pub struct C;\nfn f() { vec![crate::b::B] }",
            "\nuse crate::b;\nstruct C(b::B);",
        ] {
            let findings = found(&[LIB, ("a/src/b.rs", b), ("a/src/c.rs", c)], &[]);
            assert_eq!(findings.len(), 1, "{c}");
            assert!(findings[0].starts_with("a/src/b.rs:1: a: a circle of 2 files"), "{findings:?}");
            assert!(findings[0].contains("→ a/src/b.rs"), "{findings:?}");
        }
    }

    #[test]
    fn reexports_lead_to_the_defining_file() {
        let files = [
            LIB,
            ("a/src/b.rs", "use crate::c::C;\npub struct B;"),
            // Through `lib.rs`, and through a folder's `mod.rs`.
            ("a/src/c.rs", "use crate::B;\nuse crate::D;\npub struct C;"),
            ("a/src/d/mod.rs", "mod e;\npub use e::*;"),
            ("a/src/d/e.rs", "pub struct D(crate::c::C);"),
        ];
        let findings = found(&files, &[]);
        assert!(findings.len() == 1 && findings[0].contains("a circle of 3 files"), "{findings:?}");
    }

    #[test]
    fn a_module_and_its_child_can_be_a_circle_and_tests_cannot() {
        let parent = "mod x;\npub struct B(x::X);";
        let files = [LIB, ("a/src/b.rs", parent), ("a/src/b/x.rs", "use super::B;\npub struct X;")];
        assert_eq!(found(&files, &[]).len(), 1);
        let files = [
            LIB,
            ("a/src/b.rs", parent),
            ("a/src/b/x.rs", "pub struct X;\n#[cfg(test)]\nmod tests { use super::super::B; }"),
        ];
        assert_eq!(found(&files, &[]), [""; 0]);
    }

    #[test]
    fn a_known_circle_passes_and_a_row_that_is_not_needed_is_stale() {
        let files =
            [LIB, ("a/src/b.rs", "use crate::c::C;\npub struct B;"), ("a/src/c.rs", "use crate::B;\npub struct C;")];
        let known = |files| ImportCycle { name: "a", files, reason: "it is old" };
        assert_eq!(found(&files, &[known(&["a/src/b.rs", "a/src/c.rs"])]), [""; 0]);
        assert_eq!(found(&files, &[known(&["a/src"])]), [""; 0]);
        assert!(found(&files, &[known(&["a/src/b.rs"])])[0].starts_with("a/src/c.rs:1: "));
        let findings = found(&files, &[known(&["a/src/b.rs", "a/src/c.rs", "a/src/d.rs"])]);
        assert!(findings.len() == 1 && findings[0].contains("through a/src/d.rs"), "{findings:?}");
    }
}
