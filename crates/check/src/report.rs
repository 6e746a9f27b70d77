//! What was found, told as it is found.

use base::PageNo;
use std::fmt;
use sync::atomic::{AtomicU64, Ordering};
use sync::{Mutex, Rank};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Something is not as it must be.
    Error,
    /// Worth knowing; no harm.
    Note,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad.
    pub weight: Weight,
    /// File in the directory.
    pub file: String,
    /// Page of `data`.
    pub page: Option<PageNo>,
    /// Table and index, as `d.t` or `d.t.index`.
    pub object: Option<String>,
    /// What it is.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.weight {
            Weight::Error => f.write_str("error: ")?,
            Weight::Note => f.write_str("note: ")?,
        }
        f.write_str(&self.file)?;
        if let Some(page) = self.page {
            write!(f, ", page {page}")?;
        }
        if let Some(object) = &self.object {
            write!(f, ", {object}")?;
        }
        write!(f, ": {}", self.what)
    }
}

type Sink = Box<dyn FnMut(&Finding) + Send>;
type Progress = Box<dyn Fn(&str, u64, u64) + Send + Sync>;

/// Where findings go, and how far the work is.
pub struct Report {
    sink: Mutex<Sink>,
    progress: Progress,
    errors: AtomicU64,
    notes: AtomicU64,
}

impl Report {
    /// `sink` is told each finding, `progress` (what, done, of how many) now and then.
    pub fn new(sink: impl FnMut(&Finding) + Send + 'static, progress: impl Fn(&str, u64, u64) + Send + Sync + 'static) -> Report {
        Report {
            sink: Mutex::new(Rank::Leaf, Box::new(sink)),
            progress: Box::new(progress),
            errors: AtomicU64::new(0),
            notes: AtomicU64::new(0),
        }
    }

    /// Errors so far.
    pub fn errors(&self) -> u64 {
        self.errors.load(Ordering::Relaxed)
    }

    /// Notes so far.
    pub fn notes(&self) -> u64 {
        self.notes.load(Ordering::Relaxed)
    }

    pub(crate) fn error(&self, file: &str, page: Option<PageNo>, object: Option<&str>, what: impl Into<String>) {
        self.errors.fetch_add(1, Ordering::Relaxed);
        self.tell(Weight::Error, file, page, object, what.into());
    }

    pub(crate) fn note(&self, file: &str, page: Option<PageNo>, object: Option<&str>, what: impl Into<String>) {
        self.notes.fetch_add(1, Ordering::Relaxed);
        self.tell(Weight::Note, file, page, object, what.into());
    }

    fn tell(&self, weight: Weight, file: &str, page: Option<PageNo>, object: Option<&str>, what: String) {
        let finding = Finding { weight, file: file.to_owned(), page, object: object.map(str::to_owned), what };
        (self.sink.lock())(&finding);
    }

    pub(crate) fn progress(&self, phase: &str, done: u64, total: u64) {
        (self.progress)(phase, done, total);
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Report({} errors, {} notes)", self.errors(), self.notes())
    }
}
