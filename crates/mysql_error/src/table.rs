//! The table of errors. Texts follow MySQL's published "Server Error Message Reference".

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorInfo {
    /// MySQL's number.
    pub code: u16,
    /// MySQL's symbol, such as `ER_DUP_ENTRY`.
    pub symbol: &'static str,
    /// Five characters.
    pub sqlstate: [u8; 5],
    /// The text with `{holes}`.
    pub template: &'static str,
}

/// The row of a number.
pub fn lookup(code: u16) -> Option<&'static ErrorInfo> {
    TABLE.binary_search_by_key(&code, |info| info.code).ok().map(|at| &TABLE[at])
}

macro_rules! errors {
    ($($symbol:ident = $code:literal $state:literal $make:ident($($hole:ident),*) $text:literal;)*) => {
        /// A constant and a constructor per error.
        pub mod codes {
            use crate::SqlError;
            use std::fmt::Display;
            $(
                #[doc = concat!("`", stringify!($symbol), "`: ", $text)]
                pub const $symbol: u16 = $code;
                #[doc = concat!(stringify!($code), " (`", stringify!($symbol), "`): ", $text)]
                #[cold]
                pub fn $make($($hole: impl Display),*) -> SqlError {
                    SqlError { code: $code, sqlstate: *$state, message: format!($text) }
                }
            )*
        }
        static TABLE: &[ErrorInfo] = &[
            $(ErrorInfo { code: $code, symbol: stringify!($symbol), sqlstate: *$state, template: $text },)*
        ];
    };
}

