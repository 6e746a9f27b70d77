//! Scalar functions: the way to those of a family, and what they share. Each family has a file; which function is of which says `planner/src/func.rs`.

mod addresses;
mod aes;
mod bounded;
mod compression;
mod control;
mod digest;
mod encoding;
mod encryption;
mod information;
mod json_cast;
mod json_functions;
mod json_schema;
mod json_value;
mod locate;
mod numbers;
mod operands;
pub(crate) mod regexp;
mod regexp_pattern;
mod schema_pattern;
mod search;
mod statement_digest;
mod strings;
mod sys_functions;
pub(crate) mod temporal;
#[cfg(test)]
mod tests;
mod weight_string;

pub use addresses::format_bytes;
pub(crate) use json_functions::unquoted;
pub use numbers::crc32;
pub use operands::cannot_convert;

use crate::convert::text;
use crate::errors::{Error, internal};
use crate::exec::Exec;
use crate::run::Result;
use planner::expr::Expr;
use planner::func::{Family, Func};
use types::{Collation, Value};

impl Exec<'_> {
    /// Calls a function. `e` is the call itself, for its result type.
    pub fn call(&mut self, func: Func, args: &[Expr], e: &Expr) -> Result<Value> {
        planner::check_stack()?;
        // Each family has a frame of its own on the stack, and nesting pays only for those it uses.
        match func.family() {
            Family::Control => self.call_control(func, args, e),
            Family::Operands => self.call_operand(func, args, e),
            Family::Strings => self.call_string(func, args, e),
            Family::Search => self.call_search(func, args, e),
            Family::Encoding => self.call_encoding(func, args, e),
            Family::Patterns => self.call_regexp(func, args),
            Family::Numbers => self.call_number(func, args, e),
            Family::Temporal => self.call_temporal(func, args, e),
            Family::Information => self.call_information(func, args),
            Family::Encryption => self.call_encryption(func, args),
            Family::Addresses => self.call_address(func, args),
            Family::Json => self.call_json(func, args),
            Family::Sys => self.call_sys(func, args),
        }
    }

    /// Text arguments of a string function; `None` when one is NULL.
    pub fn texts(&mut self, args: &[Expr]) -> Result<Option<Vec<Vec<u8>>>> {
        let mut out = Vec::with_capacity(args.len());
        for a in args {
            match self.text_arg(a)? {
                Some(t) => out.push(t),
                None => return Ok(None),
            }
        }
        Ok(Some(out))
    }

    /// Text of a value that an expression gave.
    pub fn text_of(&self, v: &Value, e: &Expr) -> Vec<u8> {
        text(v, &e.ty, &*self.context).into_owned()
    }
}

/// The collation two arguments are compared under.
pub fn pair_collation(a: &Expr, b: &Expr) -> Collation {
    planner::typing::comparison_collation([a, b].into_iter()).unwrap_or(Collation::Binary)
}

/// A family has a function that it does not answer. (What an expression is bound to need not be called: COERCIBILITY is a constant.)
#[cold]
fn not_answered(func: Func) -> Error {
    internal(&format!("function {} is not implemented", func.name()))
}
