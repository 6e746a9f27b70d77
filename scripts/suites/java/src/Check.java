import java.sql.*;
import java.util.*;

/** What the programs share: settings from the environment, and tests that each say `ok` or `not ok`. */
final class Check {
    interface Body { void run() throws Exception; }

    static final String HOST = env("SUITE_HOST", "127.0.0.1");
    static final String PORT = env("SUITE_PORT", "3306");
    static final String USER = env("SUITE_USER", "root");
    static final String PASSWORD = env("SUITE_PASSWORD", "");
    static final String DATABASE = env("SUITE_DATABASE", "suite_java");
    private static int passed;
    private static int failed;

    private static String env(String name, String otherwise) {
        String value = System.getenv(name);
        return value == null ? otherwise : value;
    }

    static String url(String options) {
        if (System.getenv("SUITE_OPTIONS") != null) options += "&" + System.getenv("SUITE_OPTIONS");
        return "jdbc:mysql://" + HOST + ":" + PORT + "/" + DATABASE + "?" + options;
    }

    static Connection connect(String options) throws SQLException {
        return DriverManager.getConnection(url(options), USER, PASSWORD);
    }

    /** Makes the database anew. */
    static void fresh() throws SQLException {
        try (Connection c = DriverManager.getConnection("jdbc:mysql://" + HOST + ":" + PORT + "/", USER, PASSWORD); Statement s = c.createStatement()) {
            s.execute("DROP DATABASE IF EXISTS " + DATABASE);
            s.execute("CREATE DATABASE " + DATABASE);
        }
    }

    static void test(String name, Body body) {
        try {
            body.run();
            passed += 1;
            System.out.println("ok " + name);
        } catch (Throwable error) {
            failed += 1;
            StringBuilder text = new StringBuilder();
            for (Throwable t = error; t != null; t = t.getCause()) {
                text.append(text.length() == 0 ? "" : " <- ").append(t);
                StackTraceElement[] trace = t.getStackTrace();
                for (StackTraceElement at : trace) {
                    if (at.getFileName() != null && at.getClassName().indexOf('.') < 0 && !at.getClassName().startsWith("Check")) {
                        text.append(" at ").append(at.getFileName()).append(':').append(at.getLineNumber());
                        break;
                    }
                }
            }
            System.out.println("not ok " + name + " # " + text.toString().replace('\n', '|'));
        }
    }

    /** Drops the database and ends the program with 1 if a test failed. */
    static void done() throws SQLException {
        try (Connection c = DriverManager.getConnection("jdbc:mysql://" + HOST + ":" + PORT + "/", USER, PASSWORD); Statement s = c.createStatement()) {
            s.execute("DROP DATABASE IF EXISTS " + DATABASE);
        }
        System.out.println("# " + passed + " of " + (passed + failed) + " passed");
        System.exit(failed == 0 ? 0 : 1);
    }

    static void equal(Object expected, Object found) {
        if (!Objects.deepEquals(expected, found)) {
            throw new AssertionError("expected " + show(expected) + ", found " + show(found));
        }
    }

    static void isTrue(boolean condition, String what) {
        if (!condition) throw new AssertionError(what);
    }

    private static String show(Object value) {
        return value instanceof Object[] array ? Arrays.deepToString(array) : value instanceof byte[] bytes ? Arrays.toString(bytes) : String.valueOf(value);
    }

    /** The rows of a result, columns separated by `|`. */
    static List<String> rows(ResultSet result) throws SQLException {
        List<String> rows = new ArrayList<>();
        int columns = result.getMetaData().getColumnCount();
        while (result.next()) {
            StringJoiner row = new StringJoiner("|");
            for (int i = 1; i <= columns; i++) row.add(String.valueOf(result.getString(i)));
            rows.add(row.toString());
        }
        result.close();
        return rows;
    }

    /** The named columns of a result. */
    static List<String> columns(ResultSet result, String... names) throws SQLException {
        List<String> rows = new ArrayList<>();
        while (result.next()) {
            StringJoiner row = new StringJoiner("|");
            for (String name : names) row.add(String.valueOf(result.getString(name)));
            rows.add(row.toString());
        }
        result.close();
        return rows;
    }

    static List<String> query(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement()) {
            return rows(s.executeQuery(sql));
        }
    }

    static int update(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement()) {
            return s.executeUpdate(sql);
        }
    }

    static SQLException error(Body body) throws Exception {
        try {
            body.run();
        } catch (SQLException error) {
            return error;
        }
        throw new AssertionError("expected an SQLException");
    }
}
