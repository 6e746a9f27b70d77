//! The functions of the schema `sys`: their arguments, what they give, and what `information_schema.ROUTINES` tells of them.
//!
//! MySQL has them as stored functions; here they are built in, by the same names, and found by these in that schema only. Those that tell of what
//! `performance_schema` records (stacks, transactions, instruments) are not here (1305).

use crate::binder::{Binder, Result};
use crate::expr::{Expr, ExprKind};
use crate::func::Func;
use accounts::Privileges;
use mysql_error::{WarningLevel, codes};
use parser::ast;
use types::{Collation, ColumnType, TypeKind};

/// The schema.
pub const SYS: &str = "sys";

/// What an argument is converted to, or what is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SysType {
    /// TEXT.
    Text,
    /// LONGTEXT.
    LongText,
    /// VARCHAR of so many characters.
    VarChar(u32),
    /// BIGINT UNSIGNED.
    BigInt,
    /// TINYINT UNSIGNED.
    TinyInt,
    /// `ENUM('YES','NO')`, with `'UNKNOWN'` where it is said.
    YesNo {
        /// There is a third member.
        unknown: bool,
    },
}

impl SysType {
    /// As a column's type.
    pub fn column_type(self) -> ColumnType {
        let text = |kind| ColumnType { collation: Collation::DEFAULT, ..ColumnType::new(kind) };
        match self {
            SysType::Text => text(TypeKind::Text),
            SysType::LongText => text(TypeKind::LongText),
            SysType::VarChar(chars) => ColumnType::varchar(chars, Collation::DEFAULT),
            SysType::BigInt => ColumnType::bigint_unsigned(),
            SysType::TinyInt => ColumnType { unsigned: true, ..ColumnType::new(TypeKind::TinyInt) },
            SysType::YesNo { unknown } => ColumnType { length: if unknown { 7 } else { 3 }, ..text(TypeKind::Char) },
        }
    }

    /// The type as `DTD_IDENTIFIER` spells it.
    pub fn spelled(self) -> String {
        match self {
            SysType::YesNo { unknown: false } => "enum('YES','NO')".into(),
            SysType::YesNo { unknown: true } => "enum('YES','NO','UNKNOWN')".into(),
            other => other.column_type().to_string(),
        }
    }
}

/// A function of the schema.
#[derive(Debug)]
pub struct SysFunction {
    /// Its name.
    pub name: &'static str,
    /// Which one it is.
    pub func: Func,
    /// Names and types of its arguments.
    pub params: &'static [(&'static str, SysType)],
    /// What it gives.
    pub returns: SysType,
    /// `IS_DETERMINISTIC`.
    pub deterministic: bool,
    /// `SQL_DATA_ACCESS`.
    pub access: &'static str,
}

const fn function(
    name: &'static str,
    func: Func,
    params: &'static [(&'static str, SysType)],
    returns: SysType,
    (deterministic, access): (bool, &'static str),
) -> SysFunction {
    SysFunction { name, func, params, returns, deterministic, access }
}

use SysType::{BigInt, LongText, Text, TinyInt, VarChar, YesNo};

const COMPUTES: (bool, &str) = (true, "NO SQL");
const CALLS: (bool, &str) = (true, "CONTAINS SQL");
const READS: (bool, &str) = (true, "READS SQL DATA");
const TELLS_OF_NOW: (bool, &str) = (false, "READS SQL DATA");
const TELLS_OF_SERVER: (bool, &str) = (false, "NO SQL");

