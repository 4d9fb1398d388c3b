//! Conversions between the contract's records and the engine's, in both directions, generated from the declarations of
//! the records. Values from a guest are validated.

use std::collections::BTreeSet;

use location::WorkingHour;
use records::{Address, Day, Json, Money, Seconds, ehr::*, money::MoneyError, record::Schema, schema::Limit};

use super::{
    bindings::{exports::practice_sync::ehr::ehr as wit, practice_sync::ehr::types},
    check::{self, Checked, ContractViolation, Convert, require},
    limits::{LONG_TEXT_BYTES, REFERENCES, SHORT_TEXT_BYTES},
    words::move_unlisted_to_extra,
};

/// Implements the conversions of a record or of a part of one.
macro_rules! convert {
    ($contract:ident $ehr:ident { $( $field:ident ($($limit:tt)+) )* }) => {
        impl Convert<types::$contract> for $ehr {
            fn read(from: types::$contract, part: &'static str, _: Limit) -> Checked<$ehr> {
                let read = || Ok($ehr {
                    $( $field: Convert::read(from.$field, stringify!($field), Limit::$($limit)+)?, )*
                });
                read().map_err(|broken: ContractViolation| broken.within(part))
            }

            fn write(self) -> types::$contract {
                types::$contract { $( $field: self.$field.write(), )* }
            }
        }
    };
}

macro_rules! conversions {
    ($($body:ident($resource:ident))*) => {
        $( records::$body!(convert); )*

        pub(crate) fn contract_resource(resource: Resource) -> wit::Resource {
            match resource {
                $( Resource::$resource => wit::Resource::$resource, )*
            }
        }

        pub(crate) fn known_resource(resource: wit::Resource) -> Resource {
            match resource {
                $( wit::Resource::$resource => Resource::$resource, )*
            }
        }

        /// Converts a record. Returns the contract's name of its kind too.
        pub(crate) fn read(mut record: wit::Record) -> (&'static str, Checked<EhrRecord>) {
            move_unlisted_to_extra(&mut record);
            let (rules, read) = match record {
                $( wit::Record::$body(from) => {
                    (&records::$body::RULES, Convert::read(from, "", Limit::Short).map(EhrRecord::$body))
                } )*
            };
            (rules.record, read.and_then(whole))
        }
    };
}

records::ChargeSplit!(convert);
records::ProviderSplit!(convert);
records::ClaimAmounts!(convert);
records::for_every_record!(conversions);

/// Checks the rules that involve several fields of a record.
fn whole(record: EhrRecord) -> Checked<EhrRecord> {
    match &record {
        EhrRecord::WorkingHour(hour) => {
            let ways = [!hour.days.is_empty(), hour.specific_date.is_some(), hour.recurrence.is_some()];
            let exactly_one = ways.into_iter().filter(|way| *way).count() == 1;
            require(exactly_one, "days", "exactly one of days, specific_date and recurrence must be given")?;
            let once = hour.days.iter().collect::<BTreeSet<_>>().len() == hour.days.len();
            require(once, "days", "must name each day once")?;
        }
        EhrRecord::Appointment(visit) => require(visit.start < visit.end, "end", "must be after start")?,
        _ => {}
    }
    Ok(record)
}

/// Returns the contract's case for a write. Most resources are never written.
pub(crate) fn write(operation: Operation, record: EhrRecord) -> Result<wit::Write, Fault> {
    use Operation::{Create, Delete, Update};
    Ok(match (operation, record) {
        (Create, EhrRecord::InsurancePlan(plan)) => wit::Write::CreateInsurancePlan(plan.write()),
        (Create, EhrRecord::Coverage(coverage)) => wit::Write::CreateCoverage(coverage.write()),
        (Delete, EhrRecord::Coverage(coverage)) => wit::Write::DeleteCoverage(coverage.id),
        (Create | Update, EhrRecord::PatientHistoryItem(item)) => wit::Write::SavePatientHistoryItem(item.write()),
        (Create, EhrRecord::PatientAlert(alert)) => wit::Write::CreatePatientAlert(alert.write()),
        (Update, EhrRecord::PatientAlert(alert)) => wit::Write::DisablePatientAlert(alert.write()),
        (Create, EhrRecord::CommunicationLog(log)) => wit::Write::CreateCommunicationLog(log.write()),
        (Create, EhrRecord::FormResponse(response)) => wit::Write::CreateFormResponse(response.write()),
        (Create, EhrRecord::Payment(payment)) => wit::Write::CreatePayment(payment.write()),
        (Create, EhrRecord::Adjustment(adjustment)) => wit::Write::CreateAdjustment(adjustment.write()),
        (operation, record) => {
            let resource = record.resource();
            return Err(Fault::Unsupported(format!("the contract has no write for {operation:?} of {resource:?}")));
        }
    })
}

