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
        let strict = changes_strictly(plan, context.sql_mode());
        if let (Value::Bytes(text), ToldAs::Moment(ty, column)) = (&*value, &told.told_as)
            && ty.kind.has_date()
        {
            match types::parse_datetime_full(text, context.sql_mode()) {
                None => return Err(no_moment(text, ty, column, strict)),
                // Almost all are dates to their end.
                Some(parsed) if !parsed.truncated => continue,
                Some(_) => {}
            }
        }
        if let Some(error) = odd(&value, &told.told_as, context, &mut warnings) {
            if strict {
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
                Some(codes::truncated_wrong_value(kind, convert::shown_text(shown)))
            }
            _ => None,
        },
        ToldAs::Year => match value {
            Value::Bytes(text) if convert::is_odd_number(value) && !text.first().is_some_and(u8::is_ascii_digit) => {
                Some(codes::truncated_wrong_value("DOUBLE", convert::shown_text(text)))
            }
            _ => None,
        },
        ToldAs::Moment(ty, column) | ToldAs::MomentBound(ty, column) => odd_moment(value, ty, column, context, notes),
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

/// What a literal says that is no date at all beside dates: it fails every statement, whether or not a row is met.
#[cold]
fn no_moment(text: &[u8], ty: &ColumnType, column: &str, strict: bool) -> SqlError {
    let shown = convert::shown_text(text);
    let kind = if ty.kind == TypeKind::Date { "date" } else { "datetime" };
    match (strict, column) {
        (true, "") => codes::truncated_wrong_value(kind, shown),
        (true, column) => no_moment_for(kind, &shown, column),
        (false, _) => wrong_moment(ty.kind, &shown),
    }
}

/// 1525 of a literal beside dates or moments.
pub(crate) fn wrong_moment(kind: TypeKind, shown: &str) -> SqlError {
    let kind = match kind {
        TypeKind::Date => "DATE",
        TypeKind::DateTime => "DATETIME",
        _ => "TIMESTAMP",
    };
    codes::wrong_value(kind, shown)
}

/// What is wrong with a text beside a column of dates or times that is one with something behind it, a text beside one of times that is none, or a number: what storing it
/// there would say. Zero is a number, and the thirtieth of February is compared as such.
fn odd_moment(value: &Value, ty: &ColumnType, column: &str, context: &dyn StatementContext, notes: &mut Vec<Warning>) -> Option<SqlError> {
    if let Value::Bytes(text) = value {
        if ty.kind == TypeKind::Time {
            let is_odd = !text.is_empty() && types::time_operand(text).is_none();
            return is_odd.then(|| no_moment_for("time", &convert::shown_text(text), column));
        }
        let is_cut = !column.is_empty() && types::parse_datetime_full(text, SqlMode::NONE).is_some_and(|parsed| parsed.truncated);
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
    Some(no_moment_for(kind, &convert::shown_text(text), column))
}

/// 1292 in the words of storing a text into a column of dates or moments.
pub(crate) fn no_moment_for(kind: &str, shown: &str, column: &str) -> SqlError {
    SqlError::with_message(codes::ER_TRUNCATED_WRONG_VALUE, codes::truncated_wrong_value_for_field(kind, shown, column, 1).message)
}
