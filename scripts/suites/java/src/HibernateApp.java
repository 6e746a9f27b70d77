import jakarta.persistence.*;
import jakarta.persistence.criteria.*;
import java.math.BigDecimal;
import java.time.*;
import java.util.*;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.annotations.*;
import org.hibernate.cfg.Configuration;
import org.hibernate.exception.ConstraintViolationException;
import org.hibernate.type.SqlTypes;

/** A small application of Hibernate: its schema made, updated and validated by Hibernate, then queries, changes and locks. */
public final class HibernateApp {
    enum Kind { FREE, PAID, GIFT }

    @Embeddable
    static class Address { String street; @Column(length = 40) String city; }

    @Entity(name = "Customer") @jakarta.persistence.Table(name = "customer", indexes = @jakarta.persistence.Index(name = "by_name", columnList = "name, kind DESC"), uniqueConstraints = @UniqueConstraint(name = "one_mail", columnNames = "email"))
    static class Customer {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
        @Version int version;
        @Column(nullable = false, length = 80) String name;
        String email;
        @Enumerated(EnumType.STRING) Kind kind = Kind.FREE;
        @Enumerated(EnumType.ORDINAL) Kind other;
        @Column(precision = 14, scale = 2) BigDecimal balance;
        boolean active = true;
        Double score;
        Float ratio;
        LocalDate born;
        LocalTime wakes;
        LocalDateTime seen;
        Instant created;
        OffsetDateTime moved;
        Duration took;
        UUID token;
        @Lob String story;
        @Lob byte[] photo;
        byte[] small;
        @JdbcTypeCode(SqlTypes.JSON) Map<String, Object> extra;
        @Embedded Address address;
        @ElementCollection Set<String> labels = new TreeSet<>();
        @OneToMany(mappedBy = "customer", cascade = jakarta.persistence.CascadeType.ALL, orphanRemoval = true) @jakarta.persistence.OrderBy("id") List<Purchase> purchases = new ArrayList<>();
        @Formula("(SELECT COUNT(*) FROM purchase p WHERE p.customer_id = id)") int purchaseCount;
        @CreationTimestamp LocalDateTime made;
        @UpdateTimestamp LocalDateTime changed;
    }

    @Entity(name = "Purchase") @jakarta.persistence.Table(name = "purchase") @org.hibernate.annotations.Check(constraints = "amount >= 0")
    static class Purchase {
        @Id @GeneratedValue(strategy = GenerationType.SEQUENCE) Long id;
        @ManyToOne(fetch = FetchType.LAZY, optional = false) @OnDelete(action = OnDeleteAction.CASCADE) Customer customer;
        int amount;
        @ManyToMany @JoinTable(name = "purchase_item") Set<Item> items = new HashSet<>();
    }

    @Entity(name = "Item") @Inheritance(strategy = InheritanceType.JOINED)
    static class Item { @Id @GeneratedValue(strategy = GenerationType.TABLE) Integer id; String title; }

    @Entity(name = "Book") static class Book extends Item { int pages; }

    @Entity(name = "Disc") static class Disc extends Item { int minutes; }

    @Entity(name = "Pet") @Inheritance(strategy = InheritanceType.SINGLE_TABLE) @DiscriminatorColumn(name = "species")
    static class Pet { @Id @GeneratedValue(strategy = GenerationType.UUID) UUID id; String name; @ManyToOne Pet parent; }

    @Entity(name = "Cat") @DiscriminatorValue("cat") static class Cat extends Pet { @ColumnDefault("9") int lives; }

    @Embeddable
    record Pair(int a, String b) {}

    @Entity(name = "Keyed") static class Keyed { @EmbeddedId Pair id; String v; }

    private static SessionFactory factory;

    static SessionFactory open(String schema) {
        Configuration c = new Configuration();
        for (Class<?> entity : new Class<?>[] {Customer.class, Purchase.class, Item.class, Book.class, Disc.class, Pet.class, Cat.class, Keyed.class}) c.addAnnotatedClass(entity);
        c.setProperty("hibernate.connection.url", Check.url(""));
        c.setProperty("hibernate.connection.username", Check.USER);
        c.setProperty("hibernate.connection.password", Check.PASSWORD);
        c.setProperty("hibernate.hbm2ddl.auto", schema);
        c.setProperty("hibernate.hbm2ddl.halt_on_error", String.valueOf(!schema.startsWith("create")));
        c.setProperty("hibernate.jdbc.batch_size", "20");
        if (System.getenv("SUITE_SQL") != null) c.setProperty("hibernate.show_sql", "true");
        return c.buildSessionFactory();
    }

