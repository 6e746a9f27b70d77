//! The privileges: MySQL's static ones as bits, the dynamic ones by name.

/// A set of static privileges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, PartialOrd, Ord)]
pub struct Privileges(pub u32);

macro_rules! privileges {
    ($($constant:ident = $bit:literal $name:literal $column:literal $label:literal $context:literal $comment:literal;)*) => {
        impl Privileges {
            $(
                #[doc = $comment]
                pub const $constant: Privileges = Privileges(1 << $bit);
            )*
        }
        /// The static privileges, in the order in which `mysql.user` and SHOW GRANTS have them.
        pub static PRIVILEGES: &[PrivilegeInfo] = &[
            $(PrivilegeInfo {
                privilege: Privileges::$constant, name: $name, column: $column, label: $label, context: $context, comment: $comment,
            },)*
        ];
    };
}

/// A static privilege's names.
#[derive(Debug)]
pub struct PrivilegeInfo {
    /// Its bit.
    pub privilege: Privileges,
    /// In GRANT.
    pub name: &'static str,
    /// In `mysql.user`.
    pub column: &'static str,
    /// In SHOW PRIVILEGES.
    pub label: &'static str,
    /// What it is about, in SHOW PRIVILEGES.
    pub context: &'static str,
    /// What it is for.
    pub comment: &'static str,
}

#[rustfmt::skip]
privileges! {
    SELECT = 0 "SELECT" "Select_priv" "Select" "Tables" "To retrieve rows from table";
    INSERT = 1 "INSERT" "Insert_priv" "Insert" "Tables" "To insert data into tables";
    UPDATE = 2 "UPDATE" "Update_priv" "Update" "Tables" "To update existing rows";
    DELETE = 3 "DELETE" "Delete_priv" "Delete" "Tables" "To delete existing rows";
    CREATE = 4 "CREATE" "Create_priv" "Create" "Databases,Tables,Indexes" "To create new databases and tables";
    DROP = 5 "DROP" "Drop_priv" "Drop" "Databases,Tables" "To drop databases, tables, and views";
    RELOAD = 6 "RELOAD" "Reload_priv" "Reload" "Server Admin" "To reload or refresh tables, logs and privileges";
    SHUTDOWN = 7 "SHUTDOWN" "Shutdown_priv" "Shutdown" "Server Admin" "To shut down the server";
    PROCESS = 8 "PROCESS" "Process_priv" "Process" "Server Admin" "To view the plain text of currently executing queries";
    FILE = 9 "FILE" "File_priv" "File" "File access on server" "To read and write files on the server";
    GRANT = 10 "GRANT OPTION" "Grant_priv" "Grant option" "Databases,Tables,Functions,Procedures" "To give to other users those privileges you possess";
    REFERENCES = 11 "REFERENCES" "References_priv" "References" "Databases,Tables" "To have references on tables";
    INDEX = 12 "INDEX" "Index_priv" "Index" "Tables" "To create or drop indexes";
    ALTER = 13 "ALTER" "Alter_priv" "Alter" "Tables" "To alter the table";
    SHOW_DATABASES = 14 "SHOW DATABASES" "Show_db_priv" "Show databases" "Server Admin" "To see all databases with SHOW DATABASES";
    SUPER = 15 "SUPER" "Super_priv" "Super" "Server Admin" "To use KILL thread, SET GLOBAL, CHANGE REPLICATION SOURCE, etc.";
    CREATE_TEMPORARY_TABLES = 16 "CREATE TEMPORARY TABLES" "Create_tmp_table_priv" "Create temporary tables" "Databases" "To use CREATE TEMPORARY TABLE";
    LOCK_TABLES = 17 "LOCK TABLES" "Lock_tables_priv" "Lock tables" "Databases" "To use LOCK TABLES (together with SELECT privilege)";
    EXECUTE = 18 "EXECUTE" "Execute_priv" "Execute" "Functions,Procedures" "To execute stored routines";
    REPLICATION_SLAVE = 19 "REPLICATION SLAVE" "Repl_slave_priv" "Replication slave" "Server Admin" "To read binary log events from the master";
    REPLICATION_CLIENT = 20 "REPLICATION CLIENT" "Repl_client_priv" "Replication client" "Server Admin" "To ask where the slave or master servers are";
    CREATE_VIEW = 21 "CREATE VIEW" "Create_view_priv" "Create view" "Tables" "To create new views";
    SHOW_VIEW = 22 "SHOW VIEW" "Show_view_priv" "Show view" "Tables" "To see views with SHOW CREATE VIEW";
    CREATE_ROUTINE = 23 "CREATE ROUTINE" "Create_routine_priv" "Create routine" "Databases" "To use CREATE FUNCTION/PROCEDURE";
    ALTER_ROUTINE = 24 "ALTER ROUTINE" "Alter_routine_priv" "Alter routine" "Functions,Procedures" "To alter or drop stored functions/procedures";
    CREATE_USER = 25 "CREATE USER" "Create_user_priv" "Create user" "Server Admin" "To create new users";
    EVENT = 26 "EVENT" "Event_priv" "Event" "Server Admin" "To create, alter, drop and execute events";
    TRIGGER = 27 "TRIGGER" "Trigger_priv" "Trigger" "Tables" "To use triggers";
    CREATE_TABLESPACE = 28 "CREATE TABLESPACE" "Create_tablespace_priv" "Create tablespace" "Server Admin" "To create/alter/drop tablespaces";
    CREATE_ROLE = 29 "CREATE ROLE" "Create_role_priv" "Create role" "Server Admin" "To create new roles";
    DROP_ROLE = 30 "DROP ROLE" "Drop_role_priv" "Drop role" "Server Admin" "To drop roles";
}

