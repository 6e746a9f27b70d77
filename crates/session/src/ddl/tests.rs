//! Definitions through a whole session on a simulated disk: what SHOW CREATE TABLE says, and what is refused.

use crate::accounts::AccountStore;
use crate::client_session::ClientSession;
use crate::front::command::{ClientAddress, Command, Login, NoClient, PacketWriter};
use crate::front::connections::{Connection, Hangup};
use crate::front::service::Session;
use crate::shared::Shared;
use crate::variables::{KeptValues, Persisted};
use catalog::Catalog;
use engine::{Engine, EngineConfig};
use env::{Disk, SimClock, SimDisk};
use mysql_error::codes;
use protocol::Capabilities;
use std::sync::Arc;

struct NoSocket;

impl Hangup for NoSocket {
    fn hang_up(&self, _writes_too: bool) {}

    fn is_gone(&self) -> bool {
        false
    }
}

pub(crate) struct Server {
    pub(super) disk: Arc<SimDisk>,
    pub(super) shared: Arc<Shared>,
}

impl Server {
    pub(crate) fn new() -> Server {
        Server::on(Arc::new(SimDisk::new(1)))
    }

    pub(super) fn on(disk: Arc<SimDisk>) -> Server {
        Server::try_on(disk).expect("a server")
    }

    pub(super) fn try_on(disk: Arc<SimDisk>) -> Result<Server, String> {
        let as_disk: Arc<dyn Disk> = disk.clone();
        let mut config = EngineConfig::small();
        config.pool.frames = 256;
        let clock = Arc::new(SimClock::new(1_700_000_000_000_000));
        crate::begin_expressions();
        let engine = Engine::open(Arc::clone(&as_disk), clock, config).map_err(|error| error.to_string())?;
        let catalog = Catalog::open(&engine).map_err(|error| error.to_string())?;
        let accounts = AccountStore::open(&catalog).map_err(|error| error.to_string())?;
        let shared = Shared::new(engine, catalog, accounts);
        shared.take_persisted(Persisted::open(as_disk).map_err(|error| error.to_string())?, &KeptValues::new());
        Ok(Server { disk, shared })
    }

    /// The server again after a clean stop.
    fn restart(self) -> Server {
        self.shared.engine.close(true).expect("a clean stop");
        let disk = self.disk;
        drop(self.shared);
        Server::on(disk)
    }

    pub(crate) fn connect(&self) -> Client {
        let connection = Connection::new(self.shared.connections.allocate_id(), "localhost".into(), Box::new(NoSocket));
        let login = Login {
            user: "root".into(),
            host: "localhost".into(),
            account_user: "root".into(),
            account_host: "localhost".into(),
            database: None,
            charset: 255,
            capabilities: Capabilities::PROTOCOL_41 | Capabilities::DEPRECATE_EOF,
            address: ClientAddress::Unix,
            attributes: Vec::new(),
        };
        Client { session: ClientSession::new(Arc::clone(&self.shared), connection, login).expect("a session") }
    }
}

pub(crate) struct Client {
    pub(crate) session: ClientSession,
}

/// A length-encoded integer.
fn length(bytes: &mut &[u8]) -> usize {
    let (first, rest) = bytes.split_first().expect("a length");
    let count = match first {
        0xFC => 2,
        0xFD => 3,
        0xFE => 8,
        small => {
            *bytes = rest;
            return usize::from(*small);
        }
    };
    let (number, rest) = rest.split_at(count);
    *bytes = rest;
    number.iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte))
}

impl Client {
    /// Runs a statement: `ok N` with the affected rows, `error N STATE text`, or the rows with `|` between values.
    pub(crate) fn run(&mut self, sql: &str) -> String {
        let (mut out, mut io) = (PacketWriter::new(), NoClient::default());
        self.session.handle(Command::Query { sql: sql.as_bytes(), attributes: Default::default() }, &mut out, &mut io);
        let mut sent = io.sent;
        sent.extend_from_slice(out.bytes());
        let mut rest = sent.as_slice();
        let mut packets = Vec::new();
        while let [a, b, c, _, after @ ..] = rest {
            let bytes = usize::from(*a) | usize::from(*b) << 8 | usize::from(*c) << 16;
            packets.push(&after[..bytes]);
            rest = &after[bytes..];
        }
        let error = |packet: &[u8]| {
            let code = u16::from_le_bytes([packet[1], packet[2]]);
            format!("error {code} {} {}", String::from_utf8_lossy(&packet[4..9]), String::from_utf8_lossy(&packet[9..]))
        };
        match packets[0] {
            packet @ [0xFF, ..] => error(packet),
            [0, rest @ ..] => format!("ok {}", length(&mut &*rest)),
            mut head => {
                let columns = length(&mut head);
                let mut lines = Vec::new();
                for packet in &packets[1 + columns..] {
                    match packet {
                        [0xFF, ..] => lines.push(error(packet)),
                        [0xFE, ..] if packet.len() < 64 => {}
                        _ => {
                            let mut row = *packet;
                            let mut values = Vec::new();
                            for _ in 0..columns {
                                if row[0] == 0xFB {
                                    row = &row[1..];
                                    values.push("NULL".to_owned());
                                } else {
                                    let bytes = length(&mut row);
                                    values.push(String::from_utf8_lossy(&row[..bytes]).into_owned());
                                    row = &row[bytes..];
                                }
                            }
                            lines.push(values.join("|"));
                        }
                    }
                }
                lines.join("\n")
            }
        }
    }

