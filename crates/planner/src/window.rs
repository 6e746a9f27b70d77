//! Window functions in a plan: which rows belong together, in what order, and what is computed over them.
//!
//! # Invariants
//! 1. A [`Window`] gives out its input's rows, each once, ordered by `keys`; a call's slot holds its value for the row.
//! 2. Frames only move forward: neither bound of a row's frame lies before that bound of the row before it.

use crate::expr::{Expr, Slot};
use crate::plan::{Aggregate, Node, SortKey};

/// Computes functions over the rows of a partition.
#[derive(Debug)]
pub struct Window {
    /// Input.
    pub input: Node,
    /// PARTITION BY, then ORDER BY.
    pub keys: Vec<SortKey>,
    /// How many of the keys are PARTITION BY's.
    pub partition_keys: usize,
    /// What is computed, and where it goes.
    pub calls: Vec<(Slot, WindowCall)>,
    /// Slots of the input that the calls or what stands above read.
    pub saved: Vec<Slot>,
}

/// A function over a window.
#[derive(Clone, Debug)]
pub struct WindowCall {
    /// What.
    pub function: WindowFunction,
    /// Over which rows of the partition; functions of a row's rank and of its neighbours look at all.
    pub frame: Frame,
    /// Name of the window, for errors that only the values show.
    pub window: Box<str>,
}

/// Window functions.
#[derive(Clone, Debug)]
pub enum WindowFunction {
    /// ROW_NUMBER.
    RowNumber,
    /// RANK.
    Rank,
    /// DENSE_RANK.
    DenseRank,
    /// PERCENT_RANK.
    PercentRank,
    /// CUME_DIST.
    CumeDist,
    /// NTILE: number of buckets.
    Ntile(Expr),
    /// LAG, and LEAD.
    Neighbour {
        /// Evaluated on the neighbour.
        value: Expr,
        /// How far; 1 when absent.
        distance: Option<Expr>,
        /// Evaluated on the row itself where there is no neighbour; NULL when absent.
        default: Option<Expr>,
        /// LEAD.
        ahead: bool,
    },
    /// FIRST_VALUE.
    First(Expr),
    /// LAST_VALUE.
    Last(Expr),
    /// NTH_VALUE: value, number from 1.
    Nth(Expr, Expr),
    /// An aggregate function.
    Aggregate(Aggregate),
}

/// Rows of the partition around a row.
#[derive(Clone, Debug)]
pub struct Frame {
    /// First row.
    pub start: Bound,
    /// Last row.
    pub end: Bound,
}

/// A bound of a frame.
#[derive(Clone, Debug)]
pub enum Bound {
    /// The partition's.
    Unbounded,
    /// The row itself.
    Row,
    /// The rows that ORDER BY does not tell from it.
    Peers,
    /// So many rows before it.
    Preceding(Expr),
    /// So many rows after it.
    Following(Expr),
    /// Rows whose ORDER BY value is within this one, which is computed from the row's own; `after` it, or before.
    Value {
        /// The value.
        limit: Expr,
        /// FOLLOWING.
        after: bool,
    },
}

/// A window while a block is bound: what is computed over it.
#[derive(Clone, Debug)]
pub struct BoundWindow {
    /// Name, for errors.
    pub name: Box<str>,
    /// PARTITION BY.
    pub partition: Vec<SortKey>,
    /// ORDER BY.
    pub order: Vec<SortKey>,
    /// Calls over it.
    pub calls: Vec<(Slot, WindowCall)>,
}

impl WindowFunction {
    /// Calls `f` with each argument.
    pub fn for_each_argument<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match self {
            Self::RowNumber | Self::Rank | Self::DenseRank | Self::PercentRank | Self::CumeDist => {}
            Self::Ntile(e) | Self::First(e) | Self::Last(e) => f(e),
            Self::Nth(e, n) => [e, n].into_iter().for_each(f),
            Self::Neighbour { value, distance, default, .. } => {
                std::iter::once(value).chain(distance).chain(default).for_each(f);
            }
            Self::Aggregate(a) => a.args.iter().for_each(f),
        }
    }
}

impl WindowCall {
    /// Calls `f` with each expression that is evaluated for it.
    pub fn for_each_expr<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        self.function.for_each_argument(f);
        for bound in [&self.frame.start, &self.frame.end] {
            if let Bound::Preceding(e) | Bound::Following(e) | Bound::Value { limit: e, .. } = bound {
                f(e);
            }
        }
    }
}

impl BoundWindow {
    /// Calls `f` with each expression of the window and its calls, to change it.
    pub fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        self.partition.iter_mut().chain(&mut self.order).for_each(|key| f(&mut key.expr));
        for (_, call) in &mut self.calls {
            match &mut call.function {
                WindowFunction::Ntile(e) | WindowFunction::First(e) | WindowFunction::Last(e) => f(e),
                WindowFunction::Nth(e, n) => [e, n].into_iter().for_each(&mut *f),
                WindowFunction::Neighbour { value, distance, default, .. } => {
                    std::iter::once(value).chain(distance).chain(default).for_each(&mut *f);
                }
                WindowFunction::Aggregate(a) => a.args.iter_mut().for_each(&mut *f),
                WindowFunction::RowNumber
                | WindowFunction::Rank
                | WindowFunction::DenseRank
                | WindowFunction::PercentRank
                | WindowFunction::CumeDist => {}
            }
            for bound in [&mut call.frame.start, &mut call.frame.end] {
                if let Bound::Preceding(e) | Bound::Following(e) | Bound::Value { limit: e, .. } = bound {
                    f(e);
                }
            }
        }
    }

    /// PARTITION BY, then ORDER BY.
    pub fn keys(&self) -> impl Iterator<Item = &SortKey> {
        self.partition.iter().chain(&self.order)
    }

    /// Calls `f` with each expression of the window and its calls.
    pub fn for_each_expr<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        self.keys().for_each(|key| f(&key.expr));
        self.calls.iter().for_each(|(_, call)| call.for_each_expr(f));
    }
}
