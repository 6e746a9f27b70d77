//! What a server says it holds: versions that purge has not removed, the log, its pool and its data. Altiplano, MySQL and MariaDB say it in
//! different places; what one does not say, or this account may not ask, is left out.

use super::Probe;
use crate::blocking::Blocking;
use std::collections::BTreeMap;

/// Status variables and the names that they have here; of several for one name the first that the server has.
const STATUS: [(&str, &str); 8] = [
    ("history_length", "Innodb_history_list_length"),
    ("history_age_seconds", "Altiplano_history_age_seconds"),
    ("undo_bytes", "Altiplano_undo_bytes_live"),
    ("heap_bytes", "Altiplano_memory_heap"),
    ("pool_bytes", "Innodb_buffer_pool_bytes_data"),
    ("dirty_bytes", "Innodb_buffer_pool_bytes_dirty"),
    // MySQL from 8.0.30 on: its log files are as large as they are needed.
    ("log_file_bytes", "Innodb_redo_log_physical_size"),
    ("checkpoint_age_bytes", "Innodb_checkpoint_age"),
];

/// A gauge's name in a table, and by what its value is multiplied there.
pub fn title(name: &str) -> (String, f64) {
    let shown = match name {
        "history_length" => "history not purged, transactions",
        "history_age_seconds" => "age of the oldest history, s",
        "undo_bytes" => "undo kept, MiB",
        "heap_bytes" => "heap, MiB",
        "pool_bytes" => "pool's data, MiB",
        "dirty_bytes" => "pool's dirty pages, MiB",
        "log_file_bytes" => "log files, MiB",
        "checkpoint_age_bytes" => "log since the checkpoint, MiB",
        "data_bytes" => "tables and indexes, MiB",
        super::SERVER_US => "server's processor time a transaction, µs",
        super::CLIENT_US => "client's processor time a transaction, µs",
        other => return (other.to_owned(), 1.0),
    };
    (shown.to_owned(), if name.ends_with("_bytes") { 1.0 / f64::from(1 << 20) } else { 1.0 })
}

/// Asks on a connection of its own.
pub struct Asking {
    connection: Blocking,
    data: String,
}

impl Asking {
    /// On this connection, of the tables of this database.
    pub fn new(connection: Blocking, database: &str) -> Asking {
        let quoted = database.replace('\\', "\\\\").replace('\'', "''");
        let data = format!("SELECT SUM(data_length + index_length) FROM information_schema.tables WHERE table_schema = '{quoted}'");
        let mut it = Asking { connection, data };
        // MySQL 8 and later otherwise tell sizes that are up to a day old; others do not know it.
        let _ = it.connection.query("SET SESSION information_schema_stats_expiry = 0");
        it
    }
}

impl Probe for Asking {
    fn gauges(&mut self) -> BTreeMap<String, f64> {
        let status = self.connection.pairs("SHOW GLOBAL STATUS").unwrap_or_default();
        let mut gauges = of_status(&status);
        // Three columns: type, name, and the text.
        if let Ok(text) = self.connection.cell("SHOW ENGINE INNODB STATUS", 2) {
            of_engine(&text).into_iter().for_each(|(name, value)| {
                gauges.entry(name).or_insert(value);
            });
        }
        if let Ok(Ok(bytes)) = self.connection.text(&self.data).map(|text| text.parse()) {
            gauges.insert("data_bytes".to_owned(), bytes);
        }
        gauges
    }
}

fn of_status(status: &[(String, String)]) -> BTreeMap<String, f64> {
    let value = |variable: &str| status.iter().find(|(name, _)| name.eq_ignore_ascii_case(variable))?.1.parse::<f64>().ok();
    STATUS.iter().filter_map(|(name, variable)| Some(((*name).to_owned(), value(variable)?))).collect()
}

/// Of the text of `SHOW ENGINE INNODB STATUS`, which all three write alike: the history's length and the age of the checkpoint.
fn of_engine(text: &str) -> Vec<(String, f64)> {
    let number = |label: &str| {
        let rest = text.lines().find_map(|line| line.trim().strip_prefix(label))?;
        rest.split_whitespace().next()?.parse::<f64>().ok()
    };
    let age = number("Log sequence number").zip(number("Last checkpoint at")).map(|(head, checkpoint)| (head - checkpoint).max(0.0));
    let found = [("history_length", number("History list length")), ("checkpoint_age_bytes", age)];
    found.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_servers_say() {
        let text = "---\nLOG\n---\nLog sequence number          1000900\nLog flushed up to   1000900\nLast checkpoint at           900\n\nHistory list length 17\n";
        assert_eq!(of_engine(text), [("history_length".to_owned(), 17.0), ("checkpoint_age_bytes".to_owned(), 1_000_000.0)]);
        assert_eq!(of_engine("nothing\nLog sequence number x"), []);
        let status = [("Innodb_history_list_length", "5"), ("ALTIPLANO_MEMORY_HEAP", "1048576"), ("Innodb_buffer_pool_bytes_data", "much")];
        let status: Vec<(String, String)> = status.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        assert_eq!(of_status(&status), [("heap_bytes".to_owned(), 1_048_576.0), ("history_length".to_owned(), 5.0)].into());
    }

    #[test]
    fn names_have_units() {
        for (name, _) in STATUS {
            let (shown, scale) = title(name);
            assert_eq!(shown.ends_with("MiB"), scale < 1.0, "{shown}");
        }
        assert_eq!(title("other"), ("other".to_owned(), 1.0));
    }
}
