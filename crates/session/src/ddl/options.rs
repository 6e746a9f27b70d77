//! Options of tables and databases.

use super::data_type::{resolve_collation, warn_of_charset};
use super::definition::{Definer, comment_text};
use catalog::IndexDef;
use mysql_error::{SqlError, codes};
use parser::ast::{DatabaseOptions, TableOption};
use types::{Collation, SqlMode};

const TABLE_COMMENT_CHARS_MAX: usize = 2048;

/// Options that are kept and shown, in the order in which MySQL shows them.
const SHOWN: &[&str] = &[
    "MIN_ROWS",
    "MAX_ROWS",
    "AVG_ROW_LENGTH",
    "PACK_KEYS",
    "STATS_PERSISTENT",
    "STATS_AUTO_RECALC",
    "STATS_SAMPLE_PAGES",
    "CHECKSUM",
    "DELAY_KEY_WRITE",
    "ROW_FORMAT",
    "KEY_BLOCK_SIZE",
];

/// Engines that MySQL knows; all but InnoDB are missing here as they may be missing there.
const OTHER_ENGINES: &[&str] =
    &["MyISAM", "MEMORY", "HEAP", "CSV", "ARCHIVE", "BLACKHOLE", "MERGE", "MRG_MYISAM", "FEDERATED", "NDB", "NDBCLUSTER", "EXAMPLE"];

/// Options of a table, read.
#[derive(Debug, Default, Clone)]
pub(super) struct Options {
    pub charset: Option<String>,
    pub collation: Option<String>,
    pub auto_increment: Option<u64>,
    pub comment: Option<String>,
    /// ENGINE=InnoDB was written: ALTER TABLE rebuilds.
    pub engine: bool,
    /// Options to show; an empty value takes one back.
    pub shown: Vec<(String, String)>,
    /// Of ALTER TABLE, which moves no files: DATA DIRECTORY and INDEX DIRECTORY are passed over, as NO_DIR_IN_CREATE passes over them everywhere.
    pub stays: bool,
}

impl Options {
    /// The collation that the options give a table; `default` when they name none.
    pub fn table_collation(&self, default: Collation) -> Result<Collation, SqlError> {
        resolve_collation(self.charset.as_deref(), self.collation.as_deref(), default)
    }

    /// Reads one option.
    pub fn read(&mut self, definer: &mut Definer<'_>, table: &str, option: &TableOption<'_>) -> Result<(), SqlError> {
        match *option {
            TableOption::Engine(name) => {
                self.engine |= check_engine(definer, table, name)?;
            }
            TableOption::Charset(name) => {
                if let Some(other) = self.charset.as_deref().filter(|other| !other.eq_ignore_ascii_case(name)) {
                    return Err(SqlError::with_message(
                        1302,
                        format!("Conflicting declarations: 'CHARACTER SET {other}' and 'CHARACTER SET {name}'"),
                    ));
                }
                self.charset = Some(name.into());
                warn_of_charset(definer, Some(name), None);
            }
            TableOption::Collate(name) => {
                self.collation = Some(name.into());
                warn_of_charset(definer, None, Some(name));
            }
            TableOption::AutoIncrement(start) => self.auto_increment = Some(start),
            TableOption::Comment(bytes) => {
                let too_long = || codes::too_long_table_comment(table, TABLE_COMMENT_CHARS_MAX);
                self.comment = Some(comment_text(bytes, TABLE_COMMENT_CHARS_MAX, too_long)?);
            }
            TableOption::RowFormat("DEFAULT") => self.show("ROW_FORMAT", ""),
            TableOption::RowFormat("FIXED") => return Err(codes::illegal_ha(table)),
            TableOption::RowFormat(format) => self.show("ROW_FORMAT", format),
            TableOption::KeyBlockSize(0) => self.show("KEY_BLOCK_SIZE", ""),
            TableOption::KeyBlockSize(size) if !matches!(size, 1 | 2 | 4 | 8 | 16) => return Err(codes::illegal_ha(table)),
            TableOption::KeyBlockSize(size) => self.show("KEY_BLOCK_SIZE", &size.to_string()),
            TableOption::Other(name @ ("DATA" | "INDEX"), value) => self.read_directory(definer, table, name, value)?,
            TableOption::Other(name, value) => self.read_other(name, value)?,
        }
        Ok(())
    }

