//! Accounts: who may log in, what they may do, and the statements that change that.
//!
//! # Invariants
//! 1. [`store::AccountStore`] holds all accounts of the server as one immutable [`::accounts::Accounts`], with a number that changes with each change of
//!    them. A change is made to a copy, written to the dictionary durably, and then swapped in.
//! 2. A session has its own `standing::Standing`: what its account and its active roles may do. It is made anew when the number has changed; to find
//!    that out costs a statement one load.
//! 3. No password is kept but in its stored form, and none is shown: what the process list tells of a statement has `<secret>` in its place.
//!
//! # Start at
//! [`Accounts`] is what the server's login asks; `user.rs`, `grant.rs` and `role.rs` are the statements.

mod grant;
mod hide;
mod limits;
mod login;
mod names;
mod role;
mod secret;
mod show;
mod standing;
mod store;
mod user;

pub(crate) use grant::run as run_grant;
pub(crate) use hide::{as_shown, without_secrets};
pub(crate) use names::role_list;
pub(crate) use role::run as run_role;
pub(crate) use show::{create_user, grants};
pub(crate) use standing::{Standing, mandatory_roles, roles_at_login};
pub use store::AccountStore;
pub(crate) use user::run as run_user;

use crate::front::command::ClientAddress;
use ::accounts::Require;
use mysql_error::{SqlError, codes};

/// The privilege of accounts that others neither change, nor stop, nor act for.
pub(crate) const SYSTEM_USER: &str = "SYSTEM_USER";

/// How an account's password is stored and checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AuthPlugin {
    /// `caching_sha2_password`, the default.
    #[default]
    CachingSha2,
    /// `mysql_native_password`.
    Native,
}

impl AuthPlugin {
    /// The name on the wire and in `mysql.user`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CachingSha2 => protocol::auth::CACHING_SHA2_PASSWORD,
            Self::Native => protocol::auth::NATIVE_PASSWORD,
        }
    }

    /// The plugin with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::CachingSha2, Self::Native].into_iter().find(|plugin| plugin.name().eq_ignore_ascii_case(name))
    }
}

/// An account that a client may log in to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Account {
    /// User part.
    pub user: String,
    /// Host part as it was created, such as `%` or `localhost`.
    pub host: String,
    /// Plugin.
    pub plugin: AuthPlugin,
    /// The stored form of the password; empty for none. Such an account lets in only clients on this machine.
    pub stored: Vec<u8>,
    /// The password before, where it is still good.
    pub retained: Vec<u8>,
    /// `ACCOUNT LOCK`.
    pub locked: bool,
    /// REQUIRE.
    pub require: Require,
}

/// How somebody tried to log in.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    /// User name that the client gave.
    pub user: &'a str,
    /// Host that it comes from.
    pub host: &'a str,
    /// Whether it gave a password.
    pub with_password: bool,
    /// Whether it proved itself.
    pub passed: bool,
    /// The connection's transport.
    pub transport: Transport<'a>,
    /// The client can go on with an expired password, to change it.
    pub handles_expired: bool,
}

/// How well a connection is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Transport<'a> {
    /// TLS.
    pub tls: bool,
    /// Of the client's certificate, where it has one that was verified.
    pub certificate: Option<Certificate<'a>>,
    /// The cipher in use.
    pub cipher: &'a str,
}

/// A client's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Certificate<'a> {
    /// Subject.
    pub subject: &'a str,
    /// Issuer.
    pub issuer: &'a str,
}

impl Transport<'_> {
    /// Whether it is what REQUIRE asks for.
    pub fn satisfies(&self, require: &Require) -> bool {
        match require {
            Require::None => true,
            Require::Ssl => self.tls,
            Require::X509 => self.tls && self.certificate.is_some(),
            Require::Specified { subject, issuer, cipher } => {
                let fits = |wanted: &str, given: Option<&str>| wanted.is_empty() || given == Some(wanted);
                self.tls
                    && (subject.is_empty() && issuer.is_empty() || self.certificate.is_some())
                    && fits(subject, self.certificate.map(|c| c.subject))
                    && fits(issuer, self.certificate.map(|c| c.issuer))
                    && fits(cipher, Some(self.cipher))
            }
        }
    }
}

/// Looks accounts up. Called at each login, not on any statement's path.
pub trait Accounts: Send + Sync {
    /// The account for a user from an address: the one with the most specific host, as MySQL sorts them.
    fn find(&self, user: &str, address: &ClientAddress) -> Option<Account>;

    /// The end of an attempt to log in: counts it, and refuses who did not prove himself or may not come in all the same. `account` is `None` for
    /// somebody unknown.
    fn settle(&self, account: Option<&Account>, attempt: &Attempt<'_>) -> Result<(), SqlError> {
        match account {
            Some(account) if attempt.passed && account.locked => Err(codes::account_has_been_locked(attempt.user, attempt.host)),
            Some(_) if attempt.passed => Ok(()),
            _ => Err(denied(attempt)),
        }
    }
}

/// 1045 for an attempt.
pub(crate) fn denied(attempt: &Attempt<'_>) -> SqlError {
    codes::access_denied_error(attempt.user, attempt.host, if attempt.with_password { "YES" } else { "NO" })
}

/// Just `root@localhost` without password: what a new data directory begins with.
#[derive(Debug, Clone, Copy, Default)]
pub struct RootOnly;

impl Accounts for RootOnly {
    fn find(&self, user: &str, address: &ClientAddress) -> Option<Account> {
        (user == "root" && address.is_local()).then(|| Account {
            user: "root".to_owned(),
            host: "localhost".to_owned(),
            ..Account::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_comes_only_from_this_machine() {
        assert!(RootOnly.find("root", &ClientAddress::Unix).is_some());
        assert!(RootOnly.find("root", &ClientAddress::Tcp("10.0.0.1:1".parse().expect("an address"))).is_none());
        assert!(RootOnly.find("bench", &ClientAddress::Unix).is_none());
    }
}
