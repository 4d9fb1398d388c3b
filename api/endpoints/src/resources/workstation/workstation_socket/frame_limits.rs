//! Limits of a WebSocket that apply before its bytes are buffered: the length and the rate of messages. The codec
//! behind it would buffer a whole frame, however long, before it refuses the frame.

use std::{
    cell::Cell,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
    time::Instant,
};

use actix_web::{
    dev::Payload,
    error::PayloadError,
    web::{Buf, Bytes},
};
use engine::workstations::limits::FRAMES_WITHIN;
use futures_core::Stream;

/// Browsers split a long message into frames of some 64 KiB, so this is far more than the longest message has.
const MAX_FRAGMENTS: u32 = 10_000;
/// Two bytes, a length of eight, a mask of four.
const LONGEST_HEAD: usize = 14;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExceededLimit {
    TooLong,
    Flood,
}

/// Limits of a connection, and the exceeded limit, if any. Shared with the reader of the messages.
pub(super) struct FrameLimits {
    pub max_message: Cell<u64>,
    max_messages: u32,
    breach: Cell<Option<ExceededLimit>>,
}

impl FrameLimits {
    pub(super) fn new(max_message: u64, max_messages: u32) -> Rc<FrameLimits> {
        Rc::new(FrameLimits { max_message: Cell::new(max_message), max_messages, breach: Cell::new(None) })
    }

    pub(super) fn breach(&self) -> Option<ExceededLimit> {
        self.breach.get()
    }
}

/// The bytes of a socket, up to the limits.
pub(super) struct LimitedBytes {
    bytes: Payload,
    frames: Frames,
    gauge: Rc<FrameLimits>,
}

impl LimitedBytes {
    pub(super) fn new(bytes: Payload, gauge: Rc<FrameLimits>) -> LimitedBytes {
        LimitedBytes { bytes, frames: Frames::default(), gauge }
    }
}

impl Stream for LimitedBytes {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = Pin::new(&mut self.bytes).poll_next(cx);
        if let Poll::Ready(Some(Ok(bytes))) = &polled {
            let gauge = self.gauge.clone();
            if let Err(breach) = self.frames.follow(bytes, &gauge, Instant::now()) {
                gauge.breach.set(Some(breach));
                return Poll::Ready(Some(Err(PayloadError::Overflow)));
            }
        }
        polled
    }
}

/// Position in the sequence of frames (RFC 6455, section 5.2).
#[derive(Default)]
struct Frames {
    /// Bytes of an incomplete frame header.
    head: Vec<u8>,
    /// Remaining bytes of the current frame.
    rest: u64,
    /// Length of the current message so far.
    message: u64,
    window: Option<FrameWindow>,
}

struct FrameWindow {
    since: Instant,
    messages: u32,
    fragments: u32,
}

struct Head {
    opcode: u8,
    length: u64,
}

impl Frames {
    fn follow(&mut self, mut bytes: &[u8], gauge: &FrameLimits, now: Instant) -> Result<(), ExceededLimit> {
        while !bytes.is_empty() {
            if self.rest > 0 {
                let step = self.rest.min(bytes.len() as u64);
                bytes.advance(step as usize);
                self.rest -= step;
                continue;
            }
            self.head.push(bytes.get_u8());
            debug_assert!(self.head.len() <= LONGEST_HEAD);
            if let Some(head) = Head::parse(&self.head) {
                self.head.clear();
                self.rest = head.length;
                self.begun(&head, gauge, now)?;
            }
        }
        Ok(())
    }

    fn begun(&mut self, head: &Head, gauge: &FrameLimits, now: Instant) -> Result<(), ExceededLimit> {
        let continues = head.opcode == 0;
        match head.opcode {
            0 => self.message = self.message.saturating_add(head.length),
            1 | 2 => self.message = head.length,
            // Control frames may come between the frames of a message.
            _ => {}
        }
        if self.message.max(head.length) > gauge.max_message.get() {
            return Err(ExceededLimit::TooLong);
        }
        let window = self.window.get_or_insert(FrameWindow { since: now, messages: 0, fragments: 0 });
        if now.duration_since(window.since) >= FRAMES_WITHIN {
            *window = FrameWindow { since: now, messages: 0, fragments: 0 };
        }
        window.messages += u32::from(!continues);
        window.fragments += u32::from(continues);
        let flood = window.messages > gauge.max_messages || window.fragments > MAX_FRAGMENTS;
        if flood { Err(ExceededLimit::Flood) } else { Ok(()) }
    }
}