    #[track_caller]
    pub(super) fn check(&mut self, sql: &str, expect: &str) {
        assert_eq!(self.run(sql), expect, "{sql}");
    }

    #[track_caller]
    pub(super) fn ok(&mut self, sql: &str) {
        let reply = self.run(sql);
        assert!(!reply.starts_with("error"), "{sql}: {reply}");
    }

    /// The statement fails with this number.
    #[track_caller]
    pub(super) fn fails(&mut self, sql: &str, code: u16) {
        let reply = self.run(sql);
        assert!(reply.starts_with(&format!("error {code} ")), "{sql}: {reply}");
    }

    /// The statement that makes the table.
    #[track_caller]
    fn shown(&mut self, table: &str) -> String {
        let reply = self.run(&format!("SHOW CREATE TABLE {table}"));
        let (_, text) = reply.split_once('|').expect("two columns");
        text.to_owned()
    }
}

fn client() -> (Server, Client) {
    let server = Server::new();
    let mut client = server.connect();
    client.check("CREATE DATABASE d", "ok 1");
    client.ok("USE d");
    (server, client)
}

#[test]
fn what_show_create_table_prints_makes_the_same_table_again() {
    let (_server, mut c) = client();
    c.ok("CREATE TABLE t (
        id int unsigned not null auto_increment primary key,
        a tinyint(1) default 1, b bool, c int(5) zerofill, d decimal(10,2) not null default '0.00', e float, f double(10,3) default 1.5,
        g bit(8) default b'101', h char(10) default 'a''b\\\\c', i varchar(20) collate utf8mb4_bin not null default '',
        j text, k blob, l enum('a','b''c') default 'a', m set('x','y') not null, n date default '2020-01-01',
        o datetime(3) default current_timestamp(3) on update current_timestamp(3),
        p timestamp null default null, q timestamp not null default current_timestamp, r year default 2020, s time(2),
        w varchar(5) comment 'it''s', x bigint not null, y char(3) character set binary, z longtext collate utf8mb4_bin,
        key k1 (a,b desc), unique key (i(5)), key (j(10)) comment 'c1', unique u1 (x), key (x) using hash, index k2 (c)
      ) engine=innodb auto_increment=100 comment='tbl''s' row_format=dynamic stats_persistent=1 key_block_size=0 max_rows=100");
    let text = c.shown("t");
    // As MySQL 9.7 prints it.
    let expect = "CREATE TABLE `t` (
  `id` int unsigned NOT NULL AUTO_INCREMENT,
  `a` tinyint(1) DEFAULT '1',
  `b` tinyint(1) DEFAULT NULL,
  `c` int(5) unsigned zerofill DEFAULT NULL,
  `d` decimal(10,2) NOT NULL DEFAULT '0.00',
  `e` float DEFAULT NULL,
  `f` double(10,3) DEFAULT '1.500',
  `g` bit(8) DEFAULT b'101',
  `h` char(10) DEFAULT 'a''b\\\\c',
  `i` varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  `j` text,
  `k` blob,
  `l` enum('a','b''c') DEFAULT 'a',
  `m` set('x','y') NOT NULL,
  `n` date DEFAULT '2020-01-01',
  `o` datetime(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  `p` timestamp NULL DEFAULT NULL,
  `q` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
  `r` year DEFAULT '2020',
  `s` time(2) DEFAULT NULL,
  `w` varchar(5) DEFAULT NULL COMMENT 'it''s',
  `x` bigint NOT NULL,
  `y` binary(3) DEFAULT NULL,
  `z` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  PRIMARY KEY (`id`),
  UNIQUE KEY `u1` (`x`),
  UNIQUE KEY `i` (`i`(5)),
  KEY `k1` (`a`,`b` DESC),
  KEY `j` (`j`(10)) COMMENT 'c1',
  KEY `x` (`x`),
  KEY `k2` (`c`)
) ENGINE=InnoDB AUTO_INCREMENT=100 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci MAX_ROWS=100 STATS_PERSISTENT=1 ROW_FORMAT=DYNAMIC COMMENT='tbl''s'";
    assert_eq!(text, expect);
    c.ok("CREATE DATABASE again");
    c.ok("USE again");
    c.ok(&text);
    assert_eq!(c.shown("t"), text);
    let def = |database: &str| {
        let mut def = c.session.shared().catalog.table(database, "t").expect("the table").def.clone();
        def.id = base::TableId::NONE;
        def.database = String::new();
        def.created_micros = 0;
        for index in &mut def.indexes {
            (index.id, index.root) = (base::IndexId::NONE, base::PageNo::NONE);
        }
        def
    };
    assert_eq!(def("d"), def("again"));
}

