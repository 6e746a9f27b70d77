//! Faults beyond crashes: what is planned, and what it excuses.
//!
//! # Invariants
//! 1. A fault that is told (an error of a read, a write, a sync, no room) excuses that error to the statement that met it, nothing else.
//! 2. Damage that nobody is told of (flipped bits, lost and misdirected writes) excuses errors that say so, of those who need the damaged place, as long as it
//!    is there. Wrong rows are never excused while the process lives. When the medium is healed, all that was acknowledged is there.
//! 3. A restart forgets what the process knew of its own writes. Only what a lost or misdirected write has left behind then, an old image with a right
//!    checksum, may be taken for good; how often that happens is counted.

use crate::options::Faults;
use crate::planted::Plant;
use crate::world::{Result, Stop, World};
use env::{Disk, FileKind, OpenMode, ReadFault, WriteFault};

/// Damage that nobody is told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Damage {
    /// Bits have flipped: a checksum tells.
    Flipped,
    /// An old image may be in the place of a page.
    OldImage,
}

const ANY_FILE: [&str; 6] = ["", "data", "doublewrite", "log/segment", "log/c", "undo/"];

impl World {
    /// Once in each life.
    pub(crate) fn inject_fault(&mut self) -> Result<()> {
        let faults = self.options.faults;
        match faults {
            Faults::None => return Ok(()),
            Faults::Writes => {
                let path = *self.random.one_of(&ANY_FILE);
                let fault = *self.random.one_of(&[WriteFault::Error, WriteFault::Torn, WriteFault::Short, WriteFault::Full]);
                let n = self.draw_distance(path);
                self.disk.plan_write(path, n, fault);
                self.trace.line(format!("fault: write {n} of {path:?}: {fault:?}"));
            }
            Faults::Syncs => {
                let path = *self.random.one_of(&ANY_FILE);
                let n = self.draw_distance(path);
                self.disk.plan_sync(path, n);
                self.trace.line(format!("fault: sync {n} of {path:?}"));
            }
            Faults::Reads => {
                let path = *self.random.one_of(&["", "data", "undo/"]);
                let fault = *self.random.one_of(&[ReadFault::Error, ReadFault::Garbled]);
                let n = self.draw_distance(path);
                self.disk.plan_read(path, n, fault);
                self.trace.line(format!("fault: read {n} of {path:?}: {fault:?}"));
            }
            Faults::Full => match *self.random.one_of(&["all", "all", "data", "doublewrite", "log/", "undo/"]) {
                "all" => {
                    let room = self.random.below(300_000) as u64;
                    self.disk.set_capacity(Some(self.disk.used() + room));
                    self.trace.line(format!("fault: {room} bytes of room"));
                }
                path => {
                    self.disk.set_full(Some(path));
                    self.trace.line(format!("fault: no room for {path}"));
                }
            },
            Faults::Damage => match self.random.below(5) {
                kind @ (0 | 1) => {
                    if !self.flip(if kind == 0 { "data" } else { "undo/" })? {
                        return Ok(());
                    }
                }
                kind => {
                    let fault = if kind == 2 { WriteFault::Misdirected } else { WriteFault::Lost };
                    let n = self.draw_distance("data");
                    self.disk.plan_write("data", n, fault);
                    self.damage = Some(Damage::OldImage);
                    self.trace.line(format!("fault: write {n} of data: {fault:?}"));
                }
            },
        }
        self.count(match faults {
            Faults::None => return Ok(()),
            Faults::Writes => "faults: writes",
            Faults::Syncs => "faults: syncs",
            Faults::Reads => "faults: reads",
            Faults::Full => "faults: full disks",
            Faults::Damage => "faults: silent damage",
        });
        self.armed = true;
        Ok(())
    }

    fn draw_distance(&mut self, path: &str) -> u64 {
        let far = if path.is_empty() { 30 } else { 8 };
        1 + self.random.below(far) as u64
    }

