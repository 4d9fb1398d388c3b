//! Messages for operators about traps.

use wasmtime::Trap;

use super::{
    limits::{MIB, REASON_BYTES},
    trace::Trace,
};

/// The start of the message of the store's limits when a guest exceeds its memory.
const GROWS: &str = "forcing trap when growing memory";

/// Returns the reason why a guest's call ended without an answer. `memory` is the limit in bytes.
pub(crate) fn reason(error: &wasmtime::Error, memory: usize, trace: &Trace) -> String {
    // The innermost cause; wasmtime wraps it in a backtrace of numbers.
    let cause = error.root_cause().to_string();
    if cause.starts_with(GROWS) {
        return format!("the adapter ran out of memory ({} MiB)", memory / MIB);
    }
    match (error.downcast_ref::<Trap>(), trace.panicked()) {
        (Some(Trap::UnreachableCodeReached), Some(place)) => format!("the adapter panicked at {place}"),
        (Some(Trap::UnreachableCodeReached), None) => "the adapter aborted without a message".to_owned(),
        (Some(Trap::StackOverflow), _) => "the adapter overflowed its stack".to_owned(),
        // A Rust guest's own stack is at the start of its memory.
        (Some(Trap::MemoryOutOfBounds), _) => {
            "the adapter overflowed its stack, or reached outside its memory".to_owned()
        }
        _ => trace.redacted(&format!("the adapter failed: {cause}"), REASON_BYTES),
    }
}
