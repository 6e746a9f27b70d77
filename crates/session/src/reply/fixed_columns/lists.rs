//! The columns, statement by statement, as MySQL 9.7 describes them.

use super::{ColumnList, FixedColumn, Holds};
use protocol::ColumnFlags;

use Holds::{
    BigInt, Blob, Char, Computed, DateTime, Decimal, Double, Int, Latin1, LongText, MediumText, Name, Null, Text, Timestamp, VarChar,
};

const NOT_NULL: ColumnFlags = ColumnFlags::NOT_NULL;
const UNIQUE_KEY: ColumnFlags = ColumnFlags::UNIQUE_KEY;
const MULTIPLE_KEY: ColumnFlags = ColumnFlags::MULTIPLE_KEY;
const BLOB: ColumnFlags = ColumnFlags::BLOB;
const UNSIGNED: ColumnFlags = ColumnFlags::UNSIGNED;
const BINARY: ColumnFlags = ColumnFlags::BINARY;
const ENUM: ColumnFlags = ColumnFlags::ENUM;
const SET: ColumnFlags = ColumnFlags::SET;
const NO_DEFAULT_VALUE: ColumnFlags = ColumnFlags::NO_DEFAULT_VALUE;
const PART_KEY: ColumnFlags = ColumnFlags::PART_KEY;

/// A column of a table, which has it under another name or in other letters.
const fn column(name: &'static str, holds: Holds, flags: &[ColumnFlags], org_name: &'static str) -> FixedColumn {
    let (mut all, mut at) = (ColumnFlags::empty(), 0);
    while at < flags.len() {
        all = all.union(flags[at]);
        at += 1;
    }
    FixedColumn { name, holds, flags: all, org_table: None, org_name }
}

/// A column of a table behind a view, or computed there of none.
const fn joined(name: &'static str, holds: Holds, flags: &[ColumnFlags], org_table: &'static str) -> FixedColumn {
    FixedColumn { org_table: Some(org_table), ..column(name, holds, flags, name) }
}

/// A column of no table.
const fn computed(name: &'static str, holds: Holds, flags: &[ColumnFlags]) -> FixedColumn {
    column(name, holds, flags, "")
}

/// No columns.
pub(crate) const NOTHING: ColumnList = ColumnList { database: "", table: "", columns: &[] };

/// A frame of BACKUP, which is our own.
pub(crate) const BACKUP_FRAME: ColumnList = ColumnList { database: "", table: "", columns: &[computed("frame", Blob, &[BLOB, BINARY])] };

/// SHOW DATABASES.
pub(crate) const DATABASES: ColumnList = ColumnList {
    database: "",
    table: "SCHEMATA",
    columns: &[joined("Database", VarChar(64), &[NOT_NULL, BINARY, NO_DEFAULT_VALUE], "schemata")],
};

/// SHOW TABLES.
pub(crate) const TABLES: ColumnList = ColumnList {
    database: "",
    table: "TABLES",
    columns: &[joined("Tables_in_", VarChar(64), &[NOT_NULL, BINARY, NO_DEFAULT_VALUE], "tables")],
};

/// What SHOW FULL TABLES adds.
pub(crate) const TABLE_TYPE: ColumnList = ColumnList {
    database: "",
    table: "TABLES",
    columns: &[joined("Table_type", Char(11), &[NOT_NULL, BINARY, ENUM, NO_DEFAULT_VALUE], "tables")],
};

/// SHOW COLUMNS and DESCRIBE.
pub(crate) const COLUMNS: ColumnList = ColumnList {
    database: "",
    table: "COLUMNS",
    columns: &[
        joined("Field", Name(64), &[], ""),
        joined("Type", Text(16_777_215), &[NOT_NULL, BLOB, BINARY, NO_DEFAULT_VALUE], "columns"),
        joined("Null", VarChar(3), &[NOT_NULL], ""),
        joined("Key", Char(3), &[NOT_NULL, BINARY, ENUM, NO_DEFAULT_VALUE], "columns"),
        joined("Default", Text(65_535), &[BLOB, BINARY], "columns"),
        joined("Extra", VarChar(256), &[], ""),
    ],
};

/// SHOW FULL COLUMNS.
pub(crate) const FULL_COLUMNS: ColumnList = ColumnList {
    database: "",
    table: "COLUMNS",
    columns: &[
        joined("Field", Name(64), &[], ""),
        joined("Type", Text(16_777_215), &[NOT_NULL, BLOB, BINARY, NO_DEFAULT_VALUE], "columns"),
        joined("Collation", VarChar(64), &[], ""),
        joined("Null", VarChar(3), &[NOT_NULL], ""),
        joined("Key", Char(3), &[NOT_NULL, BINARY, ENUM, NO_DEFAULT_VALUE], "columns"),
        joined("Default", Text(65_535), &[BLOB, BINARY], "columns"),
        joined("Extra", VarChar(256), &[], ""),
        joined("Privileges", VarChar(154), &[], ""),
        joined("Comment", Text(6144), &[NOT_NULL, BLOB, BINARY], ""),
    ],
};

