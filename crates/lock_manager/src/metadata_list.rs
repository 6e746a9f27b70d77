//! What metadata locks are held and awaited, for `performance_schema.metadata_locks`. Each owner is asked for itself: the list is no moment.

use crate::cancel::WaitsFor;
use crate::manager::LockManager;
use crate::metadata::Protects;
use crate::outside::Awaited;
use crate::shares::HoldKind;

/// A metadata lock that somebody has or waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetadataLockInfo {
    /// [`crate::Owner::client`] of whose it is; 0 for a prepared transaction's.
    pub client: u64,
    /// [`crate::Owner::number`].
    pub owner: u64,
    /// What it protects.
    pub protects: Protects,
    /// As what it is held or awaited.
    pub kind: HoldKind,
    /// What the owner waits for, when it is not granted.
    pub awaited: Option<WaitsFor>,
}

impl LockManager {
    /// How many wait for something else than a row.
    pub fn outside_waits(&self) -> usize {
        let waits = |owner: &std::sync::Arc<crate::Owner>| owner.outside().waiting.as_ref().is_some_and(|wait| wait.cell.is_waiting());
        self.owners(crate::Owner::waits).iter().filter(|owner| waits(owner)).count()
    }

    /// Metadata locks in the names of owners, by owner.
    pub fn metadata_locks(&self) -> Vec<MetadataLockInfo> {
        let mut all = Vec::new();
        for owner in self.owners(|_| true) {
            let outside = owner.outside();
            let info =
                |protects, kind, awaited| MetadataLockInfo { client: owner.client(), owner: owner.number(), protects, kind, awaited };
            let held = outside.holds.iter().filter(|hold| hold.is_held());
            all.extend(held.map(|hold| info(hold.lock().protects(), hold.kind(), None)));
            if let Some(wait) = &outside.waiting
                && let Awaited::Table { lock, wanted, .. } = &wait.awaited
                && wait.cell.is_waiting()
            {
                all.push(info(lock.protects(), *wanted, Some(wait.what)));
            }
        }
        all.sort_by_key(|lock| lock.owner);
        all
    }
}
