//! Left joins by keys: pairs, and where a left row has none that passes, the row with NULL beside it, all in the order of the left rows.

use super::Lookup;
use crate::batch::Sink;
use crate::batch::chunk::Chunk;
use crate::exec::Exec;
use crate::run::{Flow, Result};

/// No pair.
const NONE: u32 = u32::MAX;

/// The rows of a chunk that wait for their pairs.
struct LeftRows<'c> {
    rows: &'c [u16],
    /// The first of them that is not done with; the latest pair was its own, or there was none yet.
    next: usize,
    /// It has a pair.
    matched: bool,
    /// What goes on: a left row, and its pair's place.
    out: Vec<(u16, u32)>,
}

impl LeftRows<'_> {
    /// Done with all rows before this one, or with all.
    fn go_to(&mut self, row: Option<u16>) {
        while let Some(next) = self.rows.get(self.next)
            && row != Some(*next)
        {
            if !self.matched {
                self.out.push((*next, NONE));
            }
            (self.next, self.matched) = (self.next + 1, false);
        }
    }

    /// Takes pairs: the left row of each, and whether it passes.
    fn take(&mut self, left: &[u16], passing: &[bool]) {
        for (at, (row, passes)) in left.iter().zip(passing).enumerate() {
            self.go_to(Some(*row));
            if *passes {
                self.matched = true;
                self.out.push((*row, at as u32));
            }
        }
    }
}

impl<'a> Exec<'a> {
    /// Finds the partners of a chunk's rows and passes them on, with those that have none.
    pub(super) fn left_by_key(&mut self, lookup: &Lookup<'a>, chunk: &Chunk, sink: Sink<'_, 'a>) -> Result<Flow> {
        let mut rows = LeftRows { rows: chunk.rows(), next: 0, matched: false, out: Vec::new() };
        let mut out = self.take_chunk(std::iter::empty());
        let mut flow = self.pairs_by_key(lookup, chunk, &mut |x, left, pairs, filter| {
            let passing = x.passing(filter, pairs)?;
            rows.take(left, &passing);
            x.pass_left(lookup, chunk, &mut rows.out, Some(pairs), &mut out, sink)
        })?;
        if flow == Flow::Continue {
            rows.go_to(None);
            flow = self.pass_left(lookup, chunk, &mut rows.out, None, &mut out, sink)?;
        }
        self.return_chunk(out);
        Ok(flow)
    }

    /// Passes on what is to go on, a chunk at a time.
    fn pass_left(
        &mut self,
        lookup: &Lookup<'a>,
        chunk: &Chunk,
        list: &mut Vec<(u16, u32)>,
        pairs: Option<&mut Chunk>,
        out: &mut Chunk,
        sink: Sink<'_, 'a>,
    ) -> Result<Flow> {
        let pairs = pairs.as_deref();
        let slots = || lookup.node.columns.iter().map(|(_, slot)| *slot);
        for part in list.chunks(self.chunk_rows_max()) {
            out.reset(chunk.slots().iter().copied().chain(slots()));
            let (own, others) = out.columns_mut().split_at_mut(chunk.slots().len());
            for (to, from) in own.iter_mut().zip(chunk.columns()) {
                to.gather(from, part.iter().map(|(row, _)| usize::from(*row)));
            }
            for (to, slot) in others.iter_mut().zip(slots()) {
                match pairs.and_then(|pairs| pairs.column(slot)) {
                    Some(from) if part.iter().all(|(_, at)| *at != NONE) => to.gather(from, part.iter().map(|(_, at)| *at as usize)),
                    Some(from) => {
                        part.iter().for_each(|(_, at)| if *at == NONE { to.push_null() } else { to.push_from(from, *at as usize) })
                    }
                    None => part.iter().for_each(|_| to.push_null()),
                }
            }
            out.set_len(part.len());
            if self.pass_collected(out, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        list.clear();
        Ok(Flow::Continue)
    }
}
