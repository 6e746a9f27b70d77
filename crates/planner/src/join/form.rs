//! Forms: what the two sides of an equality are brought to, so that equal values are the same key.
//!
//! Rows are made distinct, and grouped, by the equality of their own type. Where it is somebody else's comparison that they are made ready for (the set of
//! `IN (SELECT …)`, the groups that a correlated subquery is looked up in), that may be a finer one: '1' and '01' are two texts and the same number.
//! [`told_apart`] makes them one.

use crate::expr::{CastTo, Expr, ExprKind};
use crate::plan::KeyForm;
use crate::typing::{Class, class};
use types::{ColumnType, TypeKind};

/// Whether values of a type that are equal are one value: whoever has seen one has seen the other. Strings may differ where their collation sees no difference,
/// doubles by the sign of zero, documents by the kinds of their numbers.
pub(crate) fn equals_are_one(ty: &ColumnType) -> bool {
    !matches!(class(ty), Class::String | Class::Double) && ty.kind != TypeKind::Json
}

/// How the two sides of an equality are brought to one form; `None` when they cannot be hashed.
pub fn key_form(a: &ColumnType, b: &ColumnType) -> Option<KeyForm> {
    let exact = |c: Class| matches!(c, Class::Int | Class::Decimal);
    if (a.kind == TypeKind::Json) != (b.kind == TypeKind::Json) {
        // Documents and SQL values are equal without having one key.
        return None;
    }
    Some(match (class(a), class(b)) {
        (x, y) if exact(x) && exact(y) => KeyForm::Same,
        (Class::String, Class::String) => KeyForm::Same,
        (Class::Time, Class::Time) => KeyForm::Same,
        (Class::DateTime, Class::DateTime) if a.kind == TypeKind::Timestamp && b.kind == TypeKind::Timestamp => KeyForm::Same,
        (Class::DateTime, Class::DateTime) => KeyForm::Temporal,
        (Class::DateTime, Class::String) | (Class::String, Class::DateTime) => KeyForm::Temporal,
        (Class::Unknown, _) | (_, Class::Unknown) => return None,
        (Class::Time, _) | (_, Class::Time) => return None,
        (Class::DateTime, _) | (_, Class::DateTime) => return None,
        _ => KeyForm::Double,
    })
}

/// An expression that compares with values of `other` as `e` does, and of whose distinct values no two are equal to the same one: by this, rows are made
/// distinct or grouped that are compared with `other` afterwards. `None` where there is none.
pub fn told_apart(e: &Expr, other: &ColumnType) -> Option<Expr> {
    let form = key_form(&e.ty, other)?;
    if keeps_apart(form, &e.ty) {
        return Some(e.clone());
    }
    let (to, ty) = match form {
        KeyForm::Same => return None,
        KeyForm::Double => (CastTo::Double, ColumnType::double()),
        // Of texts that are no dates a cast tells in other words than a comparison.
        KeyForm::Temporal if class(&e.ty) != Class::DateTime => return None,
        KeyForm::Temporal => (CastTo::Moment, ColumnType::temporal(TypeKind::DateTime, 6)),
    };
    Some(Expr { kind: ExprKind::Cast(Box::new(e.clone()), to), ty: ColumnType { nullable: e.ty.nullable, ..ty } })
}

/// Whether values of a type that differ do so in a form as well.
fn keeps_apart(form: KeyForm, ty: &ColumnType) -> bool {
    match form {
        KeyForm::Same => true,
        KeyForm::Double => match class(ty) {
            Class::Double => true,
            // A double has 53 bits.
            Class::Int => !matches!(ty.kind, TypeKind::BigInt | TypeKind::Bit),
            _ => false,
        },
        // Clocks that are set back show a time twice.
        KeyForm::Temporal => matches!(ty.kind, TypeKind::Date | TypeKind::DateTime),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Collation;

    #[test]
    fn rows_are_made_distinct_as_they_are_compared() {
        let (text, int, big) = (ColumnType::varchar(10, Collation::DEFAULT), ColumnType::int(), ColumnType::bigint());
        let [date, at, instant] = [TypeKind::Date, TypeKind::DateTime, TypeKind::Timestamp].map(ColumnType::new);
        let check = |own: &ColumnType, other: &ColumnType, expect: Option<Option<CastTo>>| {
            let cast = |e: Expr| if let ExprKind::Cast(_, to) = e.kind { Some(to) } else { None };
            assert_eq!(told_apart(&Expr::slot(0, own.clone()), other).map(cast), expect, "{own} compared with {other}");
        };
        check(&int, &big, Some(None));
        check(&big, &ColumnType::decimal(20, 2), Some(None));
        check(&text, &text, Some(None));
        check(&int, &text, Some(None));
        check(&int, &ColumnType::double(), Some(None));
        check(&ColumnType::double(), &text, Some(None));
        check(&big, &ColumnType::double(), Some(Some(CastTo::Double)));
        check(&ColumnType::decimal(5, 2), &text, Some(Some(CastTo::Double)));
        check(&text, &int, Some(Some(CastTo::Double)));
        check(&date, &at, Some(None));
        check(&at, &instant, Some(None));
        check(&instant, &at, Some(Some(CastTo::Moment)));
        check(&instant, &instant, Some(None));
        check(&text, &date, None);
        check(&ColumnType::new(TypeKind::Time), &int, None);
        check(&ColumnType::new(TypeKind::Json), &int, None);
    }
}
