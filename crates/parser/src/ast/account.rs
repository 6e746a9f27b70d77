//! Accounts, roles, privileges.

use super::ObjectName;

/// `'user'@'host'`, or a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Account<'a> {
    /// By name; the host is `%` when none was written.
    Named {
        /// User.
        user: &'a str,
        /// Host.
        host: &'a str,
    },
    /// CURRENT_USER or USER().
    Current,
}

/// An account and how it is to prove itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserSpec<'a> {
    /// Who.
    pub account: Account<'a>,
    /// IDENTIFIED WITH.
    pub plugin: Option<&'a str>,
    /// IDENTIFIED BY or AS.
    pub secret: Secret<'a>,
    /// REPLACE: the current password.
    pub replace: Option<&'a [u8]>,
    /// RETAIN CURRENT PASSWORD.
    pub retain_current: bool,
    /// DISCARD OLD PASSWORD.
    pub discard_old: bool,
}

/// What stands after BY or AS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secret<'a> {
    /// Nothing.
    None,
    /// BY 'password'.
    Password(&'a [u8]),
    /// BY RANDOM PASSWORD.
    Random,
    /// AS 'hash'.
    Hash(&'a [u8]),
}

/// CREATE USER or ALTER USER.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreateUser<'a> {
    /// IF NOT EXISTS, or IF EXISTS for ALTER.
    pub if_clause: bool,
    /// The accounts.
    pub users: &'a [UserSpec<'a>],
    /// DEFAULT ROLE.
    pub default_roles: Option<RoleSelection<'a>>,
    /// REQUIRE, limits, password and lock options.
    pub options: &'a [AccountOption<'a>],
}

/// Options of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountOption<'a> {
    /// REQUIRE NONE.
    RequireNone,
    /// REQUIRE SSL.
    RequireSsl,
    /// REQUIRE X509.
    RequireX509,
    /// REQUIRE SUBJECT, ISSUER or CIPHER: which, and the value.
    Require(&'static str, &'a [u8]),
    /// MAX_QUERIES_PER_HOUR and its like: which, and the value.
    Limit(&'static str, u64),
    /// ACCOUNT LOCK (`true`), ACCOUNT UNLOCK.
    Locked(bool),
    /// PASSWORD EXPIRE and its like, as a text of upper-case words.
    Password(&'static str, Option<u64>),
    /// COMMENT.
    Comment(&'a [u8]),
    /// ATTRIBUTE.
    Attribute(&'a [u8]),
}

/// Which roles SET ROLE means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleSelection<'a> {
    /// DEFAULT.
    Default,
    /// NONE.
    None,
    /// ALL.
    All,
    /// ALL EXCEPT.
    AllExcept(&'a [Account<'a>]),
    /// These.
    List(&'a [Account<'a>]),
}

/// GRANT or REVOKE of privileges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant<'a> {
    /// REVOKE IF EXISTS.
    pub if_exists: bool,
    /// REVOKE … IGNORE UNKNOWN USER.
    pub ignore_unknown: bool,
    /// The privileges; empty for REVOKE ALL PRIVILEGES, GRANT OPTION without ON.
    pub privileges: &'a [Privilege<'a>],
    /// ON; `None` for REVOKE ALL PRIVILEGES, GRANT OPTION.
    pub on: Option<GrantObject<'a>>,
    /// TO or FROM.
    pub users: &'a [Account<'a>],
    /// WITH GRANT OPTION.
    pub with_grant_option: bool,
    /// GRANT PROXY ON account.
    pub proxy: Option<Account<'a>>,
}

/// A privilege.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Privilege<'a> {
    /// Upper-case words with single spaces, `ALL` for ALL PRIVILEGES, or a dynamic privilege as written.
    pub name: &'a str,
    /// Columns.
    pub columns: &'a [&'a str],
}

/// What a grant is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrantObject<'a> {
    /// `*.*`
    Global,
    /// `*`: the current database.
    CurrentDatabase,
    /// `db.*`
    Database(&'a str),
    /// A table.
    Table(ObjectName<'a>),
    /// A procedure.
    Procedure(ObjectName<'a>),
    /// A function.
    Function(ObjectName<'a>),
}

/// GRANT or REVOKE of roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrantRole<'a> {
    /// REVOKE IF EXISTS.
    pub if_exists: bool,
    /// The roles.
    pub roles: &'a [Account<'a>],
    /// TO or FROM.
    pub users: &'a [Account<'a>],
    /// WITH ADMIN OPTION.
    pub with_admin_option: bool,
    /// REVOKE … IGNORE UNKNOWN USER.
    pub ignore_unknown: bool,
}

/// SET PASSWORD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetPassword<'a> {
    /// FOR; the current account when absent.
    pub user: Option<Account<'a>>,
    /// The password or RANDOM.
    pub secret: Secret<'a>,
    /// REPLACE 'current'.
    pub replace: Option<&'a [u8]>,
    /// RETAIN CURRENT PASSWORD.
    pub retain_current: bool,
}