/// All of them, by name.
pub static FUNCTIONS: [SysFunction; 18] = [
    function("extract_schema_from_file_name", Func::SysSchemaOfFile, &[("path", VarChar(512))], VarChar(64), COMPUTES),
    function("extract_table_from_file_name", Func::SysTableOfFile, &[("path", VarChar(512))], VarChar(64), COMPUTES),
    function("format_bytes", Func::SysFormatBytes, &[("bytes", Text)], Text, COMPUTES),
    function("format_path", Func::SysFormatPath, &[("in_path", VarChar(512))], VarChar(512), COMPUTES),
    function("format_statement", Func::SysFormatStatement, &[("statement", LongText)], LongText, COMPUTES),
    function("format_time", Func::SysFormatTime, &[("picoseconds", Text)], Text, COMPUTES),
    function("list_add", Func::SysListAdd, &[("in_list", Text), ("in_add_value", Text)], Text, CALLS),
    function("list_drop", Func::SysListDrop, &[("in_list", Text), ("in_drop_value", Text)], Text, CALLS),
    function(
        "ps_is_account_enabled",
        Func::SysIsAccountEnabled,
        &[("in_host", VarChar(255)), ("in_user", VarChar(32))],
        YesNo { unknown: false },
        READS,
    ),
    function("ps_is_consumer_enabled", Func::SysIsConsumerEnabled, &[("in_consumer", VarChar(64))], YesNo { unknown: false }, READS),
    function(
        "ps_is_thread_instrumented",
        Func::SysIsThreadInstrumented,
        &[("in_connection_id", BigInt)],
        YesNo { unknown: true },
        TELLS_OF_NOW,
    ),
    function("ps_thread_account", Func::SysThreadAccount, &[("in_thread_id", BigInt)], Text, TELLS_OF_NOW),
    function("ps_thread_id", Func::SysThreadId, &[("in_connection_id", BigInt)], BigInt, TELLS_OF_NOW),
    function("quote_identifier", Func::SysQuoteIdentifier, &[("in_identifier", Text)], Text, COMPUTES),
    function(
        "sys_get_config",
        Func::SysGetConfig,
        &[("in_variable_name", VarChar(128)), ("in_default_value", VarChar(128))],
        VarChar(128),
        READS,
    ),
    function("version_major", Func::SysVersionMajor, &[], TinyInt, TELLS_OF_SERVER),
    function("version_minor", Func::SysVersionMinor, &[], TinyInt, TELLS_OF_SERVER),
    function("version_patch", Func::SysVersionPatch, &[], TinyInt, TELLS_OF_SERVER),
];

/// The function of this name, in any case.
pub fn lookup(name: &str) -> Option<&'static SysFunction> {
    FUNCTIONS.iter().find(|function| function.name.eq_ignore_ascii_case(name))
}

/// What is in `sys.sys_config`: names and values.
pub static CONFIG: [(&str, Option<&str>); 6] = [
    ("diagnostics.allow_i_s_tables", Some("OFF")),
    ("diagnostics.include_raw", Some("OFF")),
    ("ps_thread_trx_info.max_length", Some("65535")),
    ("statement_performance_analyzer.limit", Some("100")),
    ("statement_performance_analyzer.view", None),
    ("statement_truncate_len", Some("64")),
];

/// Whether the server has a function of this name.
fn is_own(name: &str) -> bool {
    const WITH_GRAMMAR: &[&str] = &[
        "avg",
        "bit_and",
        "bit_or",
        "bit_xor",
        "cast",
        "count",
        "date_add",
        "date_sub",
        "adddate",
        "subdate",
        "extract",
        "group_concat",
        "json_arrayagg",
        "json_objectagg",
        "max",
        "min",
        "position",
        "std",
        "stddev",
        "stddev_pop",
        "stddev_samp",
        "sum",
        "trim",
        "var_pop",
        "var_samp",
        "variance",
    ];
    WITH_GRAMMAR.contains(&name)
        || crate::func::lookup(name).is_some_and(|info| !info.func.is_of_sys() && info.func != Func::QueryAttribute)
}

impl Binder<'_> {
    /// A call of a function of the schema `database` that is not native: one of `sys`, or 1305. Whoever may not execute it is told that only (1370).
    #[cold]
    pub(crate) fn stored_function(&mut self, database: &str, call: &ast::FunctionCall<'_>) -> Result<Expr> {
        let full = format!("{database}.{}", call.name.name);
        // Behind a view the access that is noted says whose rights count.
        if self.accesses.behind.is_none() && !self.accesses.silent {
            self.context.may_execute(database, &full)?;
        }
        let found = if database.eq_ignore_ascii_case(SYS) { lookup(call.name.name) } else { None };
        let Some(function) = found else {
            // As one of the server's own it would have been found: it was written as a stored one.
            return Err(match is_own(&call.name.name.to_ascii_lowercase()) {
                true => codes::func_inexistent_name_collision(full),
                false => codes::sp_does_not_exist("FUNCTION", full),
            });
        };
        self.accesses.whole(SYS, function.name, Privileges::EXECUTE);
        if call.args.len() != function.params.len() {
            return Err(codes::sp_wrong_no_of_args("FUNCTION", full, function.params.len(), call.args.len()));
        }
        if crate::func::lookup(function.name).is_some() {
            // Once, however often it is called.
            let note = codes::native_fct_name_collision(function.name).into_warning(WarningLevel::Note);
            if !self.warnings.contains(&note) {
                self.warnings.push(note);
            }
        }
        if function.func.is_volatile() {
            self.note_volatile();
        }
        let args = self.exprs(call.args)?;
        Ok(Expr { kind: ExprKind::Func(function.func, args), ty: function.returns.column_type() })
    }
}