impl Privileges {
    /// None.
    pub const NONE: Privileges = Privileges(0);
    /// All that ALL PRIVILEGES means on `*.*`; GRANT OPTION is not among them.
    pub const ALL_GLOBAL: Privileges = Privileges(0x7FFF_FFFF & !Self::GRANT.0);
    /// The same on a database.
    pub const ALL_DATABASE: Privileges = Self::SELECT
        .with(Self::INSERT)
        .with(Self::UPDATE)
        .with(Self::DELETE)
        .with(Self::CREATE)
        .with(Self::DROP)
        .with(Self::REFERENCES)
        .with(Self::INDEX)
        .with(Self::ALTER)
        .with(Self::CREATE_TEMPORARY_TABLES)
        .with(Self::LOCK_TABLES)
        .with(Self::EXECUTE)
        .with(Self::CREATE_VIEW)
        .with(Self::SHOW_VIEW)
        .with(Self::CREATE_ROUTINE)
        .with(Self::ALTER_ROUTINE)
        .with(Self::EVENT)
        .with(Self::TRIGGER);
    /// The same on a table.
    pub const ALL_TABLE: Privileges = Self::SELECT
        .with(Self::INSERT)
        .with(Self::UPDATE)
        .with(Self::DELETE)
        .with(Self::CREATE)
        .with(Self::DROP)
        .with(Self::REFERENCES)
        .with(Self::INDEX)
        .with(Self::ALTER)
        .with(Self::CREATE_VIEW)
        .with(Self::SHOW_VIEW)
        .with(Self::TRIGGER);
    /// Those that may be given for columns.
    pub const ALL_COLUMN: Privileges = Self::SELECT.with(Self::INSERT).with(Self::UPDATE).with(Self::REFERENCES);

    /// Both sets.
    #[must_use]
    pub const fn with(self, other: Privileges) -> Privileges {
        Privileges(self.0 | other.0)
    }

    /// Those of this set that are not in the other.
    #[must_use]
    pub const fn without(self, other: Privileges) -> Privileges {
        Privileges(self.0 & !other.0)
    }

    /// Those in both.
    #[must_use]
    pub const fn and(self, other: Privileges) -> Privileges {
        Privileges(self.0 & other.0)
    }

    /// Whether all of `other` are here.
    pub const fn has(self, other: Privileges) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether some of `other` are here.
    pub const fn has_some(self, other: Privileges) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Their names in GRANT, GRANT OPTION left out, in MySQL's order.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        PRIVILEGES.iter().filter(move |info| info.privilege != Privileges::GRANT && self.has(info.privilege)).map(|info| info.name)
    }
}

