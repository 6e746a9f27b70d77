//! Names of accounts in statements and variables.

use crate::context::Core;
use ::accounts::{AccountName, quoted};
use parser::ast::Account;

/// The account that a statement names.
pub(crate) fn account_name(core: &Core, account: &Account<'_>) -> AccountName {
    match account {
        Account::Named { user, host } => AccountName::new(user, host),
        Account::Current => core.standing.account.clone(),
    }
}

/// As errors about roles show an account.
pub(crate) fn shown(name: &AccountName) -> String {
    format!("{}@{}", quoted(&name.user), quoted(&name.host))
}

/// The roles that a text lists: names with and without quotes and hosts, commas between them. `None` when it is no such list.
pub(crate) fn role_list(text: &str) -> Option<Vec<AccountName>> {
    let mut rest = text.trim_start();
    let mut names = Vec::new();
    while !rest.is_empty() {
        let user;
        (user, rest) = word(rest)?;
        let mut host = "%".to_owned();
        if let Some(after) = rest.trim_start().strip_prefix('@') {
            (host, rest) = word(after.trim_start())?;
        }
        if user.is_empty() {
            return None;
        }
        names.push(AccountName::new(&user, &host));
        rest = rest.trim_start();
        match rest.strip_prefix(',') {
            Some(after) => {
                rest = after.trim_start();
                if rest.is_empty() {
                    return None;
                }
            }
            None if rest.is_empty() => {}
            None => return None,
        }
    }
    Some(names)
}

/// A word, quoted or not, and what follows it.
fn word(text: &str) -> Option<(String, &str)> {
    let first = text.chars().next()?;
    if !matches!(first, '\'' | '"' | '`') {
        let end = text.find([',', '@', ' ', '\t']).unwrap_or(text.len());
        return Some((text[..end].to_owned(), &text[end..]));
    }
    let mut out = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c != first {
            out.push(c);
        } else if chars.peek().is_some_and(|(_, next)| *next == first) {
            out.push(c);
            chars.next();
        } else {
            return Some((out, &text[at + c.len_utf8()..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_roles_are_read() {
        let read = |text: &str| role_list(text).map(|names| names.iter().map(AccountName::shown).collect::<Vec<_>>().join(","));
        assert_eq!(read("").as_deref(), Some(""));
        assert_eq!(read("r1, `r``2`@'LOCALHOST' ,r3@10.%").as_deref(), Some("'r1'@'%','r`2'@'localhost','r3'@'10.%'"));
        for wrong in ["r1,", ",", "'r1", "@x", "a b"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
