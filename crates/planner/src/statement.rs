//! Entry points: one statement to one plan.

use crate::binder::{Binder, Clause, RelColumn, Relation, Result, Scope, Source};
use crate::context::PlanContext;
use crate::examined;
use crate::expr::{ExprKind, Slot};
use crate::foreign_keys;
use crate::members::bare_zero;
use crate::plan::{Access, Body, Kept, Node, OutputColumn, Plan, Query};
use crate::short;
use crate::typing;
use mysql_error::codes;
use parser::ast;
use types::{ColumnType, TypeKind};

/// Plans SELECT, INSERT, REPLACE, UPDATE, DELETE or DO. `sql` is the text that was parsed.
pub fn plan(statement: &ast::Statement<'_>, sql: &[u8], context: &dyn PlanContext) -> Result<Plan> {
    let (plan, once) = plan_knowing(statement, sql, context, Vec::new())?;
    match once {
        None => Ok(plan),
        // A common table expression that is named once is a derived table: that is known when all has been bound.
        Some(once) => Ok(plan_knowing(statement, sql, context, once)?.0),
    }
}

/// Plans a statement, given which of its common table expressions are named once. The other result: those that turned out to be.
fn plan_knowing(
    statement: &ast::Statement<'_>,
    sql: &[u8],
    context: &dyn PlanContext,
    cte_once: Vec<bool>,
) -> Result<(Plan, Option<Vec<bool>>)> {
    let mut b = Binder::new(context, sql);
    b.merges = matches!(statement, ast::Statement::Query(_));
    let known = !cte_once.is_empty();
    b.cte_once = cte_once;
    let mut into = Vec::new();
    let mut counted = None;
    let (body, columns) = match statement {
        ast::Statement::Query(q) => {
            b.into_allowed = true;
            b.hints.standalone = true;
            let limited = limited(q, context.select_limit());
            b.counts_allowed = crate::found_rows::is_asked_for(&limited);
            let mut bound = match crate::found_rows::without_limit(&limited) {
                None => b.query(&limited)?,
                Some((all, limit)) => {
                    let bound = b.query(&all)?;
                    counted = Some(Box::new(b.limit(limit)?));
                    bound
                }
            };
            into = into_variables(q, bound.columns.len())?;
            if !into.is_empty() {
                bound.query.output = bound.query.output.into_iter().map(bare_zero).collect();
            }
            let columns = shown(&bound.query, bound.columns, context.connection_collation());
            (Body::Query(bound.query), columns)
        }
        ast::Statement::Insert(i) => {
            b.counts_allowed = true;
            (b.insert(i)?, Vec::new())
        }
        ast::Statement::Update(u) => (b.update(u)?, Vec::new()),
        ast::Statement::Delete(d) => (b.delete(d)?, Vec::new()),
        ast::Statement::Do(exprs) => (Body::Query(row_of(&mut b, exprs)?), Vec::new()),
        _ => return Err(codes::not_supported_yet("this statement here")),
    };
    let once: Vec<bool> = b.cte_uses.iter().map(|uses| *uses == 1).collect();
    let once = (b.merges && !b.locks && !known && once.contains(&true)).then_some(once);
    let mut plan = finish(b, body, columns)?;
    if counted.is_some() {
        plan.short = None;
        plan.counted = counted;
    }
    if !into.is_empty() {
        plan.short = None;
        plan.columns = Vec::new();
        plan.into = into;
    }
    Ok((plan, once))
}

/// A query with the limit that `sql_select_limit` gives to one that has none of its own.
fn limited<'a>(q: &ast::Query<'a>, rows_max: u64) -> ast::Query<'a> {
    let mut limited = *q;
    let own = |q: &ast::Query<'_>| q.limit.is_some();
    let mut inner = q;
    // A query in parentheses is no other one.
    while let ast::QueryBody::Parens(next) = inner.body
        && !own(inner)
    {
        inner = next;
    }
    if rows_max != u64::MAX && !own(inner) {
        let count = ast::Expr { kind: ast::ExprKind::Literal(ast::Literal::Int(rows_max)), span: q.span };
        limited.limit = Some(ast::Limit { count, offset: None });
    }
    limited
}