/// What a privilege is given on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// `*.*`
    Global,
    /// `db.*`
    Database,
    /// A table.
    Table,
    /// A procedure or function.
    Routine,
}

impl Level {
    /// What ALL PRIVILEGES means there.
    pub const fn all(self) -> Privileges {
        match self {
            Level::Global => Privileges::ALL_GLOBAL,
            Level::Database => Privileges::ALL_DATABASE,
            Level::Table => Privileges::ALL_TABLE,
            Level::Routine => Privileges::EXECUTE.with(Privileges::ALTER_ROUTINE),
        }
    }
}

/// The static privilege of a name in upper case; USAGE is none of them.
pub fn privilege(name: &str) -> Option<Privileges> {
    if name == "USAGE" {
        return Some(Privileges::NONE);
    }
    PRIVILEGES.iter().find(|info| info.name == name).map(|info| info.privilege)
}

/// Whether a privilege may be given for columns.
pub fn is_for_columns(privilege: Privileges) -> bool {
    Privileges::ALL_COLUMN.has(privilege)
}

/// The dynamic privileges of MySQL 9.7, by name.
pub static DYNAMIC: &[&str] = &[
    "ALLOW_NONEXISTENT_DEFINER",
    "APPLICATION_PASSWORD_ADMIN",
    "AUDIT_ABORT_EXEMPT",
    "AUDIT_ADMIN",
    "AUTHENTICATION_POLICY_ADMIN",
    "BACKUP_ADMIN",
    "BINLOG_ADMIN",
    "BINLOG_ENCRYPTION_ADMIN",
    "CLONE_ADMIN",
    "CONNECTION_ADMIN",
    "CREATE_SPATIAL_REFERENCE_SYSTEM",
    "ENCRYPTION_KEY_ADMIN",
    "FIREWALL_EXEMPT",
    "FLUSH_OPTIMIZER_COSTS",
    "FLUSH_PRIVILEGES",
    "FLUSH_STATUS",
    "FLUSH_TABLES",
    "FLUSH_USER_RESOURCES",
    "GROUP_REPLICATION_ADMIN",
    "GROUP_REPLICATION_STREAM",
    "INNODB_REDO_LOG_ARCHIVE",
    "INNODB_REDO_LOG_ENABLE",
    "MANAGE_DATA_MASKING_POLICY",
    "OPTIMIZE_LOCAL_TABLE",
    "PASSWORDLESS_USER_ADMIN",
    "PERSIST_RO_VARIABLES_ADMIN",
    "REPLICATION_APPLIER",
    "REPLICATION_SLAVE_ADMIN",
    "RESOURCE_GROUP_ADMIN",
    "RESOURCE_GROUP_USER",
    "ROLE_ADMIN",
    "SENSITIVE_VARIABLES_OBSERVER",
    "SERVICE_CONNECTION_ADMIN",
    "SESSION_VARIABLES_ADMIN",
    "SET_ANY_DEFINER",
    "SHOW_ROUTINE",
    "SYSTEM_USER",
    "SYSTEM_VARIABLES_ADMIN",
    "TABLE_ENCRYPTION_ADMIN",
    "TELEMETRY_LOG_ADMIN",
    "TRANSACTION_GTID_TAG",
    "XA_RECOVER_ADMIN",
];

/// The dynamic privilege of a name in any case.
pub fn dynamic_name(name: &str) -> Option<&'static str> {
    DYNAMIC.iter().find(|known| known.eq_ignore_ascii_case(name)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bit_has_one_name() {
        let all = PRIVILEGES.iter().fold(Privileges::NONE, |all, info| {
            assert!(!all.has_some(info.privilege), "{}", info.name);
            assert_eq!(privilege(info.name), Some(info.privilege));
            all.with(info.privilege)
        });
        assert_eq!(all, Privileges::ALL_GLOBAL.with(Privileges::GRANT));
        assert!(Privileges::ALL_GLOBAL.has(Privileges::ALL_DATABASE) && Privileges::ALL_DATABASE.has(Privileges::ALL_TABLE));
        assert!(DYNAMIC.is_sorted());
    }
}
