//! [`Epoll`]: watches parked guests' sockets.

use super::seats::{Poller, Watch};
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// What is reported when all is over.
const CLOSED: u64 = u64::MAX;
/// What is reported when there is something else to do.
const CALL: u64 = u64::MAX - 1;
/// What tells that a client has gone.
const GONE: epoll::EventFlags = epoll::EventFlags::RDHUP.union(epoll::EventFlags::HUP).union(epoll::EventFlags::ERR);
/// Reports taken at once.
const REPORTS: usize = 32;

/// The kernel's list of sockets. Each is armed for one report (EPOLLONESHOT), or for one whenever something arrives (EPOLLET); a report goes to one of those who ask. A socket that is not armed costs its packets next to nothing.
pub(crate) struct Epoll {
    list: OwnedFd,
    closing: OwnedFd,
    /// Always readable, armed by [`Epoll::call`].
    calling: OwnedFd,
}

/// All is over.
#[derive(Debug)]
pub(crate) struct Closed;

impl Epoll {
    pub(crate) fn new() -> std::io::Result<Self> {
        let list = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let closing = eventfd(0, EventfdFlags::CLOEXEC)?;
        epoll::add(&list, &closing, epoll::EventData::new_u64(CLOSED), epoll::EventFlags::IN)?;
        let calling = eventfd(1, EventfdFlags::CLOEXEC)?;
        epoll::add(&list, &calling, epoll::EventData::new_u64(CALL), epoll::EventFlags::ONESHOT)?;
        Ok(Self { list, closing, calling })
    }

    /// Seats whose guests' clients have spoken are told to `report`, some of them at once, and whether the client has gone. Waits for the first as long as `patience` says, or for ever; may come back without any. Whether there was a [`Epoll::call`].
    pub(crate) fn wait(&self, patience: Option<Duration>, mut report: impl FnMut(u32, bool)) -> Result<bool, Closed> {
        let mut events = [const { MaybeUninit::uninit() }; REPORTS];
        let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
        // Interrupted: nothing was reported.
        let reported = epoll::wait(&self.list, &mut events, patience.as_ref()).map_or(&[][..], |(reported, _)| reported);
        let (mut closed, mut called) = (false, false);
        for event in reported {
            match u32::try_from(event.data.u64()) {
                Ok(seat) => {
                    let flags = event.flags;
                    report(seat, flags.intersects(GONE));
                }
                Err(_) => {
                    closed |= event.data.u64() == CLOSED;
                    called |= event.data.u64() == CALL;
                }
            }
        }
        if closed { Err(Closed) } else { Ok(called) }
    }

    /// The same at once, by somebody else than who waits here. A call is for that one: it stays.
    pub(crate) fn look(&self, report: impl FnMut(u32, bool)) -> Result<(), Closed> {
        if self.wait(Some(Duration::ZERO), report)? {
            self.call();
        }
        Ok(())
    }

    /// Who waits, or will next, is to look for other things to do.
    pub(crate) fn call(&self) {
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ONESHOT;
        // Refused: it looks when a client speaks.
        let _ = epoll::modify(&self.list, &self.calling, epoll::EventData::new_u64(CALL), flags);
    }

    /// All who wait, or will, are told that there is nothing to wait for any more.
    pub(crate) fn close(&self) {
        // Never read, so it stays readable. Fails only when it overflows: it is readable then.
        let _ = rustix::io::write(&self.closing, &1u64.to_ne_bytes());
    }
}

impl<G: AsFd> Poller<G> for Epoll {
    fn arm(&self, guest: &G, seat: u32, known: bool, watch: Watch) -> bool {
        let how = match watch {
            Watch::Once => epoll::EventFlags::ONESHOT,
            Watch::Always => epoll::EventFlags::ET,
        };
        let (data, flags) = (epoll::EventData::new_u64(seat.into()), epoll::EventFlags::IN | epoll::EventFlags::RDHUP | how);
        let armed = if known { epoll::modify(&self.list, guest, data, flags) } else { epoll::add(&self.list, guest, data, flags) };
        armed.is_ok()
    }

    fn disarm(&self, guest: &G) {
        // Fails only for what is not on the list.
        let _ = epoll::delete(&self.list, guest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who was called, and slept on because another had looked, was never called again: a reply was not sent.
    #[test]
    fn a_call_reaches_who_waits_although_others_look() {
        let epoll = Epoll::new().expect("descriptors");
        let nobody = |seat: u32, _| panic!("nobody sits on {seat}");
        let waits = || epoll.wait(Some(Duration::ZERO), nobody).expect("not closed");
        assert!(!waits());
        epoll.call();
        assert!(waits());
        assert!(!waits(), "told once");
        epoll.call();
        for _ in 0..2 {
            epoll.look(nobody).expect("not closed");
        }
        assert!(waits());
        assert!(!waits());
        epoll.close();
        assert!(epoll.look(nobody).is_err() && epoll.wait(None, nobody).is_err());
    }
}
