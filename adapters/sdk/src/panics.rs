//! Panics in the operator's log. Without this a panic in a stripped component shows as `<wasm function 234>`.

use std::sync::Once;

static HOOK: Once = Once::new();

/// Makes panics of this instance report file, line and message. Cheap when already done.
pub fn report() {
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|info| crate::log::error(&info.to_string())));
    });
}
