//! Values.

pub mod cursor;
pub mod kinds;
pub mod limits;
pub mod reasons;
pub mod record_uuid;
pub mod secret;
pub mod slot_token;
pub mod times;
pub mod token;
pub mod versions;
