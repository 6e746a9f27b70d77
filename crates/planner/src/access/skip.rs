//! Skip scans: ranges of a key part behind parts that no condition bounds, or none with one value. For each value of the parts before it, which are
//! found by a descent each, its range is read (MySQL: `Using index for skip scan`).
//!
//! `b = 5` with an index (a, b) reads one range for each a. That pays where few values of a stand before many of b: the density that the index shows
//! says how many groups there are.

use super::{Binder, FETCH_COST, Path, ROW_COST, SEEK_COST, TableRead, range_parts};
use crate::explain::parts_used;
use crate::expr::Expr;
use crate::hints::Way;
use crate::logical::slots_of;
use crate::plan::{GroupEnds, Groups};
use crate::ranges::Ranges;
use crate::switches::Switch;
use std::rc::Rc;

/// A descent to the next group, or to a range in it, beside what reading an entry costs.
pub(super) const GROUP_COST: f64 = 4.0 * SEEK_COST;

impl Binder<'_> {
    /// Whether skipping in an index is worth a look, when there is a way that costs `least`.
    pub(super) fn may_skip(&self, of: &TableRead<'_>, no: u32, least: f64) -> bool {
        let wants = |no| of.relation.wants_way(Way::SkipScan, no).unwrap_or_else(|| self.context.switches().has(Switch::SkipScan));
        let hinted = !of.relation.ways.is_empty() || !of.relation.hints.is_empty();
        let pays = least > 2.0 * GROUP_COST || hinted;
        // To `sql_safe_updates` it finds no rows by a key.
        let refused = of.relation.keep_key.is_some() && self.context.safe_updates();
        pays && !refused && !of.conditions.is_empty() && of.entry.def.indexes[no as usize].parts.len() > 1 && wants(no)
    }

    /// The way by ranges of the first bounded part that is not reached without skipping, and whether a hint wants it.
    pub(super) fn skip_path(&self, of: &TableRead<'_>, no: u32) -> Option<(Path, bool)> {
        let TableRead { entry, relation, sargs, .. } = of;
        let index = &entry.def.indexes[no as usize];
        let parts = range_parts(index);
        let leading = sargs.ranges_for(&parts);
        let bounded = leading.as_ref().map_or(0, |ranges| parts_used(&ranges.spec));
        // Behind an interval there is a part with more than one value already; behind points one is to be skipped.
        let skipped = leading.as_ref().is_none_or(|ranges| !ranges.has_interval);
        let (at, behind) = (bounded + usize::from(skipped)..parts.len()).find_map(|at| Some((at, sargs.ranges_for(&parts[at..])?)))?;
        let is_constant = |ranges: &Rc<Ranges>| ranges.constant;
        // To be locked, rows are fetched, whatever the index tells of them.
        let reads_entries = no == 0 || of.locks || super::covers(entry, no as usize, relation);
        if !reads_entries || !is_constant(&behind) || !leading.as_ref().is_none_or(is_constant) {
            return None;
        }
        let ranges = leading.as_ref().map(|ranges| ranges.spec.clone());
        let groups = Groups { index: no, parts: at as u32, alike: false, within: vec![behind.spec.clone()], ranges, ends: GroupEnds::All };
        let (rows, descents) = self.skipped_rows(of, leading.as_deref(), &groups);
        let per_row = match no {
            0 => ROW_COST,
            _ if of.locks => FETCH_COST,
            _ => super::entry_cost(entry, no as usize),
        };
        let directions: Vec<(u32, bool)> = index.parts.iter().map(super::ordering_part).collect();
        let points = leading.as_ref().filter(|ranges| ranges.single).map_or(0, |ranges| super::sure_points(ranges, relation, &parts));
        let order = of.is_ordered(&directions, points);
        let path = Path {
            index: Some(no),
            covering: no != 0 && !of.locks,
            rows,
            cost: SEEK_COST + descents * GROUP_COST + rows * per_row,
            ordered: order == Some(false),
            groups: Some(groups),
            ..Path::default()
        };
        Some((path, relation.wants_way(Way::SkipScan, no) == Some(true)))
    }

    /// How many rows are read, by how many descents.
    fn skipped_rows(&self, of: &TableRead<'_>, leading: Option<&Ranges>, groups: &Groups) -> (f64, f64) {
        let (no, parts) = (groups.index as usize, groups.parts as usize);
        let declared = &of.entry.def.indexes[no].parts;
        let among = leading.map_or(of.total, |ranges| self.estimate_rows(of.entry, no, ranges, declared.len(), false, of.total));
        let each = self.rows_per_key(of.entry, no, parts).unwrap_or(1.0).max(1.0);
        let count = (among / each).max(1.0);
        let bounded: Vec<usize> = groups.bounded_within().filter_map(|at| Some(declared.get(at)?.column)).collect();
        let is_within = |condition: &&Expr| {
            let mut slots = Vec::new();
            slots_of(condition, &self.subplans, &mut slots);
            let mut columns = slots.iter().map(|slot| of.relation.column_of(*slot));
            !slots.is_empty() && columns.all(|column| column.is_some_and(|column| bounded.contains(&column)))
        };
        let within: Vec<Expr> = of.conditions.iter().filter(is_within).cloned().collect();
        let share: f64 = self.shares(of.relation, &within).iter().product();
        let ranges: f64 =
            groups.within.iter().flat_map(|spec| &spec.any).map(|any| any.points.iter().map(|p| p.len() as f64).product::<f64>()).sum();
        ((among * share).max(1.0), count * (1.0 + ranges.max(1.0)))
    }
}
