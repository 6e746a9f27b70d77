//! The store as the server's login sees it.

use super::store::AccountStore;
use super::{Account, Accounts, Attempt, AuthPlugin, denied};
use crate::front::command::ClientAddress;
use crate::variables::variable;
use ::accounts::{AccountName, Client, Lifetime};
use mysql_error::{SqlError, codes};

const DAY_SECONDS: i64 = 86_400;

/// Where a client comes from, as accounts are matched.
pub(crate) fn client_of(address: &ClientAddress) -> Client {
    let ip = match address {
        ClientAddress::Unix => None,
        ClientAddress::Tcp(socket) => Some(socket.ip().to_canonical()),
    };
    Client { local: address.is_local(), ip }
}

/// Whether an account's password has expired, by itself or by its age.
pub(crate) fn is_expired(account: &::accounts::Account, default_days: u64, now_seconds: i64) -> bool {
    let days = match account.lifetime {
        Lifetime::Never => 0,
        Lifetime::Days(days) => i64::from(days),
        Lifetime::Default => i64::try_from(default_days).unwrap_or(0),
    };
    account.expired || days > 0 && now_seconds >= account.password_changed.saturating_add(days.saturating_mul(DAY_SECONDS))
}

/// The accounts of a server with its settings.
pub(crate) struct Door<'a> {
    /// The accounts.
    pub store: &'a AccountStore,
    /// Now, in microseconds since the epoch.
    pub now_micros: i64,
    /// `default_password_lifetime`.
    pub default_days: u64,
    /// `disconnect_on_expired_password`.
    pub disconnects: bool,
}

impl Door<'_> {
    pub fn find(&self, user: &str, address: &ClientAddress) -> Option<Account> {
        let accounts = self.store.snapshot();
        let found = accounts.find(user, &client_of(address))?;
        Some(Account {
            user: found.name.user.clone(),
            host: found.name.host.clone(),
            plugin: AuthPlugin::from_name(&found.plugin).unwrap_or_default(),
            stored: found.stored.clone(),
            retained: found.retained.clone(),
            locked: found.locked,
            require: found.require.clone(),
        })
    }

    pub fn settle(&self, account: Option<&Account>, attempt: &Attempt<'_>) -> Result<(), SqlError> {
        let Some(account) = account else { return Err(denied(attempt)) };
        let name = AccountName { user: account.user.clone(), host: account.host.clone() };
        let accounts = self.store.snapshot();
        // Dropped while its client was logging in.
        let Some(stored) = accounts.get(&name) else { return Err(denied(attempt)) };
        let counts = stored.failed_login_attempts > 0 && stored.password_lock_days != 0;
        if counts {
            let usage = self.store.usage(&name);
            if !attempt.passed {
                usage.note_failure(stored, self.now_micros);
            }
            if let Some((days, remaining, failed)) = usage.blocked(stored, self.now_micros) {
                return Err(codes::account_blocked_by_password_lock(attempt.user, attempt.host, days, remaining, failed));
            }
            if attempt.passed {
                usage.note_success();
            }
        }
        if !attempt.passed || !attempt.transport.satisfies(&account.require) {
            return Err(denied(attempt));
        }
        if stored.locked {
            return Err(codes::account_has_been_locked(attempt.user, attempt.host));
        }
        let expired = is_expired(stored, self.default_days, self.now_micros.div_euclid(1_000_000));
        if expired && self.disconnects && !attempt.handles_expired {
            return Err(codes::must_change_password_login());
        }
        Ok(())
    }
}

impl Accounts for crate::shared::Shared {
    fn find(&self, user: &str, address: &ClientAddress) -> Option<Account> {
        self.door().find(user, address)
    }

    fn settle(&self, account: Option<&Account>, attempt: &Attempt<'_>) -> Result<(), SqlError> {
        self.door().settle(account, attempt)
    }
}

impl crate::shared::Shared {
    fn door(&self) -> Door<'_> {
        Door {
            store: &self.accounts,
            now_micros: self.engine.wall_micros(),
            default_days: self.number(variable!("default_password_lifetime")),
            disconnects: self.number(variable!("disconnect_on_expired_password")) != 0,
        }
    }
}
