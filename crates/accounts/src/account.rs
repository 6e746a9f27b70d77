//! An account and all that is known of it.

use crate::privilege::{DYNAMIC, Privileges};
use std::collections::{BTreeMap, BTreeSet};

/// `'user'@'host'`: an account or a role. Ordered by user, then host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct AccountName {
    /// User; empty for anybody.
    pub user: String,
    /// Host: a name, an address, a pattern, a network; in lower case.
    pub host: String,
}

impl AccountName {
    /// A name of these parts.
    pub fn new(user: &str, host: &str) -> AccountName {
        AccountName { user: user.to_owned(), host: host.to_lowercase() }
    }

    /// `'user'@'host'`, as errors name accounts.
    pub fn shown(&self) -> String {
        format!("'{}'@'{}'", self.user, self.host)
    }
}

/// When a password expires by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lifetime {
    /// As `default_password_lifetime` says.
    #[default]
    Default,
    /// PASSWORD EXPIRE NEVER.
    Never,
    /// PASSWORD EXPIRE INTERVAL.
    Days(u16),
}

/// What the connection must be like: REQUIRE.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Require {
    /// Anything goes.
    #[default]
    None,
    /// Encrypted.
    Ssl,
    /// With a valid certificate.
    X509,
    /// With a certificate that says this; what is empty may be anything.
    Specified {
        /// SUBJECT.
        subject: String,
        /// ISSUER.
        issuer: String,
        /// CIPHER.
        cipher: String,
    },
}

/// Resource limits; 0 for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// MAX_QUERIES_PER_HOUR.
    pub queries: u32,
    /// MAX_UPDATES_PER_HOUR.
    pub updates: u32,
    /// MAX_CONNECTIONS_PER_HOUR.
    pub connections: u32,
    /// MAX_USER_CONNECTIONS.
    pub user_connections: u32,
}

/// Privileges on a table and on columns of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TableGrant {
    /// On the table; GRANT OPTION among them.
    pub privileges: Privileges,
    /// On columns, by name as granted.
    pub columns: BTreeMap<String, Privileges>,
    /// Who granted last.
    pub grantor: String,
}

impl TableGrant {
    /// What any of the columns has.
    pub fn of_columns(&self) -> Privileges {
        self.columns.values().fold(Privileges::NONE, |all, one| all.with(*one))
    }

    /// Whether nothing is granted.
    pub fn is_empty(&self) -> bool {
        self.privileges.is_empty() && self.columns.is_empty()
    }

    /// The column as it was granted, by a name in any case.
    pub fn column(&self, name: &str) -> Option<&String> {
        self.columns.keys().find(|known| known.eq_ignore_ascii_case(name))
    }
}

/// What is granted to an account itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grants {
    /// On `*.*`; GRANT OPTION among them.
    pub global: Privileges,
    /// Dynamic ones, and whether with GRANT OPTION.
    pub dynamic: BTreeMap<String, bool>,
    /// On databases, by pattern.
    pub databases: BTreeMap<String, Privileges>,
    /// On tables, by database and name.
    pub tables: BTreeMap<(String, String), TableGrant>,
    /// Roles, and whether WITH ADMIN OPTION.
    pub roles: BTreeMap<AccountName, bool>,
    /// Roles that are active after login.
    pub default_roles: BTreeSet<AccountName>,
}

/// The plugin of accounts that name none.
pub const DEFAULT_PLUGIN: &str = "caching_sha2_password";

/// An account, or a role: in MySQL a role is an account that nobody can log in to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Account {
    /// Its name.
    pub name: AccountName,
    /// How it proves itself.
    pub plugin: String,
    /// The stored form of its password; empty for none.
    pub stored: Vec<u8>,
    /// RETAIN CURRENT PASSWORD: the one before, which is still good. Empty for none.
    pub retained: Vec<u8>,
    /// ACCOUNT LOCK.
    pub locked: bool,
    /// PASSWORD EXPIRE.
    pub expired: bool,
    /// When the password was set: seconds since the epoch.
    pub password_changed: i64,
    /// PASSWORD EXPIRE INTERVAL and its like.
    pub lifetime: Lifetime,
    /// REQUIRE.
    pub require: Require,
    /// WITH MAX_….
    pub limits: Limits,
    /// FAILED_LOGIN_ATTEMPTS; 0 for any number.
    pub failed_login_attempts: u16,
    /// PASSWORD_LOCK_TIME in days; -1 for UNBOUNDED.
    pub password_lock_days: i32,
    /// PASSWORD HISTORY; `None` for DEFAULT.
    pub history: Option<u16>,
    /// PASSWORD REUSE INTERVAL; `None` for DEFAULT.
    pub reuse_days: Option<u16>,
    /// PASSWORD REQUIRE CURRENT; `None` for DEFAULT.
    pub require_current: Option<bool>,
    /// COMMENT and ATTRIBUTE: the text of a JSON object; empty for none.
    pub attribute: String,
    /// Passwords before, newest first, with the time that each was set.
    pub past: Vec<(i64, Vec<u8>)>,
    /// What it may do.
    pub grants: Grants,
}

impl Account {
    /// An account that may nothing but log in, without a password.
    pub fn new(name: AccountName) -> Account {
        Account { name, plugin: DEFAULT_PLUGIN.to_owned(), ..Account::default() }
    }

    /// A role.
    pub fn role(name: AccountName) -> Account {
        Account { locked: true, expired: true, ..Account::new(name) }
    }

    /// `root`@`localhost` with everything, without password: what a new directory begins with.
    pub fn root() -> Account {
        let mut root = Account::new(AccountName::new("root", "localhost"));
        root.grants.global = Privileges::ALL_GLOBAL.with(Privileges::GRANT);
        root.grants.dynamic = DYNAMIC.iter().map(|name| ((*name).to_owned(), true)).collect();
        root
    }
}
