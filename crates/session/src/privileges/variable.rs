//! Variables that take privileges.

use crate::client_session::ClientSession;
use crate::variables::Definition;
use ::accounts::Privileges;
use mysql_error::{SqlError, codes};

impl ClientSession {
    /// SET GLOBAL.
    pub(crate) fn may_set_global(&self, definition: &Definition) -> Result<(), SqlError> {
        let rights = &self.core.standing.rights;
        let admin = rights.global.has(Privileges::SUPER) || rights.has_dynamic("SYSTEM_VARIABLES_ADMIN");
        if definition.name == "mandatory_roles" && admin && !rights.has_dynamic("ROLE_ADMIN") {
            let names = "SYSTEM_VARIABLES_ADMIN or SUPER privileges, as well as the ROLE_ADMIN";
            return Err(codes::specific_access_denied_error(names));
        }
        if admin { Ok(()) } else { Err(codes::specific_access_denied_error("SUPER or SYSTEM_VARIABLES_ADMIN")) }
    }

    /// SET SESSION, by statements and hints: most variables are everybody's.
    pub(crate) fn may_set_session(&self, definition: &Definition) -> Result<(), SqlError> {
        const ADMINS: &str = "SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN";
        let rights = &self.core.standing.rights;
        let is_admin = || rights.has_dynamic("SYSTEM_VARIABLES_ADMIN") || rights.has_dynamic("SESSION_VARIABLES_ADMIN");
        let has_super = || rights.global.has(Privileges::SUPER);
        let (held, names) = match definition.name {
            "innodb_strict_mode"
            | "internal_tmp_mem_storage_engine"
            | "low_priority_updates"
            | "max_error_count"
            | "preload_buffer_size" => (is_admin(), ADMINS.to_owned()),
            "binlog_format"
            | "binlog_row_image"
            | "bulk_insert_buffer_size"
            | "character_set_database"
            | "connection_memory_limit"
            | "histogram_generation_max_mem_size"
            | "sql_generate_invisible_primary_key"
            | "sql_log_bin"
            | "sql_log_off"
            | "sql_require_primary_key" => (is_admin() || has_super(), format!("SUPER, {ADMINS}")),
            "gtid_next" => {
                let held = is_admin() || has_super() || rights.has_dynamic("REPLICATION_APPLIER");
                (held, "SUPER, SYSTEM_VARIABLES_ADMIN, SESSION_VARIABLES_ADMIN or REPLICATION_APPLIER".to_owned())
            }
            _ => return Ok(()),
        };
        if held { Ok(()) } else { Err(codes::specific_access_denied_error(names)) }
    }
}