#[test]
fn wrong_definitions_get_the_numbers_of_mysql() {
    let (_server, mut c) = client();
    for (body, code) in [
        ("(a int null primary key)", 1171),
        ("(a int null, primary key(a))", 1171),
        ("(a int default null primary key)", 1067),
        ("(a bit(0))", 3013),
        ("(a int(256))", 1439),
        ("(a year(2))", 1818),
        ("(a varchar(20000))", 1074),
        ("(a text default 'x')", 1101),
        ("(a set('a,b'))", 1367),
        ("(a int, key k(a), key k(a))", 1061),
        ("(a int, key(b))", 1072),
        ("(a int, key(a,a))", 1060),
        ("(a int key, b int key)", 1068),
        ("(a varchar(1000), key(a))", 1071),
        ("(a int auto_increment)", 1075),
        ("(a int auto_increment key, b int auto_increment unique)", 1075),
        ("(a char(5), key(a(0)))", 1391),
        ("(a int, key(a(3)))", 1089),
        ("(a char(5), key(a(6)))", 1089),
        ("(a text, key(a))", 1170),
        ("(a int) engine=myisam", 1286),
        ("(a int, A int)", 1060),
        ("(a int default 'x')", 1067),
        ("(a datetime default current_timestamp(3))", 1067),
        ("(a int on update current_timestamp)", 1294),
        ("(a enum('x','x'))", 1291),
        ("(a varchar(16000), b varchar(16000))", 1118),
        ("(a int, key `PRIMARY`(a))", 1280),
        ("(a int auto_increment primary key default 5)", 1067),
        ("(a char(5) auto_increment primary key)", 1063),
        ("(a int not null default null)", 1067),
        ("(a float(54))", 1063),
        ("(a decimal(66))", 1426),
        ("(a decimal(5,6))", 1427),
        ("(a decimal(40,31))", 1425),
        ("(a time(7))", 1426),
        ("(a char(256))", 1074),
        ("(a char(10) charset latin9)", 1115),
        ("(a int) collate nope", 1273),
        ("(a char(3) charset utf8mb4 collate binary)", 1253),
        ("(a date default '2020-02-30')", 1067),
        ("(a date default '0000-00-00')", 1067),
        ("(a tinyint default 128)", 1067),
        ("(`a ` int)", 1166),
        ("(a json, key (a))", 3152),
        ("(a int, foreign key (a) references nowhere(a))", 1824),
        ("(a int references nowhere(a))", 1824),
        ("(a int, foreign key (b) references nowhere(a))", 1072),
        ("(a int, foreign key (a) references nowhere(a, b))", 1239),
        ("(a int as (rand()))", 3763),
        ("(a int check (b > 1))", 3813),
        ("(a int, check (b > 1))", 3820),
        ("(a int, key((a)))", 3762),
        ("(a text, fulltext(a))", 1235),
        ("(a int default (b))", 1054),
        ("(a int) partition by hash(a)", 1235),
        ("(a int invisible)", 4028),
    ] {
        c.fails(&format!("CREATE TABLE x {body}"), code);
    }
    c.fails("CREATE TABLE `x ` (a int)", 1103);
    c.fails("CREATE TABLE nodb.x (a int)", 1049);
    c.fails("SHOW CREATE TABLE x", 1146);
}

