//! Rows that are kept to be read again, in their order: of derived tables, common table expressions, and the branches of INTERSECT and EXCEPT. They
//! are in memory while they have room there, and all of them in a file when they have not.

use crate::batch::chunk::CHUNK_ROWS;
use crate::batch::column::Column;
use crate::exec::Exec;
use crate::memory::{Watch, value_bytes};
use crate::run::{Flow, Next, Result};
use crate::spill::{Reader, Stored, Writer};
use ::memory::Kind;
use ::spill::SpillFile;
use planner::expr::{Expr, Slot};
use planner::plan::Query;
use std::rc::Rc;
use types::Value;

/// What a row in memory takes beside its values.
const ROW_BYTES: usize = 24;

/// A row in memory.
pub(crate) type Row = Box<[Value]>;

/// Bytes that a row in memory is accounted with.
pub(crate) fn row_bytes(row: &[Value]) -> usize {
    ROW_BYTES + row.iter().map(value_bytes).sum::<usize>()
}

/// Kept rows.
#[derive(Default)]
pub(crate) struct Kept {
    rows: Vec<Row>,
    /// All rows, where there was no room for them.
    stored: Option<OnDisk>,
    /// Values of a row.
    width: usize,
    /// Bytes accounted.
    held: usize,
}

struct OnDisk {
    file: Rc<SpillFile>,
    stored: Stored,
}

/// A row, wherever it is.
#[derive(Clone, Copy)]
pub(crate) enum RowAt<'r> {
    /// In memory.
    Values(&'r [Value]),
    /// In columns, at a place.
    Columns(&'r [Column], usize),
}

impl RowAt<'_> {
    /// A value of it.
    pub(crate) fn value(self, at: usize) -> Value {
        match self {
            RowAt::Values(values) => values[at].clone(),
            RowAt::Columns(columns, row) => columns[at].value(row),
        }
    }
}

impl Kept {
    /// Rows in memory, with the bytes that are accounted for them.
    pub(crate) fn of_rows(rows: Vec<Row>, held: usize) -> Kept {
        Kept { width: rows.first().map_or(0, |row| row.len()), rows, stored: None, held }
    }

    /// Rows in a file that others may be in, too.
    pub(crate) fn on_disk(file: Rc<SpillFile>, stored: Stored, width: usize) -> Kept {
        Kept { rows: Vec::new(), stored: Some(OnDisk { file, stored }), width, held: 0 }
    }

    /// How many rows.
    pub(crate) fn count(&self) -> u64 {
        self.stored.as_ref().map_or(self.rows.len() as u64, |disk| disk.stored.rows)
    }

    /// About how many bytes they take in memory.
    pub(crate) fn bytes(&self) -> usize {
        let on_disk = |disk: &OnDisk| {
            let rows = usize::try_from(disk.stored.rows).unwrap_or(usize::MAX);
            disk.stored.bytes().saturating_add(rows.saturating_mul(ROW_BYTES + self.width * size_of::<Value>()))
        };
        self.stored.as_ref().map_or(self.held, on_disk)
    }

    /// Whether they are in a file.
    pub(crate) fn is_on_disk(&self) -> bool {
        self.stored.is_some()
    }

