//! What systemd is told of the server, where it asks for that (`Type=notify`); nothing where it does not.

use sd_notify::NotifyState;

/// It serves, for the first time or again after a reload.
pub(crate) fn ready() {
    tell(&[NotifyState::Ready]);
}

pub(crate) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(error) => tracing::warn!(%error, "the time of the reload cannot be told to systemd"),
    }
}

pub(crate) fn stopping() {
    tell(&[NotifyState::Stopping]);
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "systemd cannot be told how the server stands");
    }
}