impl<W, T: Convert<W>> Convert<Option<W>> for Option<T> {
    fn read(from: Option<W>, field: &'static str, limit: Limit) -> Checked<Option<T>> {
        let from = from.filter(|_| limit != Limit::NeverRead);
        from.map(|value| T::read(value, field, limit)).transpose()
    }

    fn write(self) -> Option<W> {
        self.map(T::write)
    }
}

impl<W, T: Convert<W>> Convert<Vec<W>> for Vec<T> {
    fn read(from: Vec<W>, field: &'static str, limit: Limit) -> Checked<Vec<T>> {
        require(from.len() <= REFERENCES, field, "must have at most 1000 entries")?;
        from.into_iter().map(|value| T::read(value, field, limit)).collect()
    }

    fn write(self) -> Vec<W> {
        self.into_iter().map(T::write).collect()
    }
}

impl Convert<String> for String {
    fn read(from: String, field: &'static str, limit: Limit) -> Checked<String> {
        match limit {
            Limit::Id => check::id(field, from),
            Limit::Long => Ok(check::cut(from, LONG_TEXT_BYTES)),
            Limit::Exact => check::exact(field, from),
            Limit::Date => check::date(field, from),
            Limit::TimeOfDay => check::time_of_day(field, from, false),
            Limit::EndOfDay => check::time_of_day(field, from, true),
            _ => Ok(check::cut(from, SHORT_TEXT_BYTES)),
        }
    }

    fn write(self) -> String {
        self
    }
}

impl Convert<i64> for i64 {
    fn read(from: i64, field: &'static str, _: Limit) -> Checked<i64> {
        check::instant(field, from)
    }

    fn write(self) -> i64 {
        self
    }
}

impl Convert<bool> for bool {
    fn read(from: bool, _: &'static str, _: Limit) -> Checked<bool> {
        Ok(from)
    }

    fn write(self) -> bool {
        self
    }
}

macro_rules! numbers {
    ($($number:ty)*) => { $( impl Convert<$number> for $number {
        fn read(from: $number, field: &'static str, limit: Limit) -> Checked<$number> {
            match limit {
                Limit::Between(least, most, rule) => {
                    require((least..=most).contains(&i64::from(from)), field, rule)?;
                    Ok(from)
                }
                _ => Ok(from),
            }
        }

        fn write(self) -> $number {
            self
        }
    } )* };
}

numbers!(u8 u32);

impl Convert<i64> for Seconds {
    fn read(from: i64, field: &'static str, _: Limit) -> Checked<Seconds> {
        Seconds::new(from).ok_or(ContractViolation { field: field.into(), rule: "must be in the years 1 to 9999" })
    }

    fn write(self) -> i64 {
        self.seconds()
    }
}

impl Convert<String> for Day {
    fn read(from: String, field: &'static str, _: Limit) -> Checked<Day> {
        from.parse().map(Day).map_err(|_| ContractViolation { field: field.into(), rule: "must be a date, YYYY-MM-DD" })
    }

    fn write(self) -> String {
        self.to_string()
    }
}

impl Convert<types::Money> for Money {
    fn read(from: types::Money, field: &'static str, _: Limit) -> Checked<Money> {
        let rule = |error| match error {
            MoneyError::Amount => "must be an amount of at most 28 decimal digits",
            MoneyError::Currency => "must have a currency of three capital letters",
        };
        let unsigned = from.amount.strip_prefix('+').filter(|digits| !digits.starts_with('-'));
        let amount = unsigned.unwrap_or(&from.amount);
        Money::parse(amount, &from.currency)
            .map_err(|error| ContractViolation { field: field.into(), rule: rule(error) })
    }