#[test]
fn databases_and_tables_come_and_go() {
    let (_server, mut c) = client();
    c.check("CREATE DATABASE d", "error 1007 HY000 Can't create database 'd'; database exists");
    c.check("CREATE DATABASE IF NOT EXISTS d", "ok 1");
    c.check("SHOW WARNINGS", "Note|1007|Can't create database 'd'; database exists");
    c.ok("CREATE TABLE a (i int primary key)");
    c.ok("CREATE TABLE b LIKE a");
    c.fails("CREATE TABLE b LIKE a", 1050);
    c.ok("CREATE TABLE IF NOT EXISTS b (x int)");
    c.check("SHOW WARNINGS", "Note|1050|Table 'b' already exists");
    c.ok("INSERT INTO a VALUES (1)");
    c.ok("RENAME TABLE a TO tmp, b TO a, tmp TO b");
    c.check("SELECT COUNT(*) FROM a", "0");
    c.check("SELECT COUNT(*) FROM b", "1");
    c.fails("RENAME TABLE a TO c, nope TO e", 1146);
    c.check("SHOW TABLES", "a\nb");
    c.fails("RENAME TABLE a TO b", 1050);
    c.ok("CREATE DATABASE e");
    c.ok("RENAME TABLE b TO e.b");
    c.check("SELECT i FROM e.b", "1");
    c.ok("TRUNCATE TABLE e.b");
    c.check("SELECT COUNT(*) FROM e.b", "0");
    c.check("DROP TABLE a, nope1, nope2", "error 1051 42S02 Unknown table 'd.nope1,d.nope2'");
    c.check("SHOW TABLES", "a");
    c.check("DROP TABLE IF EXISTS nope1, a", "ok 0");
    c.check("SHOW WARNINGS", "Note|1051|Unknown table 'd.nope1'");
    c.check("SHOW TABLES", "");
    c.check("DROP DATABASE e", "ok 1");
    c.check("DROP DATABASE e", "error 1008 HY000 Can't drop database 'e'; database doesn't exist");
    c.check("DROP DATABASE IF EXISTS e", "ok 0");
    c.fails("ALTER DATABASE e CHARACTER SET utf8mb4", 3503);
    c.ok("ALTER DATABASE d COLLATE utf8mb4_bin");
    c.ok("CREATE TABLE u (a char(3))");
    assert!(c.shown("u").ends_with("COLLATE=utf8mb4_bin"), "{}", c.shown("u"));
    c.ok("DROP DATABASE d");
    c.fails("CREATE TABLE u (a int)", 1046);
}

#[test]
fn alter_table_changes_definitions_and_rows() {
    let (server, mut c) = client();
    c.ok("CREATE TABLE t (id int primary key, a int, b varchar(10), key a (a))");
    c.ok("INSERT INTO t VALUES (1, 10, 'x'), (2, NULL, '77'), (3, 30, '5')");
    c.check("ALTER TABLE t ADD COLUMN n int NOT NULL DEFAULT 7, ADD COLUMN s varchar(5) DEFAULT 'y'", "ok 0");
    c.ok("INSERT INTO t (id) VALUES (4)");
    c.check("SELECT id, n, s FROM t ORDER BY id", "1|7|y\n2|7|y\n3|7|y\n4|7|y");
    c.ok("ALTER TABLE t ADD INDEX n (n, id), ADD UNIQUE KEY (b), RENAME COLUMN s TO ss, ALTER COLUMN n SET DEFAULT 8");
    c.ok("INSERT INTO t (id) VALUES (5)");
    c.check("SELECT id FROM t WHERE n = 8", "5");
    c.check("SELECT id FROM t WHERE b = '77'", "2");
    c.ok("ALTER TABLE t DROP COLUMN ss, ADD COLUMN first_one int DEFAULT 1 FIRST, ADD x int AFTER id");
    c.check("SELECT * FROM t WHERE id = 3", "1|3|NULL|30|5|7");
    c.fails("ALTER TABLE t MODIFY a int NOT NULL", 1138);
    c.fails("ALTER TABLE t MODIFY b int", 1366);
    c.ok("UPDATE t SET b = '1' WHERE id = 1");
    c.check("ALTER TABLE t MODIFY b int", "ok 5");
    c.check("SELECT b + 1 FROM t WHERE id = 2", "78");
    c.ok("ALTER TABLE t DROP INDEX n, RENAME INDEX a TO aa");
    c.fails("ALTER TABLE t DROP INDEX n", 1091);
    c.ok("UPDATE t SET a = 1");
    c.check("ALTER TABLE t ADD UNIQUE (a)", "error 1062 23000 Duplicate entry '1' for key 't.a'");
    c.ok("ALTER TABLE t DROP PRIMARY KEY");
    c.fails("ALTER TABLE t DROP PRIMARY KEY", 1091);
    c.ok("ALTER TABLE t MODIFY id int NOT NULL AUTO_INCREMENT PRIMARY KEY");
    c.ok("INSERT INTO t (a) VALUES (9)");
    c.check("SELECT id FROM t WHERE a = 9", "6");
    c.ok("ALTER TABLE t AUTO_INCREMENT = 50");
    c.ok("INSERT INTO t (a) VALUES (10)");
    c.check("SELECT MAX(id) FROM t", "50");
    c.ok("ALTER TABLE t RENAME TO u, COMMENT 'c'");
    c.check(
        "SHOW CREATE TABLE u",
        "u|CREATE TABLE `u` (
  `first_one` int DEFAULT '1',
  `id` int NOT NULL AUTO_INCREMENT,
  `x` int DEFAULT NULL,
  `a` int DEFAULT NULL,
  `b` int DEFAULT NULL,
  `n` int NOT NULL DEFAULT '8',
  PRIMARY KEY (`id`),
  UNIQUE KEY `b` (`b`),
  KEY `aa` (`a`)
) ENGINE=InnoDB AUTO_INCREMENT=51 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='c'",
    );
    c.check("CHECK TABLE u", "d.u|check|status|OK");
    drop(c);
    let server = server.restart();
    let mut c = server.connect();
    c.ok("USE d");
    c.check("SELECT id, n FROM u ORDER BY id", "1|7\n2|7\n3|7\n4|7\n5|8\n6|8\n50|8");
    c.ok("INSERT INTO u (a) VALUES (1)");
    c.check("SELECT MAX(id) FROM u", "51");
    c.check("CHECK TABLE u", "d.u|check|status|OK");
}

