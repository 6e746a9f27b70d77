//! What each isolation level promises, and so what the checker accepts.
//!
//! Every transaction is looked at in two parts. Its **current part** is what it wrote and what it read with a lock: by two-phase locking all
//! current parts are serialisable in the order of their commits, at every level, as far as rows that were found go; where gaps are locked,
//! also as far as rows that were *not* found go. Its **snapshots** are what its plain SELECTs saw: each is a moment between two commits.
//! A graph of current parts and snapshots must therefore have no cycle at all, at any level; levels differ in what a snapshot covers:
//!
//! | Level | A plain SELECT is | Gaps locked | Allowed between whole transactions |
//! |---|---|---|---|
//! | READ UNCOMMITTED | nothing (it may see anything that was ever written) | no | all but G0: also G1a, G1b, G1c |
//! | READ COMMITTED | a snapshot of its own | no | G-single, lost update (of what a plain SELECT read), G2 |
//! | REPEATABLE READ | part of the transaction's one snapshot | yes | as MySQL: the snapshot stays, changes are current, so what was read by a plain SELECT may be overwritten (lost update, G-single, G2). A transaction that only reads plainly sees one moment |
//! | REPEATABLE READ, snapshot_isolation=ON | part of the transaction's one snapshot | yes | G2 with two neighbouring anti-dependencies (write skew); first updater wins, so no lost update and no G-single; the snapshot is as old as the first statement, of any kind |
//! | SERIALIZABLE | a locking read; outside of a transaction a snapshot of its own | yes | nothing |
//!
//! Rows that a transaction has written itself are no part of its snapshot: a plain SELECT shows them as they are now, with what others had
//! committed to the same row before (MySQL's rule at REPEATABLE READ). Under snapshot_isolation that cannot be, as the write would have failed.
//!
//! At every level: what was acknowledged stays; what was rolled back is never there at the end; a transaction is there whole or not at all;
//! a transaction sees its own writes; a row is never seen half changed; a snapshot opened after a commit was acknowledged sees it.

/// An isolation level, as clients set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// READ UNCOMMITTED.
    ReadUncommitted,
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ.
    RepeatableRead,
    /// REPEATABLE READ with `snapshot_isolation=ON`.
    SnapshotIsolation,
    /// SERIALIZABLE.
    Serializable,
}

/// What a plain SELECT is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainRead {
    /// It may see anything.
    Dirty,
    /// A snapshot of its own.
    OfStatement,
    /// Part of its transaction's only snapshot.
    OfTransaction,
    /// A locking read.
    Locking,
}

impl Level {
    /// All of them.
    pub const ALL: [Level; 5] =
        [Level::ReadUncommitted, Level::ReadCommitted, Level::RepeatableRead, Level::SnapshotIsolation, Level::Serializable];

    /// A short name, for reports and the command line.
    pub fn name(self) -> &'static str {
        match self {
            Level::ReadUncommitted => "read-uncommitted",
            Level::ReadCommitted => "read-committed",
            Level::RepeatableRead => "repeatable-read",
            Level::SnapshotIsolation => "snapshot-isolation",
            Level::Serializable => "serializable",
        }
    }

    /// The level of a short name.
    pub fn parse(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name() == name)
    }

    /// The statements that set it for a session.
    pub fn set(self) -> Vec<String> {
        let sql = match self {
            Level::ReadUncommitted => "READ UNCOMMITTED",
            Level::ReadCommitted => "READ COMMITTED",
            Level::RepeatableRead | Level::SnapshotIsolation => "REPEATABLE READ",
            Level::Serializable => "SERIALIZABLE",
        };
        let mut all = vec![format!("SET SESSION TRANSACTION ISOLATION LEVEL {sql}")];
        if self == Level::SnapshotIsolation {
            all.push("SET SESSION snapshot_isolation = ON".into());
        }
        all
    }

    /// What a plain SELECT is, inside a transaction or as one of its own.
    pub fn plain_read(self, autocommit: bool) -> PlainRead {
        match self {
            Level::ReadUncommitted => PlainRead::Dirty,
            Level::ReadCommitted => PlainRead::OfStatement,
            Level::RepeatableRead | Level::SnapshotIsolation => PlainRead::OfTransaction,
            Level::Serializable if autocommit => PlainRead::OfStatement,
            Level::Serializable => PlainRead::Locking,
        }
    }

    /// Whether a locking read keeps away rows that it did not find.
    pub fn locks_gaps(self) -> bool {
        self >= Level::RepeatableRead
    }
}
