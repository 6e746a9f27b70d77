//! Passwords on their way into an account: their stored forms, random ones, the history of old ones, what stays good beside the new one.

use super::AuthPlugin;
use ::accounts::Account;
use env::{Entropy, RealEntropy};
use mysql_error::{SqlError, codes};
use parser::ast::Secret;
use protocol::auth;

/// Characters of random passwords.
const ALPHABET: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&()*+,-./:;<=>?@[]^_{|}~";

/// A password as a statement gives it, made ready before the accounts are locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NewSecret {
    /// Whether the statement says anything about it: a password, a hash, or a plugin, which empties it.
    pub given: bool,
    /// The plugin that it names.
    pub plugin: Option<AuthPlugin>,
    /// The password, where it is known.
    pub plain: Option<Vec<u8>>,
    /// The hash that it gives.
    pub hash: Option<Vec<u8>>,
    /// RANDOM PASSWORD: what was chosen.
    pub random: Option<String>,
}

/// What makes an account's password.
pub(super) fn read(plugin: Option<&str>, secret: &Secret<'_>, random_chars: usize) -> Result<NewSecret, SqlError> {
    let plugin = match plugin {
        None => None,
        Some(name) => Some(AuthPlugin::from_name(name).ok_or_else(|| codes::plugin_is_not_loaded(name))?),
    };
    let given = plugin.is_some() || *secret != Secret::None;
    let mut new = NewSecret { given, plugin, plain: None, hash: None, random: None };
    match secret {
        Secret::None => {}
        Secret::Password(text) if text.len() > auth::PASSWORD_BYTES_MAX => return Err(codes::not_valid_password()),
        Secret::Password(text) => new.plain = Some(text.to_vec()),
        Secret::Hash(hash) => new.hash = Some(hash.to_vec()),
        Secret::Random => {
            let text = random_password(random_chars);
            new.plain = Some(text.clone().into_bytes());
            new.random = Some(text);
        }
    }
    Ok(new)
}

fn random_password(chars: usize) -> String {
    let mut out = String::with_capacity(chars);
    let mut bytes = [0; 64];
    while out.len() < chars {
        RealEntropy.fill(&mut bytes);
        // A byte beyond the last whole alphabet would make some characters likelier.
        let fair = bytes.iter().filter(|byte| usize::from(**byte) < 256 / ALPHABET.len() * ALPHABET.len());
        out.extend(fair.take(chars - out.len()).map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()])));
    }
    out
}

/// The stored form of a password.
fn stored(plugin: AuthPlugin, plain: &[u8]) -> Vec<u8> {
    match plugin {
        AuthPlugin::Native => auth::native_hash(plain).into_bytes(),
        AuthPlugin::CachingSha2 => {
            let mut salt = [0; 20];
            RealEntropy.fill(&mut salt);
            auth::sha2_hash(plain, salt)
        }
    }
}

/// Whether a password is the one of a stored form.
pub(super) fn is_password(plugin: AuthPlugin, stored: &[u8], plain: &[u8]) -> bool {
    match plugin {
        AuthPlugin::Native => auth::native_hash(plain).as_bytes() == stored,
        AuthPlugin::CachingSha2 => auth::sha2_check(stored, plain),
    }
}

/// The server's settings for passwords.
#[derive(Debug, Clone, Copy)]
pub(super) struct Policy {
    /// `password_history`.
    pub history: u64,
    /// `password_reuse_interval`, days.
    pub reuse_days: u64,
    /// `generated_random_password_length`.
    pub random_chars: usize,
    /// Now, seconds since the epoch.
    pub now: i64,
}