/// SHOW COLUMNS and DESCRIBE of a temporary table.
pub(crate) const TEMPORARY_COLUMNS: ColumnList = ColumnList {
    database: "information_schema",
    table: "TMP_TABLE_COLUMNS",
    columns: &[
        column("Field", VarChar(64), &[NOT_NULL], "COLUMN_NAME"),
        column("Type", Text(196_605), &[NOT_NULL, BLOB], "COLUMN_TYPE"),
        column("Null", VarChar(3), &[NOT_NULL], "IS_NULLABLE"),
        column("Key", VarChar(3), &[NOT_NULL], "COLUMN_KEY"),
        column("Default", Text(196_605), &[BLOB], "COLUMN_DEFAULT"),
        column("Extra", VarChar(40), &[NOT_NULL], "EXTRA"),
    ],
};

/// SHOW FULL COLUMNS of a temporary table.
pub(crate) const TEMPORARY_FULL_COLUMNS: ColumnList = ColumnList {
    database: "information_schema",
    table: "TMP_TABLE_COLUMNS",
    columns: &[
        column("Field", VarChar(64), &[NOT_NULL], "COLUMN_NAME"),
        column("Type", Text(196_605), &[NOT_NULL, BLOB], "COLUMN_TYPE"),
        column("Collation", VarChar(32), &[], "COLLATION_NAME"),
        column("Null", VarChar(3), &[NOT_NULL], "IS_NULLABLE"),
        column("Key", VarChar(3), &[NOT_NULL], "COLUMN_KEY"),
        column("Default", Text(196_605), &[BLOB], "COLUMN_DEFAULT"),
        column("Extra", VarChar(40), &[NOT_NULL], "EXTRA"),
        column("Privileges", VarChar(80), &[NOT_NULL], "PRIVILEGES"),
        column("Comment", VarChar(1024), &[NOT_NULL], "COLUMN_COMMENT"),
    ],
};

/// SHOW INDEX.
pub(crate) const INDEXES: ColumnList = ColumnList {
    database: "",
    table: "SHOW_STATISTICS",
    columns: &[
        joined("Table", VarChar(64), &[NOT_NULL, BINARY, NO_DEFAULT_VALUE], "tables"),
        joined("Non_unique", Int(2), &[NOT_NULL], ""),
        joined("Key_name", Name(64), &[], ""),
        joined("Seq_in_index", Int(10), &[NOT_NULL, UNSIGNED, NO_DEFAULT_VALUE], "index_column_usage"),
        joined("Column_name", Name(64), &[], ""),
        joined("Collation", VarChar(1), &[], ""),
        joined("Cardinality", BigInt(21), &[], ""),
        joined("Sub_part", BigInt(21), &[], ""),
        computed("Packed", Null, &[BINARY]),
        joined("Null", VarChar(3), &[NOT_NULL], ""),
        joined("Index_type", VarChar(11), &[NOT_NULL, BINARY], ""),
        joined("Comment", VarChar(8), &[NOT_NULL], ""),
        joined("Index_comment", VarChar(2048), &[NOT_NULL, BINARY, NO_DEFAULT_VALUE], "indexes"),
        joined("Visible", VarChar(3), &[NOT_NULL], ""),
        joined("Expression", Text(4_294_967_295), &[BLOB, BINARY], ""),
    ],
};

/// SHOW INDEX of a temporary table.
pub(crate) const TEMPORARY_INDEXES: ColumnList = ColumnList {
    database: "information_schema",
    table: "TMP_TABLE_KEYS",
    columns: &[
        column("Table", VarChar(64), &[NOT_NULL], "TABLE_NAME"),
        column("Non_unique", BigInt(2), &[NOT_NULL], "NON_UNIQUE"),
        column("Key_name", VarChar(64), &[NOT_NULL], "INDEX_NAME"),
        column("Seq_in_index", BigInt(3), &[NOT_NULL], "SEQ_IN_INDEX"),
        column("Column_name", VarChar(64), &[], "COLUMN_NAME"),
        column("Collation", VarChar(1), &[], "COLLATION"),
        column("Cardinality", BigInt(22), &[], "CARDINALITY"),
        column("Sub_part", BigInt(4), &[], "SUB_PART"),
        column("Packed", VarChar(10), &[], "PACKED"),
        column("Null", VarChar(3), &[NOT_NULL], "NULLABLE"),
        column("Index_type", VarChar(16), &[NOT_NULL], "INDEX_TYPE"),
        column("Comment", VarChar(16), &[], "COMMENT"),
        column("Index_comment", VarChar(1024), &[NOT_NULL], "INDEX_COMMENT"),
        column("Visible", VarChar(4), &[], "IS_VISIBLE"),
        column("Expression", Text(4_294_967_293), &[BLOB], "EXPRESSION"),
    ],
};

