import java.io.*;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.*;
import java.time.*;
import java.util.*;

/** The documented features of Connector/J, each asked of a server. */
public final class ConnectorJ {
    static final String ALL_TYPES = "CREATE TABLE all_types (id INT AUTO_INCREMENT PRIMARY KEY, t TINYINT, t1 TINYINT(1), tu TINYINT UNSIGNED, s SMALLINT, m MEDIUMINT, i INT, iu INT UNSIGNED,"
        + " b BIGINT, bu BIGINT UNSIGNED, f FLOAT, d DOUBLE, n DECIMAL(20,6), y YEAR, da DATE, ti TIME(3), dt DATETIME(6), ts TIMESTAMP(3) NULL, c CHAR(10), v VARCHAR(100), bi BINARY(4),"
        + " vb VARBINARY(10), bl BLOB, tx TEXT, lt LONGTEXT, e ENUM('a','b'), se SET('x','y'), bt BIT(10), b1 BIT(1), j JSON)";

    public static void main(String[] args) throws Exception {
        Check.fresh();
        for (String options : new String[] {"", "useServerPrepStmts=true", "useServerPrepStmts=true&useCursorFetch=true&defaultFetchSize=2", "useCompression=true", "sslMode=REQUIRED", "cachePrepStmts=true&useServerPrepStmts=true&rewriteBatchedStatements=true"}) {
            String how = options.isEmpty() ? "defaults" : options;
            Check.test("types (" + how + ")", () -> types(options));
            Check.test("batches (" + how + ")", () -> batches(options));
            Check.test("generated keys (" + how + ")", () -> generatedKeys(options));
            Check.test("many rows (" + how + ")", () -> manyRows(options));
            Check.test("transactions (" + how + ")", () -> transactions(options));
            Check.test("errors (" + how + ")", () -> errors(options));
        }
        Check.test("result metadata", ConnectorJ::resultMetadata);
        Check.test("parameter metadata", ConnectorJ::parameterMetadata);
        Check.test("several statements", ConnectorJ::severalStatements);
        Check.test("LOAD DATA LOCAL", ConnectorJ::loadLocal);
        Check.test("streamed rows", ConnectorJ::streamed);
        Check.test("updatable results", ConnectorJ::updatable);
        Check.test("timeouts and cancel", ConnectorJ::timeouts);
        Check.test("sessions: catalog, read only, isolation, reset, change user", ConnectorJ::sessions);
        Check.test("session variables, character sets, zones by URL", ConnectorJ::byUrl);
        Check.test("large values", ConnectorJ::largeValues);
        Check.test("blobs and clobs by locator and stream", ConnectorJ::lobs);
        Check.test("query attributes and connection attributes", ConnectorJ::attributes);
        for (String dictionary : new String[] {"useInformationSchema=false", "useInformationSchema=true"}) {
            Check.test("metadata: tables (" + dictionary + ")", () -> tables(dictionary));
            Check.test("metadata: columns (" + dictionary + ")", () -> columns(dictionary));
            Check.test("metadata: keys (" + dictionary + ")", () -> keys(dictionary));
            Check.test("metadata: indexes (" + dictionary + ")", () -> indexes(dictionary));
            Check.test("metadata: everything else (" + dictionary + ")", () -> otherMetadata(dictionary));
        }
        Check.test("accounts: sha2, RSA without TLS, wrong password", ConnectorJ::accounts);
        Check.test("XA", ConnectorJ::xa);
        Check.test("failover URL, isValid, network timeout", ConnectorJ::liveness);
        Check.done();
    }

