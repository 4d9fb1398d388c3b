//! Rule: each tool is used in its own folders and files only.

use crate::{
    crates::Crates,
    tree::{Finding, Tree, is_below},
};

/// A library or a call, and the folders and files that may use it.
pub struct Tool {
    pub used: Used,
    pub rooms: &'static [&'static str],
}

pub enum Used {
    /// Paths that begin with one of these names.
    Crates(&'static [&'static str]),
    /// Paths that contain these names in sequence.
    Calls(&'static [&'static str]),
}

impl Used {
    fn is_in(&self, path: &[String]) -> Option<&'static str> {
        match self {
            Used::Crates(names) => names.iter().find(|name| path[0] == **name).copied(),
            Used::Calls(calls) => calls.iter().copied().find(|call| {
                let call: Vec<&str> = call.split("::").collect();
                path.windows(call.len()).any(|part| part == call)
            }),
        }
    }

    fn names(&self) -> String {
        match self {
            Used::Crates(names) | Used::Calls(names) => names.join(", "),
        }
    }
}

/// Checks production code. In the folders of `free` any tool is allowed.
pub fn check(tree: &Tree, crates: &Crates, tools: &[Tool], free: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut needed = vec![Vec::new(); tools.len()];
    for (file, source) in tree.rust().filter(|(file, _)| crates.production.contains(*file)) {
        if free.iter().any(|room| is_below(file, room)) {
            continue;
        }
        for (n, tool) in tools.iter().enumerate() {
            for path in &source.paths {
                let Some(used) = tool.used.is_in(&path.names) else { continue };
                match tool.rooms.iter().find(|room| is_below(file, room)) {
                    Some(room) => needed[n].push(*room),
                    None => {
                        findings.push(Finding::at(file, path.line, format!("{used} has its place in {:?}", tool.rooms)))
                    }
                }
            }
        }
    }
    for (tool, needed) in tools.iter().zip(needed) {
        let stale = tool.rooms.iter().filter(|room| !needed.contains(room));
        findings.extend(stale.map(|room| Finding::stale(format!("{} in {room}", tool.used.names()))));
    }
    findings.sort();
    findings.dedup();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: [Tool; 2] = [
        Tool { used: Used::Crates(&["sled"]), rooms: &["a/src/store"] },
        Tool { used: Used::Calls(&["SystemTime::now"]), rooms: &["a/src/clock.rs"] },
    ];

    fn found(lib: &str) -> Vec<String> {
        let tree = Tree::from_files(&[
            ("a/Cargo.toml", "[package]\nname = \"a\""),
            ("a/src/lib.rs", lib),
            ("a/src/store/mod.rs", "use sled::Db;"),
            ("a/src/clock.rs", "fn now() { std::time::SystemTime::now(); }"),
        ]);
        let findings = check(&tree, &Crates::from_tree(&tree), &TOOLS, &[]);
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn tools_in_their_rooms_are_fine_and_tests_are_free() {
        assert_eq!(found("mod store;\nmod clock;\n#[cfg(test)]\nmod tests { use sled::Db; }"), [""; 0]);
    }

    #[test]
    fn a_tool_elsewhere_is_found() {
        let findings = found("mod store;\nmod clock;\n\nfn f() { sled::open(); vec![SystemTime::now()]; }");
        assert_eq!(findings.len(), 2);
        assert!(findings.iter().all(|finding| finding.starts_with("a/src/lib.rs:4: ")), "{findings:?}");
    }

    #[test]
    fn a_room_without_its_tool_is_stale() {
        let findings = found("mod store;");
        assert!(findings.len() == 1 && findings[0].contains("SystemTime::now in a/src/clock.rs"), "{findings:?}");
    }
}
