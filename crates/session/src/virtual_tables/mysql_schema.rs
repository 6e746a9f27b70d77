//! Schema `mysql`: the accounts as MySQL's grant tables have them. They are computed: accounts are changed by their statements, never by changing rows.

use super::column::{columns, define_in, one_of, some_of};
use super::{MYSQL, VirtualTable, listed};
use crate::context::Core;
use ::accounts::{Account, Accounts, PRIVILEGES, Privileges, Require};
use catalog::{VirtualRequest, VirtualRow};
use executor::VirtualRows;
use json::{Json, Object};
use std::sync::Arc;
use types::{Collation, ColumnType, Timestamp, TypeKind, Value};

type Columns = Vec<(&'static str, ColumnType)>;

/// Privileges of `mysql.db`, in its order.
const OF_DATABASE: [Privileges; 19] = [
    Privileges::SELECT,
    Privileges::INSERT,
    Privileges::UPDATE,
    Privileges::DELETE,
    Privileges::CREATE,
    Privileges::DROP,
    Privileges::GRANT,
    Privileges::REFERENCES,
    Privileges::INDEX,
    Privileges::ALTER,
    Privileges::CREATE_TEMPORARY_TABLES,
    Privileges::LOCK_TABLES,
    Privileges::CREATE_VIEW,
    Privileges::SHOW_VIEW,
    Privileges::CREATE_ROUTINE,
    Privileges::ALTER_ROUTINE,
    Privileges::EXECUTE,
    Privileges::EVENT,
    Privileges::TRIGGER,
];

const TABLE_SET: [(&str, Privileges); 13] = [
    ("Select", Privileges::SELECT),
    ("Insert", Privileges::INSERT),
    ("Update", Privileges::UPDATE),
    ("Delete", Privileges::DELETE),
    ("Create", Privileges::CREATE),
    ("Drop", Privileges::DROP),
    ("Grant", Privileges::GRANT),
    ("References", Privileges::REFERENCES),
    ("Index", Privileges::INDEX),
    ("Alter", Privileges::ALTER),
    ("Create View", Privileges::CREATE_VIEW),
    ("Show view", Privileges::SHOW_VIEW),
    ("Trigger", Privileges::TRIGGER),
];

pub(super) fn tables() -> Vec<VirtualTable> {
    vec![
        table("columns_priv", columns_priv()),
        table("db", db()),
        table("default_roles", default_roles()),
        table("global_grants", global_grants()),
        table("password_history", password_history()),
        table("procs_priv", procs_priv()),
        table("proxies_priv", proxies_priv()),
        table("role_edges", role_edges()),
        table("tables_priv", tables_priv()),
        table("user", user()),
    ]
}

fn table(name: &'static str, list: Columns) -> VirtualTable {
    VirtualTable { def: define_in(MYSQL, name, columns(list)), rows: rows_of(name) }
}

/// The function of a table's rows.
fn rows_of(name: &str) -> fn(&mut Core, &VirtualRequest) -> executor::Result<VirtualRows> {
    match name {
        "columns_priv" => |core, _| made(core, of_columns),
        "db" => |core, _| made(core, of_databases),
        "default_roles" => |core, _| made(core, of_default_roles),
        "global_grants" => |core, _| made(core, of_dynamic),
        "password_history" => |core, _| made(core, of_history),
        "role_edges" => |core, _| made(core, of_roles),
        "tables_priv" => |core, _| made(core, of_tables),
        "user" => |core, _| made(core, of_user),
        _ => |_, _| Ok(listed(Vec::new())),
    }
}

fn made(core: &mut Core, of: fn(&Account) -> Vec<VirtualRow>) -> executor::Result<VirtualRows> {
    let accounts: Arc<Accounts> = core.shared.accounts.snapshot();
    Ok(listed(all(&accounts, of)))
}

/// The rows of all accounts, by host and user, as MySQL's primary keys have them.
fn all(accounts: &Accounts, of: fn(&Account) -> Vec<VirtualRow>) -> Vec<VirtualRow> {
    let mut sorted: Vec<_> = accounts.iter().collect();
    sorted.sort_by(|a, b| (&a.name.host, &a.name.user).cmp(&(&b.name.host, &b.name.user)));
    sorted.into_iter().flat_map(|account| of(account)).collect()
}

fn host() -> ColumnType {
    ColumnType { length: 255, collation: Collation::Utf8mb3GeneralCi, ..ColumnType::new(TypeKind::Char) }.not_null()
}

fn name(characters: u32) -> ColumnType {
    ColumnType { length: characters, collation: Collation::Utf8mb3Bin, ..ColumnType::new(TypeKind::Char) }.not_null()
}

fn long_name(characters: u32) -> ColumnType {
    ColumnType::varchar(characters, Collation::Utf8mb3Bin).not_null()
}

fn yes_or_no() -> ColumnType {
    one_of(&["N", "Y"], Collation::Utf8mb3GeneralCi).not_null()
}

fn column_set() -> ColumnType {
    some_of(&["Select", "Insert", "Update", "References"], Collation::Utf8mb3GeneralCi).not_null()
}

fn timestamp() -> ColumnType {
    ColumnType::new(TypeKind::Timestamp)
}

fn number() -> ColumnType {
    ColumnType::int().unsigned().not_null()
}

fn small() -> ColumnType {
    ColumnType::new(TypeKind::SmallInt).unsigned()
}

fn text() -> ColumnType {
    ColumnType { collation: Collation::Utf8mb3Bin, ..ColumnType::new(TypeKind::Text) }
}

fn user() -> Columns {
    let mut list = vec![("Host", host()), ("User", name(32))];
    let late = Privileges::CREATE_ROLE.with(Privileges::DROP_ROLE);
    list.extend(PRIVILEGES.iter().filter(|info| !late.has(info.privilege)).map(|info| (info.column, yes_or_no())));
    list.extend([
        ("ssl_type", one_of(&["", "ANY", "X509", "SPECIFIED"], Collation::Utf8mb3GeneralCi).not_null()),
        ("ssl_cipher", ColumnType::new(TypeKind::Blob).not_null()),
        ("x509_issuer", ColumnType::new(TypeKind::Blob).not_null()),
        ("x509_subject", ColumnType::new(TypeKind::Blob).not_null()),
        ("max_questions", number()),
        ("max_updates", number()),
        ("max_connections", number()),
        ("max_user_connections", number()),
        ("plugin", name(64)),
        ("authentication_string", text()),
        ("password_expired", yes_or_no()),
        ("password_last_changed", timestamp()),
        ("password_lifetime", small()),
        ("account_locked", yes_or_no()),
        ("Create_role_priv", yes_or_no()),
        ("Drop_role_priv", yes_or_no()),
        ("Password_reuse_history", small()),
        ("Password_reuse_time", small()),
        ("Password_require_current", one_of(&["N", "Y"], Collation::Utf8mb3GeneralCi)),
        ("User_attributes", ColumnType::new(TypeKind::Json)),
    ]);
    list
}

fn db() -> Columns {
    let mut list = vec![("Host", host()), ("Db", name(64)), ("User", name(32))];
    let column =
        |privilege: &Privileges| PRIVILEGES.iter().find(|info| info.privilege == *privilege).map(|info| (info.column, yes_or_no()));
    list.extend(OF_DATABASE.iter().filter_map(column));
    list
}

fn tables_priv() -> Columns {
    let names: Vec<&str> = TABLE_SET.iter().map(|(name, _)| *name).collect();
    vec![
        ("Host", host()),
        ("Db", name(64)),
        ("User", name(32)),
        ("Table_name", name(64)),
        ("Grantor", long_name(288)),
        ("Timestamp", timestamp().not_null()),
        ("Table_priv", some_of(&names, Collation::Utf8mb3GeneralCi).not_null()),
        ("Column_priv", column_set()),
    ]
}

fn columns_priv() -> Columns {
    vec![
        ("Host", host()),
        ("Db", name(64)),
        ("User", name(32)),
        ("Table_name", name(64)),
        ("Column_name", name(64)),
        ("Timestamp", timestamp().not_null()),
        ("Column_priv", column_set()),
    ]
}

fn procs_priv() -> Columns {
    vec![
        ("Host", host()),
        ("Db", name(64)),
        ("User", name(32)),
        ("Routine_name", name(64)),
        ("Routine_type", one_of(&["FUNCTION", "PROCEDURE", "LIBRARY"], Collation::Utf8mb3Bin).not_null()),
        ("Grantor", long_name(288)),
        ("Proc_priv", some_of(&["Execute", "Alter Routine", "Grant"], Collation::Utf8mb3GeneralCi).not_null()),
        ("Timestamp", timestamp().not_null()),
    ]
}

fn proxies_priv() -> Columns {
    vec![
        ("Host", host()),
        ("User", name(32)),
        ("Proxied_host", host()),
        ("Proxied_user", name(32)),
        ("With_grant", ColumnType::new(TypeKind::TinyInt).not_null()),
        ("Grantor", long_name(288)),
        ("Timestamp", timestamp().not_null()),
    ]
}

fn role_edges() -> Columns {
    vec![("FROM_HOST", host()), ("FROM_USER", name(32)), ("TO_HOST", host()), ("TO_USER", name(32)), ("WITH_ADMIN_OPTION", yes_or_no())]
}

fn default_roles() -> Columns {
    vec![("HOST", host()), ("USER", name(32)), ("DEFAULT_ROLE_HOST", host()), ("DEFAULT_ROLE_USER", name(32))]
}

fn global_grants() -> Columns {
    let privilege = ColumnType { length: 32, collation: Collation::Utf8mb3GeneralCi, ..ColumnType::new(TypeKind::Char) }.not_null();
    vec![("USER", name(32)), ("HOST", host()), ("PRIV", privilege), ("WITH_GRANT_OPTION", yes_or_no())]
}

fn password_history() -> Columns {
    let time = ColumnType::temporal(TypeKind::Timestamp, 6).not_null();
    vec![("Host", host()), ("User", name(32)), ("Password_timestamp", time), ("Password", text())]
}

fn flag(yes: bool) -> Value {
    if yes { "Y" } else { "N" }.into()
}

fn seconds(seconds: i64) -> Value {
    Value::Timestamp(Timestamp::from_micros(seconds.saturating_mul(1_000_000)))
}

/// Privileges on a table as sets of words.
pub(super) fn set_of(privileges: Privileges) -> Value {
    let names: Vec<&str> = TABLE_SET.iter().filter(|(_, one)| privileges.has(*one)).map(|(name, _)| *name).collect();
    names.join(",").into()
}

fn of_user(account: &Account) -> Vec<VirtualRow> {
    let global = account.grants.global;
    let late = Privileges::CREATE_ROLE.with(Privileges::DROP_ROLE);
    let mut row: VirtualRow = vec![account.name.host.as_str().into(), account.name.user.as_str().into()];
    row.extend(PRIVILEGES.iter().filter(|info| !late.has(info.privilege)).map(|info| flag(global.has(info.privilege))));
    let (kind, subject, issuer, cipher) = match &account.require {
        Require::None => ("", "", "", ""),
        Require::Ssl => ("ANY", "", "", ""),
        Require::X509 => ("X509", "", "", ""),
        Require::Specified { subject, issuer, cipher } => ("SPECIFIED", subject.as_str(), issuer.as_str(), cipher.as_str()),
    };
    row.extend([kind.into(), cipher.into(), issuer.into(), subject.into()]);
    let limits = &account.limits;
    row.extend([limits.queries, limits.updates, limits.connections, limits.user_connections].map(|limit| Value::UInt(limit.into())));
    let lifetime = match account.lifetime {
        ::accounts::Lifetime::Default => Value::Null,
        ::accounts::Lifetime::Never => Value::UInt(0),
        ::accounts::Lifetime::Days(days) => Value::UInt(days.into()),
    };
    let optional = |number: Option<u16>| number.map_or(Value::Null, |number| Value::UInt(number.into()));
    row.extend([
        account.plugin.as_str().into(),
        Value::bytes(account.stored.as_slice()),
        flag(account.expired),
        if account.password_changed == 0 { Value::Null } else { seconds(account.password_changed) },
        lifetime,
        flag(account.locked),
        flag(global.has(Privileges::CREATE_ROLE)),
        flag(global.has(Privileges::DROP_ROLE)),
        optional(account.history),
        optional(account.reuse_days),
        account.require_current.map_or(Value::Null, flag),
        attributes(account),
    ]);
    vec![row]
}

/// `User_attributes`: what the other columns have no place for.
fn attributes(account: &Account) -> Value {
    let mut members = Vec::new();
    if !account.attribute.is_empty()
        && let Ok(metadata) = json::parse(account.attribute.as_bytes())
    {
        members.push(("metadata".to_owned(), metadata));
    }
    if account.failed_login_attempts > 0 || account.password_lock_days != 0 {
        let locking = vec![
            ("failed_login_attempts".to_owned(), Json::Int(account.failed_login_attempts.into())),
            ("password_lock_time_days".to_owned(), Json::Int(account.password_lock_days.into())),
        ];
        members.push(("Password_locking".to_owned(), Json::Object(Object::from_members(locking))));
    }
    if !account.retained.is_empty() {
        let retained = String::from_utf8_lossy(&account.retained).into_owned();
        members.push(("additional_password".to_owned(), Json::String(retained)));
    }
    if members.is_empty() {
        return Value::Null;
    }
    json::encode(&Json::Object(Object::from_members(members))).map_or(Value::Null, |bytes| Value::Json(bytes.into()))
}

fn of_databases(account: &Account) -> Vec<VirtualRow> {
    let row = |(database, privileges): (&String, &Privileges)| {
        let mut row: VirtualRow = vec![account.name.host.as_str().into(), database.as_str().into(), account.name.user.as_str().into()];
        row.extend(OF_DATABASE.iter().map(|one| flag(privileges.has(*one))));
        row
    };
    account.grants.databases.iter().map(row).collect()
}

fn of_tables(account: &Account) -> Vec<VirtualRow> {
    let row = |((database, table), grant): (&(String, String), &::accounts::TableGrant)| {
        vec![
            account.name.host.as_str().into(),
            database.as_str().into(),
            account.name.user.as_str().into(),
            table.as_str().into(),
            grant.grantor.as_str().into(),
            Value::Timestamp(Timestamp::ZERO),
            set_of(grant.privileges),
            set_of(grant.of_columns()),
        ]
    };
    account.grants.tables.iter().map(row).collect()
}

fn of_columns(account: &Account) -> Vec<VirtualRow> {
    let mut rows = Vec::new();
    for ((database, table), grant) in &account.grants.tables {
        for (column, privileges) in &grant.columns {
            rows.push(vec![
                account.name.host.as_str().into(),
                database.as_str().into(),
                account.name.user.as_str().into(),
                table.as_str().into(),
                column.as_str().into(),
                Value::Timestamp(Timestamp::ZERO),
                set_of(*privileges),
            ]);
        }
    }
    rows
}

fn of_roles(account: &Account) -> Vec<VirtualRow> {
    let row = |(role, admin): (&::accounts::AccountName, &bool)| {
        vec![
            role.host.as_str().into(),
            role.user.as_str().into(),
            account.name.host.as_str().into(),
            account.name.user.as_str().into(),
            flag(*admin),
        ]
    };
    account.grants.roles.iter().map(row).collect()
}

fn of_default_roles(account: &Account) -> Vec<VirtualRow> {
    let row = |role: &::accounts::AccountName| {
        vec![account.name.host.as_str().into(), account.name.user.as_str().into(), role.host.as_str().into(), role.user.as_str().into()]
    };
    account.grants.default_roles.iter().map(row).collect()
}

fn of_dynamic(account: &Account) -> Vec<VirtualRow> {
    let row = |(name, grantable): (&String, &bool)| {
        vec![account.name.user.as_str().into(), account.name.host.as_str().into(), name.as_str().into(), flag(*grantable)]
    };
    account.grants.dynamic.iter().map(row).collect()
}

fn of_history(account: &Account) -> Vec<VirtualRow> {
    let row = |(time, stored): &(i64, Vec<u8>)| {
        vec![account.name.host.as_str().into(), account.name.user.as_str().into(), seconds(*time), Value::bytes(stored.as_slice())]
    };
    account.past.iter().map(row).collect()
}