    fn write(self) -> types::Money {
        types::Money { amount: self.amount.to_string(), currency: self.currency.to_string() }
    }
}

convert! {
    Address Address { line1 (Short) line2 (Short) city (Short) region (Short) postal_code (Short) country (Short) }
}

impl Convert<String> for Json {
    fn read(from: String, field: &'static str, _: Limit) -> Checked<Json> {
        let holds = from.len() <= LONG_TEXT_BYTES && from.trim_start().starts_with('{');
        let json = Json::parse(from).filter(|_| holds);
        json.ok_or(ContractViolation { field: field.into(), rule: "must be a JSON object of at most 65536 bytes" })
    }

    fn write(self) -> String {
        self.into_string()
    }
}

impl Convert<Vec<types::ExtraValue>> for Extra {
    fn read(from: Vec<types::ExtraValue>, _: &'static str, _: Limit) -> Checked<Extra> {
        check::extra(from)
    }

    fn write(self) -> Vec<types::ExtraValue> {
        self.into_iter().map(|(name, value)| types::ExtraValue { name, value }).collect()
    }
}

impl Convert<types::Recurrence> for EhrRecurrence {
    fn read(from: types::Recurrence, _: &'static str, _: Limit) -> Checked<EhrRecurrence> {
        let most = WorkingHour::MAX_INTERVAL;
        require((1..=most).contains(&from.number), "recurrence.number", "must be 1 to 10000")?;
        let unit = Convert::read(from.unit, "unit", Limit::Short)?;
        Ok(EhrRecurrence { number: from.number, unit, reference: check::date("recurrence.reference", from.reference)? })
    }

    fn write(self) -> types::Recurrence {
        types::Recurrence { number: self.number, unit: self.unit.write(), reference: self.reference }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};

    use super::*;
    use crate::limits::EXTRA_PAIRS;

    fn record(resource: Resource, fields: Value) -> EhrRecord {
        EhrRecord::from_fields(resource, "1", fields).unwrap()
    }

    /// Returns the error for a record of the contract that is built from the fields and then corrupted.
    macro_rules! rejection {
        ($resource:ident, $body:ident, $fields:expr, |$record:ident| $change:expr) => {{
            let EhrRecord::$body(sound) = record(Resource::$resource, $fields) else { unreachable!("one of its kind") };
            let mut $record: types::$body = sound.write();
            $change;
            read(wit::Record::$body($record)).1.err().map_or_else(String::new, |broken| broken.to_string())
        }};
    }

    fn usd(amount: &str) -> Value {
        json!({"amount": amount, "currency": "USD"})
    }

