//! EXPLAIN FORMAT=JSON: the members of MySQL's version 1, as far as our plans have what they tell.
//!
//! Costs are made from the estimated rows in MySQL's proportions (a row evaluated costs 0.1), so that a tool can compare parts of one plan.

use super::document::{Json, text};
use super::operation::{READ_BEGUN, ROW_EVALUATED};
use super::text::Names;
use super::{access_type, is_covering, key_bytes, merged};
use crate::expr::{Expr, ExprKind, Slot};
use crate::plan::{Access, Body, GroupEnds, InsertSource, JoinKind, Node, Plan, Query, TableNode};
use std::collections::BTreeSet;

fn cost(value: f64) -> Json {
    // MySQL writes large ones short, too.
    if value < 1e8 { text(format!("{value:.2}")) } else { text(format!("{value:e}")) }
}

/// EXPLAIN FORMAT=JSON.
pub fn json(plan: &Plan) -> String {
    let mut writer =
        Writer { plan, names: Names::of(plan), next_id: plan.subplans.len() as u64 + 2, seen: BTreeSet::new(), targets: ("", Vec::new()) };
    let block = match &plan.body {
        Body::Query(q) => writer.block(q, 1),
        Body::Insert(i) => {
            let def = &plan.tables[i.table as usize].def;
            let word = if i.replace { "replace" } else { "insert" };
            let table = Json::Object(vec![(word, Json::Bool(true)), ("table_name", text(&def.name)), ("access_type", text("ALL"))]);
            let mut block = vec![("select_id", Json::Number(1)), ("table", table)];
            match &i.source {
                InsertSource::Query(q) => {
                    let mut state = Prefix::default();
                    block.push(("insert_from", Json::Object(writer.operations(&q.root, &mut state))));
                    writer.told_beside(&q.root, &q.output, &mut block);
                }
                InsertSource::Values(rows) => writer.subqueries("insert_values_subqueries", rows.iter().flatten().flatten(), &mut block),
                InsertSource::Literals(_) | InsertSource::External(_) => {}
            }
            writer.subqueries("insert_update_subqueries", i.on_duplicate.iter().map(|(_, e)| e), &mut block);
            Json::Object(block)
        }
        Body::Update(u) => {
            let targets = u.targets.iter().map(|target| target.key_slot).collect();
            let mut block = writer.change(&u.input, "update", targets);
            let values = u.targets.iter().flat_map(|target| &target.set).map(|(_, e)| e);
            writer.subqueries("update_value_subqueries", values, &mut block);
            Json::Object(block)
        }
        Body::Delete(d) => Json::Object(writer.change(&d.input, "delete", d.targets.iter().map(|target| target.key_slot).collect())),
    };
    let mut out = String::new();
    Json::Object(vec![("query_block", block)]).print(0, &mut out);
    out
}

/// What the tables so far leave.
struct Prefix {
    rows: f64,
    cost: f64,
}

impl Default for Prefix {
    fn default() -> Prefix {
        Prefix { rows: 1.0, cost: 0.0 }
    }
}

struct Writer<'p> {
    plan: &'p Plan,
    names: Names,
    next_id: u64,
    /// Subqueries that have been told of.
    seen: BTreeSet<u32>,
    /// What is done to which tables, by the slots of their rows.
    targets: (&'static str, Vec<Slot>),
}

impl<'p> Writer<'p> {
    fn block(&mut self, q: &'p Query, id: u64) -> Json {
        let mut prefix = Prefix::default();
        let operations = match &q.root {
            Node::Union { branches, .. } => return self.union(branches, id, false),
            Node::Distinct { input, .. } if let Node::Union { branches, .. } = &**input => return self.union(branches, id, true),
            root => self.operations(root, &mut prefix),
        };
        let mut members = vec![("select_id", Json::Number(id))];
        if operations.is_empty() {
            members.push(("message", text("No tables used")));
        } else {
            members.push(("cost_info", Json::Object(vec![("query_cost", cost(prefix.cost))])));
            members.extend(operations);
        }
        self.told_beside(&q.root, &q.output, &mut members);
        Json::Object(members)
    }

    /// The subqueries of a block that no operation has told of: those of its select list, and the rest.
    fn told_beside(&mut self, root: &'p Node, output: &'p [Expr], members: &mut Members) {
        let mut selected: Vec<&Expr> = output.iter().collect();
        projected(root, &mut |e| selected.push(e));
        let mut rest = Vec::new();
        expressions(root, &mut |e| rest.push(e));
        self.subqueries("select_list_subqueries", selected, members);
        self.subqueries("attached_subqueries", rest, members);
    }

