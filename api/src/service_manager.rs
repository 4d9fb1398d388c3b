//! State notifications to systemd (`Type=notify`), without effect elsewhere.

use sd_notify::NotifyState;

/// Reports readiness after the start or a reload.
pub(crate) fn ready() {
    report(&[NotifyState::Ready]);
}

pub(crate) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => report(&[NotifyState::Reloading, now]),
        Err(error) => tracing::warn!(%error, "the time of the reload cannot be reported to systemd"),
    }
}

pub(crate) fn stopping() {
    report(&[NotifyState::Stopping]);
}

fn report(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "the server state cannot be reported to systemd");
    }
}
