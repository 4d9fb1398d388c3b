//! Conversions between the contract's enums and the engine's, of lists with words of the EHR, and of conversation
//! messages.

use location::{HourKind, Weekday, hours::RecurrenceUnit};
use records::{Json, schema::Limit};
use serde::{Deserialize, Serialize};

use super::{
    bindings::{exports::practice_sync::ehr::ehr as wit, practice_sync::ehr::types},
    check::{self, Checked, ContractViolation, Convert, require},
    limits::{EXTRA_PAIRS, LONG_TEXT_BYTES, REFERENCES},
};

/// Implements the conversions of the contract's enums.
macro_rules! enums {
    ($($ours:ty = $name:ident { $($case:ident)* })*) => { $( impl Convert<types::$name> for $ours {
        fn read(from: types::$name, _: &'static str, _: Limit) -> Checked<Self> {
            Ok(match from { $( types::$name::$case => Self::$case, )* })
        }

        fn write(self) -> types::$name {
            match self { $( Self::$case => types::$name::$case, )* }
        }
    } )* };
}

enums! {
    records::HistoryCategory = HistoryCategory { Allergies Conditions Medications }
    records::Relation = Relation {
        Oneself Spouse Child Employee HandicapDep SignifOther InjuredPlaintiff LifePartner Dependent Other
    }
    records::Mode = CommunicationMode { None Email Mail Phone InPerson Text }
    records::Direction = CommunicationDirection { Sent Received }
    records::IntervalUnit = IntervalUnit { Day Week Month Year }
    records::AdjustmentAction = AdjustmentAction { Credit Debit Unknown }
    HourKind = HourKind { WorkingHour SchedulableBlock }
    Weekday = Weekday { Monday Tuesday Wednesday Thursday Friday Saturday Sunday }
    RecurrenceUnit = RecurrenceUnit { Day Week Month }
}

/// Implements the conversions of the contract's variants whose last case is a word of the EHR.
macro_rules! open_words {
    ($($ours:ty = $name:ident { $($case:ident)* })*) => { $(
        impl Convert<types::$name> for $ours {
            fn read(from: types::$name, field: &'static str, _: Limit) -> Checked<Self> {
                Ok(match from {
                    $( types::$name::$case => Self::$case, )*
                    types::$name::Other(_) => return Err(ContractViolation { field: field.into(), rule: "must be set aside" }),
                })
            }

            fn write(self) -> types::$name {
                match self { $( Self::$case => types::$name::$case, )* }
            }
        }

        impl UnlistedWord for types::$name {
            fn unlisted_word(&self) -> Option<&str> {
                match self { types::$name::Other(word) => Some(word), _ => None }
            }
        }
    )* };
}

open_words! {
    records::InsuranceType = InsuranceType { Dental Medical Vision }
    records::ProcedureStatus = ProcedureStatus { Planned Scheduled Completed Inactive Referred }
    records::PlanStatus = TreatmentPlanStatus { NotApplicable Proposed Accepted Rejected Completed }
    records::ClaimStatus = ClaimStatus { Draft Sent Received Canceled }
}

/// A variant that may hold a word of the EHR, which the contract's list lacks.
trait UnlistedWord {
    fn unlisted_word(&self) -> Option<&str>;
}

/// Moves words beyond the API's lists from their field to `extra`, and leaves the field empty. A value of the adapter
/// under that name takes precedence.
pub(super) fn move_unlisted_to_extra(record: &mut wit::Record) {
    fn aside<W: UnlistedWord>(word: &mut Option<W>, name: &str, extra: &mut Vec<types::ExtraValue>) {
        let Some(own) = word.take_if(|word| word.unlisted_word().is_some()) else { return };
        let value = own.unlisted_word().unwrap_or_default().to_owned();
        if extra.len() < EXTRA_PAIRS && extra.iter().all(|known| known.name != name) {
            extra.push(types::ExtraValue { name: name.to_owned(), value });
        }
    }
    match record {
        wit::Record::Coverage(it) => aside(&mut it.insurance_type, "insurance_type", &mut it.extra),
        wit::Record::Procedure(it) => aside(&mut it.status, "status", &mut it.extra),
        wit::Record::TreatmentPlan(it) => aside(&mut it.status, "status", &mut it.extra),
        wit::Record::Claim(it) => aside(&mut it.status, "status", &mut it.extra),
        _ => {}
    }
}

/// Converts to the API's word, the stored form.
impl Convert<types::Gender> for String {
    fn read(from: types::Gender, _: &'static str, _: Limit) -> Checked<String> {
        Ok(match from {
            types::Gender::Male => "Male",
            types::Gender::Female => "Female",
            types::Gender::Other => "Other",
        }
        .to_owned())
    }

    fn write(self) -> types::Gender {
        match self.as_str() {
            "Male" => types::Gender::Male,
            "Female" => types::Gender::Female,
            _ => types::Gender::Other,
        }
    }
}

/// The stored form of a conversation message.
#[derive(Serialize, Deserialize)]
struct ConversationMessage {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<i64>,
}

impl Convert<Vec<types::Message>> for Json {
    fn read(from: Vec<types::Message>, field: &'static str, _: Limit) -> Checked<Json> {
        require(from.len() <= REFERENCES, field, "must have at most 1000 entries")?;
        let message = |message: types::Message| {
            Ok(ConversationMessage {
                from: Convert::read(message.from, field, Limit::Short)?,
                text: Convert::read(message.text, field, Limit::Long)?,
                at: message.at.map(|at| check::instant(field, at)).transpose()?,
            })
        };
        let messages = from.into_iter().map(message).collect::<Checked<Vec<ConversationMessage>>>()?;
        let json = Json::encode(&messages).ok().filter(|json| json.as_str().len() <= LONG_TEXT_BYTES);
        json.ok_or(ContractViolation { field: field.into(), rule: "must have at most 65536 bytes as JSON" })
    }

    /// Values stored before messages had a type may be invalid. No write contains messages.
    fn write(self) -> Vec<types::Message> {
        let messages: Vec<ConversationMessage> = serde_json::from_str(self.as_str()).unwrap_or_default();
        messages.into_iter().map(|ConversationMessage { from, text, at }| types::Message { from, text, at }).collect()
    }
}