    /// Adds the subqueries of some expressions, each where it is first met.
    fn subqueries(&mut self, name: &'static str, exprs: impl IntoIterator<Item = &'p Expr>, members: &mut Members) {
        let mut found = Vec::new();
        for e in exprs {
            e.walk(&mut |e| {
                if let ExprKind::Subquery(n, _) = &e.kind
                    && self.seen.insert(*n)
                {
                    found.push(*n);
                }
            });
        }
        if !found.is_empty() {
            let list = found.into_iter().map(|n| self.subquery(n)).collect();
            members.push((name, Json::Array(list)));
        }
    }

    fn subquery(&mut self, n: u32) -> Json {
        let plan = self.plan;
        let sub = &plan.subplans[n as usize];
        let grouped = sub.lookup.as_ref();
        let query = grouped.map_or(&sub.query, |lookup| &lookup.grouped);
        let dependent = grouped.is_none() && !sub.outer_slots.is_empty();
        let block = self.block(query, u64::from(n) + 2);
        Json::Object(vec![
            ("dependent", Json::Bool(dependent)),
            ("cacheable", Json::Bool(!dependent && !sub.volatile)),
            ("query_block", block),
        ])
    }

    fn union(&mut self, branches: &'p [Query], id: u64, distinct: bool) -> Json {
        let mut specifications = Vec::new();
        let mut ids = Vec::new();
        for (at, branch) in branches.iter().enumerate() {
            let own = if at == 0 { id } else { self.new_id() };
            ids.push(own.to_string());
            let block = self.block(branch, own);
            specifications.push(Json::Object(vec![
                ("dependent", Json::Bool(false)),
                ("cacheable", Json::Bool(true)),
                ("query_block", block),
            ]));
        }
        let mut result = vec![("using_temporary_table", Json::Bool(distinct))];
        if distinct {
            result.push(("select_id", Json::Number(self.new_id())));
        }
        result.extend([
            ("table_name", text(format!("<union{}>", ids.join(",")))),
            ("access_type", text("ALL")),
            ("query_specifications", Json::Array(specifications)),
        ]);
        Json::Object(vec![("union_result", Json::Object(result))])
    }

    fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// The members of a query block that tell of its operations: sorts and groups around the tables.
    fn operations(&mut self, node: &'p Node, prefix: &mut Prefix) -> Vec<(&'static str, Json)> {
        match node {
            Node::Sort { input, keys, .. } => {
                let inner = self.operations(input, prefix);
                let sort = prefix.rows;
                prefix.cost += sort;
                let mut members = vec![("using_filesort", Json::Bool(true)), ("cost_info", Json::Object(vec![("sort_cost", cost(sort))]))];
                members.extend(inner);
                self.subqueries("order_by_subqueries", keys.iter().map(|key| &key.expr), &mut members);
                vec![("ordering_operation", Json::Object(members))]
            }
            Node::Group(group) => {
                let inner = self.operations(&group.input, prefix);
                if group.is_single() {
                    return inner;
                }
                let mut members = Vec::new();
                if !group.ordered {
                    members.push(("using_temporary_table", Json::Bool(true)));
                }
                members.push(("using_filesort", Json::Bool(false)));
                members.extend(inner);
                self.subqueries("group_by_subqueries", group.keys.iter().map(|(_, e)| e), &mut members);
                vec![("grouping_operation", Json::Object(members))]
            }
            Node::Distinct { input, .. } => {
                let mut members = vec![("using_temporary_table", Json::Bool(true)), ("using_filesort", Json::Bool(false))];
                members.extend(self.operations(input, prefix));
                vec![("duplicates_removal", Json::Object(members))]
            }
            Node::Window(window) => {
                let inner = self.operations(&window.input, prefix);
                let sorts = !window.keys.is_empty();
                let keys =
                    window.keys.iter().map(|k| text(self.names.text(&k.expr, true) + if k.descending { " desc" } else { "" })).collect();
                let mut own = vec![("name", text("<unnamed window>"))];
                if sorts {
                    own.push(("using_filesort", Json::Bool(true)));
                    own.push(("filesort_key", Json::Array(keys)));
                }
                let mut members = vec![("windows", Json::Array(vec![Json::Object(own)]))];
                members.extend(inner);
                let mut computed: Vec<&Expr> = window.keys.iter().map(|key| &key.expr).collect();
                window.calls.iter().for_each(|(_, call)| call.for_each_expr(&mut |e| computed.push(e)));
                self.subqueries("select_list_subqueries", computed, &mut members);
                vec![("windowing", Json::Object(members))]
            }
            Node::Limit { input, .. } | Node::Project { input, .. } => self.operations(input, prefix),
            Node::Filter { input, predicate }
                if matches!(**input, Node::Group(_) | Node::Window(_) | Node::Sort { .. } | Node::Distinct { .. }) =>
            {
                let mut members = self.operations(input, prefix);
                match members.as_mut_slice() {
                    [("grouping_operation", Json::Object(grouping))] => self.subqueries("having_subqueries", [predicate], grouping),
                    _ => self.subqueries("having_subqueries", [predicate], &mut members),
                }
                members
            }
            node => {
                let mut tables = Vec::new();
                self.joined(node, Joined::default(), prefix, &mut tables);
                match tables.len() {
                    0 => Vec::new(),
                    1 => vec![("table", tables.remove(0))],
                    _ => vec![("nested_loop", Json::Array(tables.into_iter().map(|t| Json::Object(vec![("table", t)])).collect()))],
                }
            }
        }
    }

