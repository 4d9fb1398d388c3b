//! The imports of most pages: `use crate::prelude::*;`.

pub(crate) use actix_web::HttpResponse;
pub(crate) use askama::Template;
pub(crate) use engine::setup::LocationSetup;
pub(crate) use framework::{
    access::api::Api,
    http::errors::ApiError,
    values::{role::Role, times},
};
pub(crate) use location::{LocationId, Timestamp};

pub(crate) use crate::{
    page::{ConsoleError, PageFrame, live_address, query},
    visit::{ConsoleRequest, read_blocking},
    words::{Badge, RelativeTime},
};
