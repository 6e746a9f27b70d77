//! Documents in expressions: arguments of JSON functions, documents as numbers and as conditions.

use crate::binder::{Binder, Result};
use crate::conditions::compare_expr;
use crate::expr::{CastTo, CmpOp, Expr, ExprKind};
use crate::func::{Func, Returns};
use crate::typing;
use mysql_error::{Warning, WarningLevel};
use parser::ast;
use types::{ByteString, Collation, ColumnType, TypeKind, Value};

/// The words TRUE and FALSE as documents, in their binary form (`docs/format/json.md`).
fn boolean(truth: bool) -> Expr {
    Expr::literal(Value::Json(ByteString::from(&[if truth { 2 } else { 1 }])), ColumnType::new(TypeKind::Json).not_null())
}

impl<'c> Binder<'c> {
    /// An argument that becomes a document: there the words TRUE and FALSE are not the numbers 1 and 0.
    pub(super) fn document_arg(&mut self, e: &ast::Expr<'_>) -> Result<Expr> {
        match e.kind {
            ast::ExprKind::Literal(ast::Literal::Bool(truth)) => Ok(boolean(truth)),
            _ => {
                let bound = self.expr(e)?;
                Ok(self.as_computed(bound))
            }
        }
    }

    /// The other side of a comparison with a document.
    pub(super) fn document_operand(&mut self, bound: Expr, e: &ast::Expr<'_>) -> Expr {
        match e.kind {
            ast::ExprKind::Literal(ast::Literal::Bool(truth)) => boolean(truth),
            _ => self.bytes_as_document(bound),
        }
    }

    /// Bytes beside a document are a document of bytes, which no text and no number equals.
    pub(super) fn bytes_as_document(&mut self, e: Expr) -> Expr {
        let is_bytes = e.ty.kind == TypeKind::Bit || e.ty.is_bytes();
        if is_bytes { self.cast_to(e, CastTo::Json) } else { e }
    }

