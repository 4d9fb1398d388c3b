//! Clients that send a request and do not read the response.

use std::{
    error::Error,
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
};

use tokio::{io::AsyncWriteExt, net::TcpSocket};

use super::ready;

/// Connections of one address, fewer than `max_connections_per_address`.
const PER_ADDRESS: usize = 900;
/// Kernel buffer of a connection, so that the response stays with the server.
const RECEIVED: u32 = 4_096;

/// Holds connections to a server, each with the request of this file in flight.
pub async fn hold(server: SocketAddr, count: usize, request: &Path) -> Result<(), Box<dyn Error>> {
    let request = fs::read(request)?;
    let mut held = Vec::with_capacity(count);
    for number in 0..count {
        let network = u8::try_from(1 + number / PER_ADDRESS)?;
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(RECEIVED)?;
        socket.bind((Ipv4Addr::new(127, 0, network, 1), 0).into())?;
        let mut stream = socket.connect(server).await?;
        stream.write_all(&request).await?;
        held.push(stream);
    }
    ready(server);
    std::future::pending::<()>().await;
    Ok(())
}
