//! The servers that are measured, each in a process of its own: this binary again, told what to be.

pub mod bytes;
pub mod configured;
pub mod echo;
pub mod gateway;
pub mod postgres;
pub mod product;
pub mod sink;

use std::{
    io::{self, BufRead, BufReader, Read},
    net::SocketAddr,
    process::{Child, Command, Stdio},
};

use super::report::say;

/// First argument of a process that is to be a server.
pub const SERVER: &str = "server";
/// Threads that answer requests, in each of the servers.
pub const WORKERS: usize = 2;
const READY: &str = "ready ";
const OPERATORS: &str = "operators ";

/// A server process; it ends with this value.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
    /// Where operators call, if it serves them anywhere.
    pub operators: Option<SocketAddr>,
    /// What it said besides its address.
    pub said: Vec<String>,
}

impl Server {
    pub fn start(arguments: &[&str]) -> io::Result<Server> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command.arg(SERVER).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take().ok_or_else(|| io::Error::other("no output of the server"))?;
        let (mut operators, mut said) = (None, Vec::new());
        for line in BufReader::new(out).lines() {
            let line = line?;
            match line.strip_prefix(READY) {
                Some(address) => {
                    let address = address.parse().map_err(io::Error::other)?;
                    return Ok(Server { child, address, operators, said });
                }
                None => match line.strip_prefix(OPERATORS) {
                    Some(address) => operators = Some(address.parse().map_err(io::Error::other)?),
                    None => said.push(line),
                },
            }
        }
        let status = child.wait()?;
        Err(io::Error::other(format!("the server {arguments:?} ended with {status}: {}", said.join(" "))))
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It is ours and keeps nothing that is needed again.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Tells the parent where operators call.
pub fn ready_for_operators(address: SocketAddr) {
    say(format!("{OPERATORS}{address}"));
}

/// Tells the parent where this process serves, and ends with the parent.
pub fn ready(address: SocketAddr) {
    say(format!("{READY}{address}"));
    std::thread::spawn(|| {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
}