    static void types(String options) throws Exception {
        try (Connection c = Check.connect(options)) {
            Check.update(c, "DROP TABLE IF EXISTS all_types");
            Check.update(c, ALL_TYPES);
            LocalDateTime when = LocalDateTime.of(2024, 2, 29, 12, 34, 56, 789_123_000);
            try (PreparedStatement p = c.prepareStatement("INSERT INTO all_types VALUES (NULL" + ",?".repeat(29) + ")")) {
                int i = 1;
                p.setByte(i++, (byte) -128); p.setBoolean(i++, true); p.setInt(i++, 255); p.setShort(i++, (short) -32768); p.setInt(i++, -8388608);
                p.setInt(i++, Integer.MIN_VALUE); p.setLong(i++, 4294967295L); p.setLong(i++, Long.MIN_VALUE); p.setBigDecimal(i++, new BigDecimal("18446744073709551615"));
                p.setFloat(i++, 1.5f); p.setDouble(i++, 0.1); p.setBigDecimal(i++, new BigDecimal("12345678901234.567890")); p.setInt(i++, 2024);
                p.setObject(i++, LocalDate.of(2024, 2, 29)); p.setObject(i++, LocalTime.of(12, 34, 56, 789_000_000)); p.setObject(i++, when); p.setTimestamp(i++, Timestamp.valueOf("2024-06-01 12:00:00.123"));
                p.setString(i++, "char"); p.setString(i++, "größe 😀"); p.setBytes(i++, new byte[] {1, 2, 3, 4}); p.setBytes(i++, new byte[] {0, -1});
                p.setBinaryStream(i++, new ByteArrayInputStream(new byte[] {5, 6})); p.setCharacterStream(i++, new StringReader("text é")); p.setString(i++, "l".repeat(70000));
                p.setString(i++, "b"); p.setString(i++, "x,y"); p.setBytes(i++, new byte[] {2, 3}); p.setBoolean(i++, true); p.setString(i++, "{\"a\": [1, null]}");
                Check.equal(1, p.executeUpdate());
                p.clearParameters();
                for (i = 1; i <= 29; i++) p.setNull(i, Types.NULL);
                Check.equal(1, p.executeUpdate());
            }
            for (boolean prepared : new boolean[] {false, true}) {
                try (PreparedStatement p = c.prepareStatement("SELECT * FROM all_types WHERE id >= ? ORDER BY id"); Statement s = c.createStatement()) {
                    p.setInt(1, 1);
                    ResultSet r = prepared ? p.executeQuery() : s.executeQuery("SELECT * FROM all_types ORDER BY id");
                    Check.isTrue(r.next(), "a row");
                    Check.equal((byte) -128, r.getByte("t")); Check.equal(true, r.getBoolean("t1")); Check.equal(255, r.getInt("tu")); Check.equal((short) -32768, r.getShort("s"));
                    Check.equal(4294967295L, r.getLong("iu")); Check.equal(Long.MIN_VALUE, r.getLong("b")); Check.equal(new BigDecimal("18446744073709551615"), r.getBigDecimal("bu"));
                    Check.equal(1.5f, r.getFloat("f")); Check.equal(0.1, r.getDouble("d")); Check.equal(new BigDecimal("12345678901234.567890"), r.getBigDecimal("n"));
                    Check.equal(2024, r.getInt("y")); Check.equal(LocalDate.of(2024, 2, 29), r.getObject("da", LocalDate.class)); Check.equal(LocalTime.of(12, 34, 56, 789_000_000), r.getObject("ti", LocalTime.class));
                    Check.equal(when, r.getObject("dt", LocalDateTime.class)); Check.equal(Timestamp.valueOf("2024-06-01 12:00:00.123"), r.getTimestamp("ts"));
                    Check.equal("char", r.getString("c")); Check.equal("größe 😀", r.getString("v")); Check.equal(new byte[] {1, 2, 3, 4}, r.getBytes("bi")); Check.equal(new byte[] {0, -1}, r.getBytes("vb"));
                    Check.equal(new byte[] {5, 6}, r.getBytes("bl")); Check.equal("text é", r.getString("tx")); Check.equal(70000, r.getString("lt").length()); Check.equal("b", r.getString("e"));
                    Check.equal("x,y", r.getString("se")); Check.equal(new byte[] {2, 3}, r.getBytes("bt")); Check.equal(true, r.getBoolean("b1")); Check.equal("{\"a\": [1, null]}", r.getString("j"));
                    Check.equal("Boolean", r.getObject("t1").getClass().getSimpleName()); Check.equal("BigInteger", r.getObject("bu").getClass().getSimpleName());
                    Check.isTrue(r.next(), "the row of NULLs");
                    for (int i = 2; i <= 30; i++) Check.equal(null, r.getObject(i));
                    Check.isTrue(!r.next(), "two rows");
                }
            }
        }
    }

