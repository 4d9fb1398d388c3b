//! Configurations on disk: one file, or a folder.

use std::{fs, path::Path};

use location::{
    ids::{InstitutionId, LocationId},
    settings::LocationSettings,
};
use tempfile::TempDir;

use crate::*;

const MAIN: &str = "[adapters]\nfhir = \"adapters/fhir.wasm\"\n[defaults.write]\nconcurrency = 3\n";

fn institution(id: u32) -> String {
    format!(
        "[institution]\nid = {id}\nsubdomain = \"practice-{id}\"\nname = \"Practice {id}\"\nenvironment = \"sandbox\"\n\
         [institution.booking]\nalternatives = 7\n\
         [[sources]]\nid = {id}\nname = \"EHR\"\nadapter = \"fhir\"\nbase_url = \"https://ehr.example\"\n\
         [[locations]]\nid = {id}\nname = \"Main\"\nzone = \"UTC\"\nsource = {id}\n[locations.write]\nmax_queue = 9\n"
    )
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("institutions")).unwrap();
    for (file, text) in files {
        fs::write(dir.path().join(file), text).unwrap();
    }
    dir
}

fn problems(path: &Path) -> Vec<String> {
    let folder = if path.is_dir() { path } else { path.parent().unwrap() };
    let folder = format!("{}/", folder.display());
    let error = Config::load(path).err().unwrap();
    error.problems.iter().map(|problem| problem.to_string().replace(&folder, "")).collect()
}

#[test]
fn a_folder_has_a_file_for_each_institution() {
    let (first, second) = (institution(1), institution(2));
    let dir = folder(&[
        ("practice-sync.toml", MAIN),
        ("institutions/b.toml", &second),
        ("institutions/a.toml", &first),
        // Files that are not part of the configuration.
        ("institutions/.c.toml", "no TOML"),
        ("institutions/a.toml~", "no TOML"),
        ("institutions/README", "no TOML"),
    ]);
    let config = Config::load(dir.path()).unwrap();
    assert_eq!(config.setup.institutions.keys().collect::<Vec<_>>(), [&InstitutionId(1), &InstitutionId(2)]);
    let location = &config.setup.locations[&LocationId(2)];
    assert_eq!((location.institution, location.source), (InstitutionId(2), Some(2)));
    let LocationSettings { booking, write, .. } = &*location.settings;
    assert_eq!((write.concurrency, write.max_queue, booking.limits.alternatives), (3, 9, 7));
    assert_eq!(config.data_dir, dir.path().join("data"));
    assert_eq!(config.keys_file, dir.path().join("keys.toml"));
    assert_eq!(config.setup.engine.adapters["fhir"], dir.path().join("adapters/fhir.wasm"));
}

#[test]
fn problems_of_a_folder_name_file_and_line() {
    let dir = folder(&[
        ("practice-sync.toml", "data_dir = 7\n[[institutions]]\nid = 1\n"),
        ("institutions/a.toml", &institution(1)),
        ("institutions/b.toml", &institution(1).replace("practice-1", "other")),
        ("institutions/c.toml", "x = \n"),
        ("institutions/d.toml", "[[locations]]\nid = 8\n"),
        ("institutions/e.toml", &institution(5).replace("zone = \"UTC\"", "zone = \"Mars/Olympus\"")),
    ]);
    let found = problems(dir.path());
    for expected in [
        "practice-sync.toml:1: `data_dir` must be a string",
        "practice-sync.toml:2: in a folder each institution has its own file",
        "institutions/b.toml:2: duplicate institution id `1`: it is at institutions/a.toml:2, too",
        "institutions/b.toml:9: duplicate source id `1`: it is at institutions/a.toml:9, too",
        "institutions/b.toml:14: duplicate location id `1`: it is at institutions/a.toml:14, too",
        "institutions/c.toml:1: ",
        "institutions/d.toml:1: `institution` is missing in the file",
        "institutions/e.toml:16: `zone` must be an IANA time zone",
    ] {
        assert!(found.iter().any(|it| it.starts_with(expected)), "{expected}: {found:#?}");
    }
    fs::remove_dir_all(dir.path().join("institutions")).unwrap();
    assert!(problems(dir.path())[0].starts_with("institutions: cannot be read"), "an empty folder would close all");
}

#[test]
fn api_keys_are_read_from_the_key_file_only() {
    let dir = folder(&[("one.toml", super::PRACTICE)]);
    let file = dir.path().join("one.toml");
    assert_eq!(Config::load(&file).unwrap().access.keys, []);
    let keys = "[[keys]]\nname = \"k\"\nsha256 = \"xx\"\nenvironment = \"sandbox\"\ninstitutions = [\"acme\"]\n";
    let right = keys.replace("xx", &"ab".repeat(32));
    fs::write(dir.path().join("keys.toml"), keys).unwrap();
    assert!(problems(&file)[0].starts_with("keys.toml:3: `sha256`"), "{:?}", problems(&file));
    fs::write(dir.path().join("keys.toml"), &right).unwrap();
    assert_eq!(Config::load(&file).unwrap().access.keys[0].name, "k");
    // A key file named explicitly must exist.
    fs::write(&file, format!("keys_file = \"other.toml\"\n{}", super::PRACTICE)).unwrap();
    assert!(problems(&file)[0].starts_with("other.toml: cannot be read"), "{:?}", problems(&file));
    // Keys in the main file, as in earlier releases.
    fs::write(&file, format!("{}{right}", super::PRACTICE)).unwrap();
    let moved = "one.toml:11: `keys` in the file now have their own file: move each [[keys]] to keys.toml";
    assert!(problems(&file)[0].starts_with(moved), "{:?}", problems(&file));
}

