//! `information_schema.KEYWORDS`: what drivers ask for before they quote names (Connector/J's `getSQLKeywords`, and so Hibernate and Liquibase).
//!
//! The words are MySQL 9.7's answer, not what the parser of this server reserves: clients quote by it, and more quotes harm nobody.

use super::column::{information_schema, int, text};
use super::{VirtualTable, listed};
use crate::context::Core;
use catalog::{VirtualRequest, VirtualRow};
use executor::VirtualRows;
use types::Value;

pub(super) fn table() -> VirtualTable {
    let columns = vec![("WORD", text(128)), ("RESERVED", int())];
    VirtualTable { def: information_schema("KEYWORDS", &[], 760.0, columns), rows }
}

fn rows(_core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let row = |(word, reserved): (&str, bool)| -> VirtualRow { vec![word.into(), Value::bool(reserved)] };
    Ok(listed(parser::mysql_words().map(row).collect()))
}
