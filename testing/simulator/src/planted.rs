//! Bugs planted on purpose: a simulator that does not find them is worth nothing. Those here lie between engine and disk (`planted_disk.rs`) or are
//! calls of `engine::simulation`, which the product never makes.

/// A planted bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plant {
    /// Syncs of log segments do nothing: a commit is acknowledged before it is durable.
    NoLogSync,
    /// One sync of a log segment in twenty does nothing.
    SkippedLogSync,
    /// Syncs of the data file do nothing: a checkpoint trusts pages that may be lost.
    NoDataSync,
    /// Syncs of the checkpoint's files do nothing: the log is reused before the checkpoint that allows it is durable.
    NoCheckpointSync,
    /// Syncs of the undo file do nothing.
    NoUndoSync,
    /// Syncs of the list of pages in memory do nothing.
    NoListSync,
    /// Syncs of directories do nothing.
    NoDirectorySync,
    /// The engine runs without doublewrite on a disk that tears pages.
    NoDoublewrite,
    /// What is written to the doublewrite file vanishes.
    LostDoublewrite,
    /// Checkpoints name a redo position that is too new.
    WrongCheckpointLsn,
    /// Now and then a page write vanishes, and the memory of what was written with it (as after a restart).
    LostPageWrite,
    /// Now and then a log write vanishes.
    LostLogWrite,
    /// A change of a page in some thirty is not in the log.
    UnloggedPageChange,
    /// Rows that went into a leaf together are not in the log, one time in three.
    UnloggedRun,
    /// A change of the space map in some ten is not in the log.
    UnloggedAllocation,
    /// AUTO_INCREMENT counters are not in the log.
    UnloggedCounter,
    /// How far a transaction was rolled back is not in the log.
    UnloggedRollbackStep,
    /// Entries that rollbacks leave to purge are not in the log.
    UnloggedLeftover,
    /// Ids given out are not in the log.
    UnloggedIds,
    /// A flipped bit in a page leaves its checksum right: as if nobody looked at checksums.
    NoPageChecksum,
    /// A record is reserved in the log and its link is lost: nobody gets past it.
    LostLink,
    /// Rows that were changed by a commit that is not durable are told without waiting for it.
    ToldTooEarly,
    /// A commit with a policy that need not wait is shown without waiting for the durable one that it was built on.
    LazyOverUndurable,
    /// Plain snapshots see a commit before it is durable.
    UndurableShown,
    /// Row locks go before the commit record is in the log.
    UnlockedEarly,
    /// A prepared branch is acknowledged before it is durable.
    PrepareNotSynced,
    /// The rollback of a prepared branch is acknowledged before it is durable.
    BranchRollbackNotSynced,
    /// The log does not say that a prepared branch is being rolled back before it holds what that changes.
    BranchRollbackUntold,
    /// A restart does not lock the rows of prepared branches again.
    PreparedUnlocked,
    /// PREPARE does not name the tables that the branch has changed.
    PreparedTablesUnnamed,
    /// A row that refers to another is written without a lock on that one.
    ParentUnlocked,
    /// The trees of temporary tables that a crash has left are taken for tables.
    TemporaryLeft,
    /// Purge between snapshots releases versions that a view needs.
    PrunedNeeded,
    /// Of two old views the older one is led past the place where it goes on further back.
    OlderSkipLost,
    /// Rows that a transaction deleted which is kept for a view go without a look at who sees them.
    KeptRowsPurged,
    /// An index that is built beside writers forgets a row whose change it has looked for before it was committed.
    UnseenChangeForgotten,
}

impl Plant {
    /// All of them.
    pub const ALL: [Plant; 36] = [
        Plant::NoLogSync,
        Plant::SkippedLogSync,
        Plant::NoDataSync,
        Plant::NoCheckpointSync,
        Plant::NoUndoSync,
        Plant::NoListSync,
        Plant::NoDirectorySync,
        Plant::NoDoublewrite,
        Plant::LostDoublewrite,
        Plant::WrongCheckpointLsn,
        Plant::LostPageWrite,
        Plant::LostLogWrite,
        Plant::UnloggedPageChange,
        Plant::UnloggedRun,
        Plant::UnloggedAllocation,
        Plant::UnloggedCounter,
        Plant::UnloggedRollbackStep,
        Plant::UnloggedLeftover,
        Plant::UnloggedIds,
        Plant::NoPageChecksum,
        Plant::LostLink,
        Plant::ToldTooEarly,
        Plant::LazyOverUndurable,
        Plant::UndurableShown,
        Plant::UnlockedEarly,
        Plant::PrepareNotSynced,
        Plant::BranchRollbackNotSynced,
        Plant::BranchRollbackUntold,
        Plant::PreparedUnlocked,
        Plant::PreparedTablesUnnamed,
        Plant::ParentUnlocked,
        Plant::TemporaryLeft,
        Plant::PrunedNeeded,
        Plant::OlderSkipLost,
        Plant::KeptRowsPurged,
        Plant::UnseenChangeForgotten,
    ];

    /// Its name on the command line.
    pub fn name(self) -> String {
        format!("{self:?}")
    }

    /// The bug of a name.
    pub fn from_name(name: &str) -> Option<Plant> {
        Plant::ALL.into_iter().find(|plant| plant.name().eq_ignore_ascii_case(name))
    }
}
