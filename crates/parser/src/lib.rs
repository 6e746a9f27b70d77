//! Text to syntax tree; no catalog.
//!
//! [`parse`] reads one statement of MySQL's dialect into an [`ast`] that borrows from a bump arena and from the text.
//! [`fingerprint()`] computes the plan-cache key of a text in one pass over its tokens and lifts its literals;
//! [`parse_parameterised`] yields the tree with exactly those literals as parameters.
//!
//! # Invariants
//! 1. No input makes a function of this crate panic or overflow a 512 KiB stack: nesting is bounded by [`NESTING_MAX`], the
//!    height of expression trees by [`TREE_HEIGHT_MAX`], so that readers of the tree may recurse, too, but into the left of chains of
//!    arithmetic ([`ast::Expr::run_of`]). On a stack with much room ([`has_room`]) both bounds are larger, and a statement that needs it says so ([`Parsed::is_deep`]).
//! 2. Parsing a statement allocates in the arena only; [`fingerprint()`] allocates nothing once its `params` have grown.
//! 3. Names in the tree are UTF-8; so are string literals without an introducer.
//! 4. `fingerprint` and `parse_parameterised` number the same literals alike, because both ask `lift.rs`.
//!
//! # Not here
//! Names are not resolved, types not inferred, constants not folded. `sql_mode` matters only where it changes how text is read.
//!
//! # Start at
//! `grammar.rs` for the parser's state, `grammar/statement.rs` for the statements, `lexer.rs` for tokens.

pub mod ast;
mod digest;
mod error;
mod fingerprint;
mod grammar;
mod keyword;
mod lexer;
mod lift;
mod mode;
mod normal;
mod parameters;
mod template;
mod text;
mod words;

pub use bumpalo::Bump;
pub use digest::digest_text;
pub use error::ParseError;
pub use fingerprint::{Fingerprint, LiftedLiteral, LiteralKind, fingerprint};
pub use grammar::{
    ALIAS_CHARS_MAX, IDENTIFIER_CHARS_MAX, NESTING_MAX, NESTING_WITH_ROOM_MAX, Parsed, ROOM_BYTES_MIN, RUN_HEIGHT_MAX, SELECT_NESTING_MAX,
    TREE_HEIGHT_MAX, TREE_HEIGHT_WITH_ROOM_MAX, has_room, parse, parse_expression, parse_parameterised, parse_view,
};
pub use keyword::{is_reserved_word, keywords};
pub use lift::{LIFTED_IN_LISTS_MAX, LIFTED_MAX, PADDED_MIN};
pub use mode::SqlMode;
pub use normal::{Found, Normal, QueryNames, WrittenUnder, columns_in, normalise, normalise_query};
pub use parameters::parameter_places;
pub use template::{Template, commas};
pub use words::mysql_words;