    public static void main(String[] args) throws Exception {
        java.util.logging.Logger.getLogger("org.hibernate").setLevel(java.util.logging.Level.OFF);
        Check.fresh();
        Check.test("schema: create", () -> open("create").close());
        Check.test("schema: validate what was made", () -> open("validate").close());
        Check.test("schema: update changes nothing", () -> open("update").close());
        Check.test("schema: update adds what lacks", () -> {
            try (java.sql.Connection c = Check.connect("")) {
                Check.update(c, "ALTER TABLE customer DROP COLUMN score, DROP INDEX by_name");
                Check.update(c, "DROP TABLE purchase_item");
            }
            Check.isTrue(failsToValidate(), "validate must tell of what lacks");
            open("update").close();
            open("validate").close();
        });
        Check.test("schema: drop and create again", () -> open("create").close());
        factory = open("validate");
        Check.test("persist and read back every type", HibernateApp::persist);
        Check.test("batches of 200 entities", HibernateApp::batch);
        Check.test("HQL: joins, aggregates, subqueries, functions", HibernateApp::hql);
        Check.test("HQL: paging, unions, CTE, windows", HibernateApp::hqlAdvanced);
        Check.test("criteria", HibernateApp::criteria);
        Check.test("bulk update, delete, insert-select", HibernateApp::bulk);
        Check.test("bulk changes of a hierarchy (through a temporary table)", HibernateApp::bulkHierarchy);
        Check.test("optimistic locks", HibernateApp::optimistic);
        Check.test("pessimistic locks: read, write, skip locked, no wait", HibernateApp::pessimistic);
        Check.test("constraints by name", HibernateApp::constraints);
        Check.test("native queries, scroll", HibernateApp::nativeQueries);
        Check.test("collections: order, orphans, sets, many to many", HibernateApp::collections);
        Check.test("inheritance: joined and single table", HibernateApp::inheritance);
        Check.test("deletes", HibernateApp::deletes);
        factory.close();
        Check.test("schema: create-drop", () -> open("create-drop").close());
        Check.done();
    }

    static boolean failsToValidate() {
        try {
            open("validate").close();
            return false;
        } catch (RuntimeException expected) {
            return true;
        }
    }

    static void persist() {
        LocalDateTime when = LocalDateTime.of(2024, 2, 29, 12, 34, 56, 789_123_000);
        UUID token = UUID.randomUUID();
        Long id = factory.fromTransaction(s -> {
            Customer c = new Customer();
            c.name = "Ännä 😀"; c.email = "a@example.org"; c.kind = Kind.PAID; c.other = Kind.GIFT; c.balance = new BigDecimal("123456789012.34"); c.score = 0.1; c.ratio = 1.5f;
            c.born = LocalDate.of(2000, 2, 29); c.wakes = LocalTime.of(6, 30); c.seen = when; c.created = Instant.parse("2024-06-01T10:00:00.123456Z"); c.moved = OffsetDateTime.parse("2024-06-01T10:00:00+02:00");
            c.took = Duration.ofSeconds(90, 5); c.token = token; c.story = "s".repeat(100000); c.photo = new byte[] {0, -1}; c.small = new byte[] {1}; c.extra = Map.of("k", List.of(1, "é")); c.address = new Address(); c.address.city = "Bern";
            c.labels.addAll(List.of("red", "green"));
            for (int i = 1; i <= 3; i++) { Purchase p = new Purchase(); p.customer = c; p.amount = i * 10; c.purchases.add(p); }
            s.persist(c);
            return c.id;
        });
        factory.inTransaction(s -> {
            Customer c = s.find(Customer.class, id);
            Check.equal("Ännä 😀", c.name); Check.equal(Kind.PAID, c.kind); Check.equal(Kind.GIFT, c.other); Check.equal(new BigDecimal("123456789012.34"), c.balance); Check.equal(0.1, c.score); Check.equal(LocalDate.of(2000, 2, 29), c.born);
            Check.equal(LocalTime.of(6, 30), c.wakes); Check.equal(when, c.seen); Check.equal(Instant.parse("2024-06-01T10:00:00.123456Z"), c.created); Check.equal(Duration.ofSeconds(90, 5), c.took); Check.equal(token, c.token);
            Check.equal(100000, c.story.length()); Check.equal(new byte[] {0, -1}, c.photo); Check.equal(List.of(1, "é"), c.extra.get("k")); Check.equal("Bern", c.address.city); Check.equal(Set.of("red", "green"), new TreeSet<>(c.labels));
            Check.equal(3, c.purchases.size()); Check.equal(3, c.purchaseCount); Check.isTrue(c.made != null && c.changed != null, "timestamps");
        });
    }

