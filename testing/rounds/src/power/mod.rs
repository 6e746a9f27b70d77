//! A file system in memory whose power fails.
//!
//! The server runs on it as on any other (FUSE: whatever system call it makes, this sees what it means). What was written and not synced is
//! there for everybody who reads, and kept apart; [`Power::fail`] decides for each of it whether it had reached the disk.
//!
//! What a file system owes after a power failure, and no more: bytes and length of a file as of its last `fsync` or `fdatasync`; a name as
//! of the last `fsync` of its directory. Everything later may be there, wholly, in part (by sectors of 512 bytes) or not at all, and one
//! write without another that was before it. Names alone come and go in the order in which they were changed, as journals keep it.

mod disk;
mod mount;

pub use disk::Lost;

use disk::Disk;
use env::SplitMix64;
use mount::Mounted;
use std::path::Path;
use std::time::Duration;
use sync::{Arc, Mutex, Rank};

/// Files whose syncs are ignored: a disk that lies, and also what a server would be that leaves these syncs out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lie {
    /// None.
    None,
    /// Files and directories in whose path this occurs.
    About(String),
}

/// The file system, mounted until it is dropped.
pub struct Power {
    disk: Arc<Mutex<Disk>>,
    random: Mutex<SplitMix64>,
    mounted: Mounted,
}

impl Power {
    /// Mounts it; an error where that is not allowed. Each sync takes `sync_time`, so that crashes come in the middle of one.
    pub fn mount(seed: u64, sync_time: Duration, lie: Lie) -> std::io::Result<Power> {
        let disk = Arc::new(Mutex::new(Rank::Leaf, Disk::new(lie)));
        let mounted = Mounted::new(Arc::clone(&disk), sync_time)?;
        Ok(Power { disk, random: Mutex::new(Rank::Leaf, SplitMix64::new(seed)), mounted })
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.mounted.path()
    }

    /// All that was written until now is on the disk.
    pub fn settle(&self) {
        self.disk.lock().settle();
    }

    /// What [`Power::fail`] does, for a thread of its own. Whoever writes must be dead.
    pub fn failing(self: &Arc<Self>) -> impl Fn() + Send + Sync + use<> {
        let power = Arc::clone(self);
        move || {
            power.fail();
        }
    }

    /// The power fails: what was not synced is there, or in part, or not.
    pub fn fail(&self) -> Lost {
        let seed = self.random.lock().next();
        self.disk.lock().fail(&mut SplitMix64::new(seed))
    }

    /// What was lost by all failures until now.
    pub fn lost(&self) -> Lost {
        self.disk.lock().lost()
    }
}
