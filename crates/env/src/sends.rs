//! [`Sends`]: bytes for many sockets by one call of the kernel.
//!
//! What the ring has no room for goes by a plain call each, as does all once a ring has failed: so nothing here is an error.

use crate::kernel_ring::Ring;
use std::os::fd::{AsRawFd, BorrowedFd};

use io_uring::{opcode, types};
use rustix::net::SendFlags;

/// See the module.
pub struct Sends {
    ring: Ring,
}

impl Sends {
    /// `None` where the kernel has no ring for us, or the environment forbids it (`ALTIPLANO_IO_URING=0`).
    pub fn new() -> Option<Sends> {
        if Ring::is_forbidden() { None } else { Ring::new().ok().map(|ring| Sends { ring }) }
    }

    /// Sends to each socket what it takes at once; waits for none. In `sent`, which is made as long as there are sockets, how many bytes of each: 0 where a socket took none, or has gone.
    pub fn send<'a>(&mut self, replies: impl Iterator<Item = (BorrowedFd<'a>, &'a [u8])>, sent: &mut Vec<usize>) {
        sent.clear();
        let mut batch = self.ring.begin();
        for (socket, bytes) in replies {
            let entry = opcode::Send::new(types::Fd(socket.as_raw_fd()), bytes.as_ptr(), u32::try_from(bytes.len()).unwrap_or(u32::MAX))
                .flags(libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
                .build()
                .user_data(sent.len() as u64);
            // SAFETY: socket and bytes are borrowed for longer than this function runs, so nobody changes them meanwhile.
            let pushed = unsafe { batch.push(&entry) };
            sent.push(if pushed { 0 } else { send_at_once(socket, bytes) });
        }
        let note = |at: u64, result: i32| {
            if let Some(sent) = sent.get_mut(at as usize) {
                *sent = usize::try_from(result).unwrap_or(0);
            }
        };
        batch.finish(note);
    }
}

/// Sends what the socket takes at once; 0 when that is nothing, or it has gone.
pub fn send_at_once(socket: BorrowedFd<'_>, bytes: &[u8]) -> usize {
    rustix::net::send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT).unwrap_or(0)
}

impl std::fmt::Debug for Sends {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sends")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_ring::DEPTH;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn each_socket_gets_its_own_and_who_has_gone_or_is_full_gets_nothing() {
        let Some(mut sends) = Sends::new() else {
            eprintln!("no io_uring here");
            return;
        };
        let pair = || UnixStream::pair().expect("two sockets");
        let mut pairs: Vec<(UnixStream, UnixStream)> = (0..40).map(|_| pair()).collect();
        let texts: Vec<Vec<u8>> = (0..pairs.len()).map(|no| vec![no as u8; 1 + no * 10]).collect();
        let gone = pair().1;
        let (_reads_nothing, full) = pair();
        full.set_nonblocking(true).expect("a socket");
        while (&full).write(&[0; 4096]).is_ok() {}
        full.set_nonblocking(false).expect("a socket");
        let mut sent = vec![7];
        for round in 0..3 {
            let all = pairs.iter().zip(&texts).map(|((_, server), text)| (server.as_fd(), &text[..]));
            let others = [(gone.as_fd(), &texts[9][..]), (full.as_fd(), &texts[9][..])];
            sends.send(others.into_iter().chain(all), &mut sent);
            let expected: Vec<usize> = [0, 0].into_iter().chain(texts.iter().map(Vec::len)).collect();
            assert_eq!(sent, expected, "round {round}");
            for ((client, _), text) in pairs.iter_mut().zip(&texts) {
                let mut got = vec![0; text.len()];
                client.read_exact(&mut got).expect("what was sent");
                assert_eq!(&got, text);
            }
        }
        sends.send(std::iter::empty(), &mut sent);
        assert!(sent.is_empty());
        let many = || (0..DEPTH + 3).map(|_| (pairs[0].1.as_fd(), &texts[0][..]));
        sends.send(many(), &mut sent);
        assert_eq!(sent, vec![1; DEPTH + 3], "what there is no room for is sent as well");
        // A batch that was dropped ends the ring; all goes as before.
        let nothing = io_uring::opcode::Nop::new().build();
        // SAFETY: it points to nothing.
        assert!(unsafe { sends.ring.begin().push(&nothing) });
        sends.send(many(), &mut sent);
        assert_eq!(sent, vec![1; DEPTH + 3]);
        let mut got = vec![7; 2 * (DEPTH + 3)];
        pairs[0].0.read_exact(&mut got).expect("what was sent");
        assert!(got.iter().all(|byte| *byte == 0));
    }
}
