//! Locations inside other records.

use crate::prelude::*;

/// A location inside another resource.
#[view(value = LocationSetup, named = "location")]
pub(crate) struct LocationBasic<'a> {
    id: u32,
    name: &'a str,
    /// Street and number of the location; null if not configured.
    street_address: Option<&'a str>,
    /// Second line of the street address, such as a suite; null if not configured.
    #[view(with = entry.extras().street_address_2.as_deref())]
    street_address_2: Option<&'a str>,
    /// City of the location; null if not configured.
    city: Option<&'a str>,
    /// State of the location; null if not configured.
    state: Option<&'a str>,
    /// Postal code of the location; null if not configured.
    zip_code: Option<&'a str>,
    /// Phone number of the location; null if not configured.
    phone_number: Option<&'a str>,
    /// E-mail address of the location; null if not configured.
    email: Option<&'a str>,
    /// `true` if the location is closed. Calls for a closed location are refused with 404.
    #[view(with = entry.status == LocationStatus::Closed)]
    inactive: bool,
}

pub(crate) fn booking_location(location: &LocationSetup) -> BookingLocation<'_> {
    let state_and_zip = [location.state.as_deref(), location.zip_code.as_deref()];
    let state_and_zip = state_and_zip.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let second_line = location.extras().street_address_2.as_deref();
    let parts = [location.street_address.as_deref(), second_line, location.city.as_deref()];
    let parts = parts.into_iter().flatten().chain((!state_and_zip.is_empty()).then_some(state_and_zip.as_str()));
    BookingLocation { location_id: location.id, name: &location.name, address: parts.collect::<Vec<_>>().join(", ") }
}

/// The location of a booking.
#[view]
pub(crate) struct BookingLocation<'a> {
    #[schemars(with = "u32")]
    pub location_id: LocationId,
    /// Name of the location.
    pub name: &'a str,
    /// Postal address of the location in one line; empty if none is configured.
    pub address: String,
}