/// Whether an UPDATE or DELETE without LIMIT finds the rows of one of its targets by reading all of them.
fn changes_unsafely(body: &Body) -> bool {
    let (input, key_slots): (&Node, Vec<Slot>) = match body {
        Body::Update(update) if update.limit.is_none() => (&update.input, update.targets.iter().map(|t| t.key_slot).collect()),
        Body::Delete(delete) if delete.limit.is_none() => (&delete.input, delete.targets.iter().map(|t| t.key_slot).collect()),
        _ => return false,
    };
    let mut all_rows = false;
    input.for_each_table(&mut |table| {
        let is_target = table.keep_key.is_some_and(|slot| key_slots.contains(&slot));
        let finds = matches!(&table.access, Access::Index { ranges, .. } if ranges.is_some());
        all_rows |= is_target && !finds;
    });
    all_rows
}

/// Targets of SELECT … INTO.
fn into_variables(q: &ast::Query<'_>, columns: usize) -> Result<Vec<Box<str>>> {
    let targets = match q.into {
        Some(ast::SelectInto::Variables(targets)) => *targets,
        // Whoever runs the plan writes its rows to the file.
        None | Some(_) => return Ok(Vec::new()),
    };
    if targets.len() != columns {
        return Err(codes::wrong_number_of_columns_in_select());
    }
    let name = |t: &ast::IntoTarget<'_>| match t {
        ast::IntoTarget::User(name) => Ok(name.to_lowercase().into()),
        ast::IntoTarget::Local(name) => Err(codes::sp_undeclared_var(name)),
    };
    targets.iter().map(name).collect()
}

/// Plans the evaluation of expressions without a table (SET, CALL, KILL …): one row with their values.
pub fn plan_expressions(exprs: &[ast::Expr<'_>], sql: &[u8], context: &dyn PlanContext) -> Result<Plan> {
    let mut b = Binder::new(context, sql);
    let mut query = row_of(&mut b, exprs)?;
    query.output = query.output.into_iter().map(bare_zero).collect();
    let columns = query.output.iter().map(|e| OutputColumn { ty: e.ty.clone(), ..OutputColumn::default() }).collect();
    finish(b, Body::Query(query), columns)
}

/// Plans a condition over the rows of a result that is no table (SHOW … WHERE): the plan's only value, of a frame that begins with these columns.
pub fn plan_condition(condition: &ast::Expr<'_>, columns: &[(&str, ColumnType)], sql: &[u8], context: &dyn PlanContext) -> Result<Plan> {
    let mut b = Binder::new(context, sql);
    let named = columns.iter().map(|(name, ty)| RelColumn {
        name: (*name).to_owned(),
        ty: ty.clone(),
        meta: OutputColumn { coercibility: typing::IMPLICIT, ..OutputColumn::default() },
        hidden: false,
        invisible: false,
    });
    let slots = columns.iter().map(|(_, ty)| Some(b.new_slot(ty.clone()))).collect();
    let row = Relation { slots, ..Relation::new("", Source::RecursiveScan(u32::MAX), named.collect()) };
    let mut scope = Scope::new();
    scope.clause = Clause::Where;
    scope.relations.push(row);
    let (_, bound) = b.enter(scope, |b| b.condition(condition));
    finish(b, Body::Query(Query { root: Node::Unit, output: vec![bound?] }), Vec::new())
}

fn row_of(b: &mut Binder<'_>, exprs: &[ast::Expr<'_>]) -> Result<Query> {
    let (_, output) = b.enter(Scope::new(), |b| exprs.iter().map(|e| b.expr(e)).collect::<Result<Vec<_>>>());
    Ok(Query { root: Node::Unit, output: output? })
}

/// The columns as clients see them: what has no type of its own but a bare NULL (a parameter of unknown type) is text.
fn shown(query: &Query, mut columns: Vec<OutputColumn>, collation: types::Collation) -> Vec<OutputColumn> {
    for (column, expr) in columns.iter_mut().zip(&query.output) {
        if column.ty.kind == TypeKind::Null && !matches!(expr.kind, ExprKind::Literal(_)) {
            column.ty = typing::string(16_383, collation);
        }
        match column.kept {
            Kept::Widened => column.ty = widened(&column.ty),
            _ if !column.org_name.is_empty() => {}
            Kept::ByDigits => column.ty = by_digits(&column.ty),
            Kept::No | Kept::AsItIs => {}
        }
    }
    columns
}