#[rustfmt::skip]
errors! {
    ER_CANT_CREATE_FILE = 1004 b"HY000" cant_create_file(file, errno, text) "Can't create file '{file}' (errno: {errno} - {text})";
    ER_CANT_CREATE_TABLE = 1005 b"HY000" cant_create_table(table, errno, text) "Can't create table '{table}' (errno: {errno} - {text})";
    ER_CANT_CREATE_DB = 1006 b"HY000" cant_create_db(db, errno, text) "Can't create database '{db}' (errno: {errno} - {text})";
    ER_DB_CREATE_EXISTS = 1007 b"HY000" db_create_exists(db) "Can't create database '{db}'; database exists";
    ER_DB_DROP_EXISTS = 1008 b"HY000" db_drop_exists(db) "Can't drop database '{db}'; database doesn't exist";
    ER_CANT_LOCK = 1015 b"HY000" cant_lock(errno, text) "Can't lock file (errno: {errno} - {text})";
    ER_CANT_OPEN_FILE = 1016 b"HY000" cant_open_file(file, errno, text) "Can't open file: '{file}' (errno: {errno} - {text})";
    ER_FILE_NOT_FOUND = 1017 b"HY000" file_not_found(file, errno, text) "Can't find file: '{file}' (errno: {errno} - {text})";
    ER_CHECKREAD = 1020 b"HY000" checkread(table) "Record has changed since last read in table '{table}'";
    ER_DISK_FULL = 1021 b"HY000" disk_full(file, errno, text) "Disk full ({file}); waiting for someone to free some space... (errno: {errno} - {text})";
    ER_DUP_KEY = 1022 b"23000" dup_key(table) "Can't write; duplicate key in table '{table}'";
    ER_ERROR_ON_CLOSE = 1023 b"HY000" error_on_close(file, errno, text) "Error on close of '{file}' (errno: {errno} - {text})";
    ER_ERROR_ON_READ = 1024 b"HY000" error_on_read(file, errno, text) "Error reading file '{file}' (errno: {errno} - {text})";
    ER_ERROR_ON_RENAME = 1025 b"HY000" error_on_rename(from, to, errno, text) "Error on rename of '{from}' to '{to}' (errno: {errno} - {text})";
    ER_ERROR_ON_WRITE = 1026 b"HY000" error_on_write(file, errno, text) "Error writing file '{file}' (errno: {errno} - {text})";
    ER_FILE_USED = 1027 b"HY000" file_used(file) "'{file}' is locked against change";
    ER_FILSORT_ABORT = 1028 b"HY000" filsort_abort() "Sort aborted";
    ER_GET_ERRNO = 1030 b"HY000" get_errno(errno, text) "Got error {errno} - '{text}' from storage engine";
    ER_ILLEGAL_HA = 1031 b"HY000" illegal_ha(table) "Table storage engine for '{table}' doesn't have this option";
    ER_KEY_NOT_FOUND = 1032 b"HY000" key_not_found(table) "Can't find record in '{table}'";
    ER_NOT_FORM_FILE = 1033 b"HY000" not_form_file(file) "Incorrect information in file: '{file}'";
    ER_NOT_KEYFILE = 1034 b"HY000" not_keyfile(table) "Incorrect key file for table '{table}'; try to repair it";
    ER_OPEN_AS_READONLY = 1036 b"HY000" open_as_readonly(table) "Table '{table}' is read only";
    ER_OUTOFMEMORY = 1037 b"HY001" outofmemory(bytes) "Out of memory; restart server and try again (needed {bytes} bytes)";
    ER_OUT_OF_SORTMEMORY = 1038 b"HY001" out_of_sortmemory() "Out of sort memory, consider increasing server sort buffer size";
    ER_CON_COUNT_ERROR = 1040 b"08004" con_count_error() "Too many connections";
    ER_OUT_OF_RESOURCES = 1041 b"HY000" out_of_resources() "Out of memory; check if mysqld or some other process uses all available memory; if not, you may have to use 'ulimit' to allow mysqld to use more memory or you can add more swap space";
    ER_BAD_HOST_ERROR = 1042 b"08S01" bad_host_error() "Can't get hostname for your address";
    ER_HANDSHAKE_ERROR = 1043 b"08S01" handshake_error() "Bad handshake";
    ER_DBACCESS_DENIED_ERROR = 1044 b"42000" dbaccess_denied_error(user, host, db) "Access denied for user '{user}'@'{host}' to database '{db}'";
    ER_ACCESS_DENIED_ERROR = 1045 b"28000" access_denied_error(user, host, yes_or_no) "Access denied for user '{user}'@'{host}' (using password: {yes_or_no})";
    ER_NO_DB_ERROR = 1046 b"3D000" no_db_error() "No database selected";
    ER_UNKNOWN_COM_ERROR = 1047 b"08S01" unknown_com_error() "Unknown command";
    ER_BAD_NULL_ERROR = 1048 b"23000" bad_null_error(column) "Column '{column}' cannot be null";
    ER_BAD_DB_ERROR = 1049 b"42000" bad_db_error(db) "Unknown database '{db}'";
    ER_TABLE_EXISTS_ERROR = 1050 b"42S01" table_exists_error(table) "Table '{table}' already exists";
    ER_BAD_TABLE_ERROR = 1051 b"42S02" bad_table_error(table) "Unknown table '{table}'";
    ER_NON_UNIQ_ERROR = 1052 b"23000" non_uniq_error(column, clause) "Column '{column}' in {clause} is ambiguous";
    ER_SERVER_SHUTDOWN = 1053 b"08S01" server_shutdown() "Server shutdown in progress";
    ER_BAD_FIELD_ERROR = 1054 b"42S22" bad_field_error(column, clause) "Unknown column '{column}' in '{clause}'";
    ER_WRONG_FIELD_WITH_GROUP = 1055 b"42000" wrong_field_with_group(position, clause, column) "Expression #{position} of {clause} is not in GROUP BY clause and contains nonaggregated column '{column}' which is not functionally dependent on columns in GROUP BY clause; this is incompatible with sql_mode=only_full_group_by";
    ER_WRONG_GROUP_FIELD = 1056 b"42000" wrong_group_field(column) "Can't group on '{column}'";
    ER_WRONG_SUM_SELECT = 1057 b"42000" wrong_sum_select() "Statement has sum functions and columns in same statement";
    ER_WRONG_VALUE_COUNT = 1058 b"21S01" wrong_value_count() "Column count doesn't match value count";
    ER_TOO_LONG_IDENT = 1059 b"42000" too_long_ident(name) "Identifier name '{name}' is too long";
    ER_DUP_FIELDNAME = 1060 b"42S21" dup_fieldname(column) "Duplicate column name '{column}'";
    ER_DUP_KEYNAME = 1061 b"42000" dup_keyname(key) "Duplicate key name '{key}'";
    ER_DUP_ENTRY = 1062 b"23000" dup_entry(entry, key) "Duplicate entry '{entry}' for key '{key}'";
    ER_WRONG_FIELD_SPEC = 1063 b"42000" wrong_field_spec(column) "Incorrect column specifier for column '{column}'";
    ER_PARSE_ERROR = 1064 b"42000" parse_error(message, near, line) "{message} near '{near}' at line {line}";
    ER_EMPTY_QUERY = 1065 b"42000" empty_query() "Query was empty";
    ER_NONUNIQ_TABLE = 1066 b"42000" nonuniq_table(name) "Not unique table/alias: '{name}'";
    ER_INVALID_DEFAULT = 1067 b"42000" invalid_default(column) "Invalid default value for '{column}'";
    ER_MULTIPLE_PRI_KEY = 1068 b"42000" multiple_pri_key() "Multiple primary key defined";
    ER_TOO_MANY_KEYS = 1069 b"42000" too_many_keys(max) "Too many keys specified; max {max} keys allowed";
    ER_TOO_MANY_KEY_PARTS = 1070 b"42000" too_many_key_parts(max) "Too many key parts specified; max {max} parts allowed";
    ER_TOO_LONG_KEY = 1071 b"42000" too_long_key(max) "Specified key was too long; max key length is {max} bytes";
    ER_KEY_COLUMN_DOES_NOT_EXITS = 1072 b"42000" key_column_does_not_exits(column) "Key column '{column}' doesn't exist in table";
    ER_BLOB_USED_AS_KEY = 1073 b"42000" blob_used_as_key(column) "BLOB column '{column}' can't be used in key specification with the used table type";
    ER_TOO_BIG_FIELDLENGTH = 1074 b"42000" too_big_fieldlength(column, max) "Column length too big for column '{column}' (max = {max}); use BLOB or TEXT instead";
    ER_WRONG_AUTO_KEY = 1075 b"42000" wrong_auto_key() "Incorrect table definition; there can be only one auto column and it must be defined as a key";
    ER_READY = 1076 b"HY000" ready(program, version, socket, port) "{program}: ready for connections. Version: '{version}'  socket: '{socket}'  port: {port}";
    ER_SHUTDOWN_COMPLETE = 1079 b"HY000" shutdown_complete(program) "{program}: Shutdown complete";
    ER_FORCING_CLOSE = 1080 b"08S01" forcing_close(program, thread, user) "{program}: Forcing close of thread {thread}  user: '{user}'";
    ER_IPSOCK_ERROR = 1081 b"08S01" ipsock_error() "Can't create IP socket";
    ER_NO_SUCH_INDEX = 1082 b"42S12" no_such_index(table) "Table '{table}' has no index like the one used in CREATE INDEX; recreate the table";
    ER_WRONG_FIELD_TERMINATORS = 1083 b"42000" wrong_field_terminators() "Field separator argument is not what is expected; check the manual";
    ER_BLOBS_AND_NO_TERMINATED = 1084 b"42000" blobs_and_no_terminated() "You can't use fixed rowlength with BLOBs; please use 'fields terminated by'";
    ER_TEXTFILE_NOT_READABLE = 1085 b"HY000" textfile_not_readable(file) "The file '{file}' must be in the database directory or be readable by all";
    ER_FILE_EXISTS_ERROR = 1086 b"HY000" file_exists_error(file) "File '{file}' already exists";
    ER_LOAD_INFO = 1087 b"HY000" load_info(records, deleted, skipped, warnings) "Records: {records}  Deleted: {deleted}  Skipped: {skipped}  Warnings: {warnings}";
    ER_WRONG_SUB_KEY = 1089 b"HY000" wrong_sub_key() "Incorrect prefix key; the used key part isn't a string, the used length is longer than the key part, or the storage engine doesn't support unique prefix keys";
    ER_CANT_REMOVE_ALL_FIELDS = 1090 b"42000" cant_remove_all_fields() "You can't delete all columns with ALTER TABLE; use DROP TABLE instead";
    ER_CANT_DROP_FIELD_OR_KEY = 1091 b"42000" cant_drop_field_or_key(name) "Can't DROP '{name}'; check that column/key exists";
    ER_INSERT_INFO = 1092 b"HY000" insert_info(records, duplicates, warnings) "Records: {records}  Duplicates: {duplicates}  Warnings: {warnings}";
    ER_UPDATE_TABLE_USED = 1093 b"HY000" update_table_used(table) "You can't specify target table '{table}' for update in FROM clause";
    ER_NO_SUCH_THREAD = 1094 b"HY000" no_such_thread(id) "Unknown thread id: {id}";
    ER_KILL_DENIED_ERROR = 1095 b"HY000" kill_denied_error(id) "You are not owner of thread {id}";
    ER_NO_TABLES_USED = 1096 b"HY000" no_tables_used() "No tables used";
    ER_TOO_BIG_SET = 1097 b"HY000" too_big_set(column) "Too many strings for column {column} and SET";
    ER_TABLE_NOT_LOCKED_FOR_WRITE = 1099 b"HY000" table_not_locked_for_write(table) "Table '{table}' was locked with a READ lock and can't be updated";
    ER_TABLE_NOT_LOCKED = 1100 b"HY000" table_not_locked(table) "Table '{table}' was not locked with LOCK TABLES";
    ER_BLOB_CANT_HAVE_DEFAULT = 1101 b"42000" blob_cant_have_default(column) "BLOB, TEXT, GEOMETRY or JSON column '{column}' can't have a default value";
    ER_WRONG_DB_NAME = 1102 b"42000" wrong_db_name(db) "Incorrect database name '{db}'";
    ER_WRONG_TABLE_NAME = 1103 b"42000" wrong_table_name(table) "Incorrect table name '{table}'";
    ER_TOO_BIG_SELECT = 1104 b"42000" too_big_select() "The SELECT would examine more than MAX_JOIN_SIZE rows; check your WHERE and use SET SQL_BIG_SELECTS=1 or SET MAX_JOIN_SIZE=# if the SELECT is okay";
    ER_UNKNOWN_ERROR = 1105 b"HY000" unknown_error() "Unknown error";
    ER_UNKNOWN_PROCEDURE = 1106 b"42000" unknown_procedure(name) "Unknown procedure '{name}'";
    ER_WRONG_PARAMCOUNT_TO_PROCEDURE = 1107 b"42000" wrong_paramcount_to_procedure(name) "Incorrect parameter count to procedure '{name}'";
    ER_UNKNOWN_TABLE = 1109 b"42S02" unknown_table(table, clause) "Unknown table '{table}' in {clause}";
    ER_FIELD_SPECIFIED_TWICE = 1110 b"42000" field_specified_twice(column) "Column '{column}' specified twice";
    ER_INVALID_GROUP_FUNC_USE = 1111 b"HY000" invalid_group_func_use() "Invalid use of group function";
    ER_UNSUPPORTED_EXTENSION = 1112 b"42000" unsupported_extension(table) "Table '{table}' uses an extension that doesn't exist in this MySQL version";
    ER_TABLE_MUST_HAVE_COLUMNS = 1113 b"42000" table_must_have_columns() "A table must have at least 1 column";
    ER_RECORD_FILE_FULL = 1114 b"HY000" record_file_full(table) "The table '{table}' is full";
    ER_UNKNOWN_CHARACTER_SET = 1115 b"42000" unknown_character_set(name) "Unknown character set: '{name}'";
    ER_TOO_MANY_TABLES = 1116 b"HY000" too_many_tables(max) "Too many tables; MySQL can only use {max} tables in a join";
    ER_TOO_MANY_FIELDS = 1117 b"HY000" too_many_fields() "Too many columns";
    ER_TOO_BIG_ROWSIZE = 1118 b"42000" too_big_rowsize(max) "Row size too large. The maximum row size for the used table type, not counting BLOBs, is {max}. This includes storage overhead, check the manual. You have to change some columns to TEXT or BLOBs";
    ER_STACK_OVERRUN = 1119 b"HY000" stack_overrun(used, size) "Thread stack overrun:  Used: {used} of a {size} stack.  Use 'mysqld --thread_stack=#' to specify a bigger stack if needed";
    ER_WRONG_OUTER_JOIN = 1120 b"42000" wrong_outer_join() "Cross dependency found in OUTER JOIN; examine your ON conditions";
    ER_NULL_COLUMN_IN_INDEX = 1121 b"42000" null_column_in_index(column) "Table handler doesn't support NULL in given index. Please change column '{column}' to be NOT NULL or use another handler";
    ER_CANT_FIND_UDF = 1122 b"HY000" cant_find_udf(name) "Can't load function '{name}'";
    ER_FUNCTION_NOT_DEFINED = 1128 b"HY000" function_not_defined(name) "Function '{name}' is not defined";
    ER_HOST_IS_BLOCKED = 1129 b"HY000" host_is_blocked(host) "Host '{host}' is blocked because of many connection errors; unblock with 'mysqladmin flush-hosts'";
    ER_HOST_NOT_PRIVILEGED = 1130 b"HY000" host_not_privileged(host) "Host '{host}' is not allowed to connect to this MySQL server";
    ER_PASSWORD_ANONYMOUS_USER = 1131 b"42000" password_anonymous_user() "You are using MySQL as an anonymous user and anonymous users are not allowed to change passwords";
    ER_PASSWORD_NOT_ALLOWED = 1132 b"42000" password_not_allowed() "You must have privileges to update tables in the mysql database to be able to change passwords for others";
    ER_PASSWORD_NO_MATCH = 1133 b"42000" password_no_match() "Can't find any matching row in the user table";
    ER_UPDATE_INFO = 1134 b"HY000" update_info(matched, changed, warnings) "Rows matched: {matched}  Changed: {changed}  Warnings: {warnings}";
    ER_CANT_CREATE_THREAD = 1135 b"HY000" cant_create_thread(errno) "Can't create a new thread (errno {errno}); if you are not out of available memory, you can consult the manual for a possible OS-dependent bug";
    ER_WRONG_VALUE_COUNT_ON_ROW = 1136 b"21S01" wrong_value_count_on_row(row) "Column count doesn't match value count at row {row}";
    ER_CANT_REOPEN_TABLE = 1137 b"HY000" cant_reopen_table(table) "Can't reopen table: '{table}'";
    ER_INVALID_USE_OF_NULL = 1138 b"22004" invalid_use_of_null() "Invalid use of NULL value";
    ER_REGEXP_ERROR = 1139 b"42000" regexp_error(text) "Got error '{text}' from regexp";
    ER_MIX_OF_GROUP_FUNC_AND_FIELDS = 1140 b"42000" mix_of_group_func_and_fields(position, clause, column) "In aggregated query without GROUP BY, expression #{position} of {clause} contains nonaggregated column '{column}'; this is incompatible with sql_mode=only_full_group_by";
    ER_NONEXISTING_GRANT = 1141 b"42000" nonexisting_grant(user, host) "There is no such grant defined for user '{user}' on host '{host}'";
    ER_TABLEACCESS_DENIED_ERROR = 1142 b"42000" tableaccess_denied_error(command, user, host, table) "{command} command denied to user '{user}'@'{host}' for table '{table}'";
    ER_COLUMNACCESS_DENIED_ERROR = 1143 b"42000" columnaccess_denied_error(command, user, host, column, table) "{command} command denied to user '{user}'@'{host}' for column '{column}' in table '{table}'";
    ER_ILLEGAL_GRANT_FOR_TABLE = 1144 b"42000" illegal_grant_for_table() "Illegal GRANT/REVOKE command; please consult the manual to see which privileges can be used";
    ER_GRANT_WRONG_HOST_OR_USER = 1145 b"42000" grant_wrong_host_or_user() "The host or user argument to GRANT is too long";
    ER_NO_SUCH_TABLE = 1146 b"42S02" no_such_table(db, table) "Table '{db}.{table}' doesn't exist";
    ER_NONEXISTING_TABLE_GRANT = 1147 b"42000" nonexisting_table_grant(user, host, table) "There is no such grant defined for user '{user}' on host '{host}' on table '{table}'";
    ER_NOT_ALLOWED_COMMAND = 1148 b"42000" not_allowed_command() "The used command is not allowed with this MySQL version";
    ER_SYNTAX_ERROR = 1149 b"42000" syntax_error() "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use";
    ER_ABORTING_CONNECTION = 1152 b"08S01" aborting_connection(id, db, user, text) "Aborted connection {id} to db: '{db}' user: '{user}' ({text})";
    ER_NET_PACKET_TOO_LARGE = 1153 b"08S01" net_packet_too_large() "Got a packet bigger than 'max_allowed_packet' bytes";
    ER_NET_READ_ERROR_FROM_PIPE = 1154 b"08S01" net_read_error_from_pipe() "Got a read error from the connection pipe";
    ER_NET_FCNTL_ERROR = 1155 b"08S01" net_fcntl_error() "Got an error from fcntl()";
    ER_NET_PACKETS_OUT_OF_ORDER = 1156 b"08S01" net_packets_out_of_order() "Got packets out of order";
    ER_NET_UNCOMPRESS_ERROR = 1157 b"08S01" net_uncompress_error() "Couldn't uncompress communication packet";
    ER_NET_READ_ERROR = 1158 b"08S01" net_read_error() "Got an error reading communication packets";
    ER_NET_READ_INTERRUPTED = 1159 b"08S01" net_read_interrupted() "Got timeout reading communication packets";
    ER_NET_ERROR_ON_WRITE = 1160 b"08S01" net_error_on_write() "Got an error writing communication packets";
    ER_NET_WRITE_INTERRUPTED = 1161 b"08S01" net_write_interrupted() "Got timeout writing communication packets";
    ER_TOO_LONG_STRING = 1162 b"42000" too_long_string() "Result string is longer than 'max_allowed_packet' bytes";
    ER_TABLE_CANT_HANDLE_BLOB = 1163 b"42000" table_cant_handle_blob() "The used table type doesn't support BLOB/TEXT columns";
    ER_TABLE_CANT_HANDLE_AUTO_INCREMENT = 1164 b"42000" table_cant_handle_auto_increment() "The used table type doesn't support AUTO_INCREMENT columns";
    ER_WRONG_COLUMN_NAME = 1166 b"42000" wrong_column_name(column) "Incorrect column name '{column}'";
    ER_WRONG_KEY_COLUMN = 1167 b"42000" wrong_key_column(column) "The used storage engine can't index column '{column}'";
    ER_WRONG_MRG_TABLE = 1168 b"HY000" wrong_mrg_table() "Unable to open underlying table which is differently defined or of non-MyISAM type or doesn't exist";
    ER_DUP_UNIQUE = 1169 b"23000" dup_unique(table) "Can't write, because of unique constraint, to table '{table}'";
    ER_BLOB_KEY_WITHOUT_LENGTH = 1170 b"42000" blob_key_without_length(column) "BLOB/TEXT column '{column}' used in key specification without a key length";
    ER_PRIMARY_CANT_HAVE_NULL = 1171 b"42000" primary_cant_have_null() "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead";
    ER_TOO_MANY_ROWS = 1172 b"42000" too_many_rows() "Result consisted of more than one row";
    ER_REQUIRES_PRIMARY_KEY = 1173 b"42000" requires_primary_key() "This table type requires a primary key";
    ER_UPDATE_WITHOUT_KEY_IN_SAFE_MODE = 1175 b"HY000" update_without_key_in_safe_mode(reason) "You are using safe update mode and you tried to update a table without a WHERE that uses a KEY column. {reason}";
    ER_KEY_DOES_NOT_EXITS = 1176 b"42000" key_does_not_exits(key, table) "Key '{key}' doesn't exist in table '{table}'";
    ER_CHECK_NO_SUCH_TABLE = 1177 b"42000" check_no_such_table() "Can't open table";
    ER_CHECK_NOT_IMPLEMENTED = 1178 b"42000" check_not_implemented(what) "The storage engine for the table doesn't support {what}";
    ER_CANT_DO_THIS_DURING_AN_TRANSACTION = 1179 b"25000" cant_do_this_during_an_transaction() "You are not allowed to execute this command in a transaction";
    ER_ERROR_DURING_COMMIT = 1180 b"HY000" error_during_commit(errno, text) "Got error {errno} - '{text}' during COMMIT";
    ER_ERROR_DURING_ROLLBACK = 1181 b"HY000" error_during_rollback(errno, text) "Got error {errno} - '{text}' during ROLLBACK";
    ER_ERROR_DURING_CHECKPOINT = 1183 b"HY000" error_during_checkpoint(errno, text) "Got error {errno} - '{text}' during CHECKPOINT";
    ER_NEW_ABORTING_CONNECTION = 1184 b"08S01" new_aborting_connection(id, db, user, host, text) "Aborted connection {id} to db: '{db}' user: '{user}' host: '{host}' ({text})";
    ER_SOURCE = 1188 b"HY000" master_error(text) "Error from source: '{text}'";
    ER_FT_MATCHING_KEY_NOT_FOUND = 1191 b"HY000" ft_matching_key_not_found() "Can't find FULLTEXT index matching the column list";
    ER_LOCK_OR_ACTIVE_TRANSACTION = 1192 b"HY000" lock_or_active_transaction() "Can't execute the given command because you have active locked tables or an active transaction";
    ER_UNKNOWN_SYSTEM_VARIABLE = 1193 b"HY000" unknown_system_variable(name) "Unknown system variable '{name}'";
    ER_CRASHED_ON_USAGE = 1194 b"HY000" crashed_on_usage(table) "Table '{table}' is marked as crashed and should be repaired";
    ER_CRASHED_ON_REPAIR = 1195 b"HY000" crashed_on_repair(table) "Table '{table}' is marked as crashed and last (automatic?) repair failed";
    ER_WARNING_NOT_COMPLETE_ROLLBACK = 1196 b"HY000" warning_not_complete_rollback() "Some non-transactional changed tables couldn't be rolled back";
    ER_TRANS_CACHE_FULL = 1197 b"HY000" trans_cache_full() "Multi-statement transaction required more than 'max_binlog_cache_size' bytes of storage; increase this mysqld variable and try again";
    ER_TOO_MANY_USER_CONNECTIONS = 1203 b"42000" too_many_user_connections(user) "User {user} already has more than 'max_user_connections' active connections";
    ER_SET_CONSTANTS_ONLY = 1204 b"HY000" set_constants_only() "You may only use constant expressions with SET";
    ER_LOCK_WAIT_TIMEOUT = 1205 b"HY000" lock_wait_timeout() "Lock wait timeout exceeded; try restarting transaction";
    ER_LOCK_TABLE_FULL = 1206 b"HY000" lock_table_full() "The total number of locks exceeds the lock table size";
    ER_READ_ONLY_TRANSACTION = 1207 b"25000" read_only_transaction() "Update locks cannot be acquired during a READ UNCOMMITTED transaction";
    ER_WRONG_ARGUMENTS = 1210 b"HY000" wrong_arguments(function) "Incorrect arguments to {function}";
    ER_NO_PERMISSION_TO_CREATE_USER = 1211 b"42000" no_permission_to_create_user(user, host) "'{user}'@'{host}' is not allowed to create new users";
    ER_LOCK_DEADLOCK = 1213 b"40001" lock_deadlock() "Deadlock found when trying to get lock; try restarting transaction";
    ER_TABLE_CANT_HANDLE_FT = 1214 b"HY000" table_cant_handle_ft() "The used table type doesn't support FULLTEXT indexes";
    ER_CANNOT_ADD_FOREIGN = 1215 b"HY000" cannot_add_foreign() "Cannot add foreign key constraint";
    ER_NO_REFERENCED_ROW = 1216 b"23000" no_referenced_row() "Cannot add or update a child row: a foreign key constraint fails";
    ER_ROW_IS_REFERENCED = 1217 b"23000" row_is_referenced() "Cannot delete or update a parent row: a foreign key constraint fails";
    ER_CONNECT_TO_SOURCE = 1218 b"08S01" connect_to_master(text) "Error connecting to source: {text}";
    ER_WRONG_USAGE = 1221 b"HY000" wrong_usage(what, with) "Incorrect usage of {what} and {with}";
    ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT = 1222 b"21000" wrong_number_of_columns_in_select() "The used SELECT statements have a different number of columns";
    ER_CANT_UPDATE_WITH_READLOCK = 1223 b"HY000" cant_update_with_readlock() "Can't execute the query because you have a conflicting read lock";
    ER_MIXING_NOT_ALLOWED = 1224 b"HY000" mixing_not_allowed() "Mixing of transactional and non-transactional tables is disabled";
    ER_DUP_ARGUMENT = 1225 b"HY000" dup_argument(option) "Option '{option}' used twice in statement";
    ER_USER_LIMIT_REACHED = 1226 b"42000" user_limit_reached(user, resource, value) "User '{user}' has exceeded the '{resource}' resource (current value: {value})";
    ER_SPECIFIC_ACCESS_DENIED_ERROR = 1227 b"42000" specific_access_denied_error(privilege) "Access denied; you need (at least one of) the {privilege} privilege(s) for this operation";
    ER_LOCAL_VARIABLE = 1228 b"HY000" local_variable(name) "Variable '{name}' is a SESSION variable and can't be used with SET GLOBAL";
    ER_GLOBAL_VARIABLE = 1229 b"HY000" global_variable(name) "Variable '{name}' is a GLOBAL variable and should be set with SET GLOBAL";
    ER_NO_DEFAULT = 1230 b"42000" no_default(name) "Variable '{name}' doesn't have a default value";
    ER_WRONG_VALUE_FOR_VAR = 1231 b"42000" wrong_value_for_var(name, value) "Variable '{name}' can't be set to the value of '{value}'";
    ER_WRONG_TYPE_FOR_VAR = 1232 b"42000" wrong_type_for_var(name) "Incorrect argument type to variable '{name}'";
    ER_VAR_CANT_BE_READ = 1233 b"HY000" var_cant_be_read(name) "Variable '{name}' can only be set, not read";
    ER_CANT_USE_OPTION_HERE = 1234 b"42000" cant_use_option_here(option) "Incorrect usage/placement of '{option}'";
    ER_NOT_SUPPORTED_YET = 1235 b"42000" not_supported_yet(what) "This version of MySQL doesn't yet support '{what}'";
    ER_SOURCE_FATAL_ERROR_READING_BINLOG = 1236 b"HY000" master_fatal_error_reading_binlog(errno, text) "Got fatal error {errno} from source when reading data from binary log: '{text}'";
    ER_REPLICA_IGNORED_TABLE = 1237 b"HY000" slave_ignored_table() "Replica SQL thread ignored the query because of replicate-*-table rules";
    ER_INCORRECT_GLOBAL_LOCAL_VAR = 1238 b"HY000" incorrect_global_local_var(name, kind) "Variable '{name}' is a {kind} variable";
    ER_WRONG_FK_DEF = 1239 b"42000" wrong_fk_def(name, text) "Incorrect foreign key definition for '{name}': {text}";
    ER_KEY_REF_DO_NOT_MATCH_TABLE_REF = 1240 b"HY000" key_ref_do_not_match_table_ref() "Key reference and table reference don't match";
    ER_OPERAND_COLUMNS = 1241 b"21000" operand_columns(count) "Operand should contain {count} column(s)";
    ER_SUBQUERY_NO_1_ROW = 1242 b"21000" subquery_no_1_row() "Subquery returns more than 1 row";
    ER_UNKNOWN_STMT_HANDLER = 1243 b"HY000" unknown_stmt_handler(name, command) "Unknown prepared statement handler ({name}) given to {command}";
    ER_CORRUPT_HELP_DB = 1244 b"HY000" corrupt_help_db() "Help database is corrupt or does not exist";
    ER_AUTO_CONVERT = 1246 b"HY000" auto_convert(column, from, to) "Converting column '{column}' from {from} to {to}";
    ER_ILLEGAL_REFERENCE = 1247 b"42S22" illegal_reference(name, text) "Reference '{name}' not supported ({text})";
    ER_DERIVED_MUST_HAVE_ALIAS = 1248 b"42000" derived_must_have_alias() "Every derived table must have its own alias";
    ER_SELECT_REDUCED = 1249 b"01000" select_reduced(number) "Select {number} was reduced during optimization";
    ER_TABLENAME_NOT_ALLOWED_HERE = 1250 b"42000" tablename_not_allowed_here(table, clause) "Table '{table}' from one of the SELECTs cannot be used in {clause}";
    ER_NOT_SUPPORTED_AUTH_MODE = 1251 b"08004" not_supported_auth_mode() "Client does not support authentication protocol requested by server; consider upgrading MySQL client";
    ER_SPATIAL_CANT_HAVE_NULL = 1252 b"42000" spatial_cant_have_null() "All parts of a SPATIAL index must be NOT NULL";
    ER_COLLATION_CHARSET_MISMATCH = 1253 b"42000" collation_charset_mismatch(collation, charset) "COLLATION '{collation}' is not valid for CHARACTER SET '{charset}'";
    ER_TOO_BIG_FOR_UNCOMPRESS = 1256 b"HY000" too_big_for_uncompress(max) "Uncompressed data size too large; the maximum size is {max} (probably, length of uncompressed data was corrupted)";
    ER_ZLIB_Z_MEM_ERROR = 1257 b"HY000" zlib_z_mem_error() "ZLIB: Not enough memory";
    ER_ZLIB_Z_BUF_ERROR = 1258 b"HY000" zlib_z_buf_error() "ZLIB: Not enough room in the output buffer (probably, length of uncompressed data was corrupted)";
    ER_ZLIB_Z_DATA_ERROR = 1259 b"HY000" zlib_z_data_error() "ZLIB: Input data corrupted";
    ER_CUT_VALUE_GROUP_CONCAT = 1260 b"HY000" cut_value_group_concat(row) "Row {row} was cut by GROUP_CONCAT()";
    ER_WARN_TOO_FEW_RECORDS = 1261 b"01000" warn_too_few_records(row) "Row {row} doesn't contain data for all columns";
    ER_WARN_TOO_MANY_RECORDS = 1262 b"01000" warn_too_many_records(row) "Row {row} was truncated; it contained more data than there were input columns";
    ER_WARN_NULL_TO_NOTNULL = 1263 b"22004" warn_null_to_notnull(column, row) "Column set to default value; NULL supplied to NOT NULL column '{column}' at row {row}";
    ER_WARN_DATA_OUT_OF_RANGE = 1264 b"22003" warn_data_out_of_range(column, row) "Out of range value for column '{column}' at row {row}";
    WARN_DATA_TRUNCATED = 1265 b"01000" data_truncated(column, row) "Data truncated for column '{column}' at row {row}";
    ER_WARN_USING_OTHER_HANDLER = 1266 b"HY000" warn_using_other_handler(engine, table) "Using storage engine {engine} for table '{table}'";
    ER_CANT_AGGREGATE_2COLLATIONS = 1267 b"HY000" cant_aggregate_2collations(collation_1, strength_1, collation_2, strength_2, operation) "Illegal mix of collations ({collation_1},{strength_1}) and ({collation_2},{strength_2}) for operation '{operation}'";
    ER_REVOKE_GRANTS = 1269 b"HY000" revoke_grants() "Can't revoke all privileges for one or more of the requested users";
    ER_CANT_AGGREGATE_3COLLATIONS = 1270 b"HY000" cant_aggregate_3collations(collation_1, strength_1, collation_2, strength_2, collation_3, strength_3, operation) "Illegal mix of collations ({collation_1},{strength_1}), ({collation_2},{strength_2}), ({collation_3},{strength_3}) for operation '{operation}'";
    ER_CANT_AGGREGATE_NCOLLATIONS = 1271 b"HY000" cant_aggregate_ncollations(operation) "Illegal mix of collations for operation '{operation}'";
    ER_VARIABLE_IS_NOT_STRUCT = 1272 b"HY000" variable_is_not_struct(name) "Variable '{name}' is not a variable component (can't be used as XXXX.variable_name)";
    ER_UNKNOWN_COLLATION = 1273 b"HY000" unknown_collation(name) "Unknown collation: '{name}'";
    ER_REPLICA_IGNORED_SSL_PARAMS = 1274 b"HY000" slave_ignored_ssl_params() "SSL parameters in CHANGE REPLICATION SOURCE are ignored because this MySQL replica was compiled without SSL support; they can be used later if MySQL replica with SSL is started";
    ER_WARN_FIELD_RESOLVED = 1276 b"HY000" warn_field_resolved(column, number, of) "Field or reference '{column}' of SELECT #{number} was resolved in SELECT #{of}";
    ER_BAD_REPLICA_UNTIL_COND = 1277 b"HY000" bad_slave_until_cond() "Incorrect parameter or combination of parameters for START REPLICA UNTIL";
    ER_UNTIL_COND_IGNORED = 1279 b"HY000" until_cond_ignored() "SQL thread is not to be started so UNTIL options are ignored";
    ER_WRONG_NAME_FOR_INDEX = 1280 b"42000" wrong_name_for_index(name) "Incorrect index name '{name}'";
    ER_WRONG_NAME_FOR_CATALOG = 1281 b"42000" wrong_name_for_catalog(name) "Incorrect catalog name '{name}'";
    ER_BAD_FT_COLUMN = 1283 b"HY000" bad_ft_column(column) "Column '{column}' cannot be part of FULLTEXT index";
    ER_UNKNOWN_KEY_CACHE = 1284 b"HY000" unknown_key_cache(name) "Unknown key cache '{name}'";
    ER_UNKNOWN_STORAGE_ENGINE = 1286 b"42000" unknown_storage_engine(name) "Unknown storage engine '{name}'";
    ER_WARN_DEPRECATED_SYNTAX = 1287 b"HY000" warn_deprecated_syntax(what, instead) "'{what}' is deprecated and will be removed in a future release. Please use {instead} instead";
    ER_NON_UPDATABLE_TABLE = 1288 b"HY000" non_updatable_table(table, statement) "The target table {table} of the {statement} is not updatable";
    ER_FEATURE_DISABLED = 1289 b"HY000" feature_disabled(feature, with) "The '{feature}' feature is disabled; you need MySQL built with '{with}' to have it working";
    ER_OPTION_PREVENTS_STATEMENT = 1290 b"HY000" option_prevents_statement(option) "The MySQL server is running with the {option} option so it cannot execute this statement";
    ER_DUPLICATED_VALUE_IN_TYPE = 1291 b"HY000" duplicated_value_in_type(column, value, kind) "Column '{column}' has duplicated value '{value}' in {kind}";
    ER_TRUNCATED_WRONG_VALUE = 1292 b"22007" truncated_wrong_value(kind, value) "Truncated incorrect {kind} value: '{value}'";
    ER_INVALID_ON_UPDATE = 1294 b"HY000" invalid_on_update(column) "Invalid ON UPDATE clause for '{column}' column";
    ER_UNSUPPORTED_PS = 1295 b"HY000" unsupported_ps() "This command is not supported in the prepared statement protocol yet";
    ER_GET_ERRMSG = 1296 b"HY000" get_errmsg(errno, text, engine) "Got error {errno} '{text}' from {engine}";
    ER_GET_TEMPORARY_ERRMSG = 1297 b"HY000" get_temporary_errmsg(errno, text, engine) "Got temporary error {errno} '{text}' from {engine}";
    ER_UNKNOWN_TIME_ZONE = 1298 b"HY000" unknown_time_zone(name) "Unknown or incorrect time zone: '{name}'";
    ER_WARN_INVALID_TIMESTAMP = 1299 b"HY000" warn_invalid_timestamp(column, row) "Invalid TIMESTAMP value in column '{column}' at row {row}";
    ER_INVALID_CHARACTER_STRING = 1300 b"HY000" invalid_character_string(charset, string) "Invalid {charset} character string: '{string}'";
    ER_WARN_ALLOWED_PACKET_OVERFLOWED = 1301 b"HY000" warn_allowed_packet_overflowed(function, max) "Result of {function}() was larger than max_allowed_packet ({max}) - truncated";
    ER_CONFLICTING_DECLARATIONS = 1302 b"HY000" conflicting_declarations(one, two) "Conflicting declarations: '{one}' and '{two}'";
    ER_SP_NO_RECURSIVE_CREATE = 1303 b"2F003" sp_no_recursive_create(kind) "Can't create a {kind} from within another stored routine";
    ER_SP_ALREADY_EXISTS = 1304 b"42000" sp_already_exists(kind, name) "{kind} {name} already exists";
    ER_SP_DOES_NOT_EXIST = 1305 b"42000" sp_does_not_exist(kind, name) "{kind} {name} does not exist";
    ER_SP_DROP_FAILED = 1306 b"HY000" sp_drop_failed(kind, name) "Failed to DROP {kind} {name}";
    ER_SP_LILABEL_MISMATCH = 1308 b"42000" sp_lilabel_mismatch(statement, label) "{statement} with no matching label: {label}";
    ER_SP_BADRETURN = 1313 b"42000" sp_badreturn() "RETURN is only allowed in a FUNCTION";
    ER_SP_BADSTATEMENT = 1314 b"0A000" sp_badstatement(statement) "{statement} is not allowed in stored procedures";
    ER_QUERY_INTERRUPTED = 1317 b"70100" query_interrupted() "Query execution was interrupted";
    ER_SP_WRONG_NO_OF_ARGS = 1318 b"42000" sp_wrong_no_of_args(kind, name, expected, got) "Incorrect number of arguments for {kind} {name}; expected {expected}, got {got}";
    ER_SP_COND_MISMATCH = 1319 b"42000" sp_cond_mismatch(name) "Undefined CONDITION: {name}";
    ER_SP_BAD_CURSOR_SELECT = 1323 b"42000" sp_bad_cursor_select() "Cursor SELECT must not have INTO";
    ER_SP_CURSOR_ALREADY_OPEN = 1325 b"24000" sp_cursor_already_open() "Cursor is already open";
    ER_SP_CURSOR_NOT_OPEN = 1326 b"24000" sp_cursor_not_open() "Cursor is not open";
    ER_SP_UNDECLARED_VAR = 1327 b"42000" sp_undeclared_var(name) "Undeclared variable: {name}";
    ER_SP_FETCH_NO_DATA = 1329 b"02000" sp_fetch_no_data() "No data - zero rows fetched, selected, or processed";
    ER_SP_SUBSELECT_NYI = 1335 b"0A000" sp_subselect_nyi() "Subquery value not supported";
    ER_STMT_NOT_ALLOWED_IN_SF_OR_TRG = 1336 b"0A000" stmt_not_allowed_in_sf_or_trg(statement) "{statement} is not allowed in stored function or trigger";
    ER_WRONG_OBJECT = 1347 b"HY000" wrong_object(db, name, kind) "'{db}.{name}' is not {kind}";
    ER_NONUPDATEABLE_COLUMN = 1348 b"HY000" nonupdateable_column(column) "Column '{column}' is not updatable";
    ER_VIEW_SELECT_CLAUSE = 1350 b"HY000" view_select_clause(clause) "View's SELECT contains a '{clause}' clause";
    ER_VIEW_SELECT_VARIABLE = 1351 b"HY000" view_select_variable() "View's SELECT contains a variable or parameter";
    ER_VIEW_WRONG_LIST = 1353 b"HY000" view_wrong_list() "In definition of view, derived table or common table expression, SELECT list and column names list have different column counts";
    ER_VIEW_INVALID = 1356 b"HY000" view_invalid(db, view) "View '{db}.{view}' references invalid table(s) or column(s) or function(s) or definer/invoker of view lack rights to use them";
    ER_SP_NO_DROP_SP = 1357 b"HY000" sp_no_drop_sp(kind) "Can't drop or alter a {kind} from within another stored routine";
    ER_TRG_ALREADY_EXISTS = 1359 b"HY000" trg_already_exists() "Trigger already exists";
    ER_TRG_DOES_NOT_EXIST = 1360 b"HY000" trg_does_not_exist() "Trigger does not exist";
    ER_NO_DEFAULT_FOR_FIELD = 1364 b"HY000" no_default_for_field(column) "Field '{column}' doesn't have a default value";
    ER_DIVISION_BY_ZERO = 1365 b"22012" division_by_zero() "Division by 0";
    ER_TRUNCATED_WRONG_VALUE_FOR_FIELD = 1366 b"HY000" truncated_wrong_value_for_field(kind, value, column, row) "Incorrect {kind} value: '{value}' for column '{column}' at row {row}";
    ER_ILLEGAL_VALUE_FOR_TYPE = 1367 b"22007" illegal_value_for_type(kind, value) "Illegal {kind} '{value}' value found during parsing";
    ER_VIEW_NONUPD_CHECK = 1368 b"HY000" view_nonupd_check(db, view) "CHECK OPTION on non-updatable view '{db}.{view}'";
    ER_VIEW_CHECK_FAILED = 1369 b"HY000" view_check_failed(db, view) "CHECK OPTION failed '{db}.{view}'";
    ER_PROCACCESS_DENIED_ERROR = 1370 b"42000" procaccess_denied_error(command, user, host, routine) "{command} command denied to user '{user}'@'{host}' for routine '{routine}'";
    ER_PASSWD_LENGTH = 1372 b"HY000" passwd_length(length) "Password hash should be a {length}-digit hexadecimal number";
    ER_UNKNOWN_TARGET_BINLOG = 1373 b"HY000" unknown_target_binlog() "Target log not found in binlog index";
    ER_BINLOG_PURGE_PROHIBITED = 1375 b"HY000" binlog_purge_prohibited() "Server configuration does not permit binlog purge";
    ER_NO_BINARY_LOGGING = 1381 b"HY000" no_binary_logging() "You are not using binary logging";
    ER_RESERVED_SYNTAX = 1382 b"HY000" reserved_syntax(syntax) "The '{syntax}' syntax is reserved for purposes internal to the MySQL server";
    ER_PS_MANY_PARAM = 1390 b"HY000" ps_many_param() "Prepared statement contains too many placeholders";
    ER_KEY_PART_0 = 1391 b"HY000" key_part_0(column) "Key part '{column}' length cannot be 0";
    ER_VIEW_MULTIUPDATE = 1393 b"HY000" view_multiupdate(db, view) "Can not modify more than one base table through a join view '{db}.{view}'";
    ER_VIEW_NO_INSERT_FIELD_LIST = 1394 b"HY000" view_no_insert_field_list(db, view) "Can not insert into join view '{db}.{view}' without fields list";
    ER_VIEW_DELETE_MERGE_VIEW = 1395 b"HY000" view_delete_merge_view(db, view) "Can not delete from join view '{db}.{view}'";
    ER_CANNOT_USER = 1396 b"HY000" cannot_user(operation, user) "Operation {operation} failed for {user}";
    ER_XAER_NOTA = 1397 b"XAE04" xaer_nota() "XAER_NOTA: Unknown XID";
    ER_XAER_INVAL = 1398 b"XAE05" xaer_inval() "XAER_INVAL: Invalid arguments (or unsupported command)";
    ER_XAER_RMFAIL = 1399 b"XAE07" xaer_rmfail(state) "XAER_RMFAIL: The command cannot be executed when global transaction is in the  {state} state";
    ER_XAER_OUTSIDE = 1400 b"XAE09" xaer_outside() "XAER_OUTSIDE: Some work is done outside global transaction";
    ER_XAER_RMERR = 1401 b"XAE03" xaer_rmerr() "XAER_RMERR: Fatal error occurred in the transaction branch - check your data for consistency";
    ER_XA_RBROLLBACK = 1402 b"XA100" xa_rbrollback() "XA_RBROLLBACK: Transaction branch was rolled back";
    ER_NONEXISTING_PROC_GRANT = 1403 b"42000" nonexisting_proc_grant(user, host, routine) "There is no such grant defined for user '{user}' on host '{host}' on routine '{routine}'";
    ER_DATA_TOO_LONG = 1406 b"22001" data_too_long(column, row) "Data too long for column '{column}' at row {row}";
    ER_SP_BAD_SQLSTATE = 1407 b"42000" sp_bad_sqlstate(state) "Bad SQLSTATE: '{state}'";
    ER_CANT_CREATE_USER_WITH_GRANT = 1410 b"42000" cant_create_user_with_grant() "You are not allowed to create a user with GRANT";
    ER_WRONG_VALUE_FOR_TYPE = 1411 b"HY000" wrong_value_for_type(kind, value, function) "Incorrect {kind} value: '{value}' for function {function}";
    ER_TABLE_DEF_CHANGED = 1412 b"HY000" table_def_changed() "Table definition has changed, please retry transaction";
    ER_SP_DUP_HANDLER = 1413 b"42000" sp_dup_handler() "Duplicate handler declared in the same block";
    ER_SP_NOT_VAR_ARG = 1414 b"42000" sp_not_var_arg(position, routine) "OUT or INOUT argument {position} for routine {routine} is not a variable or NEW pseudo-variable in BEFORE trigger";
    ER_SP_NO_RETSET = 1415 b"0A000" sp_no_retset(kind) "Not allowed to return a result set from a {kind}";
    ER_CANT_CREATE_GEOMETRY_OBJECT = 1416 b"22003" cant_create_geometry_object() "Cannot get geometry object from data you send to the GEOMETRY field";
    ER_STMT_HAS_NO_OPEN_CURSOR = 1421 b"HY000" stmt_has_no_open_cursor(statement) "The statement ({statement}) has no open cursor.";
    ER_TOO_BIG_SCALE = 1425 b"42000" too_big_scale(scale, column, max) "Too big scale {scale} specified for column '{column}'. Maximum is {max}.";
    ER_TOO_BIG_PRECISION = 1426 b"42000" too_big_precision(precision, column, max) "Too-big precision {precision} specified for '{column}'. Maximum is {max}.";
    ER_M_BIGGER_THAN_D = 1427 b"42000" m_bigger_than_d(column) "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{column}').";
    ER_CONNECT_TO_FOREIGN_DATA_SOURCE = 1429 b"HY000" connect_to_foreign_data_source(text) "Unable to connect to foreign data source: {text}";
    ER_TOO_BIG_DISPLAYWIDTH = 1439 b"42000" too_big_displaywidth(column, max) "Display width out of range for column '{column}' (max = {max})";
    ER_XAER_DUPID = 1440 b"XAE08" xaer_dupid() "XAER_DUPID: The XID already exists";
    ER_DATETIME_FUNCTION_OVERFLOW = 1441 b"22008" datetime_function_overflow(function) "Datetime function: {function} field overflow";
    ER_CANT_UPDATE_USED_TABLE_IN_SF_OR_TRG = 1442 b"HY000" cant_update_used_table_in_sf_or_trg(table) "Can't update table '{table}' in stored function/trigger because it is already used by statement which invoked this stored function/trigger.";
    ER_MALFORMED_DEFINER = 1446 b"0L000" malformed_definer() "Definer is not fully qualified";
    ER_ROW_IS_REFERENCED_2 = 1451 b"23000" row_is_referenced_2(constraint) "Cannot delete or update a parent row: a foreign key constraint fails ({constraint})";
    ER_NO_REFERENCED_ROW_2 = 1452 b"23000" no_referenced_row_2(constraint) "Cannot add or update a child row: a foreign key constraint fails ({constraint})";
    ER_SP_RECURSION_LIMIT = 1456 b"HY000" sp_recursion_limit(limit, routine) "Recursive limit {limit} (as set by the max_sp_recursion_depth variable) was exceeded for routine {routine}";
    ER_SP_WRONG_NAME = 1458 b"42000" sp_wrong_name(name) "Incorrect routine name '{name}'";
    ER_SP_NO_AGGREGATE = 1460 b"42000" sp_no_aggregate() "AGGREGATE is not supported for stored functions";
    ER_MAX_PREPARED_STMT_COUNT_REACHED = 1461 b"42000" max_prepared_stmt_count_reached(max) "Can't create more than max_prepared_stmt_count statements (current value: {max})";
    ER_VIEW_RECURSIVE = 1462 b"HY000" view_recursive(db, view) "`{db}`.`{view}` contains view recursion";
    ER_NON_GROUPING_FIELD_USED = 1463 b"42000" non_grouping_field_used(column, clause) "Non-grouping field '{column}' is used in {clause} clause";
    ER_NO_TRIGGERS_ON_SYSTEM_SCHEMA = 1465 b"HY000" no_triggers_on_system_schema() "Triggers can not be created on system tables";
    ER_REMOVED_SPACES = 1466 b"HY000" removed_spaces(name) "Leading spaces are removed from name '{name}'";
    ER_AUTOINC_READ_FAILED = 1467 b"HY000" autoinc_read_failed() "Failed to read auto-increment value from storage engine";
    ER_USERNAME = 1468 b"HY000" username() "user name";
    ER_WRONG_STRING_LENGTH = 1470 b"HY000" wrong_string_length(string, what, max) "String '{string}' is too long for {what} (should be no longer than {max})";
    ER_NON_INSERTABLE_TABLE = 1471 b"HY000" non_insertable_table(table, statement) "The target table {table} of the {statement} is not insertable-into";
    ER_ILLEGAL_HA_CREATE_OPTION = 1478 b"HY000" illegal_ha_create_option(engine, option) "Table storage engine '{engine}' does not support the create option '{option}'";
    ER_PLUGIN_IS_NOT_LOADED = 1524 b"HY000" plugin_is_not_loaded(name) "Plugin '{name}' is not loaded";
    ER_WRONG_VALUE = 1525 b"HY000" wrong_value(kind, value) "Incorrect {kind} value: '{value}'";
    ER_NO_PARTITION_FOR_GIVEN_VALUE = 1526 b"HY000" no_partition_for_given_value(value) "Table has no partition for value {value}";
    ER_EVENT_ALREADY_EXISTS = 1537 b"HY000" event_already_exists(name) "Event '{name}' already exists";
    ER_EVENT_DOES_NOT_EXIST = 1539 b"HY000" event_does_not_exist(name) "Unknown event '{name}'";
    ER_COL_COUNT_DOESNT_MATCH_CORRUPTED_V2 = 1547 b"HY000" col_count_doesnt_match_corrupted_v2(db, table, expected, found) "Column count of {db}.{table} is wrong. Expected {expected}, found {found}. The table is probably corrupted";
    ER_DROP_INDEX_FK = 1553 b"HY000" drop_index_fk(key) "Cannot drop index '{key}': needed in a foreign key constraint";
    ER_WARN_DEPRECATED_SYNTAX_WITH_VER = 1554 b"HY000" warn_deprecated_syntax_with_ver(what, version, instead) "The syntax '{what}' is deprecated and will be removed in MySQL {version}. Please use {instead} instead";
    ER_CANT_LOCK_LOG_TABLE = 1556 b"HY000" cant_lock_log_table() "You can't use locks with log tables.";
    ER_FOREIGN_DUPLICATE_KEY_OLD_UNUSED = 1557 b"23000" foreign_duplicate_key_old_unused(table, entry, key) "Upholding foreign key constraints for table '{table}', entry '{entry}', key {key} would lead to a duplicate entry";
    ER_PARTITION_NO_TEMPORARY = 1562 b"HY000" partition_no_temporary() "Cannot create temporary table with partitions";
    ER_CANT_CHANGE_TX_CHARACTERISTICS = 1568 b"25001" cant_change_tx_characteristics() "Transaction characteristics can't be changed while a transaction is in progress";
    ER_DUP_ENTRY_AUTOINCREMENT_CASE = 1569 b"HY000" dup_entry_autoincrement_case(entry, key) "ALTER TABLE causes auto_increment resequencing, resulting in duplicate entry '{entry}' for key '{key}'";
    ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT = 1582 b"42000" wrong_paramcount_to_native_fct(function) "Incorrect parameter count in the call to native function '{function}'";
    ER_WRONG_PARAMETERS_TO_NATIVE_FCT = 1583 b"42000" wrong_parameters_to_native_fct(function) "Incorrect parameters in the call to native function '{function}'";
    ER_WRONG_PARAMETERS_TO_STORED_FCT = 1584 b"42000" wrong_parameters_to_stored_fct(function) "Incorrect parameters in the call to stored function {function}";
    ER_NATIVE_FCT_NAME_COLLISION = 1585 b"HY000" native_fct_name_collision(function) "This function '{function}' has the same name as a native function";
    ER_DUP_ENTRY_WITH_KEY_NAME = 1586 b"23000" dup_entry_with_key_name(entry, key) "Duplicate entry '{entry}' for key '{key}'";
    ER_BINLOG_UNSAFE_STATEMENT = 1592 b"HY000" binlog_unsafe_statement(reason) "Unsafe statement written to the binary log using statement format since BINLOG_FORMAT = STATEMENT. {reason}";
    ER_BINLOG_FATAL_ERROR = 1593 b"HY000" slave_fatal_error(text) "Fatal error: {text}";
    ER_SLAVE_RELAY_LOG_READ_FAILURE = 1594 b"HY000" slave_relay_log_read_failure(text) "Relay log read failure: {text}";
    ER_TRG_CORRUPTED_FILE = 1602 b"HY000" trg_corrupted_file(db, table) "Corrupted TRG file for table `{db}`.`{table}`";
    ER_XA_RBTIMEOUT = 1613 b"XA106" xa_rbtimeout() "XA_RBTIMEOUT: Transaction branch was rolled back: took too long";
    ER_XA_RBDEADLOCK = 1614 b"XA102" xa_rbdeadlock() "XA_RBDEADLOCK: Transaction branch was rolled back: deadlock was detected";
    ER_NEED_REPREPARE = 1615 b"HY000" need_reprepare() "Prepared statement needs to be re-prepared";
    ER_VARIABLE_IS_READONLY = 1621 b"HY000" variable_is_readonly(scope, name, instead) "{scope} variable '{name}' is read-only. Use {instead} to assign the value";
    ER_WARN_ENGINE_TRANSACTION_ROLLBACK = 1622 b"HY000" warn_engine_transaction_rollback(engine) "Storage engine {engine} does not support rollback for this statement. Transaction rolled back and must be restarted";
    ER_TOO_LONG_TABLE_COMMENT = 1628 b"HY000" too_long_table_comment(table, max) "Comment for table '{table}' is too long (max = {max})";
    ER_TOO_LONG_FIELD_COMMENT = 1629 b"HY000" too_long_field_comment(column, max) "The maximum supported character limit for the field, '{column}', has been exceeded (max = {max})";
    ER_FUNC_INEXISTENT_NAME_COLLISION = 1630 b"42000" func_inexistent_name_collision(function) "FUNCTION {function} does not exist. Check the 'Function Name Parsing and Resolution' section in the Reference Manual";
    ER_DUP_SIGNAL_SET = 1641 b"42000" dup_signal_set(name) "Duplicate condition information item '{name}'";
    ER_SIGNAL_WARN = 1642 b"01000" signal_warn() "Unhandled user-defined warning condition";
    ER_SIGNAL_NOT_FOUND = 1643 b"02000" signal_not_found() "Unhandled user-defined not found condition";
    ER_SIGNAL_EXCEPTION = 1644 b"HY000" signal_exception() "Unhandled user-defined exception condition";
    ER_RESIGNAL_WITHOUT_ACTIVE_HANDLER = 1645 b"0K000" resignal_without_active_handler() "RESIGNAL when handler not active";
    ER_BINLOG_ROW_ENGINE_AND_STMT_ENGINE = 1661 b"HY000" binlog_row_engine_and_stmt_engine() "Cannot execute statement: impossible to write to binary log since both row-incapable engines and statement-incapable engines are involved.";
    ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT = 1681 b"HY000" warn_deprecated_syntax_no_replacement(what) "'{what}' is deprecated and will be removed in a future release.";
    ER_TOO_LONG_INDEX_COMMENT = 1688 b"HY000" too_long_index_comment(index, max) "Comment for index '{index}' is too long (max = {max})";
    ER_LOCK_ABORTED = 1689 b"HY000" lock_aborted() "Wait on a lock was aborted due to a pending exclusive lock";
    ER_DATA_OUT_OF_RANGE = 1690 b"22003" data_out_of_range(kind, expression) "{kind} value is out of range in '{expression}'";
    ER_WRONG_SPVAR_TYPE_IN_LIMIT = 1691 b"HY000" wrong_spvar_type_in_limit() "A variable of a non-integer based type in LIMIT clause";
    ER_ACCESS_DENIED_NO_PASSWORD_ERROR = 1698 b"28000" access_denied_no_password_error(user, host) "Access denied for user '{user}'@'{host}'";
    ER_TRUNCATE_ILLEGAL_FK = 1701 b"42000" truncate_illegal_fk(constraint) "Cannot truncate a table referenced in a foreign key constraint ({constraint})";
    ER_TABLE_NEEDS_REBUILD = 1707 b"HY000" table_needs_upgrade(table) "Table rebuild required. Please do \"ALTER TABLE `{table}` FORCE\" or dump/reload to fix it!";
    ER_INDEX_COLUMN_TOO_LONG = 1709 b"HY000" index_column_too_long(max) "Index column size too large. The maximum column size is {max} bytes.";
    ER_INDEX_CORRUPT = 1712 b"HY000" index_corrupt(index) "Index {index} is corrupted";
    ER_UNKNOWN_PARTITION = 1735 b"HY000" unknown_partition(partition, table) "Unknown partition '{partition}' in table '{table}'";
    ER_PARTITION_CLAUSE_ON_NONPARTITIONED = 1747 b"HY000" partition_clause_on_nonpartitioned() "PARTITION () clause on non partitioned table";
    ER_ROW_DOES_NOT_MATCH_GIVEN_PARTITION_SET = 1748 b"HY000" row_does_not_match_given_partition_set() "Found a row not matching the given partition set";
    ER_WARNING_NOT_COMPLETE_ROLLBACK_WITH_CREATED_TEMP_TABLE = 1751 b"HY000" warning_not_complete_rollback_with_created_temp_table() "The creation of some temporary tables could not be rolled back.";
    ER_WARNING_NOT_COMPLETE_ROLLBACK_WITH_DROPPED_TEMP_TABLE = 1752 b"HY000" warning_not_complete_rollback_with_dropped_temp_table() "Some temporary tables were dropped, but these operations could not be rolled back.";
    ER_FOREIGN_DUPLICATE_KEY_WITH_CHILD_INFO = 1761 b"23000" foreign_duplicate_key_with_child_info(table, entry, child, key) "Foreign key constraint for table '{table}', record '{entry}' would lead to a duplicate entry in table '{child}', key '{key}'";
    ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION = 1792 b"25006" cant_execute_in_read_only_transaction() "Cannot execute statement in a READ ONLY transaction.";
    ER_INNODB_NO_FT_TEMP_TABLE = 1796 b"HY000" innodb_no_ft_temp_table() "Cannot create FULLTEXT index on temporary InnoDB table";
    ER_TABLESPACE_MISSING = 1812 b"HY000" tablespace_missing(name) "Tablespace is missing for table {name}.";
    ER_INTERNAL_ERROR = 1815 b"HY000" internal_error(text) "Internal error: {text}";
    ER_NOT_VALID_PASSWORD = 1819 b"HY000" not_valid_password() "Your password does not satisfy the current policy requirements";
    ER_MUST_CHANGE_PASSWORD = 1820 b"HY000" must_change_password() "You must reset your password using ALTER USER statement before executing this statement.";
    ER_FK_NO_INDEX_CHILD = 1821 b"HY000" fk_no_index_child(constraint, table) "Failed to add the foreign key constraint. Missing index for constraint '{constraint}' in the foreign table '{table}'";
    ER_FK_NO_INDEX_PARENT = 1822 b"HY000" fk_no_index_parent(constraint, table) "Failed to add the foreign key constraint. Missing index for constraint '{constraint}' in the referenced table '{table}'";
    ER_FK_CANNOT_OPEN_PARENT = 1824 b"HY000" fk_cannot_open_parent(table) "Failed to open the referenced table '{table}'";
    ER_FK_DUP_NAME = 1826 b"HY000" fk_dup_name(name) "Duplicate foreign key constraint name '{name}'";
    ER_FK_COLUMN_CANNOT_DROP = 1828 b"HY000" fk_column_cannot_drop(column, constraint) "Cannot drop column '{column}': needed in a foreign key constraint '{constraint}'";
    ER_FK_COLUMN_CANNOT_DROP_CHILD = 1829 b"HY000" fk_column_cannot_drop_child(column, constraint, table) "Cannot drop column '{column}': needed in a foreign key constraint '{constraint}' of table '{table}'";
    ER_FK_COLUMN_NOT_NULL = 1830 b"HY000" fk_column_not_null(column, constraint) "Column '{column}' cannot be NOT NULL: needed in a foreign key constraint '{constraint}' SET NULL";
    ER_DUP_INDEX = 1831 b"HY000" dup_index(index, db, table) "Duplicate index '{index}' defined on the table '{db}.{table}'. This is deprecated and will be disallowed in a future release.";
    ER_FK_COLUMN_CANNOT_CHANGE = 1832 b"HY000" fk_column_cannot_change(column, constraint) "Cannot change column '{column}': used in a foreign key constraint '{constraint}'";
    ER_FK_COLUMN_CANNOT_CHANGE_CHILD = 1833 b"HY000" fk_column_cannot_change_child(column, constraint, table) "Cannot change column '{column}': used in a foreign key constraint '{constraint}' of table '{table}'";
    ER_MALFORMED_PACKET = 1835 b"HY000" malformed_packet() "Malformed communication packet.";
    ER_READ_ONLY_MODE = 1836 b"HY000" read_only_mode() "Running in read-only mode";
    ER_ALTER_OPERATION_NOT_SUPPORTED = 1845 b"0A000" alter_operation_not_supported(what, instead) "{what} is not supported for this operation. Try {instead}.";
    ER_ALTER_OPERATION_NOT_SUPPORTED_REASON = 1846 b"0A000" alter_operation_not_supported_reason(what, reason, instead) "{what} is not supported. Reason: {reason}. Try {instead}.";
    ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_NOPK = 1853 b"HY000" alter_operation_not_supported_reason_nopk() "Dropping a primary key is not allowed without also adding a new primary key";
    ER_DUP_UNKNOWN_IN_INDEX = 1859 b"23000" dup_unknown_in_index(key) "Duplicate entry for key '{key}'";
    ER_MUST_CHANGE_PASSWORD_LOGIN = 1862 b"HY000" must_change_password_login() "Your password has expired. To log in you must change it using a client that supports expired passwords.";
    ER_ROW_IN_WRONG_PARTITION = 1863 b"HY000" row_in_wrong_partition(row) "Found a row in wrong partition {row}";
    ER_BINLOG_LOGICAL_CORRUPTION = 1866 b"HY000" binlog_logical_corruption(file, text) "The binary log file '{file}' is logically corrupted: {text}";
    ER_TEMP_FILE_WRITE_FAILURE = 1878 b"HY000" temp_file_write_failure() "Temporary file write failure.";
    ER_INNODB_FORCED_RECOVERY = 1881 b"HY000" innodb_forced_recovery() "Operation not allowed when innodb_force_recovery > 0.";
    ER_FK_DEPTH_EXCEEDED = 3008 b"HY000" fk_depth_exceeded(depth) "Foreign key cascade delete/update exceeds max depth of {depth}.";
    ER_QUERY_TIMEOUT = 3024 b"HY000" query_timeout() "Query execution was interrupted, maximum statement execution time exceeded";
    ER_USER_LOCK_WRONG_NAME = 3057 b"42000" user_lock_wrong_name(name) "Incorrect user-level lock name '{name}'. The name is empty, NULL, or can not be expressed in the current character-set.";
    ER_USER_LOCK_DEADLOCK = 3058 b"HY000" user_lock_deadlock() "Deadlock found when trying to get user-level lock; try rolling back transaction/releasing locks and restarting lock acquisition.";
    ER_FIELD_IN_ORDER_NOT_SELECT = 3065 b"HY000" field_in_order_not_select(position, clause, column, what) "Expression #{position} of {clause} is not in SELECT list, references column '{column}' which is not in SELECT list; this is incompatible with {what}";
    ER_WARN_DEPRECATED_SQLMODE = 3090 b"HY000" warn_deprecated_sqlmode(mode) "Changing sql mode '{mode}' is deprecated. It will be removed in a future release.";
    ER_GENERATED_COLUMN_FUNCTION_IS_NOT_ALLOWED = 3102 b"HY000" generated_column_function_is_not_allowed(column) "Expression of generated column '{column}' contains a disallowed function.";
    ER_UNSUPPORTED_ALTER_INPLACE_ON_VIRTUAL_COLUMN = 3103 b"HY000" unsupported_alter_inplace_on_virtual_column() "INPLACE ADD or DROP of virtual columns cannot be combined with other ALTER TABLE actions";
    ER_WRONG_FK_OPTION_FOR_GENERATED_COLUMN = 3104 b"HY000" wrong_fk_option_for_generated_column(clause) "Cannot define foreign key with {clause} clause on a generated column.";
    ER_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN = 3105 b"HY000" non_default_value_for_generated_column(column, table) "The value specified for generated column '{column}' in table '{table}' is not allowed.";
    ER_UNSUPPORTED_ACTION_ON_GENERATED_COLUMN = 3106 b"HY000" unsupported_action_on_generated_column(what) "'{what}' is not supported for generated columns.";
    ER_GENERATED_COLUMN_NON_PRIOR = 3107 b"HY000" generated_column_non_prior() "Generated column can refer only to generated columns defined prior to it.";
    ER_DEPENDENT_BY_GENERATED_COLUMN = 3108 b"HY000" dependent_by_generated_column(column) "Column '{column}' has a generated column dependency.";
    ER_GENERATED_COLUMN_REF_AUTO_INC = 3109 b"HY000" generated_column_ref_auto_inc(column) "Generated column '{column}' cannot refer to auto-increment column.";
    ER_ACCOUNT_HAS_BEEN_LOCKED = 3118 b"HY000" account_has_been_locked(user, host) "Access denied for user '{user}'@'{host}'. Account is locked.";
    ER_WRONG_TABLESPACE_NAME = 3119 b"42000" wrong_tablespace_name(name) "Incorrect tablespace name `{name}`";
    ER_TABLESPACE_IS_NOT_EMPTY = 3120 b"HY000" tablespace_is_not_empty(name) "Tablespace `{name}` is not empty.";
    ER_INVALID_JSON_TEXT = 3140 b"22032" invalid_json_text(text, position, column) "Invalid JSON text: \"{text}\" at position {position} in value for column '{column}'.";
    ER_INVALID_JSON_TEXT_IN_PARAM = 3141 b"22032" invalid_json_text_in_param(argument, function, text, position) "Invalid JSON text in argument {argument} to function {function}: \"{text}\" at position {position}.";
    ER_INVALID_JSON_BINARY_DATA = 3142 b"HY000" invalid_json_binary_data() "The JSON binary value contains invalid data.";
    ER_INVALID_JSON_PATH = 3143 b"42000" invalid_json_path(position) "Invalid JSON path expression. The error is around character position {position}.";
    ER_INVALID_JSON_CHARSET = 3144 b"22032" invalid_json_charset(charset) "Cannot create a JSON value from a string with CHARACTER SET '{charset}'.";
    ER_INVALID_JSON_CHARSET_IN_FUNCTION = 3145 b"22032" invalid_json_charset_in_function(argument, function) "Invalid JSON character data provided to function {function}: '{argument}'; utf8 is required.";
    ER_INVALID_TYPE_FOR_JSON = 3146 b"22032" invalid_type_for_json(argument, function) "Invalid data type for JSON data in argument {argument} to function {function}; a JSON string or JSON type is required.";
    ER_INVALID_CAST_TO_JSON = 3147 b"22032" invalid_cast_to_json() "Cannot CAST value to JSON.";
    ER_INVALID_JSON_PATH_CHARSET = 3148 b"42000" invalid_json_path_charset(path, charset) "A path expression must be encoded in the utf8 character set. The path expression '{path}' is encoded in character set '{charset}'.";
    ER_INVALID_JSON_PATH_WILDCARD = 3149 b"42000" invalid_json_path_wildcard() "In this situation, path expressions may not contain the * and ** tokens or an array range.";
    ER_JSON_VALUE_TOO_BIG = 3150 b"22032" json_value_too_big() "The JSON value is too big to be stored in a JSON column.";
    ER_JSON_KEY_TOO_BIG = 3151 b"22032" json_key_too_big() "The JSON object contains a key name that is too long.";
    ER_JSON_USED_AS_KEY = 3152 b"42000" json_used_as_key(column) "JSON column '{column}' supports indexing only via generated columns on a specified JSON path.";
    ER_NUMERIC_JSON_VALUE_OUT_OF_RANGE = 3155 b"22003" numeric_json_value_out_of_range(kind, column, row) "Out of range JSON value for CAST to {kind} from column {column} at row {row}";
    ER_INVALID_JSON_VALUE_FOR_CAST = 3156 b"22018" invalid_json_value_for_cast(kind, column, row) "Invalid JSON value for CAST to {kind} from column {column} at row {row}";
    ER_JSON_DOCUMENT_TOO_DEEP = 3157 b"22032" json_document_too_deep() "The JSON document exceeds the maximum depth.";
    ER_JSON_DOCUMENT_NULL_KEY = 3158 b"22032" json_document_null_key() "JSON documents may not contain NULL member names.";
    ER_SECURE_TRANSPORT_REQUIRED = 3159 b"HY000" secure_transport_required() "Connections using insecure transport are prohibited while --require_secure_transport=ON.";
    ER_DISABLED_STORAGE_ENGINE = 3161 b"HY000" disabled_storage_engine(engine) "Storage engine {engine} is disabled (Table creation is disallowed).";
    ER_USER_DOES_NOT_EXIST = 3162 b"HY000" user_does_not_exist(user) "Authorization ID {user} does not exist.";
    ER_USER_ALREADY_EXISTS = 3163 b"HY000" user_already_exists(user) "Authorization ID {user} already exists.";
    ER_SESSION_WAS_KILLED = 3169 b"HY000" session_was_killed() "Session was killed";
    ER_CAPACITY_EXCEEDED = 3170 b"HY000" capacity_exceeded(bytes, variable, hint) "Memory capacity of {bytes} bytes for '{variable}' exceeded. {hint}";
    ER_INVALID_ENCRYPTION_OPTION = 3184 b"HY000" invalid_encryption_option() "Invalid encryption option.";
    ER_CANNOT_FIND_KEY_IN_KEYRING = 3185 b"HY000" cannot_find_key_in_keyring() "Can't find master key from keyring, please check in the server log if a keyring is loaded and initialized successfully.";
    ER_NO_SUCH_DB = 3503 b"HY000" no_such_db(db) "Database '{db}' doesn't exist";
    ER_TOO_LONG_SET_ENUM_VALUE = 3505 b"HY000" too_long_set_enum_value(column) "Too long enumeration/set value for column {column}.";
    ER_PK_INDEX_CANT_BE_INVISIBLE = 3522 b"HY000" pk_index_cant_be_invisible() "A primary key index cannot be invisible";
    ER_ROLE_NOT_GRANTED = 3530 b"HY000" role_not_granted(role, user) "{role} is not granted to {user}";
    ER_NO_SYSTEM_SCHEMA_ACCESS = 3552 b"HY000" no_system_schema_access(schema) "Access to system schema '{schema}' is rejected.";
    ER_NO_SYSTEM_TABLE_ACCESS = 3554 b"HY000" no_system_table_access(kind, name) "Access to {kind} '{name}' is rejected.";
    ER_NO_ACCESS_TO_NATIVE_FCT = 3566 b"HY000" no_access_to_native_fct(function) "Access to native function '{function}' is rejected.";
    ER_UNRESOLVED_TABLE_LOCK = 3568 b"HY000" unresolved_table_lock(table) "Unresolved table name {table} in locking clause.";
    ER_DUPLICATE_TABLE_LOCK = 3569 b"HY000" duplicate_table_lock(table) "Table {table} appears in multiple locking clauses.";
    ER_LOCK_NOWAIT = 3572 b"HY000" lock_nowait() "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.";
    ER_CTE_RECURSIVE_REQUIRES_UNION = 3573 b"HY000" cte_recursive_requires_union(name) "Recursive Common Table Expression '{name}' should contain a UNION";
    ER_CTE_RECURSIVE_REQUIRES_NONRECURSIVE_FIRST = 3574 b"HY000" cte_recursive_requires_nonrecursive_first(name) "Recursive Common Table Expression '{name}' should have one or more non-recursive query blocks followed by one or more recursive ones";
    ER_CTE_RECURSIVE_FORBIDS_AGGREGATION = 3575 b"HY000" cte_recursive_forbids_aggregation(name) "Recursive Common Table Expression '{name}' can contain neither aggregation nor window functions in recursive query block";
    ER_CTE_RECURSIVE_FORBIDDEN_JOIN_ORDER = 3576 b"HY000" cte_recursive_forbidden_join_order(name) "In recursive query block of Recursive Common Table Expression '{name}', the recursive table must neither be in the right argument of a LEFT JOIN, nor be forced to be non-first with join order hints";
    ER_CTE_RECURSIVE_REQUIRES_SINGLE_REFERENCE = 3577 b"HY000" cte_recursive_requires_single_reference(name) "In recursive query block of Recursive Common Table Expression '{name}', the recursive table must be referenced only once, and not in any subquery";
    ER_WINDOW_NO_SUCH_WINDOW = 3579 b"HY000" window_no_such_window(name) "Window name '{name}' is not defined.";
    ER_WINDOW_CIRCULARITY_IN_WINDOW_GRAPH = 3580 b"HY000" window_circularity() "There is a circularity in the window dependency graph.";
    ER_WINDOW_NO_CHILD_PARTITIONING = 3581 b"HY000" window_no_child_partitioning() "A window which depends on another cannot define partitioning.";
    ER_WINDOW_NO_INHERIT_FRAME = 3582 b"HY000" window_no_inherit_frame(name) "Window '{name}' has a frame definition, so cannot be referenced by another window.";
    ER_WINDOW_NO_REDEFINE_ORDER_BY = 3583 b"HY000" window_no_redefine_order_by(name, base) "Window '{name}' cannot inherit '{base}' since both contain an ORDER BY clause.";
    ER_WINDOW_FRAME_START_ILLEGAL = 3584 b"HY000" window_frame_start_illegal(name) "Window '{name}': frame start cannot be UNBOUNDED FOLLOWING.";
    ER_WINDOW_FRAME_END_ILLEGAL = 3585 b"HY000" window_frame_end_illegal(name) "Window '{name}': frame end cannot be UNBOUNDED PRECEDING.";
    ER_WINDOW_FRAME_ILLEGAL = 3586 b"HY000" window_frame_illegal(name) "Window '{name}': frame start or end is negative, NULL or of non-integral type";
    ER_WINDOW_RANGE_FRAME_ORDER_TYPE = 3587 b"HY000" window_range_frame_order_type(name) "Window '{name}' with RANGE N PRECEDING/FOLLOWING frame requires exactly one deterministic ORDER BY expression, of numeric or temporal type";
    ER_WINDOW_RANGE_FRAME_TEMPORAL_TYPE = 3588 b"HY000" window_range_frame_temporal_type(name) "Window '{name}' with RANGE frame has ORDER BY expression of datetime type. Only INTERVAL bound value allowed.";
    ER_WINDOW_RANGE_FRAME_NUMERIC_TYPE = 3589 b"HY000" window_range_frame_numeric_type(name) "Window '{name}' with RANGE frame has ORDER BY expression of numeric type, INTERVAL bound value not allowed.";
    ER_WINDOW_DUPLICATE_NAME = 3591 b"HY000" window_duplicate_name(name) "Window '{name}' is defined twice.";
    ER_WINDOW_ILLEGAL_ORDER_BY = 3592 b"HY000" window_illegal_order_by(name) "Window '{name}': ORDER BY or PARTITION BY uses legacy position indication which is not supported, use expression.";
    ER_WINDOW_INVALID_WINDOW_FUNC_USE = 3593 b"HY000" window_invalid_window_func_use(name) "You cannot use the window function '{name}' in this context.'";
    ER_WINDOW_INVALID_WINDOW_FUNC_ALIAS_USE = 3594 b"HY000" window_invalid_window_func_alias_use(name) "You cannot use the alias '{name}' of an expression containing a window function in this context.'";
    ER_WINDOW_NESTED_WINDOW_FUNC_USE_IN_WINDOW_SPEC = 3595 b"HY000" window_nested_in_window_spec(name) "You cannot nest a window function in the specification of window '{name}'.";
    ER_WINDOW_ROWS_INTERVAL_USE = 3596 b"HY000" window_rows_interval_use(name) "Window '{name}': INTERVAL can only be used with RANGE frames.";
    ER_FIELD_IN_GROUPING_NOT_GROUP_BY = 3602 b"HY000" field_in_grouping_not_group_by(position) "Argument #{position} of GROUPING function is not in GROUP BY";
    ER_ILLEGAL_PRIVILEGE_LEVEL = 3619 b"HY000" illegal_privilege_level(privilege) "Illegal privilege level specified for {privilege}";
    ER_CTE_MAX_RECURSION_DEPTH = 3636 b"HY000" cte_max_recursion_depth(count) "Recursive query aborted after {count} iterations. Try increasing @@cte_max_recursion_depth to a larger value.";
    ER_CLIENT_DOES_NOT_SUPPORT = 3640 b"HY000" client_does_not_support(what) "The client doesn't support {what}";
    ER_WRONG_SRID_FOR_COLUMN = 3643 b"HY000" wrong_srid_for_column(column, own, expected) "The SRID of the geometry does not match the SRID of the column '{column}'. The SRID of the geometry is {own}, but the SRID of the column is {expected}. Consider changing the SRID of the geometry or the SRID property of the column.";
    ER_DEPRECATED_UTF8_ALIAS = 3719 b"HY000" deprecated_utf8_alias() "'utf8' is currently an alias for the character set UTF8MB3, but will be an alias for UTF8MB4 in a future release. Please consider using UTF8MB4 in order to be unambiguous.";
    ER_INVALID_DEFAULT_UTF8MB4_COLLATION = 3721 b"HY000" invalid_default_utf8mb4_collation(collation) "Invalid default collation {collation}: utf8mb4_0900_ai_ci or utf8mb4_general_ci expected";
    ER_FK_CANNOT_DROP_PARENT = 3730 b"HY000" fk_cannot_drop_parent(table, constraint, child) "Cannot drop table '{table}' referenced by a foreign key constraint '{constraint}' on table '{child}'.";
    ER_FK_CANNOT_USE_VIRTUAL_COLUMN = 3733 b"HY000" fk_cannot_use_virtual_column(constraint, column) "Foreign key '{constraint}' uses virtual column '{column}' which is not supported.";
    ER_FK_NO_COLUMN_PARENT = 3734 b"HY000" fk_no_column_parent(column, constraint, table) "Failed to add the foreign key constraint. Missing column '{column}' for constraint '{constraint}' in the referenced table '{table}'";
    ER_TABLE_WITHOUT_PK = 3750 b"HY000" table_without_pk() "Unable to create or change a table without a primary key, when the system variable 'sql_require_primary_key' is set. Add a primary key to the table or unset this variable to avoid this message. Note that tables without a primary key can cause performance problems in row-based replication, so please consult your DBA before changing this setting.";
    ER_WARN_DATA_TRUNCATED_FUNCTIONAL_INDEX = 3751 b"01000" warn_data_truncated_functional_index(index, row) "Data truncated for functional index '{index}' at row {row}";
    ER_WARN_DATA_OUT_OF_RANGE_FUNCTIONAL_INDEX = 3752 b"22003" warn_data_out_of_range_functional_index(index, row) "Value is out of range for functional index '{index}' at row {row}";
    ER_FUNCTIONAL_INDEX_REF_AUTO_INCREMENT = 3754 b"HY000" functional_index_ref_auto_increment(index) "Functional index '{index}' cannot refer to an auto-increment column.";
    ER_CANNOT_DROP_COLUMN_FUNCTIONAL_INDEX = 3755 b"HY000" cannot_drop_column_functional_index(column) "Cannot drop column '{column}' because it is used by a functional index. In order to drop the column, you must remove the functional index.";
    ER_FUNCTIONAL_INDEX_PRIMARY_KEY = 3756 b"HY000" functional_index_primary_key() "The primary key cannot be a functional index";
    ER_FUNCTIONAL_INDEX_ON_LOB = 3757 b"HY000" functional_index_on_lob() "Cannot create a functional index on an expression that returns a BLOB or TEXT. Please consider using CAST.";
    ER_FUNCTIONAL_INDEX_FUNCTION_IS_NOT_ALLOWED = 3758 b"HY000" functional_index_function_is_not_allowed(index) "Expression of functional index '{index}' contains a disallowed function.";
    ER_FUNCTIONAL_INDEX_ON_FIELD = 3762 b"HY000" functional_index_on_field() "Functional index on a column is not supported. Consider using a regular index instead.";
    ER_GENERATED_COLUMN_NAMED_FUNCTION_IS_NOT_ALLOWED = 3763 b"HY000" generated_column_named_function_is_not_allowed(column, function) "Expression of generated column '{column}' contains a disallowed function: {function}.";
    ER_GENERATED_COLUMN_ROW_VALUE = 3764 b"HY000" generated_column_row_value(column) "Expression of generated column '{column}' cannot refer to a row value.";
    ER_DEPENDENT_BY_DEFAULT_GENERATED_VALUE = 3766 b"HY000" dependent_by_default_generated_value(column, table) "Column '{column}' of table '{table}' has a default value expression dependency and cannot be dropped or renamed.";
    ER_DEFAULT_VAL_GENERATED_NON_PRIOR = 3767 b"HY000" default_val_generated_non_prior(column) "Default value expression of column '{column}' cannot refer to a column defined after it if that column is a generated column or has an expression as default value.";
    ER_DEFAULT_VAL_GENERATED_REF_AUTO_INC = 3768 b"HY000" default_val_generated_ref_auto_inc(column) "Default value expression of column '{column}' cannot refer to an auto-increment column.";
    ER_DEFAULT_VAL_GENERATED_FUNCTION_IS_NOT_ALLOWED = 3769 b"HY000" default_val_generated_function_is_not_allowed(column) "Default value expression of column '{column}' contains a disallowed function.";
    ER_DEFAULT_VAL_GENERATED_NAMED_FUNCTION_IS_NOT_ALLOWED = 3770 b"HY000" default_val_generated_named_function_is_not_allowed(column, function) "Default value expression of column '{column}' contains a disallowed function: {function}.";
    ER_DEFAULT_VAL_GENERATED_ROW_VALUE = 3771 b"HY000" default_val_generated_row_value(column) "Default value expression of column '{column}' cannot refer to a row value.";
    ER_DEFAULT_VAL_GENERATED_VARIABLES = 3772 b"HY000" default_val_generated_variables(column) "Default value expression of column '{column}' cannot refer user or system variables.";
    ER_DEFAULT_AS_VAL_GENERATED = 3773 b"HY000" default_as_val_generated() "DEFAULT function cannot be used with default value expressions";
    ER_FK_INCOMPATIBLE_COLUMNS = 3780 b"HY000" fk_incompatible_columns(referencing, referenced, constraint) "Referencing column '{referencing}' and referenced column '{referenced}' in foreign key constraint '{constraint}' are incompatible.";
    ER_NON_BOOLEAN_EXPR_FOR_CHECK_CONSTRAINT = 3812 b"HY000" non_boolean_expr_for_check_constraint(constraint) "An expression of non-boolean type specified to a check constraint '{constraint}'.";
    ER_COLUMN_CHECK_CONSTRAINT_REFERENCES_OTHER_COLUMN = 3813 b"HY000" column_check_constraint_references_other_column(constraint) "Column check constraint '{constraint}' references other column.";
    ER_CHECK_CONSTRAINT_NAMED_FUNCTION_IS_NOT_ALLOWED = 3814 b"HY000" check_constraint_named_function_is_not_allowed(constraint, function) "An expression of a check constraint '{constraint}' contains disallowed function: {function}.";
    ER_CHECK_CONSTRAINT_FUNCTION_IS_NOT_ALLOWED = 3815 b"HY000" check_constraint_function_is_not_allowed(constraint) "An expression of a check constraint '{constraint}' contains disallowed function.";
    ER_CHECK_CONSTRAINT_VARIABLES = 3816 b"HY000" check_constraint_variables(constraint) "An expression of a check constraint '{constraint}' cannot refer to a user or system variable.";
    ER_CHECK_CONSTRAINT_ROW_VALUE = 3817 b"HY000" check_constraint_row_value(constraint) "Check constraint '{constraint}' cannot refer to a row value.";
    ER_CHECK_CONSTRAINT_REFERS_AUTO_INCREMENT_COLUMN = 3818 b"HY000" check_constraint_refers_auto_increment_column(constraint) "Check constraint '{constraint}' cannot refer to an auto-increment column.";
    ER_CHECK_CONSTRAINT_VIOLATED = 3819 b"HY000" check_constraint_violated(constraint) "Check constraint '{constraint}' is violated.";
    ER_CHECK_CONSTRAINT_REFERS_UNKNOWN_COLUMN = 3820 b"HY000" check_constraint_refers_unknown_column(constraint, column) "Check constraint '{constraint}' refers to non-existing column '{column}'.";
    ER_CHECK_CONSTRAINT_NOT_FOUND = 3821 b"HY000" check_constraint_not_found(constraint) "Check constraint '{constraint}' is not found in the table.";
    ER_CHECK_CONSTRAINT_DUP_NAME = 3822 b"HY000" check_constraint_dup_name(constraint) "Duplicate check constraint name '{constraint}'.";
    ER_CHECK_CONSTRAINT_CLAUSE_USING_FK_REFER_ACTION_COLUMN = 3823 b"HY000" check_constraint_clause_using_fk_refer_action_column(column, constraint, key) "Column '{column}' cannot be used in a check constraint '{constraint}': needed in a foreign key constraint '{key}' referential action.";
    ER_DEPENDENT_BY_FUNCTIONAL_INDEX = 3837 b"HY000" dependent_by_functional_index(column) "Column '{column}' has a functional index dependency and cannot be dropped or renamed.";
    ER_CANNOT_CONVERT_STRING = 3854 b"HY000" cannot_convert_string(string, from, to) "Cannot convert string '{string}' from {from} to {to}";
    ER_DA_SSL_LIBRARY_ERROR = 3888 b"HY000" da_ssl_library_error(error) "Failed to set up SSL because of the following SSL library error: {error}";
    ER_INCORRECT_CURRENT_PASSWORD = 3891 b"HY000" incorrect_current_password() "Incorrect current password. Specify the correct password which has to be replaced.";
    ER_WRONG_COMPRESSION_ALGORITHM_CLIENT = 3922 b"HY000" wrong_compression_algorithm_client(algorithm) "Invalid compression algorithm '{algorithm}'.";
    ER_WRONG_COMPRESSION_LEVEL_CLIENT = 3923 b"HY000" wrong_compression_level_client(level) "Invalid compression level for client: '{level}'.";
    ER_CONSTRAINT_NOT_FOUND = 3940 b"HY000" constraint_not_found(name) "Constraint '{name}' does not exist.";
    ER_CLIENT_LOCAL_FILES_DISABLED = 3948 b"42000" client_local_files_disabled() "Loading local data is disabled; this must be enabled on both the client and server sides";
    ER_DEPENDENT_BY_CHECK_CONSTRAINT = 3959 b"HY000" dependent_by_check_constraint(constraint, column) "Check constraint '{constraint}' uses column '{column}', hence column cannot be dropped or renamed.";
    ER_FK_WITH_CREATE_SELECT = 3978 b"HY000" fk_with_create_select() "Foreign key creation is not allowed with CREATE TABLE as SELECT and CREATE TABLE with START TRANSACTION statement.";
    ER_IMPOSSIBLE_STRING_CONVERSION = 3988 b"HY000" impossible_string_conversion(from, to, what) "Conversion from collation {from} into {to} impossible for {what}";
    ER_TABLE_WITHOUT_VISIBLE_COLUMN = 4028 b"HY000" table_without_visible_column() "A table must have at least one visible column.";
    ER_CLIENT_INTERACTION_TIMEOUT = 4031 b"HY000" client_interaction_timeout() "The client was disconnected by the server because of inactivity. See wait_timeout and interactive_timeout for configuring this behavior.";
    ER_XA_TEMP_TABLE = 4091 b"HY000" xa_temp_table() "XA: Temporary tables cannot be accessed inside XA transactions when xa_detach_on_prepare=ON";
    ER_USER_LOCK_OVERLONG_NAME = 4163 b"42000" user_lock_overlong_name(name) "User-level lock name '{name}' should not exceed 64 characters.";
    ER_WARN_NON_UNIQUE_FK = 6124 b"HY000" warn_non_unique_fk(constraint) "Foreign key '{constraint}' refers to non-unique key or partial key. This is deprecated and will be removed in a future release.";
    ER_FK_NO_UNIQUE_INDEX_PARENT = 6125 b"HY000" fk_no_unique_index_parent(constraint, table) "Failed to add the foreign key constraint. Missing unique key for constraint '{constraint}' in the referenced table '{table}'";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_sorted_and_names_each_error_once() {
        assert!(TABLE.is_sorted_by(|a, b| a.code < b.code));
        let mut symbols: Vec<_> = TABLE.iter().map(|info| info.symbol).collect();
        symbols.sort_unstable();
        symbols.dedup();
        assert_eq!(symbols.len(), TABLE.len());
    }

    #[test]
    fn sqlstates_are_five_letters_or_digits() {
        for info in TABLE {
            assert!(info.sqlstate.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()), "{info:?}");
            assert_ne!(&info.sqlstate[..2], b"00", "{info:?}");
        }
    }

    #[test]
    fn constructor_fills_the_holes() {
        let error = codes::dup_entry("1-a", "t.PRIMARY");
        assert_eq!(error.to_string(), "ERROR 1062 (23000): Duplicate entry '1-a' for key 't.PRIMARY'");
        assert_eq!(error.code, codes::ER_DUP_ENTRY);
    }

    #[test]
    fn unknown_number_gets_the_general_sqlstate() {
        assert_eq!(crate::SqlError::with_message(9999, "x").sqlstate, *b"HY000");
        assert_eq!(crate::SqlError::with_message(1213, "x").sqlstate, *b"40001");
    }
}