    /// The tables of a join in the order in which they are read.
    fn joined(&mut self, node: &'p Node, how: Joined<'p>, prefix: &mut Prefix, out: &mut Vec<Json>) {
        match node {
            Node::Table(t) => {
                let table = self.table(t, how, prefix);
                out.push(table);
            }
            Node::Nested { outer, inner, kind, on, .. } => {
                self.joined(outer, how, prefix, out);
                self.joined(
                    inner,
                    Joined { kind: Some(*kind), condition: on.as_ref(), batched: super::is_batched(inner), ..Joined::default() },
                    prefix,
                    out,
                );
            }
            Node::Hash(h) => {
                self.joined(&h.probe, how, prefix, out);
                self.joined(
                    &h.build,
                    Joined { kind: Some(h.kind), condition: h.on.as_ref(), hash: true, ..Joined::default() },
                    prefix,
                    out,
                );
            }
            Node::Filter { input, predicate } => self.joined(input, Joined { condition: Some(predicate), ..how }, prefix, out),
            Node::Project { input, .. } | Node::Limit { input, .. } => self.joined(input, how, prefix, out),
            Node::Virtual(t) => {
                let mut members = vec![("table_name", text(&*t.alias)), ("access_type", text("ALL"))];
                self.finish(&mut members, t.rows, 100.0, how, prefix, true);
                out.push(Json::Object(members));
            }
            Node::JsonTable(t) => {
                let mut members = vec![("table_name", text(&*t.alias)), ("access_type", text("ALL"))];
                self.finish(&mut members, crate::json_table::ROWS, 100.0, how, prefix, true);
                let at = members.iter().position(|(name, _)| *name == "cost_info").unwrap_or(members.len());
                let own = [("table_function", text("json_table")), ("using_temporary_table", Json::Bool(true))];
                members.splice(at..at, own);
                let used = t.table.columns.iter().zip(&t.slots).filter(|(_, slot)| slot.is_some()).map(|(column, _)| text(&*column.name));
                members.push(("used_columns", Json::Array(used.collect())));
                if let Some(condition) = how.condition {
                    members.push(("attached_condition", text(self.names.text(condition, true))));
                }
                out.push(Json::Object(members));
            }
            Node::Materialize { input, .. } => {
                let id = self.new_id();
                let block = self.block(input, id);
                let mut members = vec![("table_name", text(format!("<derived{id}>"))), ("access_type", text("ALL"))];
                self.finish(&mut members, 2.0, 100.0, how, prefix, true);
                members.push((
                    "materialized_from_subquery",
                    Json::Object(vec![
                        ("using_temporary_table", Json::Bool(true)),
                        ("dependent", Json::Bool(false)),
                        ("cacheable", Json::Bool(true)),
                        ("query_block", block),
                    ]),
                ));
                out.push(Json::Object(members));
            }
            Node::Recursive { seed, step, .. } => {
                let id = self.new_id();
                let (first, next) = (self.block(seed, id), self.new_id());
                let next = self.block(step, next);
                let mut members = vec![("table_name", text(format!("<derived{id}>"))), ("access_type", text("ALL"))];
                self.finish(&mut members, 2.0, 100.0, how, prefix, true);
                let specifications = [first, next].into_iter().map(|block| Json::Object(vec![("query_block", block)])).collect();
                let recursive = vec![("using_temporary_table", Json::Bool(true)), ("query_specifications", Json::Array(specifications))];
                members.push(("materialized_from_subquery", Json::Object(recursive)));
                out.push(Json::Object(members));
            }
            Node::RecursiveScan { .. } => {
                let mut members = vec![("table_name", text("<recursive>")), ("access_type", text("ALL"))];
                self.finish(&mut members, 2.0, 100.0, how, prefix, true);
                out.push(Json::Object(members));
            }
            Node::Unit | Node::Empty | Node::Values { .. } => {}
            Node::Union { branches, .. } | Node::SetOperation { branches, .. } => {
                let id = self.new_id();
                let result = self.union(branches, id, false);
                out.push(result);
            }
            // A group or a sort below a join: its tables are read first.
            Node::Group(_) | Node::Window(_) | Node::Sort { .. } | Node::Distinct { .. } => {
                let members = self.operations(node, prefix);
                out.push(Json::Object(members));
            }
        }
    }

