//! Loose index scans: one entry, or two, of each group of entries with the same leading parts; from group to group by a descent each.

use crate::errors::internal;
use crate::exec::Exec;
use crate::run::{Flow, Next, Result};
use crate::scan::decode;
use engine::{Direction, KeyRange, Read, Step};
use planner::plan::{GroupEnds, TableNode};

impl<'a> Exec<'a> {
    /// Runs a table node that reads groups: `parts` leading parts of an index are what each has in common.
    pub(crate) fn groups(
        &mut self,
        node: &'a TableNode,
        index_no: usize,
        parts: usize,
        ends: GroupEnds,
        next: Next<'_, 'a>,
    ) -> Result<Flow> {
        if self.read_of(node.lock) != Read::Snapshot {
            // A plan that was made for a consistent read and runs where reads lock.
            return self.scan(node, index_no, KeyRange::all(), false, next);
        }
        let mut prefix = Vec::new();
        let mut rest = KeyRange::all();
        loop {
            self.tick()?;
            prefix.clear();
            if !self.first_entry(node, index_no, rest, Direction::Forward, Some((parts, &mut prefix)))? {
                return Ok(Flow::Continue);
            }
            let group = KeyRange::prefix(&prefix);
            let behind = group.upper.clone();
            // What the filter asks is the same for all of a group.
            if self.passes(node)? {
                if ends != GroupEnds::Last && next(self)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
                let last = ends != GroupEnds::First && self.first_entry(node, index_no, group, Direction::Backward, None)?;
                if last && next(self)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            if behind.is_empty() {
                return Ok(Flow::Continue);
            }
            rest = KeyRange { lower: behind, upper: Vec::new() };
        }
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
        let key_parts = &table.indexes[index_no].full_parts;
        let mut found = None;
        session.scan(table, index_no, range, direction, Read::Snapshot)?.for_each_with(node.cover.as_deref(), |row, _| {
            let decoded = decode(row, &node.columns, None, &[], frame);
            found = Some(decoded.and_then(|()| match &mut leading {
                Some((parts, prefix)) => Ok(record::key::encode_columns(row, &key_parts[..*parts], prefix)?),
                None => Ok(()),
            }));
            Step::Stop
        })?;
        found.transpose().map(|found| found.is_some())
    }
}
