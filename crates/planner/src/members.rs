//! ENUM and SET where a number is wanted, and as keys of a sort: they count as the number of their member, the bits of their members.

use crate::expr::{CastTo, Expr, ExprKind};
use crate::plan::SortKey;
use crate::typing;
use types::{Collation, ColumnType, Value};

/// What an operand of arithmetic, of a comparison with a number, or of a sum counts as.
pub fn member_number(e: Expr) -> Expr {
    if !typing::has_members(&e.ty) {
        return e;
    }
    let ty = ColumnType { nullable: e.ty.nullable, ..ColumnType::double() };
    Expr { kind: ExprKind::Cast(Box::new(e), CastTo::Double), ty }
}

/// Keys of a sort, with ENUM and SET by number.
pub fn sorting(mut keys: Vec<SortKey>) -> Vec<SortKey> {
    for key in &mut keys {
        if typing::has_members(&key.expr.ty) {
            let ty = ColumnType { nullable: key.expr.ty.nullable, ..ColumnType::bigint_unsigned() };
            let member = std::mem::replace(&mut key.expr, Expr::literal(Value::Null, ty.clone()));
            key.expr = Expr { kind: ExprKind::Cast(Box::new(member), CastTo::Unsigned), ty };
            key.collation = Collation::Binary;
        }
    }
    keys
}
