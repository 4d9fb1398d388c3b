//! Panics in the operator's log. Without this a panic in a stripped component shows as `<wasm function 234>`.

use std::{panic::PanicHookInfo, sync::Once};

static HOOK: Once = Once::new();

/// Makes panics of this instance report where they happened. Cheap when already done.
pub fn report() {
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|info| crate::log::error(&text(info))));
    });
}

/// File and line. The message may quote a record: only native tests, which have no patients, see it.
fn text(info: &PanicHookInfo<'_>) -> String {
    if cfg!(not(target_arch = "wasm32")) {
        return info.to_string();
    }
    match info.location() {
        Some(at) => format!("panicked at {}:{}", at.file(), at.line()),
        None => "panicked".to_owned(),
    }
}
