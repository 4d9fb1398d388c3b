//! The allocator of the product and of all that measures it, and when it gives memory back.

use libmimalloc_sys::{mi_option_set_default, mi_option_t};

/// A turn and a commit are mostly small allocations of one thread that another gives back, which is where the C library's allocator is
/// slowest: a quarter of the time of a pull.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `mi_option_purge_delay` of mimalloc's header, which the crate does not name: milliseconds before freed pages go back to the system.
const PURGE_DELAY: mi_option_t = 15;

/// In milliseconds. mimalloc's own second is so long that most of what compiling the adapters took stays: a later allocation puts it off.
const SOON: std::ffi::c_long = 10;

/// Has freed memory given back soon. `MIMALLOC_PURGE_DELAY` in the environment has precedence.
#[allow(unsafe_code)]
pub(crate) fn give_back_soon() {
    // SAFETY: sets a number in mimalloc's table of options, before there is a second thread.
    unsafe { mi_option_set_default(PURGE_DELAY, SOON) }
}

/// Bytes of memory the process has, where the system tells (Linux).
pub(crate) fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(kibibytes.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

#[cfg(test)]
#[allow(unsafe_code)]
mod tests {
    use libmimalloc_sys::mi_option_get;

    use super::*;

    /// The only option whose default is a second: the number stands for the delay in the linked version.
    #[test]
    fn the_option_is_the_delay_and_is_changed() {
        // SAFETY: reads a number of mimalloc's table of options.
        let delay = || unsafe { mi_option_get(PURGE_DELAY) };
        assert_eq!(delay(), 1_000);
        give_back_soon();
        assert_eq!(delay(), SOON);
    }
}