/// SHOW CREATE TABLE.
pub(crate) const CREATE_TABLE: ColumnList = ColumnList {
    database: "",
    table: "",
    columns: &[computed("Table", Computed(64), &[NOT_NULL]), computed("Create Table", Computed(1024), &[NOT_NULL])],
};

/// SHOW CREATE VIEW.
pub(crate) const CREATE_VIEW: ColumnList = ColumnList {
    database: "",
    table: "",
    columns: &[
        computed("View", Computed(64), &[NOT_NULL]),
        computed("Create View", Computed(1024), &[NOT_NULL]),
        computed("character_set_client", Computed(32), &[NOT_NULL]),
        computed("collation_connection", Computed(32), &[NOT_NULL]),
    ],
};

/// SHOW CREATE DATABASE.
pub(crate) const CREATE_DATABASE: ColumnList = ColumnList {
    database: "",
    table: "",
    columns: &[computed("Database", Computed(64), &[NOT_NULL]), computed("Create Database", Computed(1024), &[NOT_NULL])],
};

/// SHOW CREATE USER; the account is part of its name.
pub(crate) const CREATE_USER: ColumnList =
    ColumnList { database: "", table: "", columns: &[computed("CREATE USER for", Latin1(256), &[NOT_NULL])] };

/// SHOW TABLE STATUS.
pub(crate) const TABLE_STATUS: ColumnList = ColumnList {
    database: "",
    table: "TABLES",
    columns: &[
        joined("Name", VarChar(64), &[NOT_NULL, BINARY, NO_DEFAULT_VALUE], "tables"),
        joined("Engine", VarChar(64), &[], ""),
        joined("Version", Int(3), &[], ""),
        joined("Row_format", Char(10), &[BINARY, ENUM], "tables"),
        joined("Rows", BigInt(21), &[UNSIGNED], ""),
        joined("Avg_row_length", BigInt(21), &[UNSIGNED], ""),
        joined("Data_length", BigInt(21), &[UNSIGNED], ""),
        joined("Max_data_length", BigInt(21), &[UNSIGNED], ""),
        joined("Index_length", BigInt(21), &[UNSIGNED], ""),
        joined("Data_free", BigInt(21), &[UNSIGNED], ""),
        joined("Auto_increment", BigInt(21), &[UNSIGNED], ""),
        joined("Create_time", Timestamp(0), &[NOT_NULL, BINARY, NO_DEFAULT_VALUE], "tables"),
        joined("Update_time", DateTime, &[BINARY], ""),
        joined("Check_time", DateTime, &[BINARY], ""),
        joined("Collation", VarChar(64), &[NO_DEFAULT_VALUE], "collations"),
        joined("Checksum", BigInt(21), &[], ""),
        joined("Create_options", VarChar(256), &[], ""),
        joined("Comment", Text(6144), &[BLOB], ""),
    ],
};

/// SHOW PROCESSLIST, without its last column.
pub(crate) const PROCESS_LIST: ColumnList = ColumnList {
    database: "",
    table: "",
    columns: &[
        computed("Id", BigInt(22), &[NOT_NULL, BINARY]),
        computed("User", Computed(32), &[NOT_NULL]),
        computed("Host", Computed(255), &[NOT_NULL]),
        computed("db", Computed(64), &[]),
        computed("Command", Computed(16), &[NOT_NULL]),
        computed("Time", Int(8), &[NOT_NULL, BINARY]),
        computed("State", Computed(30), &[]),
    ],
};

/// The last column of SHOW PROCESSLIST.
pub(crate) const INFO: ColumnList = ColumnList { database: "", table: "", columns: &[computed("Info", Computed(100), &[])] };

/// The last column of SHOW FULL PROCESSLIST.
pub(crate) const FULL_INFO: ColumnList = ColumnList { database: "", table: "", columns: &[computed("Info", LongText(201_326_592), &[])] };

/// SHOW VARIABLES.
pub(crate) const SESSION_VARIABLES: ColumnList = ColumnList {
    database: "performance_schema",
    table: "session_variables",
    columns: &[
        column("Variable_name", VarChar(64), &[NOT_NULL, NO_DEFAULT_VALUE], "Variable_name"),
        column("Value", VarChar(1024), &[], "Value"),
    ],
};

