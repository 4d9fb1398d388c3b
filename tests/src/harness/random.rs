//! The random generator of a run, determined by its seed.

use std::ops::RangeInclusive;

pub struct SeededRandom(u64);

impl SeededRandom {
    pub fn new(seed: u64) -> SeededRandom {
        SeededRandom(seed.wrapping_mul(0xd6e8_feb8_6659_fd93) ^ 0x5851_f42d_4c95_7f2d)
    }

    /// Returns the next number of the SplitMix64 sequence.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.draw() % end.max(1) as u64) as usize
    }

    pub fn between(&mut self, range: RangeInclusive<i64>) -> i64 {
        let width = range.end() - range.start() + 1;
        range.start() + (self.draw() % width.max(1) as u64) as i64
    }

    /// Returns `true` with a probability of `per_mille` in a thousand.
    pub fn chance(&mut self, per_mille: u64) -> bool {
        self.draw() % 1_000 < per_mille
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() { None } else { from.get(self.below(from.len())) }
    }

    /// Returns the index of a weight with a probability proportional to the weight.
    pub fn weighted(&mut self, weights: &[u64]) -> usize {
        let mut at = self.draw() % weights.iter().sum::<u64>().max(1);
        for (index, weight) in weights.iter().enumerate() {
            if at < *weight {
                return index;
            }
            at -= weight;
        }
        weights.len() - 1
    }
}
