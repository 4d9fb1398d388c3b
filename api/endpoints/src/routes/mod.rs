//! The table of routes and the path of a request through it. Depends on all resources; server and documentation depend
//! on it.
//!
//! ```text
//!  route ◄──────────────── dispatch ◄── table
//!  (a row; path → rows)    (request → row → call → answer)   (all rows)
//!                             ├──► placing   (which node answers)
//!                             └──► agents   (messages of agents → requests of intents)
//! ```

mod agents;
pub mod dispatch;
mod placing;
pub mod route;
pub mod table;
