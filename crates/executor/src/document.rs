//! JSON documents as values: made of SQL values, seen as numbers, text and moments, compared with SQL values, stored into columns.

use crate::context::StatementContext;
use crate::convert::{self, local_time};
use crate::document_cast::{Fault, Wanted, value_as};
use crate::errors::Error;
use crate::run::Result;
use json::{Json, ParseError, View};
use mysql_error::{SqlError, codes};
use planner::expr::{Expr, ExprKind, SubqueryKind};
use planner::func::{Func, Returns, lookup};
use std::cmp::Ordering;
use types::{ByteString, ColumnType, SqlMode, TypeKind, Value};

/// Appends the text of a stored document; of a damaged one what could be read.
pub fn append_json_text(document: &[u8], out: &mut Vec<u8>) {
    // A value has no way to say that its bytes are damaged; functions and stores of documents say it (3142).
    let _ = json::text(View::new(document), out);
}

/// Why a text is no document: what messages 3140 and 3141 tell.
pub type TextFault = (&'static str, usize);

/// The document of a text: the inner error is the text's own fault.
pub fn parse(text: &[u8]) -> Result<std::result::Result<Json, TextFault>> {
    match json::parse(text) {
        Ok(tree) => Ok(Ok(tree)),
        Err(ParseError::Text(message, at)) => Ok(Err((message, at))),
        Err(ParseError::TooDeep) => Err(codes::json_document_too_deep().into()),
        Err(ParseError::Memory(excess)) => Err(excess.into()),
    }
}

/// A tree as a value.
pub fn value_of(tree: &Json) -> Result<Value> {
    Ok(Value::Json(ByteString::from(json::encode(tree)?)))
}

/// Protocol number of a type whose values are bytes.
fn opaque_type(ty: &ColumnType) -> u8 {
    match ty.kind {
        TypeKind::Binary => 254,
        TypeKind::TinyBlob => 249,
        TypeKind::MediumBlob => 250,
        TypeKind::LongBlob => 251,
        TypeKind::Blob => 252,
        _ => 15,
    }
}

/// Comparisons, and what is made of truth values.
pub fn is_predicate(kind: &ExprKind) -> bool {
    matches!(
        kind,
        ExprKind::Compare(..)
            | ExprKind::CompareRows(..)
            | ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Xor(..)
            | ExprKind::Not(_)
            | ExprKind::IsNull { .. }
            | ExprKind::IsTruth { .. }
            | ExprKind::Between { .. }
            | ExprKind::InList { .. }
            | ExprKind::InRows { .. }
            | ExprKind::Like { .. }
    )
}

/// Whether an expression is true or false, where its value is the integer 1 or 0.
pub fn is_boolean(e: &Expr) -> bool {
    match &e.kind {
        kind if is_predicate(kind) => true,
        ExprKind::Subquery(_, kind) => !matches!(**kind, SubqueryKind::Scalar { .. }),
        ExprKind::Func(Func::JsonValid | Func::JsonContains | Func::JsonContainsPath | Func::JsonOverlaps | Func::MemberOf, _) => true,
        ExprKind::Func(func, _) => lookup(func.name()).is_some_and(|info| info.returns == Returns::Bool),
        _ => false,
    }
}

/// A value of an expression as a document of its own: text becomes a JSON string.
pub fn to_tree(value: &Value, e: &Expr, context: &dyn StatementContext) -> Result<Json> {
    Ok(match value {
        Value::Int(v) if is_boolean(e) => Json::Bool(*v != 0),
        Value::UInt(v) if e.ty.kind == TypeKind::Bit => {
            let bytes = (e.ty.length as usize).div_ceil(8).clamp(1, 8);
            Json::Opaque(16, v.to_be_bytes()[8 - bytes..].to_vec())
        }
        Value::Bytes(bytes) if e.ty.is_bytes() => Json::Opaque(opaque_type(&e.ty), bytes.to_vec()),
        // A computed zero has no digits of its type ([`planner::members::bare_zero`]).
        Value::Decimal(d) if d.is_zero() && matches!(e.kind, ExprKind::Func(Func::BareZero, _)) => Json::Decimal(d.clone()),
        Value::Decimal(d) if e.ty.kind == TypeKind::Decimal => Json::Decimal(d.rescale(e.ty.decimals).unwrap_or_else(|| d.clone())),
        Value::Json(document) => View::new(document).to_tree()?,
        other => scalar(other, context),
    })
}

/// An SQL value as a document, with no more known of it than the value says.
fn scalar(value: &Value, context: &dyn StatementContext) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Int(v) => Json::Int(*v),
        Value::UInt(v) => Json::UInt(*v),
        Value::Float(v) => Json::Double(f64::from(*v)),
        Value::Double(v) => Json::Double(*v),
        Value::Decimal(v) => Json::Decimal(v.clone()),
        Value::Bytes(v) => Json::String(String::from_utf8_lossy(v).into_owned()),
        Value::Date(v) => Json::Date(*v),
        Value::Time(v) => Json::Time(*v),
        Value::DateTime(v) => Json::DateTime(*v),
        Value::Timestamp(v) => Json::DateTime(local_time(*v, context)),
        Value::Json(document) => View::new(document).to_tree().unwrap_or_default(),
    }
}

