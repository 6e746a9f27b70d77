//! Executor: runs plans over the engine.
//!
//! # Invariants
//! 1. What runs under a page latch (callbacks of the engine) encodes or copies; it never waits and never reads a table.
//! 2. A statement looks at its cancel flag at least every few hundred rows.
//! 3. What operators keep is accounted to the statement ([`Memory`]).
//!
//! # Not here
//! Transactions, statement savepoints and what an error undoes: the session. Wire formats: [`RowConsumer`] is implemented there.
//!
//! # Start at
//! [`execute`], then `run.rs` (operators), `batch/mod.rs` (the same by vectors of rows) and `eval.rs` (expressions).

mod aggregate;
mod analysis;
mod arithmetic;
mod batch;
mod bits;
mod cast;
mod change;
mod compared_params;
mod computed;
mod context;
mod convert;
mod document;
mod document_cast;
mod errors;
mod eval;
mod exec;
mod execute;
mod foreign_keys;
mod found_rows;
mod functions;
mod groups;
mod hash_key;
mod index_merge;
mod json_table;
pub mod locales;
mod locking;
mod memory;
mod odd_constant;
mod odd_number;
mod output;
mod run;
mod scan;
mod set_operation;
mod short;
mod spill;
mod subquery;
mod value_now;
mod virtual_scan;
mod window;

pub use analysis::analyze;
pub use batch::column::{Column, Data, Strings};
pub use batch::{Block, Field, Placed};
pub use change::auto_increment::counter_value;
pub use change::duplicate::{entry_text, in_error_text};
pub use change::load::{LoadLines, LoadRow, LoadText};
pub use change::rules::RuleRun;
pub use change::store::same_no_member;
pub use computed::{GeneratedColumns, strictly, take_failure};
pub use context::{AutoIncrementSettings, FORCED, StatementContext, UserLockCall, UserVariable, VirtualRows};
pub use convert::{append_text, compare, local_time, text, to_charset, to_f64, to_i64};
pub use document::{
    append_json_text, for_column as document_for_column, for_other_column as document_for_other_column,
    with_table as document_error_with_table,
};
pub use errors::Error;
pub use exec::Scratch;
pub use execute::{Changes, Outcome, RowConsumer, evaluate, execute, execute_load, matching};
pub use foreign_keys::reference_key;
pub use functions::{cannot_convert, crc32, format_bytes};
pub use memory::{Memory, STATEMENT_BYTES_MAX};
pub use odd_constant::odd_constants;
pub use run::Result;
pub use value_now::value_now;
