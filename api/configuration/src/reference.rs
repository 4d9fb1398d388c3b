//! The reference of all keys, as a page and as a starter file.

use engine::setup::Setup;

use crate::{contents::KeyFileContents, describe::ReferenceNotes, keys, load, reader::Section};

const HEAD: &str = "# Every key of the configuration\n\n`practice-sync config reference` prints this page, which is generated from the program. \
[Configure](configure.md) describes how files are found, changed and applied.\n\nLengths of time are written `\"500ms\"`, \
`\"30s\"`, `\"5m\"`, `\"1h30m\"`, `\"3d\"`. Relative paths count from the folder of the file that has them. Unknown keys are errors. \
\"Changes at\" is `reload` if a running server applies a change, and `start` if a change needs a restart.\n\n";

const FILE: &str = "\
# practice-sync: a configuration in one file. It can be a folder instead: this file as practice-sync.toml, without the
# institutions, and next to it institutions/*.toml, each with an [institution], its [[sources]] and [[locations]].
# Keys with a default have it here; the others are commented out, and so are tables that are for you to fill in.
# Lengths of time are written \"500ms\", \"30s\", \"5m\", \"1h30m\", \"3d\"; \"env:NAME\" takes a credential from the environment.
# `practice-sync config check FILE` reports every problem, with its file and line.
";

/// Returns the default file. It is a valid configuration, equivalent to an empty one.
pub fn default_file() -> String {
    let [whole, _] = notes();
    format!("{FILE}{}", whole.file())
}

pub fn page() -> String {
    let [whole, access] = notes();
    format!("{HEAD}{}\n{}", whole.page("The server and its institutions"), access.page("The file of the keys"))
}

/// Returns the keys of the configuration, and those of the key file.
fn notes() -> [ReferenceNotes; 2] {
    let (whole, access) = (ReferenceNotes::default(), ReferenceNotes::default());
    load::whole(&Section::described(&whole), None);
    keys::read_file(&Section::described(&access), &Setup::default(), &mut KeyFileContents::default());
    [whole, access]
}