    fn table(&mut self, t: &'p TableNode, how: Joined<'p>, prefix: &mut Prefix) -> Json {
        let def = &self.plan.tables[t.table as usize].def;
        let index_name = |i: u32| text(&def.indexes[i as usize].name);
        let mut members = Vec::new();
        if t.keep_key.is_some_and(|slot| self.targets.1.contains(&slot)) {
            members.push((self.targets.0, Json::Bool(true)));
        }
        members.push(("table_name", text(&*t.alias)));
        let (access, key, spec) = match &t.access {
            Access::Full { .. } => ("ALL", None, None),
            Access::Index { index, ranges: None, .. } => ("index", Some(*index), None),
            Access::Index { index, ranges: Some(spec), unique, .. } => (access_type(spec, *unique), Some(*index), Some(spec)),
            Access::Groups(groups) => ("range", Some(groups.index), None),
            Access::Merge { .. } => ("index_merge", None, None),
        };
        members.push(("access_type", text(access)));
        if !t.possible.is_empty() {
            members.push(("possible_keys", Json::Array(t.possible.iter().map(|i| index_name(*i)).collect())));
        }
        if let Some(merged) = merged(def, &t.access) {
            members.push(("key", text(merged.how)));
            members.push(("key_length", text(merged.lengths)));
        }
        if let Some(index) = key {
            members.push(("key", index_name(index)));
            let mut parts = def.indexes[index as usize].parts.clone();
            if index != 0 && spec.is_some() {
                parts.extend_from_slice(&def.indexes[0].parts);
            }
            let all = if let Access::Groups(groups) = &t.access { groups.bounded_within().end } else { parts.len() };
            let used =
                spec.map_or(all, |spec| spec.any.iter().map(|a| a.points.len() + usize::from(a.interval.is_some())).max().unwrap_or(0));
            let used = &parts[..used.min(parts.len())];
            members.push(("used_key_parts", Json::Array(used.iter().map(|p| text(&def.columns[p.column].name)).collect())));
            let length: u64 = used.iter().map(|p| key_bytes(&def.columns[p.column].ty, p.prefix_chars)).sum();
            members.push(("key_length", text(length.to_string())));
            if let (Some(spec), "const" | "eq_ref" | "ref") = (spec, access) {
                let refs = spec.any[0].points.iter().map(|p| text(self.reference(&p[0]))).collect();
                members.push(("ref", Json::Array(refs)));
            }
        }
        let (covering, what) = match &t.access {
            Access::Groups(groups) if groups.ends == GroupEnds::All => (true, "using_index_for_skip_scan"),
            Access::Groups(_) => (true, "using_index_for_group_by"),
            _ => (is_covering(self.plan, t), "using_index"),
        };
        self.finish(&mut members, t.rows, t.filtered, how, prefix, !covering);
        if covering {
            let at = members.iter().position(|(name, _)| *name == "cost_info").unwrap_or(members.len());
            members.insert(at, (what, Json::Bool(true)));
        }
        let mut columns: Vec<u32> = t.columns.iter().map(|(column, _)| *column).collect();
        columns.sort_unstable();
        columns.dedup();
        if !columns.is_empty() {
            members.push(("used_columns", Json::Array(columns.iter().map(|c| text(&def.columns[*c as usize].name)).collect())));
        }
        let attached: Vec<String> = t.filter.iter().chain(how.condition).map(|e| self.names.text(e, true)).collect();
        match attached.as_slice() {
            [] => {}
            [one] => members.push(("attached_condition", text(one))),
            more => members.push(("attached_condition", text(format!("({})", more.join(" and "))))),
        }
        self.subqueries("attached_subqueries", t.filter.iter().chain(how.condition), &mut members);
        Json::Object(members)
    }