    static void batches(String options) throws Exception {
        try (Connection c = Check.connect(options)) {
            Check.update(c, "DROP TABLE IF EXISTS batch");
            Check.update(c, "CREATE TABLE batch (id INT AUTO_INCREMENT PRIMARY KEY, a INT, v VARCHAR(20), UNIQUE (a))");
            try (PreparedStatement p = c.prepareStatement("INSERT INTO batch (a, v) VALUES (?, ?)", Statement.RETURN_GENERATED_KEYS)) {
                for (int i = 0; i < 500; i++) { p.setInt(1, i); p.setString(2, "v" + i); p.addBatch(); }
                Check.equal(500, p.executeBatch().length);
                ResultSet keys = p.getGeneratedKeys();
                int n = 0;
                while (keys.next()) { n++; Check.equal(n, keys.getInt(1)); }
                Check.equal(500, n);
            }
            try (PreparedStatement p = c.prepareStatement("UPDATE batch SET v = ? WHERE a = ?")) {
                for (int i = 0; i < 100; i++) { p.setString(1, "w"); p.setInt(2, i); p.addBatch(); }
                p.executeBatch();
            }
            Check.equal(List.of("100"), Check.query(c, "SELECT COUNT(*) FROM batch WHERE v = 'w'"));
            try (PreparedStatement p = c.prepareStatement("INSERT INTO batch (a, v) VALUES (?, ?) ON DUPLICATE KEY UPDATE v = VALUES(v)")) {
                for (int i = 490; i < 510; i++) { p.setInt(1, i); p.setString(2, "dup"); p.addBatch(); }
                p.executeBatch();
            }
            Check.equal(List.of("20"), Check.query(c, "SELECT COUNT(*) FROM batch WHERE v = 'dup'"));
            try (Statement s = c.createStatement()) {
                s.addBatch("DELETE FROM batch WHERE a = 1"); s.addBatch("DELETE FROM batch WHERE a > 500"); s.addBatch("INSERT INTO batch (a) VALUES (1)");
                Check.equal(new int[] {1, 9, 1}, s.executeBatch());
                s.clearBatch();
                s.addBatch("INSERT INTO batch (a) VALUES (2000)"); s.addBatch("INSERT INTO batch (a) VALUES (2000)");
                SQLException failed = Check.error(s::executeBatch);
                Check.equal(1062, failed.getErrorCode());
            }
        }
    }

    static void generatedKeys(String options) throws Exception {
        try (Connection c = Check.connect(options); Statement s = c.createStatement()) {
            s.execute("DROP TABLE IF EXISTS gk");
            s.execute("CREATE TABLE gk (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, a INT UNIQUE)");
            Check.equal(3, s.executeUpdate("INSERT INTO gk (a) VALUES (1), (2), (3)", Statement.RETURN_GENERATED_KEYS));
            Check.equal(List.of("1", "2", "3"), Check.rows(s.getGeneratedKeys()));
            s.executeUpdate("INSERT INTO gk (a) VALUES (1) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), a = 10", Statement.RETURN_GENERATED_KEYS);
            Check.equal("1", Check.rows(s.getGeneratedKeys()).get(0));
            Check.equal(1, s.executeUpdate("REPLACE INTO gk (id, a) VALUES (100, 100)", new String[] {"id"}));
            Check.equal(1, s.executeUpdate("INSERT INTO gk (id, a) VALUES (0, 101)", new int[] {1}));
            Check.equal(List.of("101"), Check.rows(s.getGeneratedKeys()));
        }
    }

    static void manyRows(String options) throws Exception {
        try (Connection c = Check.connect(options)) {
            Check.update(c, "SET SESSION cte_max_recursion_depth = 10000");
            for (int fetch : new int[] {0, 1, 100}) {
                try (PreparedStatement p = c.prepareStatement("WITH RECURSIVE n (v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < ?) SELECT v, REPEAT('x', v MOD 50) FROM n")) {
                    p.setFetchSize(fetch);
                    p.setInt(1, 5000);
                    long sum = 0;
                    try (ResultSet r = p.executeQuery()) { while (r.next()) { sum += r.getLong(1); Check.equal((int) (r.getLong(1) % 50), r.getString(2).length()); } }
                    Check.equal(12502500L, sum);
                }
                try (PreparedStatement p = c.prepareStatement("WITH RECURSIVE n (v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < ?) SELECT v FROM n")) {
                    p.setFetchSize(fetch);
                    p.setMaxRows(7);
                    p.setInt(1, 100);
                    int n = 0;
                    try (ResultSet r = p.executeQuery()) { while (r.next()) n++; }
                    Check.equal(7, n);
                    p.setMaxRows(0);
                }
            }
        }
    }

