//! Webhook endpoints, their subscriptions and their messages.

pub mod webhook_deliveries;
pub mod webhook_endpoints;
pub mod webhook_ownership;
pub mod webhook_subscriptions;
