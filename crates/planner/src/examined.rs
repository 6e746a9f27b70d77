//! How many rows a plan is expected to read: what `max_join_size` bounds.
//!
//! Each query counts by itself, as in MySQL: the tables of one are read together, those of a subquery or of another branch of a union apart.

use crate::plan::{Access, AggregateKind, Body, InsertSource, Node, Query};

/// The most rows that one of the queries of a plan reads. Changes of one table count nothing: they are no joins.
pub(crate) fn most_rows(body: &Body, subplans: impl Iterator<Item = f64>) -> f64 {
    let mut most = Most(subplans.fold(0.0, f64::max));
    match body {
        Body::Query(query) => most.query(query),
        Body::Insert(insert) => {
            if let InsertSource::Query(query) = &insert.source {
                most.query(query);
            }
        }
        Body::Update(update) => most.change(&update.input),
        Body::Delete(delete) => most.change(&delete.input),
    }
    most.0
}

/// The same of one query.
pub(crate) fn rows_of(query: &Query) -> f64 {
    let mut most = Most(0.0);
    most.query(query);
    most.0
}

/// Rows read for a part of a plan, and rows that it gives.
#[derive(Clone, Copy)]
struct Rows {
    read: f64,
    out: f64,
}

struct Most(f64);

impl Most {
    fn query(&mut self, query: &Query) {
        let rows = self.node(&query.root);
        self.0 = self.0.max(rows.read);
    }

    fn change(&mut self, input: &Node) {
        let rows = self.node(input);
        if has_join(input) {
            self.0 = self.0.max(rows.read);
        }
    }

    fn node(&mut self, node: &Node) -> Rows {
        match node {
            Node::Unit => Rows { read: 0.0, out: 1.0 },
            Node::Empty => Rows { read: 0.0, out: 0.0 },
            Node::Table(table) => {
                let read = match table.rows_hint {
                    Some(hint) if table.filter.is_none() => table.rows.min(hint as f64),
                    _ => table.rows,
                };
                Rows { read, out: read * table.filtered / 100.0 }
            }
            Node::Virtual(table) => Rows { read: table.rows, out: table.rows },
            Node::JsonTable(_) => Rows { read: 2.0, out: 2.0 },
            Node::Values { rows, .. } => Rows { read: 0.0, out: rows.len() as f64 },
            Node::Nested { outer, inner, .. } => {
                let (outer, inner) = (self.node(outer), self.node(inner));
                Rows { read: outer.read + outer.out * inner.read, out: outer.out * inner.out }
            }
            Node::Hash(hash) => {
                let (probe, build) = (self.node(&hash.probe), self.node(&hash.build));
                Rows { read: probe.read + build.read, out: hash.rows }
            }
            Node::Group(group) => match &group.input {
                // The rows of a table are counted without a look at what they say.
                Node::Table(table)
                    if group.is_single() && table.filter.is_none() && matches!(table.access, Access::Full { .. }) && counts(group) =>
                {
                    Rows { read: 0.0, out: 1.0 }
                }
                input => {
                    let rows = self.node(input);
                    Rows { read: rows.read, out: if group.is_single() { 1.0 } else { rows.out } }
                }
            },
            Node::Filter { input, .. } | Node::Project { input, .. } | Node::Sort { input, .. } | Node::Distinct { input, .. } => {
                self.node(input)
            }
            Node::Window(window) => self.node(&window.input),
            Node::Limit { input, .. } => self.node(input),
            Node::Union { branches, .. } | Node::SetOperation { branches, .. } => {
                branches.iter().for_each(|branch| self.query(branch));
                Rows { read: 0.0, out: 1.0 }
            }
            Node::Materialize { input, .. } => {
                self.query(input);
                Rows { read: 1.0, out: 1.0 }
            }
            Node::Recursive { seed, step, .. } => {
                self.query(seed);
                self.query(step);
                Rows { read: 1.0, out: 1.0 }
            }
            Node::RecursiveScan { .. } => Rows { read: 1.0, out: 1.0 },
        }
    }
}

/// Whether a group only asks how many rows there are.
fn counts(group: &crate::plan::Group) -> bool {
    group.carried.is_empty() && group.aggregates.iter().all(|(_, aggregate)| aggregate.kind == AggregateKind::CountStar)
}

fn has_join(node: &Node) -> bool {
    match node {
        Node::Nested { .. } | Node::Hash(_) => true,
        Node::Filter { input, .. } | Node::Project { input, .. } | Node::Sort { input, .. } | Node::Limit { input, .. } => has_join(input),
        _ => false,
    }
}
