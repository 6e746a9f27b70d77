//! CREATE and DROP ROLE, GRANT and REVOKE of roles, SET ROLE, SET DEFAULT ROLE.

use super::names::{account_name, shown};
use super::standing::{mandatory_roles, roles_at_login};
use super::user::{EXISTS, drop_users, failed, names_of};
use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use ::accounts::{Account, AccountName, Privileges};
use mysql_error::{SqlError, codes};
use parser::ast::{self, RoleSelection, Statement};
use std::collections::BTreeSet;

/// Carries a statement about roles out.
pub(crate) fn run(session: &mut ClientSession, statement: &Statement<'_>) -> Result<(), Outcome> {
    match statement {
        Statement::CreateRole { if_not_exists, roles } => create_roles(session, roles, *if_not_exists),
        Statement::DropRole { if_exists, roles } => {
            if !session.core.standing.rights.global.has_some(Privileges::CREATE_USER.with(Privileges::DROP_ROLE)) {
                return Err(codes::specific_access_denied_error("CREATE USER, DROP ROLE").into());
            }
            drop_users(session, roles, *if_exists, "DROP ROLE").map(|_| ())
        }
        Statement::GrantRole(grant) => grant_roles(session, grant),
        Statement::RevokeRole(revoke) => revoke_roles(session, revoke),
        Statement::SetRole(selection) => set_role(session, selection),
        Statement::SetDefaultRole { roles, users } => set_default_roles(session, roles, users),
        _ => Err(codes::not_supported_yet("this statement here").into()),
    }
}

