//! CREATE, ALTER, DROP and RENAME USER, SET PASSWORD.

use super::SYSTEM_USER;
use super::names::{account_name, shown};
use super::secret::{self, NewSecret, Policy};
use super::standing::mandatory_roles;
use super::store::Failed;
use crate::client_session::ClientSession;
use crate::error_map::{Outcome, catalog_error};
use crate::reply::fixed_columns::{Columns, lists};
use crate::variables::variable;
use ::accounts::{Account, AccountName, Accounts, Lifetime, Privileges, Require};
use json::Json;
use mysql_error::{SqlError, Warning, WarningLevel, codes};
use parser::ast::{self, AccountOption, RoleSelection, Statement, UserSpec};
use protocol::ResultSink;
use types::Value;

const HOST_CHARS_MAX: usize = 255;
/// Largest FAILED_LOGIN_ATTEMPTS and PASSWORD_LOCK_TIME.
const ATTEMPTS_MAX: u64 = 32_767;

/// Carries a statement about users out, and replies.
pub(crate) fn run(session: &mut ClientSession, statement: &Statement<'_>, sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
    let random = match statement {
        Statement::CreateUser(create) => create_users(session, create)?,
        Statement::AlterUser(alter) => alter_users(session, alter)?,
        Statement::DropUser { if_exists, users } => {
            session.require_privilege(Privileges::CREATE_USER, "CREATE USER")?;
            drop_users(session, users, *if_exists, "DROP USER")?
        }
        Statement::RenameUser(pairs) => rename_users(session, pairs)?,
        Statement::SetPassword(set) => set_password(session, set)?,
        _ => return Err(codes::not_supported_yet("this statement here").into()),
    };
    if random.is_empty() {
        session.reply_ok(0, sink);
        return Ok(());
    }
    let row = |(name, password): (AccountName, String)| vec![name.user.into(), name.host.into(), password.into(), Value::Int(1)];
    let rows: Vec<Vec<Value>> = random.into_iter().map(row).collect();
    session.send_rows(&Columns::of(&[lists::NEW_PASSWORDS]), &rows, sink);
    Ok(())
}

/// Passwords that were made for accounts.
type Random = Vec<(AccountName, String)>;

impl ClientSession {
    /// 1227 without a privilege on `*.*`.
    pub(crate) fn require_privilege(&self, privilege: Privileges, name: &str) -> Result<(), SqlError> {
        if self.core.standing.rights.global.has(privilege) { Ok(()) } else { Err(codes::specific_access_denied_error(name)) }
    }

    /// 1227 for those who may not keep an old password good beside the new one, or end it: who once knew one would keep it alive past its change.
    fn require_two_passwords(&self) -> Result<(), SqlError> {
        match self.core.standing.rights.has_dynamic("APPLICATION_PASSWORD_ADMIN") {
            true => Ok(()),
            false => self.require_privilege(Privileges::CREATE_USER, "CREATE USER or APPLICATION_PASSWORD_ADMIN"),
        }
    }

    /// Changes accounts: the session's transaction is committed first, and others' locks on definitions are minded.
    pub(super) fn change_accounts<T>(&mut self, work: impl FnOnce(&mut Accounts) -> Result<T, SqlError>) -> Result<T, Outcome> {
        self.refuse_in_branch()?;
        if self.core.settings.read_only {
            return Err(codes::cant_execute_in_read_only_transaction().into());
        }
        if self.transaction.has_locked_tables() {
            return Err(codes::lock_or_active_transaction().into());
        }
        self.implicit_commit()?;
        let done = crate::ddl::change_definitions(self, |session| {
            let shared = std::sync::Arc::clone(session.shared());
            let changed = shared.accounts.change(&shared.catalog, &mut session.engine, work);
            changed.map_err(|failed| match failed {
                Failed::Refused(error) => error.into(),
                Failed::Catalog(error) => catalog_error(error, || session.stop_error()),
            })
        });
        self.core.renew_standing();
        done
    }

    pub(super) fn password_policy(&self) -> Policy {
        let shared = self.shared();
        Policy {
            history: shared.number(variable!("password_history")),
            reuse_days: shared.number(variable!("password_reuse_interval")),
            random_chars: shared.number(variable!("generated_random_password_length")) as usize,
            now: shared.engine.wall_micros().div_euclid(1_000_000),
        }
    }

