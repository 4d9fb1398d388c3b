pub mod ehr;
