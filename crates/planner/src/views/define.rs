//! CREATE VIEW as far as the planner knows: what the query means, its normal form, the names of its columns, whether rows can be changed through it.

use super::NameRecord;
use crate::bind_query::{BlockOrPlan, Bound};
use crate::binder::{Binder, Result, Source};
use crate::context::PlanContext;
use crate::expr::ExprKind;
use crate::logical::{Block, JoinTree};
use crate::plan::OutputColumn;
use catalog::ViewEntry;
use mysql_error::{SqlError, codes};
use parser::ast::{self, SelectItem};
use parser::{WrittenUnder, normalise_query};
use std::sync::Arc;
use types::{ColumnType, TypeKind, Value};

/// Most characters of a column's name.
const NAME_CHARS_MAX: usize = 64;
/// Digits of an integer literal that an INT holds whatever they are.
const INT_MAX: u64 = 999_999_999;

/// What CREATE VIEW makes of its query.
#[derive(Debug)]
pub struct DefinedView {
    /// Normal form.
    pub query: String,
    /// The same without the names of the view's own database.
    pub query_shown: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows can be changed through it.
    pub updatable: bool,
    /// Its query can become part of another.
    pub mergeable: bool,
    /// Tables and views that the query names.
    pub tables: Vec<(String, String)>,
}

/// Binds the query of a view that is to be made, in a database.
pub fn define_view(
    view: &ast::CreateView<'_>,
    sql: &[u8],
    database: &str,
    under: WrittenUnder<'_>,
    context: &dyn PlanContext,
) -> Result<DefinedView> {
    let mut b = Binder::new(context, sql);
    b.views.names = Some(Box::new(NameRecord::default()));
    b.views.whole_rows = true;
    if view.query.into.is_some() {
        return Err(codes::view_select_clause("INTO"));
    }
    // It is allowed here, and not kept.
    b.counts_allowed = crate::found_rows::is_asked_for(view.query);
    let bound = b.bind_source(view.query)?;
    let (columns, block) = match bound {
        BlockOrPlan::Block(block) => (block.items.iter().map(|(_, c)| c.clone()).collect::<Vec<_>>(), Some(block)),
        BlockOrPlan::Planned(planned) => (planned.columns, None),
    };
    let mut names = b.views.names.take().unwrap_or_default();
    let columns = if view.columns.is_empty() {
        unique_names(view.query, &columns, &mut names)?
    } else {
        if view.columns.len() != columns.len() {
            return Err(codes::view_wrong_list());
        }
        let own: Vec<String> = view.columns.iter().map(|name| (*name).to_owned()).collect();
        for (at, name) in own.iter().enumerate() {
            if is_wrong(name) {
                return Err(codes::wrong_column_name(name));
            }
            if own[..at].iter().any(|other| other.eq_ignore_ascii_case(name)) {
                return Err(codes::dup_fieldname(name));
            }
        }
        own
    };
    let whole = normalise_query(view.query, under, &*names, None);
    if whole.has_variable || whole.has_parameter {
        return Err(codes::view_select_variable());
    }
    refuse_unreadable(&whole.text)?;
    let query_shown = normalise_query(view.query, under, &*names, Some(database)).text;
    let mergeable = block.as_ref().is_some_and(|block| block.is_simple() && !block.distinct);
    let updatable = view.algorithm != Some("TEMPTABLE") && mergeable && block.is_some_and(|block| is_updatable(&b, &block));
    Ok(DefinedView { query: whole.text, query_shown, columns, updatable, mergeable, tables: std::mem::take(&mut names.named) })
}

/// What nests so deeply that its text, which has parentheses around all, could not be read back is no view.
fn refuse_unreadable(text: &str) -> Result<()> {
    let arena = parser::Bump::new();
    match parser::parse_view(text.as_bytes(), &arena) {
        Ok(_) => Ok(()),
        Err(error) => Err(SqlError::with_message(error.code, error.message)),
    }
}

fn is_wrong(name: &str) -> bool {
    name.is_empty() || name.ends_with(' ') || name.chars().count() > NAME_CHARS_MAX
}

/// The first block of a query.
fn first_select<'q>(body: &'q ast::QueryBody<'q>) -> Option<&'q ast::Select<'q>> {
    match body {
        ast::QueryBody::Select(select) => Some(select),
        ast::QueryBody::SetOp(set) => set.operands.first().and_then(first_select),
        ast::QueryBody::Parens(q) => first_select(&q.body),
        ast::QueryBody::Values(_) | ast::QueryBody::Table(_) => None,
    }
}

