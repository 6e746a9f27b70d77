//! Privileges and roles in `information_schema`: of all accounts to who may read all of `mysql`, else of the session's own.

use super::column::{bytes_text, information_schema, long_text};
use super::mysql_schema::set_of;
use super::{MYSQL, VirtualTable, listed};
use crate::accounts::mandatory_roles;
use crate::context::Core;
use ::accounts::{Account, AccountName, Privileges};
use catalog::{VirtualRequest, VirtualRow};
use executor::VirtualRows;
use std::collections::BTreeSet;
use std::sync::Arc;
use types::{TypeKind, Value};

type RowFn = fn(&mut Core, &VirtualRequest) -> executor::Result<VirtualRows>;

/// The function of a table's rows, by its name.
pub(super) fn of(name: &str) -> Option<RowFn> {
    let rows: RowFn = match name {
        "SCHEMA_PRIVILEGES" => |core, _| each(core, schemas),
        "TABLE_PRIVILEGES" => |core, _| each(core, tables),
        "COLUMN_PRIVILEGES" => |core, _| each(core, columns),
        "APPLICABLE_ROLES" => |core, _| Ok(listed(applicable(core, false))),
        "ADMINISTRABLE_ROLE_AUTHORIZATIONS" => |core, _| Ok(listed(applicable(core, true))),
        "ENABLED_ROLES" => |core, _| Ok(listed(enabled(core))),
        "ROLE_TABLE_GRANTS" => |core, _| Ok(listed(role_tables(core))),
        "ROLE_COLUMN_GRANTS" => |core, _| Ok(listed(role_columns(core))),
        _ => return None,
    };
    Some(rows)
}

/// USER_ATTRIBUTES.
pub(super) fn user_attributes() -> VirtualTable {
    let columns = vec![
        ("USER", bytes_text(32).not_null()),
        ("HOST", super::column::folded(255).not_null()),
        ("ATTRIBUTE", long_text(TypeKind::LongText)),
    ];
    let rows = |core: &mut Core, _: &VirtualRequest| each(core, attributes);
    VirtualTable { def: information_schema("USER_ATTRIBUTES", &[], 10.0, columns), rows }
}

/// USER_PRIVILEGES.
pub(super) fn users(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    each(core, globals)
}

/// The accounts that the session may know of.
fn known(core: &Core) -> Vec<Arc<Account>> {
    // What `mysql.user` tells is less: who may read that alone is not shown what `tables_priv` and `columns_priv` hold.
    let sees_all = core.standing.rights.database(MYSQL).has(Privileges::SELECT);
    let accounts = core.shared.accounts.snapshot();
    accounts.iter().filter(|account| sees_all || account.name == core.standing.account).cloned().collect()
}

fn each(core: &Core, of: fn(&Account) -> Vec<VirtualRow>) -> executor::Result<VirtualRows> {
    Ok(listed(known(core).iter().flat_map(|account| of(account)).collect()))
}

fn yes(yes: bool) -> Value {
    if yes { "YES" } else { "NO" }.into()
}

fn grantee(account: &Account) -> Value {
    account.name.shown().into()
}

fn names(privileges: Privileges) -> Vec<&'static str> {
    let names: Vec<_> = privileges.names().collect();
    if names.is_empty() { vec!["USAGE"] } else { names }
}

fn attributes(account: &Account) -> Vec<VirtualRow> {
    let attribute = if account.attribute.is_empty() { Value::Null } else { account.attribute.as_str().into() };
    vec![vec![account.name.user.as_str().into(), account.name.host.as_str().into(), attribute]]
}

fn globals(account: &Account) -> Vec<VirtualRow> {
    let global = account.grants.global;
    let row = |name: &str, grantable: bool| vec![grantee(account), "def".into(), name.into(), yes(grantable)];
    let mut rows: Vec<VirtualRow> = names(global).into_iter().map(|name| row(name, global.has(Privileges::GRANT))).collect();
    rows.extend(account.grants.dynamic.iter().map(|(name, grantable)| row(name, *grantable)));
    rows
}

fn schemas(account: &Account) -> Vec<VirtualRow> {
    let mut rows = Vec::new();
    for (database, privileges) in &account.grants.databases {
        for name in names(*privileges) {
            rows.push(vec![grantee(account), "def".into(), database.as_str().into(), name.into(), yes(privileges.has(Privileges::GRANT))]);
        }
    }
    rows
}

fn tables(account: &Account) -> Vec<VirtualRow> {
    let mut rows = Vec::new();
    for ((database, table), grant) in &account.grants.tables {
        // Who may only grant is told of; what is granted on columns alone is not.
        let of_table = if grant.columns.is_empty() { names(grant.privileges) } else { grant.privileges.names().collect() };
        for name in of_table {
            let grantable = yes(grant.privileges.has(Privileges::GRANT));
            rows.push(vec![grantee(account), "def".into(), database.as_str().into(), table.as_str().into(), name.into(), grantable]);
        }
    }
    rows
}

