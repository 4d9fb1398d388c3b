//! The contract for adapters in JavaScript, generated from `wit/v1`: typings for editors, and the table for checking
//! results before the engine sees them. Both are checked in. `UPDATE_BINDINGS=1` writes them again.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::Path,
};

use wit_bindgen_core::wit_parser::{Docs, Function, Interface, Resolve, Type, TypeDefKind, TypeId, WorldItem};

const HEAD: &str = "// Generated from wit/v1 by adapters/kit/tests/typings.rs.\n";
/// Results of the four calls, and the type of a thrown fault.
const CHECKED: [&str; 4] = ["description", "page", "receipt", "fault"];

struct Contract {
    resolve: Resolve,
    /// Each type once, under its unique name. The parsed interfaces repeat the types that they use of other interfaces.
    types: BTreeMap<String, TypeId>,
}

impl Contract {
    fn read() -> (Contract, wit_bindgen_core::wit_parser::WorldId) {
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit/v1")).unwrap();
        let world = resolve.select_world(&[package], Some("practice-sync:ehr/adapter")).unwrap();
        let mut types = BTreeMap::new();
        for (_, interface) in resolve.interfaces.iter() {
            for (name, id) in &interface.types {
                let repeated = match resolve.types[*id].kind {
                    TypeDefKind::Type(Type::Id(of)) => resolve.types[of].name.as_ref() == Some(name),
                    _ => false,
                };
                if !repeated {
                    assert!(types.insert(name.clone(), *id).is_none(), "two types are called {name}");
                }
            }
        }
        (Contract { resolve, types }, world)
    }

    fn kind(&self, id: TypeId) -> &TypeDefKind {
        &self.resolve.types[id].kind
    }

    /// Formats a type as TypeScript.
    fn typescript(&self, of: &Type) -> String {
        match of {
            Type::Bool => "boolean".into(),
            Type::String => "string".into(),
            Type::Id(id) => match (&self.resolve.types[*id].name, self.kind(*id)) {
                (Some(name), _) => pascal(name),
                (None, TypeDefKind::Option(of)) => format!("{} | null", self.typescript(of)),
                (None, TypeDefKind::List(Type::U8)) => "Uint8Array".into(),
                (None, TypeDefKind::List(of)) => format!("{}[]", self.typescript(of)),
                (None, TypeDefKind::Result(result)) => result.ok.map_or("void".into(), |ok| self.typescript(&ok)),
                (None, other) => panic!("no adapter has met {other:?} yet"),
            },
            Type::U8 | Type::U16 | Type::U32 | Type::U64 | Type::S8 | Type::S16 | Type::S32 | Type::S64 => {
                "number".into()
            }
            other => panic!("no adapter has met {other:?} yet"),
        }
    }

    fn declaration(&self, name: &str, id: TypeId) -> String {
        let mut text = documented("", &self.resolve.types[id].docs);
        let name = pascal(name);
        match self.kind(id) {
            TypeDefKind::Record(record) => {
                writeln!(text, "export interface {name} {{").unwrap();
                for field in &record.fields {
                    text.push_str(&documented("  ", &field.docs));
                    writeln!(text, "  {}: {};", camel(&field.name), self.typescript(&field.ty)).unwrap();
                }
                text.push_str("}\n");
            }
            TypeDefKind::Enum(words) => {
                writeln!(text, "export type {name} =").unwrap();
                for case in &words.cases {
                    text.push_str(&documented("  ", &case.docs));
                    writeln!(text, "  | \"{}\"", case.name).unwrap();
                }
                end_of_union(&mut text);
            }
            TypeDefKind::Variant(variant) => {
                writeln!(text, "export type {name} =").unwrap();
                for case in &variant.cases {
                    text.push_str(&documented("  ", &case.docs));
                    let value = case.ty.map(|of| format!("; val: {}", self.typescript(&of))).unwrap_or_default();
                    writeln!(text, "  | {{ tag: \"{}\"{value} }}", case.name).unwrap();
                }
                end_of_union(&mut text);
            }
            TypeDefKind::Type(of) => writeln!(text, "export type {name} = {};", self.typescript(of)).unwrap(),
            TypeDefKind::List(of) => writeln!(text, "export type {name} = {}[];", self.typescript(of)).unwrap(),
            other => panic!("no adapter has met {other:?} yet"),
        }
        text
    }

    fn functions(&self, indent: &str, interface: &Interface) -> String {
        let mut text = String::new();
        for (name, Function { params, result, docs, .. }) in &interface.functions {
            text.push_str(&documented(indent, docs));
            let given = params.iter().map(|param| format!("{}: {}", camel(&param.name), self.typescript(&param.ty)));
            let given = given.collect::<Vec<_>>().join(", ");
            let result = result.map_or("void".into(), |of| self.typescript(&of));
            writeln!(text, "{indent}{}({given}): {result};", camel(name)).unwrap();
        }
        text
    }

    fn interface(&self, name: &str) -> &Interface {
        let mut all = self.resolve.interfaces.iter().map(|(_, interface)| interface);
        all.find(|interface| interface.name.as_deref() == Some(name)).unwrap()
    }