/// Compares a document with a document or with an SQL value, which counts as the document that it would be; damaged ones by their bytes.
#[cold]
pub fn compare(a: &Value, b: &Value, context: &dyn StatementContext) -> Option<Ordering> {
    let document = |value: &Value| match value {
        Value::Json(document) => document.to_vec(),
        other => json::encode(&scalar(other, context)).unwrap_or_default(),
    };
    if a.is_null() || b.is_null() {
        return None;
    }
    let (a, b) = (document(a), document(b));
    Some(json::compare(View::new(&a), View::new(&b)).unwrap_or_else(|_| a.cmp(&b)))
}

/// Whether two values of a column are equal documents. MySQL leaves a row alone whose columns an UPDATE would set to equal ones.
#[cold]
pub fn are_equal(a: &Value, b: &Value, context: &dyn StatementContext) -> bool {
    matches!((a, b), (Value::Json(_), Value::Json(_))) && compare(a, b, context) == Some(Ordering::Equal)
}

/// Whether a document is true: it is not the number 0.
pub fn truth(document: &[u8]) -> bool {
    const ZERO: &[u8] = &[3, 0];
    json::compare(View::new(document), View::new(ZERO)).is_ok_and(Ordering::is_ne)
}

/// The SQL value of a scalar document for use as a number or a moment; `None` for null, containers, bytes and damage. A string is its text.
pub fn sql_scalar(document: &[u8]) -> Option<Value> {
    Some(match View::new(document).scalar().ok()?? {
        Json::Bool(v) => Value::bool(v),
        Json::Int(v) => Value::Int(v),
        Json::UInt(v) => Value::UInt(v),
        Json::Double(v) => Value::Double(v),
        Json::Decimal(v) => Value::Decimal(v),
        Json::String(v) => Value::from(v),
        Json::Date(v) => Value::Date(v),
        Json::Time(v) => Value::Time(v),
        Json::DateTime(v) => Value::DateTime(v),
        Json::Null | Json::Array(_) | Json::Object(_) | Json::Opaque(..) => return None,
    })
}

/// Whether a document's scalar is a date or a time, which counts as no number.
pub fn is_moment(value: &Value) -> bool {
    matches!(value, Value::Date(_) | Value::Time(_) | Value::DateTime(_))
}

/// The same for use as a number.
pub fn sql_number(document: &[u8]) -> Option<Value> {
    sql_scalar(document).filter(|value| !is_moment(value))
}

/// A document as a double, with nothing said of what is no number.
#[cold]
pub fn to_f64(document: &[u8], context: &dyn StatementContext) -> f64 {
    sql_number(document).map_or(0.0, |value| convert::to_f64(&value, context))
}

/// Converts a value for a JSON column.
///
/// # Errors
/// 3140 for text that is no document.
#[cold]
pub fn for_column(value: Value, column: &str) -> Result<Value> {
    match value {
        Value::Json(document) => storable(document),
        Value::Bytes(text) => match parse(&text)? {
            Ok(tree) => storable(ByteString::from(json::encode(&tree)?)),
            Err((message, at)) => Err(codes::invalid_json_text(message, at, column).into()),
        },
        Value::Null => Ok(value),
        _ => Err(codes::invalid_json_text("not a JSON text, may need CAST", 0, column).into()),
    }
}

/// A document for a column: names of any length are for statements only.
fn storable(document: ByteString) -> Result<Value> {
    if json::has_storable_names(View::new(&document))? { Ok(Value::Json(document)) } else { Err(codes::json_key_too_big().into()) }
}

/// Converts a document for a column of another type: to what is converted on.
///
/// # Errors
/// 3156 and 3155 for a document that is no value of the column's kind: to be forgiven where wrong values are, with the value beside it.
#[cold]
pub fn for_other_column(document: &[u8], ty: &ColumnType, mode: SqlMode, column: &str, row: u64) -> Result<(Value, Option<SqlError>)> {
    let Some(wanted) = Wanted::by(ty.kind) else {
        if ty.kind.is_numeric() || ty.kind.is_temporal() {
            return match sql_number(document) {
                Some(value) => Ok((value, None)),
                None => Ok((Value::Int(0), Some(codes::invalid_json_value_for_cast("INTEGER", column, row)))),
            };
        }
        let mut text = Vec::new();
        json::text(View::new(document), &mut text)?;
        return Ok((Value::Bytes(text.into()), None));
    };
    let (value, fault) = value_as(document, wanted, mode);
    let value = match value {
        // Nothing is said of the time that is left out.
        Value::DateTime(moment) if wanted == Wanted::Date => Value::Date(moment.date()),
        value => value,
    };
    let error = fault.map(|fault| match fault {
        Fault::None => codes::invalid_json_value_for_cast(wanted.word(), column, row),
        Fault::OutOfRange => codes::numeric_json_value_out_of_range(wanted.word(), column, row),
    });
    Ok((value, error))
}

/// Message 3140 names the column with its table.
#[cold]
pub fn with_table(error: Error, table: &str) -> Error {
    match error {
        Error::Sql(e) if e.code == codes::ER_INVALID_JSON_TEXT => {
            let message = e.message.replacen("in value for column '", &format!("in value for column '{table}."), 1);
            Error::Sql(SqlError { message, ..e })
        }
        other => other,
    }
}
