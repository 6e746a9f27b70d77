//! Values on their way into tables: conversion to column types, defaults, NULL rules.

use crate::context::StatementContext;
use crate::convert::local_time;
use crate::errors::Error;
use crate::exec::Exec;
use crate::run::Result;
use catalog::{ColumnDef, DefaultValue};
use mysql_error::{Warning, WarningLevel, codes};
use planner::expr::{Expr, ExprKind, Slot};
use types::{ColumnType, LocalTime, StoreContext, Timestamp, TypeKind, Value};

/// What storing forgives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leniency {
    /// Wrong values are adjusted, with a warning: not strict, or IGNORE.
    pub values: bool,
    /// NULL for a NOT NULL column becomes the implicit default.
    pub nulls: bool,
}

impl Leniency {
    /// Nothing: a strict mode without IGNORE.
    pub const NONE: Leniency = Leniency { values: false, nulls: false };
}

/// Converts a value for a column. `row` counts from 1, for messages.
pub(crate) fn store_value(
    value: Value,
    column: &ColumnDef,
    row: u64,
    leniency: Leniency,
    context: &mut dyn StatementContext,
) -> Result<Value> {
    if value.is_null() {
        return store_null(column, leniency, true, context);
    }
    store_as(value, &column.ty, &column.name, row, leniency, context)
}

/// Converts a value to a column's type. `name` and `row`, which counts from 1, are for messages.
pub(crate) fn store_as(
    value: Value,
    ty: &ColumnType,
    name: &str,
    row: u64,
    leniency: Leniency,
    context: &mut dyn StatementContext,
) -> Result<Value> {
    // The usual case needs no conversion at all.
    if types::is_stored_as_it_is(&value, ty) {
        return Ok(value);
    }
    if ty.kind == TypeKind::Json {
        return crate::document::for_column(value, name);
    }
    let mode = context.sql_mode();
    let strict = mode.is_strict() && !leniency.values;
    let value = match value {
        Value::Json(document) => {
            let (value, wrong) = crate::document::for_other_column(&document, ty, mode, name, row)?;
            match wrong {
                Some(error) if strict => return Err(error.into()),
                Some(error) => warn(context, error.code, error.message),
                None => {}
            }
            if value.is_null() {
                return Ok(if ty.nullable { value } else { types::implicit_default(ty) });
            }
            value
        }
        value => value,
    };
    let mut warnings = Vec::new();
    let now_micros = context.statement_micros();
    let zone: &dyn LocalTime = &*context;
    let mut store = StoreContext { mode, strict, column: name, row, zone, now_micros, warnings: &mut warnings };
    let stored = types::store_convert(value, ty, &mut store);
    for w in warnings {
        context.warn(w);
    }
    stored.map_err(Error::Sql)
}

/// `tells`: what is forgiven is told.
fn store_null(column: &ColumnDef, leniency: Leniency, tells: bool, context: &mut dyn StatementContext) -> Result<Value> {
    if column.ty.nullable {
        return Ok(Value::Null);
    }
    if leniency.nulls {
        // IGNORE, and multi-row inserts without strict mode: the implicit default, and of an ENUM no member, not the first.
        if tells {
            warn(context, 1048, format!("Column '{}' cannot be null", column.name));
        }
        return Ok(no_member(&column.ty).unwrap_or_else(|| types::implicit_default(&column.ty)));
    }
    Err(codes::bad_null_error(&column.name).into())
}

