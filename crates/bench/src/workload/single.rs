//! Workloads on single rows whose totals tell whether anything was lost: one hot row, and a bank.

use super::{Client, Rows, expect_rows, in_parallel, statements};
use crate::blocking::Blocking;
use crate::distribution::Keys;
use crate::options::{PrepareOptions, RunOptions, WorkloadName};
use crate::session::{Done, Param, Statement};

const BALANCE: i64 = 1000;

const UPDATE: usize = 0;
const BEGIN: usize = 1;
const COMMIT: usize = 2;
const READ: usize = 3;
const PAY: usize = 4;

/// Hot row or bank.
pub struct Single {
    name: WorkloadName,
    accounts: u64,
    keys: Keys,
    statements: Vec<Statement>,
}

impl Single {
    pub(super) fn new(options: &RunOptions) -> Single {
        let statements = statements(&[
            "UPDATE hot_row SET n=n+1 WHERE id=1",
            "BEGIN",
            "COMMIT",
            "SELECT balance FROM bank WHERE id=? FOR UPDATE",
            "UPDATE bank SET balance=balance+? WHERE id=?",
        ]);
        Single { name: options.work.workload, accounts: options.work.size.accounts, keys: options.work.keys, statements }
    }

    pub(super) async fn transaction(&self, client: &mut Client) -> Done {
        let (all, session) = (&self.statements, &mut client.session);
        match self.name {
            WorkloadName::HotRow => session.run(all, UPDATE, &[]).await,
            WorkloadName::HotRowTransaction => {
                session.run(all, BEGIN, &[]).await?;
                session.run(all, UPDATE, &[]).await?;
                session.run(all, COMMIT, &[]).await
            }
            _ => {
                let from = self.keys.draw(&mut client.random, self.accounts);
                let mut to = self.keys.draw(&mut client.random, self.accounts);
                if to == from {
                    to = from % self.accounts + 1;
                }
                let amount = client.random.between(1, 10) as i64;
                session.run(all, BEGIN, &[]).await?;
                // In the order of payment, not of keys: deadlocks are part of the workload.
                for account in [from, to] {
                    session.run(all, READ, &[Param::from(account)]).await?;
                }
                for (account, amount) in [(from, -amount), (to, amount)] {
                    client.session.run(all, PAY, &[Param::from(amount), Param::from(account)]).await?;
                    expect_rows(client, 1, "a payment")?;
                }
                client.session.run(all, COMMIT, &[]).await
            }
        }
    }

    pub(super) fn total(&self, control: &mut Blocking) -> Option<i64> {
        control.number(if self.name == WorkloadName::Bank { "SELECT SUM(balance) FROM bank" } else { "SELECT n FROM hot_row" }).ok()
    }

    pub(super) fn verdict(&self, change: i64, acknowledged: u64, unknown: u64) -> String {
        let right = match self.name {
            WorkloadName::Bank => change == 0,
            _ => change >= acknowledged as i64 && change <= (acknowledged + unknown) as i64,
        };
        if right { "ok".to_owned() } else { format!("WRONG: changed by {change}, {acknowledged} acknowledged, {unknown} unknown") }
    }
}

pub(super) fn prepare(options: &PrepareOptions) -> Result<(), String> {
    in_parallel(options, 1, |connection, _| {
        if options.workload == WorkloadName::Bank {
            connection.must("DROP TABLE IF EXISTS bank")?;
            connection.must("CREATE TABLE bank (id INT NOT NULL PRIMARY KEY, balance BIGINT NOT NULL)")?;
            let mut rows = Rows::new(connection, "bank");
            (1..=options.size.accounts).try_for_each(|id| rows.add(format_args!("{id},{BALANCE}")))?;
            return rows.end();
        }
        connection.must("DROP TABLE IF EXISTS hot_row")?;
        connection.must("CREATE TABLE hot_row (id INT NOT NULL PRIMARY KEY, n BIGINT NOT NULL)")?;
        connection.must("INSERT INTO hot_row VALUES (1,0)")
    })
}

pub(super) fn check_bank(control: &mut Blocking, accounts: u64) -> Result<String, String> {
    let (sum, count) = (control.number("SELECT SUM(balance) FROM bank")?, control.number("SELECT COUNT(*) FROM bank")?);
    let expected = accounts as i64 * BALANCE;
    if (sum, count) == (expected, accounts as i64) {
        Ok(format!("bank: {sum} in {count} accounts, as it must be"))
    } else {
        Err(format!("bank: {sum} in {count} accounts, not {expected} in {accounts}"))
    }
}