    #[test]
    fn each_rule_names_its_field_and_never_the_value() {
        let coverage = || json!({"patient": "P-1", "plan": "I-1", "relation": "self", "active": true});
        let payment = || json!({"amount": usd("1")});
        let claim = || json!({"totals": {"paid": usd("1")}, "payouts": [{"charge": "C-1"}]});
        let alert = json!({"patient": "P-1", "note": "n", "disabled_at": 0});
        let form = json!({"title": "t", "schema_json": "{}"});
        for (rejection, expected) in [
            (
                rejection!(Coverages, Coverage, coverage(), |it| it.patient.clear()),
                "field patient: must have 1 to 200 bytes",
            ),
            (
                rejection!(Coverages, Coverage, coverage(), |it| it.effective_date = Some("2026-02-30".into())),
                "field effective_date: must be a date, YYYY-MM-DD",
            ),
            (
                rejection!(PatientAlerts, PatientAlert, alert, |it| it.disabled_at = Some(i64::MAX)),
                "field disabled_at: must be in the years 1 to 9999",
            ),
            (
                rejection!(Payments, Payment, payment(), |it| it.amount.amount = "1e3".into()),
                "field amount: must be an amount",
            ),
            (
                rejection!(Payments, Payment, payment(), |it| it.amount.amount = "--1".into()),
                "field amount: must be an amount",
            ),
            (
                rejection!(Payments, Payment, payment(), |it| it.amount.amount = "+-1".into()),
                "field amount: must be an amount",
            ),
            (
                rejection!(Payments, Payment, payment(), |it| it.amount.amount = "1.".into()),
                "field amount: must be an amount",
            ),
            (
                rejection!(Payments, Payment, payment(), |it| it.amount.currency = "usd".into()),
                "field amount: must have a currency of three capital letters",
            ),
            (
                rejection!(Claims, Claim, claim(), |it| it.totals.paid.as_mut().unwrap().amount.clear()),
                "field totals.paid: must be an amount",
            ),
            (
                rejection!(Claims, Claim, claim(), |it| it.payouts[0].charge = Some(String::new())),
                "field payouts.charge: must have 1 to 200 bytes",
            ),
            (
                rejection!(Procedures, Procedure, json!({}), |it| it.treatment_plans = vec!["t".into(); 1_001]),
                "field treatment_plans: must have at most 1000",
            ),
            (
                rejection!(FormSchemas, FormSchema, form, |it| it.schema_json = "[]".into()),
                "field schema_json: must be a JSON object",
            ),
            (
                rejection!(Conversations, Conversation, json!({"messages_json": "[]"}), |it| it.messages =
                    vec![message(Some("x".repeat(40_000)), None); 2]),
                "field messages: must have at most 65536 bytes as JSON",
            ),
            (
                rejection!(Conversations, Conversation, json!({"messages_json": "[]"}), |it| it.messages =
                    vec![message(None, Some(i64::MAX))]),
                "field messages: must be in the years 1 to 9999",
            ),
            (
                rejection!(InsurancePlans, InsurancePlan, json!({"name": "n"}), |it| it.benefit_year_renewal_month =
                    Some(13)),
                "field benefit_year_renewal_month: must be 1",
            ),
            (
                rejection!(Fees, Fee, json!({"fee_schedule": "F", "amount": usd("1")}), |it| it.procedure_code =
                    Some("".into())),
                "field procedure_code: must have 1",
            ),
            (
                rejection!(PaymentTypes, PaymentType, json!({"name": "n", "active": true}), |it| {
                    it.extra = vec![types::ExtraValue { name: "a".into(), value: "b".into() }; 65]
                }),
                "field extra: must have at most 64 values",
            ),
        ] {
            assert!(rejection.starts_with(expected), "{rejection}, not {expected}");
        }
    }

    fn message(text: Option<String>, at: Option<i64>) -> types::Message {
        types::Message { from: None, text, at }
    }

    #[test]
    fn a_word_outside_the_contracts_list_moves_to_extra() {
        let procedure = |extra: Value| {
            let fields = json!({"status": "planned", "extra": extra});
            let EhrRecord::Procedure(procedure) = record(Resource::Procedures, fields) else {
                unreachable!("a procedure")
            };
            let mut written: types::Procedure = procedure.write();
            written.status = Some(types::ProcedureStatus::Other("on hold".into()));
            let (_, Ok(read)) = read(wit::Record::Procedure(written)) else { panic!("any word is taken") };
            (read.fields().get("status").cloned(), read.fields()["extra"].clone())
        };
        assert_eq!(procedure(json!([["a", "b"]])), (None, json!([["a", "b"], ["status", "on hold"]])));
        assert_eq!(
            procedure(json!([["status", "held"]])),
            (None, json!([["status", "held"]])),
            "the adapter's own value stays"
        );
        let full = json!(vec![["a", "b"]; EXTRA_PAIRS]);
        assert_eq!(procedure(full.clone()), (None, full), "no room is no reason to refuse the record");
    }

