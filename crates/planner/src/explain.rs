//! EXPLAIN: the traditional table, the tree, and JSON in both of MySQL's versions.
//!
//! # Start at
//! `operation.rs`, of which the tree and JSON of version 2 are made; the table is here, JSON of version 1 in `json.rs`.

mod document;
mod json;
mod json_tree;
mod operation;
mod sets;
mod table;
mod text;
mod tree;

pub use json::json;
pub use json_tree::{NOT_EXECUTABLE, analyzed_json_tree, json_tree, not_executable_json_tree};
pub use text::Names;
pub use tree::{analyzed_tree, tree};

use crate::explain::sets::Sets;
use crate::expr::{Expr, ExprKind, Slot};
use crate::plan::{
    Access, Body, GroupEnds, Groups, HashJoin, InsertSource, JoinKind, KeyBatches, MergeArm, Node, Plan, Query, RangeSpec, TableNode,
    VirtualNode,
};
use crate::short::ShortPlan;
use catalog::TableDef;
use std::collections::HashMap;
use types::{ColumnType, Value};

/// Rows of the traditional table.
pub fn traditional(plan: &Plan) -> Vec<Vec<Value>> {
    let mut out = Rows { plan, rows: Vec::new(), changed: None, next_id: plan.subplans.len() as u64 + 2, sets: Sets::default() };
    let has_more = |root: &Node| !plan.subplans.is_empty() || has_blocks(root);
    let kind_of = |root: &Node| if has_more(root) { "PRIMARY" } else { "SIMPLE" };
    match &plan.body {
        Body::Query(q) => out.query(q, 1, kind_of(&q.root)),
        Body::Insert(i) => {
            let name = &plan.tables[i.table as usize].def.name;
            out.plain(1, if i.replace { "REPLACE" } else { "INSERT" }, Some(name.clone()), Some("ALL"), None);
            if let InsertSource::Query(q) = &i.source {
                out.query(q, 1, kind_of(&q.root));
            }
        }
        Body::Update(u) => out.change(&u.input, "UPDATE", u.targets.iter().map(|target| target.key_slot).collect(), kind_of(&u.input)),
        Body::Delete(d) => out.change(&d.input, "DELETE", d.targets.iter().map(|target| target.key_slot).collect(), kind_of(&d.input)),
    }
    for (n, s) in plan.subplans.iter().enumerate() {
        if matches!(s.query.root, Node::Empty) {
            continue;
        }
        let kind = if s.outer_slots.is_empty() { "SUBQUERY" } else { "DEPENDENT SUBQUERY" };
        match &s.lookup {
            Some(lookup) => out.query(&lookup.grouped, n as u64 + 2, "MATERIALIZED"),
            None => out.query(&s.query, n as u64 + 2, kind),
        }
    }
    if out.rows.is_empty() {
        let kind = if plan.subplans.is_empty() { "SIMPLE" } else { "PRIMARY" };
        out.plain(1, kind, None, None, Some("No tables used"));
    }
    // What is read to make a table stands behind the block that reads that.
    out.rows.sort_by_key(|(place, _)| *place);
    out.rows.into_iter().map(|(_, row)| row).collect()
}

/// Whether a node's rows come of several blocks.
fn has_blocks(node: &Node) -> bool {
    match node {
        Node::Union { .. } | Node::SetOperation { .. } | Node::Materialize { .. } | Node::Recursive { .. } | Node::RecursiveScan { .. } => {
            true
        }
        Node::Unit | Node::Empty | Node::Values { .. } | Node::Table(_) | Node::Virtual(_) | Node::JsonTable(_) => false,
        Node::Nested { outer, inner, .. } => has_blocks(outer) || has_blocks(inner),
        Node::Hash(h) => has_blocks(&h.probe) || has_blocks(&h.build),
        Node::Filter { input, .. }
        | Node::Project { input, .. }
        | Node::Limit { input, .. }
        | Node::Sort { input, .. }
        | Node::Distinct { input, .. } => has_blocks(input),
        Node::Group(g) => has_blocks(&g.input),
        Node::Window(w) => has_blocks(&w.input),
    }
}

