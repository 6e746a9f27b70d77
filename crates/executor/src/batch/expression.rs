//! Evaluation of expressions over a chunk.
//!
//! Everything here has no effects (invariant 1 of the module): `None` means that some row needs the evaluator. Results have a place for each row of
//! the chunk; only those asked for (`rows`) are computed, the others hold anything.

use crate::arithmetic::{arithmetic, negated};
use crate::batch::chunk::Chunk;
use crate::batch::column::{Column, Data};
use crate::batch::compare::{NULL, TRUE};
use crate::batch::{harmless, numbers};
use crate::convert::coerce;
use crate::exec::Exec;
use planner::expr::{ArithOp, CmpOp, Expr, ExprKind, Slot, SubqueryKind};
use planner::func::Func;
use planner::plan::KeyForm;
use types::{ColumnType, Value};

/// Values of an expression for the rows of a chunk.
#[derive(Debug)]
pub enum Vector<'c> {
    /// The same for all.
    Constant(Value),
    /// A column of the chunk.
    Shared(&'c Column),
    /// Computed.
    Owned(Column),
}

impl Vector<'_> {
    /// The column, where there is one.
    #[inline]
    pub fn column(&self) -> Option<&Column> {
        match self {
            Vector::Constant(_) => None,
            Vector::Shared(column) => Some(column),
            Vector::Owned(column) => Some(column),
        }
    }

    /// A row's value.
    #[inline]
    pub fn value(&self, at: usize) -> Value {
        match self {
            Vector::Constant(value) => value.clone(),
            Vector::Shared(column) => column.value(at),
            Vector::Owned(column) => column.value(at),
        }
    }

    /// Whether a row's value is NULL.
    #[inline]
    pub fn is_null(&self, at: usize) -> bool {
        match self {
            Vector::Constant(value) => value.is_null(),
            Vector::Shared(column) => column.is_null(at),
            Vector::Owned(column) => column.is_null(at),
        }
    }

    /// Whether a value may be NULL.
    #[inline]
    pub fn has_nulls(&self) -> bool {
        match self {
            Vector::Constant(value) => value.is_null(),
            Vector::Shared(column) => column.has_nulls(),
            Vector::Owned(column) => column.has_nulls(),
        }
    }

    /// The integer of 64 bits that a row's number equals.
    #[inline]
    pub fn integer(&self, at: usize) -> Option<i64> {
        match self {
            Vector::Constant(value) => crate::hash_key::integer_of(value),
            Vector::Shared(column) => column.integer(at),
            Vector::Owned(column) => column.integer(at),
        }
    }
}

/// Which of the alternatives of a CASE a row took.
const NO_CHOICE: u16 = u16::MAX;

