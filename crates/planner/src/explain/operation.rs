//! What a plan does, operator by operator: the one reading of a plan that the tree and JSON of version 2 print, so that they cannot tell
//! different things. An operator that takes two lines (a sort that ends at a limit, a filtered table) has its counts on the upper one.
//!
//! Estimates are the planner's where the plan keeps them, and made of those below by its rules elsewhere; costs are in MySQL's proportions.

use super::document::{Json, text};
use super::text::Names;
use super::{is_batched, join_word};
use crate::expr::{Expr, ExprKind};
use crate::plan::{
    Body, Group, HashJoin, Insert, InsertSource, JoinKind, LimitSpec, Named, Node, Plan, Query, SortKey, Subplan, VirtualNode,
};
use crate::selectivity::selectivity;
use crate::window::Window;
use std::collections::BTreeSet;
use types::Value;

/// Cost of evaluating a row.
pub(super) const ROW_EVALUATED: f64 = 0.1;
/// Cost of beginning to read.
pub(super) const READ_BEGUN: f64 = 0.25;

/// A line of the tree; an object of JSON.
#[derive(Debug, Default)]
pub(super) struct Operation {
    /// What stands in a line of its own above: what its rows are for.
    pub heading: Option<String>,
    /// What it does.
    pub text: String,
    /// MySQL's `access_type`.
    pub access: Option<&'static str>,
    /// Expected rows of one run.
    pub rows: Option<f64>,
    /// Cost of one run, with all below it.
    pub cost: Option<f64>,
    /// Cost up to the first row, where that is told.
    pub first_cost: Option<f64>,
    /// The node whose counts it has.
    pub node: Option<usize>,
    /// Further members of its object.
    pub members: Vec<(&'static str, Json)>,
    /// What it reads, and subqueries of its condition.
    pub inputs: Vec<Operation>,
    /// Subqueries of values that are computed of its rows.
    pub select_list: Vec<Operation>,
}

/// The operations of a plan.
pub(super) fn of(plan: &Plan) -> Operation {
    let mut walk = Walk { plan, names: Names::of(plan), seen: BTreeSet::new(), kept: BTreeSet::new() };
    let mut root = match &plan.body {
        Body::Query(q) => walk.query(q),
        Body::Insert(i) => walk.insert(i),
        Body::Update(u) => {
            let how = if u.buffered { "buffered" } else { "immediate" };
            let targets = u.targets.iter().map(|t| format!("{} ({how})", plan.tables[t.table as usize].def.name));
            let text = format!("Update {}", targets.collect::<Vec<_>>().join(", "));
            Operation { text, inputs: vec![walk.node(&u.input)], ..Operation::default() }
        }
        Body::Delete(d) => {
            let targets = d.targets.iter().map(|t| plan.tables[t.table as usize].def.name.as_str());
            let targets = targets.collect::<Vec<_>>().join(", ");
            let input = walk.node(&d.input);
            Operation {
                text: format!("Delete from {targets}"),
                access: Some("delete_rows"),
                rows: input.rows,
                cost: input.cost.zip(input.rows).map(|(cost, rows)| cost + rows * ROW_EVALUATED),
                members: vec![("tables", super::document::text(targets))],
                inputs: vec![input],
                ..Operation::default()
            }
        }
    };
    for n in 0..plan.subplans.len() as u32 {
        let rest = walk.subquery(n, "projection");
        root.select_list.extend(rest);
    }
    root
}

pub(super) struct Walk<'p> {
    pub plan: &'p Plan,
    pub names: Names,
    /// Subqueries that have been told of.
    seen: BTreeSet<u32>,
    /// Caches whose making has been told of.
    kept: BTreeSet<u32>,
}

pub(super) fn address(node: &Node) -> usize {
    std::ptr::from_ref(node).addr()
}

/// The number that a limit is, if it is known.
fn number(e: Option<&Expr>) -> Option<u64> {
    match e.map(|e| &e.kind) {
        None => Some(0),
        Some(ExprKind::Literal(Value::Int(v))) => u64::try_from(*v).ok(),
        Some(ExprKind::Literal(Value::UInt(v))) => Some(*v),
        _ => None,
    }
}

