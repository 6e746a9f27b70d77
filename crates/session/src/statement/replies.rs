//! What a statement is answered with once it has run: the OK of a change, the OK of what changes no rows, rows that the session made itself. (Rows of plans
//! go out while they run: [`crate::reply::output`].)

use crate::client_session::ClientSession;
use crate::reply::fixed_columns::Columns;
use crate::reply::ok_text::Info;
use crate::reply::output::Output;
use engine::HandlerCall;
use executor::{Changes, RowConsumer};
use planner::plan::{Body, Insert, InsertSource};
use protocol::{Capabilities, OkReply, ResultSink};
use types::Value;

/// Whether the OK packet tells records and duplicates: INSERT of several rows or from a query.
fn says_records(insert: &Insert) -> bool {
    match &insert.source {
        InsertSource::Values(rows) => rows.len() > 1,
        _ => true,
    }
}

impl ClientSession {
    /// Counts the rows that a statement has changed.
    #[inline]
    fn count_rows(&self, body: &Body, changes: &Changes) {
        let status = &self.shared().status;
        let calls = self.engine.handler_counts();
        match body {
            Body::Query(_) => {}
            Body::Insert(_) => {
                calls.add(HandlerCall::Write, changes.records);
                calls.add(HandlerCall::Update, changes.duplicates);
            }
            Body::Update(_) => calls.add(HandlerCall::Update, changes.affected),
            Body::Delete(_) => calls.add(HandlerCall::Delete, changes.affected),
        }
        match body {
            Body::Query(_) => {}
            Body::Insert(insert) if insert.replace => {
                status.rows_inserted.add(changes.records);
                status.rows_deleted.add(changes.deleted);
            }
            Body::Insert(insert) if insert.on_duplicate.is_empty() => status.rows_inserted.add(changes.affected),
            Body::Insert(_) => {
                // A row that was changed instead counts twice among those affected.
                status.rows_inserted.add(changes.affected.saturating_sub(2 * changes.duplicates));
                status.rows_updated.add(changes.duplicates);
            }
            Body::Update(_) => status.rows_updated.add(changes.affected),
            Body::Delete(_) => status.rows_deleted.add(changes.affected),
        }
    }

    /// The OK packet of a changing statement.
    #[inline(never)]
    pub(super) fn reply_changes(&mut self, body: &Body, changes: &Changes, sink: &mut ResultSink<'_>) {
        let warnings = self.core.diagnostics.warning_count();
        let found_rows = sink.capabilities().contains(Capabilities::FOUND_ROWS);
        let (mut affected_rows, mut duplicates) = (changes.affected, changes.duplicates);
        if found_rows {
            affected_rows += changes.unchanged;
            duplicates += changes.unchanged;
        }
        if matches!(body, Body::Insert(insert) if insert.ignore) {
            // MySQL's count then: the rows that neither went in nor changed another.
            duplicates = changes.records.saturating_sub(changes.affected - changes.duplicates);
        }
        let info = match body {
            Body::Update(_) => {
                if found_rows {
                    affected_rows = changes.matched;
                }
                let words = ["Rows matched: ", "  Changed: ", "  Warnings: "];
                Info::new(words, [changes.matched, changes.affected, u64::from(warnings)])
            }
            Body::Insert(insert) if says_records(insert) => {
                let words = ["Records: ", "  Duplicates: ", "  Warnings: "];
                Info::new(words, [changes.records, duplicates, u64::from(warnings)])
            }
            _ => Info::NONE,
        };
        self.count_rows(body, changes);
        self.core.row_count = (changes.affected + if found_rows { changes.unchanged } else { 0 }) as i64;
        if let Some(id) = changes.generated_id {
            self.core.note_generated(id);
        }
        let session_state = self.session_state();
        let ok = OkReply {
            affected_rows,
            session_state: &session_state,
            last_insert_id: changes.generated_id.or(changes.row_id).unwrap_or(0),
            status: self.server_status(),
            warnings,
            info: info.as_bytes(),
        };
        sink.ok(&ok);
    }

    /// The OK packet of a change of a table's definition.
    pub(crate) fn reply_records(&mut self, records: u64, sink: &mut ResultSink<'_>) {
        let words = ["Records: ", "  Duplicates: ", "  Warnings: "];
        let info = Info::new(words, [records, 0, u64::from(self.core.diagnostics.warning_count())]);
        self.reply_info(records, info.as_bytes(), sink);
    }

    /// The OK packet of a statement that changes no rows.
    pub(crate) fn reply_ok(&mut self, affected_rows: u64, sink: &mut ResultSink<'_>) {
        self.reply_info(affected_rows, b"", sink);
    }

    /// The same with something to say about it.
    pub(crate) fn reply_info(&mut self, affected_rows: u64, info: &[u8], sink: &mut ResultSink<'_>) {
        self.core.row_count = affected_rows as i64;
        let warnings = self.core.diagnostics.warning_count();
        let session_state = self.session_state();
        let status = self.server_status();
        sink.ok(&OkReply { affected_rows, last_insert_id: 0, status, warnings, info, session_state: &session_state });
    }

    /// Writes a result that the session made itself.
    pub(crate) fn send_rows(&mut self, columns: &Columns, rows: &[Vec<Value>], sink: &mut ResultSink<'_>) {
        self.send_result(columns, rows, self.core.diagnostics.warning_count(), sink);
    }

    /// The same, with conditions at hand that are not this statement's.
    pub(crate) fn send_rows_without_warnings(&mut self, columns: &Columns, rows: &[Vec<Value>], sink: &mut ResultSink<'_>) {
        // Nor do they count as rows that were found.
        let found = self.core.found_rows;
        self.send_result(columns, rows, 0, sink);
        self.core.found_rows = found;
    }

    fn send_result(&mut self, columns: &Columns, rows: &[Vec<Value>], warnings: u32, sink: &mut ResultSink<'_>) {
        let block = columns.block(self.core.settings.charsets.results);
        let results = self.core.settings.charsets.of_rows();
        let columns = columns.output();
        let status = self.server_status();
        let zone = &self.zone;
        let mut output = Output { sink, block: &block, columns, zone, results, status, begun: false, dependencies: None };
        // A client that has gone is noticed when the reply is sent.
        let _ = output.begin(columns).and_then(|()| rows.iter().try_for_each(|row| output.row(row)));
        self.core.row_count = -1;
        self.core.found_rows = rows.len() as u64;
        self.note_rows_sent();
        let session_state = self.session_state_behind_rows(sink);
        sink.finish(&OkReply { status, warnings, session_state: &session_state, ..OkReply::default() });
    }
}
