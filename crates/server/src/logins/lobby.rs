//! [`Lobby`]: what the acceptor waits for: clients that come, and those that were greeted and have not answered.

use hashbrown::HashMap;
use rustix::event::epoll;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

/// What is reported of what ends all.
const END: u64 = u64::MAX;
/// The first listener's number; below are those of clients.
const LISTENERS: u64 = 1 << 32;
/// Reports taken at once.
const REPORTS: usize = 64;

/// What has happened.
#[derive(Debug)]
pub(crate) enum Seen<G> {
    /// All is over.
    End,
    /// Clients wait at the listener of this number.
    AtListener(usize),
    /// A client has answered, or has gone.
    Answered(G),
}

/// See the module. Of one thread.
pub(crate) struct Lobby<G> {
    list: OwnedFd,
    guests: HashMap<u32, G>,
}

impl<G: AsFd> Lobby<G> {
    /// Watches what ends all, and the listeners, which keep their numbers.
    pub(crate) fn new<L: AsFd>(end: impl AsFd, listeners: impl IntoIterator<Item = L>) -> io::Result<Self> {
        let list = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&list, end, epoll::EventData::new_u64(END), epoll::EventFlags::IN)?;
        for (number, listener) in listeners.into_iter().enumerate() {
            epoll::add(&list, listener, epoll::EventData::new_u64(LISTENERS + number as u64), epoll::EventFlags::IN)?;
        }
        Ok(Self { list, guests: HashMap::new() })
    }

    /// A client that has been greeted waits until it answers. Given back when it cannot be watched.
    pub(crate) fn seat(&mut self, number: u32, guest: G) -> Result<(), G> {
        let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP;
        if epoll::add(&self.list, &guest, epoll::EventData::new_u64(number.into()), flags).is_err() {
            return Err(guest);
        }
        self.guests.insert(number, guest);
        Ok(())
    }

    /// Waits until something happens, and adds all that has to `seen`. Clients that have answered are not watched any more.
    pub(crate) fn wait(&mut self, seen: &mut Vec<Seen<G>>) {
        let mut events = [const { MaybeUninit::uninit() }; REPORTS];
        // Interrupted: nothing was reported.
        let reported = epoll::wait(&self.list, &mut events, None).map_or(&[][..], |(reported, _)| reported);
        seen.extend(reported.iter().filter_map(|event| match event.data.u64() {
            END => Some(Seen::End),
            number @ LISTENERS.. => Some(Seen::AtListener((number - LISTENERS) as usize)),
            number => {
                let guest = self.guests.remove(&(number as u32))?;
                // Fails only for what is not on the list.
                let _ = epoll::delete(&self.list, &guest);
                Some(Seen::Answered(guest))
            }
        }));
    }
}
