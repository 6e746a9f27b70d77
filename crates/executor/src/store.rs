//! Rows on their way into tables: conversion to column types, defaults, NULL rules, AUTO_INCREMENT.

use crate::convert::local_time;
use crate::errors::Error;
use crate::exec::Exec;
use crate::run::Result;
use catalog::{ColumnDef, DefaultValue, TableDef};
use mysql_error::{SqlError, codes};
use types::{LocalTime, StoreContext, Timestamp, TypeKind, Value};

impl Exec<'_> {
    /// Converts a value for a column. `row` counts from 1, for messages. `from_decimals` are the fraction digits of a temporal value's own type.
    pub fn store_value(&mut self, value: Value, column: &ColumnDef, row: u64) -> Result<Value> {
        if value.is_null() {
            return self.store_null(column, row);
        }
        // The usual case needs no conversion at all.
        match (&value, column.ty.kind) {
            (Value::Int(i), TypeKind::BigInt) if !column.ty.unsigned => return Ok(Value::Int(*i)),
            (Value::Int(i), TypeKind::Int) if !column.ty.unsigned && i32::try_from(*i).is_ok() => return Ok(value),
            _ => {}
        }
        let mode = self.context.sql_mode();
        let strict = mode.is_strict() && !self.lenient;
        let zone: &dyn LocalTime = &*self.context;
        let mut warnings = Vec::new();
        let mut context = StoreContext {
            mode,
            strict,
            column: &column.name,
            row,
            zone,
            now_micros: self.context.statement_micros(),
            warnings: &mut warnings,
        };
        let stored = types::store_convert(value, &column.ty, &mut context);
        for w in warnings {
            self.context.warn(w);
        }
        stored.map_err(Error::Sql)
    }

    fn store_null(&mut self, column: &ColumnDef, _row: u64) -> Result<Value> {
        if column.ty.nullable {
            return Ok(Value::Null);
        }
        if self.null_lenient {
            // IGNORE, and multi-row inserts without strict mode: the implicit default.
            self.warn(1048, format!("Column '{}' cannot be null", column.name));
            return Ok(types::implicit_default(&column.ty));
        }
        Err(codes::bad_null_error(&column.name).into())
    }

    /// The value of a column that an INSERT does not name.
    pub fn default_value(&mut self, column: &ColumnDef) -> Result<Value> {
        match &column.default {
            DefaultValue::Null => Ok(Value::Null),
            DefaultValue::Constant(v) => Ok(v.clone()),
            DefaultValue::CurrentTimestamp => Ok(self.current_timestamp(column)),
            DefaultValue::None if column.ty.nullable => Ok(Value::Null),
            DefaultValue::None => {
                if self.context.sql_mode().is_strict() && !self.lenient {
                    return Err(codes::no_default_for_field(&column.name).into());
                }
                self.warn(1364, format!("Field '{}' doesn't have a default value", column.name));
                Ok(types::implicit_default(&column.ty))
            }
        }
    }

    /// The statement's time with the column's type and precision.
    pub fn current_timestamp(&self, column: &ColumnDef) -> Value {
        let micros = self.context.statement_micros();
        let step = 10i64.pow(6 - u32::from(column.ty.decimals.min(6)));
        let instant = Timestamp::from_micros(micros - micros.rem_euclid(step));
        match column.ty.kind {
            TypeKind::Timestamp => Value::Timestamp(instant),
            _ => Value::DateTime(local_time(instant, &*self.context)),
        }
    }
}

/// 1062 for a row that meets an existing key.
pub fn duplicate_entry(def: &TableDef, index_no: usize, values: &[Value], context: &dyn crate::context::StatementContext) -> SqlError {
    let Some(index) = def.indexes.get(index_no) else { return codes::dup_entry("", "") };
    let mut entry = Vec::new();
    for (i, part) in index.parts.iter().enumerate() {
        if i > 0 {
            entry.push(b'-');
        }
        match &values[part.column] {
            Value::Null => entry.extend_from_slice(b"NULL"),
            v => {
                let mut text = Vec::new();
                crate::convert::append_text(v, def.columns[part.column].ty.decimals, context, &mut text);
                if let Some(chars) = part.prefix_chars {
                    let keep = def.columns[part.column].ty.collation.chars_prefix_bytes(&text, chars as usize);
                    text.truncate(keep);
                }
                entry.extend_from_slice(&text);
            }
        }
    }
    // MySQL cuts the entry at 64 characters.
    let shown: String = String::from_utf8_lossy(&entry).chars().take(64).collect();
    codes::dup_entry(shown, format!("{}.{}", def.name, index.name))
}
