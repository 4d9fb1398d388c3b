//! Conversion of sled's errors.

use crate::{StoreError, guard::GuardError};

pub(super) fn sled_error(key: &[u8], error: GuardError<sled::Error>) -> StoreError {
    match error {
        GuardError::Failed(sled::Error::Io(source)) => StoreError::io("sled")(source),
        other => StoreError::damaged(key, other.to_string()),
    }
}
