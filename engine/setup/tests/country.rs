//! Country codes.

use setup::country::CountryCode;

#[test]
fn country_codes_are_two_capital_letters() {
    assert_eq!(CountryCode::parse("US"), Ok(CountryCode::US));
    assert_eq!(CountryCode::parse("GB").map(|code| code.to_string()), Ok("GB".to_owned()));
    for wrong in ["", "U", "us", "USA", "U1", "\u{dc}"] {
        assert!(CountryCode::parse(wrong).is_err(), "{wrong}");
    }
}