#[test]
fn defaults_are_shown_in_the_form_of_their_column() {
    let (_server, mut c) = client();
    c.ok("CREATE TABLE q (a int(5) zerofill default 7, b float(7,2) default 1.5, c timestamp default '2020-01-01 00:00:00',
        d double default 1e30, e decimal(5,2) zerofill default 1.5, f varbinary(3) default x'ff00', g bit(3) default 5,
        h set('a','b') default 'b,a', j tinyint unsigned default 0x10, k char(3) default 5, l time default '10:11',
        m datetime(6) default '2020-01-01 10:00:00.1', n decimal(5,1) default -1.5, o bigint unsigned default 18446744073709551615,
        p bigint default -9223372036854775808)");
    c.check(
        "SHOW CREATE TABLE q",
        "q|CREATE TABLE `q` (
  `a` int(5) unsigned zerofill DEFAULT '00007',
  `b` float(7,2) DEFAULT '1.50',
  `c` timestamp NULL DEFAULT '2020-01-01 00:00:00',
  `d` double DEFAULT '1e30',
  `e` decimal(5,2) unsigned zerofill DEFAULT '001.50',
  `f` varbinary(3) DEFAULT 0xFF00,
  `g` bit(3) DEFAULT b'101',
  `h` set('a','b') DEFAULT 'a,b',
  `j` tinyint unsigned DEFAULT '16',
  `k` char(3) DEFAULT '5',
  `l` time DEFAULT '10:11:00',
  `m` datetime(6) DEFAULT '2020-01-01 10:00:00.100000',
  `n` decimal(5,1) DEFAULT '-1.5',
  `o` bigint unsigned DEFAULT '18446744073709551615',
  `p` bigint DEFAULT '-9223372036854775808'
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci",
    );
}

#[test]
fn alter_table_goes_through_mysqls_corner_cases() {
    let (_server, mut c) = client();
    c.ok("CREATE TABLE r1 (a int, b int, key(b), key(a))");
    c.ok("ALTER TABLE r1 ADD KEY (a), DROP COLUMN b");
    assert!(c.shown("r1").contains("  KEY `a` (`a`),\n  KEY `a_2` (`a`)\n"), "{}", c.shown("r1"));
    c.ok("CREATE TABLE r2 (a int primary key, b int not null, c int, unique(b), unique(c))");
    c.ok("INSERT INTO r2 VALUES (1, 2, 3), (2, 1, 4)");
    c.check("ALTER TABLE r2 MODIFY c int NOT NULL, DROP PRIMARY KEY", "ok 2");
    c.check("SELECT a FROM r2 WHERE c = 4", "2");
    c.ok("CREATE TABLE r3 (a int)");
    c.ok("INSERT INTO r3 VALUES (1), (2)");
    c.ok("ALTER TABLE r3 ADD id int AUTO_INCREMENT PRIMARY KEY FIRST");
    c.check("SELECT * FROM r3", "1|1\n2|2");
    assert!(c.shown("r3").contains(" AUTO_INCREMENT=3 "), "{}", c.shown("r3"));
    c.check("ALTER TABLE r3 ADD d date NOT NULL", "error 1292 22007 Incorrect date value: '0000-00-00' for column 'd' at row 1");
    c.ok("ALTER TABLE r3 CHANGE a b int, CHANGE id a int");
    c.check("SELECT a, b FROM r3", "1|1\n2|2");
    assert!(c.shown("r3").starts_with("CREATE TABLE `r3` (\n  `a` int NOT NULL,\n  `b` int DEFAULT NULL,\n  PRIMARY KEY (`a`)\n)"));
    c.fails("ALTER TABLE r3 ADD UNIQUE KEY (b), ADD UNIQUE KEY b (b)", 1061);
    c.ok("ALTER TABLE r3 MODIFY b int FIRST, ADD z int AFTER b, DROP PRIMARY KEY");
    assert!(c.shown("r3").starts_with("CREATE TABLE `r3` (\n  `b` int DEFAULT NULL,\n  `z` int DEFAULT NULL,\n  `a` int NOT NULL\n)"));
    c.fails("ALTER TABLE r3 ADD COLUMN (p int, q int unique), DROP COLUMN p", 1091);
    c.ok("ALTER TABLE r3 DROP COLUMN b, ADD COLUMN b char(3)");
    c.fails("ALTER TABLE r3 MODIFY b int, MODIFY b bigint", 1054);
    c.fails("ALTER TABLE r3 ADD x int, ADD x int", 1060);
    c.fails("ALTER TABLE r3 DROP z, DROP z", 1091);
    c.fails("ALTER TABLE r3 MODIFY nope int, DROP COLUMN nope2", 1054);
    c.fails("ALTER TABLE r3 ADD PRIMARY KEY (nope)", 1072);
    c.ok("ALTER TABLE r3 AUTO_INCREMENT = 100");
    c.ok("ALTER TABLE r3");
    c.check("CHECK TABLE r1, r2, r3", "d.r1|check|status|OK\nd.r2|check|status|OK\nd.r3|check|status|OK");
}

