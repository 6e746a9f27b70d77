import java.nio.file.*;
import java.util.*;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.FlywayException;

/** Flyway and Liquibase: migrate, validate, repair, roll back, diff, clean. */
public final class Migrations {
    public static void main(String[] args) throws Exception {
        java.util.logging.Logger.getLogger("").setLevel(java.util.logging.Level.OFF);
        Path dir = Files.createTempDirectory("suite");
        Files.writeString(dir.resolve("V1__first.sql"), "CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, n VARCHAR(20));\n-- a comment\nINSERT INTO a (n) VALUES ('x;y'), ('${who}');\n");
        Files.writeString(dir.resolve("V2__second.sql"), "ALTER TABLE a ADD COLUMN m INT DEFAULT 5;\nCREATE VIEW va AS SELECT * FROM a;\n");
        Files.writeString(dir.resolve("R__again.sql"), "CREATE OR REPLACE VIEW vb AS SELECT n FROM a;\n");
        Path log = dir.resolve("changes.xml");
        Files.writeString(log, LIQUIBASE);
        Check.fresh();
        Check.test("Flyway: migrate, info, validate", () -> {
            Flyway f = flyway(dir);
            Check.equal(3, f.migrate().migrationsExecuted);
            Check.equal(0, flyway(dir).migrate().migrationsExecuted);
            f.validate();
            Check.equal(3, f.info().applied().length);
            try (java.sql.Connection c = Check.connect("")) { Check.equal(List.of("x;y", "me"), Check.query(c, "SELECT n FROM vb ORDER BY n DESC")); }
        });
        Check.test("Flyway: a failing migration, repair", () -> {
            Files.writeString(dir.resolve("V3__bad.sql"), "CREATE TABLE b (id INT);\nSELECT * FROM missing;\n");
            try { flyway(dir).migrate(); throw new AssertionError("expected an error"); } catch (FlywayException expected) { Check.isTrue(expected.getMessage().contains("missing"), expected.getMessage()); }
            Files.writeString(dir.resolve("V3__bad.sql"), "DROP TABLE b;\n");
            flyway(dir).repair();
            Check.equal(1, flyway(dir).migrate().migrationsExecuted);
        });
        Check.test("Flyway: clean", () -> {
            flyway(dir).clean();
            try (java.sql.Connection c = Check.connect("")) { Check.equal(List.of(), Check.query(c, "SHOW TABLES")); }
        });
        Check.test("Flyway: baseline of what is there", () -> {
            try (java.sql.Connection c = Check.connect("")) { Check.update(c, "CREATE TABLE old (id INT)"); }
            Flyway f = Flyway.configure().dataSource(Check.url("allowMultiQueries=true"), Check.USER, Check.PASSWORD).locations("filesystem:" + dir).placeholders(Map.of("who", "me")).baselineOnMigrate(true).baselineVersion("2").cleanDisabled(false).load();
            Files.writeString(dir.resolve("V3__bad.sql"), "SELECT 1;\n");
            Files.writeString(dir.resolve("R__again.sql"), "CREATE OR REPLACE VIEW vb AS SELECT * FROM old;\n");
            f.migrate();
            f.clean();
        });
        Check.test("Liquibase: update, status, twice", () -> liquibase(dir, l -> {
            l.update("");
            Check.equal(0, l.listUnrunChangeSets(new liquibase.Contexts(), new liquibase.LabelExpression()).size());
            l.update("");
            l.validate();
        }));
        Check.test("Liquibase: snapshot and diff find the schema", () -> liquibase(dir, l -> {
            liquibase.structure.core.Schema schema = new liquibase.structure.core.Schema(l.getDatabase().getDefaultCatalogName(), null);
            liquibase.snapshot.DatabaseSnapshot snapshot = liquibase.snapshot.SnapshotGeneratorFactory.getInstance().createSnapshot(new liquibase.CatalogAndSchema(Check.DATABASE, null), l.getDatabase(), new liquibase.snapshot.SnapshotControl(l.getDatabase()));
            TreeSet<String> tables = new TreeSet<>();
            snapshot.get(liquibase.structure.core.Table.class).forEach(t -> tables.add(t.getName().toLowerCase()));
            Check.isTrue(tables.containsAll(Set.of("person", "pet")), tables.toString());
            TreeSet<String> columns = new TreeSet<>();
            snapshot.get(liquibase.structure.core.Column.class).forEach(c -> { if (c.getRelation() != null && c.getRelation().getName().equalsIgnoreCase("person")) columns.add(c.getName() + " " + c.getType() + " " + c.isNullable() + " " + c.getDefaultValue() + " " + c.getRemarks()); });
            Expected.check("Liquibase columns of person", new ArrayList<>(columns));
            TreeSet<String> keys = new TreeSet<>();
            snapshot.get(liquibase.structure.core.ForeignKey.class).forEach(k -> keys.add(k.getName() + " " + k.getDeleteRule()));
            snapshot.get(liquibase.structure.core.Index.class).forEach(i -> keys.add("index " + i.getName() + " " + i.isUnique()));
            snapshot.get(liquibase.structure.core.UniqueConstraint.class).forEach(u -> keys.add("unique " + u.getName()));
            Expected.check("Liquibase keys", new ArrayList<>(keys));
        }));
        Check.test("Liquibase: roll back, tag, drop all", () -> liquibase(dir, l -> {
            l.rollback(2, "");
            l.tag("one");
            l.update("");
            l.rollback("one", "");
            l.dropAll();
        }));
        Check.done();
    }

