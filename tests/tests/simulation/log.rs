//! Log of a run, one line per step. The digest of all lines compares runs; the last lines explain a failure.

use std::collections::VecDeque;

const KEPT: usize = 40;
const LONGEST: usize = 600;

pub struct Log {
    last: VecDeque<String>,
    pub steps: u64,
    pub digest: u64,
    aloud: bool,
}

impl Log {
    pub fn new(aloud: bool) -> Log {
        Log { last: VecDeque::new(), steps: 0, digest: 0xcbf2_9ce4_8422_2325, aloud }
    }

    pub fn line(&mut self, mut text: String) {
        if let Some((cut, _)) = text.char_indices().nth(LONGEST) {
            text.truncate(cut);
            text.push('…');
        }
        // FNV-1a
        for byte in text.bytes() {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.steps += 1;
        if self.aloud {
            eprintln!("{text}");
        }
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back(text);
    }

    pub fn tail(&self) -> String {
        self.last.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}
