//! Queries as views keep them, as `SHOW CREATE VIEW` prints them: every column with its table, every item with its name.
//!
//! What a name means is the binder's to say ([`QueryNames`]); the printer knows the form alone.

use super::{Normal, Printer, WrittenUnder};
use crate::ast::{
    AggregateCall, AggregateFn, ColumnRef, Derived, Frame, FrameBound, FrameUnit, FunctionCall, IndexHint, IndexHintKind, IndexHintScope,
    Join, JoinCondition, JoinKind, JsonTableValue, Limit, Literal, NamedWindow, ObjectName, OrderItem, Over, Query, QueryBody, Select,
    SelectItem, SetOp, SetOperator, TableFactor, TableRef, WindowCall, WindowSpec, With,
};
use crate::ast::{Expr, ExprKind};
use std::fmt::Write;

/// What a name was found to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A column: database where it is told, table, column.
    Column(Option<String>, String, String),
    /// The name of an item of the select list.
    Alias(String),
}

/// What the names of a query mean.
pub trait QueryNames {
    /// The column of the expression that begins here in the text.
    fn column(&self, at: u32) -> Option<Found>;
    /// The columns that the item at this position of a block stands for (`*`, `t.*`). For `TABLE t`: its name's address, `usize::MAX`.
    fn star(&self, block: usize, item: usize) -> Vec<Found>;
    /// The type of a column of JSON_TABLE, as it came out.
    fn column_type(&self, column: &JsonTableValue<'_>) -> String;
    /// The pairs that USING or NATURAL compares.
    fn join(&self, join: &Join<'_>) -> Vec<(Found, Found)>;
    /// A table: its database, where it has one, and its name.
    fn table(&self, table: &ObjectName<'_>) -> (Option<String>, String);
    /// The name of an item that has none of its own.
    fn item(&self, item: &SelectItem<'_>) -> String;
    /// Fraction digits of what TIME or TIMESTAMP gives.
    fn digits(&self, call: &FunctionCall<'_>) -> Option<u8>;
}

/// The normal form of a view's query. Names of `hidden` (a database) are left out.
pub fn normalise_query(query: &Query<'_>, under: WrittenUnder<'_>, names: &dyn QueryNames, hidden: Option<&str>) -> Normal {
    let mut p = Printer { under, out: Normal::default(), names: Some(names), hidden, exists: false, nested: 0 };
    p.query(query, true);
    p.out
}

impl Printer<'_> {
    pub(super) fn name(&mut self, name: &str) {
        let _ = write!(self.out.text, "`{}`", name.replace('`', "``"));
    }

    fn found(&mut self, found: &Found) {
        match found {
            Found::Column(database, table, column) => {
                if let Some(database) = database.as_deref().filter(|database| self.hidden != Some(database)) {
                    self.name(database);
                    self.put(".");
                }
                self.name(table);
                self.put(".");
                self.name(column);
            }
            Found::Alias(name) => self.name(name),
        }
    }

    /// A column of a view's query.
    pub(super) fn named_column(&mut self, names: &dyn QueryNames, at: u32, column: &ColumnRef<'_>) {
        match names.column(at) {
            Some(Found::Alias(name)) => self.name(&name),
            Some(found) => self.found(&found),
            None => {
                for part in [column.schema, column.table].into_iter().flatten() {
                    self.name(part);
                    self.put(".");
                }
                self.name(column.column);
            }
        }
    }

    /// EXISTS: of what `*` selects nothing is told where it does not matter.
    pub(super) fn exists(&mut self, q: &Query<'_>) {
        let outer = std::mem::replace(&mut self.exists, q.limit.is_none() && is_star(&q.body, !q.order_by.is_empty()));
        self.subquery("exists", q);
        self.exists = outer;
    }

    /// A subquery in parentheses.
    pub(super) fn subquery(&mut self, before: &str, q: &Query<'_>) {
        self.out.has_subquery = true;
        if self.names.is_none() {
            return;
        }
        self.put(before);
        self.inner(q, false);
    }

    /// A query within another.
    fn inner(&mut self, q: &Query<'_>, named: bool) {
        self.nested += 1;
        self.put("(");
        self.query(q, named);
        self.put(")");
        self.nested -= 1;
    }

    fn query(&mut self, q: &Query<'_>, named: bool) {
        if let Some(with) = q.with {
            self.with(with);
        }
        match q.body {
            // Only in parentheses may one WITH follow another.
            QueryBody::Parens(inner) if q.with.is_some() && inner.with.is_some() => self.body(&q.body, q, named),
            QueryBody::Parens(inner) if q.order_by.is_empty() && q.limit.is_none() => return self.query(inner, named),
            QueryBody::Parens(inner) if inner.is_bare() => self.body(&inner.body, q, named),
            _ => self.body(&q.body, q, named),
        }
        if let Some(limit) = &q.limit {
            self.limit(limit);
        }
    }

    /// A body with the ORDER BY of its query.
    fn body(&mut self, body: &QueryBody<'_>, q: &Query<'_>, named: bool) {
        match body {
            QueryBody::Select(select) => self.select(select, q.order_by, named),
            QueryBody::SetOp(set) => {
                self.set_operation(set, named);
                self.order_of_union(q.order_by, body);
            }
            QueryBody::Values(rows) => {
                self.put("values ");
                for (at, row) in rows.iter().enumerate() {
                    self.put(if at > 0 { ",row(" } else { "row(" });
                    self.list(row);
                    self.put(")");
                }
                self.order_of_union(q.order_by, body);
            }
            QueryBody::Table(table) => {
                let columns = self.names.map(|names| names.star(table.name.as_ptr().addr(), usize::MAX)).unwrap_or_default();
                self.put("select ");
                self.star(&columns, named, true);
                self.put(" from ");
                self.table(table, None);
                self.order_of_union(q.order_by, body);
            }
            QueryBody::Parens(inner) => {
                self.inner(inner, named);
                self.order_of_union(q.order_by, body);
            }
        }
    }

    fn with(&mut self, with: &With<'_>) {
        let exists = std::mem::take(&mut self.exists);
        self.put(if with.recursive { "with recursive " } else { "with " });
        for (at, cte) in with.ctes.iter().enumerate() {
            self.put(if at > 0 { ", " } else { "" });
            self.name(cte.name);
            self.column_names(cte.columns);
            self.put(" as ");
            self.inner(cte.query, true);
        }
        self.put(" ");
        self.exists = exists;
    }

    fn column_names(&mut self, columns: &[&str]) {
        for (at, column) in columns.iter().enumerate() {
            self.put(if at > 0 { "," } else { " (" });
            self.name(column);
        }
        self.put(if columns.is_empty() { "" } else { ")" });
    }

    fn set_operation(&mut self, set: &SetOp<'_>, named: bool) {
        let word = match (set.op, set.all) {
            (SetOperator::Union, false) => " union ",
            (SetOperator::Union, true) => " union all ",
            (SetOperator::Except, false) => " except ",
            (SetOperator::Except, true) => " except all ",
            (SetOperator::Intersect, false) => " intersect ",
            (SetOperator::Intersect, true) => " intersect all ",
        };
        for (at, operand) in set.operands.iter().enumerate() {
            self.put(if at > 0 { word } else { "" });
            self.operand(operand, set, at, named);
        }
    }

    fn operand(&mut self, operand: &QueryBody<'_>, of: &SetOp<'_>, at: usize, named: bool) {
        match operand {
            QueryBody::Select(select) => self.select(select, &[], named),
            // What a later UNION DISTINCT makes distinct is one with it.
            QueryBody::SetOp(set) if at == 0 && set.op == SetOperator::Union && of.op == SetOperator::Union && !of.all => {
                self.set_operation(&SetOp { all: false, ..**set }, named);
            }
            QueryBody::SetOp(set) => {
                self.put("(");
                self.set_operation(set, named);
                self.put(")");
            }
            QueryBody::Parens(q) if q.is_bare() => self.operand(&q.body, of, at, named),
            QueryBody::Parens(q) => self.inner(q, named),
            QueryBody::Values(rows) => {
                self.put("values ");
                for (at, row) in rows.iter().enumerate() {
                    self.put(if at > 0 { ",row(" } else { "row(" });
                    self.list(row);
                    self.put(")");
                }
            }
            QueryBody::Table(table) => {
                let columns = self.names.map(|names| names.star(table.name.as_ptr().addr(), usize::MAX)).unwrap_or_default();
                self.put("select ");
                self.star(&columns, named, true);
                self.put(" from ");
                self.table(table, None);
            }
        }
    }

    /// ORDER BY over a set operation: its items are columns of the result.
    fn order_of_union(&mut self, order: &[OrderItem<'_>], body: &QueryBody<'_>) {
        fn first<'b>(body: &'b QueryBody<'b>) -> Option<&'b Select<'b>> {
            match body {
                QueryBody::Select(select) => Some(select),
                QueryBody::SetOp(set) => set.operands.first().and_then(first),
                QueryBody::Parens(q) => first(&q.body),
                _ => None,
            }
        }
        let select = first(body);
        for (at, item) in order.iter().enumerate() {
            self.put(if at > 0 { "," } else { " order by " });
            match item.expr.kind {
                ExprKind::Literal(Literal::Int(n)) => match self.item_names(select).get((n as usize).wrapping_sub(1)) {
                    Some(name) => self.name(&name.clone()),
                    None => self.expr(&item.expr),
                },
                ExprKind::Column(column) => self.name(column.column),
                _ => self.expr(&item.expr),
            }
            self.put(if item.descending { " desc" } else { "" });
        }
    }

    /// The names of a select list's columns.
    fn item_names(&self, select: Option<&Select<'_>>) -> Vec<String> {
        let (Some(names), Some(select)) = (self.names, select) else { return Vec::new() };
        let name_of = |found: Found| match found {
            Found::Column(_, _, column) => column,
            Found::Alias(name) => name,
        };
        let of_item = |(at, item): (usize, &SelectItem<'_>)| match item {
            SelectItem::Expr { alias: Some(alias), .. } => vec![(*alias).to_owned()],
            SelectItem::Expr { .. } => vec![names.item(item)],
            _ => names.star(std::ptr::from_ref(select).addr(), at).into_iter().map(name_of).collect(),
        };
        select.items.iter().enumerate().flat_map(of_item).collect()
    }

    fn limit(&mut self, limit: &Limit<'_>) {
        self.put(" limit ");
        if let Some(offset) = &limit.offset {
            self.wrapped("", offset, ",");
        }
        self.expr(&limit.count);
    }

    fn star(&mut self, columns: &[Found], named: bool, first: bool) {
        for (at, found) in columns.iter().enumerate() {
            self.put(if first && at == 0 { "" } else { "," });
            self.found(found);
            if let (true, Found::Column(_, _, column)) = (named, found) {
                self.put(" AS ");
                self.name(column);
            }
        }
    }

    fn select(&mut self, select: &Select<'_>, order: &[OrderItem<'_>], named: bool) {
        let Some(names) = self.names else { return };
        let exists = std::mem::take(&mut self.exists);
        self.put("select ");
        let options = select.options;
        for (is_set, word) in [
            (options.straight_join, "straight_join "),
            (options.high_priority, "high_priority "),
            (options.distinct, "distinct "),
            (options.small_result, "sql_small_result "),
            (options.big_result, "sql_big_result "),
            (options.buffer_result, "sql_buffer_result "),
            (options.no_cache, "sql_no_cache "),
        ] {
            self.put(if is_set { word } else { "" });
        }
        self.put(if exists { "1" } else { "" });
        for (at, item) in select.items.iter().enumerate().filter(|_| !exists) {
            match item {
                SelectItem::Expr { expr, alias } => {
                    self.put(if at > 0 { "," } else { "" });
                    self.expr(expr);
                    // What follows may name the alias, also where nobody outside does.
                    let name = alias.map(str::to_owned).or_else(|| named.then(|| names.item(item)));
                    if let Some(name) = name {
                        self.put(" AS ");
                        self.name(&name);
                    }
                }
                _ => self.star(&names.star(std::ptr::from_ref(select).addr(), at), named, at == 0),
            }
        }
        if !select.from.is_empty() {
            self.put(" from ");
            self.tables(select.from);
        }
        if let Some(filter) = select.filter {
            self.put(if select.from.is_empty() { " from DUAL  where " } else { " where " });
            self.where_condition(filter);
        }
        // Items by their names where they are no longer those of a row.
        let by_name = !select.group_by.is_empty() || options.distinct || select.items.iter().any(has_aggregate);
        let shown: Vec<(Option<&str>, &Expr<'_>)> = select
            .items
            .iter()
            .filter_map(|item| match item {
                SelectItem::Expr { expr, alias } => Some((*alias, expr)),
                _ => None,
            })
            .collect();
        let all_shown = shown.len() == select.items.len();
        if !select.group_by.is_empty() {
            self.put(" group by ");
            self.order_items(select.group_by, &shown, all_shown, true);
            self.put(if select.rollup { " with rollup" } else { "" });
        }
        if let Some(having) = select.having {
            self.put(" having ");
            self.where_condition(having);
        }
        self.windows(select.windows);
        if !order.is_empty() {
            self.put(" order by ");
            self.order_items(order, &shown, all_shown, by_name);
        }
        self.exists = exists;
    }

    fn order_items(&mut self, order: &[OrderItem<'_>], shown: &[(Option<&str>, &Expr<'_>)], all_shown: bool, by_name: bool) {
        for (at, item) in order.iter().enumerate() {
            self.put(if at > 0 { "," } else { "" });
            let of_item = match item.expr.kind {
                ExprKind::Literal(Literal::Int(n)) if all_shown => shown.get((n as usize).wrapping_sub(1)).copied(),
                ExprKind::Column(_) => match self.names.and_then(|names| names.column(item.expr.span.start)) {
                    Some(Found::Alias(name)) => {
                        shown.iter().find(|(alias, _)| alias.is_some_and(|alias| alias.eq_ignore_ascii_case(&name))).copied()
                    }
                    _ => None,
                },
                _ => None,
            };
            let is_named = by_name || self.nested > 0 && matches!(item.expr.kind, ExprKind::Column(_));
            match of_item {
                Some((Some(alias), _)) if is_named => self.name(alias),
                // A number would be a position.
                Some((_, Expr { kind: ExprKind::Literal(Literal::Int(_)), .. })) => self.put("''"),
                Some((_, expr)) => self.expr(expr),
                None => self.expr(&item.expr),
            }
            self.put(if item.descending { " desc" } else { "" });
        }
    }

    fn windows(&mut self, windows: &[NamedWindow<'_>]) {
        for (at, window) in windows.iter().enumerate() {
            self.put(if at > 0 { ", " } else { " window " });
            self.name(window.name);
            self.put(" AS ");
            self.window(window.spec);
        }
    }

    fn window(&mut self, spec: &WindowSpec<'_>) {
        self.put("(");
        if let Some(base) = spec.base {
            self.name(base);
            self.put(" ");
        }
        for (at, e) in spec.partition_by.iter().enumerate() {
            self.wrapped(if at > 0 { "," } else { "PARTITION BY " }, e, "");
        }
        self.put(if spec.partition_by.is_empty() { "" } else { " " });
        for (at, item) in spec.order_by.iter().enumerate() {
            self.wrapped(if at > 0 { "," } else { "ORDER BY " }, &item.expr, if item.descending { " desc" } else { "" });
        }
        self.put(if spec.order_by.is_empty() { "" } else { " " });
        if let Some(frame) = &spec.frame {
            self.frame(frame);
        }
        self.put(") ");
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        self.put(match frame.unit {
            FrameUnit::Rows => "ROWS BETWEEN ",
            FrameUnit::Range => "RANGE BETWEEN ",
            FrameUnit::Groups => "GROUPS BETWEEN ",
        });
        self.bound(&frame.start);
        self.put(" AND ");
        self.bound(frame.end.as_ref().unwrap_or(&FrameBound::CurrentRow));
    }

    fn bound(&mut self, bound: &FrameBound<'_>) {
        let (e, unit, word) = match bound {
            FrameBound::UnboundedPreceding => return self.put("UNBOUNDED PRECEDING"),
            FrameBound::UnboundedFollowing => return self.put("UNBOUNDED FOLLOWING"),
            FrameBound::CurrentRow => return self.put("CURRENT ROW"),
            FrameBound::Preceding(e, unit) => (e, unit, " PRECEDING"),
            FrameBound::Following(e, unit) => (e, unit, " FOLLOWING"),
        };
        match unit {
            Some(unit) => {
                self.wrapped("INTERVAL ", e, " ");
                self.put(&format!("{unit} "));
            }
            None => self.expr(e),
        }
        self.put(word);
    }

    pub(super) fn over(&mut self, over: &Over<'_>) {
        self.put(" OVER ");
        match over {
            Over::Named(name) => self.name(name),
            Over::Spec(spec) => self.window(spec),
        }
    }

    pub(super) fn aggregate(&mut self, call: &AggregateCall<'_>) {
        self.put(match call.func {
            AggregateFn::Count => "count",
            AggregateFn::Sum => "sum",
            AggregateFn::Avg => "avg",
            AggregateFn::Min => "min",
            AggregateFn::Max => "max",
            AggregateFn::GroupConcat => "group_concat",
            AggregateFn::BitAnd => "bit_and",
            AggregateFn::BitOr => "bit_or",
            AggregateFn::BitXor => "bit_xor",
            AggregateFn::StdPop => "std",
            AggregateFn::StdSamp => "stddev_samp",
            AggregateFn::VarPop => "variance",
            AggregateFn::VarSamp => "var_samp",
            AggregateFn::JsonArrayAgg => "json_arrayagg",
            AggregateFn::JsonObjectAgg => "json_objectagg",
        });
        self.put(if call.distinct { "(distinct " } else { "(" });
        if call.args.is_empty() {
            self.put("0");
        }
        self.list(call.args);
        for (at, item) in call.order_by.iter().enumerate() {
            self.wrapped(if at > 0 { "," } else { " order by " }, &item.expr, if item.descending { " DESC" } else { " ASC" });
        }
        if call.func == AggregateFn::GroupConcat {
            self.put(" separator ");
            self.quoted("", call.separator.unwrap_or(b","));
        }
        self.put(")");
        if let Some(over) = &call.over {
            self.over(over);
        }
    }

    pub(super) fn window_call(&mut self, call: &WindowCall<'_>) {
        self.put(&call.func.name().to_ascii_lowercase());
        self.put("(");
        self.list(call.args);
        self.put(")");
        self.over(&call.over);
    }

    // ---- FROM ----

    fn tables(&mut self, list: &[TableRef<'_>]) {
        for _ in 1..list.len() {
            self.put("(");
        }
        for (at, table) in list.iter().enumerate() {
            self.put(if at > 0 { " join " } else { "" });
            self.table_ref(table);
            self.put(if at > 0 { ")" } else { "" });
        }
    }

    fn table_ref(&mut self, table: &TableRef<'_>) {
        match table {
            TableRef::Table(factor) => self.factor(factor),
            TableRef::Derived(derived) => self.derived(derived),
            TableRef::JsonTable(table) => self.json_table(table),
            TableRef::List(list) => self.tables(list),
            TableRef::Join(join) => self.join(join),
        }
    }

    fn join(&mut self, join: &Join<'_>) {
        let (left, right, word) = match join.kind {
            JoinKind::Inner => (&join.left, &join.right, " join "),
            JoinKind::Straight => (&join.left, &join.right, " straight_join "),
            JoinKind::Left => (&join.left, &join.right, " left join "),
            JoinKind::Right => (&join.right, &join.left, " left join "),
        };
        self.put("(");
        self.table_ref(left);
        self.put(word);
        self.table_ref(right);
        if let JoinCondition::On(condition) = join.condition {
            self.put(" on(");
            self.where_condition(condition);
            self.put(")");
        }
        let pairs = self.names.map(|names| names.join(join)).unwrap_or_default();
        let using = join.natural || matches!(join.condition, JoinCondition::Using(_));
        if using && !pairs.is_empty() {
            self.put(if pairs.len() > 1 { " on((" } else { " on(" });
            for (at, (a, b)) in pairs.iter().enumerate() {
                self.put(if at > 0 { " and (" } else { "(" });
                self.found(a);
                self.put(" = ");
                self.found(b);
                self.put(")");
            }
            self.put(if pairs.len() > 1 { "))" } else { ")" });
        } else if using && matches!(join.kind, JoinKind::Left | JoinKind::Right) {
            self.put(" on(true)");
        }
        self.put(")");
    }

    fn derived(&mut self, derived: &Derived<'_>) {
        self.put(if derived.lateral { "lateral " } else { "" });
        self.inner(derived.query, true);
        self.put(" ");
        self.name(derived.alias);
        self.column_names(derived.columns);
    }

    fn table(&mut self, table: &ObjectName<'_>, alias: Option<&str>) {
        let Some(names) = self.names else { return };
        let (database, name) = names.table(table);
        if let Some(database) = database.as_deref().filter(|database| self.hidden != Some(database)) {
            self.name(database);
            self.put(".");
        }
        self.name(&name);
        let alias = alias.unwrap_or(table.name);
        if alias != name {
            self.put(" ");
            self.name(alias);
        }
    }

    fn factor(&mut self, factor: &TableFactor<'_>) {
        self.table(&factor.name, factor.alias);
        factor.index_hints.iter().for_each(|hint| self.hint(hint));
    }

    fn hint(&mut self, hint: &IndexHint<'_>) {
        self.put(match hint.kind {
            IndexHintKind::Use => " USE INDEX ",
            IndexHintKind::Force => " FORCE INDEX ",
            IndexHintKind::Ignore => " IGNORE INDEX ",
        });
        self.put(match hint.scope {
            None => "",
            Some(IndexHintScope::Join) => "FOR JOIN ",
            Some(IndexHintScope::OrderBy) => "FOR ORDER BY ",
            Some(IndexHintScope::GroupBy) => "FOR GROUP BY ",
        });
        self.put("(");
        for (at, name) in hint.names.iter().enumerate() {
            self.put(if at > 0 { "," } else { "" });
            if name.eq_ignore_ascii_case("PRIMARY") { self.put("PRIMARY") } else { self.name(name) }
        }
        self.put(")");
    }
}

/// Whether a query selects `*` and nothing else, and never looks at what that is: HAVING may, and so may ORDER BY of more than plain rows.
fn is_star(body: &QueryBody<'_>, ordered: bool) -> bool {
    match body {
        QueryBody::Select(select) => {
            let star = matches!(select.items, [SelectItem::Wildcard]);
            star && select.having.is_none() && !(ordered && select.options.distinct)
        }
        QueryBody::SetOp(set) => set.op == SetOperator::Union && !ordered && set.operands.iter().all(|operand| is_star(operand, false)),
        QueryBody::Parens(q) => q.is_bare() && is_star(&q.body, ordered),
        QueryBody::Values(_) | QueryBody::Table(_) => false,
    }
}

fn has_aggregate(item: &SelectItem<'_>) -> bool {
    let SelectItem::Expr { expr, .. } = item else { return false };
    let under = WrittenUnder { charset: "", week_format: 0 };
    let mut p = Printer { under, out: Normal::default(), names: None, hidden: None, exists: false, nested: 0 };
    p.expr(expr);
    p.out.has_aggregate
}
