//! Loose index scans: one entry, or two, of each group of entries with the same leading parts; from group to group by a descent each. With every
//! entry in some ranges of each group it is a skip scan.
//!
//! # Invariants
//! 1. A group is met once: the next one is looked for behind all entries of it.
//! 2. Of a group in which the filter asks for more than the parts in common, the first row *that passes* is given out, not the first one: ranges may
//!    hold more than the condition says.
//! 3. Where reads lock, every key that the condition could accept lies in a range that was read with locks: in one of the ranges of a group that was
//!    met, or between two groups that were met next to each other. Where the groups are is looked up without locks and may be out of date:
//!    a group that is missed is read as part of what lies between.

use crate::errors::internal;
use crate::exec::Exec;
use crate::run::{Flow, Next, Result};
use crate::scan::decode;
use engine::{Direction, HandlerCall, KeyRange, Read, RowKey, Step, Table, after_prefix};
use planner::plan::{GroupEnds, Groups, TableNode};
use record::RowRef;

/// What is read of each group.
struct Within {
    /// Ranges behind the parts in common: the first of these lists in which a row is found counts.
    lists: Vec<Vec<KeyRange>>,
    ends: GroupEnds,
}

impl<'a> Exec<'a> {
    /// Runs a table node that reads groups.
    pub(crate) fn groups(&mut self, node: &'a TableNode, groups: &'a Groups, next: Next<'_, 'a>) -> Result<Flow> {
        let index_no = groups.index as usize;
        let ranges = match &groups.ranges {
            Some(spec) => self.key_ranges(node.table, index_no, spec)?.ranges,
            None => vec![KeyRange::all()],
        };
        if self.read_of(node.lock) != Read::Snapshot {
            return self.groups_locking(node, groups, ranges, next);
        }
        let within = self.within(node, groups)?;
        if !within.lists.is_empty() && within.lists.iter().all(Vec::is_empty) {
            return Ok(Flow::Continue);
        }
        self.each_group(ranges, &mut |x, rest| {
            let mut prefix = Vec::new();
            if !x.first_entry(node, index_no, rest.clone(), Direction::Forward, Some((groups.parts as usize, &mut prefix)))? {
                return Ok(None);
            }
            let flow = if groups.alike && !x.passes(node)? {
                Flow::Continue
            } else if within.lists.is_empty() {
                x.ends_of(node, index_no, &prefix, within.ends, next)?
            } else {
                x.rows_within(node, index_no, &prefix, &within, next)?
            };
            Ok(Some((prefix, flow)))
        })
    }