    static void batch() {
        factory.inTransaction(s -> {
            for (int i = 0; i < 200; i++) { Customer c = new Customer(); c.name = "c" + i; c.email = "c" + i + "@example.org"; c.kind = Kind.values()[i % 3]; c.balance = BigDecimal.valueOf(i); s.persist(c); if (i % 50 == 49) { s.flush(); s.clear(); } }
            for (int i = 0; i < 30; i++) { Book b = new Book(); b.title = "b" + i; b.pages = i; s.persist(b); Disc d = new Disc(); d.title = "d" + i; d.minutes = i; s.persist(d); }
        });
        Check.equal(201L, factory.fromSession(s -> s.createQuery("select count(*) from Customer", Long.class).getSingleResult()));
    }

    static void hql() {
        factory.inTransaction(s -> {
            Check.equal(1, s.createQuery("from Customer c where c.name like 'Ä%'", Customer.class).list().size());
            Check.equal(3, s.createQuery("select p from Purchase p join fetch p.customer c where c.kind = :k order by p.amount desc", Purchase.class).setParameter("k", Kind.PAID).list().size());
            Check.equal(60L, s.createQuery("select sum(p.amount) from Purchase p", Long.class).getSingleResult());
            Check.equal(3, s.createQuery("select c.kind, count(c), avg(c.balance), max(c.id) from Customer c group by c.kind having count(c) > 10", Object[].class).list().size());
            Check.equal(1, s.createQuery("from Customer c where exists (select 1 from Purchase p where p.customer = c and p.amount > 20)", Customer.class).list().size());
            Check.equal(1, s.createQuery("from Customer c where size(c.purchases) = 3", Customer.class).list().size());
            Check.equal(1, s.createQuery("from Customer c where 'red' member of c.labels", Customer.class).list().size());
            Object[] f = s.createQuery("select upper(c.name), length(c.name), substring(c.name, 2, 2), trim(both ' ' from '  x '), coalesce(c.score, 0), concat(c.name, '-', c.email), cast(c.id as string), year(c.seen), extract(month from c.seen), c.seen + 1 day, locate('n', c.name), mod(7, 3), abs(-2), round(2.567, 2), case when c.active then 'y' else 'n' end, nullif(1, 1), current_date, replace(c.name, 'n', 'm'), floor(1.5), ceiling(1.5), power(2, 3), left(c.name, 1), str(5), format(c.seen as 'yyyy-MM-dd HH:mm') from Customer c where c.email = 'a@example.org'", Object[].class).getSingleResult();
            Check.equal("ÄNNÄ 😀", f[0]); Check.equal(LocalDateTime.of(2024, 3, 1, 12, 34, 56, 789_123_000), f[9]); Check.equal("2024-02-29 12:34", f[23]);
            Check.equal(201L, s.createQuery("select count(distinct c.name) from Customer c left join c.purchases p", Long.class).getSingleResult());
        });
    }

