//! Accounts, roles, GRANT and REVOKE.

use super::{PResult, Parser};
use crate::ast::{Account, AccountOption, CreateUser, Grant, GrantObject, GrantRole, ObjectName, Privilege, Secret, Statement, UserSpec};
use crate::keyword::Kw;
use crate::lexer::{Tok, Token};
use crate::text;

impl<'a> Parser<'a> {
    /// `'user'@'host'`, `CURRENT_USER[()]`.
    pub(super) fn account(&mut self) -> PResult<Account<'a>> {
        if self.at(Kw::CURRENT_USER) || (self.at(Kw::USER) && self.peek().tok == Tok::LParen) {
            self.bump();
            if self.eat_tok(Tok::LParen) {
                self.expect_tok(Tok::RParen)?;
            }
            return Ok(Account::Current);
        }
        let user = self.name_or_string()?;
        if user.chars().count() > 32 {
            let message =
                format!("String '{}' is too long for user name (should be no longer than 32)", user.chars().take(70).collect::<String>());
            return Err(Box::new(crate::ParseError::new(1470, "HY000", message)));
        }
        Ok(Account::Named { user, host: self.account_host()? })
    }

    fn account_host(&mut self) -> PResult<&'a str> {
        if self.at_tok(Tok::UserVar) {
            let host = self.user_var()?;
            let lower = self.arena.alloc_str(host);
            lower.make_ascii_lowercase();
            return Ok(lower);
        }
        if self.eat_tok(Tok::At) {
            return self.name_or_string();
        }
        Ok("%")
    }

    pub(super) fn accounts(&mut self) -> PResult<&'a [Account<'a>]> {
        self.list(Self::account)
    }

    /// CREATE USER and ALTER USER; USER is next.
    #[inline(never)]
    pub(super) fn create_user(&mut self, alter: bool) -> PResult<Statement<'a>> {
        self.bump();
        let if_clause = if alter { self.if_exists()? } else { self.if_not_exists()? };
        let first = self.user_spec()?;
        let mut default_roles = None;
        if alter && self.at(Kw::DEFAULT) {
            self.bump();
            self.expect(Kw::ROLE)?;
            default_roles = Some(self.role_selection(false)?);
        }
        let mut users = self.vec();
        users.push(first);
        while self.eat_tok(Tok::Comma) {
            users.push(self.user_spec()?);
        }
        if !alter && self.at(Kw::DEFAULT) {
            self.bump();
            self.expect(Kw::ROLE)?;
            default_roles = Some(self.role_selection(false)?);
        }
        let options = self.account_options()?;
        let create = self.arena.alloc(CreateUser { if_clause, users: users.into_bump_slice(), default_roles, options });
        Ok(if alter { Statement::AlterUser(create) } else { Statement::CreateUser(create) })
    }

    fn user_spec(&mut self) -> PResult<UserSpec<'a>> {
        let account = self.account()?;
        let mut spec = UserSpec { account, plugin: None, secret: Secret::None, replace: None, retain_current: false, discard_old: false };
        if self.eat(Kw::IDENTIFIED) {
            if self.eat(Kw::WITH) {
                spec.plugin = Some(self.name_or_string()?);
            }
            if self.eat(Kw::BY) {
                if self.eat(Kw::RANDOM) {
                    self.expect(Kw::PASSWORD)?;
                    spec.secret = Secret::Random;
                } else {
                    spec.secret = Secret::Password(self.string()?);
                }
            } else if spec.plugin.is_some() && self.eat(Kw::AS) {
                spec.secret = Secret::Hash(self.text_or_hex()?);
            } else if spec.plugin.is_none() {
                return Err(self.unexpected());
            }
            if self.eat(Kw::REPLACE) {
                spec.replace = Some(self.string()?);
            }
            if self.eat(Kw::RETAIN) {
                self.expect(Kw::CURRENT)?;
                self.expect(Kw::PASSWORD)?;
                spec.retain_current = true;
            }
            if self.at(Kw::AND) {
                return Err(Box::new(crate::ParseError::unsupported("multi-factor authentication")));
            }
        } else if self.eat(Kw::DISCARD) {
            self.expect(Kw::OLD)?;
            self.expect(Kw::PASSWORD)?;
            spec.discard_old = true;
        }
        Ok(spec)
    }

    fn account_options(&mut self) -> PResult<&'a [AccountOption<'a>]> {
        let mut options = self.vec();
        if self.eat(Kw::REQUIRE) {
            self.require_options(&mut options)?;
        }
        if self.eat(Kw::WITH) {
            loop {
                let kw = self.tok.kw;
                if !limit_word(kw) {
                    return Err(self.unexpected());
                }
                self.bump();
                options.push(AccountOption::Limit(kw.text(), self.int()?));
                if !limit_word(self.tok.kw) {
                    break;
                }
            }
        }
        loop {
            match self.tok.kw {
                Kw::ACCOUNT => {
                    self.bump();
                    let locked = self.eat(Kw::LOCK);
                    if !locked {
                        self.expect(Kw::UNLOCK)?;
                    }
                    options.push(AccountOption::Locked(locked));
                }
                Kw::PASSWORD | Kw::FAILED_LOGIN_ATTEMPTS | Kw::PASSWORD_LOCK_TIME => options.push(self.password_option()?),
                _ => break,
            }
        }
        if self.eat(Kw::COMMENT) {
            options.push(AccountOption::Comment(self.string()?));
        } else if self.eat(Kw::ATTRIBUTE) {
            options.push(AccountOption::Attribute(self.string()?));
        }
        Ok(options.into_bump_slice())
    }

    fn require_options(&mut self, options: &mut bumpalo::collections::Vec<'a, AccountOption<'a>>) -> PResult<()> {
        match self.tok.kw {
            Kw::NONE => options.push(AccountOption::RequireNone),
            Kw::SSL => options.push(AccountOption::RequireSsl),
            Kw::X509 => options.push(AccountOption::RequireX509),
            _ => {
                let mut any = false;
                loop {
                    let kw = self.tok.kw;
                    if !matches!(kw, Kw::SUBJECT | Kw::ISSUER | Kw::CIPHER) {
                        return if any { Ok(()) } else { Err(self.unexpected()) };
                    }
                    self.bump();
                    options.push(AccountOption::Require(kw.text(), self.string()?));
                    self.eat(Kw::AND);
                    any = true;
                }
            }
        }
        self.bump();
        Ok(())
    }

    fn password_option(&mut self) -> PResult<AccountOption<'a>> {
        let kw = self.tok.kw;
        self.bump();
        match kw {
            Kw::FAILED_LOGIN_ATTEMPTS => return Ok(AccountOption::Password("FAILED_LOGIN_ATTEMPTS", Some(self.int()?))),
            Kw::PASSWORD_LOCK_TIME => {
                let days = if self.eat(Kw::UNBOUNDED) { None } else { Some(self.int()?) };
                return Ok(AccountOption::Password("PASSWORD_LOCK_TIME", days));
            }
            _ => {}
        }
        let kw = self.tok.kw;
        self.bump();
        match kw {
            Kw::EXPIRE => {
                if self.eat(Kw::DEFAULT) {
                    return Ok(AccountOption::Password("EXPIRE DEFAULT", None));
                }
                if self.eat(Kw::NEVER) {
                    return Ok(AccountOption::Password("EXPIRE NEVER", None));
                }
                if self.eat(Kw::INTERVAL) {
                    let days = self.int()?;
                    self.expect(Kw::DAY)?;
                    return Ok(AccountOption::Password("EXPIRE INTERVAL", Some(days)));
                }
                Ok(AccountOption::Password("EXPIRE", None))
            }
            Kw::HISTORY => {
                let count = if self.eat(Kw::DEFAULT) { None } else { Some(self.int()?) };
                Ok(AccountOption::Password("HISTORY", count))
            }
            Kw::REUSE => {
                self.expect(Kw::INTERVAL)?;
                let days = if self.eat(Kw::DEFAULT) {
                    None
                } else {
                    let days = self.int()?;
                    self.expect(Kw::DAY)?;
                    Some(days)
                };
                Ok(AccountOption::Password("REUSE INTERVAL", days))
            }
            Kw::REQUIRE => {
                self.expect(Kw::CURRENT)?;
                if self.eat(Kw::DEFAULT) {
                    return Ok(AccountOption::Password("REQUIRE CURRENT DEFAULT", None));
                }
                if self.eat(Kw::OPTIONAL) {
                    return Ok(AccountOption::Password("REQUIRE CURRENT OPTIONAL", None));
                }
                Ok(AccountOption::Password("REQUIRE CURRENT", None))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// GRANT and REVOKE.
    #[inline(never)]
    pub(super) fn grant(&mut self) -> PResult<Statement<'a>> {
        let revoke = self.at(Kw::REVOKE);
        self.bump();
        let if_exists = revoke && self.if_exists()?;
        let mut grant =
            Grant { if_exists, ignore_unknown: false, privileges: &[], on: None, users: &[], with_grant_option: false, proxy: None };
        if self.at(Kw::PROXY) && self.peek().kw == Kw::ON {
            self.bump();
            self.bump();
            grant.proxy = Some(self.account()?);
            self.grant_users(revoke, &mut grant)?;
            return Ok(self.grant_node(revoke, grant));
        }
        let (items, roles) = self.privileges()?;
        if self.eat(Kw::ON) {
            grant.privileges = items;
            grant.on = Some(self.grant_object()?);
            self.grant_users(revoke, &mut grant)?;
            return Ok(self.grant_node(revoke, grant));
        }
        if revoke && matches!(items, [Privilege { name: "ALL", .. }, Privilege { name: "GRANT OPTION", .. }]) {
            self.grant_users(revoke, &mut grant)?;
            return Ok(self.grant_node(revoke, grant));
        }
        let Some(roles) = roles else { return Err(self.unexpected()) };
        self.expect(if revoke { Kw::FROM } else { Kw::TO })?;
        let users = self.accounts()?;
        let mut with_admin_option = false;
        if !revoke && self.eat(Kw::WITH) {
            self.expect(Kw::ADMIN)?;
            self.expect(Kw::OPTION)?;
            with_admin_option = true;
        }
        let ignore_unknown = revoke && self.ignore_unknown_user()?;
        let node = self.arena.alloc(GrantRole { if_exists, roles, users, with_admin_option, ignore_unknown });
        Ok(if revoke { Statement::RevokeRole(node) } else { Statement::GrantRole(node) })
    }

    fn grant_node(&self, revoke: bool, grant: Grant<'a>) -> Statement<'a> {
        let node = self.arena.alloc(grant);
        if revoke { Statement::Revoke(node) } else { Statement::Grant(node) }
    }

    fn ignore_unknown_user(&mut self) -> PResult<bool> {
        if !self.eat(Kw::IGNORE) {
            return Ok(false);
        }
        self.expect(Kw::UNKNOWN)?;
        self.expect(Kw::USER)?;
        Ok(true)
    }

    fn grant_users(&mut self, revoke: bool, grant: &mut Grant<'a>) -> PResult<()> {
        self.expect(if revoke { Kw::FROM } else { Kw::TO })?;
        grant.users = self.accounts()?;
        if revoke {
            grant.ignore_unknown = self.ignore_unknown_user()?;
        } else if self.eat(Kw::WITH) {
            self.expect(Kw::GRANT)?;
            self.expect(Kw::OPTION)?;
            grant.with_grant_option = true;
        }
        if !revoke && self.at(Kw::AS) {
            return Err(Box::new(crate::ParseError::unsupported("GRANT … AS")));
        }
        Ok(())
    }

    /// Privileges; also as roles when every one of them could be a role.
    fn privileges(&mut self) -> PResult<(&'a [Privilege<'a>], Option<&'a [Account<'a>]>)> {
        let (mut privileges, mut roles) = (self.vec(), self.vec());
        let mut all_roles = true;
        loop {
            let first = self.tok;
            if matches!(first.tok, Tok::String | Tok::Quoted) || matches!(self.peek().tok, Tok::UserVar | Tok::At) {
                roles.push(self.account()?);
                privileges.push(Privilege { name: "", columns: &[] });
            } else {
                let (name, role) = self.privilege_words()?;
                let list = self.tok;
                let columns = self.optional_names()?;
                if !columns.is_empty() && !matches!(name, "SELECT" | "INSERT" | "UPDATE" | "REFERENCES") {
                    return Err(self.error_at(list));
                }
                match role {
                    Some(role) if columns.is_empty() => roles.push(role),
                    _ => all_roles = false,
                }
                privileges.push(Privilege { name, columns });
            }
            if !self.eat_tok(Tok::Comma) {
                break;
            }
        }
        let roles = if all_roles { Some(roles.into_bump_slice()) } else { None };
        Ok((privileges.into_bump_slice(), roles))
    }

    /// The words of one privilege in upper case with single spaces, and the role a single word could be.
    fn privilege_words(&mut self) -> PResult<(&'a str, Option<Account<'a>>)> {
        let first = self.tok;
        let mut words = bumpalo::collections::String::new_in(self.arena);
        let mut count = 0;
        while matches!(self.tok.tok, Tok::Keyword | Tok::Ident) && !matches!(self.tok.kw, Kw::ON | Kw::TO | Kw::FROM) {
            if count > 0 {
                words.push(' ');
            }
            for c in text::utf8(self.bytes(self.tok))?.chars() {
                words.push(c.to_ascii_uppercase());
            }
            count += 1;
            if count > 4 {
                return Err(self.unexpected());
            }
            self.bump();
        }
        if count == 0 {
            return Err(self.unexpected());
        }
        let mut name = words.into_bump_str();
        if name == "ALL PRIVILEGES" {
            name = "ALL";
        }
        let known = Self::is_name(first);
        if count > 1 || !known {
            if !is_static_privilege(name) {
                return Err(self.error_at(first));
            }
            return Ok((name, None));
        }
        Ok((name, Some(Account::Named { user: self.name_text(first)?, host: "%" })))
    }

    fn grant_object(&mut self) -> PResult<GrantObject<'a>> {
        let kind = self.tok.kw;
        if matches!(kind, Kw::TABLE | Kw::FUNCTION | Kw::PROCEDURE) {
            self.bump();
        }
        if self.eat_tok(Tok::Star) {
            if self.eat_tok(Tok::Dot) {
                self.expect_tok(Tok::Star)?;
                return Ok(GrantObject::Global);
            }
            return Ok(GrantObject::CurrentDatabase);
        }
        let first = self.name()?;
        let name = if self.eat_tok(Tok::Dot) {
            if self.eat_tok(Tok::Star) {
                return Ok(GrantObject::Database(first));
            }
            ObjectName { schema: Some(first), name: self.name()? }
        } else {
            ObjectName { schema: None, name: first }
        };
        Ok(match kind {
            Kw::FUNCTION => GrantObject::Function(name),
            Kw::PROCEDURE => GrantObject::Procedure(name),
            _ => GrantObject::Table(name),
        })
    }

    /// KILL.
    pub(super) fn kill(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        let kind = match self.tok {
            Token { kw: Kw::QUERY, .. } => {
                self.bump();
                crate::ast::KillKind::Query
            }
            Token { kw: Kw::CONNECTION, .. } => {
                self.bump();
                crate::ast::KillKind::Connection
            }
            _ => crate::ast::KillKind::Connection,
        };
        Ok(Statement::Kill { kind, id: self.expr_ref()? })
    }
}

fn limit_word(kw: Kw) -> bool {
    matches!(kw, Kw::MAX_QUERIES_PER_HOUR | Kw::MAX_UPDATES_PER_HOUR | Kw::MAX_CONNECTIONS_PER_HOUR | Kw::MAX_USER_CONNECTIONS)
}

/// Static privileges whose words are reserved or several.
fn is_static_privilege(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "ALL",
        "ALTER",
        "ALTER ROUTINE",
        "CREATE",
        "CREATE ROLE",
        "CREATE ROUTINE",
        "CREATE TABLESPACE",
        "CREATE TEMPORARY TABLES",
        "CREATE USER",
        "CREATE VIEW",
        "DELETE",
        "DROP",
        "DROP ROLE",
        "GRANT OPTION",
        "INDEX",
        "INSERT",
        "LOCK TABLES",
        "REFERENCES",
        "REPLICATION CLIENT",
        "REPLICATION SLAVE",
        "SELECT",
        "SHOW DATABASES",
        "SHOW VIEW",
        "TRIGGER",
        "UPDATE",
        "USAGE",
    ];
    NAMES.contains(&name)
}
