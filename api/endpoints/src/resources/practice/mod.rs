//! Institutions, locations, providers and operatories, their status, their changes, and the export.

pub mod capabilities;
pub mod changes;
pub mod export;
pub mod institutions;
pub mod locations;
pub mod operatories;
pub mod problems;
pub mod providers;
pub mod sync_status;
pub mod write_requests;
