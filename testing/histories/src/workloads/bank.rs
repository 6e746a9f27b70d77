//! A bank: transfers, a ledger outside of the server, readers that note what they saw, kill -9 in the middle.

use super::{Client, Done, Load, Tried, connect, create, in_parallel};
use crate::levels::Level;
use crate::place::{Place, is_broken};
use env::SplitMix64;
use mysql::prelude::Queryable;
use std::collections::HashSet;
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Mutex, Rank};

/// Accounts: few enough that transfers meet.
const ACCOUNTS: u64 = 50;
/// What each begins with.
const START_BALANCE: i64 = 1000;
/// Readers beside the transfers.
const READERS: usize = 2;

/// What is known outside of the server.
struct Ledger {
    /// Transfers whose commit was acknowledged: worker and number.
    acknowledged: Mutex<Vec<(usize, u64)>>,
    /// The newest transfer of each worker that a plain read has shown, and the highest counter.
    seen: Vec<AtomicU64>,
    seen_counter: AtomicU64,
}

/// Transfers in no order of locking; all also increment one counter, so that each depends on the one before. After each kill: what was
/// acknowledged is there, with all that it depends on; what a plain read had shown is there; the totals are exact.
pub fn bank(place: &Place, load: &Load) -> Result<Done, String> {
    let rows: Vec<String> = (0..ACCOUNTS).map(|id| format!("({id}, {}, {START_BALANCE})", id % 7)).collect();
    create(
        place,
        &[
            "CREATE TABLE account (id INT PRIMARY KEY, branch INT NOT NULL, balance BIGINT NOT NULL, KEY branch (branch), KEY balance (balance))".into(),
            "CREATE TABLE transfer (worker INT, number INT, `from` INT, `to` INT, amount INT, PRIMARY KEY (worker, number))".into(),
            "CREATE TABLE counter (id INT PRIMARY KEY, n BIGINT NOT NULL)".into(),
            "INSERT INTO counter VALUES (1, 0)".into(),
            format!("INSERT INTO account VALUES {}", rows.join(", ")),
        ],
    )?;
    let ledger = Ledger {
        acknowledged: Mutex::new(Rank::Leaf, Vec::new()),
        seen: (0..load.connections).map(|_| AtomicU64::new(0)).collect(),
        seen_counter: AtomicU64::new(0),
    };
    let tried: Vec<AtomicU64> = (0..load.connections).map(|_| AtomicU64::new(0)).collect();
    let mut all = Done::default();
    let mut random = SplitMix64::new(load.seed);
    for round in 0..=load.kills {
        let txns = (load.connections * load.txns) as u64;
        // The last round ends by itself.
        let until_kill = AtomicU64::new(if round < load.kills { 1 + txns / 4 + random.below(txns / 2) } else { u64::MAX });
        let over = AtomicBool::new(false);
        let (ledger, tried, over, until_kill) = (&ledger, &tried, &over, &until_kill);
        let done = std::thread::scope(|scope| {
            let readers: Vec<_> = (0..READERS).map(|number| scope.spawn(move || read(place, ledger, number, over))).collect();
            let done = in_parallel(place, load, |worker, client| {
                let mut random = SplitMix64::new(load.seed ^ (round * 100_000 + worker) as u64);
                for _ in 0..load.txns {
                    let number = tried[worker].fetch_add(1, Ordering::Relaxed) + 1;
                    if !transfer(client, &mut random, ledger, worker, number)? && !load.faults {
                        return Ok(());
                    }
                    // Whoever makes the chosen transfer kills, in the middle of the others' work.
                    if until_kill.fetch_sub(1, Ordering::Relaxed) == 1 {
                        place.restart();
                    }
                }
                Ok(())
            });
            over.store(true, Ordering::Release);
            for reader in readers {
                reader.join().unwrap_or_else(|_| Err("a reader failed".into()))?;
            }
            done
        })?;
        all.add(&done);
        all.elapsed += done.elapsed;
        verify(place, ledger, tried, load).map_err(|why| format!("round {round}: {why}"))?;
    }
    Ok(all)
}

/// One transfer; `false` when the connection broke.
fn transfer(client: &mut Client<'_>, random: &mut SplitMix64, ledger: &Ledger, worker: usize, number: u64) -> Result<bool, String> {
    let from = random.below(ACCOUNTS);
    let to = (from + 1 + random.below(ACCOUNTS - 1)) % ACCOUNTS;
    let (amount, locks_first) = (1 + random.below(100) as i64, random.coin());
    let tried = client.transaction(|connection| {
        for (id, change) in [(from, -amount), (to, amount)] {
            if locks_first {
                let balance: Option<i64> = connection.query_first(format!("SELECT balance FROM account WHERE id = {id} FOR UPDATE"))?;
                let new = balance.unwrap_or(i64::MIN / 2) + change;
                connection.query_drop(format!("UPDATE account SET balance = {new} WHERE id = {id}"))?;
            } else {
                connection.query_drop(format!("UPDATE account SET balance = balance + {change} WHERE id = {id}"))?;
            }
        }
        connection.query_drop(format!("INSERT INTO transfer VALUES ({worker}, {number}, {from}, {to}, {amount})"))?;
        // The last statement: whoever has this row's lock next depends on this transaction.
        connection.query_drop("UPDATE counter SET n = n + 1 WHERE id = 1")
    })?;
    match tried {
        Tried::Done(()) => {
            ledger.acknowledged.lock().push((worker, number));
            Ok(true)
        }
        Tried::Broken => Ok(false),
    }
}

