import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.*;
import jakarta.persistence.*;
import java.io.IOException;
import java.math.BigDecimal;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.time.*;
import java.util.*;
import java.util.function.Function;
import org.flywaydb.core.Flyway;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.cfg.Configuration;
import org.hibernate.exception.ConstraintViolationException;
import org.hibernate.query.Query;
import org.hibernate.type.SqlTypes;

/** A bookshop in Hibernate: `migrate DIR` and `info DIR` by Flyway, `update` shows what Hibernate would still change, `serve` answers HTTP. */
public final class Shop {
    enum Kind { WRITER, EDITOR }

    @Entity(name = "Author") @Table(name = "authors")
    static class Author {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
        @Version int version;
        @Column(nullable = false, length = 100) String name;
        @Column(nullable = false, length = 200) String email;
        LocalDate born;
        @Enumerated(EnumType.STRING) @Column(nullable = false) Kind kind = Kind.WRITER;
        @OneToMany(mappedBy = "author") List<Book> books = new ArrayList<>();
    }

    @Entity(name = "Tag") @Table(name = "tags")
    static class Tag { @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id; @Column(nullable = false, length = 30) String name; }

    @Entity(name = "Book") @Table(name = "books")
    static class Book {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
        @Version int version;
        @Column(nullable = false, length = 200) String title;
        @ManyToOne(fetch = FetchType.LAZY, optional = false) Author author;
        @Column(nullable = false, precision = 10, scale = 2) BigDecimal price;
        int stock;
        @Column(name = "published_at") LocalDateTime publishedAt;
        @JdbcTypeCode(SqlTypes.JSON) Map<String, Object> details;
        @ManyToMany @JoinTable(name = "book_tags", joinColumns = @JoinColumn(name = "book_id"), inverseJoinColumns = @JoinColumn(name = "tag_id")) @OrderBy("name") Set<Tag> tags = new LinkedHashSet<>();
    }

