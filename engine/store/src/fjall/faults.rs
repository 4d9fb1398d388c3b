//! Conversion of fjall's errors.

use std::{
    error::Error,
    io::{self, ErrorKind},
};

use crate::{StoreError, guard::GuardError};

/// A file that ends early or contains invalid data is damaged. Other errors of the operating system are I/O
/// errors.
const DAMAGE: [ErrorKind; 2] = [ErrorKind::UnexpectedEof, ErrorKind::InvalidData];

pub(super) fn fjall_error(key: &[u8], fault: GuardError<fjall::Error>) -> StoreError {
    let GuardError::Failed(error) = fault else { return StoreError::damaged(key, fault.to_string()) };
    let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
    let mut of_system = None;
    while let Some(error) = cause.filter(|_| of_system.is_none()) {
        of_system = error.downcast_ref::<io::Error>();
        cause = error.source();
    }
    match of_system {
        // An I/O error cannot be cloned, so only its code is kept.
        Some(io) if !DAMAGE.contains(&io.kind()) => {
            StoreError::io("fjall")(io.raw_os_error().map_or_else(|| io.kind().into(), io::Error::from_raw_os_error))
        }
        _ => StoreError::damaged(key, error.to_string()),
    }
}