    /// Calls `f` with each row.
    pub(crate) fn for_each<'a>(&self, x: &mut Exec<'a>, f: &mut dyn FnMut(&mut Exec<'a>, RowAt<'_>) -> Result<Flow>) -> Result<Flow> {
        for (i, row) in self.rows.iter().enumerate() {
            if i % 256 == 0 {
                x.check_cancel()?;
            }
            if f(x, RowAt::Values(row))? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        let Some(OnDisk { file, stored }) = &self.stored else { return Ok(Flow::Continue) };
        let (mut reader, mut buffer) = (Reader::new(stored), Vec::new());
        loop {
            x.check_cancel()?;
            let Some((columns, count)) = reader.read(stored, file, self.width, &mut buffer)? else { return Ok(Flow::Continue) };
            let held = columns.iter().map(Column::bytes).sum();
            x.memory.take_for(Kind::Rows, held)?;
            let mut flow = Flow::Continue;
            for at in 0..count {
                flow = f(x, RowAt::Columns(&columns, at))?;
                if flow == Flow::Stop {
                    break;
                }
            }
            x.memory.give_back_for(Kind::Rows, held);
            if flow == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
    }

    /// Nobody reads them any more.
    pub(crate) fn release(self, x: &mut Exec<'_>) {
        x.memory.give_back(self.held);
    }
}

/// Rows on their way to be kept.
pub(crate) struct Keeper {
    kept: Vec<Row>,
    width: usize,
    held: usize,
    watch: Watch,
    writing: Option<(SpillFile, Writer)>,
    buffer: Vec<u8>,
}

impl Keeper {
    /// None yet, of so many values each.
    pub(crate) fn new(x: &Exec<'_>, width: usize) -> Keeper {
        Keeper { kept: Vec::new(), width, held: 0, watch: Watch::new(&x.memory), writing: None, buffer: Vec::new() }
    }

    /// Keeps a row.
    pub(crate) fn push(&mut self, x: &mut Exec<'_>, row: Row) -> Result<()> {
        if let Some((file, writer)) = &mut self.writing {
            return write(&row, writer, file, &mut self.buffer);
        }
        let bytes = row_bytes(&row);
        x.memory.take(bytes)?;
        self.held += bytes;
        ::memory::reserve(&mut self.kept, 1)?;
        self.kept.push(row);
        if self.watch.is_pressed(self.held, &x.memory) { self.go_to_disk(x) } else { Ok(()) }
    }

    #[cold]
    fn go_to_disk(&mut self, x: &mut Exec<'_>) -> Result<()> {
        let (mut file, block_bytes) = (x.spill_file()?, x.spill_block_bytes());
        file.directory().counters().tables.inc();
        let mut writer = Writer::new(self.width, block_bytes, CHUNK_ROWS);
        for row in std::mem::take(&mut self.kept) {
            write(&row, &mut writer, &mut file, &mut self.buffer)?;
        }
        x.memory.give_back(std::mem::take(&mut self.held));
        x.memory.take(block_bytes)?;
        self.held = block_bytes;
        self.writing = Some((file, writer));
        Ok(())
    }

    /// All rows are there.
    pub(crate) fn finish(mut self, x: &mut Exec<'_>) -> Result<Kept> {
        let Some((mut file, writer)) = self.writing else {
            return Ok(Kept { rows: self.kept, stored: None, width: self.width, held: self.held });
        };
        let stored = writer.finish(&mut file, &mut self.buffer)?;
        x.memory.give_back(self.held);
        Ok(Kept::on_disk(Rc::new(file), stored, self.width))
    }
}

fn write(row: &[Value], writer: &mut Writer, file: &mut SpillFile, buffer: &mut Vec<u8>) -> Result<()> {
    writer.columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    writer.added(row.iter().map(value_bytes).sum(), file, buffer)
}

impl<'a> Exec<'a> {
    /// Keeps all rows of a query.
    pub(crate) fn keep_query(&mut self, query: &'a Query, width: usize) -> Result<Kept> {
        let mut keeper = Keeper::new(self, width);
        self.run_many(&query.root, &mut |x| {
            let row = x.row_of(&query.output, width)?;
            keeper.push(x, row)?;
            Ok(Flow::Continue)
        })?;
        keeper.finish(self)
    }

    /// The values of a row.
    pub(crate) fn row_of(&mut self, output: &'a [Expr], width: usize) -> Result<Row> {
        let mut row = Vec::with_capacity(width);
        for expr in output {
            row.push(self.eval(expr)?);
        }
        Ok(row.into_boxed_slice())
    }

    /// Gives kept rows out.
    pub(crate) fn replay(&mut self, kept: &Kept, slots: &[Slot], next: Next<'_, 'a>) -> Result<Flow> {
        kept.for_each(self, &mut |x, row| {
            slots.iter().enumerate().for_each(|(at, slot)| x.set(*slot, row.value(at)));
            next(x)
        })
    }
}
