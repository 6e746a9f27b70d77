//! Clients on their way in: greeted by the acceptor, watched without a thread until they answer, and logged in by a few threads.
//!
//! A storm of clients that connect for each request costs no thread each, and one that connects and says nothing costs none at all. Who has answered stands in line (`crew.rs`) for as many threads as there are
//! processors; one that has to wait in the middle of its login (half an answer, TLS, a password in full) lets another thread go on meanwhile.
//!
//! # Invariants
//! 1. A client on its way in is in the lobby, in line, or in the hands of one thread.
//! 2. The acceptor does not wait for a client: it sends what the kernel takes at once.

mod crew;
mod lobby;

// `crew.rs` says `super::platform`, as the model test has it.
use crate::pool::platform;

pub(crate) use crew::{Crew, Enters, Place, Work};
pub(crate) use lobby::{Lobby, Seen};

impl<T: Enters> sync::blocking::GivesWay for Place<T> {
    fn give_way(&self) {
        // Where nobody takes it over it is kept, and left at the next wait.
        let _ = self.leave();
    }
}
