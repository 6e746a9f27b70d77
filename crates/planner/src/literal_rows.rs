//! A long VALUES of plain literals: kept as text, for the executor to store without an expression or a value for each field.

use crate::binder::Binder;
use catalog::TableDef;
use parser::ast::{self, PlainLiteral};
use parser::{Bump, ast::UnaryOp};
use types::{Charset, Field, Value};

/// Rows of plain literals. All have the same number of fields.
#[derive(Debug)]
pub struct LiteralRows {
    width: usize,
    /// The texts of all fields, one behind the other.
    text: Vec<u8>,
    fields: Vec<Place>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    /// Where its text ends.
    end: u32,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Null,
    Number,
    Text,
}

impl LiteralRows {
    fn new(rows: &ast::LiteralRows<'_>) -> LiteralRows {
        let bytes = rows.fields.iter().map(|field| field.text().len()).sum();
        let mut text = Vec::with_capacity(bytes);
        let mut fields = Vec::with_capacity(rows.fields.len());
        for field in rows.fields {
            text.extend_from_slice(field.text());
            let kind = match field {
                PlainLiteral::Null => Kind::Null,
                PlainLiteral::Number(_) => Kind::Number,
                PlainLiteral::String(_) => Kind::Text,
            };
            // A statement has less than four gigabytes of text (`parser::parse`).
            fields.push(Place { end: text.len() as u32, kind });
        }
        LiteralRows { width: rows.width, text, fields }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.fields.len() / self.width.max(1)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// A field of a row; `None` is NULL.
    #[inline]
    pub fn field(&self, row: usize, column: usize) -> Option<Field<'_>> {
        let no = row * self.width + column;
        let Place { end, kind } = self.fields[no];
        let start = if no == 0 { 0 } else { self.fields[no - 1].end };
        let text = &self.text[start as usize..end as usize];
        match kind {
            Kind::Null => None,
            Kind::Number => Some(Field::Number(text)),
            Kind::Text => Some(Field::Text(text)),
        }
    }

    /// The values of a row.
    pub fn values(&self, row: usize) -> Vec<Value> {
        (0..self.width).map(|column| self.field(row, column).map_or(Value::Null, Field::value)).collect()
    }
}

impl Binder<'_> {
    /// The rows of an INSERT as they are kept; `None` where its values need expressions: text of a connection in another character set, values for what is computed, hints; or
    /// where something is wrong with them.
    pub(crate) fn literal_rows(&self, rows: &ast::LiteralRows<'_>, named: &[usize], def: &TableDef, hints: &[&str]) -> Option<LiteralRows> {
        let utf8 = matches!(self.connection_collation().charset(), Charset::Utf8mb4 | Charset::Utf8mb3);
        let given = rows.width == named.len() && named.iter().all(|at| def.columns[*at].generated.is_none());
        (utf8 && given && hints.is_empty()).then(|| LiteralRows::new(rows))
    }
}

/// The same rows as expressions.
pub(crate) fn as_expressions<'a>(rows: &ast::LiteralRows<'a>, arena: &'a Bump) -> Vec<&'a [ast::Expr<'a>]> {
    let expression = |literal| ast::Expr { kind: ast::ExprKind::Literal(literal), span: ast::Span { start: 0, end: 0 } };
    let fields = rows.fields.iter().map(|field| match *field {
        PlainLiteral::Null => expression(ast::Literal::Null),
        PlainLiteral::String(text) => expression(ast::Literal::String(text)),
        PlainLiteral::Number(text) => {
            let (negative, digits) = match text {
                [b'-', digits @ ..] => (true, digits),
                digits => (false, digits),
            };
            // The parser gives digits and a point, which are UTF-8.
            let digits = std::str::from_utf8(digits).unwrap_or("0");
            let number = expression(digits.parse().map_or(ast::Literal::Decimal(digits), ast::Literal::Int));
            if negative { ast::Expr { kind: ast::ExprKind::Unary(UnaryOp::Neg, arena.alloc(number)), ..number } } else { number }
        }
    });
    let fields = arena.alloc_slice_fill_iter(fields.collect::<Vec<_>>());
    fields.chunks(rows.width.max(1)).collect()
}
