//! `session_track_transaction_info`: what a client is told of its transaction, so that it, or a proxy, can move on to another session with it.
//!
//! Two texts, described in MySQL's manual under `mysql_session_track_get_first()`: eight letters of the transaction's state, and the statements that
//! begin such a transaction once more. Each is told with the OK packet of the statement that has changed it. What a transaction has used is noted
//! only for sessions that are told.

use crate::client_session::ClientSession;
use crate::transaction::level_name;
use crate::transaction::lock_tables::share_of;
use engine::Isolation;
use lock_manager::metadata::Share;
use planner::Plan;
use protocol::reply::session_state;

/// The value of the variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Tells {
    #[default]
    Nothing,
    State,
    Characteristics,
}

/// What the running transaction has used: bits, with their places in the state's letters.
const READ: u8 = 1;
const WRITTEN: u8 = 2;
const UNSAFE: u8 = 4;
const ROWS_SENT: u8 = 8;
/// Tables without transactions were read: those of `performance_schema`. None is written.
const READ_OUTSIDE: u8 = 16;
const LETTERS: [(u8, usize, u8); 5] =
    [(READ_OUTSIDE, 1, b'r'), (READ, 2, b'R'), (WRITTEN, 4, b'W'), (UNSAFE, 5, b's'), (ROWS_SENT, 6, b'S')];

/// No transaction.
const NO_STATE: [u8; 8] = *b"________";

/// How a transaction was begun.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Begun {
    with_snapshot: bool,
    isolation: Option<Isolation>,
    read_only: Option<bool>,
}

/// What is told of transactions, and was.
#[derive(Debug, Default)]
pub(crate) struct TransactionTrack {
    tells: Tells,
    used: u8,
    /// What BEGIN said of the transaction, and SET TRANSACTION before it.
    begun: Begun,
    /// Told last; nothing yet is as if there were no transaction.
    state: Option<[u8; 8]>,
    /// Told last; not yet since the variable was set, or the transaction begun.
    characteristics: Option<String>,
}

impl TransactionTrack {
    /// Obeys the variable from now on.
    pub(crate) fn tell(&mut self, value: &str) {
        self.tells = match value {
            "STATE" => Tells::State,
            "CHARACTERISTICS" => Tells::Characteristics,
            _ => Tells::Nothing,
        };
        // Nothing was noted of a transaction that runs already.
        (self.used, self.begun, self.characteristics) = (0, Begun::default(), None);
    }

    /// How the running transaction was begun.
    pub(crate) fn begun(&self) -> Begun {
        self.begun
    }

    /// Whether anything is told.
    #[inline]
    pub(crate) fn tells(&self) -> bool {
        self.tells != Tells::Nothing
    }
}

impl ClientSession {
    /// BEGIN has been said; what it says of the transaction is what the next one was to be.
    #[cold]
    pub(crate) fn note_begin(&mut self, with_snapshot: bool) {
        let (isolation, read_only) = (self.transaction.next_isolation, self.transaction.next_read_only);
        let track = &mut self.changes.transaction;
        track.used = if with_snapshot { READ } else { 0 };
        track.begun = Begun { with_snapshot, isolation, read_only };
        track.characteristics = None;
    }

    /// The transaction goes on from one that was begun so: AND CHAIN has another begin that is like it.
    pub(crate) fn note_chain(&mut self, begun: Begun) {
        self.changes.transaction.begun = Begun { with_snapshot: false, ..begun };
    }

    /// Notes what a plan that runs does in a transaction that goes on.
    #[cold]
    pub(crate) fn note_use(&mut self, plan: &Plan) {
        if !self.transaction_goes_on() {
            return;
        }
        let track = &mut self.changes.transaction;
        for table in 0..plan.tables.len() {
            track.used |= if share_of(plan, table) == Share::Write { WRITTEN } else { READ };
        }
        if plan.reads_dictionary {
            track.used |= READ;
        }
        if plan.accesses.iter().any(|access| &*access.database == "performance_schema") {
            track.used |= READ_OUTSIDE;
        }
        if plan.differs_elsewhere {
            track.used |= UNSAFE;
        }
    }

    /// Notes that a SHOW has read the dictionary.
    pub(crate) fn note_dictionary_read(&mut self) {
        if self.changes.tells_transaction() && self.transaction_goes_on() {
            self.changes.transaction.used |= READ;
        }
    }

    /// Notes that a result has been sent.
    pub(crate) fn note_rows_sent(&mut self) {
        if self.changes.tells_transaction() && self.transaction_goes_on() {
            self.changes.transaction.used |= ROWS_SENT;
        }
    }

    /// Appends what has changed of the transaction since it was told.
    pub(crate) fn put_transaction(&mut self, out: &mut Vec<u8>) {
        let tells = self.changes.transaction.tells;
        if tells == Tells::Nothing {
            return;
        }
        let state = self.transaction_letters();
        let characteristics = (tells == Tells::Characteristics).then(|| self.transaction_statements());
        let track = &mut self.changes.transaction;
        if track.state.unwrap_or(NO_STATE) != state {
            session_state::put_transaction_state(out, &state);
            track.state = Some(state);
        }
        if let Some(statements) = characteristics
            && track.characteristics.as_ref() != Some(&statements)
        {
            session_state::put_transaction_characteristics(out, statements.as_bytes());
            track.characteristics = Some(statements);
        }
    }

    /// The state in letters. What a transaction has used is forgotten once there is none.
    pub(crate) fn transaction_letters(&mut self) -> [u8; 8] {
        let mut letters = NO_STATE;
        if self.transaction.explicit {
            letters[0] = b'T';
        } else if !self.core.settings.autocommit && self.engine.in_transaction() {
            letters[0] = b'I';
        } else {
            self.changes.transaction.used = 0;
        }
        for (bit, place, letter) in LETTERS {
            if self.changes.transaction.used & bit != 0 {
                letters[place] = letter;
            }
        }
        if self.transaction.has_locked_tables() {
            letters[7] = b'L';
        }
        letters
    }

    /// The statements that begin such a transaction, or make ready for one as it is wished for next.
    fn transaction_statements(&self) -> String {
        let transaction = &self.transaction;
        let Begun { with_snapshot, isolation, read_only } = if transaction.explicit {
            self.changes.transaction.begun
        } else {
            Begun { with_snapshot: false, isolation: transaction.next_isolation, read_only: transaction.next_read_only }
        };
        let access = read_only.map(|read_only| if read_only { "READ ONLY" } else { "READ WRITE" });
        let mut statements = Vec::new();
        if let Some(isolation) = isolation {
            statements.push(format!("SET TRANSACTION ISOLATION LEVEL {};", level_name(isolation)));
        }
        if transaction.explicit {
            let words: Vec<&str> = with_snapshot.then_some("WITH CONSISTENT SNAPSHOT").into_iter().chain(access).collect();
            let space = if words.is_empty() { "" } else { " " };
            statements.push(format!("START TRANSACTION{space}{};", words.join(", ")));
        } else if let Some(access) = access {
            statements.push(format!("SET TRANSACTION {access};"));
        }
        statements.join(" ")
    }
}
