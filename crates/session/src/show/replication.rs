//! SHOW REPLICA STATUS: the columns of MySQL 9.7, which monitoring reads by their names, and never a row, as nothing is replicated.

use super::{Table, text};
use types::{ColumnType, TypeKind};

/// What a column holds.
#[derive(Clone, Copy)]
enum Holds {
    /// Text of so many characters.
    Text(u32),
    /// INT UNSIGNED.
    Int,
    /// BIGINT UNSIGNED.
    BigInt,
}

use Holds::{BigInt, Int, Text};

const COLUMNS: [(&str, Holds); 60] = [
    ("Replica_IO_State", Text(14)),
    ("Source_Host", Text(256)),
    ("Source_User", Text(97)),
    ("Source_Port", Int),
    ("Connect_Retry", Int),
    ("Source_Log_File", Text(512)),
    ("Read_Source_Log_Pos", BigInt),
    ("Relay_Log_File", Text(512)),
    ("Relay_Log_Pos", BigInt),
    ("Relay_Source_Log_File", Text(512)),
    ("Replica_IO_Running", Text(3)),
    ("Replica_SQL_Running", Text(3)),
    ("Replicate_Do_DB", Text(20)),
    ("Replicate_Ignore_DB", Text(20)),
    ("Replicate_Do_Table", Text(20)),
    ("Replicate_Ignore_Table", Text(23)),
    ("Replicate_Wild_Do_Table", Text(24)),
    ("Replicate_Wild_Ignore_Table", Text(28)),
    ("Last_Errno", Int),
    ("Last_Error", Text(20)),
    ("Skip_Counter", Int),
    ("Exec_Source_Log_Pos", BigInt),
    ("Relay_Log_Space", BigInt),
    ("Until_Condition", Text(6)),
    ("Until_Log_File", Text(512)),
    ("Until_Log_Pos", BigInt),
    ("Source_SSL_Allowed", Text(7)),
    ("Source_SSL_CA_File", Text(512)),
    ("Source_SSL_CA_Path", Text(512)),
    ("Source_SSL_Cert", Text(512)),
    ("Source_SSL_Cipher", Text(512)),
    ("Source_SSL_Key", Text(512)),
    ("Seconds_Behind_Source", BigInt),
    ("Source_SSL_Verify_Server_Cert", Text(3)),
    ("Last_IO_Errno", Int),
    ("Last_IO_Error", Text(20)),
    ("Last_SQL_Errno", Int),
    ("Last_SQL_Error", Text(20)),
    ("Replicate_Ignore_Server_Ids", Text(512)),
    ("Source_Server_Id", Int),
    ("Source_UUID", Text(36)),
    ("Source_Info_File", Text(1024)),
    ("SQL_Delay", Int),
    ("SQL_Remaining_Delay", Int),
    ("Replica_SQL_Running_State", Text(20)),
    ("Source_Retry_Count", BigInt),
    ("Source_Bind", Text(256)),
    ("Last_IO_Error_Timestamp", Text(20)),
    ("Last_SQL_Error_Timestamp", Text(20)),
    ("Source_SSL_Crl", Text(512)),
    ("Source_SSL_Crlpath", Text(512)),
    ("Retrieved_Gtid_Set", Text(0)),
    ("Executed_Gtid_Set", Text(45)),
    ("Auto_Position", Int),
    ("Replicate_Rewrite_DB", Text(24)),
    ("Channel_Name", Text(192)),
    ("Source_TLS_Version", Text(512)),
    ("Source_public_key_path", Text(512)),
    ("Get_Source_public_key", Int),
    ("Network_Namespace", Text(193)),
];

pub(super) fn replica_status() -> Table {
    let of_type = |(name, holds): (&'static str, Holds)| {
        let ty = match holds {
            Text(characters) => text(characters),
            Int => ColumnType { unsigned: true, ..ColumnType::new(TypeKind::Int) },
            BigInt => ColumnType::bigint_unsigned(),
        };
        (name, ty.not_null())
    };
    Table::new(&COLUMNS.map(of_type))
}
