//! Files that statements name: LOAD DATA, SELECT … INTO OUTFILE and DUMPFILE, LOAD_FILE().
//!
//! # Invariants
//! 1. The server's own files are read and written by who has FILE (1227), below `secure_file_priv` (1290), and nowhere if that is NULL.
//! 2. A file of any length is read and written in pieces.
//!
//! # Start at
//! `load.rs` for LOAD DATA (`input.rs` gives it bytes, `lines.rs` makes rows of them), `into_file.rs` for INTO OUTFILE (`row_text.rs` writes its
//! lines); `format.rs` is FIELDS and LINES.

mod format;
mod input;
mod into_file;
mod lines;
mod load;
mod row_text;

use crate::context::Core;
use crate::variables::find;
use ::accounts::Privileges;
use env::outside;
use mysql_error::{SqlError, codes};
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use types::Value;

/// Where `secure_file_priv` lets files be.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// Nowhere.
    Nowhere,
    /// Anywhere.
    Anywhere,
    /// In a directory and below.
    Below(PathBuf),
}

/// What the operating system says of a failed call, as MySQL's messages end.
fn told(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => {
            let text = error.to_string();
            let words = text.split(" (os error").next().unwrap_or_default();
            format!("OS errno {number} - {words}")
        }
        None => format!("OS errno 22 - {error}"),
    }
}

/// 13: nothing is known of a file.
fn no_stat(name: &str, error: &io::Error) -> SqlError {
    SqlError::with_message(13, format!("Can't get stat of '{name}' ({})", told(error)))
}

/// 29: it cannot be opened.
fn not_found(name: &str, error: &io::Error) -> SqlError {
    SqlError::with_message(29, format!("File '{name}' not found ({})", told(error)))
}

/// 1: it cannot be made.
fn not_created(name: &str, error: &io::Error) -> SqlError {
    SqlError::with_message(1, format!("Can't create/write to file '{name}' ({})", told(error)))
}

/// 2: it cannot be read.
fn not_read(name: &str, error: &io::Error) -> SqlError {
    SqlError::with_message(2, format!("Error reading file '{name}' ({})", told(error)))
}

/// 3: it cannot be written.
fn not_written(name: &str, error: &io::Error) -> SqlError {
    SqlError::with_message(3, format!("Error writing file '{name}' ({})", told(error)))
}

impl Core {
    fn text_variable(&self, name: &str) -> Option<String> {
        match find(name).map(|definition| self.shared.variables.get(definition)) {
            Some(Value::Bytes(text)) => Some(text.to_text().into_owned()),
            _ => None,
        }
    }

    fn place_of_files(&self) -> Place {
        match self.text_variable("secure_file_priv") {
            None => Place::Nowhere,
            Some(text) if text.is_empty() => Place::Anywhere,
            Some(text) => Place::Below(text.into()),
        }
    }

    /// 1045.
    fn access_denied(&self) -> SqlError {
        codes::access_denied_error(&self.login.user, &self.login.host, "YES")
    }

    /// Refuses who lacks FILE.
    fn require_file(&self) -> Result<(), SqlError> {
        match self.standing.rights.global.has(Privileges::FILE) {
            true => Ok(()),
            false => Err(codes::specific_access_denied_error("FILE")),
        }
    }

    /// The path that a statement names; one that does not begin at the root begins at the data directory.
    fn path_of(&self, name: &[u8]) -> PathBuf {
        let path = Path::new(OsStr::from_bytes(name));
        match self.text_variable("datadir") {
            Some(directory) if path.is_relative() => Path::new(&directory).join(path),
            _ => path.to_owned(),
        }
    }

    /// The file of a name, where it lies; 1290 outside of `secure_file_priv`. The last part of one that is to be made need not be there.
    fn secure_path(&self, name: &[u8], make: bool) -> Result<PathBuf, SqlError> {
        let path = self.path_of(name);
        let refused = || codes::option_prevents_statement("--secure-file-priv");
        let directory = match self.place_of_files() {
            Place::Nowhere => return Err(refused()),
            Place::Anywhere => return Ok(path),
            Place::Below(directory) => directory,
        };
        let real = match (make, path.parent(), path.file_name()) {
            (true, Some(parent), Some(last)) => outside::real_path(parent).map(|parent| parent.join(last)),
            (true, ..) => return Err(refused()),
            (false, ..) => outside::real_path(&path),
        };
        match real {
            Ok(real) if real.starts_with(&directory) => Ok(real),
            // What is not there is told only where one may look.
            Err(_) if path.starts_with(&directory) && !path.components().any(|part| part.as_os_str() == "..") => Ok(path),
            _ => Err(refused()),
        }
    }

    /// LOAD_FILE(): a file's bytes; `None` for what cannot be had.
    pub(crate) fn file_content(&self, name: &[u8], bytes_max: usize) -> Result<Option<Vec<u8>>, SqlError> {
        if self.require_file().is_err() {
            return Ok(None);
        }
        let Ok(path) = self.secure_path(name, false) else { return Ok(None) };
        let mut file = match outside::open(&path) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), io::ErrorKind::IsADirectory | io::ErrorKind::InvalidInput) => {
                return Err(codes::textfile_not_readable(path.to_string_lossy()));
            }
            Err(_) => return Ok(None),
        };
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        if length > bytes_max as u64 {
            return Err(codes::warn_allowed_packet_overflowed("load_file", bytes_max));
        }
        let mut content = Vec::new();
        memory::reserve(&mut content, length as usize).map_err(|_| codes::out_of_resources())?;
        // As long as it was when it was measured.
        match file.by_ref().take(length).read_to_end(&mut content) {
            Ok(_) => Ok(Some(content)),
            Err(_) => Ok(None),
        }
    }
}
