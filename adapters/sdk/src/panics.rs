//! Panics in the operator's log. Without the hook, a panic in a stripped component shows as `<wasm function 234>`.

use std::{panic::PanicHookInfo, sync::Once};

static HOOK: Once = Once::new();

/// Installs the hook that logs the location of panics. Later calls are cheap.
pub fn report() {
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|info| crate::log::error(&text(info))));
    });
}

/// Returns file and line. The message may quote a record, so only native tests, which have no patient data, log it.
fn text(info: &PanicHookInfo<'_>) -> String {
    if cfg!(not(target_arch = "wasm32")) {
        return info.to_string();
    }
    match info.location() {
        Some(at) => format!("panicked at {}:{}", at.file(), at.line()),
        None => "panicked".to_owned(),
    }
}
