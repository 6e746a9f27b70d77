//! What OK packets tell of changes of the session's state, to clients that asked for it (CLIENT_SESSION_TRACK).
//!
//! Changes are noted where they are made and told with the OK packet of their statement. A session whose client does not listen notes nothing,
//! and an OK packet with nothing to tell costs few looks.

use crate::client_session::ClientSession;
use crate::reply::transaction_track::TransactionTrack;
use crate::variables::{DEFINITIONS, Definition, find, show, variable};
use executor::StatementContext;
use mysql_error::{Warning, WarningLevel, codes};
use protocol::reply::session_state;
use protocol::{Capabilities, ResultSink};
use types::Value;

/// What happened since the last OK packet.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// The client listens.
    listening: bool,
    /// USE, or the current database was dropped.
    schema: bool,
    /// Anything that another connection would have to repeat.
    state: bool,
    /// The transaction, where the session tells of it.
    pub(crate) transaction: TransactionTrack,
}

impl Changes {
    /// The current database is another, or was chosen anew.
    pub fn note_schema(&mut self) {
        self.schema = true;
        self.state = true;
    }

    /// State has changed that has no name of its own: a user variable, a prepared statement, a temporary table.
    pub fn note_state(&mut self) {
        self.state = true;
    }

    /// Whether what a transaction uses is to be noted.
    #[inline]
    pub fn tells_transaction(&self) -> bool {
        self.listening && self.transaction.tells()
    }
}

impl ClientSession {
    /// Begins anew, for a client that listens or does not.
    pub(crate) fn begin_tracking(&mut self) {
        let listening = self.core.login.capabilities.contains(Capabilities::SESSION_TRACK);
        self.changes = Changes { listening, ..Changes::default() };
        let transaction = self.session_text(variable!("session_track_transaction_info"));
        self.changes.transaction.tell(&transaction);
        self.core.variables.watch(listening);
    }

    /// What is to be told by the OK packet that is written now; mostly nothing.
    #[inline]
    pub(crate) fn session_state(&mut self) -> Vec<u8> {
        if self.changes.listening && self.has_news() { self.take_session_state() } else { Vec::new() }
    }

    /// The same for the packet that ends rows: older clients are told nothing by it, and so it by the next one.
    #[inline]
    pub(crate) fn session_state_behind_rows(&mut self, sink: &ResultSink<'_>) -> Vec<u8> {
        if self.changes.listening && sink.capabilities().contains(Capabilities::DEPRECATE_EOF) { self.session_state() } else { Vec::new() }
    }

    fn has_news(&self) -> bool {
        self.changes.schema || self.changes.state || self.changes.transaction.tells() || self.core.variables.has_touched()
    }

    /// What a failed statement has changed is not told; that its transaction is gone is, with the next OK packet.
    #[cold]
    pub(crate) fn forget_changes(&mut self) {
        drop(self.core.variables.take_touched());
        (self.changes.schema, self.changes.state) = (false, false);
        self.transaction_letters();
    }

    #[cold]
    fn take_session_state(&mut self) -> Vec<u8> {
        let touched = self.core.variables.take_touched();
        let schema = std::mem::take(&mut self.changes.schema);
        let state = std::mem::take(&mut self.changes.state);
        let mut out = Vec::new();
        let names = self.session_text(variable!("session_track_system_variables"));
        let mut variables: Vec<_> = touched.iter().map(|at| &DEFINITIONS[usize::from(*at)]).collect();
        // By name, and each once, as it is now.
        variables.sort_unstable_by_key(|definition| definition.name);
        variables.dedup_by_key(|definition| definition.name);
        for definition in variables.iter().filter(|definition| names_one(&names, definition.name)) {
            let value = show(definition, self.core.variables.get(definition));
            session_state::put_system_variable(&mut out, definition.name.as_bytes(), value.as_bytes());
        }
        if schema && self.session_text(variable!("session_track_schema")) == "ON" {
            session_state::put_schema(&mut out, self.core.database.as_deref().unwrap_or_default().as_bytes());
        }
        if (state || !variables.is_empty()) && self.session_text(variable!("session_track_state_change")) == "ON" {
            session_state::put_state_change(&mut out);
        }
        self.put_transaction(&mut out);
        out
    }

    /// A variable's value in this session, as SHOW VARIABLES shows it.
    pub(crate) fn session_text(&self, definition: &'static Definition) -> String {
        show(definition, self.core.variables.get(definition))
    }

    /// Warns of names in `session_track_system_variables` that are none (1231).
    pub(crate) fn warn_of_unknown_tracked(&mut self, value: &Value) {
        let Value::Bytes(list) = value else { return };
        let list = list.to_text().into_owned();
        for name in list.split(',').map(str::trim).filter(|name| !name.is_empty() && *name != "*" && find(name).is_none()) {
            let message = format!("{name} is not a valid system variable and will be ignored.");
            self.core.warn(Warning { level: WarningLevel::Warning, code: codes::ER_WRONG_VALUE_FOR_VAR, message });
        }
    }
}

/// Whether a list such as `autocommit, time_zone` or `*` names a variable.
fn names_one(list: &str, name: &str) -> bool {
    list.split(',').map(str::trim).any(|one| one == "*" || one.eq_ignore_ascii_case(name))
}
