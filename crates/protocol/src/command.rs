//! Commands: the first packet of each exchange, decoded without copying.

use crate::codec::{Bytes, Malformed};
use crate::constants::Capabilities;

/// What a client asks for. Borrowed parts point into the receive buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// End the connection; there is no reply.
    Quit,
    /// Change the current database.
    InitDb(&'a [u8]),
    /// Statement text.
    Query {
        /// The statement or, with MULTI_STATEMENTS, statements.
        sql: &'a [u8],
        /// Query attributes, undecoded and checked; see [`QueryAttributes`].
        attributes: QueryAttributes<'a>,
    },
    /// Columns of a table.
    FieldList {
        /// Table name.
        table: &'a [u8],
        /// LIKE pattern for columns, may be empty.
        pattern: &'a [u8],
    },
    /// One line of figures as plain text.
    Statistics,
    /// Kill a connection by id (COM_PROCESS_KILL, no longer supported by MySQL).
    ProcessKill(u32),
    /// Write debugging information to the log.
    Debug,
    /// Answer OK.
    Ping,
    /// Log in again as somebody else; the raw fields are parsed with the handshake's code.
    ChangeUser(&'a [u8]),
    /// Forget session state.
    ResetConnection,
    /// Switch multi-statements on (0) or off (1).
    SetOption(u16),
    /// Prepare a statement.
    StmtPrepare(&'a [u8]),
    /// Execute a prepared statement.
    StmtExecute(Execute<'a>),
    /// A piece of a parameter's value; there is no reply.
    StmtSendLongData {
        /// Prepared statement.
        statement_id: u32,
        /// Parameter, from 0.
        param: u16,
        /// Bytes to append.
        data: &'a [u8],
    },
    /// Forget a prepared statement; there is no reply.
    StmtClose(u32),
    /// Forget long data and close the cursor.
    StmtReset(u32),
    /// Rows from an open cursor.
    StmtFetch {
        /// Prepared statement.
        statement_id: u32,
        /// At most so many rows.
        row_count: u32,
    },
}

/// COM_STMT_EXECUTE; its parameters are decoded with the statement's parameter count by [`crate::execute`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execute<'a> {
    /// Prepared statement; `0xFFFF_FFFF` means the last one prepared in MariaDB only, an unknown statement here.
    pub statement_id: u32,
    /// Cursor type in the low bits, see `CURSOR_*` and `PARAMETER_COUNT_AVAILABLE` in [`crate::execute`].
    pub flags: u8,
    /// NULL bitmap, types and values.
    pub params: &'a [u8],
    /// The client has the query attributes capability: a parameter count may come first and names with the types.
    pub with_attributes: bool,
}

/// Query attributes of a COM_QUERY, as they came; usually none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueryAttributes<'a> {
    /// How many.
    pub count: usize,
    /// NULL bitmap, types with names, values.
    pub bytes: &'a [u8],
}

/// Why a packet is not a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandError {
    /// Unknown command byte, or one that only servers use inside (1047).
    Unknown(u8),
    /// The payload is too short or inconsistent (1835).
    Malformed,
}

