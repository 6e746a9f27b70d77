//! Views in queries: where a name in FROM is a view's, its query takes the name's place.
//!
//! # Invariants
//! 1. A view whose query is only joins and conditions is merged: its tables are relations of the block that names it, its columns are expressions over
//!    them ([`Merged`]), its conditions are the block's. Any other view is a derived table.
//! 2. A view's text is bound with no name of the statement in sight, under no `sql_mode` and the collation that it was made under.
//! 3. The relations of a merged view are found by its columns only, never by their own names.
//! 4. A column of a merged view on the inner side of an outer join is a column of a table: anything else would not be NULL there.
//!
//! # Start at
//! `bind.rs`; changes through views: `change.rs`; what a new view's names mean: `names.rs`.

mod bind;
mod change;
mod define;
mod names;

pub use change::ViewCheck;
pub use define::{DefinedView, define_view, view_columns};

use crate::expr::Expr;
use crate::plan::SortKey;
use catalog::{CheckOption, ViewEntry};
use std::ops::Range;
use std::sync::Arc;

pub use bind::ViewState;
pub(crate) use bind::take_view_filter;
pub(crate) use change::{InsertTarget, ViewLink, view_links};
pub(crate) use names::NameRecord;

/// A view that has become part of a block.
#[derive(Debug, Clone)]
pub struct Merged {
    /// The view.
    pub view: Arc<ViewEntry>,
    /// Its columns, over the slots of its tables.
    pub exprs: Vec<Expr>,
    /// Its relations in the scope: tables, and views that it names.
    pub members: Range<usize>,
    /// Its ORDER BY.
    pub order: Vec<SortKey>,
    /// Its WHERE and ON conditions, those of the views below not among them.
    pub own: Vec<Expr>,
    /// All conditions, those of the views below among them.
    pub all: Vec<Expr>,
    /// Those that CHECK OPTION asks of a new row.
    pub checked: Vec<Expr>,
    /// An outer join is among its joins.
    pub outer_join: bool,
}

impl Merged {
    /// The conditions of a view with these of its own, over the views that it names.
    fn conditions<'m>(check: CheckOption, own: &[Expr], below: impl Iterator<Item = &'m Merged> + Clone) -> (Vec<Expr>, Vec<Expr>) {
        let (mut all, mut checked) = (own.to_vec(), Vec::new());
        if check != CheckOption::None {
            checked.extend_from_slice(own);
        }
        for view in below {
            all.extend_from_slice(&view.all);
            checked.extend_from_slice(if check == CheckOption::Cascaded { &view.all } else { &view.checked });
        }
        (all, checked)
    }
}

/// A view that a statement reaches: whose rights its tables are read with.
#[derive(Debug, Clone)]
pub struct ViewUse {
    /// The view.
    pub view: Arc<ViewEntry>,
    /// The name that the statement, or the view around, calls it by.
    pub alias: Box<str>,
    /// The view that names it (position in [`crate::Plan::views`]); `None` for the statement itself.
    pub within: Option<u32>,
}
