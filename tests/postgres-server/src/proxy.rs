//! What stands between a store and its database: it hands bytes on, until it is told not to.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// How a client asks for a commit, as the protocol has it.
const COMMIT: &[u8] = b"COMMIT\0";

/// What becomes of the next commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commits {
    /// The server carries it out; the connection is cut instead of answered.
    LoseAnswer,
    /// The server never sees it; the connection is cut.
    LoseRequest,
}

struct Joined {
    client: TcpStream,
    server: TcpStream,
}

#[derive(Default)]
struct State {
    /// As long as one of the two directions is open.
    connections: Vec<Weak<Joined>>,
    /// New ones are closed at once.
    refusing: bool,
    /// Nothing is handed on, and nobody is told.
    stalled: bool,
    delay: Duration,
    next_commit: Option<Commits>,
    /// How many came since the beginning.
    came: usize,
    ended: bool,
}

pub struct Proxy {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Proxy {
    pub fn to(server_port: u16) -> io::Result<Proxy> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let (address, state) = (listener.local_addr()?, Arc::<Mutex<State>>::default());
        let shared = state.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if lock(&shared).ended {
                    return;
                }
                // A connection that cannot be made is closed, which the client notices.
                let _ = join(client, server_port, &shared);
            }
        });
        Ok(Proxy { address, state })
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Cuts what there is, and lets nobody in until `mend`.
    pub fn cut(&self) {
        let mut state = self.state();
        state.refusing = true;
        state.cut();
    }

    /// Cuts what there is. Who comes again is let in.
    pub fn cut_once(&self) {
        self.state().cut();
    }

    /// Nothing gets through any more, and no connection ends.
    pub fn stall(&self) {
        self.state().stalled = true;
    }

    /// The way to the server ends, that to the client does not: each of the two sees another state of the connection.
    pub fn half_close(&self) {
        for joined in self.state().connections.iter().filter_map(Weak::upgrade) {
            let _ = joined.server.shutdown(Shutdown::Write);
        }
    }

    /// How many connections were asked for since the beginning.
    pub fn connections(&self) -> usize {
        self.state().came
    }

    pub fn delay(&self, by: Duration) {
        self.state().delay = by;
    }

    pub fn spoil_next_commit(&self, how: Commits) {
        self.state().next_commit = Some(how);
    }

    /// All is well again; what was stalled is cut.
    pub fn mend(&self) {
        let mut state = self.state();
        if state.stalled {
            state.cut();
        }
        (state.refusing, state.stalled, state.delay, state.next_commit) = (false, false, Duration::ZERO, None);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let mut state = self.state();
        state.ended = true;
        state.cut();
        drop(state);
        // Wakes the listener, which looks whether it is to end.
        let _ = TcpStream::connect(self.address);
    }
}

impl State {
    fn cut(&mut self) {
        for joined in self.connections.drain(..).filter_map(|joined| joined.upgrade()) {
            let _ = joined.client.shutdown(Shutdown::Both);
            let _ = joined.server.shutdown(Shutdown::Both);
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn join(client: TcpStream, server_port: u16, shared: &Arc<Mutex<State>>) -> io::Result<()> {
    let refusing = {
        let mut state = lock(shared);
        state.came += 1;
        state.refusing
    };
    if refusing {
        return client.shutdown(Shutdown::Both);
    }
    let server = TcpStream::connect(("127.0.0.1", server_port))?;
    for socket in [&client, &server] {
        socket.set_nodelay(true)?;
    }
    let joined = Arc::new(Joined { client, server });
    {
        let mut state = lock(shared);
        state.connections.retain(|joined| joined.strong_count() > 0);
        state.connections.push(Arc::downgrade(&joined));
    }
    // The answer to a commit is to be lost on this connection.
    let mute = Arc::new(AtomicBool::new(false));
    let (both, state, silent) = (joined.clone(), shared.clone(), mute.clone());
    thread::spawn(move || requests(&both.client, &both.server, &state, &silent));
    let state = shared.clone();
    thread::spawn(move || answers(&joined.server, &joined.client, &state, &mute));
    Ok(())
}

fn requests(mut client: &TcpStream, mut server: &TcpStream, state: &Mutex<State>, mute: &AtomicBool) {
    let mut buffer = vec![0; 256 << 10];
    while let Ok(length @ 1..) = client.read(&mut buffer) {
        let bytes = &buffer[..length];
        pause(state);
        if bytes.windows(COMMIT.len()).any(|it| it == COMMIT) {
            match lock(state).next_commit.take() {
                Some(Commits::LoseRequest) => break,
                Some(Commits::LoseAnswer) => mute.store(true, Ordering::SeqCst),
                None => {}
            }
        }
        if server.write_all(bytes).is_err() {
            break;
        }
    }
    let _ = server.shutdown(Shutdown::Write);
    let _ = client.shutdown(Shutdown::Both);
}

fn answers(mut server: &TcpStream, mut client: &TcpStream, state: &Mutex<State>, mute: &AtomicBool) {
    let mut buffer = vec![0; 256 << 10];
    while let Ok(length @ 1..) = server.read(&mut buffer) {
        pause(state);
        if mute.load(Ordering::SeqCst) {
            // All answers of the transaction, the one to the commit among them, came together or will never be heard.
            break;
        }
        if client.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Read);
}

/// As long as the network takes; without end while it is stalled.
fn pause(state: &Mutex<State>) {
    let delay = lock(state).delay;
    if !delay.is_zero() {
        thread::sleep(delay);
    }
    while lock(state).stalled {
        thread::sleep(Duration::from_millis(5));
    }
}