fn create_roles(session: &mut ClientSession, roles: &[ast::Account<'_>], if_not_exists: bool) -> Result<(), Outcome> {
    if !session.core.standing.rights.global.has_some(Privileges::CREATE_USER.with(Privileges::CREATE_ROLE)) {
        return Err(codes::specific_access_denied_error("CREATE USER, CREATE ROLE").into());
    }
    let names = names_of(session, roles)?;
    if names.iter().any(|name| name.user.is_empty()) {
        return Err(codes::cannot_user("CREATE ROLE", "anonymous user").into());
    }
    session.refuse_system_user(&names)?;
    let now = session.password_policy().now;
    let notes = session.change_accounts(move |accounts| {
        let mut existing = Vec::new();
        for name in names {
            if accounts.contains(&name) {
                existing.push(name);
            } else {
                accounts.put(Account { password_changed: now, ..Account::role(name) });
            }
        }
        if !existing.is_empty() && !if_not_exists {
            return Err(failed("CREATE ROLE", &existing, EXISTS));
        }
        Ok(existing.iter().map(|name| codes::user_already_exists(name.shown())).collect::<Vec<_>>())
    })?;
    session.notes(notes);
    Ok(())
}

/// Whoever gives a role away has it WITH ADMIN OPTION, or may do so with all.
pub(super) fn require_admin(session: &ClientSession, roles: &[AccountName]) -> Result<(), SqlError> {
    let rights = &session.core.standing.rights;
    if rights.global.has(Privileges::SUPER) || rights.has_dynamic("ROLE_ADMIN") {
        return Ok(());
    }
    let accounts = session.shared().accounts.snapshot();
    let own = accounts.get(&session.core.standing.account).into_iter();
    let holders: Vec<_> = own.chain(rights.roles.iter().filter_map(|role| accounts.get(role))).collect();
    let administers = |role: &AccountName| holders.iter().any(|holder| holder.grants.roles.get(role) == Some(&true));
    match roles.iter().all(administers) {
        true => Ok(()),
        false => Err(codes::specific_access_denied_error("WITH ADMIN, ROLE_ADMIN, SUPER")),
    }
}

fn grant_roles(session: &mut ClientSession, grant: &ast::GrantRole<'_>) -> Result<(), Outcome> {
    let (roles, users) = (names_of(session, grant.roles)?, names_of(session, grant.users)?);
    require_admin(session, &roles)?;
    session.refuse_system_user(&[&users[..], &roles].concat())?;
    let admin = grant.with_admin_option;
    session.change_accounts(move |accounts| {
        for name in users.iter().chain(&roles) {
            if !accounts.contains(name) {
                return Err(codes::unknown_authid(shown(name)));
            }
        }
        for user in &users {
            for role in &roles {
                if accounts.would_loop(role, user) {
                    return Err(codes::role_granted_to_itself(shown(user), shown(role)));
                }
                if let Some(account) = accounts.change(user) {
                    *account.grants.roles.entry(role.clone()).or_default() |= admin;
                }
            }
        }
        Ok(())
    })
}

fn revoke_roles(session: &mut ClientSession, revoke: &ast::GrantRole<'_>) -> Result<(), Outcome> {
    let (roles, users) = (names_of(session, revoke.roles)?, names_of(session, revoke.users)?);
    require_admin(session, &roles)?;
    session.refuse_system_user(&[&users[..], &roles].concat())?;
    let (if_exists, ignores) = (revoke.if_exists, revoke.ignore_unknown);
    let mandatory = mandatory_roles(session.shared(), &session.shared().accounts.snapshot());
    if let Some(role) = roles.iter().find(|role| mandatory.contains(role)) {
        return Err(codes::mandatory_role(shown(role)).into());
    }
    let notes = session.change_accounts(move |accounts| {
        let mut notes = Vec::new();
        for role in roles.iter().filter(|role| !accounts.contains(role)) {
            match if_exists {
                true => notes.push(codes::unknown_authid(shown(role))),
                false => return Err(codes::unknown_authid(shown(role))),
            }
        }
        for user in &users {
            let Some(account) = accounts.change(user) else {
                match ignores {
                    true => notes.push(codes::user_does_not_exist(&user.user)),
                    false => return Err(codes::unknown_authid(shown(user))),
                }
                continue;
            };
            for role in &roles {
                account.grants.roles.remove(role);
                account.grants.default_roles.remove(role);
            }
        }
        Ok(notes)
    })?;
    for error in notes {
        session.core.warn_of_account(error.into_warning(mysql_error::WarningLevel::Warning));
    }
    Ok(())
}

fn set_role(session: &mut ClientSession, selection: &RoleSelection<'_>) -> Result<(), Outcome> {
    let shared = std::sync::Arc::clone(session.shared());
    let own = session.core.standing.account.clone();
    let accounts = shared.accounts.snapshot();
    let mut held = mandatory_roles(&shared, &accounts);
    held.extend(accounts.get(&own).into_iter().flat_map(|account| account.grants.roles.keys().cloned()));
    let refuse_others = |names: &[AccountName]| match names.iter().find(|name| !held.contains(name)) {
        Some(other) => Err(codes::role_not_granted(shown(other), shown(&own))),
        None => Ok(()),
    };
    let roles: BTreeSet<AccountName> = match selection {
        RoleSelection::Default => roles_at_login(&shared, &accounts, &own),
        RoleSelection::None => BTreeSet::new(),
        RoleSelection::All => held,
        RoleSelection::AllExcept(except) => {
            let except = names_of(session, except)?;
            held.into_iter().filter(|role| !except.contains(role)).collect()
        }
        RoleSelection::List(roles) => {
            let names = names_of(session, roles)?;
            refuse_others(&names)?;
            names.into_iter().collect()
        }
    };
    session.core.standing.set_roles(&shared, roles);
    Ok(())
}

/// Default roles as a statement chooses them.
pub(super) enum Selected {
    None,
    All,
    These(Vec<AccountName>),
}

impl Selected {
    pub fn read(session: &ClientSession, selection: &RoleSelection<'_>) -> Result<Selected, SqlError> {
        Ok(match selection {
            RoleSelection::None | RoleSelection::Default => Selected::None,
            RoleSelection::All | RoleSelection::AllExcept(_) => Selected::All,
            RoleSelection::List(roles) => Selected::These(names_of(session, roles)?),
        })
    }

    /// The default roles that they are for an account, which must have them.
    pub fn of(&self, account: &Account, mandatory: &BTreeSet<AccountName>) -> Result<BTreeSet<AccountName>, SqlError> {
        let held = |role: &&AccountName| account.grants.roles.contains_key(role) || mandatory.contains(role);
        match self {
            Selected::None => Ok(BTreeSet::new()),
            Selected::All => Ok(account.grants.roles.keys().cloned().collect()),
            Selected::These(roles) => match roles.iter().find(|role| !held(role)) {
                Some(other) => Err(codes::role_not_granted(shown(other), shown(&account.name))),
                None => Ok(roles.iter().cloned().collect()),
            },
        }
    }
}

fn set_default_roles(session: &mut ClientSession, roles: &RoleSelection<'_>, users: &[ast::Account<'_>]) -> Result<(), Outcome> {
    let own = session.core.standing.account.clone();
    let users: Vec<AccountName> = users.iter().map(|user| account_name(&session.core, user)).collect();
    if users.iter().any(|user| *user != own) {
        session.require_privilege(Privileges::CREATE_USER, "CREATE USER")?;
    }
    session.refuse_system_user(&users)?;
    let selected = Selected::read(session, roles)?;
    let mandatory = mandatory_roles(session.shared(), &session.shared().accounts.snapshot());
    session.change_accounts(move |accounts| {
        for user in &users {
            let Some(account) = accounts.change(user) else { return Err(codes::unknown_authid(shown(user))) };
            account.grants.default_roles = selected.of(account, &mandatory)?;
        }
        Ok(())
    })
}
