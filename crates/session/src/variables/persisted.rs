//! Variables that outlive the server: SET PERSIST, SET PERSIST_ONLY, RESET PERSIST, and the file in the data directory that keeps them.
//!
//! # Invariants
//! 1. The file is replaced as a whole: after a crash it is the old one or the new one. A statement has succeeded only when the new one is durable.
//! 2. What is in memory is what is in the file.
//!
//! # Not here
//! What the values do at a start: `Shared::take_persisted`.

use super::{Definition, kept_file, known};
use env::Disk;
use json::{Json, Object};
use mysql_error::{SqlError, codes};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use sync::{Mutex, Rank};

/// The file.
const FILE: &str = backup::SETTINGS;
/// What it says of itself.
const VERSION: i64 = 1;
/// More than all variables take.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Variables that SET refuses and a start reads: PERSIST_ONLY keeps them.
const READ_AT_START: [&str; 17] = known([
    "altiplano_look_for_client",
    "altiplano_replies_together",
    "altiplano_shared_threads_at_work",
    "altiplano_shared_threads_from",
    "altiplano_stand_in",
    "back_log",
    "ft_max_word_len",
    "ft_min_word_len",
    "innodb_autoinc_lock_mode",
    "innodb_buffer_pool_size",
    "innodb_purge_threads",
    "innodb_redo_log_capacity",
    "innodb_rollback_on_timeout",
    "max_digest_length",
    "open_files_limit",
    "performance_schema_session_connect_attrs_size",
    "table_open_cache_instances",
]);

/// Whether PERSIST_ONLY takes a variable that SET refuses.
pub(crate) fn is_read_at_start(definition: &Definition) -> bool {
    READ_AT_START.contains(&definition.name)
}

/// A value that was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The value, as SHOW VARIABLES has it.
    pub value: String,
    /// Who set it.
    pub user: String,
    /// From where.
    pub host: String,
    /// When: microseconds since the epoch.
    pub micros: i64,
}

/// The values that are kept, by name.
pub type KeptValues = BTreeMap<String, Kept>;

/// All of them, and the disk they are kept on.
pub struct Persisted {
    disk: Arc<dyn Disk>,
    /// Held over the writing of the file, so that two statements do not write at once. Of the catalogue's rank: nothing of the storage is latched by who
    /// changes variables.
    values: Mutex<KeptValues>,
}

impl Persisted {
    /// Reads the file, where there is one.
    ///
    /// # Errors
    /// The disk's, and a file that nobody here wrote.
    pub fn open(disk: Arc<dyn Disk>) -> io::Result<Persisted> {
        let values = read(&*disk)?;
        Ok(Persisted { disk, values: Mutex::with_order(Rank::Catalog, 2, values) })
    }

    /// The values.
    pub fn values(&self) -> KeptValues {
        self.values.lock().clone()
    }

    /// What the file holds; nothing when no value is kept.
    pub(crate) fn file(&self) -> Result<Vec<u8>, SqlError> {
        let values = self.values();
        if values.is_empty() { Ok(Vec::new()) } else { encode(&values).map_err(|_| codes::out_of_resources()) }
    }

    /// Keeps values, all of them or none.
    pub(crate) fn keep(&self, kept: impl IntoIterator<Item = (String, Kept)>) -> Result<(), SqlError> {
        self.change(|values| values.extend(kept))
    }

    /// Forgets a value, or all of them.
    pub(crate) fn forget(&self, name: Option<&str>) -> Result<(), SqlError> {
        self.change(|values| match name {
            Some(name) => drop(values.remove(name)),
            None => values.clear(),
        })
    }

    fn change(&self, change: impl FnOnce(&mut KeptValues)) -> Result<(), SqlError> {
        let mut values = self.values.lock();
        let mut after = values.clone();
        change(&mut after);
        if after != *values {
            encode(&after)
                .and_then(|text| kept_file::replace(&*self.disk, FILE, &text))
                .map_err(|error| codes::error_on_write(FILE, error.raw_os_error().unwrap_or(0), error))?;
            *values = after;
        }
        Ok(())
    }
}

fn read(disk: &dyn Disk) -> io::Result<KeptValues> {
    match kept_file::read(disk, FILE, FILE_BYTES_MAX)? {
        Some(text) => parse(&text).ok_or_else(damaged),
        None => Ok(KeptValues::new()),
    }
}

fn damaged() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("{FILE} is damaged: move it away to start without the variables that were persisted"),
    )
}