/// Reads plainly until all is over: each snapshot has the same total, and what it shows is noted.
fn read(place: &Place, ledger: &Ledger, number: usize, over: &AtomicBool) -> Result<(), String> {
    let level = [Level::ReadCommitted, Level::RepeatableRead][number % 2];
    let (mut connection, mut lives) = connect(place, level)?;
    while !over.load(Ordering::Acquire) {
        match look(&mut connection) {
            Ok((sum, count, counter, transfers, newest)) => {
                if (sum, count) != (ACCOUNTS as i64 * START_BALANCE, ACCOUNTS) {
                    return Err(format!("{}: a snapshot shows {sum} in {count} accounts", level.name()));
                }
                if counter != transfers {
                    return Err(format!("{}: a snapshot shows {transfers} transfers and a counter of {counter}", level.name()));
                }
                for (worker, number) in newest {
                    ledger.seen[worker].fetch_max(number, Ordering::Relaxed);
                }
                ledger.seen_counter.fetch_max(counter, Ordering::Relaxed);
            }
            Err(error) if is_broken(&error) => {
                let before = lives;
                (connection, lives) = connect(place, level)?;
                if before == lives {
                    return Err(format!("a reader's connection broke, and the server was not killed: {error}"));
                }
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}

type Look = (i64, u64, u64, u64, Vec<(usize, u64)>);

fn look(connection: &mut mysql::Conn) -> Result<Look, mysql::Error> {
    // One statement is one snapshot at every level. What a lost commit has emptied counts as nothing, so that the reader says so.
    let sql = "SELECT COALESCE(SUM(balance), 0), COUNT(*), COALESCE((SELECT n FROM counter WHERE id = 1), 0), (SELECT COUNT(*) FROM transfer) FROM account";
    let (sum, count, counter, transfers) = connection.query_first::<(i64, u64, u64, u64), _>(sql)?.unwrap_or_default();
    let newest = connection.query("SELECT worker, MAX(number) FROM transfer GROUP BY worker")?;
    Ok((sum, count, counter, transfers, newest))
}

fn verify(place: &Place, ledger: &Ledger, tried: &[AtomicU64], load: &Load) -> Result<(), String> {
    let mut connection = place.connect_patiently(Some(super::DATABASE))?;
    super::wait_for_sessions(load, &mut connection)?;
    let failed = |error: mysql::Error| error.to_string();
    let rows: Vec<(usize, u64, usize, usize, i64)> =
        connection.query("SELECT worker, number, `from`, `to`, amount FROM transfer").map_err(failed)?;
    let there: HashSet<(usize, u64)> = rows.iter().map(|row| (row.0, row.1)).collect();
    let counter: u64 = super::one(&mut connection, "SELECT n FROM counter WHERE id = 1")?;
    if counter != rows.len() as u64 {
        return Err(format!("{} transfers, and the counter is {counter}", rows.len()));
    }
    for (worker, number) in ledger.acknowledged.lock().iter() {
        if !there.contains(&(*worker, *number)) {
            return Err(format!("transfer {number} of worker {worker} was acknowledged and is not there"));
        }
    }
    for worker in 0..load.connections {
        let (seen, tried) = (ledger.seen[worker].load(Ordering::Relaxed), tried[worker].load(Ordering::Relaxed));
        if seen > 0 && !there.contains(&(worker, seen)) {
            return Err(format!("a plain read showed transfer {seen} of worker {worker}, which is not there"));
        }
        if let Some(stranger) = there.iter().find(|(who, number)| *who == worker && *number > tried) {
            return Err(format!("nobody has tried {stranger:?}"));
        }
    }
    let seen = ledger.seen_counter.load(Ordering::Relaxed);
    if seen > counter {
        return Err(format!("a plain read showed a counter of {seen}, and it is {counter}"));
    }
    let mut expected = vec![START_BALANCE; ACCOUNTS as usize];
    for (_, _, from, to, amount) in rows {
        expected[from] -= amount;
        expected[to] += amount;
    }
    for hint in ["PRIMARY", "branch", "balance"] {
        let sql =
            format!("SELECT balance FROM account FORCE INDEX ({hint}) WHERE id >= 0 AND branch >= 0 AND balance > -1000000000 ORDER BY id");
        let balances: Vec<i64> = connection.query(&sql).map_err(failed)?;
        if balances != expected {
            return Err(format!("by index {hint} balances are not what the transfers make them"));
        }
    }
    Ok(())
}