#[test]
fn types_that_grow_keep_their_rows_and_others_are_converted() {
    let (_server, mut c) = client();
    c.ok("CREATE TABLE t (id int primary key, v varchar(5), e enum('a','b'), n smallint, x text, key v (v), key e (e))");
    c.ok("INSERT INTO t VALUES (1, 'abc', 'b', 300, REPEAT('long', 5000)), (2, NULL, NULL, -1, 'short')");
    // Rows stand, so that INSTANT may be asked for.
    c.ok("ALTER TABLE t MODIFY v varchar(500), MODIFY e enum('a','b','c'), ALGORITHM=INSTANT");
    c.ok("INSERT INTO t VALUES (3, REPEAT('y', 400), 'c', 5, 'z')");
    c.check("SELECT id, LENGTH(v), e FROM t WHERE e >= 'b' ORDER BY id", "1|3|b\n3|400|c");
    c.check("SELECT id FROM t WHERE v = 'abc'", "1");
    c.check("ALTER TABLE t MODIFY v varchar(5)", "error 1406 22001 Data too long for column 'v' at row 3");
    c.check("ALTER TABLE t MODIFY n tinyint", "error 1264 22003 Out of range value for column 'n' at row 1");
    c.check("ALTER TABLE t MODIFY e enum('b','a')", "error 1265 01000 Data truncated for column 'e' at row 3");
    c.ok("DELETE FROM t WHERE id = 3");
    c.check("ALTER TABLE t MODIFY e enum('b','a')", "ok 2");
    c.check("ALTER TABLE t MODIFY n bigint unsigned", "error 1264 22003 Out of range value for column 'n' at row 2");
    c.ok("SET sql_mode = ''");
    c.check("ALTER TABLE t MODIFY n tinyint unsigned NOT NULL", "ok 2");
    c.check(
        "SHOW WARNINGS",
        "Warning|1264|Out of range value for column 'n' at row 1\nWarning|1264|Out of range value for column 'n' at row 2",
    );
    c.check("SELECT id, e, n, LENGTH(x) FROM t", "1|b|255|20000\n2|NULL|0|5");
    c.ok("ALTER TABLE t CONVERT TO CHARACTER SET binary");
    c.check("SELECT id FROM t WHERE v = 'abc'", "1");
    c.check("CHECK TABLE t", "d.t|check|status|OK");
}

#[test]
fn a_table_of_many_rows_is_rebuilt_and_indexed() {
    let (_server, mut c) = client();
    c.ok("CREATE TABLE t (id int auto_increment primary key, k int, s varchar(100))");
    c.ok("INSERT INTO t (k, s) VALUES (1, REPEAT('s', 100)), (2, REPEAT('t', 100)), (3, 'u'), (4, 'v')");
    for _ in 0..9 {
        c.ok("INSERT INTO t (k, s) SELECT k + 4, s FROM t");
    }
    c.check("SELECT COUNT(*) FROM t", "2048");
    c.ok("CREATE INDEX k ON t (k, s(3))");
    let scanned = c.run("SELECT COUNT(*) FROM t IGNORE INDEX (k) WHERE k = 9");
    c.check("SELECT COUNT(*) FROM t WHERE k = 9", &scanned);
    c.ok("ALTER TABLE t DROP COLUMN s, DROP PRIMARY KEY, DROP COLUMN id, ADD COLUMN n bigint NOT NULL AUTO_INCREMENT UNIQUE");
    c.check("SELECT COUNT(DISTINCT n), MIN(n), MAX(n) FROM t", "2048|1|2048");
    c.ok("INSERT INTO t (k) VALUES (0)");
    c.check("SELECT n > 2048 FROM t WHERE k = 0", "1");
    c.check("CHECK TABLE t", "d.t|check|status|OK");
}

