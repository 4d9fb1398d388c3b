//! What a trap means, in words for operators.

use wasmtime::Trap;

use super::{
    limits::{MIB, REASON_BYTES},
    trace::Trace,
};

/// How the store's limits begin to say that a guest wants more than it may have.
const GROWS: &str = "forcing trap when growing memory";

/// Why a guest's call ended without an answer. `memory`: bytes it may take.
pub(crate) fn reason(error: &wasmtime::Error, memory: usize, trace: &Trace) -> String {
    // The innermost cause; around it wasmtime puts a backtrace of numbers.
    let cause = error.root_cause().to_string();
    if cause.starts_with(GROWS) {
        return format!("the adapter ran out of memory ({} MiB)", memory / MIB);
    }
    match (error.downcast_ref::<Trap>(), trace.panicked()) {
        (Some(Trap::UnreachableCodeReached), Some(place)) => format!("the adapter panicked at {place}"),
        (Some(Trap::UnreachableCodeReached), None) => "the adapter gave up without saying why".to_owned(),
        (Some(Trap::StackOverflow), _) => "the adapter overflowed its stack".to_owned(),
        // A Rust guest's own stack lies at the start of its memory.
        (Some(Trap::MemoryOutOfBounds), _) => {
            "the adapter overflowed its stack, or reached outside its memory".to_owned()
        }
        _ => trace.redacted(&format!("the adapter failed: {cause}"), REASON_BYTES),
    }
}
