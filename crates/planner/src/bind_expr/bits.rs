//! Bit operations: on the 64 bits of numbers, or on all bits of binary strings.
//!
//! By the manual's "Bit Functions and Operators": `|`, `&` and `^` work on bytes when each operand is a binary string, a hexadecimal or bit literal, or
//! NULL, and at least one is more than such a literal; `~`, `<<`, `>>` and the aggregates do when their (left) operand is a binary string and no literal.

use crate::binder::{Binder, Result};
use crate::expr::{ArithOp, Expr, ExprKind};
use crate::typing::{self, has_bits_of_bytes};
use crate::widths;
use mysql_error::codes;
use parser::ast;
use types::{Collation, ColumnType, TypeKind, Value};

/// The longest argument of BIT_AND, BIT_OR and BIT_XOR in bytes.
const AGGREGATE_BYTES_MAX: u32 = 511;

impl<'c> Binder<'c> {
    /// The operand of `~`.
    pub(super) fn bits(&mut self, e: &ast::Expr<'_>) -> Result<Expr> {
        let operand = self.expr(e)?;
        if has_bits_of_bytes(&operand) { Ok(operand) } else { Ok(self.as_whole(operand, e)) }
    }

    /// A number for bit operations; `e` is its text.
    fn as_whole(&mut self, operand: Expr, e: &ast::Expr<'_>) -> Expr {
        if operand.ty.kind == TypeKind::Json {
            let named = self.named_document(operand, e);
            return self.document_bits(named);
        }
        self.as_number(operand, e)
    }

    /// `a op right`; `a` was written as `of`, unless it is itself the result of an operator.
    pub(super) fn bit_operation(&mut self, op: ArithOp, a: Expr, of: Option<&ast::Expr<'_>>, right: &ast::Expr<'_>) -> Result<Expr> {
        let b = self.expr(right)?;
        let shift = matches!(op, ArithOp::ShiftLeft | ArithOp::ShiftRight);
        let bytes =
            has_bits_of_bytes(&a) && (shift || self.goes_with_bytes(&b)) || has_bits_of_bytes(&b) && !shift && self.goes_with_bytes(&a);
        let a = match of {
            Some(e) if !bytes => self.as_whole(a, e),
            _ => a,
        };
        let b = if bytes && !shift { b } else { self.as_whole(b, right) };
        let ty = if bytes {
            let sides = if shift { vec![&a] } else { vec![&a, &b] };
            ColumnType { nullable: a.ty.nullable || b.ty.nullable, ..byte_type(&sides) }
        } else {
            typing::arithmetic(op, &a.ty, &b.ty, self.context.div_precision_increment())
        };
        Ok(Expr { kind: ExprKind::Arith(op, Box::new(a), Box::new(b)), ty })
    }

    /// Whether an operand is bytes, or becomes bytes beside some. What a client binds does not say whether it is text: the value decides, when it is there,
    /// between bytes and a number.
    fn goes_with_bytes(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Literal(Value::Null) => true,
            ExprKind::Param(n) if !self.is_lifted(*n) => e.ty.kind == TypeKind::Null || e.ty.kind.is_string(),
            _ => e.ty.is_bytes(),
        }
    }
}

/// `~a`.
pub(super) fn bit_not(a: Expr) -> Expr {
    let ty = if has_bits_of_bytes(&a) { byte_type(&[&a]) } else { widths::whole(widths::ANY, true) };
    let ty = ColumnType { nullable: a.ty.nullable, ..ty };
    Expr { kind: ExprKind::BitNot(Box::new(a)), ty }
}

/// As long as the longest operand whose length is known.
fn byte_type(operands: &[&Expr]) -> ColumnType {
    let known = operands.iter().filter(|e| !matches!(e.kind, ExprKind::Param(_) | ExprKind::UserVariable(_)));
    typing::string(known.map(|e| u64::from(typing::display_chars(&e.ty))).max().unwrap_or(0), Collation::Binary)
}

/// The type of BIT_AND, BIT_OR and BIT_XOR of an argument. Of bytes it is one longer than their result, and unsigned, as MySQL tells clients.
pub(super) fn aggregate_type(arg: Option<&Expr>) -> Result<ColumnType> {
    let Some(arg) = arg.filter(|arg| has_bits_of_bytes(arg)) else { return Ok(widths::whole(widths::ANY, true).not_null()) };
    let bytes = typing::display_chars(&arg.ty);
    if bytes > AGGREGATE_BYTES_MAX {
        return Err(codes::invalid_bitwise_aggregate_operands_size());
    }
    Ok(ColumnType { unsigned: true, ..typing::string(u64::from(bytes) + 1, Collation::Binary).not_null() })
}