#[test]
fn alter_table_refuses_what_it_cannot_do() {
    let (_server, mut c) = client();
    c.ok("CREATE TABLE t2 (a int, b varchar(10))");
    c.ok("CREATE TABLE t3 (a int)");
    for (what, code) in [
        ("ADD COLUMN a int", 1060),
        ("DROP COLUMN q", 1091),
        ("DROP INDEX q", 1091),
        ("DROP PRIMARY KEY", 1091),
        ("MODIFY q int", 1054),
        ("DROP a, DROP b", 1090),
        ("RENAME COLUMN q TO r", 1054),
        ("RENAME INDEX q TO r", 1176),
        ("ALTER COLUMN q SET DEFAULT 1", 1054),
        ("ADD COLUMN c int AFTER q", 1054),
        ("RENAME TO t3", 1050),
        ("ADD INDEX k(q)", 1072),
        ("MODIFY a bigint, ALGORITHM=INPLACE", 1846),
        ("ADD INDEX k9(a), ALGORITHM=INSTANT", 1845),
        ("MODIFY a bigint, LOCK=NONE", 1846),
        ("ORDER BY a", 1235),
        ("ENGINE=nope", 1286),
        ("CONVERT TO CHARACTER SET nope", 1115),
        ("ADD FOREIGN KEY (a) REFERENCES nowhere(a)", 1824),
        ("ADD CHECK (q > 1)", 3820),
    ] {
        c.fails(&format!("ALTER TABLE t2 {what}"), code);
    }
    c.ok("ALTER TABLE t2 ENGINE=InnoDB");
    c.ok("ALTER TABLE t2 CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin");
    c.ok("CREATE INDEX k ON t2 (a)");
    c.fails("CREATE INDEX k ON t2 (a)", 1061);
    c.ok("DROP INDEX k ON t2");
    c.fails("DROP INDEX k ON t2", 1091);
    c.check(
        "SHOW CREATE TABLE t2",
        "t2|CREATE TABLE `t2` (
  `a` int DEFAULT NULL,
  `b` varchar(10) COLLATE utf8mb4_bin DEFAULT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
    );
    c.check(
        "OPTIMIZE TABLE t2",
        "d.t2|optimize|note|Table does not support optimize, doing recreate + analyze instead\nd.t2|optimize|status|OK",
    );
    c.check(
        "ANALYZE TABLE t2, nope",
        "d.t2|analyze|status|OK\nd.nope|analyze|Error|Table 'd.nope' doesn't exist\nd.nope|analyze|status|Operation failed",
    );
}

#[test]
fn ddl_waits_for_transactions_that_use_the_table() {
    let (server, mut c) = client();
    c.ok("CREATE TABLE t (a int)");
    c.ok("BEGIN");
    c.ok("INSERT INTO t VALUES (1)");
    let mut other = server.connect();
    other.ok("USE d");
    other.ok("SET lock_wait_timeout = 1");
    other.fails("ALTER TABLE t ADD b int", 1205);
    other.fails("DROP TABLE t", 1205);
    c.ok("COMMIT");
    other.ok("ALTER TABLE t ADD b int");
    c.check("SELECT * FROM t", "1|NULL");
    // DDL of the same session commits its transaction first.
    c.ok("BEGIN");
    c.ok("INSERT INTO t VALUES (2, 2)");
    c.ok("ALTER TABLE t ADD c int");
    c.ok("ROLLBACK");
    c.check("SELECT COUNT(*) FROM t", "2");
}

#[test]
fn a_snapshot_older_than_ddl_does_not_read_the_table() {
    let (server, mut c) = client();
    c.ok("CREATE TABLE a (i int)");
    c.ok("CREATE TABLE t (i int primary key, j int)");
    c.ok("INSERT INTO t VALUES (1, 1)");
    let mut old = server.connect();
    old.ok("USE d");
    for ddl in [
        "CREATE TABLE n (i int)",
        "ALTER TABLE t ADD KEY (j)",
        "ALTER TABLE t ADD COLUMN k int DEFAULT 4",
        "ALTER TABLE t MODIFY j bigint",
        "TRUNCATE TABLE t",
        "ALTER TABLE t COMMENT 'only words'",
    ] {
        old.ok("START TRANSACTION WITH CONSISTENT SNAPSHOT");
        old.check("SELECT * FROM a", "");
        c.ok("INSERT INTO a VALUES (1)");
        c.ok(ddl);
        old.check("SELECT * FROM a", "");
        if ddl.contains("words") {
            old.ok("SELECT * FROM t");
        } else if ddl.contains("ADD KEY") {
            // Only the new index is unreadable; it covers the table, so MySQL too chooses it and fails.
            old.ok("SELECT * FROM t FORCE INDEX (PRIMARY)");
            old.fails("SELECT * FROM t", 1412);
            old.fails("SELECT * FROM t FORCE INDEX (j) WHERE j = 1", 1412);
        } else {
            let table = if ddl.starts_with("CREATE") { "n" } else { "t" };
            old.fails(&format!("SELECT * FROM {table}"), 1412);
            old.fails(&format!("SELECT * FROM {table}"), 1412);
        }
        old.ok("COMMIT");
        old.ok("SELECT * FROM t, n");
        c.ok("DELETE FROM a");
    }
}

