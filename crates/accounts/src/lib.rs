//! Accounts, roles and what they may do: the model, without disk, sessions or statements.
//!
//! # Invariants
//! 1. An [`Accounts`] is immutable once others see it: a change makes a copy (accounts are shared by `Arc`), writes it down and swaps it in.
//! 2. [`Rights`] are all that an account and its active roles may do, merged once: a check looks names up, and neither allocates nor latches.
//! 3. An account's record is whole: password, options, privileges, roles. Dropping it leaves nothing behind but edges from and to roles, which
//!    [`Accounts::remove`] takes away too.
//! 4. A privilege that is not held is never assumed: what cannot be decoded is an error, and no account.
//!
//! # Not here
//! The checks that statements need (crate `session`), the passwords' forms (crate `protocol`), where records are kept (crate `catalog`).
//!
//! # Start at
//! [`Accounts`], [`Account`], [`Rights`].

mod account;
mod codec;
mod host;
mod privilege;
mod registry;
mod rights;
mod text;

pub use account::{Account, AccountName, DEFAULT_PLUGIN, Grants, Lifetime, Limits, Require, TableGrant};
pub use codec::{decode, encode};
pub use host::{Client, host_matches, like};
pub use privilege::{DYNAMIC, Level, PRIVILEGES, PrivilegeInfo, Privileges, dynamic_name, is_for_columns, privilege};
pub use registry::Accounts;
pub use rights::{Rights, TableRights};
pub use text::{ShowSecret, create_user, grants, quoted};
