//! Common table expressions, recursive ones too.

use crate::bind_query::from::named_columns;
use crate::bind_query::set_operation::convert_to;
use crate::binder::{Binder, CteCopies, CteEntry, RecursiveCte, RelColumn, Relation, Result, Source};
use crate::expr::{Expr, ExprKind};
use crate::members::{replace, stored_in};
use crate::plan::{Kept, LimitSpec, RecursiveColumn};
use crate::typing;
use mysql_error::{SqlError, codes};
use parser::ast;
use std::sync::Arc;
use types::{Collation, TypeKind};

/// How many copies of queries behind WITH a statement may be made of.
const COPIES_MAX: u32 = 1024;

impl<'c> Binder<'c> {
    pub(super) fn bind_cte(&mut self, cte: &ast::Cte<'_>, recursive: bool) -> Result<()> {
        let beside = std::mem::take(&mut self.levels);
        let copies_beside = std::mem::take(&mut self.cte_copies);
        let mut entry = self.cte_entry(cte, recursive)?;
        // It counts where it is named.
        entry.levels = std::mem::replace(&mut self.levels, beside);
        entry.copies = std::mem::replace(&mut self.cte_copies, copies_beside);
        entry.copies.again = entry.copies.again.saturating_add(1);
        self.ctes.push(entry);
        Ok(())
    }

    fn cte_entry(&mut self, cte: &ast::Cte<'_>, recursive: bool) -> Result<CteEntry> {
        if recursive && query_names(cte.query, cte.name) {
            return self.bind_recursive(cte);
        }
        let is_union = matches!(in_parentheses(cte.query).0.body, ast::QueryBody::SetOp(set) if set.op == ast::SetOperator::Union);
        let names_itself = recursive && is_union;
        if names_itself {
            self.recursing.push(cte.name.to_owned());
        }
        let entry = self.bind_plain_cte(cte);
        if names_itself {
            self.recursing.pop();
        }
        entry
    }

    /// Counts that one is named. 4169 for more copies than MySQL makes.
    pub(super) fn name_cte(&mut self, cte: &CteEntry) -> Result<()> {
        self.cte_uses[cte.number] += 1;
        self.levels = self.levels.max(cte.levels);
        let is_round = matches!(cte.source, Source::RecursiveScan(_));
        let again = is_round || std::mem::replace(&mut self.cte_named[cte.number], true);
        let copies = &mut self.cte_copies;
        copies.first = copies.first.saturating_add(if again { cte.copies.again } else { cte.copies.first });
        copies.again = copies.again.saturating_add(cte.copies.again);
        if copies.first > COPIES_MAX {
            let text = "Common table expression expansion exceeded an implementation limit. Simplify the query.";
            return Err(SqlError::with_message(4169, text));
        }
        Ok(())
    }

    /// A number to count uses by.
    fn new_cte(&mut self) -> usize {
        self.cte_named.push(false);
        self.cte_uses.push(0);
        self.cte_uses.len() - 1
    }

    fn bind_plain_cte(&mut self, cte: &ast::Cte<'_>) -> Result<CteEntry> {
        let number = self.new_cte();
        if self.cte_once.get(number) == Some(&true) {
            // As a derived table where it is named.
            let bound = self.bind_query(cte.query)?;
            let (columns, source) = self.waiting(bound);
            let columns = named_columns(columns, cte.columns, cte.name)?;
            return Ok(CteEntry {
                name: cte.name.to_owned(),
                source,
                number,
                depth: self.scopes.len(),
                levels: 0,
                copies: CteCopies::PLAIN,
                columns,
            });
        }
        let mut bound = self.kept_query(cte.query)?;
        bound.narrow_literals();
        let columns = named_columns(bound.columns, cte.columns, cte.name)?;
        let cache = self.new_cache();
        let source = Source::Cte(Arc::new(bound.query), cache, bound.rows, bound.outer);
        Ok(CteEntry { name: cte.name.to_owned(), source, number, depth: self.scopes.len(), levels: 0, copies: CteCopies::PLAIN, columns })
    }

    fn bind_recursive(&mut self, cte: &ast::Cte<'_>) -> Result<CteEntry> {
        let (query, limit) = in_parentheses(cte.query);
        let ast::QueryBody::SetOp(set) = query.body else {
            if limit.is_some() && query.is_limited() {
                return Err(codes::not_supported_yet("LIMIT over LIMIT in recursive Common Table Expression"));
            }
            return Err(codes::cte_recursive_requires_union(cte.name));
        };
        if set.op != ast::SetOperator::Union {
            return Err(codes::cte_recursive_requires_union(cte.name));
        }
        if !query.order_by.is_empty() {
            return Err(codes::not_supported_yet("ORDER BY over UNION in recursive Common Table Expression"));
        }
        let parts = Parts::of(set, cte.name).ok_or_else(|| codes::cte_recursive_requires_nonrecursive_first(cte.name))?;
        parts.check(cte.name)?;
        let ctes = self.ctes.len();
        // None stands in the parentheses.
        self.bind_with(cte.query.with)?;
        let limit = self.limit(limit)?;
        let entry = self.bind_recursive_parts(cte, &parts, limit);
        self.ctes.truncate(ctes);
        entry
    }

