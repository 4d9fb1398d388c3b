//! The crates of the workspace with their modules, and the files compiled for production.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::{Tree, folder};

pub struct Crate {
    pub name: String,
    /// The folder of its Cargo.toml.
    pub dir: String,
    /// Dependencies within the workspace, with their lines in the manifest.
    pub needs: Vec<(String, usize)>,
    /// The file of each module by the module's path, one map each for `lib.rs` and `main.rs`.
    pub roots: Vec<BTreeMap<Vec<String>, String>>,
}

impl Crate {
    pub fn manifest(&self) -> String {
        if self.dir.is_empty() { "Cargo.toml".to_owned() } else { format!("{}/Cargo.toml", self.dir) }
    }
}

pub struct Crates {
    pub all: Vec<Crate>,
    /// Files compiled into a library or a `main.rs`, without those for tests only.
    pub production: BTreeSet<String>,
}

impl Crates {
    pub fn from_tree(tree: &Tree) -> Crates {
        let manifests: Vec<(&str, toml::Table)> = tree
            .files()
            .filter(|(path, _)| path.rsplit('/').next() == Some("Cargo.toml"))
            .filter_map(|(path, file)| Some((path, file.text.parse().ok()?)))
            .collect();
        let name = |table: &toml::Table| Some(table.get("package")?.get("name")?.as_str()?.to_owned());
        let own: BTreeSet<String> = manifests.iter().filter_map(|(_, table)| name(table)).collect();
        let mut crates = Crates { all: Vec::new(), production: BTreeSet::new() };
        for (path, table) in &manifests {
            let Some(name) = name(table) else { continue };
            let text = &tree.get(path).expect("it was just read").text;
            let line = |needed: &str| text.lines().position(|line| line.trim_start().starts_with(needed));
            let needs = dependencies(table).into_iter().filter(|needed| own.contains(needed));
            let needs = needs.map(|needed| (needed.clone(), line(&needed).map_or(0, |n| n + 1))).collect();
            let dir = folder(path).to_owned();
            let src = if dir.is_empty() { "src".to_owned() } else { format!("{dir}/src") };
            let mut roots = Vec::new();
            for root in ["lib.rs", "main.rs"] {
                let root = format!("{src}/{root}");
                if tree.get(&root).is_some() {
                    let mut modules = BTreeMap::new();
                    crates.module(tree, &root, &mut Vec::new(), &mut modules);
                    roots.push(modules);
                }
            }
            crates.all.push(Crate { name, dir, needs, roots });
        }
        crates
    }

    fn module(&mut self, tree: &Tree, file: &str, path: &mut Vec<String>, modules: &mut BTreeMap<Vec<String>, String>) {
        let Some(source) = tree.get(file).and_then(|found| found.source().ok()) else { return };
        modules.insert(path.clone(), file.to_owned());
        self.production.insert(file.to_owned());
        for module in source.mods.iter().filter(|module| !module.test) {
            let found = match &module.path {
                Some(own) => Some(normal(&format!("{}/{own}", folder(file)))),
                None => {
                    let base = children_of(file);
                    let places = [format!("{base}/{}.rs", module.name), format!("{base}/{}/mod.rs", module.name)];
                    places.into_iter().find(|place| tree.get(place).is_some())
                }
            };
            if let Some(found) = found {
                path.push(module.name.clone());
                self.module(tree, &found, path, modules);
                path.pop();
            }
        }
    }
}

/// Returns the folder with the files of a file's modules.
fn children_of(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    if ["lib.rs", "main.rs", "mod.rs"].contains(&name) {
        folder(file).to_owned()
    } else {
        file.trim_end_matches(".rs").to_owned()
    }
}

/// Resolves `..` and `.`.
pub fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => (),
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns the dependencies of a crate without its dev-dependencies.
fn dependencies(manifest: &toml::Table) -> Vec<String> {
    let targets = manifest.get("target").and_then(|targets| targets.as_table());
    let tables = targets.into_iter().flatten().filter_map(|(_, target)| target.as_table());
    let tables = std::iter::once(manifest).chain(tables);
    let named = tables.flat_map(|table| ["dependencies", "build-dependencies"].map(|kind| table.get(kind)));
    let entries = named.flatten().filter_map(|table| table.as_table()).flatten();
    entries.map(|(key, value)| value.get("package").and_then(|name| name.as_str()).unwrap_or(key).to_owned()).collect()
}