impl Exec<'_> {
    /// A slot's values: of the chunk, or of the row of an enclosing query.
    #[inline]
    pub(super) fn slot_vector<'c>(&self, slot: Slot, chunk: &'c Chunk) -> Vector<'c> {
        match chunk.column(slot) {
            Some(column) => Vector::Shared(column),
            None => Vector::Constant(self.get(slot).clone()),
        }
    }

    /// The values of an expression for all rows that count, as a column of the chunk's length.
    pub(super) fn column_of(&mut self, e: &Expr, chunk: &Chunk) -> Option<Column> {
        Some(match self.vector(e, chunk, chunk.rows())? {
            Vector::Owned(column) => column,
            Vector::Constant(value) => Column::repeat(&value, chunk.len()),
            Vector::Shared(column) => {
                let mut copy = Column::new();
                copy.gather(column, 0..chunk.len());
                copy
            }
        })
    }

    /// The values of an expression for some rows.
    pub(super) fn vector<'c>(&mut self, e: &Expr, chunk: &'c Chunk, rows: &[u16]) -> Option<Vector<'c>> {
        match &e.kind {
            ExprKind::Slot(slot) => Some(self.slot_vector(*slot, chunk)),
            ExprKind::Literal(v) => Some(Vector::Constant(v.clone())),
            ExprKind::Param(n) => self.params.get(*n as usize).cloned().map(Vector::Constant),
            _ if !self.kernels => None,
            ExprKind::Arith(op, a, b) => {
                let x = self.vector(a, chunk, rows)?;
                let y = self.vector(b, chunk, rows)?;
                self.combined(*op, &x, &y, &e.ty, chunk, rows)
            }
            ExprKind::Run(first, links) => {
                let mut x = self.vector(first, chunk, rows)?;
                for link in links {
                    let y = self.vector(&link.operand, chunk, rows)?;
                    x = self.combined(link.op, &x, &y, &link.ty, chunk, rows)?;
                }
                Some(x)
            }
            ExprKind::Neg(a) => {
                let x = self.vector(a, chunk, rows)?;
                let mut out = Filler::new(chunk.len());
                for row in rows {
                    let at = usize::from(*row);
                    out.put(at, &negated(&x.value(at), &e.ty, &*self.context).ok()?);
                }
                Some(Vector::Owned(out.finish()))
            }
            ExprKind::Compare(..)
            | ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Not(_)
            | ExprKind::Xor(..)
            | ExprKind::IsNull { .. }
            | ExprKind::IsTruth { .. }
            | ExprKind::Between { .. }
            | ExprKind::InList { .. }
            | ExprKind::Like { .. } => {
                let truths = self.truths(e, chunk, rows)?;
                let mut column = Column::of(Data::Int(truths.iter().map(|t| i64::from(*t == TRUE)).collect()), chunk.len());
                for row in rows {
                    if truths[usize::from(*row)] == NULL {
                        column.set_null(usize::from(*row));
                    }
                }
                Some(Vector::Owned(column))
            }
            ExprKind::Case { operand, branches, otherwise, collation } => {
                let subject = match operand {
                    Some(operand) => Some(self.vector(operand, chunk, rows)?),
                    None => None,
                };
                let mut choice = Choice::new(e, chunk, rows);
                for (when, then) in branches {
                    if choice.open.is_empty() {
                        break;
                    }
                    let truths = match &subject {
                        None => self.truths(when, chunk, &choice.open)?,
                        Some(subject) => {
                            let other = self.vector(when, chunk, &choice.open)?;
                            let mut truths = vec![NULL; chunk.len()];
                            self.compare_vectors(CmpOp::Eq, *collation, subject, &other, &choice.open, &mut truths)?;
                            truths
                        }
                    };
                    choice.take(self, then, |at| truths[at] == TRUE)?;
                }
                if let Some(otherwise) = otherwise {
                    choice.take(self, otherwise, |_| true)?;
                }
                Some(Vector::Owned(choice.finish(self)))
            }
            ExprKind::Func(Func::If, args) => {
                let truths = self.truths(&args[0], chunk, rows)?;
                let mut choice = Choice::new(e, chunk, rows);
                choice.take(self, &args[1], |at| truths[at] == TRUE)?;
                choice.take(self, &args[2], |_| true)?;
                Some(Vector::Owned(choice.finish(self)))
            }
            // The evaluator makes a DOUBLE of a FLOAT there.
            ExprKind::Func(Func::IfNull | Func::Coalesce, args) if e.ty.kind != types::TypeKind::Float => {
                let mut choice = Choice::new(e, chunk, rows);
                for arg in args {
                    if choice.open.is_empty() {
                        break;
                    }
                    choice.take_values(self, arg)?;
                }
                Some(Vector::Owned(choice.finish(self)))
            }
            ExprKind::Subquery(number, kind) => self.subquery_vector(e, *number, kind, chunk, rows),
            _ if e.is_constant() => self.constant_vector(e),
            _ if harmless::is_harmless(e) => self.scalar_column(e, chunk, rows).map(Vector::Owned),
            _ => None,
        }
    }

    /// `x op y` for some rows, of an operation of type `ty`.
    fn combined<'c>(
        &mut self,
        op: ArithOp,
        x: &Vector<'_>,
        y: &Vector<'_>,
        ty: &ColumnType,
        chunk: &Chunk,
        rows: &[u16],
    ) -> Option<Vector<'c>> {
        if let (Vector::Constant(x), Vector::Constant(y)) = (x, y) {
            return arithmetic(op, x, y, ty, &*self.context).ok().map(Vector::Constant);
        }
        numbers::arithmetic_columns(op, x, y, ty, rows, chunk.len(), &*self.context).map(Vector::Owned)
    }

    /// An expression that has one value for all rows; `None` where that is an error, or has to be told of.
    fn constant_vector<'c>(&mut self, e: &Expr) -> Option<Vector<'c>> {
        let outer = self.hushed.replace(false);
        let value = self.eval(e);
        let told = std::mem::replace(&mut self.hushed, outer) != Some(false);
        value.ok().filter(|_| !told).map(Vector::Constant)
    }

    /// A subquery that is evaluated once for all rows, or whose answer for a row is found in what was.
    fn subquery_vector<'c>(&mut self, e: &Expr, number: u32, kind: &SubqueryKind, chunk: &Chunk, rows: &[u16]) -> Option<Vector<'c>> {
        let sub = &self.plan.subplans[number as usize];
        // Without a row nobody asks for it.
        if sub.volatile || rows.is_empty() {
            return None;
        }
        let once = sub.outer_slots.is_empty();
        let found = match kind {
            // Run where the evaluator would run it, for the first row; it finds the answer again when something here has to give up.
            SubqueryKind::Scalar { .. } | SubqueryKind::Exists { .. } if once => return self.eval(e).ok().map(Vector::Constant),
            SubqueryKind::Scalar { .. } => sub.lookup.as_ref().is_some_and(|lookup| {
                lookup.forms.iter().all(|form| *form == KeyForm::Same) && lookup.probe.iter().all(harmless::is_harmless)
            }),
            SubqueryKind::In { needle, .. } if once => match needle.as_slice() {
                [needle] => planner::key_form(&needle.ty, &sub.types[0]) == Some(KeyForm::Same) && harmless::is_harmless(needle),
                _ => false,
            },
            _ => false,
        };
        if !found {
            return None;
        }
        if let (SubqueryKind::Scalar { .. }, Some(lookup)) = (kind, &sub.lookup)
            && let Some(column) = self.grouped_column(number, lookup, chunk, rows)
        {
            return Some(Vector::Owned(column));
        }
        let outer_slots = sub.outer_slots.iter().copied();
        self.column_by_rows(e, outer_slots, chunk, rows).map(Vector::Owned)
    }

    /// A harmless expression without a kernel: the evaluator, for each row.
    fn scalar_column(&mut self, e: &Expr, chunk: &Chunk, rows: &[u16]) -> Option<Column> {
        let outer = self.hushed.replace(false);
        let column = self.column_by_rows(e, std::iter::empty(), chunk, rows);
        self.hushed = outer;
        column
    }

    /// The evaluator, for each row; it reads the slots of the expression and some more.
    fn column_by_rows(&mut self, e: &Expr, more: impl Iterator<Item = Slot>, chunk: &Chunk, rows: &[u16]) -> Option<Column> {
        let mut used: Vec<(Slot, &Column)> = Vec::new();
        let mut use_slot = |slot: Slot| {
            if let Some(column) = chunk.column(slot)
                && used.iter().all(|(s, _)| *s != slot)
            {
                used.push((slot, column));
            }
        };
        e.walk(&mut |part| {
            if let ExprKind::Slot(slot) = &part.kind {
                use_slot(*slot);
            }
        });
        more.for_each(use_slot);
        let mut out = Filler::new(chunk.len());
        let mut answered = true;
        for row in rows {
            let at = usize::from(*row);
            for (slot, column) in &used {
                self.frame[*slot as usize] = column.value(at);
            }
            match self.eval(e) {
                Ok(value) if self.hushed != Some(true) => out.put(at, &value),
                _ => {
                    answered = false;
                    break;
                }
            }
        }
        self.forget_lookups();
        answered.then(|| out.finish())
    }
}