fn columns(account: &Account) -> Vec<VirtualRow> {
    let mut rows = Vec::new();
    for ((database, table), grant) in &account.grants.tables {
        for (column, privileges) in &grant.columns {
            for name in privileges.names() {
                rows.push(vec![
                    grantee(account),
                    "def".into(),
                    database.as_str().into(),
                    table.as_str().into(),
                    column.as_str().into(),
                    name.into(),
                    yes(grant.privileges.has(Privileges::GRANT)),
                ]);
            }
        }
    }
    rows
}

/// Roles that the session's account has, by itself or through others, with whom each is granted to.
fn applicable(core: &Core, administrable: bool) -> Vec<VirtualRow> {
    let accounts = core.shared.accounts.snapshot();
    let own = &core.standing.account;
    let mandatory = mandatory_roles(&core.shared, &accounts);
    let Some(account) = accounts.get(own) else { return Vec::new() };
    let mut edges: BTreeSet<(AccountName, AccountName, bool)> = BTreeSet::new();
    let held = accounts.closure(account.grants.roles.keys());
    for holder in held.iter().chain([own]).filter_map(|name| accounts.get(name)) {
        edges.extend(holder.grants.roles.iter().map(|(role, admin)| (holder.name.clone(), role.clone(), *admin)));
    }
    edges.extend(mandatory.iter().filter(|role| !account.grants.roles.contains_key(role)).map(|role| (own.clone(), role.clone(), false)));
    let rows = edges.into_iter().filter(|(.., admin)| *admin || !administrable).map(|(holder, role, admin)| {
        vec![
            own.user.as_str().into(),
            own.host.as_str().into(),
            holder.user.as_str().into(),
            holder.host.as_str().into(),
            role.user.as_str().into(),
            role.host.as_str().into(),
            yes(admin),
            yes(account.grants.default_roles.contains(&role)),
            yes(mandatory.contains(&role)),
        ]
    });
    rows.collect()
}

fn enabled(core: &Core) -> Vec<VirtualRow> {
    let accounts = core.shared.accounts.snapshot();
    let mandatory = mandatory_roles(&core.shared, &accounts);
    let is_default = |role: &AccountName| accounts.get(&core.standing.account).is_some_and(|own| own.grants.default_roles.contains(role));
    let row = |role: &AccountName| {
        vec![role.user.as_str().into(), role.host.as_str().into(), yes(is_default(role)), yes(mandatory.contains(role))]
    };
    // Roles behind these are not told of.
    core.standing.active.iter().map(row).collect()
}

fn grantor(text: &str) -> (Value, Value) {
    match text.rsplit_once('@') {
        Some((user, host)) => (user.into(), host.into()),
        None => (Value::Null, Value::Null),
    }
}

fn role_tables(core: &Core) -> Vec<VirtualRow> {
    let accounts = core.shared.accounts.snapshot();
    let mut rows = Vec::new();
    for role in core.standing.rights.roles.iter().filter_map(|role| accounts.get(role)) {
        for ((database, table), grant) in &role.grants.tables {
            if grant.privileges.is_empty() {
                continue;
            }
            let (by, from) = grantor(&grant.grantor);
            rows.push(vec![
                by,
                from,
                role.name.user.as_str().into(),
                role.name.host.as_str().into(),
                "def".into(),
                database.as_str().into(),
                table.as_str().into(),
                set_of(grant.privileges),
                yes(grant.privileges.has(Privileges::GRANT)),
            ]);
        }
    }
    rows
}

fn role_columns(core: &Core) -> Vec<VirtualRow> {
    let accounts = core.shared.accounts.snapshot();
    let mut rows = Vec::new();
    for role in core.standing.rights.roles.iter().filter_map(|role| accounts.get(role)) {
        for ((database, table), grant) in &role.grants.tables {
            for (column, privileges) in &grant.columns {
                let set: Vec<String> = privileges.names().map(in_words).collect();
                let (by, from) = grantor(&grant.grantor);
                rows.push(vec![
                    by,
                    from,
                    role.name.user.as_str().into(),
                    role.name.host.as_str().into(),
                    "def".into(),
                    database.as_str().into(),
                    table.as_str().into(),
                    column.as_str().into(),
                    set.join(",").into(),
                    yes(grant.privileges.has(Privileges::GRANT)),
                ]);
            }
        }
    }
    rows
}

/// A privilege as the sets of the grant tables have it.
fn in_words(name: &str) -> String {
    match name {
        "CREATE VIEW" => "Create View".to_owned(),
        "SHOW VIEW" => "Show view".to_owned(),
        other => {
            let mut word = other.to_lowercase();
            if let Some(first) = word.get_mut(..1) {
                first.make_ascii_uppercase();
            }
            word
        }
    }
}