    pub(super) fn document_args(&mut self, list: &[ast::Expr<'_>]) -> Result<Vec<Expr>> {
        list.iter().map(|e| self.document_arg(e)).collect()
    }

    /// Names and documents in turns.
    pub(super) fn names_and_documents(&mut self, list: &[ast::Expr<'_>]) -> Result<Vec<Expr>> {
        let bind = |(at, e): (usize, &ast::Expr<'_>)| if at.is_multiple_of(2) { self.expr(e) } else { self.document_arg(e) };
        list.iter().enumerate().map(bind).collect()
    }

    /// A call whose result is NULL also where a path leads nowhere.
    pub(super) fn document_function(&mut self, func: Func, returns: Returns, args: Vec<Expr>) -> Result<Expr> {
        let call = self.typed_function(func, returns, args)?;
        Ok(Expr { ty: ColumnType { nullable: true, ..call.ty }, ..call })
    }

    /// `column -> path` and `column ->> path`.
    #[inline(never)]
    pub(super) fn json_path(&mut self, column: &ast::ColumnRef<'_>, path: &[u8], unquote: bool) -> Result<Expr> {
        let document = self.resolve_column(column.schema, column.table, column.column)?;
        let chars = String::from_utf8_lossy(path).chars().count() as u64;
        let path = Expr::literal(Value::bytes(path), typing::string(chars, self.connection_collation()).not_null());
        let part = self.document_function(Func::JsonExtract, Returns::Json, vec![document, path])?;
        if unquote { self.document_function(Func::JsonUnquote, Returns::Special, vec![part]) } else { Ok(part) }
    }

    /// JSON_VALUE: its type goes along as a cast of NULL.
    #[inline(never)]
    pub(super) fn json_value(&mut self, call: &ast::JsonValue<'_>) -> Result<Expr> {
        let (document, path) = (self.document_arg(&call.document)?, self.expr(&call.path)?);
        let null = Expr::literal(Value::Null, ColumnType::new(TypeKind::Null));
        let mut template = match &call.returning {
            Some(ty) => self.cast(null.clone(), ty)?,
            None => self.cast_to(null.clone(), CastTo::Char { length: Some(512), collation: Collation::Utf8mb4Bin }),
        };
        if let ExprKind::Cast(_, CastTo::Char { length, collation }) = &mut template.kind {
            *collation = Collation::Utf8mb4Bin;
            template.ty = match length {
                Some(length) => typing::string(u64::from(*length), Collation::Utf8mb4Bin),
                None => ColumnType { collation: Collation::Utf8mb4Bin, ..ColumnType::new(TypeKind::LongText) },
            };
        }
        let ExprKind::Cast(_, target) = template.kind else { return Ok(template) };
        let mut codes = 0;
        let mut defaults = Vec::with_capacity(2);
        for (shift, instead) in [(0, &call.on_empty), (2, &call.on_error)] {
            let default = match instead {
                None | Some(ast::JsonInstead::Null) => null.clone(),
                Some(ast::JsonInstead::Error) => {
                    codes |= 1 << shift;
                    null.clone()
                }
                Some(ast::JsonInstead::Default(e)) => {
                    codes |= 2 << shift;
                    let e = self.expr(e)?;
                    self.cast_to(e, target)
                }
            };
            defaults.push(default);
        }
        let codes = Expr::literal(Value::Int(codes), ColumnType::bigint().not_null());
        let mut args = vec![document, path, codes];
        args.append(&mut defaults);
        args.push(template);
        self.document_function(Func::JsonValue, Returns::Special, args)
    }

    /// A document with the name that messages give it, where it is cast.
    pub(super) fn named_document(&mut self, operand: Expr, e: &ast::Expr<'_>) -> Expr {
        let ast::ExprKind::Column(column) = e.kind else { return operand };
        if operand.ty.kind != TypeKind::Json {
            return operand;
        }
        let ty = operand.ty.clone();
        let name = Expr::literal(Value::from(column.column), ColumnType::varchar(64, Collation::DEFAULT).not_null());
        Expr { kind: ExprKind::Func(Func::JsonNamed, vec![operand, name]), ty }
    }

    /// What a document counts as in arithmetic and sums.
    pub(super) fn document_number(&self, e: Expr) -> Expr {
        if e.ty.kind != TypeKind::Json {
            return e;
        }
        let ty = ColumnType { nullable: e.ty.nullable, ..ColumnType::double() };
        Expr { kind: ExprKind::Cast(Box::new(e), CastTo::Double), ty }
    }

    /// What a document counts as in bit operations: an integer, of which a double has not all bits.
    pub(super) fn document_bits(&self, e: Expr) -> Expr {
        if e.ty.kind != TypeKind::Json {
            return e;
        }
        let ty = ColumnType { nullable: e.ty.nullable, ..ColumnType::bigint() };
        Expr { kind: ExprKind::Cast(Box::new(e), CastTo::Signed), ty }
    }

    /// CASE with an operand compares documents by their text, with numbers as numbers, never as documents: `CASE j WHEN 'null' …` finds the
    /// null of JSON. Each WHEN becomes a condition of its own then, with a copy of the operand; what cannot be copied stays as it is.
    pub(super) fn case_of_documents(&mut self, operand: Option<Expr>, branches: &mut [(Expr, Expr)]) -> Option<Expr> {
        let operand = operand?;
        let is_document = |e: &Expr| e.ty.kind == TypeKind::Json;
        if !is_document(&operand) && !branches.iter().any(|(when, _)| is_document(when)) {
            return Some(operand);
        }
        if operand.any(&mut |e| matches!(e.kind, ExprKind::Subquery(..) | ExprKind::AssignVariable(..))) {
            return Some(operand);
        }
        let null = Expr::literal(Value::Null, ColumnType::new(TypeKind::Null));
        for (when, _) in branches {
            let other = std::mem::replace(when, null.clone());
            let number = typing::is_number(&operand.ty) || typing::is_number(&other.ty);
            let (a, b) = if number {
                (self.document_number(operand.clone()), self.document_number(other))
            } else {
                (self.document_text(operand.clone()), self.document_text(other))
            };
            *when = compare_expr(CmpOp::Eq, Collation::Utf8mb4Bin, a, b);
        }
        None
    }

    fn document_text(&mut self, e: Expr) -> Expr {
        match e.ty.kind {
            kind if kind == TypeKind::Json || kind.is_temporal() => {
                self.cast_to(e, CastTo::Char { length: None, collation: Collation::Utf8mb4Bin })
            }
            _ => e,
        }
    }

    /// A document whose truth is asked: whether it is another one than the number 0, with a warning.
    #[inline(never)]
    pub(super) fn document_condition(&mut self, e: Expr) -> Expr {
        let message = "Evaluating a JSON value in SQL boolean context does an implicit comparison against JSON integer 0; if this is not \
                       what you want, consider converting JSON to a SQL numeric type with JSON_VALUE RETURNING";
        self.warnings.push(Warning { level: WarningLevel::Warning, code: 3986, message: message.into() });
        compare_expr(CmpOp::Ne, Collation::Utf8mb4Bin, e, Expr::literal(Value::Int(0), ColumnType::bigint().not_null()))
    }
}
