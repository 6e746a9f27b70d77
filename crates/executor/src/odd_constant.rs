//! Constants of a plan that are none of what they are compared with, told once before it runs: texts that are no numbers, numbers that are no dates. An error (1292)
//! where a strict statement changes rows, else a warning.

use crate::context::StatementContext;
use crate::convert;
use crate::odd_number::changes_strictly;
use crate::value_now::value_now;
use mysql_error::{SqlError, Warning, codes};
use planner::expr::ExprKind;
use planner::plan::{Plan, ToldAs, ToldConstant};
use std::borrow::Cow;
use types::{ColumnType, SqlMode, StoreContext, TypeKind, Value};

/// What a plan is to tell before it runs.
///
/// # Errors
/// The first of it, where that fails the statement.
pub fn odd_constants(plan: &Plan, params: &[Value], context: &dyn StatementContext) -> Result<Vec<Warning>, SqlError> {
    let mut warnings = Vec::new();
    for (at, told) in plan.told_constants.iter().enumerate() {
        if told.padded && at > 0 && is_said_again(&plan.told_constants[at - 1], told, params) {
            continue;
        }
        let value = match &told.value.kind {
            ExprKind::Literal(value) => Some(Cow::Borrowed(value)),
            ExprKind::Param(n) => params.get(*n as usize).map(Cow::Borrowed),
            _ => value_now(&told.value, params, context).map(Cow::Owned),
        };
        let Some(value) = value else { continue };
        if let Some(error) = odd(&value, &told.told_as, context, &mut warnings) {
            if changes_strictly(plan, context.sql_mode()) {
                return Err(error);
            }
            warnings.push(error.into());
        }
    }
    Ok(warnings)
}

/// Whether a literal of a list is the one before it, lifted again.
fn is_said_again(before: &ToldConstant, told: &ToldConstant, params: &[Value]) -> bool {
    let (ExprKind::Param(one), ExprKind::Param(other)) = (&before.value.kind, &told.value.kind) else { return false };
    before.padded && one + 1 == *other && params.get(*one as usize) == params.get(*other as usize)
}

/// What is wrong with a constant; what is only to be noted is added to `notes`.
fn odd(value: &Value, told_as: &ToldAs, context: &dyn StatementContext, notes: &mut Vec<Warning>) -> Option<SqlError> {
    match told_as {
        ToldAs::Number(kind) => match value {
            // An empty text is no decimal, and the number 0 as a double.
            Value::Bytes(shown) if convert::is_odd_number(value) || *kind == "DECIMAL" && shown.trim_ascii().is_empty() => {
                Some(codes::truncated_wrong_value(kind, String::from_utf8_lossy(shown)))
            }
            _ => None,
        },
        ToldAs::Moment(ty, column) => odd_moment(value, ty, column, context, notes),
        ToldAs::ListedMoment(ty) => odd_moment(value, ty, "", context, &mut Vec::new()).map(|_| {
            let mut shown = Vec::new();
            convert::append_text(value, 0, context, &mut shown);
            let shown = String::from_utf8_lossy(&shown);
            match ty.kind {
                TypeKind::Time => codes::truncated_wrong_value("time", shown),
                _ => SqlError::with_message(codes::ER_TRUNCATED_WRONG_VALUE, format!("Incorrect datetime value: '{shown}'")),
            }
        }),
    }
}

/// What is wrong with a text beside a column of dates or times that is one with something behind it, or a number: what storing it there would say. Zero is a number, and
/// the thirtieth of February is compared as such.
fn odd_moment(value: &Value, ty: &ColumnType, column: &str, context: &dyn StatementContext, notes: &mut Vec<Warning>) -> Option<SqlError> {
    if let Value::Bytes(text) = value {
        // What is none at all is told of where it is compared.
        let is_cut = types::parse_datetime_full(text, SqlMode::NONE).is_some_and(|parsed| parsed.truncated);
        return if is_cut { cut_moment(text, ty, column) } else { None };
    }
    if value.is_null() || convert::truth(value) == Some(false) {
        return None;
    }
    let mut store = StoreContext {
        mode: context.sql_mode() | SqlMode::ALLOW_INVALID_DATES,
        strict: true,
        column,
        row: 1,
        zone: context,
        now_micros: context.statement_micros(),
        warnings: notes,
    };
    types::store_convert(value.clone(), ty, &mut store).err()
}

#[cold]
fn cut_moment(text: &[u8], ty: &ColumnType, column: &str) -> Option<SqlError> {
    let kind = if ty.kind == TypeKind::Date { "date" } else { "datetime" };
    Some(no_moment_for(kind, &String::from_utf8_lossy(text), column))
}

/// 1292 in the words of storing a text into a column of dates or moments.
pub(crate) fn no_moment_for(kind: &str, shown: &str, column: &str) -> SqlError {
    SqlError::with_message(codes::ER_TRUNCATED_WRONG_VALUE, codes::truncated_wrong_value_for_field(kind, shown, column, 1).message)
}