/// SHOW GLOBAL VARIABLES.
pub(crate) const GLOBAL_VARIABLES: ColumnList = ColumnList {
    database: "performance_schema",
    table: "global_variables",
    columns: &[
        column("Variable_name", VarChar(64), &[NOT_NULL, NO_DEFAULT_VALUE], "Variable_name"),
        column("Value", VarChar(1024), &[], "Value"),
    ],
};

/// SHOW STATUS.
pub(crate) const SESSION_STATUS: ColumnList = ColumnList {
    database: "performance_schema",
    table: "session_status",
    columns: &[
        column("Variable_name", VarChar(64), &[NOT_NULL, NO_DEFAULT_VALUE], "Variable_name"),
        column("Value", VarChar(1024), &[], "Value"),
    ],
};

/// SHOW GLOBAL STATUS.
pub(crate) const GLOBAL_STATUS: ColumnList = ColumnList {
    database: "performance_schema",
    table: "global_status",
    columns: &[
        column("Variable_name", VarChar(64), &[NOT_NULL, NO_DEFAULT_VALUE], "Variable_name"),
        column("Value", VarChar(1024), &[], "Value"),
    ],
};

/// SHOW WARNINGS and SHOW ERRORS.
pub(crate) const CONDITIONS: ColumnList = ColumnList {
    database: "",
    table: "",
    columns: &[
        computed("Level", Computed(7), &[NOT_NULL]),
        computed("Code", Int(5), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Message", Computed(512), &[NOT_NULL]),
    ],
};

/// SHOW COUNT(*) WARNINGS and SHOW COUNT(*) ERRORS.
pub(crate) const CONDITION_COUNT: ColumnList =
    ColumnList { database: "", table: "", columns: &[computed("@@session.", BigInt(21), &[UNSIGNED, BINARY])] };

/// SHOW ENGINES.
pub(crate) const ENGINES: ColumnList = ColumnList {
    database: "information_schema",
    table: "ENGINES",
    columns: &[
        column("Engine", VarChar(64), &[NOT_NULL], "ENGINE"),
        column("Support", VarChar(8), &[NOT_NULL], "SUPPORT"),
        column("Comment", VarChar(80), &[NOT_NULL], "COMMENT"),
        column("Transactions", VarChar(3), &[], "TRANSACTIONS"),
        column("XA", VarChar(3), &[], "XA"),
        column("Savepoints", VarChar(3), &[], "SAVEPOINTS"),
    ],
};

/// SHOW ENGINE … STATUS and MUTEX.
pub(crate) const ENGINE_STATUS: ColumnList = ColumnList {
    database: "",
    table: "",
    columns: &[
        computed("Type", Computed(10), &[NOT_NULL]),
        computed("Name", Computed(512), &[NOT_NULL]),
        computed("Status", Computed(10), &[NOT_NULL]),
    ],
};

/// SHOW CHARACTER SET.
pub(crate) const CHARACTER_SETS: ColumnList = ColumnList {
    database: "information_schema",
    table: "CHARACTER_SETS",
    columns: &[
        joined("Charset", VarChar(64), &[NOT_NULL, UNIQUE_KEY, NO_DEFAULT_VALUE, PART_KEY], "cs"),
        joined("Description", VarChar(2048), &[NOT_NULL, NO_DEFAULT_VALUE], "cs"),
        joined("Default collation", VarChar(64), &[NOT_NULL, UNIQUE_KEY, NO_DEFAULT_VALUE, PART_KEY], "col"),
        joined("Maxlen", Int(10), &[NOT_NULL, UNSIGNED, NO_DEFAULT_VALUE], "cs"),
    ],
};

/// SHOW COLLATION.
pub(crate) const COLLATIONS: ColumnList = ColumnList {
    database: "information_schema",
    table: "COLLATIONS",
    columns: &[
        column("Collation", VarChar(64), &[NOT_NULL, NO_DEFAULT_VALUE], "Collation"),
        column("Charset", VarChar(64), &[NOT_NULL, NO_DEFAULT_VALUE], "Charset"),
        column("Id", BigInt(20), &[NOT_NULL, UNSIGNED], "Id"),
        column("Default", VarChar(3), &[NOT_NULL], "Default"),
        column("Compiled", VarChar(3), &[NOT_NULL], "Compiled"),
        column("Sortlen", Int(10), &[NOT_NULL, UNSIGNED, NO_DEFAULT_VALUE], "Sortlen"),
        column("Pad_attribute", Char(9), &[NOT_NULL, BINARY, ENUM, NO_DEFAULT_VALUE], "Pad_attribute"),
    ],
};

/// SHOW PRIVILEGES.
pub(crate) const PRIVILEGES: ColumnList = ColumnList {
    database: "",
    table: "",
    columns: &[
        computed("Privilege", Computed(10), &[NOT_NULL]),
        computed("Context", Computed(15), &[NOT_NULL]),
        computed("Comment", Computed(64), &[NOT_NULL]),
    ],
};

/// SHOW PLUGINS.
pub(crate) const PLUGINS: ColumnList = ColumnList {
    database: "information_schema",
    table: "PLUGINS",
    columns: &[
        column("Name", VarChar(64), &[NOT_NULL], "PLUGIN_NAME"),
        column("Status", VarChar(10), &[NOT_NULL], "PLUGIN_STATUS"),
        column("Type", VarChar(80), &[NOT_NULL], "PLUGIN_TYPE"),
        column("Library", VarChar(64), &[], "PLUGIN_LIBRARY"),
        column("License", VarChar(80), &[], "PLUGIN_LICENSE"),
    ],
};

/// SHOW GRANTS; the account is part of its name.
pub(crate) const GRANTS: ColumnList = ColumnList { database: "", table: "", columns: &[computed("Grants for", Latin1(1024), &[NOT_NULL])] };

/// SHOW OPEN TABLES.
pub(crate) const OPEN_TABLES: ColumnList = ColumnList {
    database: "information_schema",
    table: "OPEN_TABLES",
    columns: &[
        column("Database", VarChar(64), &[NOT_NULL], "Database"),
        column("Table", VarChar(64), &[NOT_NULL], "Table"),
        column("In_use", BigInt(2), &[NOT_NULL], "In_use"),
        column("Name_locked", BigInt(5), &[NOT_NULL], "Name_locked"),
    ],
};

/// SHOW TRIGGERS.
pub(crate) const TRIGGERS: ColumnList = ColumnList {
    database: "",
    table: "TRIGGERS",
    columns: &[
        joined("Trigger", VarChar(64), &[NOT_NULL, NO_DEFAULT_VALUE], "triggers"),
        joined("Event", Char(6), &[NOT_NULL, BINARY, ENUM, NO_DEFAULT_VALUE], "triggers"),
        joined("Table", VarChar(64), &[NOT_NULL, BINARY, NO_DEFAULT_VALUE], "tables"),
        joined("Statement", Text(4_294_967_295), &[NOT_NULL, BLOB, BINARY, NO_DEFAULT_VALUE], "triggers"),
        joined("Timing", Char(6), &[NOT_NULL, BINARY, ENUM, NO_DEFAULT_VALUE], "triggers"),
        joined("Created", Timestamp(2), &[NOT_NULL, BINARY, NO_DEFAULT_VALUE], "triggers"),
        joined("sql_mode", Char(546), &[NOT_NULL, BINARY, SET, NO_DEFAULT_VALUE], "triggers"),
        joined("Definer", VarChar(288), &[NOT_NULL, BINARY, NO_DEFAULT_VALUE], "triggers"),
        joined("character_set_client", VarChar(64), &[NOT_NULL, NO_DEFAULT_VALUE], "character_sets"),
        joined("collation_connection", VarChar(64), &[NOT_NULL, NO_DEFAULT_VALUE], "collations"),
        joined("Database Collation", VarChar(64), &[NOT_NULL, NO_DEFAULT_VALUE], "collations"),
    ],
};

/// SHOW EVENTS.
pub(crate) const EVENTS: ColumnList = ColumnList {
    database: "information_schema",
    table: "EVENTS",
    columns: &[
        joined("Db", VarChar(64), &[NOT_NULL, BINARY, NO_DEFAULT_VALUE, PART_KEY], "sch"),
        joined("Name", VarChar(64), &[NOT_NULL, NO_DEFAULT_VALUE, PART_KEY], "evt"),
        joined("Definer", VarChar(288), &[NOT_NULL, MULTIPLE_KEY, BINARY, NO_DEFAULT_VALUE, PART_KEY], "evt"),
        joined("Time zone", VarChar(64), &[NOT_NULL, BINARY, NO_DEFAULT_VALUE], "evt"),
        joined("Type", Computed(9), &[NOT_NULL], ""),
        joined("Execute at", DateTime, &[BINARY], ""),
        joined("Interval value", Computed(256), &[], ""),
        joined("Interval field", Char(18), &[BINARY, ENUM], "evt"),
        joined("Starts", DateTime, &[BINARY], ""),
        joined("Ends", DateTime, &[BINARY], ""),
        joined("Status", Computed(21), &[NOT_NULL, BINARY], ""),
        joined("Originator", Int(10), &[NOT_NULL, UNSIGNED, NO_DEFAULT_VALUE], "evt"),
        joined("character_set_client", VarChar(64), &[NOT_NULL, UNIQUE_KEY, NO_DEFAULT_VALUE, PART_KEY], "cs_client"),
        joined("collation_connection", VarChar(64), &[NOT_NULL, UNIQUE_KEY, NO_DEFAULT_VALUE, PART_KEY], "coll_conn"),
        joined("Database Collation", VarChar(64), &[NOT_NULL, UNIQUE_KEY, NO_DEFAULT_VALUE, PART_KEY], "coll_db"),
    ],
};

/// SHOW PROCEDURE STATUS and SHOW FUNCTION STATUS.
pub(crate) const ROUTINE_STATUS: ColumnList = ColumnList {
    database: "",
    table: "ROUTINES",
    columns: &[
        joined("Db", VarChar(64), &[NOT_NULL, BINARY, NO_DEFAULT_VALUE], "schemata"),
        joined("Name", VarChar(64), &[NOT_NULL, NO_DEFAULT_VALUE], "routines"),
        joined("Type", Char(9), &[NOT_NULL, BINARY, ENUM, NO_DEFAULT_VALUE], "routines"),
        joined("Language", VarChar(64), &[NOT_NULL, BINARY], "routines"),
        joined("Definer", VarChar(288), &[NOT_NULL, BINARY, NO_DEFAULT_VALUE], "routines"),
        joined("Modified", Timestamp(0), &[NOT_NULL, BINARY, NO_DEFAULT_VALUE], "routines"),
        joined("Created", Timestamp(0), &[NOT_NULL, BINARY, NO_DEFAULT_VALUE], "routines"),
        joined("Security_type", Char(7), &[NOT_NULL, BINARY, ENUM, NO_DEFAULT_VALUE], "routines"),
        joined("Comment", Text(65_535), &[NOT_NULL, BLOB, BINARY, NO_DEFAULT_VALUE], "routines"),
        joined("character_set_client", VarChar(64), &[NOT_NULL, NO_DEFAULT_VALUE], "character_sets"),
        joined("collation_connection", VarChar(64), &[NOT_NULL, NO_DEFAULT_VALUE], "collations"),
        joined("Database Collation", VarChar(64), &[NOT_NULL, NO_DEFAULT_VALUE], "collations"),
    ],
};

/// SHOW BINARY LOG STATUS.
pub(crate) const BINARY_LOG_STATUS: ColumnList = ColumnList {
    database: "",
    table: "",
    columns: &[
        computed("File", Computed(512), &[NOT_NULL]),
        computed("Position", BigInt(21), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Binlog_Do_DB", Computed(255), &[NOT_NULL]),
        computed("Binlog_Ignore_DB", Computed(255), &[NOT_NULL]),
        computed("Executed_Gtid_Set", Computed(45), &[NOT_NULL]),
    ],
};

/// SHOW REPLICAS.
pub(crate) const REPLICAS: ColumnList = ColumnList {
    database: "",
    table: "",
    columns: &[
        computed("Server_Id", Int(11), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Host", Computed(255), &[NOT_NULL]),
        computed("Port", Int(8), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Source_Id", Int(11), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Replica_UUID", Computed(36), &[NOT_NULL]),
    ],
};

/// SHOW REPLICA STATUS.
pub(crate) const REPLICA_STATUS: ColumnList = ColumnList {
    database: "",
    table: "",
    columns: &[
        computed("Replica_IO_State", Computed(14), &[NOT_NULL]),
        computed("Source_Host", Computed(256), &[NOT_NULL]),
        computed("Source_User", Computed(97), &[NOT_NULL]),
        computed("Source_Port", Int(8), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Connect_Retry", Int(11), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Source_Log_File", Computed(512), &[NOT_NULL]),
        computed("Read_Source_Log_Pos", BigInt(11), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Relay_Log_File", Computed(512), &[NOT_NULL]),
        computed("Relay_Log_Pos", BigInt(11), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Relay_Source_Log_File", Computed(512), &[NOT_NULL]),
        computed("Replica_IO_Running", Computed(3), &[NOT_NULL]),
        computed("Replica_SQL_Running", Computed(3), &[NOT_NULL]),
        computed("Replicate_Do_DB", Computed(20), &[NOT_NULL]),
        computed("Replicate_Ignore_DB", Computed(20), &[NOT_NULL]),
        computed("Replicate_Do_Table", Computed(20), &[NOT_NULL]),
        computed("Replicate_Ignore_Table", Computed(23), &[NOT_NULL]),
        computed("Replicate_Wild_Do_Table", Computed(24), &[NOT_NULL]),
        computed("Replicate_Wild_Ignore_Table", Computed(28), &[NOT_NULL]),
        computed("Last_Errno", Int(5), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Last_Error", Computed(20), &[NOT_NULL]),
        computed("Skip_Counter", Int(11), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Exec_Source_Log_Pos", BigInt(11), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Relay_Log_Space", BigInt(11), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Until_Condition", Computed(6), &[NOT_NULL]),
        computed("Until_Log_File", Computed(512), &[NOT_NULL]),
        computed("Until_Log_Pos", BigInt(11), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Source_SSL_Allowed", Computed(7), &[NOT_NULL]),
        computed("Source_SSL_CA_File", Computed(512), &[NOT_NULL]),
        computed("Source_SSL_CA_Path", Computed(512), &[NOT_NULL]),
        computed("Source_SSL_Cert", Computed(512), &[NOT_NULL]),
        computed("Source_SSL_Cipher", Computed(512), &[NOT_NULL]),
        computed("Source_SSL_Key", Computed(512), &[NOT_NULL]),
        computed("Seconds_Behind_Source", BigInt(11), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Source_SSL_Verify_Server_Cert", Computed(3), &[NOT_NULL]),
        computed("Last_IO_Errno", Int(5), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Last_IO_Error", Computed(20), &[NOT_NULL]),
        computed("Last_SQL_Errno", Int(5), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Last_SQL_Error", Computed(20), &[NOT_NULL]),
        computed("Replicate_Ignore_Server_Ids", Computed(512), &[NOT_NULL]),
        computed("Source_Server_Id", Int(9), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Source_UUID", Computed(36), &[NOT_NULL]),
        computed("Source_Info_File", Computed(1024), &[NOT_NULL]),
        computed("SQL_Delay", Int(11), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("SQL_Remaining_Delay", Int(9), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Replica_SQL_Running_State", Computed(20), &[NOT_NULL]),
        computed("Source_Retry_Count", BigInt(11), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Source_Bind", Computed(256), &[NOT_NULL]),
        computed("Last_IO_Error_Timestamp", Computed(20), &[NOT_NULL]),
        computed("Last_SQL_Error_Timestamp", Computed(20), &[NOT_NULL]),
        computed("Source_SSL_Crl", Computed(512), &[NOT_NULL]),
        computed("Source_SSL_Crlpath", Computed(512), &[NOT_NULL]),
        computed("Retrieved_Gtid_Set", Computed(0), &[NOT_NULL]),
        computed("Executed_Gtid_Set", Computed(45), &[NOT_NULL]),
        computed("Auto_Position", Int(9), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Replicate_Rewrite_DB", Computed(24), &[NOT_NULL]),
        computed("Channel_Name", Computed(192), &[NOT_NULL]),
        computed("Source_TLS_Version", Computed(512), &[NOT_NULL]),
        computed("Source_public_key_path", Computed(512), &[NOT_NULL]),
        computed("Get_Source_public_key", Int(9), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Network_Namespace", Computed(193), &[NOT_NULL]),
    ],
};

/// SHOW PROFILES.
pub(crate) const PROFILES: ColumnList = ColumnList {
    database: "",
    table: "",
    columns: &[
        computed("Query_ID", Int(11), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Duration", Double(9, 0), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("Query", Computed(40), &[NOT_NULL]),
    ],
};

/// SHOW PROFILE.
pub(crate) const PROFILE: ColumnList = ColumnList {
    database: "information_schema",
    table: "PROFILING",
    columns: &[column("Status", VarChar(30), &[NOT_NULL], "STATE"), column("Duration", Decimal(9, 6), &[NOT_NULL], "DURATION")],
};

/// What SHOW PROFILE CPU adds.
pub(crate) const PROFILE_CPU: ColumnList = ColumnList {
    database: "information_schema",
    table: "PROFILING",
    columns: &[column("CPU_user", Decimal(9, 6), &[], "CPU_USER"), column("CPU_system", Decimal(9, 6), &[], "CPU_SYSTEM")],
};

/// What SHOW PROFILE CONTEXT SWITCHES adds.
pub(crate) const PROFILE_CONTEXT_SWITCHES: ColumnList = ColumnList {
    database: "information_schema",
    table: "PROFILING",
    columns: &[
        column("Context_voluntary", Int(21), &[], "CONTEXT_VOLUNTARY"),
        column("Context_involuntary", Int(21), &[], "CONTEXT_INVOLUNTARY"),
    ],
};

/// What SHOW PROFILE BLOCK IO adds.
pub(crate) const PROFILE_BLOCK_IO: ColumnList = ColumnList {
    database: "information_schema",
    table: "PROFILING",
    columns: &[column("Block_ops_in", Int(21), &[], "BLOCK_OPS_IN"), column("Block_ops_out", Int(21), &[], "BLOCK_OPS_OUT")],
};

/// What SHOW PROFILE IPC adds.
pub(crate) const PROFILE_IPC: ColumnList = ColumnList {
    database: "information_schema",
    table: "PROFILING",
    columns: &[column("Messages_sent", Int(21), &[], "MESSAGES_SENT"), column("Messages_received", Int(21), &[], "MESSAGES_RECEIVED")],
};

/// What SHOW PROFILE PAGE FAULTS adds.
pub(crate) const PROFILE_PAGE_FAULTS: ColumnList = ColumnList {
    database: "information_schema",
    table: "PROFILING",
    columns: &[
        column("Page_faults_major", Int(21), &[], "PAGE_FAULTS_MAJOR"),
        column("Page_faults_minor", Int(21), &[], "PAGE_FAULTS_MINOR"),
    ],
};

/// What SHOW PROFILE SWAPS adds.
pub(crate) const PROFILE_SWAPS: ColumnList =
    ColumnList { database: "information_schema", table: "PROFILING", columns: &[column("Swaps", Int(21), &[], "SWAPS")] };

/// What SHOW PROFILE SOURCE adds.
pub(crate) const PROFILE_SOURCE: ColumnList = ColumnList {
    database: "information_schema",
    table: "PROFILING",
    columns: &[
        column("Source_function", VarChar(30), &[], "SOURCE_FUNCTION"),
        column("Source_file", VarChar(20), &[], "SOURCE_FILE"),
        column("Source_line", Int(21), &[], "SOURCE_LINE"),
    ],
};

/// EXPLAIN's table.
pub(crate) const EXPLAIN: ColumnList = ColumnList {
    database: "",
    table: "",
    columns: &[
        computed("id", BigInt(4), &[NOT_NULL, UNSIGNED, BINARY]),
        computed("select_type", Computed(19), &[NOT_NULL]),
        computed("table", Computed(64), &[]),
        computed("partitions", MediumText(6_316_032), &[]),
        computed("type", Computed(10), &[]),
        computed("possible_keys", Computed(4096), &[]),
        computed("key", Computed(64), &[]),
        computed("key_len", Computed(4096), &[]),
        computed("ref", Computed(1024), &[]),
        computed("rows", BigInt(11), &[UNSIGNED, BINARY]),
        computed("filtered", Double(4, 2), &[BINARY]),
        computed("Extra", Computed(255), &[NOT_NULL]),
    ],
};

/// EXPLAIN's tree and JSON.
pub(crate) const EXPLAIN_TEXT: ColumnList =
    ColumnList { database: "", table: "", columns: &[computed("EXPLAIN", Computed(78), &[NOT_NULL])] };

/// ANALYZE, CHECK, OPTIMIZE and REPAIR TABLE.
pub(crate) const TABLE_MAINTENANCE: ColumnList = ColumnList {
    database: "",
    table: "",
    columns: &[
        computed("Table", Computed(128), &[]),
        computed("Op", Computed(10), &[]),
        computed("Msg_type", Computed(10), &[]),
        computed("Msg_text", MediumText(393_216), &[]),
    ],
};

/// CHECKSUM TABLE.
pub(crate) const CHECKSUM_TABLE: ColumnList =
    ColumnList { database: "", table: "", columns: &[computed("Table", Computed(384), &[]), computed("Checksum", BigInt(22), &[BINARY])] };

/// XA RECOVER.
pub(crate) const XA_RECOVER: ColumnList = ColumnList {
    database: "",
    table: "",
    columns: &[
        computed("formatID", BigInt(12), &[NOT_NULL, BINARY]),
        computed("gtrid_length", BigInt(12), &[NOT_NULL, BINARY]),
        computed("bqual_length", BigInt(12), &[NOT_NULL, BINARY]),
        computed("data", Computed(258), &[NOT_NULL]),
    ],
};

/// HELP that finds nothing.
pub(crate) const HELP: ColumnList = ColumnList {
    database: "",
    table: "",
    columns: &[computed("name", Computed(64), &[NOT_NULL]), computed("is_it_category", Computed(1), &[NOT_NULL])],
};

/// Passwords that the server has made.
pub(crate) const NEW_PASSWORDS: ColumnList = ColumnList {
    database: "",
    table: "",
    columns: &[
        computed("user", Computed(4), &[NOT_NULL]),
        computed("host", Computed(4), &[NOT_NULL]),
        computed("generated password", Computed(18), &[NOT_NULL]),
        computed("auth_factor", BigInt(13), &[NOT_NULL, UNSIGNED, BINARY]),
    ],
};
