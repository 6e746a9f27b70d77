//! Stored programs: there are none yet, so each name is unknown; what MySQL says of an unknown one is said here.

use super::DdlDone;
use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use mysql_error::{SqlError, Warning, WarningLevel, codes};
use parser::ast::{ObjectName, ProgramKind};

/// DROP of a program: a note with IF EXISTS, else an error.
pub(super) fn drop(session: &mut ClientSession, kind: ProgramKind, if_exists: bool, name: &ObjectName<'_>) -> Result<DdlDone, Outcome> {
    let database = name.schema.or(session.core.database.as_deref());
    let Some(database) = database else {
        // A function without a database may be a loadable one.
        return match kind {
            ProgramKind::Function if !if_exists => Err(codes::sp_does_not_exist("FUNCTION (UDF)", name.name).into()),
            _ => Err(codes::no_db_error().into()),
        };
    };
    let full = format!("{database}.{}", name.name);
    let (error, note) = match kind {
        ProgramKind::Procedure => (codes::sp_does_not_exist("PROCEDURE", &full), None),
        ProgramKind::Function => (codes::sp_does_not_exist("FUNCTION", &full), None),
        ProgramKind::Trigger => (codes::trg_does_not_exist(), None),
        ProgramKind::Event => (codes::event_does_not_exist(name.name), Some(codes::sp_does_not_exist("Event", name.name))),
    };
    if !if_exists {
        return Err(error.into());
    }
    let note = note.unwrap_or(error);
    session.ddl_warnings(vec![Warning { level: WarningLevel::Note, code: note.code, message: note.message }]);
    Ok(DdlDone::of(0))
}

/// What CALL of a procedure that is not there says.
pub(crate) fn no_procedure(session: &ClientSession, name: &ObjectName<'_>) -> Result<SqlError, SqlError> {
    let database = name.schema.or(session.core.database.as_deref()).ok_or_else(codes::no_db_error)?;
    Ok(codes::sp_does_not_exist("PROCEDURE", format!("{database}.{}", name.name)))
}
