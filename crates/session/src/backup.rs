//! `BACKUP …`: the statements by which a client copies the running server, piece by piece (crate `backup`).
//!
//! What is held for a copy belongs to the session and ends with it.

use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use crate::reply::fixed_columns::{Columns, lists};
use crate::variables::Persisted;
use backup::{Online, Source, Step};
use mysql_error::{SqlError, codes};
use protocol::ResultSink;
use std::sync::Arc;
use types::Value;

const PROGRAM: &str = concat!("altiplano ", env!("CARGO_PKG_VERSION"));
/// ER_UNKNOWN_ERROR; the text says what it is.
const UNKNOWN_ERROR: u16 = 1105;
/// ER_INDEX_CORRUPT, as statements say that need a damaged page.
const PAGE_DAMAGED: u16 = 1712;

impl ClientSession {
    /// Answers with one frame.
    pub(crate) fn backup(&mut self, word: &str, numbers: &[u64], sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
        let step =
            Step::parse(word, numbers).ok_or_else(|| codes::not_supported_yet(format!("BACKUP {word} with {} numbers", numbers.len())))?;
        let shared = Arc::clone(self.shared());
        let online =
            self.backup.get_or_insert_with(|| Box::new(Online::new(Arc::clone(&shared.engine), Arc::clone(&shared.backups), PROGRAM)));
        if step == Step::Finish {
            online.set_settings(shared.persisted().map_or_else(|| Ok(Vec::new()), Persisted::file)?);
        }
        let frame = online.step(step).map_err(sql_error)?;
        if matches!(step, Step::Stop(_)) {
            self.backup = None;
        }
        self.send_rows(&Columns::of(&[lists::BACKUP_FRAME]), &[vec![Value::Bytes(frame.encode().into())]], sink);
        Ok(())
    }
}

fn sql_error(error: backup::Error) -> SqlError {
    let code = if matches!(error, backup::Error::DamagedPage(_)) { PAGE_DAMAGED } else { UNKNOWN_ERROR };
    SqlError::with_message(code, error.to_string())
}