/// Characters, the sign's among them, of a whole number that a temporary table keeps as an INT.
const INT_CHARS_MAX: u32 = 9;

/// The type of a column that keeps a computed value: a whole number is an INT where it takes few characters, a BIGINT where it takes more.
pub fn by_digits(ty: &ColumnType) -> ColumnType {
    let width = typing::display_chars(ty);
    let whole = match ty.kind {
        TypeKind::Year if !ty.zerofill => ColumnType::int().unsigned(),
        kind if kind.is_integer() && width <= INT_CHARS_MAX => ColumnType { unsigned: ty.unsigned, ..ColumnType::int() },
        kind if kind.is_integer() => ColumnType { unsigned: ty.unsigned, ..ColumnType::bigint() },
        _ => return ty.clone(),
    };
    ColumnType { nullable: ty.nullable, length: width, ..whole }
}

/// The type of a column that keeps what a window function returns: whole numbers by their digits as INT or BIGINT, strings as VARCHAR and VARBINARY.
fn widened(ty: &ColumnType) -> ColumnType {
    let wide = match ty.kind {
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Year => ColumnType::int(),
        TypeKind::Int => ColumnType::bigint(),
        TypeKind::Enum | TypeKind::Set | TypeKind::Char => typing::string(u64::from(typing::display_chars(ty)), ty.collation),
        TypeKind::Binary => typing::string(u64::from(ty.length), types::Collation::Binary),
        _ => return by_digits(ty),
    };
    ColumnType { nullable: ty.nullable, unsigned: ty.unsigned, ..wide }
}

pub(crate) fn finish(mut b: Binder<'_>, body: Body, columns: Vec<OutputColumn>) -> Result<Plan> {
    b.plan_pending()?;
    let foreign_keys = foreign_keys::resolve(&mut b, &body)?;
    let safe_updates = b.context.safe_updates();
    let unsafe_change = safe_updates && changes_unsafely(&body);
    let rows_max = b.context.max_join_size();
    let too_big = rows_max != u64::MAX && {
        // It holds for tables as they are.
        b.drifts.set(true);
        let subplans = b.subplans.iter().map(|subplan| examined::rows_of(&subplan.query));
        examined::most_rows(&body, subplans) > rows_max as f64
    };
    let writes = b.locks || !matches!(body, Body::Query(_));
    let depends = b.tables.iter().map(|t| (t.def.id, t.def.schema_version)).collect();
    let table_rows = b.tables.iter().map(|t| b.context.rows_estimate(t)).collect();
    let mut plan = Plan {
        foreign_keys,
        table_rows,
        body,
        subplans: b.subplans,
        tables: b.tables,
        references: b.references,
        views: b.views.uses,
        view_tables: b.views.tables,
        depends,
        frame_slots: b.slot_count,
        param_count: b.param_count,
        free_params: b.free_params,
        table_nodes: b.table_nodes,
        cache_count: b.cache_count,
        into: Vec::new(),
        counted: None,
        columns,
        short: None,
        writes,
        locks_exclusively: b.locks_exclusively,
        volatile: b.volatile,
        drifts: b.drifts.get(),
        dives: b.dives.take(),
        limits: std::mem::take(&mut b.limits),
        reads_dictionary: b.reads_dictionary,
        differs_elsewhere: b.differs_elsewhere,
        user_variables: b.user_variables,
        told_constants: b.told_constants,
        lifted: !b.context.param_types().is_empty(),
        taken_as: b.taken_as,
        warnings: b.warnings,
        accesses: b.accesses.list,
        safe_updates,
        unsafe_change,
        too_big,
        refused: unsafe_change || too_big,
        max_execution_time_ms: b.hints.max_execution_time_ms,
    };
    plan.find_before_changing();
    plan.forget_needless_dives();
    crate::dml::in_place::note(&mut plan);
    plan.short = short::recognise(&plan);
    Ok(plan)
}
