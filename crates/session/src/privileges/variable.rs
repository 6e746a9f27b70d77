//! Variables that take privileges, and those about accounts.

use crate::accounts::role_list;
use crate::client_session::ClientSession;
use crate::variables::Definition;
use ::accounts::Privileges;
use mysql_error::{SqlError, codes};
use types::Value;

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

    /// SET SESSION of what sessions may not set by themselves.
    pub(crate) fn may_set_restricted(&self) -> Result<(), SqlError> {
        let rights = &self.core.standing.rights;
        let held = rights.global.has(Privileges::SUPER)
            || rights.has_dynamic("SYSTEM_VARIABLES_ADMIN")
            || rights.has_dynamic("SESSION_VARIABLES_ADMIN");
        let names = "SUPER, SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN";
        if held { Ok(()) } else { Err(codes::specific_access_denied_error(names)) }
    }

    /// `mandatory_roles` is a list of names.
    pub(crate) fn check_mandatory_roles(&self, value: &Value) -> Result<(), SqlError> {
        let Value::Bytes(text) = value else { return Ok(()) };
        let text = text.to_text();
        match role_list(&text) {
            Some(_) => Ok(()),
            None => Err(codes::wrong_value_for_var("mandatory_roles", text)),
        }
    }

    /// What sessions have looked up of the roles that everybody has is to be looked up again.
    pub(crate) fn apply_to_accounts(&self, definition: &Definition) {
        if definition.name == "mandatory_roles" {
            self.shared().accounts.touch();
        }
    }
}
