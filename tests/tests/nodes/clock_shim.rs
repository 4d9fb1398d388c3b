//! A preloaded library that sets the wall clock ahead by `SECONDS_AHEAD`. The test compiles it; it is not a module of
//! the test.

use std::{
    ffi::{c_char, c_int, c_void},
    sync::OnceLock,
};

const CLOCK_REALTIME: c_int = 0;
const CLOCK_REALTIME_COARSE: c_int = 5;

#[repr(C)]
pub struct Timespec {
    seconds: i64,
    nanos: i64,
}

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, symbol: *const c_char) -> *mut c_void;
}

type Gettime = extern "C" fn(c_int, *mut Timespec) -> c_int;

/// # Safety
/// `time` must be null or valid for writes, as for the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int {
    static REAL: OnceLock<usize> = OnceLock::new();
    static AHEAD: OnceLock<i64> = OnceLock::new();
    let real = *REAL.get_or_init(|| {
        let next = usize::MAX as *mut c_void;
        unsafe { dlsym(next, c"clock_gettime".as_ptr()) as usize }
    });
    let real = unsafe { std::mem::transmute::<usize, Gettime>(real) };
    let answered = real(clock, time);
    if answered == 0 && matches!(clock, CLOCK_REALTIME | CLOCK_REALTIME_COARSE) && !time.is_null() {
        let ahead = AHEAD.get_or_init(|| std::env::var("SECONDS_AHEAD").ok().and_then(|text| text.parse().ok()).unwrap_or(0));
        unsafe { (*time).seconds += ahead };
    }
    answered
}
