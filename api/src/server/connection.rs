//! Client connection below the HTTP library. Closes the connection of a client that does not read, and adds the
//! envelope to errors that the library sends itself.

use std::{
    cell::Cell,
    future::Future,
    io,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use actix_web::web::Bytes;
use framework::http::connections::Seat;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};
use tokio_rustls::server::TlsStream;

use super::library_errors;

/// Minimum read rate of a client in bytes per second, in addition to its grace period.
const SLOWEST: f64 = 16.0 * 1024.0;

pub(super) enum ClientStream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Set with each response: a stream without an end, such as server-sent events or a WebSocket, has no deadline.
#[derive(Default)]
pub(super) struct Live(pub Cell<bool>);

pub(super) struct ClientConnection {
    stream: ClientStream,
    live: Rc<Live>,
    /// Grace period for a client that does not read.
    grace: Duration,
    /// Time spent waiting for the client. Each byte that it reads reduces this by its time at the slowest rate.
    waited: Duration,
    blocked: Option<Blocked>,
    /// Rest of the response that replaces an error with an empty body of the HTTP library.
    instead: Option<Bytes>,
    seat: Seat,
}

/// State of a connection whose client currently reads nothing.
struct Blocked {
    since: Instant,
    deadline: Pin<Box<Sleep>>,
}

impl ClientConnection {
    pub(super) fn new(stream: ClientStream, grace: Duration, seat: Seat) -> ClientConnection {
        let (live, waited) = (Rc::default(), Duration::ZERO);
        ClientConnection { stream, live, grace, waited, blocked: None, instead: None, seat }
    }

    pub(super) fn live(&self) -> Rc<Live> {
        self.live.clone()
    }

    fn stream(&mut self) -> Pin<&mut dyn Io> {
        match &mut self.stream {
            ClientStream::Plain(stream) => Pin::new(stream),
            ClientStream::Tls(stream) => Pin::new(stream),
        }
    }

    /// Writes within the deadline: the grace, plus the time the bytes take at the slowest rate.
    fn poll_write_in_time(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = self.stream().poll_write(cx, bytes) {
            let written = written?;
            let blocked = self.blocked.take().map_or(Duration::ZERO, |blocked| blocked.since.elapsed());
            let paid = Duration::from_secs_f64(written as f64 / SLOWEST);
            self.waited = if self.live.0.get() { Duration::ZERO } else { (self.waited + blocked).saturating_sub(paid) };
            return Poll::Ready(Ok(written));
        }
        if self.live.0.get() {
            self.blocked = None;
            return Poll::Pending;
        }
        let left = self.grace.saturating_sub(self.waited);
        let new = || Blocked { since: Instant::now(), deadline: Box::pin(sleep(left)) };
        ready!(self.blocked.get_or_insert_with(new).deadline.as_mut().poll(cx));
        self.seat.connections.count_cut();
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

trait Io: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Io for T {}

impl AsyncRead for ClientConnection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_read(cx, buffer)
    }
}

impl AsyncWrite for ClientConnection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        match library_errors::find(bytes) {
            Some(0) => {
                let mut instead = this.instead.take().unwrap_or_else(|| library_errors::in_envelope(bytes));
                while !instead.is_empty() {
                    match this.poll_write_in_time(cx, &instead) {
                        Poll::Ready(Ok(0)) => return Poll::Ready(Ok(0)),
                        Poll::Ready(written) => drop(instead.split_to(written?)),
                        Poll::Pending => {
                            this.instead = Some(instead);
                            return Poll::Pending;
                        }
                    }
                }
                Poll::Ready(Ok(bytes.len()))
            }
            Some(start) => this.poll_write_in_time(cx, &bytes[..start]),
            None => this.poll_write_in_time(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(cx)
    }
}
