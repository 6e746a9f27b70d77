//! STATEMENT_DIGEST() and STATEMENT_DIGEST_TEXT(): the text is `parser`'s, the digest its SHA-256 (MySQL's is that of a record of its own tokens).

use super::encoding::hex;
use crate::exec::Exec;
use crate::run::Result;
use mysql_error::codes;
use planner::expr::Expr;
use planner::func::Func;
use sha2::Digest;
use types::Value;

impl Exec<'_> {
    /// The digest of a statement's text, or its normalised text.
    #[inline(never)]
    pub(super) fn statement_digest(&mut self, func: Func, statement: &Expr) -> Result<Value> {
        let Some(sql) = self.text_arg(statement)? else { return Ok(Value::Null) };
        match parser::digest_text(&sql, parser::SqlMode(self.context.sql_mode().bits())) {
            Ok(text) if func == Func::StatementDigest => Ok(Value::from(hex(&sha2::Sha256::digest(text.as_bytes()), false))),
            Ok(text) => Ok(Value::from(text)),
            // What is wrong with a text that comes out of rows may be none of the client's business: MySQL does not say it.
            Err(why) if statement.is_constant() => Err(codes::parse_error_in_digest_fn(why.message).into()),
            Err(_) => Err(codes::undisclosed_parse_error_in_digest_fn().into()),
        }
    }
}