    #[test]
    fn messages_are_stored_as_json_text() {
        let EhrRecord::Conversation(empty) = record(Resource::Conversations, json!({"messages_json": "[]"})) else {
            unreachable!("a conversation")
        };
        let mut written: types::Conversation = empty.write();
        let spoken = types::Message { from: Some("patient".into()), ..message(Some("Zähne".into()), Some(5)) };
        written.messages = vec![spoken, message(None, None)];
        let (_, Ok(read)) = read(wit::Record::Conversation(written)) else { panic!("a conversation") };
        assert_eq!(read.fields()["messages_json"], r#"[{"from":"patient","text":"Zähne","at":5},{}]"#);
    }

    #[test]
    fn valid_fields_are_kept_and_empty_or_write_only_ones_dropped() {
        let charge = record(
            Resource::Charges,
            json!({"patient": "P-1", "procedure_code": "", "fee": {"amount": "-0.50", "currency": "EUR"}, "extra": [["a", ""]]}),
        );
        let EhrRecord::Charge(shown) = charge.clone() else { unreachable!("a charge") };
        let mut written: types::Charge = shown.write();
        assert_eq!(read(wit::Record::Charge(written.clone())), ("charge", Ok(charge)));
        written.fee = Some(types::Money { amount: "+2".into(), currency: "EUR".into() });
        let (_, Ok(signed)) = read(wit::Record::Charge(written)) else { panic!("a sign is allowed") };
        assert_eq!(signed.fields()["fee"]["amount"], "2");
        assert!(!signed.fields().contains_key("provider"), "what is not known goes");
        let EhrRecord::Patient(patient) = record(
            Resource::Patients,
            json!({"first_name": "A", "last_name": "B", "ssn": "078051120", "inactive": false, "new_patient": false,
                "non_patient": false, "unsubscribed_sms": false, "unsubscribed_email": false}),
        ) else {
            unreachable!("a patient")
        };
        let written: types::Patient = patient.write();
        assert_eq!(written.ssn.as_deref(), Some("078051120"), "it is written");
        let (_, Ok(read)) = read(wit::Record::Patient(written)) else { panic!("a patient") };
        assert!(!read.fields().contains_key("ssn"), "and never read back");
    }

    #[test]
    fn a_write_becomes_the_contracts_case() {
        use Operation::{Create, Delete, Update};
        let payment = record(
            Resource::Payments,
            json!({"patient": "P-1", "amount": usd("12.50"), "charge_splits": [{"id": "C-1", "amount": usd("12.50")}]}),
        );
        let Ok(wit::Write::CreatePayment(payment)) = write(Create, payment) else { panic!("a payment") };
        assert_eq!((payment.amount.amount.as_str(), payment.charge_splits[0].id.as_str()), ("12.50", "C-1"));
        assert!(payment.extra.is_empty() && payment.provider_splits.is_empty());
        let item = json!({"patient": "P-1", "category": "medications", "item": "M-1", "active": true});
        let item = record(Resource::PatientHistoryItems, item);
        let Ok(wit::Write::SavePatientHistoryItem(item)) = write(Update, item) else { panic!("an item") };
        assert!(matches!(item.category, types::HistoryCategory::Medications));
        let coverage = json!({"patient": "P-1", "plan": "I-1", "relation": "self", "active": true});
        let gone = write(Delete, record(Resource::Coverages, coverage));
        assert!(matches!(gone, Ok(wit::Write::DeleteCoverage(id)) if id == "1"));
    }

    #[test]
    fn a_write_without_a_contract_case_is_a_fault_without_its_value() {
        let coverage = json!({"patient": "P-1", "plan": "I-1", "relation": "self", "active": true});
        let claim = json!({"note": "Zoë Łopata", "totals": {}});
        for (operation, record) in [
            (Operation::Create, record(Resource::Claims, claim)),
            (Operation::Update, record(Resource::Coverages, coverage)),
        ] {
            let Err(Fault::Unsupported(reason)) = write(operation, record) else {
                panic!("the contract has no such write")
            };
            assert!(reason.starts_with("the contract has no write for ") && !reason.contains("Zo"), "{reason}");
        }
        // Missing or wrong fields are reported before the conversion to a record.
        let lacking = EhrRecord::from_fields(Resource::PatientAlerts, "", json!({"patient": "P"})).unwrap_err();
        assert!(lacking.contains("`note`"), "{lacking}");
        let sly = json!({"patient": "P", "note": "n", "disabled_at": "Zoë Łopata"});
        let sly = EhrRecord::from_fields(Resource::PatientAlerts, "", sly).unwrap_err();
        assert!(sly.contains("disabled_at") && !sly.contains("Zo"), "{sly}");
    }
}
