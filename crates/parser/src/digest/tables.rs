//! What digest texts show of MySQL's words and signs, each found by asking a running MySQL 9.7 or in its manual.

use crate::lexer::Tok;

/// Whether a sign behind this word belongs to the number behind the sign.
pub(super) fn takes_sign(word: &str) -> bool {
    matches!(
        word,
        "(" | ","
            | "="
            | "!="
            | "<"
            | "<="
            | ">"
            | ">="
            | "<=>"
            | "+"
            | "-"
            | "*"
            | "/"
            | "%"
            | "&"
            | "|"
            | "^"
            | "<<"
            | ">>"
            | "||"
            | "&&"
            | "SELECT"
            | "AND"
            | "OR"
            | "XOR"
            | "NOT"
            | "DIV"
            | "MOD"
            | "LIKE"
            | "RLIKE"
            | "BETWEEN"
            | "CASE"
            | "WHEN"
            | "THEN"
            | "ELSE"
            | "DEFAULT"
            | "INTERVAL"
    )
}

/// What else an expression begins behind.
pub(super) const OPENERS: &[&str] = &[
    "~",
    "!",
    ":=",
    "->",
    "->>",
    "DISTINCTROW",
    "ALL",
    "WHERE",
    "HAVING",
    "ON",
    "BY",
    "LIMIT",
    "OFFSET",
    "BINARY",
    "DO",
    "ESCAPE",
    "SQL_NO_CACHE",
    "SQL_CALC_FOUND_ROWS",
    "STRAIGHT_JOIN",
    "HIGH_PRIORITY",
    "SQL_SMALL_RESULT",
    "SQL_BIG_RESULT",
    "SQL_BUFFER_RESULT",
    "KILL",
    "RETURN",
];

/// Scopes of system variables.
pub(super) const SCOPES: &[&str] = &["GLOBAL", "LOCAL", "SESSION", "PERSIST", "PERSIST_ONLY"];

/// Functions whose names are words only before a parenthesis ("Function Name Parsing and Resolution"), and how they are shown.
pub(super) const CALLS: &[(&str, &str)] = &[
    ("ADDDATE", "ADDDATE"),
    ("BIT_AND", "BIT_AND"),
    ("BIT_OR", "BIT_OR"),
    ("BIT_XOR", "BIT_XOR"),
    ("CAST", "CAST"),
    ("COUNT", "COUNT"),
    ("CURDATE", "CURDATE"),
    ("CURTIME", "CURTIME"),
    ("DATE_ADD", "DATE_ADD"),
    ("DATE_SUB", "DATE_SUB"),
    ("EXTRACT", "EXTRACT"),
    ("GROUP_CONCAT", "GROUP_CONCAT"),
    ("JSON_ARRAYAGG", "JSON_ARRAYAGG"),
    ("JSON_OBJECTAGG", "JSON_OBJECTAGG"),
    ("MAX", "MAX"),
    ("MID", "SUBSTRING"),
    ("MIN", "MIN"),
    ("NOW", "NOW"),
    ("POSITION", "POSITION"),
    ("SESSION_USER", "SYSTEM_USER"),
    ("STD", "STDDEV_POP"),
    ("STDDEV", "STDDEV_POP"),
    ("STDDEV_POP", "STDDEV_POP"),
    ("STDDEV_SAMP", "STDDEV_SAMP"),
    ("ST_COLLECT", "ST_COLLECT"),
    ("SUBDATE", "SUBDATE"),
    ("SUBSTR", "SUBSTRING"),
    ("SUBSTRING", "SUBSTRING"),
    ("SUM", "SUM"),
    ("SYSDATE", "SYSDATE"),
    ("SYSTEM_USER", "SYSTEM_USER"),
    ("TRIM", "TRIM"),
    ("VARIANCE", "VAR_POP"),
    ("VAR_POP", "VAR_POP"),
    ("VAR_SAMP", "VAR_SAMP"),
];

