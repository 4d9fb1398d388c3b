//! A proxy between a store and its database that forwards bytes and injects faults.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};

/// A client's commit in the wire protocol.
const COMMIT: &[u8] = b"COMMIT\0";

/// Fault of the next commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commits {
    /// The server commits; the connection is cut before the answer.
    LoseAnswer,
    /// The connection is cut before the server receives the commit.
    LoseRequest,
}

struct Joined {
    client: TcpStream,
    server: TcpStream,
}

#[derive(Default)]
struct ProxyState {
    /// Alive while one of the two directions is open.
    connections: Vec<Weak<Joined>>,
    /// New connections are closed immediately.
    refusing: bool,
    /// Nothing is forwarded, and connections remain open.
    stalled: bool,
    delay: Duration,
    next_commit: Option<Commits>,
    /// Number of connections since the start.
    came: usize,
    ended: bool,
}

pub struct Proxy {
    address: SocketAddr,
    state: Arc<Mutex<ProxyState>>,
}

impl Proxy {
    pub fn to(server_port: u16) -> io::Result<Proxy> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let (address, state) = (listener.local_addr()?, Arc::<Mutex<ProxyState>>::default());
        let shared = state.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if lock(&shared).ended {
                    return;
                }
                // If the server cannot be reached, the client's connection is closed.
                let _ = join(client, server_port, &shared);
            }
        });
        Ok(Proxy { address, state })
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Cuts all connections and refuses new ones until `clear_faults`.
    pub fn cut(&self) {
        let mut state = self.state();
        state.refusing = true;
        state.cut();
    }

    /// Cuts all connections and accepts new ones.
    pub fn cut_once(&self) {
        self.state().cut();
    }

    /// Stops forwarding without closing connections.
    pub fn stall(&self) {
        self.state().stalled = true;
    }

    /// Closes the connections to the server for writing but not those to the client, so that both sides see different
    /// states.
    pub fn half_close(&self) {
        for joined in self.state().connections.iter().filter_map(Weak::upgrade) {
            let _ = joined.server.shutdown(Shutdown::Write);
        }
    }

    /// Returns the number of connections since the start.
    pub fn connections(&self) -> usize {
        self.state().came
    }

    pub fn delay(&self, by: Duration) {
        self.state().delay = by;
    }

    pub fn break_next_commit(&self, how: Commits) {
        self.state().next_commit = Some(how);
    }

    /// Ends all faults. Stalled connections are cut.
    pub fn clear_faults(&self) {
        let mut state = self.state();
        if state.stalled {
            state.cut();
        }
        (state.refusing, state.stalled, state.delay, state.next_commit) = (false, false, Duration::ZERO, None);
    }

    fn state(&self) -> MutexGuard<'_, ProxyState> {
        lock(&self.state)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let mut state = self.state();
        state.ended = true;
        state.cut();
        drop(state);
        // Wakes the listener, which checks whether the proxy has ended.
        let _ = TcpStream::connect(self.address);
    }
}

impl ProxyState {
    fn cut(&mut self) {
        for joined in self.connections.drain(..).filter_map(|joined| joined.upgrade()) {
            let _ = joined.client.shutdown(Shutdown::Both);
            let _ = joined.server.shutdown(Shutdown::Both);
        }
    }
}

fn lock(state: &Mutex<ProxyState>) -> MutexGuard<'_, ProxyState> {
    state.lock()
}

fn join(client: TcpStream, server_port: u16, shared: &Arc<Mutex<ProxyState>>) -> io::Result<()> {
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
    // Set when the answer to a commit must be lost on this connection.
    let mute = Arc::new(AtomicBool::new(false));
    let (both, state, silent) = (joined.clone(), shared.clone(), mute.clone());
    thread::spawn(move || requests(&both.client, &both.server, &state, &silent));
    let state = shared.clone();
    thread::spawn(move || answers(&joined.server, &joined.client, &state, &mute));
    Ok(())
}

fn requests(mut client: &TcpStream, mut server: &TcpStream, state: &Mutex<ProxyState>, mute: &AtomicBool) {
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

fn answers(mut server: &TcpStream, mut client: &TcpStream, state: &Mutex<ProxyState>, mute: &AtomicBool) {
    let mut buffer = vec![0; 256 << 10];
    while let Ok(length @ 1..) = server.read(&mut buffer) {
        pause(state);
        if mute.load(Ordering::SeqCst) {
            // Drops all answers of the transaction, including the commit's.
            break;
        }
        if client.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Read);
}

/// Waits for the configured delay, and while the proxy is stalled.
fn pause(state: &Mutex<ProxyState>) {
    let delay = lock(state).delay;
    if !delay.is_zero() {
        thread::sleep(delay);
    }
    while lock(state).stalled {
        thread::sleep(Duration::from_millis(5));
    }
}
