//! Booking rules of a run, drawn from the seed. Most runs have none; the others have small values, so that rules refuse
//! some of the offers.

use location::{
    rules::{RuleSet, VisitRules},
    time::{HOUR, MINUTE},
};
use tests::harness::random::SeededRandom;

pub fn draw(random: &mut SeededRandom) -> RuleSet {
    if random.chance(600) {
        return RuleSet::default();
    }
    let plain = VisitRules {
        minimum_notice: [0, HOUR, 3 * HOUR][random.weighted(&[2, 1, 1])],
        minimum_notice_days: [0, 1][random.weighted(&[4, 1])],
        cutoff: [None, Some(12 * 60)][random.weighted(&[4, 1])],
        horizon_days: [730, 1][random.weighted(&[4, 1])],
        buffer_before: [0, 10 * MINUTE][random.below(2)],
        buffer_after: [0, 15 * MINUTE][random.below(2)],
        daily_visits: [None, Some(4), Some(12)][random.below(3)],
        align: [None, Some(30)][random.below(2)],
        cancel_notice: [0, HOUR][random.weighted(&[3, 1])],
        reschedule_notice: [0, HOUR][random.weighted(&[3, 1])],
        ..VisitRules::default()
    };
    RuleSet { plain, ..RuleSet::default() }
}