/// The names of a view's columns: those that its query has by chance give way to those that somebody chose.
fn unique_names(query: &ast::Query<'_>, columns: &[OutputColumn], names: &mut NameRecord) -> Result<Vec<String>> {
    let mut out: Vec<String> = columns.iter().map(|c| c.name.to_string()).collect();
    // Address of the item that a column is, where its name is by chance.
    let mut by_chance: Vec<Option<usize>> = vec![None; out.len()];
    if let Some(select) = first_select(&query.body)
        && select.items.iter().all(|item| matches!(item, SelectItem::Expr { .. }))
    {
        for (at, item) in select.items.iter().enumerate() {
            by_chance[at] = automatic(item);
        }
    } else if let Some(select) = first_select(&query.body) {
        // Stars stand for several columns; what follows the last one is counted from the end.
        let tail = select.items.iter().rev().take_while(|item| matches!(item, SelectItem::Expr { .. }));
        let len = out.len();
        for (back, item) in tail.enumerate() {
            by_chance[len - 1 - back] = automatic(item);
        }
        for (at, item) in select.items.iter().take_while(|item| matches!(item, SelectItem::Expr { .. })).enumerate() {
            by_chance[at] = automatic(item);
        }
    }
    for at in 0..out.len() {
        if is_wrong(&out[at]) {
            if by_chance[at].is_none() {
                return Err(codes::wrong_column_name(&out[at]));
            }
            out[at] = format!("Name_exp_{}", at + 1);
        }
    }
    for at in 0..out.len() {
        let Some(first) = out[..at].iter().position(|name| name.eq_ignore_ascii_case(&out[at])) else { continue };
        let renamed = if by_chance[at].is_some() {
            at
        } else if by_chance[first].is_some() {
            first
        } else {
            return Err(codes::dup_fieldname(&out[at]));
        };
        let base = out[renamed].clone();
        let mut name = format!("Name_exp_{base}");
        let mut attempt = 0;
        while out.iter().any(|other| other.eq_ignore_ascii_case(&name)) {
            attempt += 1;
            name = format!("Name_{attempt}_exp_{base}");
        }
        out[renamed] = name;
    }
    for (name, item) in out.iter().zip(by_chance) {
        if let Some(address) = item {
            names.items.insert(address, name.clone());
        }
    }
    Ok(out)
}

/// The address of an item whose name is no column's and nobody's choice.
fn automatic(item: &SelectItem<'_>) -> Option<usize> {
    match item {
        SelectItem::Expr { expr, alias: None } if !matches!(expr.kind, ast::ExprKind::Column(_)) => Some(std::ptr::from_ref(item).addr()),
        _ => None,
    }
}

fn is_updatable(b: &Binder<'_>, block: &Block) -> bool {
    fn has_outer(tree: &JoinTree) -> bool {
        match tree {
            JoinTree::Relation(_) => false,
            JoinTree::Inner { parts, .. } => parts.iter().any(has_outer),
            JoinTree::Left { .. } => true,
        }
    }
    let relations = &block.scope.relations;
    let tables = |relations: &[crate::binder::Relation]| -> Vec<u32> {
        relations.iter().filter_map(|r| if let Source::Base(table) = r.source { Some(table) } else { None }).collect()
    };
    let own = tables(relations);
    let stands = |r: &crate::binder::Relation| match &r.source {
        Source::Virtual(_) => false,
        Source::Merged(merged) => merged.view.def.updatable,
        // A view whose rows are made first.
        Source::Derived(..) | Source::Waiting(_) => r.database.is_empty(),
        _ => true,
    };
    let has_column = block.items.iter().any(|(e, _)| matches!(e.kind, ExprKind::Slot(_)));
    let subqueries = b.pending.iter().flatten().flat_map(|block| tables(&block.scope.relations));
    !block.from.iter().any(has_outer) && relations.iter().all(stands) && has_column && !{ subqueries }.any(|table| own.contains(&table))
}

/// The columns of a view as it is now; 1356 when it is invalid. Those that are columns of a table or a view say of which.
pub fn view_columns(view: &Arc<ViewEntry>, context: &dyn PlanContext) -> Result<Vec<OutputColumn>> {
    let mut b = Binder::new(context, b"");
    b.views.uses.push(super::ViewUse { view: Arc::clone(view), alias: view.def.name.as_str().into(), within: None });
    let columns: Vec<(OutputColumn, Option<ExprKind>)> = match b.view_body(view, 0)? {
        Bound::Block(block) => block.items.into_iter().map(|(e, column)| (column, Some(e.kind))).collect(),
        Bound::Union(union) => union.columns.into_iter().map(|column| (column, None)).collect(),
        Bound::Planned(planned) => planned.columns.into_iter().map(|column| (column, None)).collect(),
    };
    let named = columns.into_iter().enumerate().map(|(at, (mut column, kind))| {
        if let Some(name) = view.def.columns.get(at) {
            column.name = name.as_str().into();
        }
        let small = match kind {
            Some(ExprKind::Literal(Value::Int(n))) => n.unsigned_abs() <= INT_MAX,
            _ => column.org_table.is_empty() && (1..=2).contains(&column.ty.length),
        };
        column.ty = match column.ty.kind {
            TypeKind::Null => ColumnType { nullable: true, ..ColumnType::new(TypeKind::VarBinary) },
            TypeKind::BigInt if small && !column.ty.unsigned => ColumnType { nullable: column.ty.nullable, ..ColumnType::int() },
            _ => column.ty,
        };
        column
    });
    Ok(named.collect())
}
