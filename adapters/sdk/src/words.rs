//! Words of the contract's enums in an EHR's JSON or an adapter's own text: snake case, `self` for the subscriber, and
//! `mon` for a day.

use crate::records::{
    ClaimStatus, CommunicationDirection, CommunicationMode, HistoryCategory, InsuranceType, ProcedureStatus,
    RecurrenceUnit, Relation, TreatmentPlanStatus, Weekday,
};

/// Closed enums: other words are rejected.
macro_rules! closed {
    ($($name:ident { $($case:ident = $word:literal)* })*) => { $(
        impl $name {
            /// Returns the word of the value.
            pub fn word(self) -> &'static str {
                match self { $( $name::$case => $word, )* }
            }

            /// Returns the value of a word.
            pub fn from_word(word: &str) -> Option<$name> {
                match word { $( $word => Some($name::$case), )* _ => None }
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.word().to_owned()
            }
        }

        impl TryFrom<String> for $name {
            type Error = &'static str;

            fn try_from(word: String) -> Result<$name, &'static str> {
                $name::from_word(&word).ok_or(concat!("must be a word of ", stringify!($name)))
            }
        }
    )* };
}

/// Open enums with `other`: other words become that.
macro_rules! open {
    ($($name:ident { $($case:ident = $word:literal)* })*) => { $(
        impl $name {
            /// Returns the word of the value: snake case, or the EHR's own.
            pub fn word(&self) -> &str {
                match self { $( $name::$case => $word, )* $name::Other(word) => word }
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.word().to_owned()
            }
        }

        impl From<String> for $name {
            fn from(word: String) -> $name {
                match word.as_str() { $( $word => $name::$case, )* _ => $name::Other(word) }
            }
        }
    )* };
}

closed! {
    CommunicationDirection { Sent = "sent" Received = "received" }
    Relation {
        Oneself = "self"
        Spouse = "spouse"
        Child = "child"
        Employee = "employee"
        HandicapDep = "handicap_dep"
        SignifOther = "signif_other"
        InjuredPlaintiff = "injured_plaintiff"
        LifePartner = "life_partner"
        Dependent = "dependent"
        Other = "other"
    }
    Weekday {
        Monday = "mon"
        Tuesday = "tue"
        Wednesday = "wed"
        Thursday = "thu"
        Friday = "fri"
        Saturday = "sat"
        Sunday = "sun"
    }
    HistoryCategory { Allergies = "allergies" Conditions = "conditions" Medications = "medications" }
    RecurrenceUnit { Day = "day" Week = "week" Month = "month" }
    CommunicationMode {
        None = "none"
        Email = "email"
        Mail = "mail"
        Phone = "phone"
        InPerson = "in_person"
        Text = "text"
    }
}

open! {
    InsuranceType { Dental = "dental" Medical = "medical" Vision = "vision" }
    ProcedureStatus {
        Planned = "planned"
        Scheduled = "scheduled"
        Completed = "completed"
        Inactive = "inactive"
        Referred = "referred"
    }
    TreatmentPlanStatus {
        NotApplicable = "not_applicable"
        Proposed = "proposed"
        Accepted = "accepted"
        Rejected = "rejected"
        Completed = "completed"
    }
    ClaimStatus { Draft = "draft" Sent = "sent" Received = "received" Canceled = "canceled" }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn words_round_trip() {
        for word in ["self", "handicap_dep", "other"] {
            assert_eq!(to_value(from_value::<Relation>(json!(word)).unwrap()).unwrap(), json!(word));
        }
        assert!(from_value::<Relation>(json!("cousin")).is_err());
        assert_eq!(
            (Weekday::from_word("sun"), Weekday::from_word("someday"), Weekday::Monday.word()),
            (Some(Weekday::Sunday), None, "mon")
        );
        assert_eq!(from_value::<CommunicationMode>(json!("in_person")).unwrap(), CommunicationMode::InPerson);
        for (word, expected) in [
            ("not_applicable", TreatmentPlanStatus::NotApplicable),
            ("on hold", TreatmentPlanStatus::Other("on hold".into())),
        ] {
            assert_eq!(from_value::<TreatmentPlanStatus>(json!(word)).unwrap(), expected);
            assert_eq!(to_value(expected).unwrap(), json!(word));
        }
    }
}
