//! Closed lists of words: each has one spelling, in the contract, on disks and in answers.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What is not one of a list's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be one of the contract's words")]
pub struct UnknownWord;

/// One of a closed list of words.
pub trait Word: Copy + FromStr<Err = UnknownWord> + 'static {
    /// All of them.
    const ALL: &'static [Self];

    /// Its spelling.
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
    /// Which way an adjustment of this type goes.
    AdjustmentAction {
        /// Credit.
        Credit = "credit",
        /// Debit.
        Debit = "debit",
        /// Unknown.
        Unknown = "unknown",
    }

    /// How far a procedure is.
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

    /// How a treatment plan stands.
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

    /// The three catalogues of medical history.
    HistoryCategory {
        /// Allergies.
        Allergies = "allergies",
        /// Conditions.
        Conditions = "conditions",
        /// Medications.
        Medications = "medications",
    }

    /// What the patient is to the subscriber.
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

    /// What a plan insures.
    InsuranceType {
        /// Dental.
        Dental = "dental",
        /// Medical.
        Medical = "medical",
        /// Vision.
        Vision = "vision",
    }

    /// How a claim stands.
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

    /// How somebody was reached.
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

    /// Who said it.
    Direction {
        /// Sent.
        Sent = "sent",
        /// Received.
        Received = "received",
    }
}
