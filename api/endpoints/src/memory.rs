//! Global allocator of the binary and its benchmarks, and its release of memory.

use libmimalloc_sys::{mi_option_set_default, mi_option_t};

/// Turns and commits mostly make small allocations that another thread frees. This is the slowest case of the C
/// library's allocator, a quarter of the time of a pull.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `mi_option_purge_delay` of mimalloc's header, missing in the crate: milliseconds until freed pages are returned to
/// the system.
const PURGE_DELAY: mi_option_t = 15;

/// Purge delay in milliseconds. The default of a second retains most of the memory of adapter compilation, because
/// later allocations postpone the purge.
const SOON: std::ffi::c_long = 10;

/// Shortens the purge delay. `MIMALLOC_PURGE_DELAY` in the environment takes precedence.
#[allow(unsafe_code)]
pub fn give_back_soon() {
    // SAFETY: sets a number in mimalloc's table of options, before there is a second thread.
    unsafe { mi_option_set_default(PURGE_DELAY, SOON) }
}

/// Returns the resident memory in bytes, where the system reports it (Linux).
pub fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(kibibytes.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

#[cfg(test)]
#[allow(unsafe_code)]
mod tests {
    use libmimalloc_sys::mi_option_get;

    use super::*;

    /// The number must denote the delay in the linked version, the only option with a default of a second.
    #[test]
    fn the_purge_delay_is_shortened() {
        // SAFETY: reads a number of mimalloc's table of options.
        let delay = || unsafe { mi_option_get(PURGE_DELAY) };
        assert_eq!(delay(), 1_000);
        give_back_soon();
        assert_eq!(delay(), SOON);
    }
}
