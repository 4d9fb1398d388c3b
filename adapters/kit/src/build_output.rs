//! The result of a language's build tool.

use std::{collections::BTreeSet, path::PathBuf};

pub(crate) struct BuildOutput {
    /// The component without its manifest.
    pub component: Vec<u8>,
    /// Every file that was read.
    pub inputs: BTreeSet<PathBuf>,
}
