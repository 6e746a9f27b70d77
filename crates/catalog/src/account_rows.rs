//! Accounts in the dictionary: read at the start, written by the statements that change them.
//!
//! # Invariants
//! 1. A directory whose accounts were never changed has no row of them: it has `root`@`localhost` without password. The first change writes the
//!    row [`dictionary::ACCOUNTS_BEGUN`] with them, so that an empty list later means that nobody may log in.
//! 2. All rows that one statement changes are changed by one transaction, durable when it has ended.

use crate::catalog::Catalog;
use crate::dictionary;
use crate::error::{CatalogError, Result};
use accounts::Accounts;
use engine::format::Feature;
use engine::{Read, Session};
use std::sync::Arc;

impl Catalog {
    /// The accounts as they are written down. What cannot be read is an error: no account is guessed.
    pub fn accounts(&self) -> Result<Accounts> {
        let rows = self.read_committed(|session| dictionary::list(session, dictionary::ACCOUNTS_BEGUN, Read::Snapshot))?;
        if rows.is_empty() {
            return Ok(Accounts::first());
        }
        let mut all = Vec::with_capacity(rows.len());
        for (key, value) in rows.iter().filter(|(key, _)| !key.is_empty()) {
            let damaged = || CatalogError::Damaged(format!("account {}", key.escape_ascii()));
            all.push(accounts::decode(value).map_err(|_| damaged())?);
        }
        Ok(Accounts::new(all))
    }

    /// Writes down what distinguishes `after` from `before`, durably. The caller sees to it that nobody else does meanwhile.
    pub fn write_accounts(&self, session: &mut Session, before: &Accounts, after: &Accounts) -> Result<()> {
        self.engine().allows(Feature::Accounts)?;
        self.transaction(session, |session| {
            let begins = dictionary::add(session, dictionary::ACCOUNTS_BEGUN, &[1])?;
            for gone in before.iter().filter(|account| !after.contains(&account.name)) {
                dictionary::remove(session, &dictionary::account_key(&gone.name))?;
            }
            for account in after.iter() {
                let stands = before.get(&account.name).is_some_and(|old| Arc::ptr_eq(old, account) || old == account);
                if begins || !stands {
                    dictionary::set(session, &dictionary::account_key(&account.name), &accounts::encode(account))?;
                }
            }
            Ok(())
        })
    }
}
