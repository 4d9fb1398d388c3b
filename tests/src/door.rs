//! A way to a server that can be shut and opened again: for servers that lose their records when they end.

use std::net::SocketAddr;

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

pub struct Door {
    at: SocketAddr,
    to: SocketAddr,
    open: Option<JoinHandle<()>>,
}

impl Door {
    /// An open door on loopback.
    pub async fn to(server: SocketAddr) -> Door {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let at = listener.local_addr().expect("it is bound");
        Door { at, to: server, open: Some(tokio::spawn(pass(listener, server))) }
    }

    pub fn address(&self) -> SocketAddr {
        self.at
    }

    /// Connections are cut, and new ones refused.
    pub async fn shut(&mut self) {
        if let Some(open) = self.open.take() {
            open.abort();
            let _ = open.await;
        }
    }

    pub async fn open(&mut self) {
        if self.open.is_none() {
            let listener = TcpListener::bind(self.at).await.expect("the port is still ours");
            self.open = Some(tokio::spawn(pass(listener, self.to)));
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        if let Some(open) = &self.open {
            open.abort();
        }
    }
}

/// Ends all connections when it ends.
async fn pass(listener: TcpListener, to: SocketAddr) {
    let mut connections = JoinSet::new();
    while let Ok((mut from, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        connections.spawn(async move {
            let mut server = TcpStream::connect(to).await?;
            copy_bidirectional(&mut from, &mut server).await
        });
    }
}
