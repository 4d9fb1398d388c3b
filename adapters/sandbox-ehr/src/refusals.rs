//! The replies by which the EHR refuses a write.

use super::wire::SandboxReply;

pub(super) type ValidationResult<T = ()> = Result<T, SandboxReply>;

pub(super) fn not_found() -> SandboxReply {
    SandboxReply::error(404, "not_found", "There is no such record or route")
}

pub(super) fn slot_taken() -> SandboxReply {
    SandboxReply::error(409, "slot_taken", "The operatory is occupied at that time")
}

pub(super) fn invalid(code: &str, message: &str) -> SandboxReply {
    SandboxReply::error(422, code, message)
}

pub(super) fn malformed(error: &serde_json::Error) -> SandboxReply {
    SandboxReply::error(400, "malformed", &error.to_string())
}
