//! [`Epoll`]: watches parked guests' sockets.

use super::seats::{Poller, Report};
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// What is reported when all is over.
const CLOSED: u64 = u64::MAX;
/// What is reported for the probe.
const PROBE: u64 = u64::MAX - 1;
/// After so many seconds without any report one of those who wait is told of the silence.
const SILENCE_S: i64 = 20;

/// The kernel's list of sockets. Each is armed for one report (EPOLLONESHOT), which goes to one of those who wait; a socket that is not armed costs its packets next to nothing.
pub(crate) struct Epoll {
    list: OwnedFd,
    closing: OwnedFd,
    /// Always readable, and armed as guests are: reports come in order, so its report tells that those before it have been taken.
    probe: OwnedFd,
    /// The probe waits. Relaxed: seen a tick later at worst.
    probing: AtomicBool,
}

impl Epoll {
    pub(crate) fn new() -> std::io::Result<Self> {
        let list = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let closing = eventfd(0, EventfdFlags::CLOEXEC)?;
        epoll::add(&list, &closing, epoll::EventData::new_u64(CLOSED), epoll::EventFlags::IN)?;
        let probe = eventfd(1, EventfdFlags::CLOEXEC)?;
        epoll::add(&list, &probe, epoll::EventData::new_u64(PROBE), epoll::EventFlags::ONESHOT)?;
        Ok(Self { list, closing, probe, probing: AtomicBool::new(false) })
    }

    /// Whether the last probe still waits behind those whose clients had spoken before. Otherwise sends another.
    pub(crate) fn probe(&self) -> bool {
        if self.probing.load(Ordering::Relaxed) {
            return true;
        }
        self.probing.store(true, Ordering::Relaxed);
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ONESHOT;
        if epoll::modify(&self.list, &self.probe, epoll::EventData::new_u64(PROBE), flags).is_err() {
            self.probing.store(false, Ordering::Relaxed);
        }
        false
    }

    /// All who wait, or will, are told that there is nothing to wait for any more.
    pub(crate) fn close(&self) {
        // Never read, so it stays readable. Fails only when it overflows: it is readable then.
        let _ = rustix::io::write(&self.closing, &1u64.to_ne_bytes());
    }
}

impl<G: AsFd> Poller<G> for Epoll {
    fn arm(&self, guest: &G, seat: u32, known: bool) -> bool {
        let (data, flags) =
            (epoll::EventData::new_u64(seat.into()), epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ONESHOT);
        let armed = if known { epoll::modify(&self.list, guest, data, flags) } else { epoll::add(&self.list, guest, data, flags) };
        armed.is_ok()
    }

    fn wait(&self) -> Report<u32> {
        let mut event = [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(CLOSED) }];
        loop {
            match epoll::wait(&self.list, &mut event, Some(&Timespec { tv_sec: SILENCE_S, tv_nsec: 0 })) {
                Ok(0) => return Report::Silence,
                Ok(_) if event[0].data.u64() == PROBE => self.probing.store(false, Ordering::Relaxed),
                Ok(_) => return u32::try_from(event[0].data.u64()).map_or(Report::Closed, Report::Of),
                // Interrupted: once more.
                Err(_) => {}
            }
        }
    }
}