#[test]
fn changes_are_listed_by_key() {
    let dir = folder(&[("practice-sync.toml", MAIN), ("institutions/a.toml", &institution(1))]);
    let before = Config::load(dir.path()).unwrap().values;
    assert_eq!(before.changes(&before), ConfigChanges::default());
    let changed = institution(1)
        .replace("max_queue = 9", "max_queue = 10")
        .replace("base_url", "headers = { Authorization = \"one\" }\nbase_url");
    fs::write(dir.path().join("institutions/a.toml"), &changed).unwrap();
    fs::write(dir.path().join("institutions/b.toml"), institution(2)).unwrap();
    fs::write(dir.path().join("practice-sync.toml"), MAIN.replace('3', "4") + "[engine]\nhistory_days = 31\n").unwrap();
    let after = Config::load(dir.path()).unwrap().values;
    let changes = before.changes(&after);
    assert_eq!(
        changes.lines,
        [
            "~ defaults.write.concurrency 3 -> 4",
            "~ engine.history_days 30 -> 31",
            "+ institution 2 (Practice 2)",
            "~ source 1 headers.Authorization changed",
            "+ source 2 (EHR)",
            "~ location 1 write.max_queue 9 -> 10",
            "+ location 2 (Main)",
        ]
    );
    fs::write(dir.path().join("institutions/a.toml"), changed.replace("\"one\"", "\"two\"")).unwrap();
    let rotated = Config::load(dir.path()).unwrap().values;
    assert_eq!(after.changes(&rotated).lines, ["~ source 1 headers.Authorization changed"]);
    fs::remove_file(dir.path().join("institutions/b.toml")).unwrap();
    let gone = rotated.changes(&Config::load(dir.path()).unwrap().values).lines;
    assert_eq!(before.changes(&rotated).at_start, [""; 0]);
    assert_eq!(gone, ["- institution 2 (Practice 2)", "- source 2 (EHR)", "- location 2 (Main)"]);
}

/// Keys read only at startup: a single key, a key shared by two tables, a whole table, and the owner of a record.
#[test]
fn changed_keys_read_only_at_startup_are_listed() {
    let values = |text: &str| Config::parse(text, Path::new("/nowhere")).unwrap().values;
    let institutions = |owner: usize| {
        (0..2).map(move |n| {
            let location = if n == owner { "[[institutions.locations]]\nid = 7\nname = \"Main\"\nzone = \"UTC\"" } else { "" };
            let id = n + 1;
            format!("[[institutions]]\nid = {id}\nsubdomain = \"p{id}\"\nname = \"P\"\nenvironment = \"sandbox\"\n{location}\n")
        })
    };
    let with = |tables: &str, owner| values(&format!("{tables}\n{}", institutions(owner).collect::<String>()));
    let tls = "tls_certificate = \"chain.pem\"\ntls_key = \"key.pem\"";
    let after = with(
        &format!(
            "[http]\nworkers = 3\nmax_body = 2048\n[operators]\n{tls}\n[audit]\nkeep_days = 9\n[webhooks]\nqueue = 200"
        ),
        1,
    );
    assert_eq!(
        with("[http]\nworkers = 2", 0).changes(&after).at_start,
        ["audit.keep_days", "http.workers", "operators.tls_certificate", "operators.tls_key", "location 7 institution"]
    );
}

#[test]
fn a_key_is_not_blamed_for_an_institution_whose_file_is_broken() {
    let hash = "ab".repeat(32);
    let key = |institution: &str| {
        format!(
            "[[keys]]\nname = \"k\"\nsha256 = \"{hash}\"\nenvironment = \"sandbox\"\ninstitutions = [\"{institution}\"]\n"
        )
    };
    let dir = folder(&[
        ("practice-sync.toml", MAIN),
        ("institutions/a.toml", "this is not"),
        ("keys.toml", &key("practice-1")),
    ]);
    let found = problems(dir.path());
    assert!(found.iter().all(|problem| problem.starts_with("institutions/a.toml:1: ")), "{found:?}");
    // If all files are readable, the problem is in the key.
    fs::write(dir.path().join("institutions/a.toml"), institution(1)).unwrap();
    fs::write(dir.path().join("keys.toml"), key("nobody")).unwrap();
    assert_eq!(problems(dir.path()), ["keys.toml:5: no institution with subdomain `nobody`"]);
}

/// The default environment is the sandbox, which keys of production must not be compared with.
#[test]
fn an_institution_with_an_invalid_environment_is_left_out() {
    let hash = "ab".repeat(32);
    let key = format!(
        "[[keys]]\nname = \"k\"\nsha256 = \"{hash}\"\nenvironment = \"production\"\ninstitutions = [\"practice-1\"]\n"
    );
    let dir = folder(&[
        ("practice-sync.toml", MAIN),
        ("institutions/a.toml", &institution(1).replace("\"sandbox\"", "\"prod\"")),
        ("keys.toml", &key),
    ]);
    let found = problems(dir.path());
    assert!(found.len() == 1 && found[0].starts_with("institutions/a.toml:5: `environment` must be"), "{found:?}");
    let (config, _) = Config::without_keys(dir.path());
    assert!(config.unwrap().setup.institutions.is_empty());
}
