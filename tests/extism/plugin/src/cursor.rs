//! The position of a pull in the format of `adapters/sdk`: `whole:5` within the first pass, `delta:9` after it.

use crate::contract::PullFault;

pub struct PullCursor {
    pub whole: bool,
    /// The last EHR revision read.
    pub since: u64,
}

impl PullCursor {
    pub fn parse(text: Option<&str>) -> Result<PullCursor, PullFault> {
        let Some(text) = text else { return Ok(PullCursor { whole: true, since: 0 }) };
        let (word, since) = text.split_once(':').ok_or_else(foreign)?;
        let whole = match word {
            "whole" => true,
            "delta" => false,
            _ => return Err(foreign()),
        };
        Ok(PullCursor { whole, since: since.parse().map_err(|_| foreign())? })
    }

    /// Returns the cursor after a page that ends at `revision`.
    pub fn after(&self, revision: u64, more: bool) -> String {
        let word = if self.whole && more { "whole" } else { "delta" };
        format!("{word}:{revision}")
    }
}

fn foreign() -> PullFault {
    PullFault::Rejected("not a cursor of this plug-in".to_owned())
}
