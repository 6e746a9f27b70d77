//! JSON_TABLE: a relation that makes its rows of a document. What the statement says of it, bound; its operator.
//!
//! # Invariants
//! 1. Columns are numbered in the order in which they are written, those of nested paths where they stand.
//! 2. The document reads relations that stand before it, or enclosing queries: it comes after them in every order of the join.
//!
//! # Not here
//! The rows: `executor/src/json_table.rs`. Column types as they are written: the session's ([`crate::PlanContext::column_type`]).

use crate::binder::{Binder, Clause, RelColumn, Relation, Result, Source, check_stack};
use crate::expr::{Expr, ExprKind, Slot};
use crate::plan::OutputColumn;
use crate::typing;
use json::{ParseError, Path};
use mysql_error::codes;
use parser::ast;
use std::collections::BTreeSet;
use std::sync::Arc;
use types::{ByteString, ColumnType, TypeKind};

/// Rows that are expected of a document, as MySQL does.
pub(crate) const ROWS: f64 = 2.0;
/// Most columns, as of a table.
const COLUMNS_MAX: usize = 4096;

/// A bound JSON_TABLE.
#[derive(Debug)]
pub struct JsonTable {
    /// The document.
    pub document: Expr,
    /// The path that makes rows.
    pub root: Level,
    /// All columns.
    pub columns: Vec<Column>,
}

/// A path with the columns that its parts give.
#[derive(Debug)]
pub struct Level {
    /// Where it leads from the part of the level above.
    pub path: Path,
    /// Numbers of its own columns.
    pub columns: Vec<u32>,
    /// Numbers of all columns of it and of what is nested in it: from, to.
    pub all: (u32, u32),
    /// NESTED PATH.
    pub nested: Vec<Level>,
}

/// A column.
#[derive(Debug)]
pub struct Column {
    /// Its name.
    pub name: Box<str>,
    /// Its type.
    pub ty: ColumnType,
    /// What it holds.
    pub rule: Rule,
}

/// What a column holds.
#[derive(Debug)]
pub enum Rule {
    /// The number of the part on its level.
    Ordinality,
    /// Whether the path leads to something.
    Exists(Path),
    /// What the path leads to.
    Value {
        /// The path.
        path: Path,
        /// ON EMPTY.
        on_empty: Instead,
        /// ON ERROR.
        on_error: Instead,
    },
}

/// What is done where there is no value.
#[derive(Debug)]
pub enum Instead {
    /// NULL.
    Null,
    /// An error.
    Error,
    /// This document is taken.
    Default(ByteString),
}

/// The operator.
#[derive(Debug)]
pub struct JsonTableNode {
    /// What is read.
    pub table: Arc<JsonTable>,
    /// Alias, for EXPLAIN.
    pub alias: Box<str>,
    /// Where each column goes; those that nobody uses go nowhere.
    pub slots: Vec<Option<Slot>>,
}

impl JsonTable {
    /// The operator that reads it into a relation's slots.
    pub(crate) fn node(self: &Arc<Self>, relation: &Relation) -> JsonTableNode {
        JsonTableNode { table: Arc::clone(self), alias: relation.alias.as_str().into(), slots: relation.slots.clone() }
    }
}

