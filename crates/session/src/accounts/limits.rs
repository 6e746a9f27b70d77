//! Resource limits of accounts, and logins that failed: counted in memory, forgotten with the server.

use ::accounts::Account;
use mysql_error::{SqlError, codes};
use std::sync::Arc;
use sync::atomic::{AtomicU32, Ordering};
use sync::{Mutex, Rank};

const HOUR_MICROS: i64 = 3_600_000_000;
const DAY_MICROS: i64 = 24 * HOUR_MICROS;

/// What an account does.
pub(crate) struct Usage {
    /// Connections that are open. (Relaxed: a count, nothing is found through it.)
    connections: AtomicU32,
    counts: Mutex<Counts>,
}

impl Default for Usage {
    fn default() -> Usage {
        Usage { connections: AtomicU32::new(0), counts: Mutex::new(Rank::Leaf, Counts::default()) }
    }
}

#[derive(Default)]
struct Counts {
    /// When the present hour began.
    hour: i64,
    queries: u32,
    updates: u32,
    connections: u32,
    /// Logins that failed one after the other.
    failed: u32,
    /// Since when the account is blocked for that; 0 when it is not.
    blocked: i64,
}

impl Counts {
    fn turn(&mut self, now: i64) {
        if now - self.hour >= HOUR_MICROS || now < self.hour {
            (self.hour, self.queries, self.updates, self.connections) = (now, 0, 0, 0);
        }
    }
}

fn exceeded(account: &Account, resource: &str, limit: u32) -> SqlError {
    codes::user_limit_reached(&account.name.user, resource, limit)
}

impl Usage {
    /// Forgets all but the open connections.
    pub fn forget(&self) {
        *self.counts.lock() = Counts::default();
    }

    /// A statement begins.
    pub fn count_query(&self, account: &Account, now: i64) -> Result<(), SqlError> {
        let mut counts = self.counts.lock();
        counts.turn(now);
        if account.limits.queries > 0 && counts.queries >= account.limits.queries {
            return Err(exceeded(account, "max_questions", account.limits.queries));
        }
        counts.queries += 1;
        Ok(())
    }

    /// A statement that changes something begins.
    pub fn count_update(&self, account: &Account, now: i64) -> Result<(), SqlError> {
        let mut counts = self.counts.lock();
        counts.turn(now);
        if account.limits.updates > 0 && counts.updates >= account.limits.updates {
            return Err(exceeded(account, "max_updates", account.limits.updates));
        }
        counts.updates += 1;
        Ok(())
    }

    /// Whether the account is blocked: for how many days more, of how many; after how many failures.
    pub fn blocked(&self, account: &Account, now: i64) -> Option<(String, String, u32)> {
        let mut counts = self.counts.lock();
        if counts.blocked == 0 || account.failed_login_attempts == 0 || account.password_lock_days == 0 {
            return None;
        }
        let failed = u32::from(account.failed_login_attempts);
        let days = i64::from(account.password_lock_days);
        if days < 0 {
            return Some(("unlimited".into(), "unlimited".into(), failed));
        }
        let left = counts.blocked + days * DAY_MICROS - now;
        if left <= 0 {
            (counts.blocked, counts.failed) = (0, 0);
            return None;
        }
        let remaining = left.div_euclid(DAY_MICROS) + i64::from(left.rem_euclid(DAY_MICROS) > 0);
        Some((days.to_string(), remaining.to_string(), failed))
    }

    /// A wrong password.
    pub fn note_failure(&self, account: &Account, now: i64) {
        if account.failed_login_attempts == 0 || account.password_lock_days == 0 {
            return;
        }
        let mut counts = self.counts.lock();
        counts.failed = counts.failed.saturating_add(1);
        if counts.failed >= u32::from(account.failed_login_attempts) && counts.blocked == 0 {
            counts.blocked = now;
        }
    }

    /// A right one.
    pub fn note_success(&self) {
        let mut counts = self.counts.lock();
        (counts.failed, counts.blocked) = (0, 0);
    }
}

/// A session's place among those of its account: gone with it.
pub(crate) struct Presence {
    usage: Arc<Usage>,
}

impl Presence {
    /// A session of an account begins. `default_max` is `max_user_connections`, for accounts without a number of their own.
    pub fn new(usage: Arc<Usage>, account: Option<&Account>, default_max: u32, now: i64) -> Result<Presence, SqlError> {
        let limits = account.map(|account| account.limits).unwrap_or_default();
        if let Some(account) = account.filter(|account| account.limits.connections > 0) {
            let mut counts = usage.counts.lock();
            counts.turn(now);
            if counts.connections >= limits.connections {
                return Err(exceeded(account, "max_connections_per_hour", limits.connections));
            }
            counts.connections += 1;
        }
        // Counted first and looked at then: two who come at once do not both find room for one.
        let present = Presence { usage };
        let others = present.usage.connections.fetch_add(1, Ordering::Relaxed);
        let max = if limits.user_connections > 0 { limits.user_connections } else { default_max };
        match account {
            Some(account) if max > 0 && others >= max && limits.user_connections > 0 => Err(exceeded(account, "max_user_connections", max)),
            Some(account) if max > 0 && others >= max => {
                let text = format!("User {} already has more than 'max_user_connections' active connections", account.name.user);
                Err(SqlError { code: 1203, sqlstate: *b"42000", message: text })
            }
            _ => Ok(present),
        }
    }

    /// What the account does.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.usage.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::accounts::AccountName;

    #[test]
    fn failures_block_for_days_and_are_forgotten() {
        let mut account = Account::new(AccountName::new("u", "%"));
        (account.failed_login_attempts, account.password_lock_days) = (2, 3);
        let usage = Usage::default();
        usage.note_failure(&account, 1_000);
        assert_eq!(usage.blocked(&account, 1_000), None);
        usage.note_success();
        usage.note_failure(&account, 1_000);
        assert_eq!(usage.blocked(&account, 1_000), None);
        usage.note_failure(&account, 1_000);
        assert_eq!(usage.blocked(&account, 1_000), Some(("3".into(), "3".into(), 2)));
        assert_eq!(usage.blocked(&account, 1_000 + DAY_MICROS), Some(("3".into(), "2".into(), 2)));
        assert_eq!(usage.blocked(&account, 1_000 + 3 * DAY_MICROS), None);
        account.password_lock_days = -1;
        usage.note_failure(&account, 1_000);
        usage.note_failure(&account, 1_000);
        assert!(usage.blocked(&account, i64::MAX).is_some());
    }

    #[test]
    fn hours_and_connections_are_limited() {
        let mut account = Account::new(AccountName::new("u", "%"));
        (account.limits.queries, account.limits.user_connections) = (2, 1);
        let usage = Arc::new(Usage::default());
        let now = 5 * HOUR_MICROS;
        assert!(usage.count_query(&account, now).is_ok() && usage.count_query(&account, now + 1).is_ok());
        assert_eq!(usage.count_query(&account, now + 2).unwrap_err().code, 1226);
        assert!(usage.count_query(&account, now + HOUR_MICROS).is_ok());
        let one = Presence::new(Arc::clone(&usage), Some(&account), 0, now).expect("the first");
        assert_eq!(Presence::new(Arc::clone(&usage), Some(&account), 0, now).err().map(|error| error.code), Some(1226));
        drop(one);
        assert!(Presence::new(usage, Some(&account), 0, now).is_ok());
    }
}
