//! The latest deadlock as `SHOW ENGINE INNODB STATUS` tells it, and the lines about locks that it shares with waiting transactions.

use crate::context::Core;
use crate::virtual_tables::{lock_data, tables_of_indexes, transaction_id};
use catalog::TableEntry;
use engine::IndexId;
use lock_manager::{AUTO_INCREMENT_BIT, DeadlockMember, DeadlockReport};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;
use types::{LocalTime, Timestamp};

type Tables = HashMap<IndexId, (Arc<TableEntry>, usize)>;

/// The section's text.
pub(crate) fn write(core: &Core, report: &DeadlockReport, out: &mut String) -> executor::Result<()> {
    let tables = tables_of_indexes(core, report.members.iter().map(|member| IndexId(member.index.0 & !AUTO_INCREMENT_BIT)).collect())?;
    // Programs read these lines. Where InnoDB has the number of a thread, the number of the deadlock is.
    let _ = writeln!(out, "{} {}", local_time(core, report.wall_micros), report.number);
    let count = report.members.len();
    for (at, member) in report.members.iter().enumerate() {
        let number = at + 1;
        let id = transaction_id(member.txn.0, member.owner);
        let _ = writeln!(out, "*** ({number}) TRANSACTION:\nTRANSACTION {id}, ACTIVE {} sec", member.told.active_seconds);
        let _ =
            writeln!(out, "LOCK WAIT {0} lock struct(s), heap size 0, {0} row lock(s), undo log entries {1}", member.locks, member.work);
        let _ = writeln!(out, "MySQL thread id {}, OS thread handle 0, query id 0 {}", member.client, member.told.place);
        let _ = writeln!(out, "{}\n", String::from_utf8_lossy(&member.told.statement));
        // What it holds is what the member before it waits for.
        let before = &report.members[(at + count - 1) % count];
        if let Some(held) = before.held {
            let _ = writeln!(out, "*** ({number}) HOLDS THE LOCK(S):");
            lock_of(before, &tables, id, held.name(), false, out);
        }
        let _ = writeln!(out, "*** ({number}) WAITING FOR THIS LOCK TO BE GRANTED:");
        lock_of(member, &tables, id, member.mode.name(), true, out);
    }
    let _ = writeln!(out, "*** WE ROLL BACK TRANSACTION ({})", report.victim + 1);
    Ok(())
}

fn lock_of(member: &DeadlockMember, tables: &Tables, id: u64, mode: &str, waiting: bool, out: &mut String) {
    if member.index.0 & AUTO_INCREMENT_BIT != 0 {
        let table = tables.get(&IndexId(member.index.0 & !AUTO_INCREMENT_BIT));
        let name = table.map_or_else(|| "that is gone".to_owned(), |(entry, _)| format!("`{}`.`{}`", entry.def.database, entry.def.name));
        let _ = writeln!(out, "TABLE LOCK table {name} trx id {id} lock mode AUTO-INC{}", if waiting { " waiting" } else { "" });
        return;
    }
    let table = tables.get(&member.index);
    lock(table.map(|(entry, index)| (&**entry, *index)), &member.key, id, mode, waiting, out);
}

/// A lock: its table and index, whose it is and in which mode, and the key. Locks are on keys: the page that programs look for is 0.
pub(super) fn lock(table: Option<(&TableEntry, usize)>, key: &[u8], id: u64, mode: &str, waiting: bool, out: &mut String) {
    let place = match table {
        Some((entry, index)) => {
            let def = &entry.def;
            format!("space id 0 page no 0 n bits 0 index {} of table `{}`.`{}`", def.indexes[index].name, def.database, def.name)
        }
        None => "an index that is gone".to_owned(),
    };
    let _ = writeln!(out, "RECORD LOCKS {place} trx id {id} {}{}", mode_words(mode), if waiting { " waiting" } else { "" });
    if let Some((entry, index)) = table {
        let _ = writeln!(out, "Record lock, key {}\n", lock_data(entry, index, key));
    }
}

/// InnoDB's words for a mode that `data_locks` names `X,REC_NOT_GAP`.
fn mode_words(mode: &str) -> String {
    let mut parts = mode.split(',');
    let mut words = match parts.next() {
        Some("X") => "lock_mode X".to_owned(),
        Some(other) => format!("lock mode {other}"),
        None => String::new(),
    };
    for part in parts {
        words.push_str(match part {
            "REC_NOT_GAP" => " locks rec but not gap",
            "GAP" => " locks gap before rec",
            "INSERT_INTENTION" => " insert intention",
            _ => "",
        });
    }
    words
}

/// A time as the report's head shows it.
pub(super) fn local_time(core: &Core, wall_micros: i64) -> String {
    let mut text = Vec::new();
    core.to_local(Timestamp::from_micros(wall_micros)).write_to(0, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_named_as_innodb_names_them() {
        assert_eq!(mode_words("X,REC_NOT_GAP"), "lock_mode X locks rec but not gap");
        assert_eq!(mode_words("S"), "lock mode S");
        assert_eq!(mode_words("X,GAP,INSERT_INTENTION"), "lock_mode X locks gap before rec insert intention");
    }
}
