//! Accounts as statements: SHOW GRANTS and SHOW CREATE USER, in MySQL's words.

use crate::account::{Account, AccountName, Grants, Lifetime, Require};
use crate::privilege::{Level, Privileges};
use crate::registry::Accounts;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A name in back ticks.
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn account_name(name: &AccountName) -> String {
    format!("{}@{}", quoted(&name.user), quoted(&name.host))
}

/// The names of privileges on a level: all of them, USAGE for none, or a list.
fn listed(privileges: Privileges, level: Level) -> String {
    let privileges = privileges.without(Privileges::GRANT);
    if privileges.is_empty() {
        return "USAGE".to_owned();
    }
    // On *.* MySQL names each.
    if level != Level::Global && privileges == level.all() {
        return "ALL PRIVILEGES".to_owned();
    }
    privileges.names().collect::<Vec<_>>().join(", ")
}

fn grant_option(privileges: Privileges) -> &'static str {
    if privileges.has(Privileges::GRANT) { " WITH GRANT OPTION" } else { "" }
}

/// The lines of SHOW GRANTS: of an account, with what some of its roles add.
pub fn grants(accounts: &Accounts, account: &Account, using: &BTreeSet<AccountName>) -> Vec<String> {
    let mut merged = account.grants.clone();
    for role in accounts.closure(using) {
        if let Some(role) = accounts.get(&role) {
            merge(&mut merged, &role.grants);
        }
    }
    let to = account_name(&account.name);
    let mut lines = vec![format!("GRANT {} ON *.* TO {to}{}", listed(merged.global, Level::Global), grant_option(merged.global))];
    for (grantable, option) in [(false, ""), (true, " WITH GRANT OPTION")] {
        let names: Vec<&str> = merged.dynamic.iter().filter(|(_, with)| **with == grantable).map(|(name, _)| name.as_str()).collect();
        if !names.is_empty() {
            lines.push(format!("GRANT {} ON *.* TO {to}{option}", names.join(",")));
        }
    }
    for (database, privileges) in &merged.databases {
        let names = listed(*privileges, Level::Database);
        lines.push(format!("GRANT {names} ON {}.* TO {to}{}", quoted(database), grant_option(*privileges)));
    }
    for ((database, table), grant) in &merged.tables {
        let names = table_privileges(grant.privileges, &grant.columns);
        lines.push(format!("GRANT {names} ON {}.{} TO {to}{}", quoted(database), quoted(table), grant_option(grant.privileges)));
    }
    for (admin, option) in [(false, ""), (true, " WITH ADMIN OPTION")] {
        let roles: Vec<String> =
            account.grants.roles.iter().filter(|(_, with)| **with == admin).map(|(role, _)| account_name(role)).collect();
        if !roles.is_empty() {
            lines.push(format!("GRANT {} TO {to}{option}", roles.join(",")));
        }
    }
    lines
}

/// `SELECT (`a`, `b`), UPDATE`: each privilege, for the table or for columns.
fn table_privileges(table: Privileges, columns: &BTreeMap<String, Privileges>) -> String {
    if columns.is_empty() {
        return listed(table, Level::Table);
    }
    let of_columns = columns.values().fold(Privileges::NONE, |all, one| all.with(*one));
    let mut parts: Vec<String> = Vec::new();
    for info in crate::privilege::PRIVILEGES {
        let privilege = info.privilege;
        if privilege != Privileges::GRANT && table.has(privilege) {
            parts.push(info.name.to_owned());
        }
        // MySQL lists the columns beside the table's own privilege.
        if of_columns.has(privilege) {
            let names: Vec<String> = columns.iter().filter(|(_, of)| of.has(privilege)).map(|(name, _)| quoted(name)).collect();
            parts.push(format!("{} ({})", info.name, names.join(", ")));
        }
    }
    parts.join(", ")
}

fn merge(into: &mut Grants, role: &Grants) {
    into.global = into.global.with(role.global);
    for (name, grantable) in &role.dynamic {
        *into.dynamic.entry(name.clone()).or_default() |= grantable;
    }
    for (database, privileges) in &role.databases {
        let of = into.databases.entry(database.clone()).or_default();
        *of = of.with(*privileges);
    }
    for (table, grant) in &role.tables {
        let of = into.tables.entry(table.clone()).or_default();
        of.privileges = of.privileges.with(grant.privileges);
        for (column, privileges) in &grant.columns {
            let of = of.columns.entry(column.clone()).or_default();
            *of = of.with(*privileges);
        }
    }
}

/// A string literal.
fn literal(bytes: &[u8]) -> String {
    let mut out = String::from("'");
    for c in String::from_utf8_lossy(bytes).chars() {
        match c {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push_str("\\0"),
            '"' => out.push_str("\\\""),
            '\x1a' => out.push_str("\\Z"),
            other => out.push(other),
        }
    }
    out.push('\'');
    out
}

/// How SHOW CREATE USER shows the stored form of a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShowSecret {
    /// Not at all.
    Secret,
    /// As a string.
    Text,
    /// As hexadecimal digits: `print_identified_with_as_hex`.
    Hex,
}