    static void transactions(String options) throws Exception {
        try (Connection c = Check.connect(options)) {
            Check.update(c, "DROP TABLE IF EXISTS tx");
            Check.update(c, "CREATE TABLE tx (a INT PRIMARY KEY)");
            for (int level : new int[] {1, 2, 4, 8}) { c.setTransactionIsolation(level); Check.equal(level, c.getTransactionIsolation()); }
            c.setAutoCommit(false);
            Check.update(c, "INSERT INTO tx VALUES (1)");
            Savepoint named = c.setSavepoint("it's");
            Check.update(c, "INSERT INTO tx VALUES (2)");
            Savepoint nameless = c.setSavepoint();
            Check.update(c, "INSERT INTO tx VALUES (3)");
            c.rollback(nameless);
            c.rollback(named);
            c.releaseSavepoint(named);
            c.commit();
            Check.update(c, "INSERT INTO tx VALUES (4)");
            c.rollback();
            c.setAutoCommit(true);
            Check.equal(List.of("1"), Check.query(c, "SELECT a FROM tx"));
        }
    }

    static void errors(String options) throws Exception {
        try (Connection c = Check.connect(options)) {
            SQLException e = Check.error(() -> c.prepareStatement("SELECT * FROM missing").executeQuery());
            Check.equal("42S02 1146", e.getSQLState() + " " + e.getErrorCode());
            SQLException dup = Check.error(() -> { Check.update(c, "DROP TABLE IF EXISTS u"); Check.update(c, "CREATE TABLE u (a INT PRIMARY KEY)"); Check.update(c, "INSERT INTO u VALUES (1), (1)"); });
            Check.equal("java.sql.SQLIntegrityConstraintViolationException", dup.getClass().getName());
            Check.equal("Duplicate entry '1' for key 'u.PRIMARY'", dup.getMessage());
            SQLException syntax = Check.error(() -> Check.update(c, "SELEC"));
            Check.equal("java.sql.SQLSyntaxErrorException", syntax.getClass().getName());
            try (PreparedStatement p = c.prepareStatement("INSERT INTO u VALUES (?)")) {
                p.setString(1, "no number");
                SQLException value = Check.error(p::executeUpdate);
                Check.equal(1366, value.getErrorCode());
            }
            try (Statement s = c.createStatement()) {
                s.executeQuery("SELECT CAST('x1' AS SIGNED)").close();
                SQLWarning w = s.getWarnings();
                // With cursors the warnings are those of the fetch, not of the statement.
                boolean cursors = options.contains("useCursorFetch");
                Check.equal(cursors ? "none" : "1292 Truncated incorrect INTEGER value: 'x1'", w == null ? "none" : w.getErrorCode() + " " + w.getMessage());
            }
        }
    }