fn shown(n: Option<u64>) -> String {
    n.map_or_else(|| "?".into(), |n| n.to_string())
}

/// How many rows a limit reads, those that it passes over included.
fn taken(limit: &LimitSpec) -> Option<u64> {
    limit.count.as_ref()?;
    Some(number(limit.count.as_ref())?.saturating_add(number(limit.offset.as_ref())?))
}

impl<'p> Walk<'p> {
    fn query(&mut self, q: &'p Query) -> Operation {
        let mut root = self.node(&q.root);
        let computed = self.subqueries(&q.output, "projection");
        root.select_list.extend(computed);
        root
    }

    fn insert(&mut self, i: &'p Insert) -> Operation {
        let def = &self.plan.tables[i.table as usize].def;
        let word = if i.replace { "Replace" } else { "Insert" };
        let columns = def.columns[..def.user_columns()].iter().map(|c| c.name.as_str());
        let members = vec![("table_name", text(&def.name)), ("schema_name", text(&def.database)), ("used_columns", Json::texts(columns))];
        let (access, input) = match &i.source {
            InsertSource::Query(q) => (None, self.query(q)),
            _ => (Some("insert_values"), Operation { rows: None, cost: None, first_cost: None, ..made_before(0.0) }),
        };
        Operation { text: format!("{word} into {}", def.name), access, members, inputs: vec![input], ..Operation::default() }
    }

