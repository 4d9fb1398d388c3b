//! What the tool of a language makes of an adapter's folder.

use std::{collections::BTreeSet, path::PathBuf};

pub(crate) struct Made {
    /// Without the manifest.
    pub component: Vec<u8>,
    /// Every file it was made of.
    pub inputs: BTreeSet<PathBuf>,
}
