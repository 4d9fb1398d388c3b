//! Conversion of sled's errors.

use crate::{error::StoreError, guard::Fault};

pub(super) fn sled_error(key: &[u8], error: Fault<sled::Error>) -> StoreError {
    match error {
        Fault::Failed(sled::Error::Io(source)) => StoreError::io("sled")(source),
        other => StoreError::damaged(key, other.to_string()),
    }
}
