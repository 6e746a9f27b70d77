//! Runs random transactions against a server and writes down what their clients did and saw.
//!
//! A history has keys, groups and elements of its own within two tables, so that many histories in a row make the tables grow. What a
//! client does follows from the seed; how clients meet does not: a seed gives a history of the same kind, not the same history.

mod client;
mod end;
mod lists;
mod profile;
mod sets;
mod skew;
mod statement;
mod xa;

use crate::disturb::Disturber;
use crate::history::{History, Key};
use crate::levels::Level;
use crate::place::Place;
use env::SplitMix64;
use profile::Profile;
use sync::atomic::{AtomicU64, Ordering};
use sync::thread;

/// Lists that a history may have: names are below this.
pub(crate) const LISTS: Key = 10;
/// Groups that a history may have.
pub(crate) const GROUPS: u32 = 5;
/// Elements of a history are below this.
const ELEMENTS: u64 = 1_000_000;

/// The database that is made anew.
pub const DATABASE: &str = "altiplano_histories";

/// What to run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The levels that clients choose from, each for the whole history.
    pub levels: Vec<Level>,
    /// Connections at work.
    pub clients: usize,
    /// Transactions of each.
    pub txns: usize,
    /// How often the server is killed in the middle.
    pub kills: usize,
    /// Statements and connections are killed, and clients vanish in the middle of a statement.
    pub faults: bool,
    /// The server has no gap locks.
    pub without_gaps: bool,
}

/// One history at work.
pub(crate) struct Run<'p> {
    pub(crate) place: &'p Place,
    pub(crate) settings: &'p Settings,
    pub(crate) number: u64,
    pub(crate) seed: u64,
    pub(crate) profile: Profile,
    pub(crate) disturber: Disturber,
    pub(crate) begin: std::time::Instant,
    /// The next element.
    pub(crate) elements: AtomicU64,
    /// Statements until somebody kills the server.
    until_kill: AtomicU64,
    kills_left: AtomicU64,
}

impl Run<'_> {
    pub(crate) fn now(&self) -> u64 {
        self.begin.elapsed().as_nanos() as u64
    }

    pub(crate) fn element(&self) -> u64 {
        self.elements.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The `id` of a list.
    pub(crate) fn list_id(&self, key: Key) -> u64 {
        self.number * u64::from(LISTS) + u64::from(key)
    }

    /// The secondary key of a list: the other way round, so that an index over it has another order.
    pub(crate) fn list_sk(&self, key: Key) -> u64 {
        self.number * u64::from(LISTS) + u64::from(LISTS - 1 - key)
    }

    pub(crate) fn key_of_id(&self, id: u64) -> Key {
        (id - self.number * u64::from(LISTS)) as Key
    }

    /// What an element is called in columns that all histories share; 0 is the beginning of an empty list.
    pub(crate) fn stored(&self, element: u64) -> u64 {
        self.number * ELEMENTS + element
    }

    pub(crate) fn element_of(&self, stored: u64) -> u64 {
        stored.wrapping_sub(self.number * ELEMENTS)
    }

    pub(crate) fn group_id(&self, group: u32) -> u64 {
        self.number * u64::from(GROUPS) + u64::from(group)
    }

    pub(crate) fn group_of(&self, id: u64) -> u32 {
        (id.wrapping_sub(self.number * u64::from(GROUPS))) as u32
    }

    /// Counts a statement; whoever comes to a chosen one kills the server, or disturbs another client.
    pub(crate) fn count_statement(&self) {
        if self.settings.faults {
            self.disturber.count_statement(self.place);
        }
        if self.until_kill.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) == Ok(1) {
            if self.kills_left.fetch_sub(1, Ordering::Relaxed) > 1 {
                self.until_kill.store(200, Ordering::Relaxed);
            }
            self.place.restart();
        }
    }
}

/// Makes the tables anew.
pub fn create_tables(place: &Place) -> Result<(), String> {
    place.run(&[
        format!("DROP DATABASE IF EXISTS {DATABASE}"),
        format!("CREATE DATABASE {DATABASE}"),
        format!("USE {DATABASE}"),
        "CREATE TABLE lists (id BIGINT PRIMARY KEY, sk BIGINT NOT NULL, last BIGINT NOT NULL, v VARCHAR(8000) NOT NULL, KEY sk (sk), KEY last (last))".into(),
        "CREATE TABLE sets (id BIGINT PRIMARY KEY, grp BIGINT NOT NULL, tag BIGINT NOT NULL, pad VARCHAR(40) NOT NULL, KEY grp (grp, tag))".into(),
    ])
}

/// Takes the tables away again.
pub fn drop_tables(place: &Place) -> Result<(), String> {
    place.run(&[format!("DROP DATABASE IF EXISTS {DATABASE}")])
}

/// Runs the history of a number; the tables must be there, and the number new to them.
pub fn run(place: &Place, settings: &Settings, seed: u64, number: u64) -> Result<History, String> {
    let mut random = SplitMix64::new(seed);
    let expected_statements = (settings.clients * settings.txns * 4) as u64;
    let run = Run {
        place,
        settings,
        number,
        seed,
        profile: Profile::of(seed),
        disturber: Disturber::new(seed, settings.clients),
        begin: std::time::Instant::now(),
        elements: AtomicU64::new(0),
        until_kill: AtomicU64::new(if settings.kills > 0 { 50 + random.below(expected_statements) } else { 0 }),
        kills_left: AtomicU64::new(settings.kills as u64),
    };
    let preset = 0..run.profile.preset;
    let rows: Vec<String> =
        preset.clone().map(|key| format!("({}, {}, {}, '')", run.list_id(key), run.list_sk(key), run.stored(0))).collect();
    // IGNORE: where another history kills the server, it may be done and not be answered.
    place.insist(&[format!("USE {DATABASE}"), format!("INSERT IGNORE INTO lists VALUES {}", rows.join(", "))])?;
    let results: Vec<Result<Vec<_>, String>> = thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..settings.clients).map(|number| scope.spawn(move || client::Client::run(run, number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("a client failed".into()))).collect()
    });
    let mut history = History { preset: preset.collect(), without_gaps: settings.without_gaps, ..History::default() };
    for result in results {
        history.txns.extend(result?);
    }
    history.txns.sort_by_key(|txn| txn.statements.first().map_or(0, |statement| statement.sent));
    end::read(&run, &mut history)?;
    Ok(history)
}

/// The seed of a history in a run.
pub fn seed_of(seed: u64, number: u64) -> u64 {
    SplitMix64::new(seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15)).next()
}