    /// What a medium does while nobody uses it, between two lives.
    pub(crate) fn damage_at_rest(&mut self) -> Result<()> {
        let path = *self.random.one_of(&["data", "data", "log/segment", "log/control", "log/checkpoint", "undo/", "doublewrite"]);
        let flipped = match path == "data" && self.plant.is_none() && self.random.percent(70) {
            true => self.flip_table_page()?,
            false => self.flip(path)?,
        };
        if flipped {
            self.count("faults: damage at rest");
            self.armed = true;
        }
        Ok(())
    }

    /// Before an opening: a read of it goes wrong, once.
    pub(crate) fn plan_fault_of_opening(&mut self) {
        let path = *self.random.one_of(&ANY_FILE);
        let fault = *self.random.one_of(&[ReadFault::Error, ReadFault::Garbled]);
        let n = self.draw_distance(path);
        self.disk.plan_read(path, n, fault);
        self.armed = true;
        self.count("faults: reads");
        self.trace.line(format!("fault: read {n} of {path:?} while opening: {fault:?}"));
    }

    /// Flips a bit in some file of this kind; `false` when there is none, or none that would be told of.
    fn flip(&mut self, prefix: &str) -> Result<bool> {
        let files: Vec<(String, u64)> = self.files()?.into_iter().filter(|(path, bytes)| path.starts_with(prefix) && *bytes > 0).collect();
        if files.is_empty() {
            return Ok(false);
        }
        let (path, bytes) = self.random.one_of(&files).clone();
        // What was durable long ago is at the front of the log and at the beginning of the data.
        let spot = match self.random.percent(50) {
            true => self.random.below(bytes as usize),
            false => self.random.below((bytes as usize).min(64 * 16 * 1024)),
        } as u64;
        if prefix == "log/segment" && !self.is_told_of(&path, spot) {
            return Ok(false);
        }
        let bit = self.random.below(8) as u8;
        if self.disk.flip_bit(&path, spot, bit).is_err() {
            return Err(Stop::Crash);
        }
        if self.plant == Some(Plant::NoPageChecksum) && path == "data" {
            self.seal_page(spot)?;
        }
        self.damage = self.damage.or(Some(Damage::Flipped));
        self.trace.line(format!("fault: bit {bit} of byte {spot} of {path}"));
        Ok(true)
    }

    /// Flips a bit in a page of a table or an index; `false` when there is none. The copies of the last pages written stay: a crash may need them.
    fn flip_table_page(&mut self) -> Result<bool> {
        const PAGE: u64 = 16 * 1024;
        /// Where a page's header has its type and its index.
        const TYPE: u64 = 4;
        const INDEX: u64 = 24;
        let find = || -> std::io::Result<Vec<u64>> {
            let file = self.disk.open("data", OpenMode::Existing, FileKind::Buffered)?;
            let mut header = [0; 28];
            let mut pages = Vec::new();
            for page in 0..file.len()? / PAGE {
                file.read_at(&mut header, page * PAGE)?;
                let index = u32::from_le_bytes([header[24], header[25], header[26], header[27]]);
                if header[TYPE as usize] != 0 && index >= engine::simulation::FIRST_INDEX {
                    pages.push(page);
                }
            }
            Ok(pages)
        };
        let pages = find().map_err(|_| Stop::Crash)?;
        if pages.is_empty() {
            return Ok(false);
        }
        let spot = *self.random.one_of(&pages) * PAGE + self.random.between(INDEX as usize + 100, PAGE as usize) as u64 - 1;
        let flipped = self.disk.flip_bit("data", spot, self.random.below(8) as u8);
        flipped.map_err(|_| Stop::Crash)?;
        self.damage = self.damage.or(Some(Damage::Flipped));
        self.trace.line(format!("fault: a bit of byte {spot} of data, in a page of a table"));
        Ok(true)
    }

    /// Whether the log behind this place says that it was durable. The very end of the log is like one that a crash has torn.
    fn is_told_of(&self, path: &str, spot: u64) -> bool {
        let number = path.strip_prefix("log/segment-").and_then(|number| number.parse::<u64>().ok());
        number.is_none_or(|number| number * crate::options::SEGMENT_BYTES + spot < self.log_marked)
    }

