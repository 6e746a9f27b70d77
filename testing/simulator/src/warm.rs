//! Warm starts: the list of the pages in memory, written now and then and at a clean end, read by the next life beside its first steps, or again later.
//!
//! # What is demanded
//! 1. Whatever a crash leaves of the list is a whole one or none: nobody but [`World::spoil_list`] makes it anything else.
//! 2. What lies in its place keeps nobody from starting: cut or flipped it is passed over with a warning, and of a list of another directory only pages are read that
//!    are an index's here.
//! 3. No row is other for the pages that it brings: all checks come behind it.

use crate::random::Random;
use crate::world::{Result, Stop, World};
use base::PageNo;
use engine::simulation::{PAGE_LIST, read_page_list, write_foreign_page_list, write_page_list};
use engine::{DumpStatus, LoadStatus};
use env::{Disk, FileKind, OpenMode};
use std::sync::Arc;

/// What the engine says of a file that is no list.
const PASSED_OVER: &str = "is no list of the buffer pool's pages";

impl World {
    /// A server that has opened its directory begins with the list.
    pub(crate) fn begin_warm(&mut self) -> Result<()> {
        if self.options.warm && Random::apart(&self.random).percent(80) { self.read_list() } else { Ok(()) }
    }

    /// Before a step, now and then: as when it is time for a list, or when somebody wants the pages of the last one. The step draws what it would have drawn.
    pub(crate) fn warm_step(&mut self) -> Result<()> {
        let mut apart = Random::apart(&self.random);
        if !self.options.warm || !apart.percent(3) {
            return Ok(());
        }
        if apart.percent(60) { self.write_list() } else { self.read_list() }
    }

    pub(crate) fn write_list(&mut self) -> Result<()> {
        let status = write_page_list(self.engine());
        match status {
            DumpStatus::Done(_) => {
                self.trace.line("pages listed".into());
                self.count("lists of the pages in memory");
                self.list_spoilt = false;
            }
            // The warning says it, and is a violation where no fault explains it.
            DumpStatus::Failed(_, why) => self.trace.line(format!("pages not listed: {why}")),
            other => return Err(Stop::Violation(format!("a list that is written: {other:?}"))),
        }
        self.check_warnings()
    }

    fn read_list(&mut self) -> Result<()> {
        let engine = Arc::clone(self.engine());
        let resident = || engine.pool().resident_pages().len();
        let before = resident();
        let status = read_page_list(&engine);
        let brought = resident().saturating_sub(before);
        self.trace.line(format!("{brought} pages brought by the list, {before} were there: {}", short(&status)));
        match status {
            LoadStatus::Done(_) | LoadStatus::Empty(..) => {
                self.count("lists of pages read");
                self.count_by("pages that a list brought", brought as u64);
            }
            LoadStatus::Malformed(_) if self.list_spoilt => {
                self.count("spoilt lists passed over");
                self.warnings.lock().retain(|text| !text.contains(PASSED_OVER));
            }
            // As above.
            LoadStatus::Malformed(_) | LoadStatus::Unreadable(..) => {}
            other => return Err(Stop::Violation(format!("a list that is read: {other:?}"))),
        }
        self.check_warnings()
    }

    /// Between two lives somebody lays hands on the list.
    pub(crate) fn spoil_list(&mut self) -> Result<()> {
        if !self.options.warm || !self.random.percent(30) {
            return Ok(());
        }
        let done = if self.random.percent(40) { self.put_foreign_list() } else { self.garble_list() };
        done.map_err(|_| Stop::Crash)
    }

    /// A list of another directory: pages of the map and of nobody, some past the end of the file, some twice.
    fn put_foreign_list(&mut self) -> std::io::Result<()> {
        let count = self.random.between(0, 200);
        let far = *self.random.one_of(&[100, 5_000, usize::MAX]);
        let pages: Vec<PageNo> = (0..count).map(|_| PageNo(self.random.below(far) as u64)).collect();
        write_foreign_page_list(&self.disk, &pages)?;
        self.list_spoilt = false;
        self.trace.line(format!("a list of {count} pages below {far}"));
        Ok(())
    }

    /// A list that is cut, or has a wrong bit.
    fn garble_list(&mut self) -> std::io::Result<()> {
        if !self.disk.exists(PAGE_LIST)? {
            return Ok(());
        }
        let file = self.disk.open(PAGE_LIST, OpenMode::Existing, FileKind::Buffered)?;
        let bytes = file.len()? as usize;
        if bytes == 0 {
            return Ok(());
        }
        let at = self.random.below(bytes) as u64;
        if self.random.percent(50) {
            file.set_len(at)?;
        } else {
            let mut byte = [0];
            file.read_at(&mut byte, at)?;
            file.write_at(&[byte[0] ^ 1 << self.random.below(8)], at)?;
        }
        file.sync()?;
        self.list_spoilt = true;
        self.trace.line(format!("the list of {bytes} bytes is spoilt at {at}"));
        Ok(())
    }
}

/// Without the time, which is the machine's.
fn short(status: &LoadStatus) -> String {
    match status {
        LoadStatus::Done(_) => "done".into(),
        LoadStatus::Empty(..) => "empty".into(),
        other => format!("{other:?}"),
    }
}