    /// The subqueries of expressions that nothing has told of.
    pub(super) fn subqueries<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>, location: &'static str) -> Vec<Operation> {
        let mut found = Vec::new();
        for e in exprs {
            e.walk(&mut |e| {
                if let ExprKind::Subquery(n, _) = &e.kind {
                    found.push(*n);
                }
            });
        }
        found.into_iter().filter_map(|n| self.subquery(n, location)).collect()
    }

    fn subquery(&mut self, n: u32, location: &'static str) -> Option<Operation> {
        let plan = self.plan;
        let Subplan { query, outer_slots, volatile, lookup, .. } = plan.subplans.get(n as usize)?;
        if matches!(query.root, Node::Empty) && lookup.is_none() || !self.seen.insert(n) {
            return None;
        }
        let (how, member) = match lookup {
            Some(lookup) => (format!("grouped lookup on {} keys", lookup.probe.len()), "cacheable"),
            None if !outer_slots.is_empty() => ("dependent".into(), "dependent"),
            None if *volatile => ("uncacheable".into(), "uncacheable"),
            None => ("run only once".into(), "cacheable"),
        };
        let mut root = self.query(lookup.as_ref().map_or(query, |lookup| &lookup.grouped));
        let heading = format!("Select #{} (subquery in {location}; {how})", n + 2);
        if let Some(below) = root.heading.replace(heading) {
            // None has one at its root; if it had, both would be told.
            root.text = format!("{below}: {}", root.text);
        }
        root.members.extend([("subquery", Json::Bool(true)), (member, Json::Bool(true)), ("subquery_location", text(location))]);
        Some(root)
    }

    /// A filter over an operation.
    pub(super) fn filter(&mut self, input: Operation, condition: &'p Expr, share: f64) -> Operation {
        let condition_text = self.names.text(condition, false);
        let columns = self.names.columns_of([condition]);
        let (rows, cost, first_cost) = (input.rows.map(|rows| rows * share), input.cost, input.first_cost);
        let mut inputs = vec![input];
        inputs.extend(self.subqueries([condition], "condition"));
        Operation {
            text: format!("Filter: {condition_text}"),
            access: Some("filter"),
            rows,
            cost,
            first_cost,
            members: vec![("condition", text(condition_text)), ("filter_columns", Json::texts(columns))],
            inputs,
            ..Operation::default()
        }
    }

    pub(super) fn node(&mut self, node: &'p Node) -> Operation {
        let mut operation = match node {
            Node::Unit => made_before(1.0),
            Node::Empty => Operation { text: "Zero rows".into(), access: Some("zero_rows"), ..made_before(0.0) },
            Node::Values { rows, .. } => made_before(rows.len() as f64),
            Node::Table(t) => self.table(t),
            Node::Virtual(t) => self.computed_table(t),
            Node::JsonTable(t) => {
                let (rows, columns) = (crate::json_table::ROWS, t.table.columns.iter().zip(&t.slots));
                let used = columns.filter(|(_, slot)| slot.is_some()).map(|(column, _)| &*column.name);
                Operation {
                    text: "Materialize table function".into(),
                    access: Some("materialized_table_function"),
                    rows: Some(rows),
                    cost: Some(READ_BEGUN + rows * ROW_EVALUATED),
                    members: vec![("table_name", text(&*t.alias)), ("used_columns", Json::texts(used))],
                    ..Operation::default()
                }
            }
            Node::Nested { outer, inner, kind, on, .. } => self.nested(outer, inner, *kind, on.as_ref()),
            Node::Hash(h) => self.hash(h),
            Node::Filter { input, predicate } => {
                let input = self.node(input);
                self.filter(input, predicate, selectivity(predicate))
            }
            Node::Project { input, exprs, .. } => {
                let mut below = self.node(input);
                let computed = self.subqueries(exprs.iter().map(|(_, e)| e), "projection");
                below.select_list.extend(computed);
                // It has no line of its own.
                return below;
            }
            Node::Group(g) => self.group(g),
            Node::Window(w) => self.window(w),
            Node::Sort { input, keys, limit, .. } => {
                let input = self.node(input);
                let sort = self.sort(input, keys, limit.as_ref());
                match limit {
                    Some(limit) => limited(sort, limit),
                    None => sort,
                }
            }
            Node::Limit { input, limit } => {
                let input = self.node(input);
                limited(input, limit)
            }
            Node::Distinct { input, .. } => {
                let input = self.node(input);
                let members = vec![("temp_table", Json::Bool(true)), ("deduplication", Json::Bool(true))];
                let cost = input.cost.zip(input.rows).map(|(cost, rows)| cost + rows * ROW_EVALUATED);
                let (text, access, rows) = ("Temporary table with deduplication".into(), Some("materialize"), input.rows);
                Operation { text, access, rows, cost, members, inputs: vec![input], ..Operation::default() }
            }
            Node::Union { branches, .. } => {
                let inputs: Vec<Operation> = branches.iter().map(|b| self.query(b)).collect();
                let sum = |of: fn(&Operation) -> Option<f64>| inputs.iter().map(of).sum::<Option<f64>>();
                let (rows, cost) = (sum(|input| input.rows), sum(|input| input.cost));
                Operation { text: "Append".into(), access: Some("append"), rows, cost, inputs, ..Operation::default() }
            }
            Node::SetOperation { branches, except, all, .. } => self.set_operation(branches, *except, *all),
            Node::Materialize { input, cache, outer_slots, shared, of, .. } => {
                let told = !self.kept.insert(*cache);
                let mut making = Operation { access: Some("materialize"), ..Operation::default() };
                if *shared {
                    making.text = format!("Materialize CTE {} if needed", of.alias);
                    making.members.push(("cte", Json::Bool(true)));
                } else {
                    making.text = "Materialize".into();
                }
                if told {
                    making.text.push_str(" (query plan printed elsewhere)");
                } else {
                    let below = self.query(input);
                    making.rows = below.rows;
                    making.cost = below.cost.zip(below.rows).map(|(cost, rows)| cost + rows * ROW_EVALUATED);
                    making.first_cost = making.cost;
                    making.inputs.push(below);
                }
                if !outer_slots.is_empty() {
                    making.text.push_str(" (invalidated by rows from outside)");
                }
                scan_of(making, of)
            }
            Node::Recursive { seed, step, limit, of, .. } => {
                let limited = if limit.is_some() { ", limit rows" } else { "" };
                let seed = self.query(seed);
                let mut step = self.query(step);
                step.heading = Some("Repeat until convergence".into());
                let making = Operation {
                    text: format!("Materialize recursive CTE {}{limited}", of.alias),
                    access: Some("materialize"),
                    rows: seed.rows.zip(step.rows).map(|(seed, step)| seed + step),
                    cost: seed.cost.zip(step.cost).map(|(seed, step)| seed + step),
                    members: vec![("cte", Json::Bool(true)), ("recursive", Json::Bool(true))],
                    inputs: vec![seed, step],
                    ..Operation::default()
                };
                let first_cost = making.cost;
                scan_of(Operation { first_cost, ..making }, of)
            }
            Node::RecursiveScan { of, .. } => Operation {
                text: format!("Scan new records on {}", of.alias),
                access: Some("scan_new_records"),
                members: vec![("table_name", text(&*of.alias)), ("used_columns", Json::texts(of.columns.iter().map(|c| &**c)))],
                ..Operation::default()
            },
        };
        operation.node = Some(address(node));
        operation
    }

    fn computed_table(&mut self, t: &'p VirtualNode) -> Operation {
        let keys: Vec<&str> = t.keys.iter().map(|(key, _)| t.table.columns[t.table.keys[*key as usize] as usize].name).collect();
        let by = if keys.is_empty() { String::new() } else { format!(" by {}", keys.join(", ")) };
        let mut members = vec![("table_name", text(t.table.name)), ("schema_name", text(t.table.database))];
        if !t.alias.eq_ignore_ascii_case(t.table.name) {
            members.push(("alias", text(&*t.alias)));
        }
        if !keys.is_empty() {
            members.push(("key_columns", Json::texts(keys)));
        }
        let used: BTreeSet<u32> = t.columns.iter().map(|(column, _)| *column).collect();
        members.push(("used_columns", Json::texts(used.iter().map(|c| t.table.columns[*c as usize].name))));
        let rows = t.rows.ceil().max(1.0);
        Operation {
            text: format!("Computed rows of {}{by}", t.alias),
            access: Some("table"),
            rows: Some(rows),
            cost: Some(READ_BEGUN + rows * ROW_EVALUATED),
            members,
            ..Operation::default()
        }
    }

    fn nested(&mut self, outer: &'p Node, inner: &'p Node, kind: JoinKind, on: Option<&'p Expr>) -> Operation {
        let batched = is_batched(inner);
        let (mut outer, inner) = (self.node(outer), self.node(inner));
        let (mut name, algorithm) = match batched {
            true => ("Batched key access", "batch_key_access"),
            false => ("Nested loop", "nested_loop"),
        };
        if batched {
            outer.heading = Some("Batch input rows".into());
        }
        let rows = outer.rows.zip(inner.rows).map(|(outer, inner)| match kind {
            JoinKind::Inner => outer * inner,
            JoinKind::Left => outer * inner.max(1.0),
            JoinKind::Semi => outer * inner.min(1.0),
            JoinKind::Anti => outer,
        });
        let runs = outer.rows.unwrap_or(1.0);
        let cost = outer.cost.zip(inner.cost).map(|(outer, inner)| outer + runs * inner);
        let mut members = join_members(kind, algorithm);
        let mut line = format!("{name} {}", join_word(kind));
        if kind == JoinKind::Semi {
            line.push_str(" (FirstMatch)");
        }
        let mut inputs = vec![outer, inner];
        if let Some(on) = on {
            let condition = self.names.text(on, false);
            line.push_str(&format!(", extra conditions: {condition}"));
            members.push(("extra_condition", Json::texts([condition])));
            inputs.extend(self.subqueries([on], "condition"));
        }
        name = "join";
        Operation { text: line, access: Some(name), rows, cost, members, inputs, ..Operation::default() }
    }

    fn hash(&mut self, h: &'p HashJoin) -> Operation {
        let (probe, mut build) = (self.node(&h.probe), self.node(&h.build));
        build.heading = Some("Hash".into());
        let sign = if h.null_safe { "<=>" } else { "=" };
        let pair = |(a, b): (&Expr, &Expr)| format!("({} {sign} {})", self.names.text(a, false), self.names.text(b, false));
        let conditions: Vec<String> = h.probe_keys.iter().zip(&h.build_keys).map(pair).collect();
        let extra: Vec<String> = h.on.iter().map(|e| self.names.text(e, false)).collect();
        let exprs: Vec<&Expr> = h.probe_keys.iter().chain(&h.build_keys).chain(&h.on).collect();
        let columns = self.names.columns_of(exprs.iter().copied());
        let mut line = String::from(match h.kind {
            JoinKind::Inner => "Inner hash join",
            JoinKind::Left => "Left hash join",
            JoinKind::Semi => "Hash semijoin (FirstMatch)",
            JoinKind::Anti => "Hash antijoin",
        });
        match conditions.is_empty() {
            true => line.push_str(" (no condition)"),
            false => line.push_str(&format!(" {}", conditions.join(", "))),
        }
        if !extra.is_empty() {
            line.push_str(&format!(", extra conditions: {}", extra.join(" and ")));
        }
        let mut members = join_members(h.kind, "hash");
        members.extend([("hash_condition", Json::texts(conditions)), ("join_columns", Json::texts(columns))]);
        if !extra.is_empty() {
            members.push(("extra_condition", Json::texts(extra)));
        }
        let worked = probe.rows.zip(build.rows).map(|(probe, build)| (probe + build) * ROW_EVALUATED);
        let cost = [probe.cost, build.cost, worked].into_iter().sum();
        let mut inputs = vec![probe, build];
        inputs.extend(self.subqueries(exprs, "condition"));
        Operation { text: line, access: Some("join"), rows: Some(h.rows), cost, members, inputs, ..Operation::default() }
    }

    fn group(&mut self, g: &'p Group) -> Operation {
        let input = self.node(&g.input);
        let functions: Vec<String> = g.aggregates.iter().map(|(_, a)| self.names.aggregate(a, false)).collect();
        let list = if functions.is_empty() { String::new() } else { format!(": {}", functions.join(", ")) };
        let (line, access) = match (g.is_single(), g.ordered) {
            (true, _) => (format!("Aggregate{list}"), "aggregate"),
            (_, true) if g.rollup.is_some() => (format!("Group aggregate with rollup{list}"), "aggregate"),
            (_, true) if functions.is_empty() => ("Group (no aggregates)".into(), "aggregate"),
            (_, true) => (format!("Group aggregate{list}"), "aggregate"),
            _ => ("Aggregate using temporary table".into(), "temp_table_aggregate"),
        };
        let mut members = Vec::new();
        if !functions.is_empty() {
            members.push(("functions", Json::texts(functions)));
        }
        if !g.is_single() {
            members.push(("group_by", Json::Bool(true)));
        }
        if g.rollup.is_some() {
            members.push(("rollup", Json::Bool(true)));
        }
        let rows = input.rows.map(|rows| if g.is_single() { 1.0 } else { crate::optimize::groups_of(rows).min(rows.max(1.0)) });
        let cost = input.cost.zip(input.rows).map(|(cost, rows)| cost + rows * ROW_EVALUATED);
        let arguments = g.aggregates.iter().flat_map(|(_, a)| &a.args);
        let select_list = self.subqueries(g.keys.iter().map(|(_, e)| e).chain(arguments), "projection");
        Operation { text: line, access: Some(access), rows, cost, members, inputs: vec![input], select_list, ..Operation::default() }
    }

    fn window(&mut self, w: &'p Window) -> Operation {
        let mut input = self.node(&w.input);
        if !w.keys.is_empty() {
            input = self.sort(input, &w.keys, None);
        }
        let functions: Vec<String> = w.calls.iter().map(|(_, call)| self.names.call_over(w, call, false)).collect();
        Operation {
            text: format!("Window aggregate with buffering: {}", functions.join(", ")),
            access: Some("window"),
            rows: input.rows,
            cost: input.cost.zip(input.rows).map(|(cost, rows)| cost + rows * ROW_EVALUATED),
            members: vec![("buffering", Json::Bool(true)), ("functions", Json::texts(functions))],
            inputs: vec![input],
            ..Operation::default()
        }
    }

    fn sort(&mut self, input: Operation, keys: &'p [SortKey], limit: Option<&LimitSpec>) -> Operation {
        let fields: Vec<String> = keys.iter().map(|k| self.names.sort_key(k, false)).collect();
        let mut line = format!("Sort: {}", fields.join(", "));
        let mut members = vec![("sort_fields", Json::texts(fields))];
        let mut rows = input.rows;
        if let Some(limit) = limit {
            let most = taken(limit);
            line.push_str(&format!(", limit input to {} row(s) per chunk", shown(most)));
            members.extend(most.map(|most| ("per_chunk_limit", Json::Number(most))));
            rows = rows.map(|rows| most.map_or(rows, |most| rows.min(most as f64)));
        }
        let cost = input.cost.zip(input.rows).map(|(cost, rows)| cost + rows);
        let select_list = self.subqueries(keys.iter().map(|k| &k.expr), "projection");
        Operation { text: line, access: Some("sort"), rows, cost, members, inputs: vec![input], select_list, ..Operation::default() }
    }

    fn set_operation(&mut self, branches: &'p [Query], except: bool, all: bool) -> Operation {
        let (name, member) = if except { ("Except", "except") } else { ("Intersect", "intersect") };
        let how = if all { " all materialize" } else { " materialize with deduplication" };
        let inputs: Vec<Operation> = branches.iter().map(|b| self.query(b)).collect();
        let mut members = vec![(member, Json::Bool(true))];
        if !all {
            members.push(("deduplication", Json::Bool(true)));
        }
        let read: Option<f64> = inputs.iter().map(|input| input.rows).sum();
        let cost: Option<f64> = inputs.iter().map(|input| input.cost).sum();
        let rows = match except {
            true => inputs.first().and_then(|input| input.rows),
            false => inputs.iter().map(|input| input.rows).reduce(|a, b| a.zip(b).map(|(a, b)| a.min(b))).flatten(),
        };
        let cost = cost.zip(read).map(|(cost, rows)| cost + rows * ROW_EVALUATED);
        Operation { text: format!("{name}{how}"), access: Some("materialize"), rows, cost, members, inputs, ..Operation::default() }
    }
}