struct Rows<'p> {
    plan: &'p Plan,
    /// Behind the numbers of the blocks at which they stand.
    rows: Vec<(u64, Vec<Value>)>,
    sets: Sets,
    /// What is done to which tables, by the slots of their rows.
    changed: Option<(&'static str, Vec<Slot>)>,
    /// The next number for a block that is no subquery of an expression.
    next_id: u64,
}

impl Rows<'_> {
    fn query(&mut self, q: &Query, id: u64, kind: &str) {
        self.node(&q.root, id, kind, &mut Vec::new());
    }

    fn change(&mut self, input: &Node, word: &'static str, targets: Vec<Slot>, kind: &str) {
        self.changed = Some((word, targets));
        self.node(input, 1, kind, &mut Vec::new());
        self.changed = None;
    }

    fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    fn plain(&mut self, id: u64, kind: &str, table: Option<String>, access: Option<&str>, extra: Option<&str>) {
        self.rows.push((id, Self::row(id, kind, table, access, extra)));
    }

    fn row(id: u64, kind: &str, table: Option<String>, access: Option<&str>, extra: Option<&str>) -> Vec<Value> {
        let text = |s: Option<&str>| s.map_or(Value::Null, Value::from);
        vec![
            Value::UInt(id),
            Value::from(kind),
            table.map_or(Value::Null, Value::from),
            Value::Null,
            text(access),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            text(extra),
        ]
    }

    fn node(&mut self, node: &Node, id: u64, kind: &str, extra: &mut Vec<String>) {
        match node {
            Node::Unit | Node::Empty | Node::Values { .. } => {}
            Node::Table(t) => self.table(t, id, kind, std::mem::take(extra)),
            Node::Virtual(t) => self.virtual_table(t, id, kind, std::mem::take(extra)),
            Node::JsonTable(t) => {
                extra.insert(0, "Table function: json_table; Using temporary".into());
                let mut row = Self::row(id, kind, Some(t.alias.to_string()), Some("ALL"), Some(&std::mem::take(extra).join("; ")));
                row[9] = Value::UInt(crate::json_table::ROWS as u64);
                row[10] = Value::Double(100.0);
                self.rows.push((id, row));
            }
            Node::Nested { outer, inner, kind: join, .. } => {
                self.node(outer, id, kind, extra);
                let mut more = join_extra(*join);
                if is_batched(inner) {
                    more.push("Using join buffer (Batched Key Access)".into());
                }
                self.node(inner, id, kind, &mut more);
            }
            Node::Hash(h) => {
                let HashJoin { probe, build, kind: join, .. } = &**h;
                self.node(probe, id, kind, extra);
                let mut more = join_extra(*join);
                more.push("Using join buffer (hash join)".into());
                self.node(build, id, kind, &mut more);
            }
            Node::Filter { input, .. } => {
                if matches!(**input, Node::Virtual(_) | Node::JsonTable(_)) {
                    extra.insert(0, "Using where".into());
                }
                self.node(input, id, kind, extra);
            }
            Node::Project { input, .. } | Node::Limit { input, .. } => self.node(input, id, kind, extra),
            Node::Group(g) => {
                if !g.is_single() && !g.ordered {
                    extra.push("Using temporary".into());
                }
                self.node(&g.input, id, kind, extra);
            }
            Node::Window(w) => {
                extra.push("Using temporary".into());
                if !w.keys.is_empty() {
                    extra.push("Using filesort".into());
                }
                self.node(&w.input, id, kind, extra);
            }
            Node::Sort { input, .. } => {
                extra.push("Using filesort".into());
                self.node(input, id, kind, extra);
            }
            Node::Distinct { input, .. } => {
                extra.push("Using temporary".into());
                self.node(input, id, kind, extra);
            }
            Node::Union { branches, .. } => self.set(branches, "UNION", id, kind, std::mem::take(extra)),
            Node::SetOperation { branches, except, .. } => {
                self.set(branches, if *except { "EXCEPT" } else { "INTERSECT" }, id, kind, std::mem::take(extra));
            }
            Node::Materialize { input, outer_slots, .. } => {
                let own = self.new_id();
                self.plain(id, kind, Some(format!("<derived{own}>")), Some("ALL"), None);
                let kind = if outer_slots.is_empty() { "DERIVED" } else { "DEPENDENT DERIVED" };
                self.apart(|rows| rows.query(input, own, kind));
            }
            Node::Recursive { seed, step, .. } => {
                let own = self.new_id();
                self.plain(id, kind, Some(format!("<derived{own}>")), Some("ALL"), None);
                self.apart(|rows| rows.query(seed, own, "DERIVED"));
                let next = self.new_id();
                self.apart(|rows| rows.query(step, next, "UNION"));
            }
            Node::RecursiveScan { .. } => self.plain(id, kind, None, Some("ALL"), Some("Recursive")),
        }
    }

    fn virtual_table(&mut self, t: &VirtualNode, id: u64, kind: &str, extra: Vec<String>) {
        let mut row = Self::row(id, kind, Some(t.alias.to_string()), Some("ALL"), None);
        if !t.keys.is_empty() {
            let names: Vec<&str> = t.keys.iter().map(|(key, _)| t.table.columns[t.table.keys[*key as usize] as usize].name).collect();
            row[6] = Value::from(names.join(","));
        }
        row[9] = Value::UInt(t.rows.ceil().max(1.0) as u64);
        row[10] = Value::Double(100.0);
        if !extra.is_empty() {
            row[11] = Value::from(extra.join("; "));
        }
        self.rows.push((id, row));
    }

    fn table(&mut self, t: &TableNode, id: u64, kind: &str, mut extra: Vec<String>) {
        let def = &self.plan.tables[t.table as usize].def;
        let kind = match &self.changed {
            Some((word, targets)) if t.keep_key.is_some_and(|slot| targets.contains(&slot)) => word,
            _ => kind,
        };
        let index_name = |i: u32| def.indexes[i as usize].name.clone();
        let (access, key, spec) = match &t.access {
            Access::Full { .. } => ("ALL", None, None),
            Access::Index { index, ranges: None, .. } => ("index", Some(*index), None),
            Access::Index { index, ranges: Some(spec), unique, .. } => (access_type(spec, *unique), Some(*index), Some(spec)),
            Access::Groups(groups) => ("range", Some(groups.index), None),
            Access::Merge { .. } => ("index_merge", None, None),
        };
        let groups = if let Access::Groups(groups) = &t.access { Some(groups) } else { None };
        if let Some(groups) = groups {
            let what = if groups.ends == GroupEnds::All { "skip scan" } else { "group-by" };
            extra.insert(0, format!("Using index for {what}"));
        } else if is_covering(self.plan, t) {
            extra.insert(0, "Using index".into());
        }
        if let Access::Full { backward: true, .. } | Access::Index { backward: true, .. } = &t.access {
            extra.insert(0, "Backward index scan".into());
        }
        if t.filter.is_some() && !(access == "const" || access == "eq_ref") {
            extra.insert(0, "Using where".into());
        }
        if t.key_filter.is_some() {
            extra.insert(0, "Using index condition".into());
        }
        let merged = merged(def, &t.access);
        if let Some(merged) = &merged {
            extra.insert(0, format!("Using {}", merged.how));
        }
        let (length, refs) = match (key, spec) {
            (Some(i), Some(spec)) => {
                let parts = parts_used(spec);
                let mut all = def.indexes[i as usize].parts.clone();
                if i != 0 {
                    all.extend_from_slice(&def.indexes[0].parts);
                }
                let length = parts_bytes(def, &all, parts);
                let refs = if access == "const" || access == "eq_ref" || access == "ref" {
                    let list: Vec<String> = spec.any[0].points.iter().map(|p| self.reference(&p[0])).collect();
                    Value::from(list.join(","))
                } else {
                    Value::Null
                };
                (Value::from(length.to_string()), refs)
            }
            _ => {
                let bytes = |groups: &Groups| parts_bytes(def, &def.indexes[groups.index as usize].parts, groups.bounded_within().end);
                (groups.map_or(Value::Null, |groups| Value::from(bytes(groups).to_string())), Value::Null)
            }
        };
        let possible = if t.possible.is_empty() {
            Value::Null
        } else {
            Value::from(t.possible.iter().map(|i| index_name(*i)).collect::<Vec<_>>().join(","))
        };
        let row = vec![
            Value::UInt(id),
            Value::from(kind),
            Value::from(&*t.alias),
            Value::Null,
            Value::from(access),
            possible,
            match (&merged, key) {
                (Some(merged), _) => Value::from(merged.indexes.as_str()),
                (None, key) => key.map_or(Value::Null, |i| Value::from(index_name(i))),
            },
            merged.as_ref().map_or(length, |merged| Value::from(merged.lengths.as_str())),
            refs,
            Value::UInt(t.rows.ceil().max(1.0) as u64),
            Value::Double((t.filtered * 100.0).round() / 100.0),
            if extra.is_empty() { Value::Null } else { Value::from(extra.join("; ")) },
        ];
        self.rows.push((id, row));
    }

    fn reference(&self, e: &Expr) -> String {
        match &e.kind {
            ExprKind::Slot(s) => {
                let mut name = None;
                self.plan.for_each_table(&mut |t| {
                    if let Some((c, _)) = t.columns.iter().find(|(_, slot)| slot == s) {
                        let def = &self.plan.tables[t.table as usize].def;
                        name = Some(format!("{}.{}.{}", def.database, t.alias, def.columns[*c as usize].name));
                    }
                });
                name.unwrap_or_else(|| "func".into())
            }
            _ if e.is_settled() => "const".into(),
            _ => "func".into(),
        }
    }
}

