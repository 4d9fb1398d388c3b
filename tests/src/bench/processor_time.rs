//! Processor time of a server by thread name. HTTP workers and locations are actix arbiters of the same name; the
//! echo server shows the share of HTTP.

use std::{fs, io, time::Duration};

use super::report::{Aim, BenchReport, short};

/// Names and thread names of the parts.
const PARTS: [(&str, &str); 2] =
    [("HTTP and turns", "actix-rt|system"), ("commit, with what applies it", "store-committe")];

pub struct ProcessorTime {
    parts: [Duration; PARTS.len()],
    /// Pages, replays, reads, webhooks, the index.
    others: Duration,
}

impl ProcessorTime {
    /// Returns the time spent by running threads. Ended threads are not included.
    pub fn by(pid: u32) -> io::Result<ProcessorTime> {
        let mut spent = ProcessorTime { parts: Default::default(), others: Duration::ZERO };
        for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
            let thread = thread?.path();
            let (Ok(name), Ok(stat)) =
                (fs::read_to_string(thread.join("comm")), fs::read_to_string(thread.join("schedstat")))
            else {
                continue;
            };
            let nanos = stat.split(' ').next().and_then(|nanos| nanos.parse().ok());
            let time = Duration::from_nanos(nanos.ok_or_else(|| io::Error::other("no processor time"))?);
            match PARTS.iter().position(|(_, threads)| name.starts_with(threads)) {
                Some(part) => spent.parts[part] += time,
                None => spent.others += time,
            }
        }
        Ok(spent)
    }

    pub fn total(&self) -> Duration {
        self.parts.iter().sum::<Duration>() + self.others
    }

    /// Reports the time since `before` per each of `count` pieces of work, as a whole and by part.
    pub fn report(&self, before: &ProcessorTime, count: f64, aim: Aim, report: &mut BenchReport) {
        let whole = self.total().saturating_sub(before.total()).div_f64(count.max(1.0));
        report.time("  processor time of each", whole, aim);
        let each = |now: Duration, before: Duration| short(now.saturating_sub(before).div_f64(count.max(1.0)));
        let parts = PARTS.iter().zip(self.parts.iter().zip(before.parts));
        let mut parts: Vec<String> =
            parts.map(|((part, _), (now, before))| format!("{part} {}", each(*now, before))).collect();
        parts.push(format!("all else {}", each(self.others, before.others)));
        report.note(format!("  of it {}", parts.join(", ")));
    }
}
