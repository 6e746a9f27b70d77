//! An account as bytes: the value of its record in the dictionary (`docs/format/engine.md`).

use crate::account::{Account, AccountName, Grants, Lifetime, Limits, Require, TableGrant};
use crate::privilege::Privileges;
use base::{Malformed, Reader, put_bytes, put_u8, put_u32, put_u64, put_varint};

/// The form that is written; a reader refuses all others.
const VERSION: u8 = 1;

type Result<T> = std::result::Result<T, Malformed>;

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_bytes(out, text.as_bytes());
}

fn put_name(out: &mut Vec<u8>, name: &AccountName) {
    put_text(out, &name.user);
    put_text(out, &name.host);
}

/// `None` as 0, else one more than the number.
fn put_optional(out: &mut Vec<u8>, number: Option<u64>) {
    put_varint(out, number.map_or(0, |number| number + 1));
}

/// The bytes of an account.
pub fn encode(account: &Account) -> Vec<u8> {
    let mut bytes = Vec::new();
    let out = &mut bytes;
    put_u8(out, VERSION);
    put_name(out, &account.name);
    put_text(out, &account.plugin);
    put_bytes(out, &account.stored);
    put_bytes(out, &account.retained);
    put_u8(out, u8::from(account.locked) | u8::from(account.expired) << 1);
    put_u64(out, account.password_changed as u64);
    put_optional(
        out,
        match account.lifetime {
            Lifetime::Default => None,
            Lifetime::Never => Some(0),
            Lifetime::Days(days) => Some(u64::from(days)),
        },
    );
    match &account.require {
        Require::None => put_u8(out, 0),
        Require::Ssl => put_u8(out, 1),
        Require::X509 => put_u8(out, 2),
        Require::Specified { subject, issuer, cipher } => {
            put_u8(out, 3);
            [subject, issuer, cipher].into_iter().for_each(|text| put_text(out, text));
        }
    }
    let limits = &account.limits;
    [limits.queries, limits.updates, limits.connections, limits.user_connections].into_iter().for_each(|limit| put_u32(out, limit));
    put_varint(out, u64::from(account.failed_login_attempts));
    put_varint(out, (i64::from(account.password_lock_days) + 1) as u64);
    put_optional(out, account.history.map(u64::from));
    put_optional(out, account.reuse_days.map(u64::from));
    put_optional(out, account.require_current.map(u64::from));
    put_text(out, &account.attribute);
    put_varint(out, account.past.len() as u64);
    for (time, stored) in &account.past {
        put_u64(out, *time as u64);
        put_bytes(out, stored);
    }
    put_grants(out, &account.grants);
    bytes
}

fn put_grants(out: &mut Vec<u8>, grants: &Grants) {
    put_u32(out, grants.global.0);
    put_varint(out, grants.dynamic.len() as u64);
    for (name, grantable) in &grants.dynamic {
        put_text(out, name);
        put_u8(out, u8::from(*grantable));
    }
    put_varint(out, grants.databases.len() as u64);
    for (database, privileges) in &grants.databases {
        put_text(out, database);
        put_u32(out, privileges.0);
    }
    put_varint(out, grants.tables.len() as u64);
    for ((database, table), grant) in &grants.tables {
        put_text(out, database);
        put_text(out, table);
        put_u32(out, grant.privileges.0);
        put_text(out, &grant.grantor);
        put_varint(out, grant.columns.len() as u64);
        for (column, privileges) in &grant.columns {
            put_text(out, column);
            put_u32(out, privileges.0);
        }
    }
    put_varint(out, grants.roles.len() as u64);
    for (role, admin) in &grants.roles {
        put_name(out, role);
        put_u8(out, u8::from(*admin));
    }
    put_varint(out, grants.default_roles.len() as u64);
    grants.default_roles.iter().for_each(|role| put_name(out, role));
}

fn text(r: &mut Reader<'_>) -> Result<String> {
    String::from_utf8(r.bytes()?.to_vec()).map_err(|_| Malformed)
}

fn name(r: &mut Reader<'_>) -> Result<AccountName> {
    Ok(AccountName { user: text(r)?, host: text(r)? })
}

fn flag(r: &mut Reader<'_>) -> Result<bool> {
    match r.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Malformed),
    }
}

fn privileges(r: &mut Reader<'_>) -> Result<Privileges> {
    let bits = Privileges(r.u32()?);
    if Privileges::ALL_GLOBAL.with(Privileges::GRANT).has(bits) { Ok(bits) } else { Err(Malformed) }
}

fn optional(r: &mut Reader<'_>) -> Result<Option<u64>> {
    Ok(r.varint()?.checked_sub(1))
}

fn small(number: u64) -> Result<u16> {
    u16::try_from(number).map_err(|_| Malformed)
}

