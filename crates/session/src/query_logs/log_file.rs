//! The file of a log: appended to by all sessions, opened anew by FLUSH.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sync::atomic::{AtomicBool, Ordering};
use sync::{Rank, RwLock};

/// A log's file, open or not.
pub(super) struct LogFile {
    /// Held only to look: an append goes on in the file that it found.
    open: RwLock<Option<Arc<Appender>>>,
}

struct Appender {
    path: PathBuf,
    file: File,
    /// An entry was lost, which was told. Relaxed: who tells of it twice does no harm.
    failing: AtomicBool,
    /// The last entry may be there in part. Relaxed, as above.
    torn: AtomicBool,
}

impl LogFile {
    pub(super) fn new() -> LogFile {
        LogFile { open: RwLock::new(Rank::Leaf, None) }
    }

    /// Opens a file in the place of the one that is open, which stays where this fails; it begins with `head`.
    pub(super) fn open(&self, path: &Path, head: &[u8]) -> io::Result<()> {
        let file = env::outside::append(path)?;
        let appender = Appender { path: path.to_owned(), file, failing: AtomicBool::new(false), torn: AtomicBool::new(false) };
        // The head is a courtesy: a full disk is told of at the first entry.
        appender.write(head).unwrap_or_default();
        let old = self.open.write().replace(Arc::new(appender));
        drop(old);
        Ok(())
    }

    /// Whether the file of a path is open.
    pub(super) fn is_open_at(&self, path: &Path) -> bool {
        self.open.read().as_ref().is_some_and(|appender| appender.path == path)
    }

    pub(super) fn close(&self) {
        let old = self.open.write().take();
        drop(old);
    }

    /// Appends an entry; what the server's log is to say where that has begun to fail.
    pub(super) fn append(&self, entry: &[u8]) -> Option<String> {
        let appender = self.open.read().clone()?;
        match appender.write(entry) {
            Ok(()) => {
                if appender.failing.load(Ordering::Relaxed) {
                    appender.failing.store(false, Ordering::Relaxed);
                }
                None
            }
            Err(error) => {
                let known = appender.failing.swap(true, Ordering::Relaxed);
                (!known).then(|| {
                    format!("Could not use {} for logging ({error}); entries are lost until that is mended", appender.path.display())
                })
            }
        }
    }
}

impl Appender {
    /// One write: what several sessions write does not mix.
    fn write(&self, entry: &[u8]) -> io::Result<()> {
        let torn = self.torn.load(Ordering::Relaxed);
        let joined;
        let entry = if torn {
            joined = [b"\n", entry].concat();
            &joined[..]
        } else {
            entry
        };
        loop {
            match (&self.file).write(entry) {
                Ok(written) if written == entry.len() => {
                    if torn {
                        self.torn.store(false, Ordering::Relaxed);
                    }
                    return Ok(());
                }
                Ok(written) => {
                    self.torn.store(written > 0 || torn, Ordering::Relaxed);
                    // The second half of an entry must not stand behind another's: it is lost, and the next one begins on a line of its own.
                    return Err(io::Error::from(io::ErrorKind::StorageFull));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_go_behind_what_is_there_and_a_moved_file_is_left_at_the_next_opening() {
        let directory = tempfile::tempdir().expect("a directory");
        let (path, moved) = (directory.path().join("log"), directory.path().join("log.1"));
        std::fs::write(&path, "before\n").expect("written");
        let log = LogFile::new();
        assert_eq!(log.append(b"nowhere\n"), None);
        log.open(&path, b"head\n").expect("opened");
        log.append(b"one\n");
        std::fs::rename(&path, &moved).expect("moved");
        log.append(b"two\n");
        log.open(&path, b"head\n").expect("opened");
        log.append(b"three\n");
        assert!(log.open(&directory.path().join("absent/log"), b"").is_err());
        log.append(b"four\n");
        log.close();
        log.append(b"five\n");
        let read = |path| std::fs::read_to_string(path).expect("there");
        assert_eq!((read(&moved).as_str(), read(&path).as_str()), ("before\nhead\none\ntwo\n", "head\nthree\nfour\n"));
    }

    #[test]
    fn what_fails_is_told_once_and_a_torn_entry_ends_its_line() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log");
        std::fs::write(&path, "").expect("written");
        let log = LogFile::new();
        let appender = |file| Appender { path: path.clone(), file, failing: AtomicBool::new(false), torn: AtomicBool::new(true) };
        // A file that is open for reading alone fails as a full disk does.
        *log.open.write() = Some(Arc::new(appender(File::open(&path).expect("there"))));
        assert!(log.append(b"lost\n").is_some_and(|text| text.contains("Could not use")));
        assert_eq!(log.append(b"lost\n"), None);
        *log.open.write() = Some(Arc::new(appender(env::outside::append(&path).expect("there"))));
        assert_eq!((log.append(b"a\n"), log.append(b"b\n")), (None, None));
        assert_eq!(std::fs::read_to_string(&path).expect("there"), "\na\nb\n");
    }
}
