//! Response bodies, passed to the connection in slices and counted against a global limit. A client that does not read
//! holds one slice instead of a copy of the body.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
};

use actix_web::{
    Error,
    body::{BodySize, BoxBody, MessageBody},
    web::Bytes,
};

/// The size at which a connection's write buffer is flushed. It holds less than this when the next slice is added.
pub const WRITE_BUFFER: usize = 16 * 1024;
/// Bytes of a slice. Together with a full write buffer and a chunk header it fits into the 32 KiB that the HTTP library
/// allocates.
pub const SLICE: usize = WRITE_BUFFER - 64;

/// Media type of streams of records, one JSON object per line.
pub const NDJSON: &str = "application/x-ndjson";

/// Marks a response whose body is static and costs no memory per response.
pub struct StaticBody;

/// Bytes of the bodies that clients have not taken yet.
#[derive(Default)]
pub struct ResponseBytes {
    in_flight: AtomicU64,
    refused: AtomicU64,
}

impl ResponseBytes {
    pub fn in_flight(&self) -> u64 {
        self.in_flight.load(Relaxed)
    }

    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    /// Returns `None`, and counts a refused response, if more than `limit` bytes would be in flight.
    pub fn reserve(self: &Arc<Self>, bytes: u64, limit: u64) -> Option<Reserved> {
        let fits = |now: u64| now.checked_add(bytes).filter(|sum| *sum <= limit);
        if self.in_flight.fetch_update(Relaxed, Relaxed, fits).is_err() {
            self.refused.fetch_add(1, Relaxed);
            return None;
        }
        Some(Reserved { of: self.clone(), bytes })
    }

    /// Counts the bytes, whatever the limit.
    pub fn add(self: &Arc<Self>, bytes: u64) -> Reserved {
        self.in_flight.fetch_add(bytes, Relaxed);
        Reserved { of: self.clone(), bytes }
    }
}

/// Drop guard of counted bytes.
pub struct Reserved {
    of: Arc<ResponseBytes>,
    bytes: u64,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.of.in_flight.fetch_sub(self.bytes, Relaxed);
    }
}

/// A body in slices of at most `SLICE` bytes. Slices share the memory of the whole.
pub struct SlicedBody {
    size: BodySize,
    rest: Bytes,
    stream: Option<BoxBody>,
    /// Released with the body.
    _reserved: Option<Reserved>,
}

impl SlicedBody {
    pub fn from_bytes(bytes: Bytes, reserved: Option<Reserved>) -> SlicedBody {
        SlicedBody { size: BodySize::Sized(bytes.len() as u64), rest: bytes, stream: None, _reserved: reserved }
    }

    pub fn from_stream(stream: BoxBody) -> SlicedBody {
        SlicedBody { size: stream.size(), rest: Bytes::new(), stream: Some(stream), _reserved: None }
    }
}

impl MessageBody for SlicedBody {
    type Error = Error;

    fn size(&self) -> BodySize {
        self.size
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        while self.rest.is_empty() {
            let Some(stream) = &mut self.stream else { return Poll::Ready(None) };
            match ready!(Pin::new(stream).poll_next(cx)) {
                Some(Ok(chunk)) => self.rest = chunk,
                Some(Err(error)) => return Poll::Ready(Some(Err(Error::from(error)))),
                None => return Poll::Ready(None),
            }
        }
        let length = self.rest.len().min(SLICE);
        Poll::Ready(Some(Ok(self.rest.split_to(length))))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::future::poll_fn;

    use actix_web::body::BodyStream;
    use futures_util::stream;

    use super::*;

    async fn slices(mut body: SlicedBody) -> Vec<Bytes> {
        let mut slices = Vec::new();
        while let Some(slice) = poll_fn(|cx| Pin::new(&mut body).poll_next(cx)).await {
            slices.push(slice.unwrap());
        }
        slices
    }

    #[actix_web::test]
    async fn slices_share_the_memory_of_the_whole() {
        let whole = Bytes::from(vec![7; 3 * SLICE + 1]);
        let body = SlicedBody::from_bytes(whole.clone(), None);
        assert_eq!(body.size(), BodySize::Sized(whole.len() as u64));
        let slices = slices(body).await;
        assert_eq!(slices.iter().map(Bytes::len).collect::<Vec<_>>(), [SLICE, SLICE, SLICE, 1]);
        let offsets = slices.iter().map(|slice| slice.as_ptr().addr() - whole.as_ptr().addr());
        assert!(offsets.eq([0, SLICE, 2 * SLICE, 3 * SLICE]));
    }

    #[actix_web::test]
    async fn chunks_of_streams_are_sliced_too() {
        let chunks = [vec![1; SLICE + 1], Vec::new(), vec![2; 3]].map(|chunk| Ok::<_, Error>(Bytes::from(chunk)));
        let body = SlicedBody::from_stream(BoxBody::new(BodyStream::new(stream::iter(chunks))));
        assert_eq!(body.size(), BodySize::Stream);
        assert_eq!(slices(body).await.iter().map(Bytes::len).collect::<Vec<_>>(), [SLICE, 1, 3]);
    }

    #[test]
    fn bytes_over_the_limit_are_refused_until_others_are_dropped() {
        let bytes = Arc::new(ResponseBytes::default());
        let held = bytes.reserve(60, 100).unwrap();
        assert!(bytes.reserve(41, 100).is_none());
        let rest = bytes.reserve(40, 100).unwrap();
        assert_eq!((bytes.in_flight(), bytes.refused()), (100, 1));
        drop(held);
        assert_eq!(bytes.in_flight(), 40);
        drop(rest);
        assert!(bytes.reserve(100, 100).is_some());
    }
}