    @Entity(name = "Purchase") @Table(name = "orders")
    static class Purchase {
        @Id @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "orders") @SequenceGenerator(name = "orders", sequenceName = "orders_seq", allocationSize = 5) Long id;
        @ManyToOne(fetch = FetchType.LAZY, optional = false) @JoinColumn(name = "book_id") Book book;
        short count;
        @Column(nullable = false, precision = 12, scale = 2) BigDecimal total;
    }

    static final class Refused extends RuntimeException {
        final int status;
        Refused(int status, String why) { super(why); this.status = status; }
    }

    static final ObjectMapper JSON = new ObjectMapper();
    static final String URL = "jdbc:mysql://" + System.getenv("APP_HOST") + ":" + System.getenv("APP_PORT") + "/" + System.getenv("APP_DATABASE") + "?allowPublicKeyRetrieval=true";
    static SessionFactory factory;

    static SessionFactory open(String schema) {
        Configuration c = new Configuration();
        for (Class<?> entity : List.of(Author.class, Tag.class, Book.class, Purchase.class)) c.addAnnotatedClass(entity);
        c.setProperty("hibernate.connection.url", URL).setProperty("hibernate.connection.username", System.getenv("APP_USER")).setProperty("hibernate.connection.password", System.getenv("APP_PASSWORD"));
        c.setProperty("hibernate.connection.pool_size", "4").setProperty("hibernate.jdbc.batch_size", "10").setProperty("hibernate.hbm2ddl.auto", schema);
        return c.buildSessionFactory();
    }

    public static void main(String[] args) throws Exception {
        java.util.logging.LogManager.getLogManager().reset();
        switch (args[0]) {
            case "migrate" -> System.out.println(flyway(args[1]).migrate().migrationsExecuted + " and then " + flyway(args[1]).migrate().migrationsExecuted);
            case "info" -> {
                flyway(args[1]).validate();
                for (var m : flyway(args[1]).info().all()) System.out.println(m.getVersion() + " " + m.getDescription() + " " + m.getState() + " " + m.getChecksum());
            }
            case "update" -> { open("validate").close(); open("update").close(); }
            default -> serve();
        }
    }

    static Flyway flyway(String dir) {
        return Flyway.configure().dataSource(URL, System.getenv("APP_USER"), System.getenv("APP_PASSWORD")).locations("filesystem:" + dir).load();
    }

    static void serve() throws IOException {
        factory = open("validate");
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(System.getenv("APP_HTTP_PORT"))), 0);
        server.createContext("/", Shop::answer);
        server.start();
    }

    static void answer(HttpExchange exchange) throws IOException {
        int status = 200;
        Object value;
        try {
            Object found = factory.fromTransaction(session -> route(session, exchange));
            if (found instanceof Integer alone) { status = alone; found = null; }
            if (exchange.getRequestMethod().equals("POST")) status = 201;
            value = found;
        } catch (Refused e) {
            status = e.status;
            value = Map.of("error", e.getMessage());
        } catch (ConstraintViolationException e) {
            status = 409;
            value = Map.of("error", e.getSQLException().getMessage(), "constraint", String.valueOf(e.getConstraintName()), "kind", String.valueOf(e.getKind()));
        } catch (RuntimeException e) {
            status = 500;
            value = Map.of("error", e.toString());
        }
        byte[] bytes = JSON.writeValueAsBytes(value);
        exchange.sendResponseHeaders(status, status == 204 ? -1 : bytes.length);
        if (status != 204) exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    static Object route(Session s, HttpExchange exchange) {
        String[] path = exchange.getRequestURI().getPath().substring(1).split("/");
        Long key = path.length > 1 ? Long.valueOf(path[1]) : null;
        Map<String, String> query = new HashMap<>();
        if (exchange.getRequestURI().getRawQuery() != null)
            for (String pair : exchange.getRequestURI().getRawQuery().split("&")) query.put(pair.split("=")[0], URLDecoder.decode(pair.split("=")[1], StandardCharsets.UTF_8));
        return switch (exchange.getRequestMethod() + " " + path[0] + (key == null ? "" : "/")) {
            case "GET authors" -> s.createQuery("from Author order by name, id", Author.class).list().stream().map(a -> shown(a, s.createQuery("select count(*) from Book where author = :a", Long.class).setParameter("a", a).getSingleResult())).toList();
            case "POST authors" -> { Author a = written(new Author(), body(exchange)); s.persist(a); s.flush(); yield shown(a, 0L); }
            case "GET authors/" -> shown(found(s.find(Author.class, key)), null);
            case "PUT authors/" -> { Author a = written(found(s.find(Author.class, key)), body(exchange)); s.flush(); yield shown(a, null); }
            case "DELETE authors/" -> { s.remove(found(s.find(Author.class, key))); yield 204; }
            case "POST books" -> addBook(s, body(exchange));
            case "GET books" -> books(s, query);
            case "GET books/" -> shown(found(s.find(Book.class, key)));
            case "PATCH books/" -> {
                Book b = found(s.find(Book.class, key));
                Map<String, Object> body = body(exchange);
                b.price = new BigDecimal((String) body.get("price"));
                b.stock = (Integer) body.get("stock");
                s.flush();
                s.refresh(b);
                yield shown(b);
            }
            case "POST orders" -> addOrders(s, exchange);
            case "GET orders" -> s.createQuery("select p.id, p.book.title, p.count, p.total from Purchase p order by p.id", Object[].class).list();
            case "GET report" -> s.createQuery("select a.name, count(*), sum(b.price * b.stock), avg(b.price), cast(max(b.publishedAt) as String), rank() over (order by sum(b.price * b.stock) desc) from Book b join b.author a group by a.name order by 3 desc, 1", Object[].class).list();
            default -> throw new Refused(404, "no route");
        };
    }

    static Map<String, Object> addBook(Session s, Map<String, Object> body) {
        Book b = new Book();
        b.title = (String) body.get("title");
        b.author = s.getReference(Author.class, ((Number) body.get("author_id")).longValue());
        b.price = new BigDecimal((String) body.get("price"));
        b.stock = (Integer) body.get("stock");
        b.publishedAt = body.get("published_at") == null ? null : LocalDateTime.parse((String) body.get("published_at"));
        @SuppressWarnings("unchecked") Map<String, Object> details = (Map<String, Object>) body.get("details");
        b.details = details;
        s.persist(b);
        for (Object name : (List<?>) body.get("tags")) {
            Tag tag = s.createQuery("from Tag where name = :n", Tag.class).setParameter("n", name).uniqueResult();
            if (tag == null) { tag = new Tag(); tag.name = (String) name; s.persist(tag); }
            b.tags.add(tag);
        }
        s.flush();
        s.clear();
        return shown(s.find(Book.class, b.id));
    }

    static Object books(Session s, Map<String, String> query) {
        StringBuilder hql = new StringBuilder("from Book b join fetch b.author where 1 = 1");
        Map<String, Object> values = new HashMap<>();
        if (query.containsKey("tag")) { hql.append(" and exists (select 1 from b.tags t where t.name = :tag)"); values.put("tag", query.get("tag")); }
        if (query.containsKey("min_price")) { hql.append(" and b.price >= :low"); values.put("low", new BigDecimal(query.get("min_price"))); }
        if (query.containsKey("q")) { hql.append(" and b.title ilike :q escape '!'"); values.put("q", "%" + query.get("q").replaceAll("[!%_]", "!$0") + "%"); }
        Query<Book> found = s.createQuery(hql + " order by b.price desc, b.id", Book.class).setMaxResults(3).setFirstResult(3 * (Integer.parseInt(query.getOrDefault("page", "1")) - 1));
        values.forEach(found::setParameter);
        return found.list().stream().map(Shop::shown).toList();
    }

    static Object addOrders(Session s, HttpExchange exchange) {
        List<Map<String, Object>> made = new ArrayList<>();
        List<Map<String, Integer>> lines;
        try { lines = JSON.readValue(exchange.getRequestBody(), List.class); } catch (IOException e) { throw new Refused(400, e.getMessage()); }
        for (Map<String, Integer> line : lines) {
            Book b = s.find(Book.class, line.get("book_id").longValue(), LockModeType.PESSIMISTIC_WRITE);
            if (b.stock < line.get("count")) throw new Refused(409, "out of stock");
            b.stock -= line.get("count");
            Purchase p = new Purchase();
            p.book = b;
            p.count = line.get("count").shortValue();
            p.total = b.price.multiply(BigDecimal.valueOf(p.count));
            s.persist(p);
            made.add(Map.of("id", p.id, "total", p.total));
        }
        return made;
    }

    static <T> T found(T row) {
        if (row == null) throw new Refused(404, "not found");
        return row;
    }

    static Author written(Author a, Map<String, Object> body) {
        a.name = (String) body.get("name");
        a.email = (String) body.get("email");
        a.born = body.get("born") == null ? null : LocalDate.parse((String) body.get("born"));
        return a;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> body(HttpExchange exchange) {
        try { return JSON.readValue(exchange.getRequestBody(), Map.class); } catch (IOException e) { throw new Refused(400, e.getMessage()); }
    }

    static Map<String, Object> shown(Author a, Long books) {
        Map<String, Object> all = new TreeMap<>();
        all.put("id", a.id); all.put("name", a.name); all.put("email", a.email); all.put("born", String.valueOf(a.born)); all.put("kind", a.kind); all.put("version", a.version); all.put("books", books);
        return all;
    }

    static Map<String, Object> shown(Book b) {
        Map<String, Object> all = new TreeMap<>();
        all.put("id", b.id); all.put("title", b.title); all.put("author", b.author.name); all.put("price", b.price.toString()); all.put("stock", b.stock); all.put("published_at", String.valueOf(b.publishedAt));
        all.put("details", b.details); all.put("tags", b.tags.stream().map(t -> t.name).toList()); all.put("version", b.version);
        return all;
    }
}
