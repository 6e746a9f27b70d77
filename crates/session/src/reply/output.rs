//! Result rows on their way from the executor into the packet buffer.

use crate::reply::block_output::BlockRows;
use crate::reply::charsets::UTF8;
use crate::reply::row_output::{put_column, put_converted, put_value};
use executor::{Block, RowConsumer};
use mysql_error::codes;
use planner::plan::OutputColumn;
use protocol::{ClientGone, ColumnBlock, ResultSink, RowFormat, RowWriter, ServerStatus};
use record::RowRef;
use types::{Charset, TimeZone, Value};

/// Writes one result.
pub struct Output<'a, 's> {
    /// Where to.
    pub sink: &'a mut ResultSink<'s>,
    /// The head of the result.
    pub block: &'a ColumnBlock,
    /// Its columns.
    pub columns: &'a [OutputColumn],
    /// The session's time zone.
    pub zone: &'a TimeZone,
    /// What rows are written in: `character_set_results` where a column needs another form than the server's, [`UTF8`] otherwise.
    pub results: Option<Charset>,
    /// Status for clients that want an EOF after the head.
    pub status: ServerStatus,
    /// Whether the head is written.
    pub begun: bool,
    /// What must be durable before rows leave; none for results that the session made itself.
    pub dependencies: Option<&'a engine::Dependencies>,
}

impl Output<'_, '_> {
    /// Behind rows that came as values.
    #[inline]
    fn rows_written(&mut self, count: u64) -> executor::Result<()> {
        if self.sink.packets().len() >= protocol::result::FLUSH_BYTES {
            self.settle()?;
        }
        self.sink.rows_done(count).map_err(stopped)
    }

    /// A row for a client that does not want UTF-8.
    #[cold]
    fn convert_row(&mut self, values: &[Value]) {
        fn put(mut row: impl RowWriter, columns: &[OutputColumn], values: &[Value], zone: &TimeZone, results: Option<Charset>) {
            for (column, value) in columns.iter().zip(values) {
                put_converted(&mut row, &column.ty, value, zone, results);
            }
            row.end();
        }
        match self.sink.format() {
            RowFormat::Text => put(self.sink.text_row(), self.columns, values, self.zone, self.results),
            RowFormat::Binary => put(self.sink.binary_row(), self.columns, values, self.zone, self.results),
        }
    }

    /// The same of a stored row.
    #[cold]
    fn convert_record(&mut self, row: RowRef<'_>, columns: &[u32]) -> executor::Result<bool> {
        fn put(
            mut out: impl RowWriter,
            row: RowRef<'_>,
            columns: &[u32],
            zone: &TimeZone,
            results: Option<Charset>,
        ) -> Result<(), base::Malformed> {
            for column in columns {
                let at = *column as usize;
                put_converted(&mut out, row.layout().column_type(at), &row.value(at)?, zone, results);
            }
            out.end();
            Ok(())
        }
        match self.sink.format() {
            RowFormat::Text => put(self.sink.text_row(), row, columns, self.zone, self.results)?,
            RowFormat::Binary => put(self.sink.binary_row(), row, columns, self.zone, self.results)?,
        }
        self.sink.look_starved().map_err(stopped)?;
        Ok(self.sink.packets().len() >= protocol::result::FLUSH_BYTES)
    }

    /// Rows are about to be sent that may tell of what is not durable yet.
    fn settle(&self) -> executor::Result<()> {
        Ok(self.dependencies.map_or(Ok(()), engine::Dependencies::settle)?)
    }
}

/// Writes the columns of a stored row.
#[inline]
fn write_columns(out: &mut impl RowWriter, row: RowRef<'_>, columns: &[u32], zone: &TimeZone) -> Result<(), base::Malformed> {
    for column in columns {
        match row.column(*column as usize) {
            Ok(column) => put_column(out, column, zone)?,
            Err(base::Malformed) => write_computed(out, row, *column, zone)?,
        }
    }
    Ok(())
}

#[cold]
fn write_computed(out: &mut impl RowWriter, row: RowRef<'_>, column: u32, zone: &TimeZone) -> Result<(), base::Malformed> {
    put_column(out, row.column_in(column as usize, &mut Vec::new())?, zone)
}

impl RowConsumer for Output<'_, '_> {
    #[inline]
    fn begin(&mut self, _columns: &[OutputColumn]) -> executor::Result<()> {
        if !self.begun {
            self.begun = true;
            self.sink.column_block(self.block, self.status);
        }
        Ok(())
    }

    #[cold]
    fn forget_begin(&mut self) {
        if std::mem::take(&mut self.begun) {
            self.sink.take_back_block(self.block);
        }
    }

    fn row(&mut self, values: &[Value]) -> executor::Result<()> {
        if self.results != UTF8 {
            self.convert_row(values);
            return self.rows_written(1);
        }
        let (columns, zone) = (self.columns, self.zone);
        match self.sink.format() {
            RowFormat::Text => {
                let mut row = self.sink.text_row();
                for (column, value) in columns.iter().zip(values) {
                    put_value(&mut row, &column.ty, value, zone);
                }
                row.end();
            }
            RowFormat::Binary => {
                let mut row = self.sink.binary_row();
                for (column, value) in columns.iter().zip(values) {
                    put_value(&mut row, &column.ty, value, zone);
                }
                row.end();
            }
        }
        self.rows_written(1)
    }

    fn block(&mut self, block: &Block<'_>) -> executor::Result<()> {
        let rows = BlockRows::new(block, self.columns.iter().map(|column| &column.ty), self.zone, self.results);
        let format = self.sink.format();
        let mut row = 0;
        while row < block.len() {
            let first = row;
            row = rows.write(&mut self.sink.rows(), format, row);
            self.rows_written((row - first) as u64)?;
        }
        Ok(())
    }

    #[inline]
    fn record(&mut self, row: RowRef<'_>, columns: &[u32]) -> executor::Result<bool> {
        if self.results != UTF8 {
            return self.convert_record(row, columns);
        }
        match self.sink.format() {
            RowFormat::Text => {
                let mut out = self.sink.text_row();
                write_columns(&mut out, row, columns, self.zone)?;
                out.end();
            }
            RowFormat::Binary => {
                let mut out = self.sink.binary_row();
                write_columns(&mut out, row, columns, self.zone)?;
                out.end();
            }
        }
        self.sink.look_starved().map_err(stopped)?;
        Ok(self.sink.packets().len() >= protocol::result::FLUSH_BYTES)
    }

    fn drain(&mut self) -> executor::Result<()> {
        self.settle()?;
        self.sink.flush().map_err(stopped)
    }
}

/// Why rows do not go on: for want of memory (the statement is marked with whose), or the client has gone.
#[cold]
fn stopped(why: ClientGone) -> executor::Error {
    match why {
        ClientGone::NoMemory => memory::excess().into(),
        _ => codes::query_interrupted().into(),
    }
}
