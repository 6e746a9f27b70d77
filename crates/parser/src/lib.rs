//! Text to syntax tree; no catalog.

pub mod ast;
mod error;

pub use error::ParseError;
