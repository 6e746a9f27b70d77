//! All accounts of the server: one snapshot for everybody, changed by one at a time.

use super::limits::Usage;
use ::accounts::{AccountName, Accounts, Rights};
use catalog::{Catalog, CatalogError};
use mysql_error::SqlError;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use sync::atomic::{AtomicU64, Ordering};
use sync::{CachePadded, Mutex, Rank, RwLock};

/// A change that was not made.
pub(crate) enum Failed {
    /// It may not be.
    Refused(SqlError),
    /// It could not be written down.
    Catalog(CatalogError),
}

/// So many accounts and sets of roles have their rights kept; what is past it is forgotten together.
const RIGHTS_KEPT: usize = 256;

/// The accounts at one moment, and what follows from them.
struct Moment {
    accounts: Arc<Accounts>,
    /// What accounts may do with these roles active: computed once, shared by all their sessions.
    rights: Mutex<HashMap<AccountName, Vec<RightsOfRoles>>>,
}

type RightsOfRoles = (BTreeSet<AccountName>, Arc<Rights>);

impl Moment {
    fn of(accounts: Accounts) -> Arc<Moment> {
        Arc::new(Moment { accounts: Arc::new(accounts), rights: Mutex::new(Rank::Leaf, HashMap::new()) })
    }

    fn rights(&self, account: &AccountName, active: &BTreeSet<AccountName>) -> Arc<Rights> {
        let find = |kept: &HashMap<AccountName, Vec<RightsOfRoles>>| {
            let (_, rights) = kept.get(account)?.iter().find(|(roles, _)| roles == active)?;
            Some(Arc::clone(rights))
        };
        if let Some(rights) = find(&self.rights.lock()) {
            return rights;
        }
        let rights = Arc::new(Rights::of(&self.accounts, account, active));
        let mut kept = self.rights.lock();
        if let Some(others) = find(&kept) {
            return others;
        }
        if kept.values().map(Vec::len).sum::<usize>() >= RIGHTS_KEPT {
            kept.clear();
        }
        kept.entry(account.clone()).or_default().push((active.clone(), Arc::clone(&rights)));
        rights
    }
}

/// The server's accounts.
pub struct AccountStore {
    /// Changes after each change: release on store, acquire on load, so that who sees the number finds the accounts.
    version: CachePadded<AtomicU64>,
    current: RwLock<Arc<Moment>>,
    /// Held from reading what is changed until it is swapped in, over the commit: accounts are changed seldom, and by one at a time. Of the catalogue's
    /// rank, as its reader is, which reads under it.
    changing: Mutex<()>,
    /// What accounts do at present, by name; only those with something to count.
    usage: Mutex<HashMap<AccountName, Arc<Usage>>>,
}

impl AccountStore {
    /// The accounts of a directory.
    pub fn open(catalog: &Catalog) -> Result<AccountStore, CatalogError> {
        let accounts = catalog.accounts()?;
        Ok(AccountStore {
            version: CachePadded::new(AtomicU64::new(1)),
            current: RwLock::new(Rank::Leaf, Moment::of(accounts)),
            changing: Mutex::with_order(Rank::Catalog, 1, ()),
            usage: Mutex::new(Rank::Leaf, HashMap::new()),
        })
    }

    /// Changes with every change of accounts, privileges and roles.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The accounts as they are.
    pub fn snapshot(&self) -> Arc<Accounts> {
        Arc::clone(&self.current.read().accounts)
    }

    /// What an account may do with these roles active.
    pub(crate) fn rights(&self, account: &AccountName, active: &BTreeSet<AccountName>) -> Arc<Rights> {
        let now = Arc::clone(&self.current.read());
        now.rights(account, active)
    }

    /// What was asked of the roles' variables has changed: sessions look again.
    pub(crate) fn touch(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    /// Changes the accounts: `work` changes a copy, which is written down durably and then holds for everybody.
    pub(crate) fn change<T>(
        &self,
        catalog: &Catalog,
        session: &mut engine::Session,
        work: impl FnOnce(&mut Accounts) -> Result<T, SqlError>,
    ) -> Result<T, Failed> {
        let _alone = self.changing.lock();
        let before = self.snapshot();
        let mut after = (*before).clone();
        let done = work(&mut after).map_err(Failed::Refused)?;
        if after != *before {
            catalog.write_accounts(session, &before, &after).map_err(Failed::Catalog)?;
            *self.current.write() = Moment::of(after);
            self.touch();
        }
        Ok(done)
    }

    /// What an account does at present.
    pub(crate) fn usage(&self, name: &AccountName) -> Arc<Usage> {
        Arc::clone(self.usage.lock().entry(name.clone()).or_default())
    }

    /// Forgets what an account has done: it was dropped, unlocked, or FLUSH USER_RESOURCES.
    pub(crate) fn forget_usage(&self, which: impl Fn(&AccountName) -> bool) {
        let forgotten: Vec<Arc<Usage>> =
            self.usage.lock().iter().filter(|(name, _)| which(name)).map(|(_, usage)| Arc::clone(usage)).collect();
        // Each has a latch of its own.
        forgotten.iter().for_each(|usage| usage.forget());
    }
}

impl std::fmt::Debug for AccountStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AccountStore(version {})", self.version())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(user: &str) -> AccountName {
        AccountName { user: user.into(), host: "%".into() }
    }

    #[test]
    fn rights_are_computed_once_for_an_account_and_its_active_roles() {
        let now = Moment::of(Accounts::default());
        let (none, one) = (BTreeSet::new(), BTreeSet::from([name("role")]));
        let first = now.rights(&name("a"), &none);
        assert!(Arc::ptr_eq(&first, &now.rights(&name("a"), &none)));
        for other in [now.rights(&name("a"), &one), now.rights(&name("b"), &none)] {
            assert!(!Arc::ptr_eq(&first, &other));
        }
        for number in 0..2 * RIGHTS_KEPT {
            now.rights(&name(&number.to_string()), &none);
            assert!(now.rights.lock().values().map(Vec::len).sum::<usize>() <= RIGHTS_KEPT);
        }
    }
}