/// Rows that are there before anything is read.
fn made_before(rows: f64) -> Operation {
    Operation {
        text: "Rows fetched before execution".into(),
        access: Some("rows_fetched_before_execution"),
        rows: Some(rows),
        cost: Some(0.0),
        first_cost: Some(0.0),
        ..Operation::default()
    }
}

/// What reads kept rows.
fn scan_of(making: Operation, of: &Named) -> Operation {
    Operation {
        text: format!("Table scan on {}", of.alias),
        access: Some("table"),
        rows: making.rows,
        cost: making.cost.zip(making.rows).map(|(cost, rows)| cost + READ_BEGUN + rows * ROW_EVALUATED),
        first_cost: making.first_cost,
        members: vec![("table_name", text(&*of.alias)), ("used_columns", Json::texts(of.columns.iter().map(|c| &**c)))],
        inputs: vec![making],
        ..Operation::default()
    }
}

fn limited(input: Operation, limit: &LimitSpec) -> Operation {
    let (count, offset) = (limit.count.as_ref().and_then(|e| number(Some(e))), number(limit.offset.as_ref()));
    let line = match &limit.offset {
        Some(_) if offset != Some(0) => format!("Limit/Offset: {}/{} row(s)", shown(count), shown(offset)),
        _ => format!("Limit: {} row(s)", shown(count)),
    };
    let mut members = Vec::new();
    members.extend(taken(limit).map(|n| ("limit", Json::Number(n))));
    members.extend(offset.map(|n| ("limit_offset", Json::Number(n))));
    let left = input.rows.map(|rows| (rows - offset.unwrap_or(0) as f64).max(0.0));
    Operation {
        text: line,
        access: Some("limit"),
        rows: left.map(|rows| count.map_or(rows, |count| rows.min(count as f64))),
        cost: input.cost,
        first_cost: input.first_cost,
        members,
        inputs: vec![input],
        ..Operation::default()
    }
}

fn join_members(kind: JoinKind, algorithm: &'static str) -> Vec<(&'static str, Json)> {
    let mut members = vec![("join_type", text(join_word(kind))), ("join_algorithm", text(algorithm))];
    if kind == JoinKind::Semi {
        members.push(("semijoin_strategy", text("firstmatch")));
    }
    members
}