    fn bind_recursive_parts(&mut self, cte: &ast::Cte<'_>, parts: &Parts<'_>, limit: Option<LimitSpec>) -> Result<CteEntry> {
        let seed = self.bind_union(parts.seed, parts.seed_all)?;
        let mut columns = named_columns(seed.columns, cte.columns, cte.name)?;
        for c in &mut columns {
            // MySQL takes the types of the seed, made nullable.
            c.ty.nullable = true;
            if c.ty.kind == TypeKind::Null {
                c.ty = typing::string(0, Collation::Binary);
            }
            c.meta.ty = c.ty.clone();
            c.meta.kept = Kept::AsItIs;
        }
        // The literals of VALUES may be parameters of the plan, whose lengths are those of the first statement.
        let has_values = parts.seed.iter().any(|part| matches!(part, ast::QueryBody::Values(_)));
        let stored = |e: &Expr, c: &RelColumn| !has_values && c.ty.kind != TypeKind::Json && has_known_width(e);
        let column_of =
            |(c, e): (&RelColumn, &Expr)| RecursiveColumn { ty: c.ty.clone(), stored_as: stored(e, c).then(|| c.name.as_str().into()) };
        let types: Vec<RecursiveColumn> = columns.iter().zip(&seed.query.output).map(column_of).collect();
        let (cache, result_cache) = (self.new_cache(), self.new_cache());
        let source = Source::RecursiveScan(cache);
        let depth = self.scopes.len();
        let number = self.new_cte();
        self.ctes.push(CteEntry {
            name: cte.name.to_owned(),
            source,
            number,
            depth,
            levels: 0,
            copies: CteCopies::PLAIN,
            columns: columns.clone(),
        });
        let steps: Vec<ast::QueryBody<'_>> = parts.steps.iter().map(|(_, step)| **step).collect();
        let step = self.bind_union(&steps, true);
        self.ctes.pop();
        let mut step = step?;
        if step.columns.len() != columns.len() {
            return Err(codes::wrong_number_of_columns_in_select());
        }
        for (e, column) in step.query.output.iter_mut().zip(&types) {
            match column.stored_as {
                Some(_) => replace(e, |e| stored_in(e, &column.ty)),
                None => convert_to(e, &column.ty),
            }
        }
        let mut seed_query = seed.query;
        for (e, column) in seed_query.output.iter_mut().zip(&types) {
            convert_to(e, &column.ty);
        }
        let (seed_query, step_query) = (Arc::new(seed_query), Arc::new(step.query));
        let outer = seed.outer.union(&step.outer).copied().collect();
        let distinct = parts.steps.iter().any(|(all, _)| !all);
        let parts = RecursiveCte { seed: seed_query, step: step_query, distinct, limit, cache, result_cache, columns: types, outer };
        Ok(CteEntry {
            name: cte.name.to_owned(),
            source: Source::Recursive(Arc::new(parts)),
            number,
            depth,
            levels: 0,
            copies: CteCopies::PLAIN,
            columns,
        })
    }

    /// The recursive CTE whose last round the innermost block reads.
    pub(super) fn recursion_read(&self) -> Option<&str> {
        let round = |r: &Relation| if let Source::RecursiveScan(cache) = r.source { Some(cache) } else { None };
        let read = self.scopes.last()?.relations.iter().filter_map(round).find(|cache| *cache != u32::MAX)?;
        self.ctes.iter().find(|c| matches!(c.source, Source::RecursiveScan(cache) if cache == read)).map(|c| c.name.as_str())
    }

    /// 3577 for a name that stands for the last round of a recursion, anywhere but once in a FROM of the recursion's own blocks.
    pub(super) fn check_recursive_reference(&mut self, cte: &CteEntry) -> Result<()> {
        let Source::RecursiveScan(cache) = cte.source else { return Ok(()) };
        let is_nested = self.scopes.len() != cte.depth + 1;
        let again = |r: &Relation| matches!(r.source, Source::RecursiveScan(other) if other == cache);
        if is_nested || self.scope().relations.iter().any(again) {
            return Err(codes::cte_recursive_requires_single_reference(&cte.name));
        }
        Ok(())
    }

    /// Makes the relations of the block being bound invisible to a derived table.
    pub(super) fn hide_relations(&mut self) -> Option<std::ops::Range<usize>> {
        self.scopes.last_mut().map(|s| std::mem::replace(&mut s.visible, 0..0))
    }

    pub(super) fn show_relations(&mut self, visible: Option<std::ops::Range<usize>>) {
        if let (Some(scope), Some(visible)) = (self.scopes.last_mut(), visible) {
            scope.visible = visible;
        }
    }
}

