//! The slow query log: an entry for each statement that took long, written when it has run.

use super::text::{instant, who};
use super::throttle::LeftOut;
use crate::front::command::Login;
use engine::{HandlerCall, HandlerCalls};
use planner::shape::Shape;

/// What an entry tells.
pub(super) struct Entry<'a> {
    /// Whose; nobody's for what was left out.
    pub login: Option<&'a Login>,
    /// The connection.
    pub id: u32,
    /// When it began and ended, in microseconds since the epoch.
    pub began_micros: i64,
    pub ended_micros: i64,
    /// How long it ran, and waited for locks.
    pub micros: u64,
    pub lock_micros: u64,
    pub rows_sent: u64,
    pub rows_examined: u64,
    /// `log_slow_extra`.
    pub extra: Option<Extra>,
    /// The session's database.
    pub database: Option<&'a str>,
    /// What NOW() was in it, in seconds.
    pub timestamp: i64,
    /// The statement.
    pub text: &'a [u8],
}

/// What `log_slow_extra` adds.
pub(super) struct Extra {
    pub errno: u16,
    pub killed: u16,
    pub bytes_received: u64,
    pub bytes_sent: u64,
    pub calls: HandlerCalls,
    pub shape: Shape,
}

impl<'a> Entry<'a> {
    /// The entry of what `log_throttle_queries_not_using_indexes` left out.
    pub(super) fn of_left_out(left_out: LeftOut, id: u32, now_micros: i64, timestamp: i64, text: &'a [u8]) -> Entry<'a> {
        Entry {
            login: None,
            id,
            began_micros: now_micros,
            ended_micros: now_micros,
            micros: left_out.micros,
            lock_micros: left_out.lock_micros,
            rows_sent: left_out.rows_sent,
            rows_examined: left_out.rows_examined,
            extra: None,
            database: None,
            timestamp,
            text,
        }
    }

    /// The entry's bytes.
    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256 + self.text.len());
        out.extend_from_slice(b"# Time: ");
        instant(self.ended_micros, &mut out);
        out.extend_from_slice(b"\n# User@Host: ");
        match self.login {
            Some(login) => who(login, &mut out),
            None => out.extend_from_slice(b"[] @  []"),
        }
        let seconds = |micros: u64| format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
        let (query_time, lock_time) = (seconds(self.micros), seconds(self.lock_micros));
        let (sent, examined) = (self.rows_sent, self.rows_examined);
        out.extend_from_slice(
            format!(
                "  Id: {:>5}\n# Query_time: {query_time}  Lock_time: {lock_time} Rows_sent: {sent}  Rows_examined: {examined}",
                self.id
            )
            .as_bytes(),
        );
        if let Some(extra) = &self.extra {
            self.write_extra(extra, &mut out);
        }
        out.push(b'\n');
        if let Some(database) = self.database {
            out.extend_from_slice(format!("use {database};\n").as_bytes());
        }
        out.extend_from_slice(format!("SET timestamp={};\n", self.timestamp).as_bytes());
        out.extend_from_slice(self.text);
        if !self.text.ends_with(b";") {
            out.push(b';');
        }
        out.push(b'\n');
        out
    }

    fn write_extra(&self, extra: &Extra, out: &mut Vec<u8>) {
        let Extra { errno, killed, bytes_received, bytes_sent, calls, shape } = extra;
        let id = self.id;
        out.extend_from_slice(
            format!(" Thread_id: {id} Errno: {errno} Killed: {killed} Bytes_received: {bytes_received} Bytes_sent: {bytes_sent}")
                .as_bytes(),
        );
        use HandlerCall::{ReadFirst, ReadKept, ReadKey, ReadLast, ReadNext, ReadPrevious, ReadTable};
        let reads = [
            ("Read_first", ReadFirst),
            ("Read_last", ReadLast),
            ("Read_key", ReadKey),
            ("Read_next", ReadNext),
            ("Read_prev", ReadPrevious),
            ("Read_rnd", ReadKept),
            ("Read_rnd_next", ReadTable),
        ];
        for (name, call) in reads {
            out.extend_from_slice(format!(" {name}: {}", calls.of(call)).as_bytes());
        }
        let Shape { sort_ranges, sort_scans, kept, .. } = shape;
        out.extend_from_slice(
            format!(
                " Sort_merge_passes: 0 Sort_range_count: {sort_ranges} Sort_rows: 0 Sort_scan_count: {sort_scans} \
                 Created_tmp_disk_tables: 0 Created_tmp_tables: {kept} Count_hit_tmp_table_size: 0  Start: "
            )
            .as_bytes(),
        );
        instant(self.began_micros, out);
        out.extend_from_slice(b" End: ");
        instant(self.ended_micros, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::command::ClientAddress;
    use protocol::Capabilities;

    #[test]
    fn an_entry_is_that_of_mysql() {
        let login = Login {
            user: "root".into(),
            host: "localhost".into(),
            account_user: "root".into(),
            account_host: "%".into(),
            database: None,
            charset: 0,
            capabilities: Capabilities::default(),
            address: ClientAddress::Tcp("127.0.0.1:5".parse().expect("an address")),
            attributes: Vec::new(),
        };
        let mut entry = Entry {
            login: Some(&login),
            id: 9,
            began_micros: 1_795_416_648_156_196,
            ended_micros: 1_795_416_648_156_361,
            micros: 62_000_348,
            lock_micros: 1,
            rows_sent: 4,
            rows_examined: 8,
            extra: None,
            database: Some("t"),
            timestamp: 1_795_416_648,
            text: b"select * from a order by b",
        };
        let expect = "# Time: 2026-11-23T06:50:48.156361Z\n\
            # User@Host: root[root] @ localhost [127.0.0.1]  Id:     9\n\
            # Query_time: 62.000348  Lock_time: 0.000001 Rows_sent: 4  Rows_examined: 8\n\
            use t;\nSET timestamp=1795416648;\nselect * from a order by b;\n";
        assert_eq!(String::from_utf8_lossy(&entry.write()), expect);
        entry.extra = Some(Extra {
            errno: 0,
            killed: 0,
            bytes_received: 33,
            bytes_sent: 119,
            calls: HandlerCalls::default(),
            shape: Shape { sort_scans: 1, ..Shape::default() },
        });
        let expect = " Rows_examined: 8 Thread_id: 9 Errno: 0 Killed: 0 Bytes_received: 33 Bytes_sent: 119 Read_first: 0 Read_last: 0 Read_key: 0 \
            Read_next: 0 Read_prev: 0 Read_rnd: 0 Read_rnd_next: 0 Sort_merge_passes: 0 Sort_range_count: 0 Sort_rows: 0 Sort_scan_count: 1 \
            Created_tmp_disk_tables: 0 Created_tmp_tables: 0 Count_hit_tmp_table_size: 0  Start: 2026-11-23T06:50:48.156196Z \
            End: 2026-11-23T06:50:48.156361Z\nuse t;\n";
        assert!(String::from_utf8_lossy(&entry.write()).contains(expect), "{}", String::from_utf8_lossy(&entry.write()));
    }
}
