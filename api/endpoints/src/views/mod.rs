//! The parts of views that several resources share, and the fields of v2.2.2. A view is a record as the API shows it;
//! each is in the file of its resource. No handlers, calls or errors. Doc comments of fields are their descriptions in
//! the API's documentation. Data added on demand (`include[]`) is a public field that is absent until set.
//!
//! ```text
//!  common ◄── render ◄── v2, persons, locations, gate
//!  fields    views and includes
//! ```

pub mod common;
pub mod gate;
pub mod locations;
pub mod persons;
pub mod render;
pub mod v2;
