//! A bank: accounts, transfers between them, and what must hold whatever happens.

pub use env::SplitMix64 as Rng;
use harness::Server;
use mysql::prelude::Queryable;
use sync::{Mutex, Rank};

/// Accounts: few enough that transfers meet.
pub const ACCOUNTS: u64 = 50;
/// What each begins with.
pub const START_BALANCE: i64 = 1000;

/// Tries after deadlocks; more would be a livelock.
const TRIES_MAX: u32 = 200;

/// How a transfer keeps others away.
#[derive(Debug, Clone, Copy)]
pub enum Locking {
    /// Balances are read by `FOR UPDATE`, computed by the client and written.
    ForUpdate,
    /// The server computes: `balance = balance - ?`.
    Arithmetic,
}

/// The seed of a test: given, or new; printed with the command that replays it.
pub fn seed(test: &str) -> u64 {
    let given = std::env::var("ALTIPLANO_TEST_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| {
        let mut bytes = [0; 4];
        rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).expect("random bytes");
        u64::from(u32::from_le_bytes(bytes))
    });
    println!("replay: ALTIPLANO_TEST_SEED={seed} cargo test -p server --test concurrent {test}");
    seed
}

/// Runs `work` on so many threads and gives their results in order.
pub fn in_parallel<R: Send>(count: u64, work: impl Fn(u64) -> R + Sync) -> Vec<R> {
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..count).map(|number| scope.spawn(move || work(number))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a worker failed")).collect()
    })
}

/// A connection at an isolation level. It waits for rows for ten minutes: a disk that stands still for one must not look like a fault, and who is never granted still does.
pub fn at_level(server: &Server, level: &str) -> mysql::Conn {
    let mut connection = server.connect();
    connection.query_drop("SET SESSION innodb_lock_wait_timeout = 600").expect("the time-out is set");
    connection.query_drop(format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")).expect("the level is set");
    connection
}

/// Runs a transaction, again after each deadlock; `work` ends with COMMIT or ROLLBACK. Other errors roll back and are given.
pub fn again_after_deadlock(
    connection: &mut mysql::Conn,
    mut work: impl FnMut(&mut mysql::Conn) -> Result<(), mysql::Error>,
) -> Result<(), mysql::Error> {
    for _ in 0..TRIES_MAX {
        connection.query_drop("BEGIN")?;
        match work(connection) {
            Ok(()) => return Ok(()),
            Err(mysql::Error::MySqlError(error)) if error.code == 1213 => {}
            Err(mysql::Error::MySqlError(error)) => {
                connection.query_drop("ROLLBACK")?;
                return Err(mysql::Error::MySqlError(error));
            }
            Err(error) => return Err(error),
        }
    }
    panic!("{TRIES_MAX} deadlocks in a row");
}

/// The accounts in a database `bank`, and the transfers that clients were told are done.
pub struct Bank {
    acknowledged: Mutex<Vec<(u64, u64)>>,
}

impl Bank {
    /// Makes the tables.
    pub fn create(server: &Server) -> Bank {
        let mut connection = server.connect();
        for sql in [
            "CREATE DATABASE bank",
            "CREATE TABLE bank.account (id INT PRIMARY KEY, branch INT NOT NULL, balance BIGINT NOT NULL, KEY branch (branch), KEY balance (balance))",
            "CREATE TABLE bank.transfer (worker INT, number INT, `from` INT, `to` INT, amount INT, PRIMARY KEY (worker, number))",
        ] {
            connection.query_drop(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        }
        let rows: Vec<String> = (0..ACCOUNTS).map(|id| format!("({id}, {}, {START_BALANCE})", id % 7)).collect();
        connection.query_drop(format!("INSERT INTO bank.account VALUES {}", rows.join(", "))).expect("accounts");
        Bank { acknowledged: Mutex::new(Rank::Leaf, Vec::new()) }
    }

    fn choose(random: &mut Rng) -> (u64, u64, i64) {
        let from = random.below(ACCOUNTS);
        let to = (from + 1 + random.below(ACCOUNTS - 1)) % ACCOUNTS;
        (from, to, 1 + random.below(100) as i64)
    }

    /// One transfer between two accounts, in no order of locking: deadlocks happen and are tried again.
    pub fn transfer(&self, connection: &mut mysql::Conn, random: &mut Rng, locking: Locking) -> Result<(), mysql::Error> {
        let (from, to, amount) = Bank::choose(random);
        again_after_deadlock(connection, |connection| {
            match locking {
                Locking::Arithmetic => Bank::shift(connection, from, to, amount)?,
                Locking::ForUpdate => {
                    for (id, change) in [(from, -amount), (to, amount)] {
                        let sql = "SELECT balance FROM bank.account WHERE id = ? FOR UPDATE";
                        let balance: Option<i64> = connection.exec_first(sql, (id,))?;
                        let new = balance.expect("the account is there") + change;
                        connection.exec_drop("UPDATE bank.account SET balance = ? WHERE id = ?", (new, id))?;
                    }
                }
            }
            connection.query_drop("COMMIT")
        })
    }

    /// One transfer that is written down inside the server, and outside once it is acknowledged.
    pub fn transfer_with_ledger(
        &self,
        connection: &mut mysql::Conn,
        random: &mut Rng,
        worker: u64,
        number: u64,
    ) -> Result<(), mysql::Error> {
        let (from, to, amount) = Bank::choose(random);
        again_after_deadlock(connection, |connection| {
            Bank::shift(connection, from, to, amount)?;
            connection.exec_drop("INSERT INTO bank.transfer VALUES (?, ?, ?, ?, ?)", (worker, number, from, to, amount))?;
            connection.query_drop("COMMIT")
        })?;
        self.acknowledged.lock().push((worker, number));
        Ok(())
    }

    fn shift(connection: &mut mysql::Conn, from: u64, to: u64, amount: i64) -> Result<(), mysql::Error> {
        connection.exec_drop("UPDATE bank.account SET balance = balance - ? WHERE id = ?", (amount, from))?;
        connection.exec_drop("UPDATE bank.account SET balance = balance + ? WHERE id = ?", (amount, to))
    }

    /// Numbers of a worker's transfers that the server acknowledged.
    pub fn acknowledged(&self, worker: usize) -> Vec<u64> {
        let all = self.acknowledged.lock();
        all.iter().filter(|(who, _)| *who == worker as u64).map(|(_, number)| *number).collect()
    }

    /// The total is as at the start, by each index; where transfers are written down, each balance is what they make it.
    pub fn check(&self, connection: &mut mysql::Conn) {
        for hint in ["", "FORCE INDEX (branch)", "FORCE INDEX (balance)"] {
            let sql = format!("SELECT SUM(balance), COUNT(*) FROM bank.account {hint} WHERE branch >= 0 AND balance > -1000000000");
            let found: (i64, u64) = connection.query_first(&sql).expect("an answer").expect("a row");
            assert_eq!(found, (ACCOUNTS as i64 * START_BALANCE, ACCOUNTS), "{sql}");
        }
        let transfers: Vec<(u64, u64, i64)> = connection.query("SELECT `from`, `to`, amount FROM bank.transfer").expect("transfers");
        if transfers.is_empty() {
            return;
        }
        let mut expected = vec![START_BALANCE; ACCOUNTS as usize];
        for (from, to, amount) in transfers {
            expected[from as usize] -= amount;
            expected[to as usize] += amount;
        }
        let balances: Vec<i64> = connection.query("SELECT balance FROM bank.account ORDER BY id").expect("balances");
        assert_eq!(balances, expected, "balances are not what the transfers make them");
    }
}