/// The text of SHOW CREATE USER.
pub fn create_user(account: &Account, secret: ShowSecret) -> String {
    let mut out = format!("CREATE USER {} IDENTIFIED WITH '{}'", account_name(&account.name), account.plugin);
    // Writing into a String cannot fail.
    let _ = (|| -> std::fmt::Result {
        if !account.stored.is_empty() {
            match secret {
                ShowSecret::Secret => out.push_str(" AS <secret>"),
                ShowSecret::Text => write!(out, " AS {}", literal(&account.stored))?,
                ShowSecret::Hex => {
                    out.push_str(" AS 0x");
                    account.stored.iter().try_for_each(|byte| write!(out, "{byte:02X}"))?;
                }
            }
        }
        let defaults: Vec<String> = account.grants.default_roles.iter().map(account_name).collect();
        if !defaults.is_empty() {
            write!(out, " DEFAULT ROLE {}", defaults.join(","))?;
        }
        out.push_str(" REQUIRE ");
        match &account.require {
            Require::None => out.push_str("NONE"),
            Require::Ssl => out.push_str("SSL"),
            Require::X509 => out.push_str("X509"),
            Require::Specified { subject, issuer, cipher } => {
                let parts: Vec<String> = [("SUBJECT", subject), ("ISSUER", issuer), ("CIPHER", cipher)]
                    .into_iter()
                    .filter(|(_, value)| !value.is_empty())
                    .map(|(word, value)| format!("{word} {}", literal(value.as_bytes())))
                    .collect();
                out.push_str(&parts.join(" "));
            }
        }
        let limits = [
            ("MAX_QUERIES_PER_HOUR", account.limits.queries),
            ("MAX_UPDATES_PER_HOUR", account.limits.updates),
            ("MAX_CONNECTIONS_PER_HOUR", account.limits.connections),
            ("MAX_USER_CONNECTIONS", account.limits.user_connections),
        ];
        if limits.iter().any(|(_, limit)| *limit > 0) {
            out.push_str(" WITH");
            for (word, limit) in limits.into_iter().filter(|(_, limit)| *limit > 0) {
                write!(out, " {word} {limit}")?;
            }
        }
        out.push_str(" PASSWORD EXPIRE");
        match (account.expired, account.lifetime) {
            (true, _) => {}
            (false, Lifetime::Default) => out.push_str(" DEFAULT"),
            (false, Lifetime::Never) => out.push_str(" NEVER"),
            (false, Lifetime::Days(days)) => write!(out, " INTERVAL {days} DAY")?,
        }
        out.push_str(if account.locked { " ACCOUNT LOCK" } else { " ACCOUNT UNLOCK" });
        match account.history {
            None => out.push_str(" PASSWORD HISTORY DEFAULT"),
            Some(count) => write!(out, " PASSWORD HISTORY {count}")?,
        }
        match account.reuse_days {
            None => out.push_str(" PASSWORD REUSE INTERVAL DEFAULT"),
            Some(days) => write!(out, " PASSWORD REUSE INTERVAL {days} DAY")?,
        }
        out.push_str(match account.require_current {
            None => " PASSWORD REQUIRE CURRENT DEFAULT",
            Some(true) => " PASSWORD REQUIRE CURRENT",
            Some(false) => " PASSWORD REQUIRE CURRENT OPTIONAL",
        });
        if account.failed_login_attempts > 0 || account.password_lock_days != 0 {
            write!(out, " FAILED_LOGIN_ATTEMPTS {}", account.failed_login_attempts)?;
            match account.password_lock_days {
                days @ 0.. => write!(out, " PASSWORD_LOCK_TIME {days}")?,
                _ => out.push_str(" PASSWORD_LOCK_TIME UNBOUNDED"),
            }
        }
        if !account.attribute.is_empty() {
            // Here MySQL leaves double quotes alone.
            write!(out, " ATTRIBUTE '{}'", account.attribute.replace('\\', "\\\\").replace('\'', "\\'"))?;
        }
        Ok(())
    })();
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::TableGrant;

    #[test]
    fn grants_read_as_mysqls() {
        let mut account = Account::new(AccountName::new("acc2", "%"));
        account.grants.global = Privileges::PROCESS.with(Privileges::EXECUTE).with(Privileges::GRANT);
        account.grants.dynamic = [("BACKUP_ADMIN".to_owned(), true), ("SYSTEM_VARIABLES_ADMIN".to_owned(), false)].into();
        account.grants.databases.insert("acc\\_%".into(), Privileges::ALL_DATABASE);
        let columns = [("a".to_owned(), Privileges::SELECT.with(Privileges::INSERT)), ("b".to_owned(), Privileges::INSERT)];
        let grant = TableGrant { privileges: Privileges::UPDATE, columns: columns.into(), grantor: String::new() };
        account.grants.tables.insert(("acc_t".into(), "t".into()), grant);
        account.grants.roles.insert(AccountName::new("r", "%"), true);
        let accounts = Accounts::new([account.clone()]);
        assert_eq!(
            grants(&accounts, &account, &BTreeSet::new()),
            [
                "GRANT PROCESS, EXECUTE ON *.* TO `acc2`@`%` WITH GRANT OPTION",
                "GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO `acc2`@`%`",
                "GRANT BACKUP_ADMIN ON *.* TO `acc2`@`%` WITH GRANT OPTION",
                "GRANT ALL PRIVILEGES ON `acc\\_%`.* TO `acc2`@`%`",
                "GRANT SELECT (`a`), INSERT (`a`, `b`), UPDATE ON `acc_t`.`t` TO `acc2`@`%`",
                "GRANT `r`@`%` TO `acc2`@`%` WITH ADMIN OPTION",
            ]
        );
    }

    #[test]
    fn a_role_is_an_account_that_is_locked_and_expired() {
        assert_eq!(
            create_user(&Account::role(AccountName::new("r1", "%")), ShowSecret::Secret),
            "CREATE USER `r1`@`%` IDENTIFIED WITH 'caching_sha2_password' REQUIRE NONE PASSWORD EXPIRE ACCOUNT LOCK PASSWORD HISTORY DEFAULT \
             PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT DEFAULT"
        );
    }
}