    interface With { void run(liquibase.Liquibase l) throws Exception; }

    static void liquibase(Path dir, With body) throws Exception {
        try (java.sql.Connection c = Check.connect("")) {
            liquibase.database.Database db = liquibase.database.DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new liquibase.database.jvm.JdbcConnection(c));
            try (liquibase.Liquibase l = new liquibase.Liquibase("changes.xml", new liquibase.resource.DirectoryResourceAccessor(dir), db)) {
                l.setShowSummary(null);
                body.run(l);
            }
        }
    }

    static Flyway flyway(Path dir) {
        return Flyway.configure().dataSource(Check.url(""), Check.USER, Check.PASSWORD).locations("filesystem:" + dir).placeholders(Map.of("who", "me")).cleanDisabled(false).load();
    }

    static final String LIQUIBASE = """
        <?xml version="1.0" encoding="UTF-8"?>
        <databaseChangeLog xmlns="http://www.liquibase.org/xml/ns/dbchangelog" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
          xsi:schemaLocation="http://www.liquibase.org/xml/ns/dbchangelog http://www.liquibase.org/xml/ns/dbchangelog/dbchangelog-latest.xsd">
          <changeSet id="1" author="suite">
            <createTable tableName="person" remarks="people">
              <column name="id" type="bigint" autoIncrement="true"><constraints primaryKey="true" nullable="false"/></column>
              <column name="name" type="varchar(50)" defaultValue="no'body" remarks="the name"><constraints nullable="false"/></column>
              <column name="ok" type="boolean" defaultValueBoolean="true"/>
              <column name="born" type="date"/>
              <column name="made" type="timestamp" defaultValueComputed="CURRENT_TIMESTAMP"/>
              <column name="money" type="decimal(12,2)" defaultValueNumeric="0"/>
              <column name="story" type="clob"/>
              <column name="photo" type="blob"/>
              <column name="code" type="uuid"/>
            </createTable>
            <createTable tableName="pet">
              <column name="id" type="int"><constraints primaryKey="true" nullable="false"/></column>
              <column name="owner" type="bigint"/>
            </createTable>
            <addForeignKeyConstraint baseTableName="pet" baseColumnNames="owner" constraintName="pet_owner" referencedTableName="person" referencedColumnNames="id" onDelete="CASCADE"/>
          </changeSet>
          <changeSet id="2" author="suite">
            <preConditions onFail="HALT"><tableExists tableName="person"/><columnExists tableName="person" columnName="name"/><foreignKeyConstraintExists foreignKeyName="pet_owner" foreignKeyTableName="pet"/></preConditions>
            <createIndex tableName="person" indexName="by_name"><column name="name"/></createIndex>
            <addUniqueConstraint tableName="person" columnNames="code" constraintName="one_code"/>
            <addColumn tableName="pet"><column name="kind" type="varchar(10)" defaultValue="cat"/></addColumn>
            <renameColumn tableName="pet" oldColumnName="kind" newColumnName="species" columnDataType="varchar(10)"/>
          </changeSet>
          <changeSet id="3" author="suite">
            <insert tableName="person"><column name="name" value="Ann"/><column name="born" valueDate="2000-02-29"/></insert>
            <addNotNullConstraint tableName="pet" columnName="species" columnDataType="varchar(10)" defaultNullValue="cat"/>
            <createView viewName="names">SELECT name FROM person</createView>
            <rollback><delete tableName="person"/><dropView viewName="names"/></rollback>
          </changeSet>
        </databaseChangeLog>
        """;
}