/// Gives an account its new password. `retain` keeps the old one good beside it.
pub(super) fn set(account: &mut Account, new: &NewSecret, retain: bool, policy: &Policy) -> Result<(), SqlError> {
    if !new.given {
        return Ok(());
    }
    let old_plugin = AuthPlugin::from_name(&account.plugin).unwrap_or_default();
    let plugin = new.plugin.unwrap_or(old_plugin);
    let (user, host) = (account.name.user.clone(), account.name.host.clone());
    if let Some(hash) = &new.hash {
        let fits = match plugin {
            AuthPlugin::Native => auth::is_native_hash(hash),
            AuthPlugin::CachingSha2 => auth::is_sha2_hash(hash),
        };
        if !fits {
            return Err(codes::password_format());
        }
    }
    let history = account.history.map_or(policy.history, u64::from);
    let reuse_days = account.reuse_days.map_or(policy.reuse_days, u64::from);
    let oldest = policy.now.saturating_sub(i64::try_from(reuse_days).unwrap_or(i64::MAX).saturating_mul(86_400));
    if let Some(plain) = new.plain.as_ref().filter(|plain| !plain.is_empty()) {
        for (no, (time, old)) in account.past.iter().enumerate() {
            let forbidden = (no as u64) < history || reuse_days > 0 && *time > oldest;
            if forbidden && is_password(plugin, old, plain) {
                return Err(codes::credentials_contradict_to_history(user, host));
            }
        }
    }
    let stored = match (&new.plain, &new.hash) {
        (Some(plain), _) => stored(plugin, plain),
        (None, Some(hash)) => hash.clone(),
        (None, None) => Vec::new(),
    };
    if retain {
        if plugin != old_plugin {
            return Err(codes::password_cannot_be_retained_on_plugin_change(user, host));
        }
        if stored.is_empty() {
            return Err(codes::current_password_cannot_be_retained(user, host));
        }
        if account.stored.is_empty() {
            return Err(codes::second_password_cannot_be_empty(user, host));
        }
        account.retained = std::mem::take(&mut account.stored);
    } else if plugin != old_plugin || stored.is_empty() {
        account.retained.clear();
    }
    if (history > 0 || reuse_days > 0) && !stored.is_empty() {
        account.past.insert(0, (policy.now, stored.clone()));
    }
    let mut no = 0;
    account.past.retain(|(time, _)| {
        no += 1;
        no <= history || reuse_days > 0 && *time > oldest
    });
    account.plugin = plugin.name().to_owned();
    account.stored = stored;
    account.password_changed = policy.now;
    account.expired = false;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::accounts::AccountName;

    fn plain(text: &str) -> NewSecret {
        read(None, &Secret::Password(text.as_bytes()), 20).expect("a password")
    }

    #[test]
    fn old_passwords_are_refused_as_long_as_they_are_remembered() {
        let mut account = Account::new(AccountName::new("u", "%"));
        let policy = Policy { history: 2, reuse_days: 0, random_chars: 20, now: 1_000 };
        for (text, goes) in [("a", true), ("b", true), ("a", false), ("b", false), ("c", true), ("a", true)] {
            let set = set(&mut account, &plain(text), false, &policy);
            assert_eq!(set.is_ok(), goes, "{text}: {set:?}");
        }
        assert_eq!(account.past.len(), 2);
        let days = Policy { history: 0, reuse_days: 1, now: 1_000 + 86_399, ..policy };
        assert_eq!(set(&mut account, &plain("c"), false, &days).unwrap_err().code, 3638);
        assert!(set(&mut account, &plain("c"), false, &Policy { now: 1_000 + 86_400, ..days }).is_ok());
    }

    #[test]
    fn the_old_password_stays_good_only_where_it_can() {
        let mut account = Account::new(AccountName::new("u", "%"));
        let policy = Policy { history: 0, reuse_days: 0, random_chars: 20, now: 1_000 };
        assert_eq!(set(&mut account, &plain("a"), true, &policy).unwrap_err().code, 3878);
        set(&mut account, &plain("a"), false, &policy).expect("set");
        assert_eq!(set(&mut account, &plain(""), true, &policy).unwrap_err().code, 3895);
        set(&mut account, &plain("b"), true, &policy).expect("set");
        assert!(is_password(AuthPlugin::CachingSha2, &account.retained, b"a"));
        assert!(is_password(AuthPlugin::CachingSha2, &account.stored, b"b"));
        let native = read(Some("mysql_native_password"), &Secret::Password(b"c"), 20).expect("a password");
        assert_eq!(set(&mut account, &native, true, &policy).unwrap_err().code, 3894);
        set(&mut account, &native, false, &policy).expect("set");
        assert!(account.retained.is_empty() && is_password(AuthPlugin::Native, &account.stored, b"c"));
    }

    #[test]
    fn random_passwords_are_long_and_differ() {
        let (one, other) = (random_password(20), random_password(20));
        assert!(one.len() == 20 && one != other && random_password(255).len() == 255);
    }
}
