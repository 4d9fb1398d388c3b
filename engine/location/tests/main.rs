//! The rules of a location: stories, properties, oracles and speed.
#![allow(clippy::unwrap_used)]

mod calendar;
mod explain;
mod groups;
mod hours;
mod passes;
mod persisted;
mod properties;
mod queue;
mod quota;
mod read_cycle;
mod rules;
mod rules_oracle;
mod sim;
mod slots;
mod slots_oracle;
mod slots_speed;
mod speed;
mod stories;
mod story;
mod support;
mod zones;