/// An account out of its bytes.
pub fn decode(bytes: &[u8]) -> Result<Account> {
    let r = &mut Reader::new(bytes);
    if r.u8()? != VERSION {
        return Err(Malformed);
    }
    let mut account = Account::new(name(r)?);
    account.plugin = text(r)?;
    account.stored = r.bytes()?.to_vec();
    account.retained = r.bytes()?.to_vec();
    let flags = r.u8()?;
    if flags > 3 {
        return Err(Malformed);
    }
    (account.locked, account.expired) = (flags & 1 != 0, flags & 2 != 0);
    account.password_changed = r.u64()? as i64;
    account.lifetime = match optional(r)? {
        None => Lifetime::Default,
        Some(0) => Lifetime::Never,
        Some(days) => Lifetime::Days(small(days)?),
    };
    account.require = match r.u8()? {
        0 => Require::None,
        1 => Require::Ssl,
        2 => Require::X509,
        3 => Require::Specified { subject: text(r)?, issuer: text(r)?, cipher: text(r)? },
        _ => return Err(Malformed),
    };
    account.limits = Limits { queries: r.u32()?, updates: r.u32()?, connections: r.u32()?, user_connections: r.u32()? };
    account.failed_login_attempts = small(r.varint()?)?;
    account.password_lock_days = i32::from(small(r.varint()?)?) - 1;
    account.history = optional(r)?.map(small).transpose()?;
    account.reuse_days = optional(r)?.map(small).transpose()?;
    account.require_current = match optional(r)? {
        None => None,
        Some(0) => Some(false),
        Some(1) => Some(true),
        Some(_) => return Err(Malformed),
    };
    account.attribute = text(r)?;
    for _ in 0..r.varint()? {
        account.past.push((r.u64()? as i64, r.bytes()?.to_vec()));
    }
    account.grants = grants(r)?;
    if r.is_empty() { Ok(account) } else { Err(Malformed) }
}

fn grants(r: &mut Reader<'_>) -> Result<Grants> {
    let mut grants = Grants { global: privileges(r)?, ..Grants::default() };
    for _ in 0..r.varint()? {
        grants.dynamic.insert(text(r)?, flag(r)?);
    }
    for _ in 0..r.varint()? {
        grants.databases.insert(text(r)?, privileges(r)?);
    }
    for _ in 0..r.varint()? {
        let key = (text(r)?, text(r)?);
        let mut grant = TableGrant { privileges: privileges(r)?, grantor: text(r)?, ..TableGrant::default() };
        for _ in 0..r.varint()? {
            grant.columns.insert(text(r)?, privileges(r)?);
        }
        grants.tables.insert(key, grant);
    }
    for _ in 0..r.varint()? {
        grants.roles.insert(name(r)?, flag(r)?);
    }
    for _ in 0..r.varint()? {
        grants.default_roles.insert(name(r)?);
    }
    Ok(grants)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Account {
        let mut account = Account::root();
        account.stored = vec![0, 1, 255];
        account.retained = b"old".to_vec();
        account.expired = true;
        account.password_changed = 1_700_000_000;
        account.lifetime = Lifetime::Days(30);
        account.require = Require::Specified { subject: "/C=x".into(), issuer: String::new(), cipher: "AES".into() };
        account.limits = Limits { queries: 1, updates: 2, connections: 3, user_connections: 4 };
        account.failed_login_attempts = 3;
        account.password_lock_days = -1;
        account.history = Some(0);
        account.reuse_days = Some(365);
        account.require_current = Some(true);
        account.attribute = "{\"a\": 1}".into();
        account.past = vec![(5, b"x".to_vec()), (4, Vec::new())];
        account.grants.databases.insert("d\\_%".into(), Privileges::ALL_DATABASE.with(Privileges::GRANT));
        let columns = [("c".to_owned(), Privileges::SELECT)].into();
        let grant = TableGrant { privileges: Privileges::INSERT, columns, grantor: "root@localhost".into() };
        account.grants.tables.insert(("d".into(), "t".into()), grant);
        account.grants.roles.insert(AccountName::new("r", "%"), true);
        account.grants.default_roles.insert(AccountName::new("r", "%"));
        account
    }

    #[test]
    fn accounts_come_back_as_they_were() {
        for account in [full(), Account::root(), Account::role(AccountName::new("r", "%")), Account::new(AccountName::new("", ""))] {
            assert_eq!(decode(&encode(&account)), Ok(account));
        }
    }

    #[test]
    fn no_bytes_make_a_panic_or_an_account_that_was_not_written() {
        let bytes = encode(&full());
        for cut in 0..bytes.len() {
            assert_eq!(decode(&bytes[..cut]), Err(Malformed), "cut at {cut}");
        }
        for at in 0..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[at] ^= 0x80;
            // Whatever it is, it is no panic; what decodes is written as it was read.
            if let Ok(account) = decode(&wrong) {
                assert_eq!(decode(&encode(&account)), Ok(account));
            }
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert_eq!(decode(&longer), Err(Malformed));
    }
}
