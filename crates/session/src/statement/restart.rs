//! Under `snapshot_isolation`: running a statement again that begins its transaction and has met a row changed since its snapshot.
//!
//! The first updater wins against transactions that have read or written something: what they build on is no longer so. A statement that
//! begins its transaction builds on nothing. It lets go of its snapshot, keeps the locks that it has waited for, and runs again; each time it has
//! locked one row more, so it comes to an end.
//!
//! # Not here
//! A statement that has sent rows, set a user variable or called GET_LOCK cannot be run again without its client seeing it, nor can LOAD DATA
//! ask for its rows twice: these fail (1213).

use crate::client_session::ClientSession;
use crate::error_map::{Outcome, engine_error};
use crate::statement::plan_cache::CachedPlan;
use protocol::ResultSink;
use protocol::writer::WriterMark;

/// How things stood when the statement began.
pub(crate) struct Beginning {
    reply: WriterMark,
    last_insert_id: u64,
}

impl ClientSession {
    /// Before a statement that may have to be run again.
    #[cold]
    pub(crate) fn note_beginning(&mut self, sink: &mut ResultSink<'_>) -> Beginning {
        self.core.acted = false;
        Beginning { reply: sink.packets().mark(), last_insert_id: self.core.last_insert_id }
    }

    /// Runs the statement again as long as it meets what has changed. `result` is that of its first run.
    #[cold]
    pub(crate) fn run_again(
        &mut self,
        plan: &CachedPlan,
        beginning: &Beginning,
        mut result: executor::Result<executor::Outcome>,
        sink: &mut ResultSink<'_>,
    ) -> Result<executor::Result<executor::Outcome>, Outcome> {
        while matches!(result, Err(executor::Error::Engine(engine::Error::Changed))) && self.begin_again(beginning, sink)? {
            result = self.execute_plan(plan, sink);
        }
        Ok(result)
    }

    /// Goes back to the beginning. `false` where it cannot: then the statement has failed.
    fn begin_again(&mut self, beginning: &Beginning, sink: &mut ResultSink<'_>) -> Result<bool, Outcome> {
        if self.core.acted || !sink.packets().rewind(beginning.reply) {
            return Ok(false);
        }
        self.core.last_insert_id = beginning.last_insert_id;
        self.core.diagnostics.clear();
        self.shared().status.statement_restarts.inc();
        self.engine.restart_statement().map_err(|error| engine_error(error, || self.stop_error()))?;
        Ok(true)
    }
}