impl From<Malformed> for CommandError {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

/// Command bytes, for clients and tests.
pub mod byte {
    /// COM_QUIT.
    pub const QUIT: u8 = 0x01;
    /// COM_INIT_DB.
    pub const INIT_DB: u8 = 0x02;
    /// COM_QUERY.
    pub const QUERY: u8 = 0x03;
    /// COM_FIELD_LIST.
    pub const FIELD_LIST: u8 = 0x04;
    /// COM_STATISTICS.
    pub const STATISTICS: u8 = 0x09;
    /// COM_PROCESS_KILL.
    pub const PROCESS_KILL: u8 = 0x0C;
    /// COM_DEBUG.
    pub const DEBUG: u8 = 0x0D;
    /// COM_PING.
    pub const PING: u8 = 0x0E;
    /// COM_CHANGE_USER.
    pub const CHANGE_USER: u8 = 0x11;
    /// COM_STMT_PREPARE.
    pub const STMT_PREPARE: u8 = 0x16;
    /// COM_STMT_EXECUTE.
    pub const STMT_EXECUTE: u8 = 0x17;
    /// COM_STMT_SEND_LONG_DATA.
    pub const STMT_SEND_LONG_DATA: u8 = 0x18;
    /// COM_STMT_CLOSE.
    pub const STMT_CLOSE: u8 = 0x19;
    /// COM_STMT_RESET.
    pub const STMT_RESET: u8 = 0x1A;
    /// COM_SET_OPTION.
    pub const SET_OPTION: u8 = 0x1B;
    /// COM_STMT_FETCH.
    pub const STMT_FETCH: u8 = 0x1C;
    /// COM_RESET_CONNECTION.
    pub const RESET_CONNECTION: u8 = 0x1F;
}

impl<'a> Command<'a> {
    /// Decodes a packet's payload.
    #[inline]
    pub fn parse(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, CommandError> {
        let mut bytes = Bytes::new(payload);
        let command = bytes.u8()?;
        Ok(match command {
            byte::QUERY => {
                if capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
                    query_with_attributes(bytes)?
                } else {
                    Self::Query { sql: bytes.take_rest(), attributes: QueryAttributes::default() }
                }
            }
            byte::STMT_EXECUTE => {
                let statement_id = bytes.u32()?;
                let flags = bytes.u8()?;
                let _iteration_count = bytes.u32()?;
                let with_attributes = capabilities.contains(Capabilities::QUERY_ATTRIBUTES);
                Self::StmtExecute(Execute { statement_id, flags, params: bytes.take_rest(), with_attributes })
            }
            byte::STMT_PREPARE => Self::StmtPrepare(bytes.take_rest()),
            byte::STMT_CLOSE => Self::StmtClose(bytes.u32()?),
            byte::STMT_RESET => Self::StmtReset(bytes.u32()?),
            byte::STMT_SEND_LONG_DATA => {
                Self::StmtSendLongData { statement_id: bytes.u32()?, param: bytes.u16()?, data: bytes.take_rest() }
            }
            byte::STMT_FETCH => Self::StmtFetch { statement_id: bytes.u32()?, row_count: bytes.u32()? },
            byte::QUIT => Self::Quit,
            byte::INIT_DB => Self::InitDb(bytes.take_rest()),
            byte::FIELD_LIST => Self::FieldList { table: bytes.nul_string()?, pattern: bytes.nul_string_or_rest() },
            byte::STATISTICS => Self::Statistics,
            byte::PROCESS_KILL => Self::ProcessKill(bytes.u32()?),
            byte::DEBUG => Self::Debug,
            byte::PING => Self::Ping,
            byte::CHANGE_USER => Self::ChangeUser(bytes.take_rest()),
            byte::SET_OPTION => Self::SetOption(bytes.u16()?),
            byte::RESET_CONNECTION => Self::ResetConnection,
            other => return Err(CommandError::Unknown(other)),
        })
    }
}

/// COM_QUERY of a client with query attributes: a count, a set count (always 1), the attributes, the text.
fn query_with_attributes(mut bytes: Bytes<'_>) -> Result<Command<'_>, CommandError> {
    let count = usize::try_from(bytes.lenenc_int()?).map_err(|_| CommandError::Malformed)?;
    if bytes.lenenc_int()? != 1 {
        return Err(CommandError::Malformed);
    }
    if count == 0 {
        return Ok(Command::Query { sql: bytes.take_rest(), attributes: QueryAttributes::default() });
    }
    let start = bytes.rest();
    let sql = crate::execute::skip_attributes(start, count)?;
    let attributes = QueryAttributes { count, bytes: &start[..start.len() - sql.len()] };
    Ok(Command::Query { sql, attributes })
}