    static void hqlAdvanced() {
        factory.inTransaction(s -> {
            Check.equal(List.of("c10", "c100"), s.createQuery("select c.name from Customer c where c.name like 'c%' order by c.name", String.class).setFirstResult(2).setMaxResults(2).list());
            Check.equal(61, s.createQuery("select title from Book union all select title from Disc union select name from Customer where id = 1", String.class).list().size());
            Check.equal(5, s.createQuery("with top as (select c.id as id from Customer c order by c.balance desc limit 5) select t.id from top t", Long.class).list().size());
            List<Object[]> w = s.createQuery("select c.name, row_number() over (partition by c.kind order by c.balance), sum(c.balance) over (partition by c.kind) from Customer c where c.balance < 9 order by 1", Object[].class).list();
            Check.equal(9, w.size());
            Check.equal(3, s.createQuery("select listagg(c.name, ',') within group (order by c.name) from Customer c group by c.kind", String.class).list().size());
            Check.equal(2, s.createQuery("select c.name from Customer c where (c.name, c.email) in (('c1', ?1), ('c2', ?2))", String.class).setParameter(1, "c1@example.org").setParameter(2, "c2@example.org").list().size());
            Check.equal(3, s.createQuery("from Customer c join lateral (select p.amount as amount from c.purchases p order by p.amount desc limit 3) x", Object[].class).list().size());
            Check.equal(1, s.createQuery("select 1 from Customer c where c.name = all (select d.name from Customer d where d.id = c.id) and c.id = 1", Integer.class).list().size());
            Check.equal(198, s.createQuery("select c.id from Customer c except select c.id from Customer c where c.id <= 3", Long.class).list().size());
        });
    }

    static void criteria() {
        factory.inTransaction(s -> {
            CriteriaBuilder b = s.getCriteriaBuilder();
            CriteriaQuery<Customer> q = b.createQuery(Customer.class);
            Root<Customer> c = q.from(Customer.class);
            c.fetch("purchases", JoinType.LEFT);
            q.where(b.and(b.between(c.get("balance"), new BigDecimal(5), new BigDecimal(8)), b.or(b.equal(c.get("kind"), Kind.FREE), b.isNull(c.get("score"))))).orderBy(b.desc(c.get("balance"))).distinct(true);
            Check.equal(4, s.createQuery(q).list().size());
        });
    }

    static void bulk() {
        factory.inTransaction(s -> {
            Check.equal(67, s.createMutationQuery("update Customer c set c.score = c.score + 1, c.active = false where c.kind = :k").setParameter("k", Kind.FREE).executeUpdate());
            Check.equal(1, s.createMutationQuery("update versioned Customer set score = (select max(p.amount) from Purchase p) where name = 'c0'").executeUpdate());
            Check.equal(1, s.createMutationQuery("delete from Customer c where c.name = 'c199'").executeUpdate());
            Check.equal(1, s.createMutationQuery("insert into Customer (version, name, email, active) select 0, 'copy', 'copy@example.org', c.active from Customer c where c.name = 'c1'").executeUpdate());
        });
    }

    static void bulkHierarchy() {
        factory.inTransaction(s -> {
            Check.equal(60, s.createMutationQuery("update Item set title = concat(title, '!')").executeUpdate());
            Check.equal(10, s.createMutationQuery("update Book set pages = pages + 1, title = 'many' where pages >= 20").executeUpdate());
            Check.equal(5, s.createMutationQuery("delete from Disc where minutes < 5").executeUpdate());
            Check.equal(1, s.createMutationQuery("insert into Book (id, title, pages) values (9999, 'made', 5)").executeUpdate());
        });
    }

    static void optimistic() {
        Customer stale = factory.fromSession(s -> s.createQuery("from Customer where name = 'c5'", Customer.class).getSingleResult());
        factory.inTransaction(s -> s.find(Customer.class, stale.id).score = 5.0);
        stale.score = 6.0;
        try {
            factory.inTransaction(s -> s.merge(stale));
            throw new AssertionError("expected OptimisticLockException");
        } catch (OptimisticLockException expected) {
            Check.isTrue(expected.getMessage() != null, "message");
        }
        factory.inTransaction(s -> s.find(Customer.class, stale.id, LockModeType.OPTIMISTIC_FORCE_INCREMENT));
    }

