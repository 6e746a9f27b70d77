//! Rows that are found by another key than the primary one: somebody by an e-mail address, as people log in, and all of a team.

use super::{Client, Rows, in_parallel, statements};
use crate::distribution::Keys;
use crate::options::{PrepareOptions, RunOptions, WorkloadName};
use crate::session::{Done, Failure, Param, Statement};

/// People of a team; of the last one there may be fewer.
const TEAM: u64 = 10;

const BY_EMAIL: usize = 0;
const BY_TEAM: usize = 1;

/// By the unique key, or by the other.
pub struct Lookups {
    is_unique: bool,
    people: u64,
    keys: Keys,
    statements: Vec<Statement>,
}

impl Lookups {
    pub(super) fn new(options: &RunOptions) -> Lookups {
        Lookups {
            is_unique: options.work.workload == WorkloadName::LookupUnique,
            people: options.work.size.table_size,
            keys: options.work.keys,
            statements: statements(&["SELECT id, name FROM people WHERE email=? LIMIT 1", "SELECT id, name FROM people WHERE team=?"]),
        }
    }

    pub(super) async fn transaction(&self, client: &mut Client) -> Done {
        let all = &self.statements;
        let id = self.keys.draw(&mut client.random, self.people);
        let wanted = if self.is_unique {
            client.session.run(all, BY_EMAIL, &[Param::Text(&email(id))]).await?;
            1
        } else {
            let team = team_of(id);
            client.session.run(all, BY_TEAM, &[Param::from(team)]).await?;
            TEAM.min(self.people - (team - 1) * TEAM)
        };
        let found = client.session.reply().row_count() as u64;
        if found == wanted || client.place.is_canned() {
            return Ok(());
        }
        Err(Failure::Wrong(format!("{found} rows of number {id}'s key, not {wanted}")))
    }
}

/// The same for the same number, and no other's; in no order.
fn email(id: u64) -> String {
    format!("{:08x}.{id}@example.com", (id as u32).wrapping_mul(2_654_435_761))
}

/// The team of a number, which begin with 1, as teams do.
fn team_of(id: u64) -> u64 {
    (id - 1) / TEAM + 1
}

pub(super) fn prepare(options: &PrepareOptions) -> Result<(), String> {
    in_parallel(options, 1, |connection, _| {
        connection.must("DROP TABLE IF EXISTS people")?;
        connection.must(
            "CREATE TABLE people (id INT NOT NULL PRIMARY KEY, email VARCHAR(100) NOT NULL, name VARCHAR(100) NOT NULL, \
             team INT NOT NULL, UNIQUE KEY (email), KEY (team))",
        )?;
        let mut rows = Rows::new(connection, "people");
        (1..=options.size.table_size).try_for_each(|id| rows.add(format_args!("{id},'{}','Name {id}',{}", email(id), team_of(id))))?;
        rows.end()
    })
}