fn parse(text: &[u8]) -> Option<KeptValues> {
    let Ok(Json::Object(whole)) = json::parse(text) else { return None };
    if whole.get("version") != Some(&Json::Int(VERSION)) {
        return None;
    }
    let Some(Json::Object(variables)) = whole.get("variables") else { return None };
    let text = |object: &Object, name: &str| match object.get(name) {
        Some(Json::String(text)) => Some(text.clone()),
        _ => None,
    };
    let mut values = KeptValues::new();
    for (name, entry) in variables.iter() {
        let Json::Object(entry) = entry else { return None };
        let micros = match entry.get("time") {
            Some(Json::Int(micros)) => *micros,
            // As large integers are read.
            Some(Json::UInt(micros)) => i64::try_from(*micros).ok()?,
            _ => return None,
        };
        let kept = Kept { value: text(entry, "value")?, user: text(entry, "user")?, host: text(entry, "host")?, micros };
        values.insert(name.to_owned(), kept);
    }
    Some(values)
}

fn encode(values: &KeptValues) -> io::Result<Vec<u8>> {
    let entry = |kept: &Kept| {
        let members = vec![
            ("value".to_owned(), Json::String(kept.value.clone())),
            ("user".to_owned(), Json::String(kept.user.clone())),
            ("host".to_owned(), Json::String(kept.host.clone())),
            ("time".to_owned(), Json::Int(kept.micros)),
        ];
        Json::Object(Object::from_members(members))
    };
    let variables = values.iter().map(|(name, kept)| (name.clone(), entry(kept))).collect();
    let whole = vec![("version".to_owned(), Json::Int(VERSION)), ("variables".to_owned(), Json::Object(Object::from_members(variables)))];
    let document = json::encode(&Json::Object(Object::from_members(whole))).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    let mut text = Vec::new();
    json::pretty(json::View::new(&document), &mut text).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    text.push(b'\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::{FileKind, OpenMode, SimDisk};

    fn kept(value: &str) -> Kept {
        Kept { value: value.into(), user: "root".into(), host: "localhost".into(), micros: 1_700_000_000_000_000 }
    }

    #[test]
    fn values_come_back() {
        let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
        let persisted = Persisted::open(Arc::clone(&disk)).expect("an empty directory");
        assert!(persisted.values().is_empty());
        persisted.keep([("sql_mode".to_owned(), kept("ANSI,\"'\\ \u{e4}"))]).expect("written");
        persisted.keep([("max_connections".to_owned(), kept("151"))]).expect("written");
        persisted.keep([("max_connections".to_owned(), kept("152"))]).expect("written");
        persisted.keep([("port".to_owned(), kept("1"))]).expect("written");
        persisted.forget(Some("port")).expect("written");
        let again = Persisted::open(Arc::clone(&disk)).expect("a good file").values();
        assert_eq!(again, persisted.values());
        assert_eq!(again.len(), 2);
        assert_eq!(again["max_connections"], kept("152"));
        persisted.forget(None).expect("written");
        assert!(Persisted::open(disk).expect("a good file").values().is_empty());
    }

    #[test]
    fn a_file_of_somebody_else_is_refused() {
        for text in
            ["", "{", "[]", "{\"version\": 2, \"variables\": {}}", "{\"version\": 1}", "{\"version\": 1, \"variables\": {\"a\": 1}}"]
        {
            let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
            let file = disk.open(FILE, OpenMode::Create, FileKind::Buffered).expect("a file");
            file.write_at(text.as_bytes(), 0).expect("written");
            assert!(Persisted::open(disk).is_err(), "{text}");
        }
    }

    /// At whatever step the machine goes down: the old file or the new one is there, and the new one when the statement had succeeded.
    #[test]
    fn a_crash_leaves_the_old_file_or_the_new_one() {
        let (mut old, mut new) = (0, 0);
        for seed in 0..20 {
            for step in 1..12 {
                let disk = Arc::new(SimDisk::new(seed));
                let persisted = Persisted::open(Arc::clone(&disk) as Arc<dyn Disk>).expect("an empty directory");
                persisted.keep([("max_connections".to_owned(), kept("151"))]).expect("written");
                disk.crash_at(step);
                let told = persisted.keep([("max_connections".to_owned(), kept(&"9".repeat(5000)))]);
                disk.crash();
                let values = Persisted::open(Arc::clone(&disk) as Arc<dyn Disk>).expect("the file is whole").values();
                let is_new = values["max_connections"] != kept("151");
                assert!(is_new || told.is_err(), "seed {seed}, step {step}");
                *(if is_new { &mut new } else { &mut old }) += 1;
            }
        }
        assert!(old > 0 && new > 0, "{old} old, {new} new");
    }
}
