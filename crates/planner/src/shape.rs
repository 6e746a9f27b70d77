//! What `Select_scan`, `Sort_scan` and their like count of a plan: how its joins read their tables, what it sorts and keeps. It is found once, when the plan is
//! cached, and counted at each run.

use crate::plan::{Access, Body, InsertSource, Node, Plan, Query, RangeSpec};

/// How often a run of a plan counts for each. A plan that only reads rows by their keys has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shape {
    /// First tables of joins that are read whole.
    pub scans: u32,
    /// First tables of which ranges of an index are read.
    pub ranges: u32,
    /// Later tables that are read whole, for each row before them or once into a hash table.
    pub full_joins: u32,
    /// Later tables of which ranges are read.
    pub full_range_joins: u32,
    /// Sorts of what a range of an index gave.
    pub sort_ranges: u32,
    /// Other sorts.
    pub sort_scans: u32,
    /// Results that are kept: groups, distinct rows, derived tables, unions.
    pub kept: u32,
    /// A table is read whole and by no index: `log_queries_not_using_indexes`.
    pub no_index: bool,
}

/// How a part of a plan reads its first table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    Whole,
    Ranges,
    Other,
}

impl Shape {
    /// Of a plan; `None` where there is nothing to count.
    pub fn of(plan: &Plan) -> Option<Box<Shape>> {
        let mut shape = Shape::default();
        match &plan.body {
            Body::Query(query) => shape.query(query),
            Body::Insert(insert) => match &insert.source {
                InsertSource::Query(query) => shape.query(query),
                InsertSource::Values(_) | InsertSource::Literals(_) | InsertSource::External(_) => {}
            },
            Body::Update(update) => {
                shape.node(&update.input, false);
            }
            Body::Delete(delete) => {
                shape.node(&delete.input, false);
            }
        }
        for subplan in &plan.subplans {
            shape.query(&subplan.query);
        }
        (shape != Shape::default()).then(|| Box::new(shape))
    }

    fn query(&mut self, query: &Query) {
        self.node(&query.root, false);
    }

    fn node(&mut self, node: &Node, later: bool) -> First {
        match node {
            Node::Table(table) => {
                let first = first_of(&table.access);
                self.no_index |= matches!(table.access, Access::Full { ordered: false, .. });
                match (first, later) {
                    (First::Whole, false) => self.scans += 1,
                    (First::Whole, true) => self.full_joins += 1,
                    (First::Ranges, false) => self.ranges += 1,
                    (First::Ranges, true) => self.full_range_joins += 1,
                    (First::Other, _) => {}
                }
                first
            }
            Node::Virtual(_) => {
                self.no_index = true;
                if later {
                    self.full_joins += 1;
                } else {
                    self.scans += 1;
                }
                First::Whole
            }
            Node::Unit | Node::Empty | Node::JsonTable(_) | Node::Values { .. } | Node::RecursiveScan { .. } => First::Other,
            Node::Nested { outer, inner, .. } => {
                let first = self.node(outer, later);
                self.node(inner, true);
                first
            }
            Node::Hash(hash) => {
                let first = self.node(&hash.probe, later);
                self.node(&hash.build, true);
                first
            }
            Node::Filter { input, .. } | Node::Project { input, .. } | Node::Limit { input, .. } => self.node(input, later),
            Node::Group(group) => {
                let first = self.node(&group.input, later);
                self.kept += u32::from(!group.ordered && !group.keys.is_empty());
                first
            }
            Node::Window(window) => self.node(&window.input, later),
            Node::Sort { input, .. } => {
                let first = self.node(input, later);
                match first {
                    First::Ranges => self.sort_ranges += 1,
                    _ => self.sort_scans += 1,
                }
                first
            }
            Node::Distinct { input, .. } => {
                self.kept += 1;
                self.node(input, later)
            }
            Node::Union { branches, .. } => {
                branches.iter().for_each(|branch| self.query(branch));
                First::Other
            }
            Node::SetOperation { branches, .. } => {
                self.kept += 1;
                branches.iter().for_each(|branch| self.query(branch));
                First::Other
            }
            Node::Materialize { input, .. } => {
                self.kept += 1;
                self.query(input);
                First::Other
            }
            Node::Recursive { seed, step, .. } => {
                self.kept += 1;
                self.query(seed);
                self.query(step);
                First::Other
            }
        }
    }
}

fn first_of(access: &Access) -> First {
    match access {
        Access::Full { .. } | Access::Index { ranges: None, first_only: false, .. } => First::Whole,
        Access::Index { ranges: Some(spec), first_only: false, .. } if is_range(spec) => First::Ranges,
        Access::Groups(_) | Access::Merge { .. } => First::Ranges,
        Access::Index { .. } => First::Other,
    }
}

/// Whether more is read than the entries of one key.
fn is_range(spec: &RangeSpec) -> bool {
    let one_key = spec.any.len() == 1 && spec.any[0].points.iter().all(|points| points.len() == 1);
    !one_key || spec.any.iter().any(|prefix| prefix.interval.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::LimitSpec;

    #[test]
    fn nothing_read_is_nothing_counted() {
        let mut shape = Shape::default();
        shape.node(&Node::Limit { input: Box::new(Node::Unit), limit: LimitSpec { count: None, offset: None } }, false);
        assert_eq!(shape, Shape::default());
        let union = Node::Union { branches: vec![Query { root: Node::Empty, output: Vec::new() }], slots: Vec::new() };
        shape.node(&Node::Distinct { input: Box::new(union), slots: Vec::new(), collations: Vec::new() }, false);
        assert_eq!(shape, Shape { kept: 1, ..Shape::default() });
    }
}