#[test]
fn definitions_are_whole_after_a_crash_at_any_write() {
    const STEPS: [&str; 6] = [
        "CREATE TABLE t (id int primary key, s varchar(50), k int)",
        "INSERT INTO t VALUES (1, 'one', 1), (2, 'two', 2), (3, 'three', 3)",
        "ALTER TABLE t ADD COLUMN n int DEFAULT 7, ADD INDEX k (k)",
        "ALTER TABLE t MODIFY k bigint, ADD UNIQUE (s)",
        "RENAME TABLE t TO u",
        "DROP TABLE u",
    ];
    for crash_at in 1.. {
        let server = Server::new();
        let mut c = server.connect();
        c.ok("CREATE DATABASE d");
        c.ok("USE d");
        server.disk.crash_at(crash_at);
        let done = STEPS.iter().take_while(|step| !c.run(step).starts_with("error")).count();
        let crashed = server.disk.is_down();
        drop(c);
        let Server { disk, shared } = server;
        drop(shared);
        disk.crash();
        let server = Server::on(disk);
        let orphans_below = server.shared.catalog.orphan_horizon();
        server.shared.catalog.free_orphans(orphans_below).expect("orphans are freed");
        let mut c = server.connect();
        c.ok("USE d");
        let tables = c.run("SHOW TABLES");
        let expect = |state: usize| ["", "t", "t", "t", "t", "u", ""][state];
        // The step that failed may have been done or not.
        let states = [done, (done + 1).min(STEPS.len())];
        assert!(states.iter().any(|state| expect(*state) == tables), "crash at {crash_at} after {done} steps: {tables:?}");
        if !tables.is_empty() {
            c.check(&format!("CHECK TABLE {tables}"), &format!("d.{tables}|check|status|OK"));
            if done >= 2 {
                c.check(&format!("SELECT id, s, k FROM {tables} WHERE k >= 0"), "1|one|1\n2|two|2\n3|three|3");
            }
            c.ok(&format!("ALTER TABLE {tables} ADD COLUMN last_one int"));
            c.ok(&format!("DROP TABLE {tables}"));
        }
        if !crashed {
            assert!(crash_at > 10, "only {crash_at} writes");
            break;
        }
    }
}

/// DDL under LOCK TABLES, and somebody else has the name of a dropped table before its lock is looked for again.
#[test]
fn a_table_that_cannot_be_locked_again_leaves_the_others_locked() {
    let server = Server::new();
    let (mut one, mut two) = (server.connect(), server.connect());
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (a INT)", "CREATE TABLE d.u (a INT)"] {
        assert!(one.run(sql).starts_with("ok"), "{sql}");
    }
    assert_eq!(one.run("SET lock_wait_timeout = 1"), "ok 0");
    assert_eq!(one.run("LOCK TABLES d.t WRITE, d.u WRITE"), "ok 0");
    let arena = parser::Bump::new();
    let drop = parser::parse(b"DROP TABLE d.t", Default::default(), &arena).expect("a statement");
    super::change_definitions(&mut one.session, |session| super::execute_unlocked(session, &drop.statement, b"")).expect("dropped");
    for sql in ["CREATE TABLE d.t (a INT)", "BEGIN", "INSERT INTO d.t VALUES (1)"] {
        assert!(two.run(sql).starts_with("ok"), "{sql}");
    }
    assert_eq!(one.session.relock_tables(Vec::new()).expect_err("in use").error.code, codes::ER_LOCK_WAIT_TIMEOUT);
    assert_eq!(one.run("INSERT INTO d.u VALUES (1)"), "ok 1");
    assert!(one.run("INSERT INTO d.t VALUES (1)").starts_with("error 1100"));
    assert!(one.run("SELECT * FROM d.absent").starts_with("error 1100"));
    assert_eq!(two.run("COMMIT"), "ok 0");
    assert_eq!(one.run("UNLOCK TABLES"), "ok 0");
    assert_eq!(one.run("SELECT * FROM d.t"), "1");
}