    /// Refuses to touch an account with SYSTEM_USER to one who has it not.
    pub(super) fn refuse_system_user(&self, names: &[AccountName]) -> Result<(), SqlError> {
        if self.core.standing.rights.has_dynamic(SYSTEM_USER) {
            return Ok(());
        }
        let accounts = self.shared().accounts.snapshot();
        let is_system = |name: &AccountName| accounts.get(name).is_some_and(|account| account.grants.dynamic.contains_key(SYSTEM_USER));
        match names.iter().any(|name| *name != self.core.standing.account && is_system(name)) {
            true => Err(codes::specific_access_denied_error(SYSTEM_USER)),
            false => Ok(()),
        }
    }

    pub(super) fn notes(&mut self, notes: Vec<SqlError>) {
        for error in notes {
            self.core.warn_of_account(error.into_warning(WarningLevel::Note));
        }
    }
}

impl crate::context::Core {
    pub(super) fn warn_of_account(&mut self, warning: Warning) {
        executor::StatementContext::warn(self, warning);
    }
}

/// 1396 for some accounts.
pub(super) fn failed(operation: &str, names: &[AccountName], why: &str) -> SqlError {
    let listed: Vec<String> = names.iter().map(|name| format!("{}{why}", name.shown())).collect();
    codes::cannot_user(operation, listed.join(","))
}

pub(super) const EXISTS: &str = " (User account already exists)";
pub(super) const MISSING: &str = " (User account does not exist)";