impl Binder<'_> {
    /// Binds JSON_TABLE as a relation of the current block.
    pub(crate) fn json_table(&mut self, table: &ast::JsonTable<'_>) -> Result<usize> {
        let document = self.json_table_document(&table.document)?;
        let mut columns = Vec::new();
        let root = self.json_table_level(table.path, table.columns, &mut columns)?;
        for (at, column) in columns.iter().enumerate() {
            if let Some(first) = columns[..at].iter().find(|other| other.name.eq_ignore_ascii_case(&column.name)) {
                return Err(codes::dup_fieldname(&first.name));
            }
        }
        let mut outer = BTreeSet::new();
        document.walk(&mut |e| {
            if let ExprKind::Slot(slot) = e.kind {
                outer.insert(slot);
            }
        });
        let shown = |column: &Column| RelColumn {
            name: column.name.to_string(),
            ty: column.ty.clone(),
            hidden: false,
            invisible: false,
            meta: OutputColumn {
                table: table.alias.into(),
                org_table: "json_table".into(),
                name: column.name.clone(),
                org_name: column.name.clone(),
                ty: column.ty.clone(),
                coercibility: typing::IMPLICIT,
                ..OutputColumn::default()
            },
        };
        let shown: Vec<RelColumn> = columns.iter().map(shown).collect();
        self.add_relation(Relation::new(table.alias, Source::JsonTable(Arc::new(JsonTable { document, root, columns }), outer), shown))
    }

    /// The document: as LATERAL, it reads what stands before it.
    fn json_table_document(&mut self, e: &ast::Expr<'_>) -> Result<Expr> {
        let refused = || codes::wrong_arguments("JSON_TABLE");
        if matches!(e.kind, ast::ExprKind::Subquery(_)) {
            return Err(refused());
        }
        let scope = self.scope();
        let (clause, joins) = (std::mem::replace(&mut scope.clause, Clause::TableFunction), std::mem::take(&mut scope.joins));
        let document = self.expr(e);
        let scope = self.scope();
        (scope.clause, scope.joins) = (clause, joins);
        let document = document?;
        if document.any(&mut |e| matches!(e.kind, ExprKind::Subquery(..))) {
            return Err(refused());
        }
        Ok(document)
    }

    fn json_table_level(&mut self, path: &[u8], list: &[ast::JsonTableColumn<'_>], columns: &mut Vec<Column>) -> Result<Level> {
        check_stack()?;
        let path = json_path(path)?;
        let first = columns.len() as u32;
        let mut own = Vec::new();
        let mut nested = Vec::new();
        for column in list {
            if columns.len() >= COLUMNS_MAX {
                return Err(codes::too_many_fields());
            }
            let bound = match column {
                ast::JsonTableColumn::Nested { path, columns: list } => {
                    nested.push(self.json_table_level(path, list, columns)?);
                    continue;
                }
                ast::JsonTableColumn::Ordinality(name) => {
                    Column { name: column_name(name)?, ty: ColumnType::bigint(), rule: Rule::Ordinality }
                }
                ast::JsonTableColumn::Value(value) => self.json_table_column(value)?,
            };
            own.push(columns.len() as u32);
            columns.push(bound);
        }
        Ok(Level { path, columns: own, all: (first, columns.len() as u32), nested })
    }

    fn json_table_column(&mut self, column: &ast::JsonTableValue<'_>) -> Result<Column> {
        let name = column_name(column.name)?;
        let (ty, warnings) = self.context.column_type(&name, &column.ty, self.connection_collation())?;
        self.warnings.extend(warnings);
        if column.swapped {
            let message = "Specifying an ON EMPTY clause after the ON ERROR clause in a JSON_TABLE column definition is deprecated syntax and \
                           will be removed in a future release. Specify ON EMPTY before ON ERROR instead.";
            self.warn_deprecated(message);
        }
        if let Some(names) = &mut self.views.names {
            names.note_type(column, &ty);
        }
        let path = json_path(column.path)?;
        let rule = if column.exists {
            Rule::Exists(path)
        } else {
            let on_empty = instead(&column.on_empty, &name, &ty)?;
            Rule::Value { path, on_empty, on_error: instead(&column.on_error, &name, &ty)? }
        };
        Ok(Column { name, ty, rule })
    }
}

fn column_name(name: &str) -> Result<Box<str>> {
    if name.is_empty() || name.ends_with(' ') { Err(codes::wrong_column_name(name)) } else { Ok(name.into()) }
}

fn json_path(text: &[u8]) -> Result<Path> {
    Path::parse(text).map_err(codes::invalid_json_path)
}

fn instead(written: &Option<ast::JsonInstead<'_>>, name: &str, ty: &ColumnType) -> Result<Instead> {
    let value = match written {
        None | Some(ast::JsonInstead::Null) => return Ok(Instead::Null),
        Some(ast::JsonInstead::Error) => return Ok(Instead::Error),
        Some(ast::JsonInstead::Default(value)) => value,
    };
    let text = match value.kind {
        ast::ExprKind::Literal(ast::Literal::String(text) | ast::Literal::National(text)) => text,
        ast::ExprKind::Literal(ast::Literal::Introduced(text)) if !text.charset.eq_ignore_ascii_case("binary") => text.value,
        ast::ExprKind::Literal(ast::Literal::Introduced(_) | ast::Literal::Hex(_) | ast::Literal::Bit(_)) => {
            return Err(codes::invalid_json_charset("binary"));
        }
        _ => return Err(codes::not_supported_yet("non-string DEFAULT value for a column in a JSON_TABLE expression")),
    };
    let tree = json::parse(text).map_err(|error| match error {
        ParseError::Text(message, at) => codes::invalid_json_text_in_param(1, "JSON_TABLE", message, at),
        ParseError::TooDeep => codes::json_document_too_deep(),
        ParseError::Memory(_) => codes::out_of_resources(),
    })?;
    if matches!(tree, json::Json::Array(_) | json::Json::Object(_)) && ty.kind != TypeKind::Json {
        return Err(codes::invalid_default(name));
    }
    let document = json::encode(&tree).map_err(|_| codes::out_of_resources())?;
    Ok(Instead::Default(document.into()))
}

/// The type of a column as views keep it: with its character set.
pub(crate) fn type_text(ty: &ColumnType) -> String {
    let plain = ColumnType { zerofill: false, ..ty.clone() };
    let text = plain.to_string();
    let has_charset = ty.kind.is_string() || matches!(ty.kind, TypeKind::Enum | TypeKind::Set);
    if !has_charset || ty.collation.charset() == types::Charset::Binary {
        return text;
    }
    let charset = ty.collation.charset();
    if charset.default_collation() == ty.collation {
        return format!("{text} character set {}", charset.name());
    }
    format!("{text} character set {} collate {}", charset.name(), ty.collation.name())
}
