//! The sink through which statements write their replies.
//!
//! It lives in `protocol`, because the executor is below this crate and writes rows into it; this module is its home
//! for everything from here upward. See [`ResultSink`] for how a reply is made.

pub use protocol::constants::{CHARSET_BINARY, CHARSET_UTF8MB4_0900_AI_CI, DECIMALS_NOT_FIXED};
pub use protocol::reply::{OkReply, PrepareReply, session_state, write_infile_request};
pub use protocol::{
    BinaryRow, Capabilities, ColumnBlock, ColumnDefinition, ColumnFlags, ColumnType, IntBytes, ResultSink, RowFormat, RowWriter,
    ServerStatus, TextRow,
};
