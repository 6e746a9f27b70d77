//! Result values brought to the types that the column metadata promises.

use crate::context::StatementContext;
use crate::convert;
use types::{ColumnType, TypeKind, Value};

/// Whether the column's wire type can carry the value as it is.
#[inline]
pub fn fits(v: &Value, ty: &ColumnType) -> bool {
    match v {
        Value::Null => true,
        Value::Int(_) => ty.kind.is_integer() && !ty.unsigned,
        Value::UInt(_) => (ty.kind.is_integer() && ty.unsigned) || matches!(ty.kind, TypeKind::Year | TypeKind::Bit),
        Value::Float(_) => ty.kind == TypeKind::Float,
        Value::Double(_) => ty.kind == TypeKind::Double,
        Value::Decimal(d) => ty.kind == TypeKind::Decimal && d.scale() == ty.decimals,
        Value::Bytes(_) => !(ty.kind.is_numeric() || ty.kind.is_temporal()) || ty.kind == TypeKind::Bit,
        Value::Date(_) => ty.kind == TypeKind::Date,
        Value::Time(_) => ty.kind == TypeKind::Time,
        Value::DateTime(_) => ty.kind == TypeKind::DateTime,
        Value::Timestamp(_) => ty.kind == TypeKind::Timestamp,
        Value::Json(_) => ty.kind == TypeKind::Json,
    }
}

/// The value in a form that the column's wire type can carry.
#[inline]
pub fn shown(v: Value, from: &ColumnType, ty: &ColumnType, context: &dyn StatementContext) -> Value {
    if fits(&v, ty) {
        return v;
    }
    match (&v, ty.kind) {
        (Value::Int(i), k) if k.is_integer() => Value::UInt(*i as u64),
        (Value::UInt(u), k) if k.is_integer() => i64::try_from(*u).map_or(v, Value::Int),
        (Value::DateTime(_), TypeKind::Timestamp) | (_, TypeKind::Float) => v,
        _ => convert::coerce(v, from, ty, context),
    }
}