/// Whether a table's rows are not fetched; its short plan may need fewer columns than its node. Of the primary index MySQL says so when only
/// columns of the key are used.
fn is_covering(plan: &Plan, t: &TableNode) -> bool {
    let def = &plan.tables[t.table as usize].def;
    let in_key = |column: u32| def.indexes[0].parts.iter().any(|p| p.column == column as usize && p.prefix_chars.is_none());
    let key_only = matches!(t.access, Access::Index { index: 0, .. }) && t.columns.iter().all(|(column, _)| in_key(*column));
    key_only || t.is_covering() || plan.short.as_ref().is_some_and(ShortPlan::is_covering)
}

fn join_extra(kind: JoinKind) -> Vec<String> {
    match kind {
        JoinKind::Semi => vec!["FirstMatch".into()],
        JoinKind::Anti => vec!["Not exists".into()],
        _ => Vec::new(),
    }
}

/// Leading parts of an index that ranges bound.
pub(crate) fn parts_used(spec: &RangeSpec) -> usize {
    spec.any.iter().map(|a| a.points.len() + usize::from(a.interval.is_some())).max().unwrap_or(0)
}

/// Bytes of the leading parts of a key, as MySQL counts them.
fn parts_bytes(def: &TableDef, parts: &[record::KeyPart], used: usize) -> u64 {
    parts.iter().take(used).map(|p| key_bytes(&def.columns[p.column].ty, p.prefix_chars)).sum()
}