/// Words of which MySQL shows another one that means the same.
pub(super) fn shown(word: &'static str) -> &'static str {
    match word {
        "ANY" => "SOME",
        "BIGINT" => "INT8",
        "CHAR" => "CHARACTER",
        "COLUMNS" => "FIELDS",
        "CURRENT_DATE" => "CURDATE",
        "CURRENT_TIME" => "CURTIME",
        "CURRENT_TIMESTAMP" | "LOCALTIME" | "LOCALTIMESTAMP" => "NOW",
        "DATABASE" => "SCHEMA",
        "DATABASES" => "SCHEMAS",
        "DAY" => "SQL_TSI_DAY",
        "DEC" => "DECIMAL",
        "DESCRIBE" => "EXPLAIN",
        "DISTINCT" => "DISTINCTROW",
        "DOUBLE" => "FLOAT8",
        "FLOAT" => "FLOAT4",
        "GEOMCOLLECTION" => "GEOMETRYCOLLECTION",
        "HOUR" => "SQL_TSI_HOUR",
        "INT" | "INT4" => "INTEGER",
        "INT1" => "TINYINT",
        "INT2" => "SMALLINT",
        "INT3" | "MEDIUMINT" => "MIDDLEINT",
        "IO_THREAD" => "RELAY_THREAD",
        "MINUTE" => "SQL_TSI_MINUTE",
        "MONTH" => "SQL_TSI_MONTH",
        "NDB" => "NDBCLUSTER",
        "QUARTER" => "SQL_TSI_QUARTER",
        "REGEXP" => "RLIKE",
        "SECOND" => "SQL_TSI_SECOND",
        "SQL_TSI_WEEK" => "WEEK",
        "SQL_TSI_YEAR" => "YEAR",
        "USER" => "SYSTEM_USER",
        "VARCHAR" => "VARCHARACTER",
        other => other,
    }
}

/// Names of optimizer hints.
pub(super) const HINTS: &[&str] = &[
    "BKA",
    "BNL",
    "DERIVED_CONDITION_PUSHDOWN",
    "DUPSWEEDOUT",
    "FIRSTMATCH",
    "GROUP_INDEX",
    "HASH_JOIN",
    "INDEX",
    "INDEX_MERGE",
    "INTOEXISTS",
    "JOIN_FIXED_ORDER",
    "JOIN_INDEX",
    "JOIN_ORDER",
    "JOIN_PREFIX",
    "JOIN_SUFFIX",
    "LOOSESCAN",
    "MATERIALIZATION",
    "MAX_EXECUTION_TIME",
    "MERGE",
    "MRR",
    "NO_BKA",
    "NO_BNL",
    "NO_DERIVED_CONDITION_PUSHDOWN",
    "NO_GROUP_INDEX",
    "NO_HASH_JOIN",
    "NO_ICP",
    "NO_INDEX",
    "NO_INDEX_MERGE",
    "NO_JOIN_INDEX",
    "NO_MERGE",
    "NO_MRR",
    "NO_ORDER_INDEX",
    "NO_RANGE_OPTIMIZATION",
    "NO_SEMIJOIN",
    "NO_SKIP_SCAN",
    "ORDER_INDEX",
    "QB_NAME",
    "RESOURCE_GROUP",
    "SEMIJOIN",
    "SET_VAR",
    "SKIP_SCAN",
    "SUBQUERY",
];

/// How a token that is neither word, name nor literal is shown.
pub(super) fn sign(tok: Tok) -> Option<&'static str> {
    Some(match tok {
        Tok::Introducer => "(_charset)",
        Tok::AtAt => "@@",
        Tok::Comma => ",",
        Tok::Dot => ".",
        Tok::Plus => "+",
        Tok::Minus => "-",
        Tok::Star => "*",
        Tok::Slash => "/",
        Tok::Percent => "%",
        Tok::Amp => "&",
        Tok::AmpAmp => "&&",
        Tok::Pipe => "|",
        Tok::PipePipe => "||",
        Tok::Caret => "^",
        Tok::Tilde => "~",
        Tok::Bang => "!",
        Tok::Eq => "=",
        Tok::NullEq => "<=>",
        Tok::Ne => "!=",
        Tok::Lt => "<",
        Tok::Le => "<=",
        Tok::Gt => ">",
        Tok::Ge => ">=",
        Tok::Shl => "<<",
        Tok::Shr => ">>",
        Tok::Assign => ":=",
        Tok::Colon => ":",
        Tok::Arrow => "->",
        Tok::LongArrow => "->>",
        Tok::LBrace => "{",
        Tok::RBrace => "}",
        _ => return None,
    })
}
