//! Merged rights against the plain reading of the rules: random accounts, roles and grants, each privilege asked for everywhere.

use accounts::{Account, AccountName, Accounts, Privileges, Rights, TableGrant, like};
use std::collections::BTreeSet;

/// A small generator, so that a seed says all.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn privileges(&mut self) -> Privileges {
        let all = [Privileges::SELECT, Privileges::INSERT, Privileges::UPDATE, Privileges::REFERENCES, Privileges::DELETE];
        all.into_iter().filter(|_| self.below(3) == 0).fold(Privileges::NONE, Privileges::with)
    }
}

const DATABASES: [&str; 4] = ["ab", "a_b", "abc", "xb"];
const PATTERNS: [&str; 6] = ["ab", r"a\_b", "a_b", "a%", "%b", "%"];
const TABLES: [&str; 2] = ["t", "u"];
const COLUMNS: [&str; 3] = ["a", "B", "c"];

fn name(no: u64) -> AccountName {
    AccountName::new(&format!("n{no}"), "%")
}

fn change(accounts: &mut Accounts, r: &mut Random) {
    let (of, given) = (name(r.below(5)), r.privileges());
    let revokes = r.below(3) == 0;
    let apply = |held: Privileges| if revokes { held.without(given) } else { held.with(given) };
    let role = name(r.below(5));
    let loops = accounts.would_loop(&role, &of);
    let (pattern, database) = (PATTERNS[r.below(6) as usize], DATABASES[r.below(4) as usize]);
    let (table, column) = (TABLES[r.below(2) as usize], COLUMNS[r.below(3) as usize]);
    let kind = r.below(5);
    let account = accounts.change(&of).expect("made at the start");
    match kind {
        0 if r.below(4) == 0 => account.grants.global = apply(account.grants.global),
        0 | 1 => {
            let held = account.grants.databases.entry(pattern.to_owned()).or_default();
            *held = apply(*held);
        }
        2 => {
            let held = account.grants.tables.entry((database.to_owned(), table.to_owned())).or_default();
            held.privileges = apply(held.privileges);
        }
        3 => {
            let held: &mut TableGrant = account.grants.tables.entry((database.to_owned(), table.to_owned())).or_default();
            let of_column = held.columns.entry(column.to_owned()).or_default();
            *of_column = apply(*of_column).and(Privileges::ALL_COLUMN);
        }
        _ if revokes => {
            account.grants.roles.remove(&role);
        }
        _ if !loops => {
            account.grants.roles.insert(role, false);
        }
        _ => {}
    }
}

/// What is written before the first wildcard of a pattern.
fn literal(pattern: &str) -> usize {
    pattern.find(['%', '_']).map_or(usize::MAX, |at| if at > 0 && &pattern[at - 1..at] == "\\" { usize::MAX } else { at })
}

/// Roles that are reached from these, one step after the other.
fn reached(accounts: &Accounts, active: &BTreeSet<AccountName>) -> BTreeSet<AccountName> {
    let mut all = active.clone();
    loop {
        let more: BTreeSet<_> = all.iter().filter_map(|r| accounts.get(r)).flat_map(|r| r.grants.roles.keys().cloned()).collect();
        let before = all.len();
        all.extend(more);
        if all.len() == before {
            return all;
        }
    }
}

fn of_database(account: &Account, database: &str) -> Privileges {
    let fits = account.grants.databases.iter().filter(|(pattern, _)| like(pattern.as_bytes(), database.as_bytes()));
    // The longest beginning without a wildcard, then the longest pattern, then the first by name.
    let best = fits.min_by(|(a, _), (b, _)| literal(b).cmp(&literal(a)).then(b.len().cmp(&a.len())).then(a.cmp(b)));
    best.map_or(Privileges::NONE, |(_, privileges)| *privileges)
}

fn expected(accounts: &Accounts, who: &AccountName, active: &BTreeSet<AccountName>, place: (&str, &str, &str)) -> Privileges {
    let (database, table, column) = place;
    let holders = reached(accounts, active).into_iter().chain([who.clone()]);
    let mut all = Privileges::NONE;
    for account in holders.filter_map(|name| accounts.get(&name)) {
        all = all.with(account.grants.global).with(of_database(account, database));
        if let Some(grant) = account.grants.tables.get(&(database.to_owned(), table.to_owned())) {
            all = all.with(grant.privileges);
            let same = grant.columns.iter().filter(|(name, _)| name.eq_ignore_ascii_case(column));
            all = same.fold(all, |all, (_, privileges)| all.with(*privileges));
        }
    }
    all
}

#[test]
fn merged_rights_are_what_the_rules_say() {
    for seed in 0..60_u64 {
        let mut r = Random(seed);
        let mut accounts = Accounts::new((0..5).map(|no| Account::new(name(no))));
        for step in 0..120 {
            change(&mut accounts, &mut r);
            if step % 6 != 0 {
                continue;
            }
            let who = name(r.below(5));
            let active: BTreeSet<AccountName> = (0..5).filter(|_| r.below(3) == 0).map(name).collect();
            let rights = Rights::of(&accounts, &who, &active);
            for database in DATABASES {
                for table in TABLES {
                    for column in ["a", "b", "C", "nosuch"] {
                        let wanted = expected(&accounts, &who, &active, (database, table, column));
                        let found = rights.on_column(database, table, column);
                        assert_eq!(found, wanted, "seed {seed}, step {step}: {who:?} with {active:?} on {database}.{table}.{column}");
                    }
                }
            }
            // What is written down is what is read.
            for account in accounts.iter() {
                assert_eq!(accounts::decode(&accounts::encode(account)).as_ref(), Ok(&**account), "seed {seed}");
            }
        }
    }
}
