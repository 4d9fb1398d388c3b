//! The measured servers. Each runs in its own process, which is this binary with other arguments.

pub mod bytes;
pub mod configured;
pub mod echo;
pub mod gateway;
pub mod postgres;
pub mod product;
pub mod readers;
pub mod sink;

use std::{
    io::{self, BufRead, BufReader, Read},
    net::SocketAddr,
    process::{Child, Command, Stdio},
};

use super::report::print_line;

/// First argument of a server process.
pub const SERVER: &str = "server";
/// Threads that answer requests, in each of the servers.
pub const WORKERS: usize = 2;
/// Runs a program with as many open files as its process may have.
const WITH_FILES: &str = "ulimit -n \"$(ulimit -Hn)\"; exec \"$0\" \"$@\"";
const READY: &str = "ready ";
const OPERATORS: &str = "operators ";

/// A server process, killed when dropped.
pub struct BenchServer {
    child: Child,
    pub address: SocketAddr,
    /// The operators' listener, if any.
    pub operators: Option<SocketAddr>,
    /// Lines of output before the address.
    pub output: Vec<String>,
}

impl BenchServer {
    pub fn start(arguments: &[&str]) -> io::Result<BenchServer> {
        let mut command = Command::new("sh");
        command.args(["-c", WITH_FILES]).arg(std::env::current_exe()?).arg(SERVER).args(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take().ok_or_else(|| io::Error::other("no output of the server"))?;
        let (mut operators, mut output) = (None, Vec::new());
        for line in BufReader::new(out).lines() {
            let line = line?;
            match line.strip_prefix(READY) {
                Some(address) => {
                    let address = address.parse().map_err(io::Error::other)?;
                    return Ok(BenchServer { child, address, operators, output });
                }
                None => match line.strip_prefix(OPERATORS) {
                    Some(address) => operators = Some(address.parse().map_err(io::Error::other)?),
                    None => output.push(line),
                },
            }
        }
        let status = child.wait()?;
        Err(io::Error::other(format!("the server {arguments:?} ended with {status}: {}", output.join(" "))))
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        // A benchmark's server has no state to preserve.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Prints the address of the operators' listener for the parent.
pub fn ready_for_operators(address: SocketAddr) {
    print_line(format!("{OPERATORS}{address}"));
}

/// Prints the server's address for the parent. The process exits with the parent.
pub fn ready(address: SocketAddr) {
    print_line(format!("{READY}{address}"));
    std::thread::spawn(|| {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
}
