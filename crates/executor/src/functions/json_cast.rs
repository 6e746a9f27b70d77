//! Casts to JSON, and of documents to numbers and moments.

use super::json_functions::{e_name, is_member};
use crate::document::{self, to_tree, value_of};
use crate::document_cast::{Fault, Wanted, value_as};
use crate::exec::{Exec, IndexCast};
use crate::run::Result;
use mysql_error::codes;
use planner::expr::{CastTo, Expr};
use types::Value;

impl Exec<'_> {
    /// CAST(… AS JSON).
    #[inline(never)]
    pub(crate) fn cast_to_document(&mut self, v: Value, from: &Expr) -> Result<Value> {
        match v {
            Value::Json(_) => Ok(v),
            // A member is a text of its own, not that of a document.
            Value::Bytes(text) if !from.ty.is_bytes() && !is_member(from) => match document::parse(&text)? {
                Ok(tree) => value_of(&tree),
                Err((message, at)) => Err(codes::invalid_json_text_in_param(1, "cast_as_json", message, at).into()),
            },
            v => value_of(&to_tree(&v, from, &*self.context)?),
        }
    }

    /// A document that is cast to a number or a moment: the SQL value that it holds, to be cast on. What it does not hold is named, by a
    /// warning or, where a strict statement changes rows, an error.
    #[inline(never)]
    pub(crate) fn cast_document(&mut self, document: &[u8], from: &Expr, to: CastTo) -> Result<Value> {
        let wanted = match to {
            CastTo::Signed | CastTo::Unsigned | CastTo::Year => Wanted::Integer,
            CastTo::Decimal { .. } => Wanted::Decimal,
            CastTo::Date => Wanted::Date,
            CastTo::Time { .. } => Wanted::Time,
            CastTo::DateTime { .. } => Wanted::DateTime,
            _ => Wanted::Double,
        };
        let (value, fault) = value_as(document, wanted, self.context.sql_mode());
        if let Some(fault) = fault
            && self.index_cast != IndexCast::No
        {
            self.index_cast = IndexCast::Told(fault);
            return Ok(value);
        }
        let error = match fault {
            None => return Ok(value),
            Some(Fault::None) => codes::invalid_json_value_for_cast(wanted.word(), e_name(from), 1),
            Some(Fault::OutOfRange) => codes::numeric_json_value_out_of_range(wanted.word(), e_name(from), 1),
        };
        self.tell(error)?;
        Ok(value)
    }
}
