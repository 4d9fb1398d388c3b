//! Log lines of guests: truncated, kept on one line, and rate-limited.

use std::time::Instant;

use parking_lot::Mutex;

use super::limits::{LOG_LINE_BYTES, LOG_LINES_AT_ONCE, LOG_LINES_PER_SECOND};

/// A token bucket for the log lines of a connection.
pub(crate) struct LineBudget(Mutex<LogBucket>);

struct LogBucket {
    lines: f64,
    filled: Instant,
    suppressed: u64,
}

impl LineBudget {
    pub(crate) fn new(now: Instant) -> LineBudget {
        LineBudget(Mutex::new(LogBucket { lines: LOG_LINES_AT_ONCE, filled: now, suppressed: 0 }))
    }

    /// Takes one line. Returns `None` if the line is suppressed, or else the number of lines suppressed before it. A
    /// `must` line is never suppressed.
    pub(crate) fn take(&self, now: Instant, must: bool) -> Option<u64> {
        let mut bucket = self.0.lock();
        let gained = now.saturating_duration_since(bucket.filled).as_secs_f64() * LOG_LINES_PER_SECOND;
        bucket.lines = (bucket.lines + gained).min(LOG_LINES_AT_ONCE);
        bucket.filled = now;
        if bucket.lines < 1.0 && !must {
            bucket.suppressed += 1;
            return None;
        }
        bucket.lines = (bucket.lines - 1.0).max(0.0);
        Some(std::mem::take(&mut bucket.suppressed))
    }
}

/// Truncates a text like `cut`, and replaces characters that start a line or control a terminal by spaces.
pub fn plain(text: &str, bytes: usize) -> String {
    cut(text, bytes).chars().map(plain_char).collect()
}

/// Truncates a text to `bytes` bytes, and appends a mark to a truncated text.
pub(crate) fn cut(text: &str, bytes: usize) -> String {
    let kept = &text[..text.floor_char_boundary(bytes)];
    if kept.len() < text.len() { format!("{kept}{CUT}") } else { kept.to_owned() }
}

const CUT: &str = " ...";

/// Replaces invisible characters by a space: control characters, line separators, bidirectional controls and zero-width
/// characters.
pub(crate) fn plain_char(c: char) -> char {
    let unseen = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    if c.is_control() || unseen { ' ' } else { c }
}

pub(crate) fn line(text: &str) -> String {
    plain(text, LOG_LINE_BYTES)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Duration;

    use super::*;

    #[test]
    fn lines_are_cut_between_characters_and_stay_one_line() {
        assert_eq!(plain("a\nb\u{1b}[31m", 100), "a b [31m");
        for steering in
            ["\u{2028}", "\u{2029}", "\u{202a}", "\u{202e}", "\u{2066}", "\u{2069}", "\u{200b}", "\u{feff}", "\u{85}"]
        {
            assert_eq!(plain(&format!("a{steering}b"), 100), "a b", "{steering:?}");
        }
        assert_eq!(plain("aüb", 2), "a ...");
        assert_eq!(line(&"x".repeat(3_000)).len(), LOG_LINE_BYTES + 4);
    }

    #[test]
    fn a_flood_is_suppressed_and_counted() {
        let start = Instant::now();
        let budget = LineBudget::new(start);
        let written = (0..1_000).filter(|_| budget.take(start, false).is_some()).count();
        assert_eq!(written, LOG_LINES_AT_ONCE as usize);
        assert_eq!(budget.take(start, true), Some(800), "what must be written is");
        assert_eq!(budget.take(start, false), None);
        let later = start + Duration::from_secs(1);
        assert_eq!(budget.take(later, false), Some(1));
        assert_eq!(budget.take(later, false), Some(0));
    }
}
