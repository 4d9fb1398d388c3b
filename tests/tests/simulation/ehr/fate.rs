//! Random outcome of a call: the time it reaches the EHR, and the time and content of the answer.

use location::time::{MINUTE, Millis, SECOND, Timestamp};
use records::ehr::Fault;

use super::{Reachability, SimEhr};
use tests::harness::random::SeededRandom;

pub struct Fate {
    /// Time at which the call takes effect, or `None`.
    pub lands: Option<Timestamp>,
    pub answer: FateAnswer,
}

pub enum FateAnswer {
    /// The EHR's answer, delivered at this time.
    Truth(Timestamp),
    Fault(Timestamp, Fault),
    Never,
}

/// Start and deadline of a call.
#[derive(Clone, Copy)]
pub struct Frame {
    pub now: Timestamp,
    pub until: Timestamp,
    /// Quiet period after an unknown outcome. The write takes effect within it or never.
    pub settle: Millis,
}

impl SimEhr {
    pub fn fate_of_write(&self, frame: Frame, random: &mut SeededRandom) -> Fate {
        if let Some(fate) = self.fate_by_weather(frame, random) {
            return fate;
        }
        let Frame { now, until, settle } = frame;
        let soon = |random: &mut SeededRandom| now.plus(random.between(20..=4 * SECOND));
        match random.weighted(&[700, 40, 60, 50, 40, 60, 50]) {
            0 => truth(now, random),
            1 => fault(soon(random), Fault::Rejected("not allowed".to_owned())),
            2 => fault(soon(random), retry_later(random)),
            3 => {
                let heard = soon(random);
                let lands = Some(now.plus(random.between(1..=heard.since(now) + settle - 1)));
                Fate { lands, answer: FateAnswer::Fault(heard, unknown()) }
            }
            4 => fault(soon(random), unknown()),
            // After the deadline: the answer is late or never arrives.
            5 => {
                let wait = until.since(now) + settle;
                let lands = now.plus(random.between(1..=wait - 1));
                let heard = lands.max(until).plus(random.between(1..=2 * MINUTE));
                let answer = if random.chance(500) { FateAnswer::Truth(heard) } else { FateAnswer::Never };
                Fate { lands: Some(lands), answer }
            }
            _ => Fate { lands: None, answer: FateAnswer::Never },
        }
    }

    pub fn fate_of_read(&self, frame: Frame, random: &mut SeededRandom) -> Fate {
        if let Some(fate) = self.fate_by_weather(frame, random) {
            return fate;
        }
        let Frame { now, until, .. } = frame;
        let soon = |random: &mut SeededRandom| now.plus(random.between(20..=4 * SECOND));
        match random.weighted(&[850, 40, 40, 40, 30]) {
            0 => truth(now, random),
            1 => fault(soon(random), retry_later(random)),
            2 => fault(soon(random), unknown()),
            3 => {
                let lands = now.plus(random.between(1..=until.since(now)));
                Fate { lands: Some(lands), answer: FateAnswer::Truth(until.plus(random.between(1..=MINUTE))) }
            }
            _ => Fate { lands: None, answer: FateAnswer::Never },
        }
    }

    fn fate_by_weather(&self, Frame { now, until, .. }: Frame, random: &mut SeededRandom) -> Option<Fate> {
        let soon = now.plus(random.between(5..=SECOND));
        Some(match self.weather {
            _ if self.honest => truth(now, random),
            Reachability::Fine => return None,
            Reachability::GateClosed => fault(soon, Fault::GateClosed),
            Reachability::Unauthorized => fault(soon, Fault::Unauthorized("the credentials expired".to_owned())),
            Reachability::Down if random.chance(500) => {
                fault(soon, Fault::RetryLater { reason: "connection refused".to_owned(), after: None })
            }
            // The connection hangs until the call's deadline.
            Reachability::Down => fault(until.minus(SECOND / 2), unknown()),
        })
    }
}

/// Returns a timely answer, with short delays most likely.
fn truth(now: Timestamp, random: &mut SeededRandom) -> Fate {
    let slowest = [200, 3 * SECOND, 25 * SECOND][random.weighted(&[60, 30, 10])];
    let lands = now.plus(random.between(5..=slowest));
    Fate { lands: Some(lands), answer: FateAnswer::Truth(lands.plus(random.between(1..=slowest.min(4 * SECOND)))) }
}

fn fault(at: Timestamp, fault: Fault) -> Fate {
    Fate { lands: None, answer: FateAnswer::Fault(at, fault) }
}

fn unknown() -> Fault {
    Fault::Unknown("the connection broke".to_owned())
}

fn retry_later(random: &mut SeededRandom) -> Fault {
    let after = random.chance(300).then(|| std::time::Duration::from_secs(random.below(120) as u64));
    Fault::RetryLater { reason: "busy".to_owned(), after }
}
