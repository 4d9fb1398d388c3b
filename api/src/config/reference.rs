//! The page of every key there is.

use super::{describe::Notes, file, keys};

const HEAD: &str = "# Every key of the configuration\n\nWritten by what reads the files: `practice-sync config reference` prints it. \
[Configure](configure.md) tells how files are found, changed and taken over.\n\nLengths of time are written `\"500ms\"`, \
`\"30s\"`, `\"5m\"`, `\"1h30m\"`, `\"3d\"`. Relative paths count from the folder of the file that has them. Unknown keys are errors. \
\"Changes at\" says whether a running server takes a change over, or the next start.\n\n";

pub(crate) fn page() -> String {
    let (whole, access) = (Notes::default(), Notes::default());
    file::describe(&whole);
    keys::describe(&access);
    format!("{HEAD}{}\n{}", whole.page("The server and its institutions"), access.page("The file of the keys"))
}
