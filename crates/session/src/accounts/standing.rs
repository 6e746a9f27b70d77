//! What a session may do: its account's privileges and those of its active roles, and which plans were found to be within them.
//!
//! A statement that has run before costs one load (the accounts' number), one flag for who may do everything, and else one look at a table of the session's
//! own: nothing is allocated, latched or shared.

use super::SYSTEM_USER;
use super::limits::{Presence, Usage};
use super::login::is_expired;
use crate::context::Core;
use crate::front::connections::Connection;
use crate::shared::Shared;
use crate::variables::variable;
use ::accounts::{Account, AccountName, Accounts, Rights};
use mysql_error::SqlError;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Plans that a session remembers to be allowed.
const ALLOWED_SLOTS: usize = 64;

/// What a session may do.
pub(crate) struct Standing {
    /// The session's: who would stop it must know whether it is a system user's.
    connection: Arc<Connection>,
    /// The account.
    pub account: AccountName,
    /// The roles that SET ROLE or the login made active.
    pub active: BTreeSet<AccountName>,
    /// What they may do.
    pub rights: Arc<Rights>,
    /// All static privileges on `*.*`.
    pub everything: bool,
    /// The password must be changed first.
    pub sandboxed: bool,
    /// Number of the accounts that this was made of.
    version: u64,
    /// Plans that were allowed, by the rest of their serial number; 0 for none.
    allowed: Box<[u64; ALLOWED_SLOTS]>,
    /// The session's place among those of its account.
    pub presence: Option<Presence>,
}

impl Standing {
    /// Of an account that logs in: its roles become active, its sessions are counted.
    pub fn log_in(shared: &Shared, connection: &Arc<Connection>, account: AccountName) -> Result<Standing, SqlError> {
        let accounts = shared.accounts.snapshot();
        let own = accounts.get(&account);
        let default_max = u32::try_from(shared.number(variable!("max_user_connections"))).unwrap_or(u32::MAX);
        let limits = own.map(|account| account.limits).unwrap_or_default();
        let presence = if limits != ::accounts::Limits::default() || default_max > 0 {
            let now = shared.engine.wall_micros();
            Some(Presence::new(shared.accounts.usage(&account), own.map(|account| &**account), default_max, now)?)
        } else {
            None
        };
        let mut standing = Standing {
            connection: Arc::clone(connection),
            active: roles_at_login(shared, &accounts, &account),
            account,
            rights: Arc::default(),
            everything: false,
            // If its password has expired, which is looked at below.
            sandboxed: true,
            version: 0,
            allowed: Box::new([0; ALLOWED_SLOTS]),
            presence,
        };
        standing.renew(shared);
        Ok(standing)
    }

    /// Whether it is of these accounts.
    #[inline]
    pub fn is_current(&self, version: u64) -> bool {
        self.version == version
    }

    /// Makes it anew.
    #[cold]
    pub fn renew(&mut self, shared: &Shared) {
        self.version = shared.accounts.version();
        self.rights = shared.accounts.rights(&self.account, &self.active);
        self.everything = self.rights.everything;
        self.connection.set_system_user(self.rights.has_dynamic(SYSTEM_USER));
        self.allowed.fill(0);
        // It begins with the login; while the session lasts it can only end.
        if self.sandboxed {
            let (days, now) = (shared.number(variable!("default_password_lifetime")), shared.engine.wall_micros().div_euclid(1_000_000));
            self.sandboxed = shared.accounts.snapshot().get(&self.account).is_some_and(|account| is_expired(account, days, now));
        }
    }

    /// The session begins anew: the roles of a login are active.
    pub fn begin_anew(&mut self, shared: &Shared) {
        let roles = roles_at_login(shared, &shared.accounts.snapshot(), &self.account);
        self.set_roles(shared, roles);
    }

    /// Whether statements are counted.
    #[inline]
    pub fn is_limited(&self) -> bool {
        self.presence.is_some()
    }

    /// Counts a statement.
    pub fn count_query(&self, shared: &Shared) -> Result<(), SqlError> {
        self.count(shared, Usage::count_query)
    }

    /// Counts a statement that changes something.
    pub fn count_update(&self, shared: &Shared) -> Result<(), SqlError> {
        self.count(shared, Usage::count_update)
    }

    fn count(&self, shared: &Shared, count: impl Fn(&Usage, &Account, i64) -> Result<(), SqlError>) -> Result<(), SqlError> {
        let Some(presence) = &self.presence else { return Ok(()) };
        match shared.accounts.snapshot().get(&self.account) {
            Some(account) => count(presence.usage(), account, shared.engine.wall_micros()),
            None => Ok(()),
        }
    }

    /// Makes other roles active.
    pub fn set_roles(&mut self, shared: &Shared, roles: BTreeSet<AccountName>) {
        self.active = roles;
        self.renew(shared);
    }

    /// Whether a plan was found to be allowed.
    #[inline]
    pub fn remembers(&self, serial: u64) -> bool {
        self.allowed[serial as usize % ALLOWED_SLOTS] == serial
    }

    /// A plan is allowed.
    pub fn remember(&mut self, serial: u64) {
        self.allowed[serial as usize % ALLOWED_SLOTS] = serial;
    }
}

/// The roles that everybody has: `mandatory_roles`, those that exist.
pub(crate) fn mandatory_roles(shared: &Shared, accounts: &Accounts) -> BTreeSet<AccountName> {
    match shared.variables.get(variable!("mandatory_roles")) {
        types::Value::Bytes(text) if !text.is_empty() => {
            super::names::role_list(&text.to_text()).unwrap_or_default().into_iter().filter(|role| accounts.contains(role)).collect()
        }
        _ => BTreeSet::new(),
    }
}

/// The roles that are active after a login.
pub(crate) fn roles_at_login(shared: &Shared, accounts: &Accounts, account: &AccountName) -> BTreeSet<AccountName> {
    let Some(own) = accounts.get(account) else { return BTreeSet::new() };
    if shared.number(variable!("activate_all_roles_on_login")) != 0 {
        let mut roles = mandatory_roles(shared, accounts);
        roles.extend(own.grants.roles.keys().cloned());
        return roles;
    }
    own.grants.default_roles.iter().filter(|role| own.grants.roles.contains_key(role)).cloned().collect()
}

impl Core {
    /// The text of CURRENT_ROLE().
    pub fn role_names(&self) -> String {
        if self.standing.active.is_empty() {
            return "NONE".to_owned();
        }
        let shown: Vec<String> = self.standing.active.iter().map(super::names::shown).collect();
        shown.join(",")
    }
}