    /// Rows and costs of a table, and how it is joined.
    fn finish(
        &self,
        members: &mut Vec<(&'static str, Json)>,
        rows: f64,
        filtered: f64,
        how: Joined<'_>,
        prefix: &mut Prefix,
        fetched: bool,
    ) {
        let rows = rows.ceil().max(1.0);
        let produced = match how.kind {
            Some(JoinKind::Semi | JoinKind::Anti) => prefix.rows,
            _ => (prefix.rows * rows * filtered / 100.0).max(1.0),
        };
        let scans = if how.hash { 1.0 } else { prefix.rows };
        let read = scans * (READ_BEGUN + rows * if fetched { 0.025 } else { 0.0125 });
        let evaluated = scans * rows * ROW_EVALUATED;
        prefix.cost += read + evaluated;
        prefix.rows = produced;
        members.push(("rows_examined_per_scan", Json::Number(rows as u64)));
        members.push(("rows_produced_per_join", Json::Number(produced.round() as u64)));
        members.push(("filtered", text(format!("{filtered:.2}"))));
        match how.kind {
            Some(JoinKind::Semi) => members.push(("first_match", Json::Bool(true))),
            Some(JoinKind::Anti) => members.push(("not_exists", Json::Bool(true))),
            _ => {}
        }
        if how.hash {
            members.push(("using_join_buffer", text("hash join")));
        } else if how.batched {
            members.push(("using_join_buffer", text("Batched Key Access")));
        }
        let costs = vec![
            ("read_cost", cost(read)),
            ("eval_cost", cost(evaluated)),
            ("prefix_cost", cost(prefix.cost)),
            ("data_read_per_join", text(format!("{}", (produced * 100.0) as u64))),
        ];
        members.push(("cost_info", Json::Object(costs)));
    }

    fn reference(&self, e: &Expr) -> String {
        match &e.kind {
            ExprKind::Slot(slot) => self.names.reference(*slot).unwrap_or_else(|| "func".into()),
            _ if e.is_settled() => "const".into(),
            _ => "func".into(),
        }
    }

    /// The tables that a statement reads to change some of them.
    fn change(&mut self, input: &'p Node, word: &'static str, targets: Vec<Slot>) -> Members {
        let mut prefix = Prefix::default();
        self.targets = (word, targets);
        let mut members = vec![("select_id", Json::Number(1))];
        members.extend(self.operations(input, &mut prefix));
        self.told_beside(input, &[], &mut members);
        members
    }
}

type Members = Vec<(&'static str, Json)>;

/// How a table comes into a join.
#[derive(Clone, Copy, Default)]
struct Joined<'p> {
    kind: Option<JoinKind>,
    condition: Option<&'p Expr>,
    hash: bool,
    batched: bool,
}

/// Calls `f` with the conditions and computed expressions of a block's operators, those of derived tables left out.
fn expressions<'p>(node: &'p Node, f: &mut dyn FnMut(&'p Expr)) {
    match node {
        Node::Table(t) => t.filter.iter().for_each(f),
        Node::Nested { outer, inner, on, .. } => {
            on.iter().for_each(&mut *f);
            expressions(outer, f);
            expressions(inner, f);
        }
        Node::Hash(h) => {
            h.on.iter().chain(&h.probe_keys).chain(&h.build_keys).for_each(&mut *f);
            expressions(&h.probe, f);
            expressions(&h.build, f);
        }
        Node::Filter { input, predicate } => {
            f(predicate);
            expressions(input, f);
        }
        Node::Project { input, .. } => expressions(input, f),
        Node::Sort { input, keys, .. } => {
            keys.iter().for_each(|k| f(&k.expr));
            expressions(input, f);
        }
        Node::Limit { input, .. } | Node::Distinct { input, .. } => expressions(input, f),
        Node::Group(g) => {
            g.keys.iter().for_each(|(_, e)| f(e));
            g.aggregates.iter().flat_map(|(_, a)| &a.args).for_each(&mut *f);
            expressions(&g.input, f);
        }
        Node::Window(w) => {
            w.keys.iter().for_each(|k| f(&k.expr));
            w.calls.iter().for_each(|(_, call)| call.for_each_expr(f));
            expressions(&w.input, f);
        }
        _ => {}
    }
}

/// Calls `f` with the expressions that a block's operators compute for its select list.
fn projected<'p>(node: &'p Node, f: &mut dyn FnMut(&'p Expr)) {
    match node {
        Node::Project { input, exprs, .. } => {
            exprs.iter().for_each(|(_, e)| f(e));
            projected(input, f);
        }
        Node::Sort { input, .. } | Node::Limit { input, .. } | Node::Distinct { input, .. } | Node::Filter { input, .. } => {
            projected(input, f)
        }
        Node::Window(w) => projected(&w.input, f),
        Node::Group(g) => g.aggregates.iter().flat_map(|(_, a)| &a.args).for_each(f),
        _ => {}
    }
}