/// The parts of a recursive UNION.
struct Parts<'q> {
    seed: &'q [ast::QueryBody<'q>],
    /// How the seed's parts are put together.
    seed_all: bool,
    /// The recursive ones; before which of them ALL stands.
    steps: Vec<(bool, &'q ast::QueryBody<'q>)>,
}

impl<'q> Parts<'q> {
    /// `None` where nothing stands before the recursive ones.
    fn of(set: &ast::SetOp<'q>, name: &str) -> Option<Parts<'q>> {
        let split = set.operands.iter().position(|operand| body_names(operand, name))?;
        let (mut parts, rest) = match (split, set.operands.first()?) {
            // UNION behind UNION ALL, or the other way round.
            (0, ast::QueryBody::SetOp(first)) if first.op == ast::SetOperator::Union => (Parts::of(first, name)?, 1),
            (0, _) => return None,
            _ => (Parts { seed: &set.operands[..split], seed_all: set.all, steps: Vec::new() }, split),
        };
        parts.steps.extend(set.operands[rest..].iter().map(|step| (set.all, step)));
        Some(parts)
    }

    /// Refuses what MySQL does not repeat.
    fn check(&self, name: &str) -> Result<()> {
        if self.steps.iter().any(|(_, step)| !body_names(step, name)) {
            return Err(codes::cte_recursive_requires_nonrecursive_first(name));
        }
        for (_, step) in &self.steps {
            check_step(step, name)?;
        }
        if self.steps.windows(2).any(|pair| !pair[0].0 && pair[1].0) {
            let what = "recursive query blocks with UNION DISTINCT then UNION ALL, in recursive Common Table Expression";
            return Err(codes::not_supported_yet(what));
        }
        Ok(())
    }
}

fn check_step(step: &ast::QueryBody<'_>, name: &str) -> Result<()> {
    const ORDERED: &str = "ORDER BY / LIMIT / SELECT DISTINCT in recursive query block of Common Table Expression";
    match step {
        ast::QueryBody::Select(select) if select.options.distinct => Err(codes::not_supported_yet(ORDERED)),
        ast::QueryBody::Parens(query) if !query.order_by.is_empty() || query.limit.is_some() => Err(codes::not_supported_yet(ORDERED)),
        ast::QueryBody::Parens(query) => match query.body {
            ast::QueryBody::SetOp(set) if set.op == ast::SetOperator::Union && !set.all => {
                Err(codes::not_supported_yet("right nested recursive query blocks, in Common Table Expression"))
            }
            ast::QueryBody::SetOp(set) if set.op == ast::SetOperator::Union => {
                set.operands.iter().try_for_each(|part| check_step(part, name))
            }
            body => check_step(&body, name),
        },
        ast::QueryBody::SetOp(set) if set.op != ast::SetOperator::Union && body_names(step, name) => {
            Err(SqlError::with_message(4114, "Recursive table reference in EXCEPT or INTERSECT operand is not allowed."))
        }
        _ => Ok(()),
    }
}

/// Whether the type of a seed's expression is as wide as MySQL's: a column's, a constant's, a CAST's. Those of functions may be narrower here.
fn has_known_width(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Literal(_) | ExprKind::Slot(_) | ExprKind::Cast(..))
}

/// What stands in the parentheses around a whole query, and the LIMIT of the one or the other.
fn in_parentheses<'q>(q: &'q ast::Query<'q>) -> (&'q ast::Query<'q>, Option<ast::Limit<'q>>) {
    let (mut query, mut limit) = (q, q.limit);
    while let ast::QueryBody::Parens(inner) = query.body
        && query.order_by.is_empty()
        && inner.with.is_none()
        && (limit.is_none() || inner.limit.is_none())
    {
        limit = limit.or(inner.limit);
        query = inner;
    }
    (query, limit)
}

fn query_names(q: &ast::Query<'_>, name: &str) -> bool {
    body_names(&q.body, name)
}

/// Whether a query's FROM clauses name a table (subqueries of expressions are not searched: MySQL refuses recursion there).
fn body_names(body: &ast::QueryBody<'_>, name: &str) -> bool {
    fn table_names(t: &ast::TableRef<'_>, name: &str) -> bool {
        match t {
            ast::TableRef::Table(f) => f.name.schema.is_none() && f.name.name.eq_ignore_ascii_case(name),
            ast::TableRef::Derived(d) => query_names(d.query, name),
            ast::TableRef::JsonTable(_) => false,
            ast::TableRef::Join(j) => table_names(&j.left, name) || table_names(&j.right, name),
            ast::TableRef::List(l) => l.iter().any(|t| table_names(t, name)),
        }
    }
    match body {
        ast::QueryBody::Select(s) => s.from.iter().any(|t| table_names(t, name)),
        ast::QueryBody::SetOp(s) => s.operands.iter().any(|o| body_names(o, name)),
        ast::QueryBody::Values(_) => false,
        ast::QueryBody::Table(t) => t.schema.is_none() && t.name.eq_ignore_ascii_case(name),
        ast::QueryBody::Parens(q) => query_names(q, name),
    }
}