/// What is told of merged indexes.
struct Merged {
    /// Their names, with commas between.
    indexes: String,
    /// Bytes of their keys that are used.
    lengths: String,
    /// `union(a,b)`.
    how: String,
}

fn merged(def: &TableDef, access: &Access) -> Option<Merged> {
    let Access::Merge { kind, arms } = access else { return None };
    let name = |arm: &MergeArm| def.indexes[arm.index as usize].name.clone();
    let bytes = |arm: &MergeArm| parts_bytes(def, &def.indexes[arm.index as usize].parts, parts_used(&arm.ranges)).to_string();
    let indexes = arms.iter().map(name).collect::<Vec<_>>().join(",");
    let lengths = arms.iter().map(bytes).collect::<Vec<_>>().join(",");
    Some(Merged { how: format!("{}({indexes})", kind.name()), indexes, lengths })
}

fn access_type(spec: &RangeSpec, unique: bool) -> &'static str {
    let points_only = spec.any.iter().all(|a| a.interval.is_none());
    let single = spec.any.len() == 1 && spec.any[0].points.iter().all(|p| p.len() == 1);
    let constant = spec.any.iter().flat_map(|a| &a.points).all(|points| points.are_values() || points.iter().all(Expr::is_settled));
    match (points_only && single, unique, constant) {
        (true, true, true) => "const",
        (true, true, false) => "eq_ref",
        (true, false, _) => "ref",
        _ => "range",
    }
}

