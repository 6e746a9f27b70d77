//! SQL_CALC_FOUND_ROWS: all rows of a query are made and counted, and some of them sent.

use crate::exec::Exec;
use crate::execute::{Outcome, RowConsumer};
use crate::run::Result;
use planner::plan::{LimitSpec, OutputColumn, Query};
use record::RowRef;
use types::Value;

/// Lets the rows of a limit through.
struct Shown<'c> {
    consumer: &'c mut dyn RowConsumer,
    skip: u64,
    left: u64,
}

impl Shown<'_> {
    fn shows_next(&mut self) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        let shows = self.left > 0;
        self.left = self.left.saturating_sub(1);
        shows
    }
}

impl RowConsumer for Shown<'_> {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<()> {
        self.consumer.begin(columns)
    }

    fn forget_begin(&mut self) {
        self.consumer.forget_begin();
    }

    fn row(&mut self, values: &[Value]) -> Result<()> {
        if self.shows_next() { self.consumer.row(values) } else { Ok(()) }
    }

    fn record(&mut self, row: RowRef<'_>, columns: &[u32]) -> Result<bool> {
        if self.shows_next() { self.consumer.record(row, columns) } else { Ok(false) }
    }

    fn drain(&mut self) -> Result<()> {
        self.consumer.drain()
    }
}

impl<'a> Exec<'a> {
    /// Runs a query of which `limit` is sent; the outcome counts all rows.
    #[cold]
    pub(crate) fn run_counted(
        &mut self,
        query: &'a Query,
        limit: Option<&'a LimitSpec>,
        consumer: &mut dyn RowConsumer,
    ) -> Result<Outcome> {
        let (skip, left) = match limit {
            Some(limit) => self.limits(limit)?,
            None => (0, u64::MAX),
        };
        self.run_output(query, &mut Shown { consumer, skip, left })
    }
}
