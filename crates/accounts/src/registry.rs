//! All accounts of one moment: looking up, matching at login, roles and their edges.

use crate::account::{Account, AccountName};
use crate::host::{Client, by_specificity, host_matches};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// All accounts. Copies share what they have in common.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Accounts {
    all: BTreeMap<AccountName, Arc<Account>>,
}

impl Accounts {
    /// These accounts.
    pub fn new(accounts: impl IntoIterator<Item = Account>) -> Accounts {
        Accounts { all: accounts.into_iter().map(|account| (account.name.clone(), Arc::new(account))).collect() }
    }

    /// What a new directory begins with: `root`@`localhost`.
    pub fn first() -> Accounts {
        Accounts::new([Account::root()])
    }

    /// The account of a name.
    pub fn get(&self, name: &AccountName) -> Option<&Arc<Account>> {
        self.all.get(name)
    }

    /// Whether there is one.
    pub fn contains(&self, name: &AccountName) -> bool {
        self.all.contains_key(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Account>> {
        self.all.values()
    }

    /// Adds an account or puts it in the place of the one of its name.
    pub fn put(&mut self, account: Account) {
        self.all.insert(account.name.clone(), Arc::new(account));
    }

    /// The account of a name, to change it.
    pub fn change(&mut self, name: &AccountName) -> Option<&mut Account> {
        self.all.get_mut(name).map(Arc::make_mut)
    }

    /// Removes an account, and it as a role from those that have it. Whether there was one.
    pub fn remove(&mut self, name: &AccountName) -> bool {
        if self.all.remove(name).is_none() {
            return false;
        }
        self.replace_role(name, None);
        true
    }

    /// Gives an account another name; those that have it as a role keep it.
    pub fn rename(&mut self, from: &AccountName, to: &AccountName) -> bool {
        let Some(account) = self.all.remove(from) else { return false };
        let mut account = Arc::unwrap_or_clone(account);
        account.name = to.clone();
        self.put(account);
        self.replace_role(from, Some(to));
        true
    }

    fn replace_role(&mut self, from: &AccountName, to: Option<&AccountName>) {
        for account in self.all.values_mut() {
            if !account.grants.roles.contains_key(from) && !account.grants.default_roles.contains(from) {
                continue;
            }
            let grants = &mut Arc::make_mut(account).grants;
            let admin = grants.roles.remove(from);
            let by_default = grants.default_roles.remove(from);
            if let Some(to) = to {
                if let Some(admin) = admin {
                    grants.roles.insert(to.clone(), admin);
                }
                if by_default {
                    grants.default_roles.insert(to.clone());
                }
            }
        }
    }

    /// Whether somebody has the account as a role.
    pub fn is_role(&self, name: &AccountName) -> bool {
        self.all.values().any(|account| account.grants.roles.contains_key(name))
    }

    /// The account that a client of this user name is: the one with the most specific host, and of those the one with a name.
    pub fn find(&self, user: &str, client: &Client) -> Option<&Arc<Account>> {
        let fits = |account: &&Arc<Account>| {
            (account.name.user.is_empty() || account.name.user == user) && host_matches(&account.name.host, client)
        };
        self.all
            .values()
            .filter(fits)
            .min_by(|a, b| by_specificity(&a.name.host, &b.name.host).then_with(|| a.name.user.is_empty().cmp(&b.name.user.is_empty())))
    }

    /// These roles and all that are granted to them, however far; those that are gone left out.
    pub fn closure<'r>(&self, roles: impl IntoIterator<Item = &'r AccountName>) -> BTreeSet<AccountName> {
        let mut found = BTreeSet::new();
        let mut open: Vec<AccountName> = roles.into_iter().cloned().collect();
        while let Some(name) = open.pop() {
            let Some(role) = self.all.get(&name) else { continue };
            if found.insert(name) {
                open.extend(role.grants.roles.keys().cloned());
            }
        }
        found
    }

    /// Whether `role` is granted to `grantee`, directly or through other roles.
    pub fn has_role(&self, grantee: &AccountName, role: &AccountName) -> bool {
        self.all.get(grantee).is_some_and(|account| self.closure(account.grants.roles.keys()).contains(role))
    }

    /// Whether granting `role` to `grantee` would make a circle.
    pub fn would_loop(&self, role: &AccountName, grantee: &AccountName) -> bool {
        role == grantee || self.has_role(role, grantee)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> AccountName {
        let (user, host) = text.split_once('@').expect("user@host");
        AccountName::new(user, host)
    }

    fn registry(names: &[&str]) -> Accounts {
        Accounts::new(names.iter().map(|text| Account::new(name(text))))
    }

    #[test]
    fn the_host_decides_before_the_user() {
        let accounts = registry(&["a@%", "@localhost", "a@10.%", "a@10.1.%", "b@%"]);
        let local = Client { local: true, ip: None };
        let from = |text: &str| Client { local: false, ip: Some(text.parse().expect("an address")) };
        let found = |user, client: &Client| accounts.find(user, client).map(|account| account.name.shown());
        // MySQL's famous trap: the anonymous account of the more specific host is in front of a's own.
        assert_eq!(found("a", &local).as_deref(), Some("''@'localhost'"));
        assert_eq!(found("a", &from("10.1.2.3")).as_deref(), Some("'a'@'10.1.%'"));
        assert_eq!(found("a", &from("10.2.2.3")).as_deref(), Some("'a'@'10.%'"));
        assert_eq!(found("a", &from("11.2.2.3")).as_deref(), Some("'a'@'%'"));
        assert_eq!(found("c", &from("11.2.2.3")), None);
    }

    #[test]
    fn roles_are_followed_and_taken_away() {
        let mut accounts = registry(&["u@%", "r1@%", "r2@%", "r3@%"]);
        for (to, role) in [("u@%", "r1@%"), ("r1@%", "r2@%"), ("r2@%", "r3@%")] {
            assert!(!accounts.would_loop(&name(role), &name(to)));
            accounts.change(&name(to)).expect("there").grants.roles.insert(name(role), false);
        }
        assert!(accounts.would_loop(&name("r1@%"), &name("r3@%")) && accounts.would_loop(&name("r1@%"), &name("r1@%")));
        assert!(accounts.has_role(&name("u@%"), &name("r3@%")) && accounts.is_role(&name("r2@%")));
        assert!(accounts.rename(&name("r2@%"), &name("r9@%")) && accounts.has_role(&name("u@%"), &name("r9@%")));
        assert!(accounts.remove(&name("r9@%")) && !accounts.has_role(&name("u@%"), &name("r3@%")));
        assert!(!accounts.remove(&name("r9@%")));
    }
}
