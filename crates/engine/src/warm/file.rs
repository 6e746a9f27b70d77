//! The file of the list. It is replaced as a whole: after a crash it is the old one, the new one, or (where none was durable) none.

use crate::warm::list::{self, Source, Unfit};
use base::PageNo;
use env::{Disk, File, FileKind, OpenMode};
use std::io;
use std::sync::Arc;

/// Bytes of a name at most, with what is put behind it.
const NAME_BYTES_MAX: usize = 200;
/// Behind the name of a file that is being written.
pub(super) const INCOMPLETE: &str = ".incomplete";

struct Of(Arc<dyn File>);

impl Source for Of {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_at(bytes, offset)
    }
}

/// The pages that are listed, the first so many.
pub(super) fn read(disk: &dyn Disk, name: &str, pages_max: usize) -> Result<Vec<PageNo>, Unfit> {
    check_name(name).map_err(Unfit::Io)?;
    if !disk.exists(name).map_err(Unfit::Io)? {
        return Err(Unfit::Io(io::Error::from_raw_os_error(NOT_FOUND)));
    }
    let file = disk.open(name, OpenMode::Existing, FileKind::Buffered).map_err(Unfit::Io)?;
    list::decode(&Of(file), pages_max)
}

/// `ENOENT`: its text is the one that MySQL shows.
const NOT_FOUND: i32 = 2;

/// Makes the file hold this list, durably.
pub(super) fn write(disk: &dyn Disk, name: &str, bytes: &[u8]) -> io::Result<()> {
    check_name(name)?;
    // The name of our own may have anything in it; another one may be of a file that somebody needs, the data file for one.
    if name != super::FILE_DEFAULT && disk.exists(name)? && !is_list(disk, name)? {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is another file of that name"));
    }
    let new = format!("{name}{INCOMPLETE}");
    let replaced = fill(disk, &new, bytes).and_then(|()| disk.rename(&new, name)).and_then(|()| disk.sync_dir(""));
    if replaced.is_err() {
        // What is left of it is of no use, and may be what fills the disk; if it stays, the next list is written over it.
        let _ = disk.remove(&new);
    }
    replaced
}

fn fill(disk: &dyn Disk, name: &str, bytes: &[u8]) -> io::Result<()> {
    let file = disk.open(name, OpenMode::Create, FileKind::Buffered)?;
    file.set_len(bytes.len() as u64)?;
    file.write_at(bytes, 0)?;
    file.sync()
}

/// The list lies in the data directory: elsewhere the account that names the file might not be one who may write there.
fn check_name(name: &str) -> io::Result<()> {
    let refused = name.is_empty() || name.len() > NAME_BYTES_MAX || name.starts_with('.') || name.contains(['/', '\\', '\0']);
    if refused { Err(io::Error::new(io::ErrorKind::InvalidInput, "not the name of a file in the data directory")) } else { Ok(()) }
}

fn is_list(disk: &dyn Disk, name: &str) -> io::Result<bool> {
    let file = disk.open(name, OpenMode::Existing, FileKind::Buffered)?;
    let mut beginning = [0; list::MAGIC_BYTES];
    if file.len()? < beginning.len() as u64 {
        return Ok(false);
    }
    file.read_at(&mut beginning, 0)?;
    Ok(list::is_list(&beginning))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warm::FILE_DEFAULT;
    use env::SimDisk;

    fn put(disk: &SimDisk, name: &str, bytes: &[u8]) {
        let file = disk.open(name, OpenMode::Create, FileKind::Buffered).expect("a file");
        file.set_len(bytes.len() as u64).and_then(|()| file.write_at(bytes, 0)).expect("written");
    }

    fn pages(count: u64) -> Vec<PageNo> {
        (1..=count).map(PageNo).collect()
    }

    #[test]
    fn files_of_others_are_left_alone() {
        let disk = SimDisk::new(1);
        put(&disk, "data", b"rows of somebody");
        put(&disk, "short", b"x");
        for name in ["data", "short", "", ".", "..", "../elsewhere", "/etc/passwd", "undo/1", "a\0b", &"n".repeat(300)] {
            assert!(write(&disk, name, &list::encode(&pages(5))).is_err(), "{name:?}");
            assert!(read(&disk, name, 10).is_err(), "{name:?}");
        }
        let mut kept = [0; 16];
        disk.open("data", OpenMode::Existing, FileKind::Buffered).expect("a file").read_at(&mut kept, 0).expect("read");
        assert_eq!(&kept, b"rows of somebody");
        // Another name with nothing behind it, then with a list; the name of our own whatever it holds.
        put(&disk, FILE_DEFAULT, b"garbage");
        for name in ["mine", "mine", FILE_DEFAULT] {
            write(&disk, name, &list::encode(&pages(5))).expect("written");
            assert_eq!(read(&disk, name, 10).expect("a list"), pages(5));
        }
    }

    /// At whatever step the machine goes down: the old list or the new one is there.
    #[test]
    fn a_crash_leaves_the_old_list_or_the_new_one() {
        let (mut old, mut new) = (0, 0);
        for seed in 0..20 {
            for step in 1..10 {
                let disk = SimDisk::new(seed);
                write(&disk, FILE_DEFAULT, &list::encode(&pages(1000))).expect("written");
                disk.crash_at(step);
                let told = write(&disk, FILE_DEFAULT, &list::encode(&pages(9000)));
                disk.crash();
                let found = read(&disk, FILE_DEFAULT, usize::MAX).expect("the file is whole").len();
                assert!(found == 1000 || found == 9000, "{found} pages");
                assert!(found == 9000 || told.is_err(), "seed {seed}, step {step}");
                *(if found == 9000 { &mut new } else { &mut old }) += 1;
            }
        }
        assert!(old > 0 && new > 0, "{old} old, {new} new");
    }
}