    static void resultMetadata() throws Exception {
        try (Connection c = Check.connect("")) {
            Check.update(c, "CREATE TABLE IF NOT EXISTS all_types (id INT)");
            try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT a.*, a.i + 1 AS plus, CONCAT(v, e) FROM all_types a")) {
                ResultSetMetaData m = r.getMetaData();
                List<String> seen = new ArrayList<>();
                for (int i = 1; i <= m.getColumnCount(); i++) {
                    seen.add(m.getColumnName(i) + "/" + m.getColumnLabel(i) + " " + m.getColumnTypeName(i) + " " + m.getColumnType(i) + " " + m.getColumnClassName(i) + " " + m.getPrecision(i) + "," + m.getScale(i) + " "
                        + m.getColumnDisplaySize(i) + " " + m.isNullable(i) + " " + m.isAutoIncrement(i) + " " + m.isSigned(i) + " " + m.isCaseSensitive(i) + " " + m.getTableName(i) + " " + m.getCatalogName(i));
                }
                Expected.check("result metadata", seen);
            }
        }
    }

    static void parameterMetadata() throws Exception {
        try (Connection c = Check.connect("useServerPrepStmts=true&generateSimpleParameterMetadata=false"); PreparedStatement p = c.prepareStatement("SELECT id, v FROM all_types WHERE v = ? AND i > ? LIMIT ?")) {
            Check.equal(3, p.getParameterMetaData().getParameterCount());
            Check.equal(2, p.getMetaData().getColumnCount());
            Check.equal("VARCHAR", p.getMetaData().getColumnTypeName(2));
        }
    }

    static void severalStatements() throws Exception {
        try (Connection c = Check.connect("allowMultiQueries=true"); Statement s = c.createStatement()) {
            boolean isResult = s.execute("SELECT 1; SET @a = 5; SELECT @a, 'x'; INSERT INTO u VALUES (50), (51)");
            Check.isTrue(isResult, "first");
            Check.equal(List.of("1"), Check.rows(s.getResultSet()));
            Check.isTrue(!s.getMoreResults() && s.getUpdateCount() == 0, "second");
            Check.isTrue(s.getMoreResults(), "third");
            Check.equal(List.of("5|x"), Check.rows(s.getResultSet()));
            Check.isTrue(!s.getMoreResults() && s.getUpdateCount() == 2, "fourth");
            Check.isTrue(!s.getMoreResults() && s.getUpdateCount() == -1, "end");
            Check.equal(1146, Check.error(() -> { s.execute("SELECT 1; SELECT * FROM missing"); s.getMoreResults(); }).getErrorCode());
        }
    }

    static void loadLocal() throws Exception {
        File file = File.createTempFile("suite", ".csv");
        try (Writer w = new OutputStreamWriter(new FileOutputStream(file), StandardCharsets.UTF_8)) {
            w.write("id;name\n");
            for (int i = 0; i < 1000; i++) w.write(i + ";\"näme " + i + "\"\n");
        }
        try (Connection c = Check.connect("allowLoadLocalInfile=true"); Statement s = c.createStatement()) {
            s.execute("SET GLOBAL local_infile = 1");
            s.execute("CREATE TABLE load_local (id INT PRIMARY KEY, name VARCHAR(30))");
            Check.equal(1000, s.executeUpdate("LOAD DATA LOCAL INFILE '" + file.getPath() + "' INTO TABLE load_local CHARACTER SET utf8mb4 FIELDS TERMINATED BY ';' OPTIONALLY ENCLOSED BY '\"' IGNORE 1 LINES (id, name)"));
            Check.equal(List.of("näme 999"), Check.query(c, "SELECT name FROM load_local WHERE id = 999"));
        } finally {
            file.delete();
        }
    }

    static void streamed() throws Exception {
        try (Connection c = Check.connect(""); Statement s = c.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY)) {
            s.setFetchSize(Integer.MIN_VALUE);
            int n = 0;
            try (ResultSet r = s.executeQuery("SELECT * FROM load_local a JOIN load_local b ON a.id <= b.id AND b.id < 200")) { while (r.next()) n++; }
            Check.equal(20100, n);
        }
    }

    static void updatable() throws Exception {
        try (Connection c = Check.connect(""); Statement s = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
            Check.update(c, "CREATE TABLE up (id INT PRIMARY KEY, v VARCHAR(10))");
            Check.update(c, "INSERT INTO up VALUES (1, 'a'), (2, 'b')");
            ResultSet r = s.executeQuery("SELECT id, v FROM up ORDER BY id");
            r.absolute(2); r.updateString("v", "bb"); r.updateRow();
            r.moveToInsertRow(); r.updateInt(1, 3); r.updateString(2, "c"); r.insertRow();
            r.first(); r.deleteRow();
            Check.equal(List.of("2|bb", "3|c"), Check.query(c, "SELECT * FROM up"));
        }
    }

    static void timeouts() throws Exception {
        try (Connection c = Check.connect(""); Statement s = c.createStatement()) {
            s.setQueryTimeout(1);
            SQLException e = Check.error(() -> s.executeQuery("SELECT SLEEP(30)"));
            Check.equal("com.mysql.cj.jdbc.exceptions.MySQLTimeoutException", e.getClass().getName());
            s.setQueryTimeout(0);
            Check.equal(List.of("1"), Check.rows(s.executeQuery("SELECT 1")));
        }
    }

    static void sessions() throws Exception {
        try (Connection c = Check.connect("")) {
            Check.equal(Check.DATABASE, c.getCatalog());
            c.setCatalog("mysql");
            Check.equal(List.of("mysql"), Check.query(c, "SELECT DATABASE()"));
            c.setCatalog(Check.DATABASE);
            c.setReadOnly(true);
            Check.isTrue(c.isReadOnly(), "read only");
            Check.error(() -> Check.update(c, "DELETE FROM u"));
            c.setReadOnly(false);
            Check.update(c, "SET @x = 1");
            c.unwrap(com.mysql.cj.jdbc.JdbcConnection.class).resetServerState();
            Check.equal(List.of("null"), Check.query(c, "SELECT @x"));
            c.unwrap(com.mysql.cj.jdbc.JdbcConnection.class).changeUser(Check.USER, Check.PASSWORD);
            Check.equal(List.of("1"), Check.query(c, "SELECT 1"));
            Check.isTrue(Check.query(c, "SELECT CONNECTION_ID()").size() == 1, "id");
        }
    }

    static void byUrl() throws Exception {
        try (Connection c = Check.connect("sessionVariables=sql_mode='ANSI,TRADITIONAL',group_concat_max_len=2048&characterEncoding=UTF-8&connectionCollation=utf8mb4_unicode_ci&connectionTimeZone=%2B02:00&forceConnectionTimeZoneToSession=true")) {
            Check.equal(List.of("2048|utf8mb4_unicode_ci|+02:00"), Check.query(c, "SELECT @@group_concat_max_len, @@collation_connection, @@time_zone"));
            Check.isTrue(Check.query(c, "SELECT @@sql_mode").get(0).contains("ANSI_QUOTES"), "ANSI_QUOTES");
        }
        for (String encoding : new String[] {"latin1", "US-ASCII", "UTF-8"}) {
            try (Connection c = Check.connect("characterEncoding=" + encoding)) { Check.equal(List.of("abc"), Check.query(c, "SELECT 'abc'")); }
        }
        try (Connection c = Check.connect("useAffectedRows=true&zeroDateTimeBehavior=CONVERT_TO_NULL&tinyInt1isBit=false&jdbcCompliantTruncation=false&noDatetimeStringSync=false&profileSQL=false&useLocalSessionState=true&elideSetAutoCommits=true&maintainTimeStats=false&cacheServerConfiguration=true&cacheResultSetMetadata=true&alwaysSendSetIsolation=false")) {
            Check.update(c, "CREATE TABLE IF NOT EXISTS aff (a INT)");
            Check.update(c, "INSERT INTO aff VALUES (1)");
            Check.equal(0, Check.update(c, "UPDATE aff SET a = 1"));
        }
    }

    static void largeValues() throws Exception {
        try (Connection c = Check.connect("useServerPrepStmts=true")) {
            Check.update(c, "CREATE TABLE large (id INT PRIMARY KEY, b LONGBLOB)");
            byte[] bytes = new byte[18 * 1024 * 1024];
            new Random(1).nextBytes(bytes);
            try (PreparedStatement p = c.prepareStatement("INSERT INTO large VALUES (?, ?)")) {
                p.setInt(1, 1); p.setBytes(2, bytes); p.executeUpdate();
                p.setInt(1, 2); p.setBinaryStream(2, new ByteArrayInputStream(bytes)); p.executeUpdate();
            }
            try (PreparedStatement p = c.prepareStatement("SELECT b FROM large ORDER BY id"); ResultSet r = p.executeQuery()) {
                while (r.next()) Check.isTrue(Arrays.equals(bytes, r.getBytes(1)), "the same bytes");
            }
        }
    }

    static void lobs() throws Exception {
        try (Connection c = Check.connect("emulateLocators=true"); Statement s = c.createStatement()) {
            s.execute("CREATE TABLE lob (id INT PRIMARY KEY, data LONGBLOB, t LONGTEXT)");
            s.execute("INSERT INTO lob VALUES (1, 'abcdef', 'text')");
            try (ResultSet r = s.executeQuery("SELECT id, 'data' AS data, t FROM lob")) {
                r.next();
                Blob b = r.getBlob(2);
                Check.equal(6L, b.length());
                Check.equal("cde", new String(b.getBytes(3, 3)));
                b.setBytes(1, "X".getBytes());
            }
            Check.equal(List.of("Xbcdef"), Check.query(c, "SELECT data FROM lob"));
        }
    }

    static void attributes() throws Exception {
        try (Connection c = Check.connect("connectionAttributes=suite:yes"); Statement s = c.createStatement()) {
            s.unwrap(com.mysql.cj.jdbc.JdbcStatement.class).setAttribute("trace", "abc");
            Check.equal(List.of("1"), Check.rows(s.executeQuery("SELECT 1")));
            c.setClientInfo("ApplicationName", "suite");
        }
    }

    static void schema(Connection c) throws SQLException {
        for (String sql : new String[] {
            "DROP VIEW IF EXISTS m_view", "DROP TABLE IF EXISTS m_child, m_parent",
            "CREATE TABLE m_parent (id INT UNSIGNED AUTO_INCREMENT, code CHAR(3) NOT NULL, name VARCHAR(50) DEFAULT 'x' COMMENT 'its name', price DECIMAL(10,2) NOT NULL DEFAULT '1.50', at TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,"
                + " twice INT GENERATED ALWAYS AS (id2 * 2) VIRTUAL, id2 INT, PRIMARY KEY (id), UNIQUE KEY code_key (code), KEY name_key (name(10), price DESC)) COMMENT='the parents'",
            "CREATE TABLE m_child (a INT, b INT, parent INT UNSIGNED, e ENUM('it''s','b') NOT NULL, PRIMARY KEY (b, a), CONSTRAINT fk_parent FOREIGN KEY (parent) REFERENCES m_parent (id) ON DELETE CASCADE ON UPDATE SET NULL)",
            "CREATE VIEW m_view AS SELECT id, name FROM m_parent"}) Check.update(c, sql);
    }

    static void tables(String options) throws Exception {
        try (Connection c = Check.connect(options)) {
            schema(c);
            DatabaseMetaData m = c.getMetaData();
            Expected.check("getTables (" + options + ")", Check.columns(m.getTables(Check.DATABASE, null, "m\\_%", null), "TABLE_NAME", "TABLE_TYPE", "REMARKS"));
            Check.equal(List.of("m_view"), Check.columns(m.getTables(Check.DATABASE, null, "%", new String[] {"VIEW"}), "TABLE_NAME").stream().filter(n -> n.startsWith("m_")).toList());
            Check.isTrue(Check.columns(m.getTables("information_schema", null, "COLUMNS", new String[] {"SYSTEM VIEW"}), "TABLE_NAME").size() == 1, "system views");
            Check.isTrue(Check.columns(m.getCatalogs(), "TABLE_CAT").contains(Check.DATABASE), "catalogs");
            Check.isTrue(Check.rows(m.getSchemas()).isEmpty(), "schemas");
            Expected.check("getTableTypes (" + options + ")", Check.rows(m.getTableTypes()));
        }
    }

    static void columns(String options) throws Exception {
        try (Connection c = Check.connect(options)) {
            schema(c);
            DatabaseMetaData m = c.getMetaData();
            String[] names = {"TABLE_NAME", "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME", "COLUMN_SIZE", "DECIMAL_DIGITS", "NULLABLE", "REMARKS", "COLUMN_DEF", "CHAR_OCTET_LENGTH", "ORDINAL_POSITION", "IS_NULLABLE", "IS_AUTOINCREMENT", "IS_GENERATEDCOLUMN"};
            Expected.check("getColumns (" + options + ")", Check.columns(m.getColumns(Check.DATABASE, null, "m\\_%", "%"), names));
            Check.update(c, "DROP TABLE IF EXISTS all_types");
            Check.update(c, ALL_TYPES);
            Expected.check("getColumns of all types (" + options + ")", Check.columns(m.getColumns(Check.DATABASE, null, "all_types", "%"), names));
        }
    }

    static void keys(String options) throws Exception {
        try (Connection c = Check.connect(options)) {
            schema(c);
            DatabaseMetaData m = c.getMetaData();
            Expected.check("getPrimaryKeys (" + options + ")", Check.columns(m.getPrimaryKeys(Check.DATABASE, null, "m_child"), "COLUMN_NAME", "KEY_SEQ", "PK_NAME"));
            String[] names = {"PKTABLE_NAME", "PKCOLUMN_NAME", "FKTABLE_NAME", "FKCOLUMN_NAME", "KEY_SEQ", "UPDATE_RULE", "DELETE_RULE", "FK_NAME", "PK_NAME", "DEFERRABILITY"};
            Expected.check("getImportedKeys (" + options + ")", Check.columns(m.getImportedKeys(Check.DATABASE, null, "m_child"), names));
            // Two unique keys of the parent fit, in no order.
            Expected.check("getExportedKeys (" + options + ")", Check.columns(m.getExportedKeys(Check.DATABASE, null, "m_parent"), names).stream().sorted().toList());
            Expected.check("getCrossReference (" + options + ")", Check.columns(m.getCrossReference(Check.DATABASE, null, "m_parent", Check.DATABASE, null, "m_child"), names).stream().sorted().toList());
            Expected.check("getBestRowIdentifier (" + options + ")", Check.columns(m.getBestRowIdentifier(Check.DATABASE, null, "m_child", DatabaseMetaData.bestRowSession, true), "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME"));
            Expected.check("getVersionColumns (" + options + ")", Check.columns(m.getVersionColumns(Check.DATABASE, null, "m_parent"), "COLUMN_NAME", "TYPE_NAME"));
        }
    }

    static void indexes(String options) throws Exception {
        try (Connection c = Check.connect(options)) {
            schema(c);
            DatabaseMetaData m = c.getMetaData();
            Expected.check("getIndexInfo (" + options + ")", Check.columns(m.getIndexInfo(Check.DATABASE, null, "m_parent", false, false), "NON_UNIQUE", "INDEX_NAME", "TYPE", "ORDINAL_POSITION", "COLUMN_NAME", "ASC_OR_DESC", "FILTER_CONDITION"));
            Expected.check("getIndexInfo unique (" + options + ")", Check.columns(m.getIndexInfo(Check.DATABASE, null, "m_parent", true, true), "INDEX_NAME", "COLUMN_NAME"));
        }
    }

    static void otherMetadata(String options) throws Exception {
        try (Connection c = Check.connect(options)) {
            DatabaseMetaData m = c.getMetaData();
            Check.isTrue(Check.rows(m.getProcedures(Check.DATABASE, null, "%")).isEmpty(), "procedures");
            Check.isTrue(Check.rows(m.getFunctions(Check.DATABASE, null, "%")).isEmpty(), "functions");
            Check.isTrue(Check.rows(m.getProcedureColumns(Check.DATABASE, null, "%", "%")).isEmpty(), "procedure columns");
            Check.isTrue(Check.rows(m.getFunctionColumns(Check.DATABASE, null, "%", "%")).isEmpty(), "function columns");
            m.getTablePrivileges(Check.DATABASE, null, "m_parent").close();
            m.getColumnPrivileges(Check.DATABASE, null, "m_parent", "%").close();
            Check.isTrue(Check.rows(m.getTypeInfo()).size() > 20, "types");
            Check.isTrue(m.getSQLKeywords().length() > 100, "keywords");
            Check.isTrue(m.getMaxColumnsInTable() > 0 && m.getUserName().startsWith("root@") && m.supportsTransactions() && m.getDatabaseMajorVersion() >= 8, "facts");
            Check.equal(true, m.storesLowerCaseIdentifiers() == Check.query(c, "SELECT @@lower_case_table_names").get(0).equals("1"));
        }
    }

    static void accounts() throws Exception {
        try (Connection c = Check.connect("")) {
            Check.update(c, "DROP USER IF EXISTS suite_java_user");
            Check.update(c, "CREATE USER suite_java_user IDENTIFIED BY 'pa ß'");
            Check.update(c, "GRANT SELECT ON " + Check.DATABASE + ".* TO suite_java_user");
            for (String options : new String[] {"sslMode=DISABLED&allowPublicKeyRetrieval=true", "sslMode=DISABLED&allowPublicKeyRetrieval=true", "sslMode=REQUIRED", "sslMode=REQUIRED&tlsVersions=TLSv1.2"}) {
                try (Connection user = DriverManager.getConnection(Check.url(options), "suite_java_user", "pa ß")) {
                    Check.equal(List.of("suite_java_user@%"), Check.query(user, "SELECT CURRENT_USER()"));
                    Check.equal(1142, Check.error(() -> Check.update(user, "DELETE FROM u")).getErrorCode());
                }
            }
            Check.equal(1045, Check.error(() -> DriverManager.getConnection(Check.url("sslMode=REQUIRED"), "suite_java_user", "wrong")).getErrorCode());
            Check.update(c, "DROP USER suite_java_user");
        }
    }

    static void xa() throws Exception {
        com.mysql.cj.jdbc.MysqlXADataSource source = new com.mysql.cj.jdbc.MysqlXADataSource();
        source.setUrl(Check.url(""));
        source.setUser(Check.USER);
        source.setPassword(Check.PASSWORD);
        javax.sql.XAConnection x = source.getXAConnection();
        javax.transaction.xa.XAResource r = x.getXAResource();
        javax.transaction.xa.Xid id = new com.mysql.cj.jdbc.MysqlXid(new byte[] {1, 2}, new byte[] {3}, 7);
        try (Connection c = x.getConnection()) {
            r.start(id, javax.transaction.xa.XAResource.TMNOFLAGS);
            Check.update(c, "INSERT INTO tx VALUES (77)");
            r.end(id, javax.transaction.xa.XAResource.TMSUCCESS);
            r.prepare(id);
            Check.isTrue(r.recover(javax.transaction.xa.XAResource.TMSTARTRSCAN | javax.transaction.xa.XAResource.TMENDRSCAN).length >= 1, "recover");
            r.commit(id, false);
        }
        x.close();
        try (Connection c = Check.connect("")) { Check.equal(List.of("77"), Check.query(c, "SELECT a FROM tx WHERE a = 77")); }
    }

    static void liveness() throws Exception {
        String url = "jdbc:mysql://" + Check.HOST + ":1," + Check.HOST + ":" + Check.PORT + "/" + Check.DATABASE + "?failOverReadOnly=false";
        try (Connection c = DriverManager.getConnection(url, Check.USER, Check.PASSWORD)) {
            Check.isTrue(c.isValid(5), "valid");
            c.setNetworkTimeout(Runnable::run, 10000);
            Check.equal(10000, c.getNetworkTimeout());
            Check.equal(List.of("1"), Check.query(c, "SELECT 1"));
        }
    }
}
