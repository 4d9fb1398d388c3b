//! Enumerations with a fixed spelling in the contract, in stored records and in API responses.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The error of parsing a word that the enumeration does not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be one of the values in the contract")]
pub struct UnknownWord;

/// An enumeration with a fixed spelling.
pub trait Word: Copy + FromStr<Err = UnknownWord> + 'static {
    /// All values.
    const ALL: &'static [Self];

    /// Returns the spelling.
    fn word(self) -> &'static str;
}

macro_rules! words {
    ($( $(#[$meta:meta])* $name:ident { $( $(#[$v_meta:meta])* $variant:ident = $word:literal ),* $(,)? } )*) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name { $( #[doc = concat!("`", $word, "`.")] $(#[$v_meta])* #[serde(rename = $word)] $variant, )* }

        impl Word for $name {
            const ALL: &'static [$name] = &[$($name::$variant),*];

            fn word(self) -> &'static str {
                match self { $( $name::$variant => $word, )* }
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(word: &str) -> Result<$name, UnknownWord> {
                match word { $( $word => Ok($name::$variant), )* _ => Err(UnknownWord) }
            }
        }
    )* };
}

words! {
    /// The direction of adjustments of a type.
    AdjustmentAction { Credit = "credit", Debit = "debit", Unknown = "unknown" }

    /// The progress of a procedure.
    ProcedureStatus {
        Planned = "planned", Scheduled = "scheduled", Completed = "completed", Inactive = "inactive",
        Referred = "referred",
    }

    /// The state of a treatment plan.
    PlanStatus {
        NotApplicable = "not_applicable", Proposed = "proposed", Accepted = "accepted", Rejected = "rejected",
        Completed = "completed",
    }

    /// Unit of the time between two visits.
    IntervalUnit { Day = "day", Week = "week", Month = "month", Year = "year" }

    /// The catalogues of medical history.
    HistoryCategory { Allergies = "allergies", Conditions = "conditions", Medications = "medications" }

    /// The relation of the patient to the subscriber.
    #[derive(Default)]
    Relation {
        /// The patient is the subscriber.
        #[default]
        Oneself = "self",
        Spouse = "spouse", Child = "child", Employee = "employee", HandicapDep = "handicap_dep",
        SignifOther = "signif_other", InjuredPlaintiff = "injured_plaintiff", LifePartner = "life_partner",
        Dependent = "dependent", Other = "other",
    }

    /// The kind of insurance of a plan.
    InsuranceType { Dental = "dental", Medical = "medical", Vision = "vision" }

    /// The state of a claim.
    ClaimStatus { Draft = "draft", Sent = "sent", Received = "received", Canceled = "canceled" }

    /// The medium of a communication.
    Mode { None = "none", Email = "email", Mail = "mail", Phone = "phone", InPerson = "in_person", Text = "text" }

    /// The direction of a communication.
    Direction { Sent = "sent", Received = "received" }
}
