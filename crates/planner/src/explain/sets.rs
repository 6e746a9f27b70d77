//! Set operations in the traditional table: the numbers and names of their blocks, and what is made of them.
//!
//! As in MySQL the blocks of a whole set operation are numbered first, then what it makes of them, innermost first; each of those stands behind its blocks.

use super::Rows;
use crate::plan::{Node, Query};
use types::Value;

/// Set operations that are being written.
#[derive(Default)]
pub(super) struct Sets {
    /// The one whose blocks are written.
    within: Option<&'static str>,
    /// Results that have no number yet.
    results: Vec<SetResult>,
    /// What the block that was written last stands for, where it is a set operation itself.
    parts: Vec<Part>,
}

struct SetResult {
    row: usize,
    name: &'static str,
    parts: Vec<Part>,
}

enum Part {
    Block(u64),
    /// By its place among those without a number.
    Result(usize),
}

impl Rows<'_> {
    /// The parts of a set operation, and what is made of them where that is a table. `name` is that of a part behind the first.
    pub(super) fn set(&mut self, branches: &[Query], name: &'static str, id: u64, kind: &str, mut extra: Vec<String>) {
        let parent = self.sets.within.replace(name);
        let first_result = self.sets.results.len();
        let mut parts = Vec::with_capacity(branches.len());
        for (at, branch) in branches.iter().enumerate() {
            let own = if at == 0 { id } else { self.new_id() };
            let own_kind = match at {
                0 => kind.to_owned(),
                // It is the first of its own.
                _ if makes_table(&branch.root, name) => behind(kind, "PRIMARY"),
                _ => behind(kind, name),
            };
            let before = self.rows.len();
            self.query(branch, own, &own_kind);
            if self.rows.len() == before {
                self.plain(own, &own_kind, None, None, Some("No tables used"));
            }
            match self.sets.parts.is_empty() {
                true => parts.push(Part::Block(own)),
                false => parts.append(&mut self.sets.parts),
            }
        }
        self.sets.within = parent;
        let is_streamed = extra.is_empty() && name == "UNION" && parent.is_none_or(|parent| parent == "UNION");
        if is_streamed {
            self.sets.parts = parts;
        } else {
            let temporary = "Using temporary".to_owned();
            extra.retain(|what| *what != temporary);
            extra.insert(0, temporary);
            self.plain(self.next_id - 1, &format!("{name} RESULT"), None, Some("ALL"), Some(&extra.join("; ")));
            self.sets.results.push(SetResult { row: self.rows.len() - 1, name, parts });
            self.sets.parts = vec![Part::Result(self.sets.results.len() - 1)];
        }
        if parent.is_none() {
            self.number_results(first_result);
        }
    }

    /// Gives the results of a whole set operation their numbers.
    fn number_results(&mut self, first: usize) {
        self.sets.parts.clear();
        let first_id = self.next_id;
        let id_of = |part: &Part| match part {
            Part::Block(id) => *id,
            Part::Result(at) => first_id + (*at - first) as u64,
        };
        for result in self.sets.results.drain(first..) {
            let ids: Vec<String> = result.parts.iter().map(|part| id_of(part).to_string()).collect();
            let row = &mut self.rows[result.row].1;
            row[0] = Value::UInt(self.next_id);
            row[2] = Value::from(format!("<{}{}>", result.name.to_lowercase(), ids.join(",")));
            self.next_id += 1;
        }
    }

    /// Writes a table that is made by itself, whatever set operation it is read in.
    pub(super) fn apart(&mut self, write: impl FnOnce(&mut Self)) {
        let within = self.sets.within.take();
        write(self);
        self.sets.within = within;
    }
}

/// The kind of a block behind the first one of a set operation, of which that has this kind.
fn behind(first: &str, name: &str) -> String {
    if first.starts_with("DEPENDENT ") { format!("DEPENDENT {name}") } else { name.to_owned() }
}

/// Whether a part of a set operation of this name is a set operation that makes a table of its own.
fn makes_table(node: &Node, within: &str) -> bool {
    match node {
        Node::SetOperation { .. } => true,
        Node::Union { .. } => within != "UNION",
        Node::Distinct { input, .. } | Node::Sort { input, .. } => is_set(input),
        Node::Filter { input, .. } | Node::Project { input, .. } | Node::Limit { input, .. } => makes_table(input, within),
        _ => false,
    }
}

fn is_set(node: &Node) -> bool {
    match node {
        Node::SetOperation { .. } | Node::Union { .. } => true,
        Node::Distinct { input, .. }
        | Node::Sort { input, .. }
        | Node::Filter { input, .. }
        | Node::Project { input, .. }
        | Node::Limit { input, .. } => is_set(input),
        _ => false,
    }
}
