//! Up to where the log is replayed.

use base::Lsn;

/// Where a restore ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Until {
    /// With all that the backup, or the archive if there is one, has.
    #[default]
    Last,
    /// With the last record that ends at or below.
    Lsn(Lsn),
    /// Before the first commit later than this, in microseconds since 1970 by the server's wall clock.
    Time(i64),
}

impl Until {
    /// Whether a record still belongs to it. `commit_us` is the time of the commit in it, if there is one.
    pub(crate) fn includes(&self, end: Lsn, commit_us: Option<i64>) -> bool {
        match self {
            Until::Last => true,
            Until::Lsn(lsn) => end <= *lsn,
            Until::Time(time) => commit_us.is_none_or(|commit| commit <= *time),
        }
    }
}
