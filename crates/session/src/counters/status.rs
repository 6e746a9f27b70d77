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
    /// Connections that did not become sessions.
    aborted_connects = "Aborted_connects",
    /// Commands of the protocol that are no statements.
    com_admin_commands = "Com_admin_commands",
    /// Statements by kind.
    com_begin = "Com_begin",
    /// COMMIT.
    com_commit = "Com_commit",
    /// DELETE.
    com_delete = "Com_delete",
    /// DELETE of several tables.
    com_delete_multi = "Com_delete_multi",
    /// INSERT … SELECT.
    com_insert_select = "Com_insert_select",
    /// REPLACE … SELECT.
    com_replace_select = "Com_replace_select",
    /// UPDATE of several tables.
    com_update_multi = "Com_update_multi",
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
    /// COM_STMT_CLOSE.
    com_stmt_close = "Com_stmt_close",
    /// COM_STMT_EXECUTE.
    com_stmt_execute = "Com_stmt_execute",
    /// COM_STMT_FETCH.
    com_stmt_fetch = "Com_stmt_fetch",
    /// COM_STMT_PREPARE.
    com_stmt_prepare = "Com_stmt_prepare",
    /// COM_STMT_RESET.
    com_stmt_reset = "Com_stmt_reset",
    /// COM_STMT_SEND_LONG_DATA.
    com_stmt_send_long_data = "Com_stmt_send_long_data",
    /// UPDATE.
    com_update = "Com_update",
    /// Connections since the start.
    connections = "Connections",
    /// Logins whose attributes were not all kept.
    connect_attributes_lost = "Performance_schema_session_connect_attrs_lost",
    /// Logins to accounts that are locked.
    locked_connects = "Locked_connects",
    /// Connections past `max_connections`.
    over_max_connections = "Connection_errors_max_connections",
    /// Plans that were made.
    plan_cache_misses = "Altiplano_plan_cache_misses",
    /// Statements that ran by a plan made for them: one made by PREPARE runs later, or never.
    plan_first_runs = "Altiplano_plan_first_runs",
    /// Results that statements kept in memory or files: groups, distinct rows, derived tables, unions.
    created_tmp_tables = "Created_tmp_tables",
    /// Rows that statements deleted, inserted, updated.
    rows_deleted = "Innodb_rows_deleted",
    /// INSERT and REPLACE.
    rows_inserted = "Innodb_rows_inserted",
    /// UPDATE and ON DUPLICATE KEY UPDATE.
    rows_updated = "Innodb_rows_updated",
    /// How statements read tables: later tables of joins, whole.
    select_full_join = "Select_full_join",
    /// Later tables, by ranges.
    select_full_range_join = "Select_full_range_join",
    /// First tables, by ranges.
    select_range = "Select_range",
    /// First tables, whole.
    select_scan = "Select_scan",
    /// Sorts of what ranges gave.
    sort_range = "Sort_range",
    /// Other sorts.
    sort_scan = "Sort_scan",
    /// Statements of clients.
    questions = "Questions",
    /// Statements run again with a new snapshot (`snapshot_isolation`).
    statement_restarts = "Altiplano_statement_restarts",
}

impl Status {
    /// Counts a run of a plan.
    #[inline(never)]
    pub(crate) fn count_shape(&self, shape: &planner::shape::Shape) {
        let counters = [
            (&self.select_scan, shape.scans),
            (&self.select_range, shape.ranges),
            (&self.select_full_join, shape.full_joins),
            (&self.select_full_range_join, shape.full_range_joins),
            (&self.sort_range, shape.sort_ranges),
            (&self.sort_scan, shape.sort_scans),
            (&self.created_tmp_tables, shape.kept),
        ];
        counters.into_iter().filter(|(_, count)| *count > 0).for_each(|(counter, count)| counter.add(count.into()));
    }

    /// Statements that found a plan: those that ran by one, less those for which one was made. So a hit costs no count of its own.
    pub fn plan_cache_hits(&self) -> u64 {
        // Read first: who runs a new plan counts its run before this.
        let first_runs = self.plan_first_runs.get();
        let ran = [
            &self.com_select,
            &self.com_insert,
            &self.com_insert_select,
            &self.com_replace,
            &self.com_replace_select,
            &self.com_update,
            &self.com_update_multi,
            &self.com_delete,
            &self.com_delete_multi,
        ];
        ran.iter().map(|counter| counter.get()).sum::<u64>().saturating_sub(first_runs)
    }
}
