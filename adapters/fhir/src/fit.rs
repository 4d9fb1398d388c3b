//! What fields of the contract can hold. A longer text is cut: it must not hold up its page.

use adapter_sdk::records;

/// Bytes of an identifier, of a short text and of a long one; JSON in a field is as long as a long text, at most.
const ID: usize = 200;
const SHORT: usize = 500;
const LONG: usize = 64 * 1024;
/// Bytes of an amount of money.
const AMOUNT: usize = 32;
const CUT: &str = "…";

pub trait Fit {
    fn fit(self) -> Self;
}

macro_rules! fit {
    ($($record:ident: [$($short:ident)*] [$($long:ident)*])*) => {
        $(impl Fit for records::$record {
            fn fit(mut self) -> Self {
                $(self.$short.cut(SHORT);)*
                $(self.$long.cut(LONG);)*
                self
            }
        })*
    };
}

fit! {
    Patient: [first_name middle_name last_name email cell_phone home_phone work_phone work_phone_extension primary_phone address
        billing_type chart_id preferred_language] [premedication]
    Provider: [first_name middle_name last_name display_name email npi tin state_license specialty_code] []
    Operatory: [name display_name] []
    AppointmentType: [name] []
    WorkingHour: [label] []
    Appointment: [write_key version] [note]
    InsurancePlan: [name payer_id address group_number employer_name] []
    Coverage: [subscriber_name subscriber_number] []
    PatientHistoryItem: [] [note]
    PatientAlert: [] [note]
    CommunicationLog: [] [note]
    FormSchema: [title slug version] []
    Payment: [transaction_id] [description]
}

trait Cut {
    fn cut(&mut self, bytes: usize);
}

impl Cut for String {
    fn cut(&mut self, bytes: usize) {
        if self.len() > bytes {
            self.truncate(self.floor_char_boundary(bytes - CUT.len()));
            self.push_str(CUT);
        }
    }
}

impl<T: Cut> Cut for Option<T> {
    fn cut(&mut self, bytes: usize) {
        if let Some(held) = self {
            held.cut(bytes);
        }
    }
}

impl Cut for records::Address {
    fn cut(&mut self, bytes: usize) {
        for line in [
            &mut self.line1,
            &mut self.line2,
            &mut self.city,
            &mut self.region,
            &mut self.postal_code,
            &mut self.country,
        ] {
            line.cut(bytes);
        }
    }
}

pub fn is_id(text: &str) -> bool {
    (1..=ID).contains(&text.len()) && !text.chars().any(char::is_control)
}

pub fn is_json_size(json: &str) -> bool {
    json.len() <= LONG
}

pub fn is_money(amount: &str, currency: &str) -> bool {
    amount.len() <= AMOUNT && currency.len() == 3 && currency.bytes().all(|byte| byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters_and_only_where_they_are_too_long() {
        let fitted = |text: String| records::Patient { last_name: text, ..records::Patient::default() }.fit().last_name;
        let long = fitted("ż".repeat(400));
        assert!(long.len() <= SHORT && long.ends_with("żżż…"), "{long}");
        assert_eq!(fitted("x".repeat(SHORT)), "x".repeat(SHORT));
        let city = Some("c".repeat(SHORT + 1));
        let address = Some(records::Address { city, ..records::Address::default() });
        let patient = records::Patient { address, ..records::Patient::default() }.fit();
        assert_eq!(patient.address.and_then(|address| address.city).map(|city| city.len()), Some(SHORT));
    }
}
