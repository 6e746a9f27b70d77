//! LIKE and WHERE of SHOW.
//!
//! WHERE takes what clients use: comparisons of the result's columns with constants, LIKE, IN, NULL tests, AND, OR, NOT. Anything
//! else is refused with 1235.

use super::Table;
use crate::error_map::Outcome;
use mysql_error::codes;
use parser::ast::{BinaryOp, Expr, ExprKind, IsTest, Literal, UnaryOp};
use std::cmp::Ordering;
use types::{Collation, Value};

const ESCAPE: Option<u32> = Some(b'\\' as u32);

/// Keeps the rows whose first column is like the pattern, without case.
pub(super) fn like(table: &mut Table, pattern: &[u8]) {
    let column = table.like_column;
    table.rows.retain(|row| matches!(&row[column], Value::Bytes(text) if Collation::Utf8mb4GeneralCi.like(text, pattern, ESCAPE)));
}

/// Keeps the rows for which the condition is true.
pub(super) fn condition(table: &mut Table, condition: &Expr<'_>, params: &[Value]) -> Result<(), Outcome> {
    let names: Vec<String> = table.columns.iter().map(|c| c.name.to_string()).collect();
    let mut failed = None;
    table.rows.retain(|row| match truth(condition, &names, row, params) {
        Ok(truth) => truth == Some(true),
        Err(error) => {
            failed.get_or_insert(error);
            false
        }
    });
    // Without rows nothing was looked at: a wrong name is an error all the same.
    if table.rows.is_empty() && failed.is_none() {
        let nulls = vec![Value::Null; names.len()];
        truth(condition, &names, &nulls, params)?;
    }
    failed.map_or(Ok(()), Err)
}

fn unsupported() -> Outcome {
    codes::not_supported_yet("this condition in SHOW ... WHERE").into()
}

fn truth(expr: &Expr<'_>, names: &[String], row: &[Value], params: &[Value]) -> Result<Option<bool>, Outcome> {
    Ok(match &expr.kind {
        ExprKind::And(list) => {
            let mut result = Some(true);
            for part in *list {
                match truth(part, names, row, params)? {
                    Some(false) => return Ok(Some(false)),
                    None => result = None,
                    Some(true) => {}
                }
            }
            result
        }
        ExprKind::Or(list) => {
            let mut result = Some(false);
            for part in *list {
                match truth(part, names, row, params)? {
                    Some(true) => return Ok(Some(true)),
                    None => result = None,
                    Some(false) => {}
                }
            }
            result
        }
        ExprKind::Unary(UnaryOp::Not, inner) => truth(inner, names, row, params)?.map(|t| !t),
        ExprKind::Binary { op, left, right } => {
            let order = compare(&value(left, names, row, params)?, &value(right, names, row, params)?);
            match op {
                BinaryOp::Eq => order.map(Ordering::is_eq),
                BinaryOp::Ne => order.map(Ordering::is_ne),
                BinaryOp::Lt => order.map(Ordering::is_lt),
                BinaryOp::Le => order.map(Ordering::is_le),
                BinaryOp::Gt => order.map(Ordering::is_gt),
                BinaryOp::Ge => order.map(Ordering::is_ge),
                _ => return Err(unsupported()),
            }
        }
        ExprKind::Is { expr, test: IsTest::Null, negated } => Some(value(expr, names, row, params)?.is_null() != *negated),
        ExprKind::In { expr, list, negated } => {
            let wanted = value(expr, names, row, params)?;
            let mut found = false;
            for item in *list {
                found |= compare(&wanted, &value(item, names, row, params)?) == Some(Ordering::Equal);
            }
            if wanted.is_null() { None } else { Some(found != *negated) }
        }
        ExprKind::Like { expr, pattern, escape: None, negated } => {
            match (value(expr, names, row, params)?, value(pattern, names, row, params)?) {
                (Value::Bytes(text), Value::Bytes(pattern)) => Some(Collation::Utf8mb4GeneralCi.like(&text, &pattern, ESCAPE) != *negated),
                _ => None,
            }
        }
        _ => return Err(unsupported()),
    })
}

fn value(expr: &Expr<'_>, names: &[String], row: &[Value], params: &[Value]) -> Result<Value, Outcome> {
    match &expr.kind {
        ExprKind::Column(column) => {
            let at = names.iter().position(|name| name.eq_ignore_ascii_case(column.column));
            at.map(|at| row[at].clone()).ok_or_else(|| codes::bad_field_error(column.column, "where clause").into())
        }
        ExprKind::Literal(Literal::String(text)) => Ok(Value::bytes(*text)),
        ExprKind::Literal(Literal::Int(n)) => Ok(Value::UInt(*n)),
        ExprKind::Literal(Literal::Null) => Ok(Value::Null),
        ExprKind::Param(no) => Ok(params.get(*no as usize).cloned().unwrap_or_default()),
        _ => Err(unsupported()),
    }
}

fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    let number = |v: &Value| match v {
        Value::UInt(n) => Some(*n as f64),
        Value::Int(n) => Some(*n as f64),
        Value::Bytes(text) => Some(types::parse_double_prefix(text)),
        _ => None,
    };
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => None,
        (Value::Bytes(a), Value::Bytes(b)) => Some(Collation::Utf8mb4GeneralCi.compare(a, b)),
        _ => number(a)?.partial_cmp(&number(b)?),
    }
}