/// The names that a statement gives, those in `names` without repeating one.
pub(super) fn names_of(session: &ClientSession, accounts: &[ast::Account<'_>]) -> Result<Vec<AccountName>, SqlError> {
    accounts.iter().map(|account| checked_name(session, account)).collect()
}

fn checked_name(session: &ClientSession, account: &ast::Account<'_>) -> Result<AccountName, SqlError> {
    let name = account_name(&session.core, account);
    if name.host.chars().count() > HOST_CHARS_MAX {
        let start: String = name.host.chars().take(70).collect();
        return Err(codes::wrong_string_length(start, "host name", HOST_CHARS_MAX));
    }
    Ok(name)
}

struct Spec {
    name: AccountName,
    secret: NewSecret,
    retain: bool,
    discard: bool,
    replace: Option<Vec<u8>>,
}

fn specs(session: &ClientSession, users: &[UserSpec<'_>]) -> Result<Vec<Spec>, SqlError> {
    let policy = session.password_policy();
    let spec = |user: &UserSpec<'_>| {
        Ok(Spec {
            name: checked_name(session, &user.account)?,
            secret: secret::read(user.plugin, &user.secret, policy.random_chars)?,
            retain: user.retain_current,
            discard: user.discard_old,
            replace: user.replace.map(<[u8]>::to_vec),
        })
    };
    users.iter().map(spec).collect()
}

fn random_of(specs: &[Spec], made: &[AccountName]) -> Random {
    let shown = |spec: &Spec| Some((spec.name.clone(), spec.secret.random.clone().filter(|_| made.contains(&spec.name))?));
    specs.iter().filter_map(shown).collect()
}

fn create_users(session: &mut ClientSession, create: &ast::CreateUser<'_>) -> Result<Random, Outcome> {
    session.require_privilege(Privileges::CREATE_USER, "CREATE USER")?;
    let specs = specs(session, create.users)?;
    let policy = session.password_policy();
    let options: Vec<AccountOption<'_>> = create.options.to_vec();
    let defaults = match create.default_roles {
        Some(RoleSelection::List(roles)) => names_of(session, roles)?,
        _ => Vec::new(),
    };
    // They are given to the accounts that are made.
    let mut refusal = super::role::require_admin(session, &defaults).err();
    // One that is there is not touched, but asked for as if.
    let names: Vec<_> = specs.iter().map(|spec| spec.name.clone()).chain(defaults.iter().cloned()).collect();
    session.refuse_system_user(&names)?;
    let if_not_exists = create.if_clause;
    let specs = &specs;
    let (made, notes) = session.change_accounts(move |accounts| {
        let (mut made, mut existing) = (Vec::new(), Vec::new());
        for spec in specs {
            if accounts.contains(&spec.name) {
                existing.push(spec.name.clone());
                continue;
            }
            if let Some(error) = refusal.take() {
                return Err(error);
            }
            if let Some(missing) = defaults.iter().find(|role| !accounts.contains(role)) {
                return Err(codes::user_does_not_exist(shown(missing)));
            }
            let mut account = Account::new(spec.name.clone());
            apply(&mut account, &options)?;
            let expired = account.expired;
            secret::set(&mut account, &spec.secret, spec.retain, &policy)?;
            account.expired = expired;
            account.password_changed = policy.now;
            for role in &defaults {
                account.grants.roles.insert(role.clone(), false);
                account.grants.default_roles.insert(role.clone());
            }
            made.push(spec.name.clone());
            accounts.put(account);
        }
        if !existing.is_empty() && !if_not_exists {
            return Err(failed("CREATE USER", &existing, EXISTS));
        }
        Ok((made, existing.iter().map(|name| codes::user_already_exists(name.shown())).collect::<Vec<_>>()))
    })?;
    session.notes(notes);
    Ok(random_of(specs, &made))
}

fn alter_users(session: &mut ClientSession, alter: &ast::CreateUser<'_>) -> Result<Random, Outcome> {
    let specs = specs(session, alter.users)?;
    let own = session.core.standing.account.clone();
    // Another plugin is more than another password: it may be a weaker one.
    let only_own_password = specs.iter().all(|spec| spec.name == own && spec.secret.plugin.is_none()) && alter.options.is_empty();
    if session.core.standing.sandboxed && !(only_own_password && specs.iter().all(|spec| spec.secret.given)) {
        return Err(codes::must_change_password().into());
    }
    if !only_own_password {
        session.require_privilege(Privileges::CREATE_USER, "CREATE USER")?;
    }
    if specs.iter().any(|spec| spec.retain || spec.discard) {
        session.require_two_passwords()?;
    }
    session.refuse_system_user(&specs.iter().map(|spec| spec.name.clone()).collect::<Vec<_>>())?;
    for spec in &specs {
        check_replace(session, &spec.name, &spec.secret, spec.replace.as_deref())?;
    }
    let policy = session.password_policy();
    let options: Vec<AccountOption<'_>> = alter.options.to_vec();
    let defaults = match &alter.default_roles {
        Some(selection) => Some(super::role::Selected::read(session, selection)?),
        None => None,
    };
    let mandatory = mandatory_roles(session.shared(), &session.shared().accounts.snapshot());
    let if_exists = alter.if_clause;
    let specs = &specs;
    let (made, notes) = session.change_accounts(move |accounts| {
        let (mut made, mut missing) = (Vec::new(), Vec::new());
        for spec in specs {
            let Some(account) = accounts.change(&spec.name) else {
                missing.push(spec.name.clone());
                continue;
            };
            secret::set(account, &spec.secret, spec.retain, &policy)?;
            if spec.discard {
                account.retained.clear();
            }
            apply(account, &options)?;
            if let Some(selected) = &defaults {
                account.grants.default_roles = selected.of(account, &mandatory)?;
            }
            made.push(spec.name.clone());
        }
        if !missing.is_empty() && !if_exists {
            return Err(failed("ALTER USER", &missing, MISSING));
        }
        Ok((made, missing.iter().map(|name| codes::user_does_not_exist(name.shown())).collect::<Vec<_>>()))
    })?;
    if alter.options.iter().any(|option| matches!(option, AccountOption::Locked(false))) {
        session.shared().accounts.forget_usage(|name| made.contains(name));
    }
    session.notes(notes);
    Ok(random_of(specs, &made))
}

/// REPLACE 'current': needed from who changes its own password where that is asked for, and only there.
fn check_replace(session: &ClientSession, name: &AccountName, new: &NewSecret, replace: Option<&[u8]>) -> Result<(), SqlError> {
    let own = *name == session.core.standing.account;
    let accounts = session.shared().accounts.snapshot();
    let Some(account) = accounts.get(name) else { return Ok(()) };
    match replace {
        Some(_) if !own => Err(codes::current_password_not_required()),
        Some(current) => {
            let plugin = super::AuthPlugin::from_name(&account.plugin).unwrap_or_default();
            let right = secret::is_password(plugin, &account.stored, current);
            if right { Ok(()) } else { Err(codes::incorrect_current_password()) }
        }
        None => {
            let asked = account.require_current.unwrap_or_else(|| session.shared().number(variable!("password_require_current")) != 0);
            let privileged = session.core.standing.rights.global.has(Privileges::CREATE_USER);
            if own && new.given && asked && !privileged && !account.stored.is_empty() {
                return Err(codes::missing_current_password());
            }
            Ok(())
        }
    }
}

pub(super) fn drop_users(
    session: &mut ClientSession,
    users: &[ast::Account<'_>],
    if_exists: bool,
    operation: &'static str,
) -> Result<Random, Outcome> {
    let names = names_of(session, users)?;
    session.refuse_system_user(&names)?;
    let mandatory = mandatory_roles(session.shared(), &session.shared().accounts.snapshot());
    if let Some(role) = names.iter().find(|name| mandatory.contains(name)) {
        return Err(codes::mandatory_role(shown(role)).into());
    }
    let gone = names.clone();
    let notes = session.change_accounts(move |accounts| {
        let missing: Vec<AccountName> = names.iter().filter(|name| !accounts.remove(name)).cloned().collect();
        if !missing.is_empty() && !if_exists {
            return Err(failed(operation, &missing, MISSING));
        }
        Ok(missing.iter().map(|name| codes::user_does_not_exist(name.shown())).collect::<Vec<_>>())
    })?;
    session.shared().accounts.forget_usage(|name| gone.contains(name));
    session.notes(notes);
    Ok(Random::new())
}

fn rename_users(session: &mut ClientSession, pairs: &[(ast::Account<'_>, ast::Account<'_>)]) -> Result<Random, Outcome> {
    session.require_privilege(Privileges::CREATE_USER, "CREATE USER")?;
    let mut renamed = Vec::with_capacity(pairs.len());
    for (from, to) in pairs {
        renamed.push((checked_name(session, from)?, checked_name(session, to)?));
    }
    session.refuse_system_user(&renamed.iter().map(|(from, _)| from.clone()).collect::<Vec<_>>())?;
    session.change_accounts(move |accounts| {
        for (from, to) in &renamed {
            if accounts.is_role(from) {
                return Err(codes::rename_role());
            }
            if accounts.contains(to) || !accounts.rename(from, to) {
                return Err(failed("RENAME USER", std::slice::from_ref(from), ""));
            }
        }
        Ok(())
    })?;
    Ok(Random::new())
}

fn set_password(session: &mut ClientSession, set: &ast::SetPassword<'_>) -> Result<Random, Outcome> {
    let own = session.core.standing.account.clone();
    let name = match &set.user {
        Some(user) => checked_name(session, user)?,
        None => own.clone(),
    };
    if name != own && !session.core.standing.rights.database("mysql").has(Privileges::UPDATE) {
        return Err(codes::dbaccess_denied_error(&own.user, &own.host, "mysql").into());
    }
    if session.core.standing.sandboxed && name != own {
        return Err(codes::must_change_password().into());
    }
    if set.retain_current {
        session.require_two_passwords()?;
    }
    session.refuse_system_user(std::slice::from_ref(&name))?;
    let policy = session.password_policy();
    let new = secret::read(None, &set.secret, policy.random_chars)?;
    check_replace(session, &name, &new, set.replace)?;
    let retain = set.retain_current;
    let (changed, made) = (name.clone(), &new);
    session.change_accounts(move |accounts| match accounts.change(&changed) {
        Some(account) => secret::set(account, made, retain, &policy),
        None => Err(codes::password_no_match()),
    })?;
    Ok(new.random.map(|password| (name, password)).into_iter().collect())
}

fn bounded(number: u64, max: u64, what: &str) -> Result<u16, SqlError> {
    match u16::try_from(number) {
        Ok(number) if u64::from(number) <= max => Ok(number),
        _ => Err(codes::wrong_value(what, number)),
    }
}

/// Takes options into an account.
fn apply(account: &mut Account, options: &[AccountOption<'_>]) -> Result<(), SqlError> {
    for option in options {
        match *option {
            AccountOption::RequireNone => account.require = Require::None,
            AccountOption::RequireSsl => account.require = Require::Ssl,
            AccountOption::RequireX509 => account.require = Require::X509,
            AccountOption::Require(word, value) => require(account, options, word, value),
            AccountOption::Limit(word, number) => {
                let number = u32::try_from(number).unwrap_or(u32::MAX);
                let limits = &mut account.limits;
                let limit = match word {
                    "MAX_QUERIES_PER_HOUR" => &mut limits.queries,
                    "MAX_UPDATES_PER_HOUR" => &mut limits.updates,
                    "MAX_CONNECTIONS_PER_HOUR" => &mut limits.connections,
                    _ => &mut limits.user_connections,
                };
                *limit = number;
            }
            AccountOption::Locked(locked) => account.locked = locked,
            AccountOption::Password(words, number) => password_option(account, words, number)?,
            AccountOption::Comment(text) => {
                let comment = Json::String(String::from_utf8_lossy(text).into_owned());
                patch(account, Json::Object(json::Object::from_members(vec![("comment".to_owned(), comment)])))?;
            }
            AccountOption::Attribute(text) => {
                let given = json::parse(text).map_err(|_| codes::invalid_user_attribute_json())?;
                if !matches!(given, Json::Object(_)) {
                    return Err(codes::invalid_user_attribute_json());
                }
                patch(account, given)?;
            }
        }
    }
    Ok(())
}

/// SUBJECT, ISSUER and CIPHER: the first of a statement begins anew.
fn require(account: &mut Account, options: &[AccountOption<'_>], word: &str, value: &[u8]) {
    let is_first = matches!(options.iter().find(|o| matches!(o, AccountOption::Require(..))), Some(AccountOption::Require(first, _)) if *first == word);
    if is_first || !matches!(account.require, Require::Specified { .. }) {
        account.require = Require::Specified { subject: String::new(), issuer: String::new(), cipher: String::new() };
    }
    if let Require::Specified { subject, issuer, cipher } = &mut account.require {
        let part = match word {
            "SUBJECT" => subject,
            "ISSUER" => issuer,
            _ => cipher,
        };
        *part = String::from_utf8_lossy(value).into_owned();
    }
}

fn password_option(account: &mut Account, words: &str, number: Option<u64>) -> Result<(), SqlError> {
    const MAX: u64 = u16::MAX as u64;
    match (words, number) {
        ("EXPIRE", _) => account.expired = true,
        ("EXPIRE DEFAULT", _) => (account.lifetime, account.expired) = (Lifetime::Default, false),
        ("EXPIRE NEVER", _) => (account.lifetime, account.expired) = (Lifetime::Never, false),
        ("EXPIRE INTERVAL", Some(0)) => return Err(codes::wrong_value("DAY", 0)),
        ("EXPIRE INTERVAL", Some(days)) => (account.lifetime, account.expired) = (Lifetime::Days(bounded(days, MAX, "DAY")?), false),
        ("HISTORY", count) => account.history = count.map(|count| bounded(count, MAX, "PASSWORD HISTORY")).transpose()?,
        ("REUSE INTERVAL", days) => account.reuse_days = days.map(|days| bounded(days, MAX, "DAY")).transpose()?,
        ("REQUIRE CURRENT", _) => account.require_current = Some(true),
        ("REQUIRE CURRENT OPTIONAL", _) => account.require_current = Some(false),
        ("REQUIRE CURRENT DEFAULT", _) => account.require_current = None,
        ("FAILED_LOGIN_ATTEMPTS", Some(count)) => {
            account.failed_login_attempts = bounded(count, ATTEMPTS_MAX, "FAILED_LOGIN_ATTEMPTS")?;
        }
        ("PASSWORD_LOCK_TIME", Some(days)) => account.password_lock_days = i32::from(bounded(days, ATTEMPTS_MAX, "PASSWORD_LOCK_TIME")?),
        ("PASSWORD_LOCK_TIME", None) => account.password_lock_days = -1,
        (other, _) => return Err(codes::not_supported_yet(format!("PASSWORD {other}"))),
    }
    Ok(())
}

/// Takes members into the account's attribute; what is null there goes.
fn patch(account: &mut Account, members: Json) -> Result<(), SqlError> {
    let old = match account.attribute.is_empty() {
        true => Json::Object(json::Object::new()),
        false => json::parse(account.attribute.as_bytes()).map_err(|_| codes::invalid_user_attribute_json())?,
    };
    let text = json::to_text(&json::merge_patch(old, members)).map_err(|_| codes::invalid_user_attribute_json())?;
    account.attribute = String::from_utf8(text).map_err(|_| codes::invalid_user_attribute_json())?;
    Ok(())
}