    /// Goes from group to group. `first` reads what is to be read of the first group of a range, and in front of it, and says which group it was; none is left
    /// when it gives nothing.
    fn each_group(
        &mut self,
        ranges: Vec<KeyRange>,
        first: &mut dyn FnMut(&mut Exec<'a>, &KeyRange) -> Result<Option<(Vec<u8>, Flow)>>,
    ) -> Result<Flow> {
        let mut passed: Vec<u8> = Vec::new();
        for mut rest in ranges {
            // A range may begin inside of a group whose beginning another one held.
            if rest.lower < passed {
                rest.lower.clone_from(&passed);
            }
            while !rest.is_empty() {
                self.tick()?;
                let Some((prefix, flow)) = first(self, &rest)? else { break };
                let behind = after_prefix(&prefix);
                if flow == Flow::Stop || behind.is_empty() {
                    return Ok(flow);
                }
                passed.clone_from(&behind);
                rest.lower = behind;
            }
        }
        Ok(Flow::Continue)
    }

    /// The same with locks. One entry of each group cannot be locked alone: such plans, made for consistent reads, read all of the ranges.
    fn groups_locking(&mut self, node: &'a TableNode, groups: &'a Groups, ranges: Vec<KeyRange>, next: Next<'_, 'a>) -> Result<Flow> {
        let index_no = groups.index as usize;
        let skips = groups.ends == GroupEnds::All && groups.within.len() == 1;
        let within = if skips { self.within(node, groups)?.lists.pop().unwrap_or_default() } else { Vec::new() };
        if skips && within.is_empty() {
            return Ok(Flow::Continue);
        }
        // Without locks on gaps nothing between the groups is to be kept as it is.
        let locks_between = !self.session.as_deref().is_some_and(engine::Session::gives_back);
        self.each_group(ranges, &mut |x, rest| {
            let prefix = if skips { x.first_group(node, index_no, rest, groups.parts as usize)? } else { None };
            let Some(prefix) = prefix else {
                // No group is left, or each row is a group's.
                let reads = locks_between || !skips;
                let flow = if reads { x.scan(node, index_no, rest.clone(), false, false, next)? } else { Flow::Continue };
                return Ok((flow == Flow::Stop).then_some((Vec::new(), flow)));
            };
            let between = KeyRange { lower: rest.lower.clone(), upper: prefix.clone() };
            let mut flow = Flow::Continue;
            if locks_between && !between.is_empty() {
                flow = x.scan(node, index_no, between, false, false, next)?;
            }
            for range in &within {
                if flow == Flow::Continue {
                    flow = x.scan(node, index_no, in_group(&prefix, range), false, false, next)?;
                }
            }
            Ok(Some((prefix, flow)))
        })
    }

    /// The leading parts of the first entry of a range, whatever it is.
    fn first_group(&mut self, node: &'a TableNode, index_no: usize, range: &KeyRange, parts: usize) -> Result<Option<Vec<u8>>> {
        let table = &self.plan.tables[node.table as usize].storage;
        let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
        session.handler_counts().add(HandlerCall::ReadKey, 1);
        let Some(mut prefix) = session.first_key(table, index_no, range)? else { return Ok(None) };
        keep_parts(table, index_no, parts, &mut prefix)?;
        Ok(Some(prefix))
    }

    /// The ranges that are read of each group, as far as this execution's values make them.
    fn within(&mut self, node: &'a TableNode, groups: &'a Groups) -> Result<Within> {
        let mut within = Within { lists: Vec::with_capacity(groups.within.len()), ends: groups.ends };
        for spec in &groups.within {
            let found = self.ranges_behind(node.table, groups.index as usize, groups.parts as usize, spec)?;
            // Values that bound nothing leave more than one value of the parts before the ordered one: its ends are anywhere.
            if !found.exact && spec.any.iter().any(|any| !any.points.is_empty()) {
                within.ends = GroupEnds::All;
            }
            within.lists.push(found.ranges);
        }
        Ok(within)
    }

    /// The ends of a group whose first entry is in the frame and passes.
    fn ends_of(&mut self, node: &'a TableNode, index_no: usize, prefix: &[u8], ends: GroupEnds, next: Next<'_, 'a>) -> Result<Flow> {
        if ends != GroupEnds::Last && next(self)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        let last = ends != GroupEnds::First && self.first_entry(node, index_no, KeyRange::prefix(prefix), Direction::Backward, None)?;
        if last { next(self) } else { Ok(Flow::Continue) }
    }

    /// The rows in the ranges of a group that pass the filter: all of them, or the first, or the last.
    fn rows_within(&mut self, node: &'a TableNode, index_no: usize, prefix: &[u8], within: &Within, next: Next<'_, 'a>) -> Result<Flow> {
        let all = within.ends == GroupEnds::All;
        let directions: &[bool] = match within.ends {
            GroupEnds::All | GroupEnds::First => &[false],
            GroupEnds::Last => &[true],
            GroupEnds::Both => &[false, true],
        };
        for ranges in &within.lists {
            let mut found = false;
            for backward in directions {
                let ranges = ranges.iter().map(|range| in_group(prefix, range));
                let ranges: Vec<KeyRange> = if *backward { ranges.rev().collect() } else { ranges.collect() };
                let (met, flow) = self.rows_of(node, index_no, ranges, *backward, all, next)?;
                if flow == Flow::Stop {
                    return Ok(Flow::Stop);
                }
                found |= met;
            }
            if found {
                break;
            }
        }
        Ok(Flow::Continue)
    }

    /// Gives out the rows of some ranges that pass the filter, all of them or the first; whether there is one.
    fn rows_of(
        &mut self,
        node: &'a TableNode,
        index_no: usize,
        ranges: Vec<KeyRange>,
        backward: bool,
        all: bool,
        next: Next<'_, 'a>,
    ) -> Result<(bool, Flow)> {
        let (mut met, mut flow) = (false, Flow::Continue);
        for range in ranges {
            self.scan(node, index_no, range, backward, false, &mut |x| {
                met = true;
                flow = next(x)?;
                Ok(if all { flow } else { Flow::Stop })
            })?;
            if flow == Flow::Stop || met && !all {
                break;
            }
        }
        Ok((met, flow))
    }

    /// Brings the first entry of a range into the frame, and leaves the bytes of its leading parts where they are asked for; whether there is one.
    fn first_entry(
        &mut self,
        node: &'a TableNode,
        index_no: usize,
        range: KeyRange,
        direction: Direction,
        mut leading: Option<(usize, &mut Vec<u8>)>,
    ) -> Result<bool> {
        let table = &self.plan.tables[node.table as usize].storage;
        let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
        let frame = &mut self.frame;
        session.handler_counts().add(HandlerCall::ReadKey, 1);
        let mut found = None;
        session.scan(table, index_no, range, direction, Read::Snapshot)?.wanting(1).for_each_with(node.cover.as_deref(), |row, key| {
            let decoded = decode(row, &node.columns, None, &[], frame);
            found = Some(decoded.and_then(|()| match &mut leading {
                Some((parts, prefix)) => Ok(leading_bytes(table, index_no, *parts, row, key, prefix)?),
                None => Ok(()),
            }));
            Step::Stop
        })?;
        found.transpose().map(|found| found.is_some())
    }
}

/// The bytes of an entry's leading parts: from the entry itself where it is at hand, for what is made of it need not have all columns.
fn leading_bytes(
    table: &Table,
    index_no: usize,
    parts: usize,
    row: RowRef<'_>,
    key: RowKey<'_>,
    prefix: &mut Vec<u8>,
) -> std::result::Result<(), record::Malformed> {
    let RowKey::EndOf(entry, _) = key else {
        return record::key::encode_columns(row, &table.indexes[index_no].full_parts[..parts], prefix);
    };
    entry.append_to(prefix);
    keep_parts(table, index_no, parts, prefix)
}

/// Leaves the leading parts of a key.
fn keep_parts(table: &Table, index_no: usize, parts: usize, key: &mut Vec<u8>) -> std::result::Result<(), record::Malformed> {
    let mut end = 0;
    for part in &table.indexes[index_no].full_parts[..parts] {
        let rest = key.get(end..).ok_or(record::Malformed)?;
        end += record::key::part_bytes(table.layout().column_type(part.column), part, rest)?;
    }
    key.truncate(end);
    Ok(())
}

/// A range of the parts behind, in a group.
fn in_group(prefix: &[u8], range: &KeyRange) -> KeyRange {
    let with = |end: &[u8]| [prefix, end].concat();
    KeyRange { lower: with(&range.lower), upper: if range.upper.is_empty() { after_prefix(prefix) } else { with(&range.upper) } }
}
