//! The table of contents of the API, and the way of a request through it. Above all resources, below the server and the documentation.
//!
//! ```text
//!  route ◄── dispatch ◄── table
//!  (a row)   (request → row → call → answer)   (all rows)
//!               └──► placing   (which node answers)
//! ```

pub mod dispatch;
mod placing;
pub mod route;
pub mod table;
