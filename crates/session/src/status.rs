//! Status counters that SHOW STATUS shows under MySQL's names. Each is sharded by its owner, so counting writes no shared line.

use metrics::Counter;

macro_rules! counters {
    ($($(#[doc = $doc:literal])* $field:ident = $name:literal),* $(,)?) => {
        /// Counters of the whole server.
        #[derive(Default)]
        pub struct Status {
            $($(#[doc = $doc])* pub $field: Counter,)*
        }

        impl Status {
            /// Names and values, by name.
            pub fn list(&self) -> Vec<(&'static str, u64)> {
                vec![$(($name, self.$field.get())),*]
            }
        }
    };
}

counters! {
    /// Sessions that ended without a COM_QUIT.
    aborted_clients = "Aborted_clients",
    /// Statements by kind.
    com_begin = "Com_begin",
    /// COMMIT.
    com_commit = "Com_commit",
    /// DELETE.
    com_delete = "Com_delete",
    /// INSERT.
    com_insert = "Com_insert",
    /// REPLACE.
    com_replace = "Com_replace",
    /// ROLLBACK.
    com_rollback = "Com_rollback",
    /// SELECT.
    com_select = "Com_select",
    /// SET.
    com_set_option = "Com_set_option",
    /// COM_STMT_EXECUTE.
    com_stmt_execute = "Com_stmt_execute",
    /// COM_STMT_FETCH.
    com_stmt_fetch = "Com_stmt_fetch",
    /// COM_STMT_PREPARE.
    com_stmt_prepare = "Com_stmt_prepare",
    /// UPDATE.
    com_update = "Com_update",
    /// Connections since the start.
    connections = "Connections",
    /// Logins whose attributes were not all kept.
    connect_attributes_lost = "Performance_schema_session_connect_attrs_lost",
    /// Plans that were made.
    plan_cache_misses = "Altiplano_plan_cache_misses",
    /// Statements that ran by a plan made for them: one made by PREPARE runs later, or never.
    plan_first_runs = "Altiplano_plan_first_runs",
    /// Statements of clients.
    questions = "Questions",
    /// Statements run again with a new snapshot (`snapshot_isolation`).
    statement_restarts = "Altiplano_statement_restarts",
}

impl Status {
    /// Statements that found a plan: those that ran by one, less those for which one was made. So a hit costs no count of its own.
    pub fn plan_cache_hits(&self) -> u64 {
        // Read first: who runs a new plan counts its run before this.
        let first_runs = self.plan_first_runs.get();
        let ran = [&self.com_select, &self.com_insert, &self.com_replace, &self.com_update, &self.com_delete];
        ran.iter().map(|counter| counter.get()).sum::<u64>().saturating_sub(first_runs)
    }
}