    static void pessimistic() throws Exception {
        try (Session a = factory.openSession(); Session b = factory.openSession()) {
            a.beginTransaction(); b.beginTransaction();
            Customer held = a.createQuery("from Customer where name = 'c7'", Customer.class).setLockMode(LockModeType.PESSIMISTIC_WRITE).getSingleResult();
            a.find(Customer.class, held.id, LockModeType.PESSIMISTIC_FORCE_INCREMENT);
            Check.equal(0, b.createQuery("from Customer where id = " + held.id, Customer.class).setHibernateLockMode(org.hibernate.LockMode.UPGRADE_SKIPLOCKED).list().size());
            try {
                b.createQuery("from Customer where id = " + held.id, Customer.class).setHibernateLockMode(org.hibernate.LockMode.UPGRADE_NOWAIT).list();
                throw new AssertionError("expected a lock error");
            } catch (PessimisticLockException | LockTimeoutException expected) {
                Check.isTrue(expected.getMessage() != null, "message");
            }
            b.getTransaction().rollback(); b.beginTransaction();
            Check.isTrue(b.find(Customer.class, held.id - 1, LockModeType.PESSIMISTIC_READ) != null, "read lock");
            a.getTransaction().commit(); b.getTransaction().commit();
        }
    }

    static void constraints() {
        try {
            factory.inTransaction(s -> { Customer c = new Customer(); c.name = "x"; c.email = "a@example.org"; s.persist(c); });
            throw new AssertionError("expected a violation");
        } catch (ConstraintViolationException expected) {
            Check.equal("customer.one_mail", expected.getConstraintName());
            Check.equal(ConstraintViolationException.ConstraintKind.UNIQUE, expected.getKind());
        }
        try {
            factory.inTransaction(s -> { Purchase p = new Purchase(); p.amount = -1; p.customer = s.getReference(Customer.class, 1L); s.persist(p); });
            throw new AssertionError("expected a violation");
        } catch (PersistenceException expected) {
            Check.isTrue(String.valueOf(expected.getMessage()).contains("heck constraint"), expected.toString());
        }
    }

    static void nativeQueries() {
        factory.inTransaction(s -> {
            Check.equal(1, s.createNativeQuery("SELECT {c.*} FROM customer c WHERE c.email = :e", Customer.class).addEntity("c", Customer.class).setParameter("e", "a@example.org").list().size());
            Check.isTrue(((Number) s.createNativeQuery("SELECT COUNT(*) FROM customer", Object.class).getSingleResult()).intValue() > 100, "count");
            int n = 0;
            try (org.hibernate.ScrollableResults<Customer> r = s.createQuery("from Customer order by id", Customer.class).scroll(org.hibernate.ScrollMode.SCROLL_INSENSITIVE)) { while (r.next()) n++; }
            Check.isTrue(n > 100, "scrolled");
        });
    }

    static void collections() {
        factory.inTransaction(s -> {
            Customer c = s.createQuery("from Customer where email = 'a@example.org'", Customer.class).getSingleResult();
            c.purchases.remove(0); c.labels.remove("red"); c.labels.add("blue");
            c.purchases.get(0).items.addAll(s.createQuery("from Item order by id", Item.class).setMaxResults(3).list());
        });
        factory.inTransaction(s -> {
            Customer c = s.createQuery("select c from Customer c left join fetch c.purchases p left join fetch p.items where c.email = 'a@example.org'", Customer.class).getSingleResult();
            Check.equal(2, new HashSet<>(c.purchases).size()); Check.equal(3, c.purchases.get(0).items.size()); Check.equal(new TreeSet<>(Set.of("green", "blue")), new TreeSet<>(c.labels));
        });
    }

    static void inheritance() {
        factory.inTransaction(s -> { Cat mother = new Cat(); mother.name = "Mia"; mother.lives = 9; s.persist(mother); Cat kit = new Cat(); kit.name = "Kit"; kit.parent = mother; s.persist(kit); Keyed k = new Keyed(); k.id = new Pair(1, "b"); k.v = "v"; s.persist(k); });
        factory.inTransaction(s -> {
            Check.equal(2, s.createQuery("from Cat", Cat.class).list().size());
            Check.equal(1, s.createQuery("from Pet p where p.parent.name = 'Mia' and type(p) = Cat", Pet.class).list().size());
            Check.isTrue(s.createQuery("from Item i where treat(i as Book).pages > 3", Item.class).list().size() > 5, "books");
            Check.equal("v", s.find(Keyed.class, new Pair(1, "b")).v);
        });
    }

    static void deletes() {
        factory.inTransaction(s -> s.remove(s.createQuery("from Customer where email = 'a@example.org'", Customer.class).getSingleResult()));
        Check.equal(0L, factory.fromSession(s -> s.createQuery("select count(*) from Purchase", Long.class).getSingleResult()));
    }
}