    fn typings(&self) -> String {
        let mut text = format!(
            "{HEAD}// The contract as an adapter in JavaScript sees it. A missing value is null, and a fault is thrown.\n"
        );
        for (name, id) in &self.types {
            write!(text, "\n{}", self.declaration(name, *id)).unwrap();
        }
        let calls = self.interface("ehr");
        write!(text, "\n{}export interface Ehr {{\n", documented("", &calls.docs)).unwrap();
        text.push_str(&self.functions("  ", calls));
        text.push_str("}\n");
        text
    }

    /// Formats the host's interfaces as modules.
    fn modules(&self, world: wit_bindgen_core::wit_parser::WorldId) -> String {
        let mut text = format!("{HEAD}// The modules an adapter may import beside its own.\n");
        for item in self.resolve.worlds[world].imports.values() {
            let WorldItem::Interface { id, .. } = item else { continue };
            let interface = &self.resolve.interfaces[*id];
            if interface.functions.is_empty() {
                continue;
            }
            let (path, name) = (self.resolve.id_of(*id).unwrap(), interface.name.as_deref().unwrap());
            let functions = self.functions("    ", interface);
            let used: BTreeSet<&str> =
                words(&functions).filter(|word| self.types.keys().any(|of| pascal(of) == *word)).collect();
            write!(text, "\ndeclare module \"{path}\" {{\n").unwrap();
            for name in used {
                writeln!(text, "  type {name} = import(\"./contract.js\").{name};").unwrap();
            }
            write!(
                text,
                "{}  const {name}: {{\n{functions}  }};\n  export default {name};\n}}\n",
                documented("  ", &interface.docs)
            )
            .unwrap();
        }
        text
    }

    /// Formats a type for the table of checks.
    fn checked(&self, of: &Type, used: &mut BTreeSet<String>) -> String {
        let Type::Id(id) = of else { return format!("{of:?}").to_lowercase() };
        match self.kind(*id) {
            TypeDefKind::Option(of) => format!("{}?", self.checked(of, used)),
            TypeDefKind::List(of) => format!("{}[]", self.checked(of, used)),
            TypeDefKind::Type(of) => self.checked(of, used),
            _ => {
                let name = self.resolve.types[*id].name.clone().unwrap();
                used.insert(name.clone());
                name
            }
        }
    }

    fn table(&self) -> String {
        let mut text = format!(
            "{HEAD}// What an adapter answers, by type: the fields of a record, the words of an enum, the cases of a variant.\n\nexport const TYPES = {{\n"
        );
        let (mut done, mut left) = (BTreeSet::new(), CHECKED.map(str::to_owned).to_vec());
        while let Some(name) = left.pop() {
            if !done.insert(name.clone()) {
                continue;
            }
            let mut used = BTreeSet::new();
            let line = match self.kind(self.types[&name]) {
                TypeDefKind::Record(record) => {
                    let fields = record
                        .fields
                        .iter()
                        .map(|f| format!("{}: \"{}\"", camel(&f.name), self.checked(&f.ty, &mut used)));
                    format!("record: {{ {} }}", fields.collect::<Vec<_>>().join(", "))
                }
                TypeDefKind::Enum(words) => {
                    let words = words.cases.iter().map(|case| format!("\"{}\"", case.name));
                    format!("words: [{}]", words.collect::<Vec<_>>().join(", "))
                }
                TypeDefKind::Variant(variant) => {
                    let cases = variant.cases.iter().map(|case| {
                        let of = case.ty.map_or("null".into(), |of| format!("\"{}\"", self.checked(&of, &mut used)));
                        format!("\"{}\": {of}", case.name)
                    });
                    format!("cases: {{ {} }}", cases.collect::<Vec<_>>().join(", "))
                }
                other => panic!("no adapter has met {other:?} yet"),
            };
            writeln!(text, "  \"{name}\": {{ {line} }},").unwrap();
            left.extend(used.into_iter().rev());
        }
        text.push_str("};\n");
        text
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
}

fn end_of_union(text: &mut String) {
    text.pop();
    text.push_str(";\n");
}

fn documented(indent: &str, docs: &Docs) -> String {
    let Some(text) = &docs.contents else { return String::new() };
    let lines: Vec<&str> = text.trim().lines().map(str::trim).collect();
    match lines[..] {
        [line] => format!("{indent}/** {line} */\n"),
        _ => {
            let lines: String =
                lines.iter().map(|line| format!("{}\n", format!("{indent} * {line}").trim_end())).collect();
            format!("{indent}/**\n{lines}{indent} */\n")
        }
    }
}

fn pascal(name: &str) -> String {
    name.split('-').map(|word| format!("{}{}", word[..1].to_uppercase(), &word[1..])).collect()
}

fn camel(name: &str) -> String {
    let name = pascal(name);
    format!("{}{}", name[..1].to_lowercase(), &name[1..])
}

#[test]
fn the_typings_and_the_table_of_checks_are_those_of_the_contract() {
    let (contract, world) = Contract::read();
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sandbox-js");
    for (file, generated) in [
        ("types/contract.d.ts", contract.typings()),
        ("types/host.d.ts", contract.modules(world)),
        ("src/lib/types.js", contract.table()),
    ] {
        let file = package.join(file);
        if std::env::var_os("UPDATE_BINDINGS").is_some() {
            fs::write(&file, &generated).unwrap();
        }
        let same = fs::read_to_string(&file).is_ok_and(|text| text == generated);
        assert!(same, "{} is not made from wit/v1: run this test with UPDATE_BINDINGS=1", file.display());
    }
}