    /// A bug: a page with flipped bits has a right checksum.
    fn seal_page(&mut self, spot: u64) -> Result<()> {
        let page = 16 * 1024;
        let start = spot / page * page;
        let sealed = || -> std::io::Result<()> {
            let file = self.disk.open("data", OpenMode::Existing, FileKind::Buffered)?;
            let mut bytes = vec![0; page as usize];
            file.read_at(&mut bytes, start)?;
            let sum = base::crc32c(&bytes[4..]);
            bytes[..4].copy_from_slice(&sum.to_le_bytes());
            file.write_at(&bytes, start)?;
            file.sync()
        };
        sealed().map_err(|_| Stop::Crash)
    }

    /// All files with their lengths.
    pub(crate) fn files(&self) -> Result<Vec<(String, u64)>> {
        let disk = &self.disk;
        let list = || -> std::io::Result<Vec<(String, u64)>> {
            let mut files = Vec::new();
            for directory in ["", "log", "undo"] {
                if !directory.is_empty() && !disk.exists(directory)? {
                    continue;
                }
                for name in disk.list(directory)? {
                    let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
                    if let Ok(file) = disk.open(&path, OpenMode::Existing, FileKind::Buffered) {
                        files.push((path, file.len()?));
                    }
                }
            }
            Ok(files)
        };
        list().map_err(|_| Stop::Crash)
    }

    /// The disk has room again: what failed for want of it is done now.
    pub(crate) fn give_room(&mut self) -> Result<()> {
        self.disk.set_capacity(None);
        self.disk.set_full(None);
        self.trace.line("the disk has room again".into());
        self.try_rollbacks_again()?;
        self.armed = self.abandoned;
        Ok(())
    }

    /// Nothing but the full disk stood in the way of the rollbacks that failed.
    fn try_rollbacks_again(&mut self) -> Result<()> {
        if self.engine().rollbacks_pending() == 0 {
            return Ok(());
        }
        let count = self.engine().roll_back_abandoned();
        self.trace.line(format!("{count} rollbacks tried again"));
        let pending = self.engine().rollbacks_pending();
        if pending > 0 {
            return Err(Stop::Violation(format!("{pending} rollbacks fail although the disk has room")));
        }
        self.count("rollbacks that a second try ended");
        self.warnings.lock().clear();
        self.abandoned = false;
        if !self.unfinished {
            self.losers.clear();
        }
        Ok(())
    }

    /// The medium is repaired: whatever was damaged, and not written since, is as it was written.
    pub(crate) fn heal(&mut self) {
        if self.damage.take().is_some() {
            let places = self.disk.heal();
            self.scarred = true;
            self.trace.line(format!("the medium is healed in {places} places"));
            self.count("faults: healed");
            self.armed = false;
        }
        self.disk.forget_damage();
    }

    /// The end of a run whose medium stays damaged: what is wrong is told, or everything is there; or it was an old image.
    pub(crate) fn judge_damaged(&mut self) -> Result<()> {
        let old_images = self.damage == Some(Damage::OldImage);
        self.armed = true;
        self.scarred = true;
        let excused = |world: &World| world.counts.get("errors excused by a fault").copied();
        let before = excused(self);
        let seen = self.open().and_then(|()| self.finish_recovery()).and_then(|()| self.check_everything());
        match seen {
            Ok(()) if excused(self) == before => self.count("damage that did no harm"),
            Ok(()) => self.count("damage told after a restart"),
            Err(Stop::Restart(why)) => {
                self.trace.line(format!("told: {why}"));
                self.count("damage told after a restart");
            }
            Err(Stop::Violation(what)) if old_images => {
                self.trace.line(format!("not told: {what}"));
                self.count("old images that nothing told after a restart");
            }
            Err(other) => return Err(other),
        }
        self.bring_down(true);
        Ok(())
    }

    fn check_everything(&mut self) -> Result<()> {
        self.check_contents()?;
        let catalog = std::sync::Arc::clone(&self.live().catalog);
        if let Err(error) = catalog.free_orphans(catalog.orphan_horizon()) {
            return self.excuse_catalog(&error, "free orphans");
        }
        self.check_tables()
    }
}