impl Head {
    /// Returns `None` if the header is incomplete.
    fn parse(bytes: &[u8]) -> Option<Head> {
        let (first, second) = (*bytes.first()?, *bytes.get(1)?);
        let extended = match second & 0x7f {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let mask = if second & 0x80 == 0 { 0 } else { 4 };
        if bytes.len() < 2 + extended + mask {
            return None;
        }
        let long = bytes[2..2 + extended].iter().fold(0, |length, byte| length << 8 | u64::from(*byte));
        let length = if extended == 0 { u64::from(second & 0x7f) } else { long };
        Some(Head { opcode: first & 0x0f, length })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    const TEXT: u8 = 1;
    const CONTINUED: u8 = 0;
    const PING: u8 = 9;

    /// Builds a frame header as sent by a browser.
    fn head(opcode: u8, length: u64) -> Vec<u8> {
        let mut head = vec![0x80 | opcode];
        match length {
            ..126 => head.push(0x80 | length as u8),
            126..65_536 => {
                head.push(0x80 | 126);
                head.extend((length as u16).to_be_bytes());
            }
            _ => {
                head.push(0x80 | 127);
                head.extend(length.to_be_bytes());
            }
        }
        head.extend([0; 4]);
        head
    }

    fn frame(opcode: u8, length: u64) -> Vec<u8> {
        let mut frame = head(opcode, length);
        // Payload bytes that would be valid headers.
        frame.resize(frame.len() + length as usize, 0xff);
        frame
    }

    fn follow(frames: &mut Frames, bytes: &[u8], gauge: &FrameLimits) -> Result<(), ExceededLimit> {
        frames.follow(bytes, gauge, Instant::now())
    }

    #[test]
    fn an_oversized_announced_length_is_refused_before_the_payload() {
        for (length, expected) in
            [(100, Ok(())), (101, Err(ExceededLimit::TooLong)), (u64::MAX, Err(ExceededLimit::TooLong))]
        {
            let gauge = FrameLimits::new(100, 50);
            assert_eq!(follow(&mut Frames::default(), &head(TEXT, length), &gauge), expected, "{length}");
        }
    }

    #[test]
    fn fragments_are_counted_together_and_control_frames_separately() {
        let gauge = FrameLimits::new(100, 50);
        let mut frames = Frames::default();
        for part in [frame(TEXT, 60), frame(PING, 90), frame(CONTINUED, 40), frame(TEXT, 100), frame(PING, 100)] {
            assert_eq!(follow(&mut frames, &part, &gauge), Ok(()));
        }
        assert_eq!(follow(&mut frames, &frame(TEXT, 60), &gauge), Ok(()));
        assert_eq!(follow(&mut frames, &head(CONTINUED, 41), &gauge), Err(ExceededLimit::TooLong));
    }

    #[test]
    fn messages_beyond_the_rate_limit_are_refused() {
        let gauge = FrameLimits::new(100, 3);
        let mut frames = Frames::default();
        let begin = Instant::now();
        let mut at =
            |thousandth: u32| frames.follow(&frame(TEXT, 5), &gauge, begin + FRAMES_WITHIN * thousandth / 1_000);
        assert_eq!([at(0), at(10), at(999), at(1_000), at(1_500)], [Ok(()); 5]);
        assert_eq!([at(1_900), at(1_999)], [Ok(()), Err(ExceededLimit::Flood)]);
    }

    #[test]
    fn empty_fragments_count_towards_the_rate_limit() {
        let gauge = FrameLimits::new(100, 3);
        let mut frames = Frames::default();
        follow(&mut frames, &frame(TEXT, 5), &gauge).unwrap();
        let all = frame(CONTINUED, 0).repeat(MAX_FRAGMENTS as usize);
        assert_eq!(follow(&mut frames, &all, &gauge), Ok(()));
        assert_eq!(follow(&mut frames, &frame(CONTINUED, 0), &gauge), Err(ExceededLimit::Flood));
    }

    proptest! {
        /// Any split of the bytes gives the same result.
        #[test]
        fn split_reads_give_the_same_result(lengths in prop::collection::vec((0..3_u8, 0..70_000_u64), 1..8), cut in 1..40_usize) {
            let opcode = |kind: u8| [TEXT, CONTINUED, PING][kind as usize];
            let bytes: Vec<u8> = lengths.iter().flat_map(|(kind, length)| frame(opcode(*kind), *length)).collect();
            let gauge = FrameLimits::new(150_000, 5);
            let now = Instant::now();
            let whole = Frames::default().follow(&bytes, &gauge, now);
            let mut frames = Frames::default();
            let pieces = bytes.chunks(cut).try_for_each(|piece| frames.follow(piece, &gauge, now));
            prop_assert_eq!(whole, pieces);
        }
    }
}
