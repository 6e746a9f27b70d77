//! SHOW GRANTS and SHOW CREATE USER.

use super::names::{account_name, shown};
use super::standing::mandatory_roles;
use super::user::{MISSING, failed};
use crate::client_session::ClientSession;
use crate::variables::variable;
use ::accounts::{AccountName, Privileges, ShowSecret};
use mysql_error::{SqlError, codes};
use parser::ast;
use std::collections::BTreeSet;

/// Heading and lines of SHOW GRANTS.
pub(crate) fn grants(
    session: &ClientSession,
    user: Option<&ast::Account<'_>>,
    using: &[ast::Account<'_>],
) -> Result<(String, Vec<String>), SqlError> {
    let standing = &session.core.standing;
    let name = user.map_or_else(|| standing.account.clone(), |user| account_name(&session.core, user));
    let own = name == standing.account;
    if !own && !standing.rights.on_table("mysql", "user").has(Privileges::SELECT) {
        return Err(session.core.table_denied(Privileges::SELECT, "user"));
    }
    let accounts = session.shared().accounts.snapshot();
    let Some(account) = accounts.get(&name) else { return Err(codes::nonexisting_grant(&name.user, &name.host)) };
    let mut account = (**account).clone();
    for role in mandatory_roles(session.shared(), &accounts) {
        if role != name {
            account.grants.roles.entry(role).or_default();
        }
    }
    let mut roles: BTreeSet<AccountName> = using.iter().map(|role| account_name(&session.core, role)).collect();
    let held = accounts.closure(account.grants.roles.keys());
    if let Some(other) = roles.iter().find(|role| !held.contains(role)) {
        return Err(codes::role_not_granted(shown(other), shown(&name)));
    }
    // One's own list is with the roles that are active.
    if own && user.is_none() {
        roles.extend(standing.active.iter().cloned());
    }
    Ok((format!("Grants for {}@{}", name.user, name.host), ::accounts::grants(&accounts, &account, &roles)))
}

/// Heading and text of SHOW CREATE USER.
pub(crate) fn create_user(session: &ClientSession, user: &ast::Account<'_>) -> Result<(String, String), SqlError> {
    let standing = &session.core.standing;
    let name = account_name(&session.core, user);
    let sees_all = standing.rights.database("mysql").has(Privileges::SELECT);
    if name != standing.account && !sees_all {
        return Err(codes::dbaccess_denied_error(&standing.account.user, &standing.account.host, "mysql"));
    }
    let accounts = session.shared().accounts.snapshot();
    let account = accounts.get(&name).ok_or_else(|| failed("SHOW CREATE USER", std::slice::from_ref(&name), MISSING))?;
    let secret = match sees_all {
        false => ShowSecret::Secret,
        true if session.core.number(variable!("print_identified_with_as_hex")) != 0 => ShowSecret::Hex,
        true => ShowSecret::Text,
    };
    Ok((format!("CREATE USER for {}@{}", name.user, name.host), ::accounts::create_user(account, secret)))
}
