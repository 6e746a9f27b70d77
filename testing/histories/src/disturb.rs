//! Disturbances: KILL QUERY, KILL CONNECTION, and sockets cut in the middle of a statement.
//!
//! Whoever comes to a chosen statement disturbs another client, which is most likely in the middle of one.

use crate::place::Place;
use env::SplitMix64;
use mysql::prelude::Queryable;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsRawFd, BorrowedFd};
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Arc, Mutex, Rank};

/// Statements from one disturbance to the next: at least, and up to so many more.
const EVERY: (u64, u64) = (10, 40);

/// A connection as those who disturb it see it.
pub(crate) struct Wire {
    id: u32,
    /// Of the server, when the connection was made.
    lives: u64,
    socket: Option<TcpStream>,
    /// It was killed or cut, or will be at once.
    doomed: AtomicBool,
}

impl Wire {
    /// The session's, as the server numbers it.
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Whether its end is no surprise.
    pub(crate) fn is_doomed(&self) -> bool {
        self.doomed.load(Ordering::SeqCst)
    }
}

/// All connections of a history.
#[derive(Default)]
struct Wires {
    /// By client: the one that it has now.
    now: Vec<Option<Arc<Wire>>>,
    /// Of all that there were: id, and the server's life.
    all: Vec<(u32, u64)>,
}

/// Disturbs clients.
pub(crate) struct Disturber {
    seed: u64,
    count: AtomicU64,
    until_next: AtomicU64,
    wires: Mutex<Wires>,
    /// The connection for KILL, with the server's life; taken out while it is used.
    admin: Mutex<Option<(mysql::Conn, u64)>>,
}

impl Disturber {
    pub(crate) fn new(seed: u64, clients: usize) -> Disturber {
        Disturber {
            seed: seed ^ 0xD157_0000,
            count: AtomicU64::new(0),
            until_next: AtomicU64::new(EVERY.0),
            wires: Mutex::new(Rank::Leaf, Wires { now: vec![None; clients], all: vec![] }),
            admin: Mutex::new(Rank::Leaf, None),
        }
    }

    /// Makes a client's new connection known.
    pub(crate) fn register(&self, client: usize, connection: &mysql::Conn, lives: u64) -> Arc<Wire> {
        // SAFETY: the connection owns the descriptor and is borrowed for longer than this.
        let descriptor = unsafe { BorrowedFd::borrow_raw(connection.as_raw_fd()) };
        let socket = descriptor.try_clone_to_owned().ok().map(TcpStream::from);
        let wire = Arc::new(Wire { id: connection.connection_id(), lives, socket, doomed: AtomicBool::new(false) });
        let mut wires = self.wires.lock();
        wires.now[client] = Some(Arc::clone(&wire));
        wires.all.push((wire.id, lives));
        wire
    }

    /// Ids of connections that the server may still have.
    pub(crate) fn ids(&self, lives: u64) -> Vec<u32> {
        self.wires.lock().all.iter().filter(|(_, of)| *of == lives).map(|(id, _)| *id).collect()
    }

    pub(crate) fn count_statement(&self, place: &Place) {
        let at = self.count.fetch_add(1, Ordering::Relaxed);
        if self.until_next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) != Ok(1) {
            return;
        }
        let mut random = SplitMix64::new(self.seed ^ at);
        let wires: Vec<Arc<Wire>> = self.wires.lock().now.iter().flatten().cloned().collect();
        if !wires.is_empty() {
            let victim = random.below(wires.len() as u64) as usize;
            self.disturb(place, &mut random, &wires[victim]);
        }
        self.until_next.store(EVERY.0 + random.below(EVERY.1), Ordering::Relaxed);
    }

    fn disturb(&self, place: &Place, random: &mut SplitMix64, wire: &Wire) {
        let what = match random.below(10) {
            0..=4 => "QUERY",
            5..=7 => "CONNECTION",
            _ => {
                wire.doomed.store(true, Ordering::SeqCst);
                if let Some(socket) = &wire.socket {
                    let _ = socket.shutdown(Shutdown::Both);
                }
                return;
            }
        };
        let known = self.admin.lock().take();
        let admin = known.filter(|(_, lives)| *lives == wire.lives).or_else(|| {
            let lives = place.lives();
            place.connect(None).ok().map(|connection| (connection, lives))
        });
        // In another life of the server the id is another's; in its own, the connection for KILL would be broken.
        if let Some((mut connection, lives)) = admin
            && lives == wire.lives
        {
            if what == "CONNECTION" {
                wire.doomed.store(true, Ordering::SeqCst);
            }
            // 1094: it has gone by itself.
            let _ = connection.query_drop(format!("KILL {what} {}", wire.id));
            *self.admin.lock() = Some((connection, lives));
        }
    }
}