    fn read_other(&mut self, name: &str, value: &str) -> Result<(), SqlError> {
        let plain = value.trim_matches(['\'', '"']);
        let is_default = plain.is_empty() || plain.eq_ignore_ascii_case("DEFAULT");
        match name {
            "CHARSET" => {}
            "CHECKSUM" | "TABLE_CHECKSUM" => self.show("CHECKSUM", if plain == "0" { "" } else { "1" }),
            "DELAY_KEY_WRITE" => self.show(name, if plain == "0" { "" } else { "1" }),
            "AVG_ROW_LENGTH" | "MAX_ROWS" | "MIN_ROWS" if plain == "0" => self.show(name, ""),
            _ if SHOWN.contains(&name) => self.show(name, if is_default { "" } else { plain }),
            // Those that ask for what is so anyway.
            "COMPRESSION" if is_default || plain.eq_ignore_ascii_case("NONE") => {}
            "ENCRYPTION" if is_default || plain.eq_ignore_ascii_case("N") => {}
            "TABLESPACE" if plain.trim_matches('`').to_ascii_lowercase().starts_with("innodb_") => {}
            "STORAGE"
            | "INSERT_METHOD"
            | "AUTOEXTEND_SIZE"
            | "ENGINE_ATTRIBUTE"
            | "SECONDARY_ENGINE_ATTRIBUTE"
            | "PASSWORD"
            | "CONNECTION"
                if is_default || plain == "0" => {}
            "SECONDARY_ENGINE" if plain.eq_ignore_ascii_case("NULL") => {}
            "ENCRYPTION" if plain.eq_ignore_ascii_case("Y") => return Err(codes::cannot_find_key_in_keyring()),
            "ENCRYPTION" => return Err(codes::invalid_encryption_option()),
            "ENGINE_ATTRIBUTE" => {
                return Err(SqlError::with_message(3981, "Storage engine 'InnoDB' does not support ENGINE_ATTRIBUTE."));
            }
            other => return Err(codes::not_supported_yet(other)),
        }
        Ok(())
    }

    /// DATA DIRECTORY and INDEX DIRECTORY.
    fn read_directory(&self, definer: &mut Definer<'_>, table: &str, name: &str, value: &str) -> Result<(), SqlError> {
        let path = value.trim_matches(['\'', '"']);
        if !path.starts_with('/') {
            return Err(codes::wrong_value("path", path));
        }
        let option = format!("{name} DIRECTORY");
        if self.stays || definer.mode.contains(SqlMode::NO_DIR_IN_CREATE) {
            definer.warn(codes::warn_option_ignored(option));
            return Ok(());
        }
        if name == "INDEX" {
            definer.warn_text(codes::ER_ILLEGAL_HA_CREATE_OPTION, "InnoDB: INDEX DIRECTORY is not supported");
            return Err(codes::illegal_ha(table));
        }
        Err(codes::not_supported_yet(option))
    }

    fn show(&mut self, name: &str, value: &str) {
        self.shown.retain(|(other, _)| other != name);
        self.shown.push((name.into(), value.into()));
    }

    /// Lays the options to show over those that a table has. Indexes have a KEY_BLOCK_SIZE of their own only where the table has one.
    pub fn apply_shown(&self, shown: &mut Vec<(String, String)>, indexes: &mut [IndexDef]) {
        for (name, value) in &self.shown {
            shown.retain(|(other, _)| other != name);
            if !value.is_empty() {
                shown.push((name.clone(), value.clone()));
            }
        }
        shown.sort_by_key(|(name, _)| SHOWN.iter().position(|other| other == name));
        if !shown.iter().any(|(name, _)| name == "KEY_BLOCK_SIZE") {
            indexes.iter_mut().for_each(|index| index.written.block_size = 0);
        }
    }
}

/// Whether the engine is ours. Another one is an error, or a warning where the mode allows a substitute.
fn check_engine(definer: &mut Definer<'_>, table: &str, name: &str) -> Result<bool, SqlError> {
    if name.eq_ignore_ascii_case("InnoDB") {
        return Ok(true);
    }
    let shown = OTHER_ENGINES.iter().find(|other| other.eq_ignore_ascii_case(name)).copied().unwrap_or(name);
    let unknown = codes::unknown_storage_engine(shown);
    if definer.mode.contains(SqlMode::NO_ENGINE_SUBSTITUTION) {
        return Err(unknown);
    }
    definer.warn(unknown);
    definer.warn_text(1266, &format!("Using storage engine InnoDB for table '{table}'"));
    Ok(false)
}

/// The collation that the options of a database say.
pub(super) fn database_collation(options: &DatabaseOptions<'_>, default: Collation) -> Result<Collation, SqlError> {
    if let Some(encryption) = options.encryption
        && !encryption.eq_ignore_ascii_case(b"N")
    {
        return Err(codes::cannot_find_key_in_keyring());
    }
    if options.read_only == Some(true) {
        return Err(codes::not_supported_yet("READ ONLY databases"));
    }
    resolve_collation(options.charset, options.collation, default)
}
