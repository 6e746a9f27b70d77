//! `server_uuid`: by which tools tell servers apart. Made at the first start and kept in the data directory, in the file that MySQL uses and in its form, so
//! that who copies a directory takes it away by the same hand.
//!
//! # Invariants
//! 1. Once a server has told its UUID, every later start of its directory tells the same one.
//! 2. A backup does not have the file: what is restored is another server, and makes its own.

use super::kept_file;
use env::{Disk, Entropy};
use std::io;

/// The file.
const FILE: &str = "auto.cnf";
/// Its section, and the one setting in it.
const SECTION: &str = "[auto]";
const SETTING: &str = "server-uuid";
/// More than it ever has.
const FILE_BYTES_MAX: u64 = 4096;
/// Where the dashes of a UUID are.
const DASHES: [usize; 4] = [8, 13, 18, 23];
/// Characters of a UUID.
const UUID_CHARS: usize = 36;

/// The UUID of the data directory, and whether it was made just now.
///
/// # Errors
/// The disk's, and a file that holds no UUID.
pub fn server_uuid(disk: &dyn Disk, entropy: &dyn Entropy) -> io::Result<(String, bool)> {
    if let Some(bytes) = kept_file::read(disk, FILE, FILE_BYTES_MAX)? {
        let uuid = parse(&bytes).ok_or_else(|| {
            let told = format!("{FILE} holds no valid {SETTING}: move it away to start with a new one");
            io::Error::new(io::ErrorKind::InvalidData, told)
        })?;
        return Ok((uuid, false));
    }
    let uuid = random(entropy);
    kept_file::replace(disk, FILE, format!("{SECTION}\n{SETTING}={uuid}\n").as_bytes())?;
    Ok((uuid, true))
}

/// The setting's value, where it is a UUID. As in settings files of MySQL, spaces around names and values do not count, lines may be comments, and
/// `_` stands for `-` in a name.
fn parse(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut within = false;
    let mut found = None;
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        if line.starts_with('[') {
            within = line == SECTION;
        } else if within
            && let Some((name, value)) = line.split_once('=')
            && name.trim().replace('_', "-") == SETTING
        {
            found = Some(value.trim());
        }
    }
    found.filter(|value| is_uuid(value)).map(str::to_owned)
}

fn is_uuid(text: &str) -> bool {
    let fits = |(at, byte): (usize, u8)| if DASHES.contains(&at) { byte == b'-' } else { byte.is_ascii_hexdigit() };
    text.len() == UUID_CHARS && text.bytes().enumerate().all(fits)
}

/// A UUID of random bits (version 4): unlike MySQL's (version 1) it says nothing of the machine.
fn random(entropy: &dyn Entropy) -> String {
    let mut bytes = [0; 16];
    entropy.fill(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = format!("{:032x}", u128::from_be_bytes(bytes));
    DASHES.iter().for_each(|at| text.insert(*at, '-'));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::{FileKind, OpenMode, SimDisk, SimEntropy};
    use std::sync::Arc;

    #[test]
    fn each_directory_has_one_and_keeps_it() {
        let (disk, entropy) = (SimDisk::new(1), SimEntropy::new(1));
        let (made, is_new) = server_uuid(&disk, &entropy).expect("an empty directory");
        assert!(is_new && is_uuid(&made) && made.as_bytes()[14] == b'4' && b"89ab".contains(&made.as_bytes()[19]), "{made}");
        assert_eq!(server_uuid(&disk, &entropy).expect("a good file"), (made.clone(), false));
        let (other, _) = server_uuid(&SimDisk::new(2), &entropy).expect("an empty directory");
        assert_ne!(made, other);
    }

    #[test]
    fn the_file_is_read_as_mysql_writes_it() {
        const UUID: &str = "b8980109-e698-11f1-9dcc-02fc00000001";
        for (text, is_good) in [
            (format!("[auto]\nserver-uuid={UUID}\n"), true),
            (format!("# made by hand\n[auto]\r\nserver_uuid = {}\r\n", UUID.to_uppercase()), true),
            (format!("[mysqld]\nserver-uuid={UUID}\n"), false),
            (format!("server-uuid={UUID}\n"), false),
            (format!("[auto]\nserver-uuid={}\n", &UUID[1..]), false),
            (format!("[auto]\nserver-uuid={UUID}0\n"), false),
            (format!("[auto]\nserver-uuid={}\n", UUID.replace('-', "0")), false),
            ("[auto]\n".into(), false),
            (String::new(), false),
            ("x".repeat(5000), false),
        ] {
            let disk = SimDisk::new(1);
            let file = disk.open(FILE, OpenMode::Create, FileKind::Buffered).expect("a file");
            file.write_at(text.as_bytes(), 0).expect("written");
            let told = server_uuid(&disk, &SimEntropy::new(1));
            assert_eq!(told.is_ok(), is_good, "{text:?}");
            if let Ok((uuid, is_new)) = told {
                assert!(!is_new && uuid.eq_ignore_ascii_case(UUID), "{uuid}");
            }
        }
    }

    /// At whatever step the machine goes down: what was told stays, and what was not told is made anew.
    #[test]
    fn a_crash_leaves_no_file_or_the_whole_one() {
        let (mut none, mut whole) = (0, 0);
        for seed in 0..20 {
            for step in 1..12 {
                let disk = Arc::new(SimDisk::new(seed));
                disk.crash_at(step);
                let told = server_uuid(&*disk, &SimEntropy::new(seed));
                disk.crash();
                let (uuid, is_new) = server_uuid(&*disk, &SimEntropy::new(seed + 100)).expect("the file is whole or not there");
                match told {
                    Ok((told, _)) => assert_eq!((uuid, is_new), (told, false), "seed {seed}, step {step}"),
                    Err(_) => assert!(is_uuid(&uuid)),
                }
                *(if is_new { &mut none } else { &mut whole }) += 1;
            }
        }
        assert!(none > 0 && whole > 0, "{none} without, {whole} with");
    }
}