/// Bytes of a key part as MySQL counts them.
pub(crate) fn key_bytes(ty: &ColumnType, prefix: Option<u32>) -> u64 {
    use types::TypeKind as K;
    let length = u64::from(prefix.unwrap_or(ty.length));
    let characters = length * u64::from(ty.collation.charset().bytes_per_char_max());
    let of_string = || match ty.kind {
        K::Char => characters,
        K::Binary => length,
        K::VarBinary | K::TinyBlob | K::Blob | K::MediumBlob | K::LongBlob => length + 2,
        _ => characters + 2,
    };
    let bytes = ty.packed_bytes().map_or_else(of_string, u64::from);
    bytes + u64::from(ty.nullable)
}

/// What an operator did, for EXPLAIN ANALYZE: sums over its runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Actual {
    /// How often it was run.
    pub loops: u64,
    /// Rows it gave out.
    pub rows: u64,
    /// Time to the first row, in nanoseconds.
    pub first_ns: u64,
    /// Time to the end.
    pub last_ns: u64,
}

impl Actual {
    /// A sum's share of one run.
    fn each(&self, sum: u64) -> f64 {
        sum as f64 / self.loops.max(1) as f64
    }
}

/// By the address of the plan's node.
pub type Actuals = HashMap<usize, Actual>;

/// Whether the right side of a nested loop is looked up by batches because that was asked for.
fn is_batched(inner: &Node) -> bool {
    matches!(inner, Node::Table(table) if table.key_batches == KeyBatches::Always)
}

fn join_word(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "inner join",
        JoinKind::Left => "left join",
        JoinKind::Semi => "semijoin",
        JoinKind::Anti => "antijoin",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Collation, TypeKind};

    /// As MySQL 9.7 tells them.
    #[test]
    fn key_lengths_go_by_type_and_character_set() {
        let check = |ty: ColumnType, prefix: Option<u32>, bytes: u64| assert_eq!(key_bytes(&ty.not_null(), prefix), bytes);
        check(ColumnType::decimal(10, 2), None, 5);
        check(ColumnType::decimal(30, 2), None, 14);
        check(ColumnType::decimal(65, 30), None, 30);
        check(ColumnType::temporal(TypeKind::DateTime, 6), None, 8);
        check(ColumnType::temporal(TypeKind::Time, 1), None, 4);
        check(ColumnType { length: 20, ..ColumnType::new(TypeKind::Bit) }, None, 3);
        check(ColumnType::with_members(TypeKind::Enum, ["a".into()], Collation::DEFAULT), None, 1);
        check(ColumnType::varchar(5, Collation::DEFAULT), None, 22);
        check(ColumnType::varchar(5, Collation::DEFAULT), Some(3), 14);
        check(ColumnType::varchar(5, Collation::Latin1SwedishCi), None, 7);
        check(ColumnType { kind: TypeKind::Char, ..ColumnType::varchar(5, Collation::Latin1SwedishCi) }, None, 5);
        assert_eq!(key_bytes(&ColumnType::decimal(10, 2), None), 6, "one for NULL");
    }
}