/// Makes a column of values that come in ascending order of their places; what is left out is NULL.
pub struct Filler {
    column: Column,
    len: usize,
}

impl Filler {
    /// For a column of this length.
    pub fn new(len: usize) -> Filler {
        Filler { column: Column::new(), len }
    }

    /// The next value.
    #[inline]
    pub fn put(&mut self, at: usize, value: &Value) {
        while self.column.len() < at {
            self.column.push_null();
        }
        self.column.push(value);
    }

    /// The column.
    pub fn finish(mut self) -> Column {
        while self.column.len() < self.len {
            self.column.push_null();
        }
        self.column
    }
}

/// An expression that takes its value from one of several, row by row: each is evaluated only for the rows that take it.
struct Choice<'c, 'e> {
    of: &'e Expr,
    chunk: &'c Chunk,
    rows: &'e [u16],
    /// Rows without a choice yet.
    open: Vec<u16>,
    /// By place: which of `values`.
    chosen: Vec<u16>,
    values: Vec<(Vector<'c>, &'e Expr)>,
}

impl<'c, 'e> Choice<'c, 'e> {
    fn new(of: &'e Expr, chunk: &'c Chunk, rows: &'e [u16]) -> Choice<'c, 'e> {
        Choice { of, chunk, rows, open: rows.to_vec(), chosen: vec![NO_CHOICE; chunk.len()], values: Vec::new() }
    }

    /// The open rows that pass the test take `from`.
    fn take(&mut self, x: &mut Exec<'_>, from: &'e Expr, takes: impl Fn(usize) -> bool) -> Option<()> {
        let taken: Vec<u16> = self.open.iter().copied().filter(|row| takes(usize::from(*row))).collect();
        if taken.is_empty() {
            return Some(());
        }
        let vector = x.vector(from, self.chunk, &taken)?;
        let number = self.values.len() as u16;
        taken.iter().for_each(|row| self.chosen[usize::from(*row)] = number);
        self.values.push((vector, from));
        self.open.retain(|row| !takes(usize::from(*row)));
        Some(())
    }

    /// The open rows for which `from` is not NULL take it.
    fn take_values(&mut self, x: &mut Exec<'_>, from: &'e Expr) -> Option<()> {
        let vector = x.vector(from, self.chunk, &self.open)?;
        let number = self.values.len() as u16;
        let chosen = &mut self.chosen;
        self.open.retain(|row| {
            let at = usize::from(*row);
            let open = vector.is_null(at);
            if !open {
                chosen[at] = number;
            }
            open
        });
        self.values.push((vector, from));
        Some(())
    }

    fn finish(self, x: &Exec<'_>) -> Column {
        let mut out = Filler::new(self.chunk.len());
        for row in self.rows {
            let at = usize::from(*row);
            if let Some((vector, from)) = self.values.get(usize::from(self.chosen[at])) {
                out.put(at, &coerce(vector.value(at), &from.ty, &self.of.ty, &*x.context));
            }
        }
        out.finish()
    }
}
