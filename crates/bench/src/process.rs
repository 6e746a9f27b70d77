//! Which process serves an address of this machine.
//!
//! `/proc/net/tcp` names the inode of the socket that listens at the port, and of the processes' open files one is that socket. Processes of
//! other users can only be looked into by root; then nothing is found, and nothing is told of the server's processor time.

use std::fs;
use std::net::SocketAddr;

/// The process that listens at the port, when the connection between the two ends stays on this machine.
pub fn listening(own: SocketAddr, server: SocketAddr) -> Option<u32> {
    // A connection to another address of this machine comes from that address, or from loopback.
    if !server.ip().is_loopback() && server.ip() != own.ip() {
        return None;
    }
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    let inodes: Vec<String> = tables.iter().flat_map(|table| listeners(table, server.port())).collect();
    if inodes.is_empty() {
        return None;
    }
    let wanted: Vec<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    let processes = fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has_it = |pid: &u32| {
        let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
        files
            .flatten()
            .filter_map(|file| fs::read_link(file.path()).ok())
            .any(|to| wanted.iter().any(|wanted| to.as_os_str() == wanted.as_str()))
    };
    processes.into_iter().find(has_it)
}

/// Inodes of the sockets that listen at a port.
fn listeners(table: &str, port: u16) -> impl Iterator<Item = String> + '_ {
    const LISTEN: &str = "0A";
    let local = format!(":{port:04X}");
    table.lines().skip(1).filter_map(move |line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (address, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
        (address.ends_with(&local) && *state == LISTEN).then(|| (*inode).to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn this_process_is_found_by_the_port_it_listens_at() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let server = listener.local_addr().expect("an address");
        let client = TcpStream::connect(server).expect("connected");
        let own = client.local_addr().expect("an address");
        assert_eq!(listening(own, server), Some(std::process::id()));
        drop(listener);
        assert_eq!(listening(own, server), None);
        assert_eq!(listening(own, "192.0.2.1:3306".parse().expect("an address")), None);
    }
}