/// The value of a column that an INSERT does not name. `tells`: what is forgiven is told.
pub(crate) fn default_value(column: &ColumnDef, leniency: Leniency, tells: bool, context: &mut dyn StatementContext) -> Result<Value> {
    match &column.default {
        DefaultValue::Null => Ok(Value::Null),
        DefaultValue::Constant(v) => Ok(v.clone()),
        DefaultValue::CurrentTimestamp => Ok(current_timestamp(column, context)),
        DefaultValue::Expression(_) => Err(crate::errors::internal("a default that the plan computes")),
        DefaultValue::None if column.ty.nullable => Ok(Value::Null),
        // The one type that has a default where none is written, its first member, without a warning.
        DefaultValue::None if column.ty.kind == TypeKind::Enum => Ok(types::implicit_default(&column.ty)),
        DefaultValue::None => {
            if context.sql_mode().is_strict() && !leniency.values {
                return Err(codes::no_default_for_field(&column.name).into());
            }
            if tells {
                warn(context, 1364, format!("Field '{}' doesn't have a default value", column.name));
            }
            Ok(types::implicit_default(&column.ty))
        }
    }
}

/// What an ENUM holds that has none of its members.
fn no_member(ty: &ColumnType) -> Option<Value> {
    if ty.kind == TypeKind::Enum { ty.enum_text(0).map(Value::Bytes) } else { None }
}

/// What an ENUM without a member is in another ENUM: the same. `None` of all other values.
pub fn same_no_member(value: &Value, source: &ColumnType, column: &ColumnType) -> Option<Value> {
    match value {
        Value::Bytes(text) if source.kind == TypeKind::Enum && text.is_empty() && source.member_number(text) == Some(0) => {
            no_member(column)
        }
        _ => None,
    }
}

/// The statement's time with the column's type and precision.
fn current_timestamp(column: &ColumnDef, context: &dyn StatementContext) -> Value {
    let micros = context.statement_micros();
    let step = 10i64.pow(6 - u32::from(column.ty.decimals.min(6)));
    let instant = Timestamp::from_micros(micros - micros.rem_euclid(step));
    match column.ty.kind {
        TypeKind::Timestamp => Value::Timestamp(instant),
        _ => Value::DateTime(local_time(instant, context)),
    }
}

fn warn(context: &mut dyn StatementContext, code: u16, message: String) {
    context.warn(Warning { level: WarningLevel::Warning, code, message });
}

impl Exec<'_> {
    fn leniency(&self) -> Leniency {
        Leniency { values: self.lenient, nulls: self.null_lenient }
    }

    /// Converts a value for a column. `row` counts from 1, for messages.
    pub fn store_value(&mut self, value: Value, column: &ColumnDef, row: u64) -> Result<Value> {
        let leniency = self.leniency();
        match &mut self.nulls_told {
            Some(told) if value.is_null() && leniency.nulls => {
                let tells = !told.iter().any(|name| **name == *column.name);
                if tells && !column.ty.nullable {
                    told.push(column.name.as_str().into());
                }
                store_null(column, leniency, tells, self.context)
            }
            _ => store_value(value, column, row, leniency, self.context),
        }
    }

    /// Converts what an assignment gives for a column, whose own value is in `own`. That stays as it is, also where strict mode would not take it (a zero date, an
    /// ENUM without a member), and so does an ENUM without a member that comes of another.
    pub fn store_assigned(&mut self, value: Value, source: &Expr, own: Slot, column: &ColumnDef, row: u64) -> Result<Value> {
        if matches!(source.kind, ExprKind::Slot(slot) if slot == own) {
            return Ok(value);
        }
        match same_no_member(&value, &source.ty, &column.ty) {
            Some(same) => Ok(same),
            None => self.store_value(value, column, row),
        }
    }

    /// The value of a column that an INSERT does not name. `tells`: what is forgiven is told.
    pub fn default_value(&mut self, column: &ColumnDef, tells: bool) -> Result<Value> {
        // Computed when the other columns have their values.
        if column.generated.is_some() || matches!(column.default, DefaultValue::Expression(_)) {
            return Ok(Value::Null);
        }
        default_value(column, self.leniency(), tells, self.context)
    }

    /// The statement's time with the column's type and precision.
    pub fn current_timestamp(&self, column: &ColumnDef) -> Value {
        current_timestamp(column, &*self.context)
    }
}
