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
        pub enum $name { $( $(#[$v_meta])* #[serde(rename = $word)] $variant, )* }

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
    AdjustmentAction {
        /// Credit.
        Credit = "credit",
        /// Debit.
        Debit = "debit",
        /// Unknown.
        Unknown = "unknown",
    }

    /// The progress of a procedure.
    ProcedureStatus {
        /// Planned.
        Planned = "planned",
        /// Scheduled.
        Scheduled = "scheduled",
        /// Completed.
        Completed = "completed",
        /// Inactive.
        Inactive = "inactive",
        /// Referred.
        Referred = "referred",
    }

    /// The state of a treatment plan.
    PlanStatus {
        /// Not applicable.
        NotApplicable = "not_applicable",
        /// Proposed.
        Proposed = "proposed",
        /// Accepted.
        Accepted = "accepted",
        /// Rejected.
        Rejected = "rejected",
        /// Completed.
        Completed = "completed",
    }

    /// Unit of the time between two visits.
    IntervalUnit {
        /// Day.
        Day = "day",
        /// Week.
        Week = "week",
        /// Month.
        Month = "month",
        /// Year.
        Year = "year",
    }

    /// The catalogues of medical history.
    HistoryCategory {
        /// Allergies.
        Allergies = "allergies",
        /// Conditions.
        Conditions = "conditions",
        /// Medications.
        Medications = "medications",
    }

    /// The relation of the patient to the subscriber.
    #[derive(Default)]
    Relation {
        /// The patient is the subscriber.
        #[default]
        Oneself = "self",
        /// Spouse.
        Spouse = "spouse",
        /// Child.
        Child = "child",
        /// Employee.
        Employee = "employee",
        /// Handicap dep.
        HandicapDep = "handicap_dep",
        /// Signif other.
        SignifOther = "signif_other",
        /// Injured plaintiff.
        InjuredPlaintiff = "injured_plaintiff",
        /// Life partner.
        LifePartner = "life_partner",
        /// Dependent.
        Dependent = "dependent",
        /// Other.
        Other = "other",
    }

    /// The kind of insurance of a plan.
    InsuranceType {
        /// Dental.
        Dental = "dental",
        /// Medical.
        Medical = "medical",
        /// Vision.
        Vision = "vision",
    }

    /// The state of a claim.
    ClaimStatus {
        /// Draft.
        Draft = "draft",
        /// Sent.
        Sent = "sent",
        /// Received.
        Received = "received",
        /// Canceled.
        Canceled = "canceled",
    }

    /// The medium of a communication.
    Mode {
        /// None.
        None = "none",
        /// Email.
        Email = "email",
        /// Mail.
        Mail = "mail",
        /// Phone.
        Phone = "phone",
        /// In person.
        InPerson = "in_person",
        /// Text.
        Text = "text",
    }

    /// The direction of a communication.
    Direction {
        /// Sent.
        Sent = "sent",
        /// Received.
        Received = "received",
    }
}
