//! Country codes, and the memory that locations take.

mod country;
mod memory;
