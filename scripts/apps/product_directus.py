"""Directus: its bootstrap with all migrations, a data model made over REST (collections, fields, relations), items with filters, aggregates and search, roles, policies and users, GraphQL, the schema's snapshot, and everything away again."""
import json, subprocess
import _rest

VERSION = "11.17.4"
TITLE = f"Directus {VERSION} (knex, mysql2)"
CLOCK = _rest.BOTH + r"|\$argon2\S+"
UNSEEN = ("directus_sessions",)
SETTINGS = {"DB_CLIENT": "mysql", "SECRET": "no secret", "ADMIN_EMAIL": "admin@example.org", "ADMIN_PASSWORD": "secret", "HOST": "127.0.0.1", "TELEMETRY": "false", "PUBLIC_URL": "http://127.0.0.1", "LOG_LEVEL": "warn", "RATE_LIMITER_ENABLED": "false"}


def install(tools):
    place = tools / "directus"
    if (place / "done").exists():
        return
    place.mkdir(parents=True, exist_ok=True)
    (place / "package.json").write_text('{"private": true}')
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", f"directus@{VERSION}", "mysql2@3.24.6"], cwd=place, check=True)
    (place / "done").touch()


def environment(target, database, tools):
    return {**SETTINGS, "DB_HOST": target.host, "DB_PORT": str(target.port), "DB_USER": target.user, "DB_PASSWORD": target.password, "DB_DATABASE": database}


def steps(target, database, tools, work):
    program = f"cd {tools}/directus && PORT=$APP_HTTP_PORT exec node node_modules/directus/cli.js"
    return {"before": [("bootstrap", ["sh", "-c", f"{program} bootstrap"], False), ("migrate", ["sh", "-c", f"{program} database migrate:latest"], False), ("down", ["sh", "-c", f"{program} database migrate:down"], False),
                       ("up", ["sh", "-c", f"{program} database migrate:up"], False), ("snapshot", ["sh", "-c", f"{program} schema snapshot - --yes"], False)],
            "serve": ["sh", "-c", f"{program} start"]}


def visit(port, target, database, _run):
    api = _rest.Rest(port, CLOCK)
    yield api.ask("POST", "/auth/login", {"email": "admin@example.org", "password": "wrong"}, 401)
    yield api.ask("POST", "/auth/login", {"email": "admin@example.org", "password": "secret"}, shown=False)
    api.headers["Authorization"] = "Bearer " + api.answer["data"]["access_token"]
    key = {"field": "id", "type": "integer", "schema": {"is_primary_key": True, "has_auto_increment": True}}
    field = lambda name, kind, **schema: {"field": name, "type": kind, "schema": schema, "meta": {}}
    yield api.ask("POST", "/collections", {"collection": "authors", "schema": {}, "meta": {"note": "who"}, "fields": [key, field("name", "string", is_nullable=False, max_length=80), field("born", "date"), field("mail", "string", is_unique=True, max_length=100)]})
    yield api.ask("POST", "/collections", {"collection": "books", "schema": {}, "meta": {"sort_field": "place"}, "fields": [
        key, field("title", "string", is_nullable=False), field("body", "text"), field("price", "decimal", numeric_precision=10, numeric_scale=2, default_value=9.99), field("made", "timestamp"), field("on", "dateTime"), field("at", "time"), field("details", "json"),
        field("sold", "boolean", default_value=False), field("big", "bigInteger"), field("ratio", "float"), field("code", "uuid"), field("place", "integer"), field("hidden", "hash"), field("many", "csv")]})
    yield api.ask("POST", "/collections", {"collection": "books", "schema": {}}, 400)
    yield api.ask("POST", "/fields/books", {"field": "author", "type": "integer", "schema": {}, "meta": {"interface": "select-dropdown-m2o", "special": ["m2o"]}})
    yield api.ask("POST", "/fields/authors", {"field": "books", "type": "alias", "meta": {"special": ["o2m"]}})
    yield api.ask("POST", "/relations", {"collection": "books", "field": "author", "related_collection": "authors", "meta": {"one_field": "books", "sort_field": "place"}, "schema": {"on_delete": "CASCADE"}})
    yield api.ask("PATCH", "/fields/books/title", {"schema": {"max_length": 120, "is_indexed": True, "comment": "what it's called"}})
    yield api.ask("PATCH", "/fields/books/price", {"schema": {"default_value": 5, "is_nullable": False}})
    yield api.ask("PATCH", "/fields/books/big", {"schema": {"is_unique": True}})
    for path in ("/fields/books", "/relations/books"):
        yield api.ask("GET", path, shown=False)
        # It asks information_schema in no order.
        yield "sorted", path, 200, "\n".join(sorted(json.dumps(one, ensure_ascii=False, sort_keys=True) for one in api.answer["data"]))
    yield api.ask("POST", "/items/authors", [{"name": "Ursula K. Le Guin", "born": "1929-10-21", "mail": "u@example.org", "books": [{"title": "The Dispossessed", "price": "12.50", "details": {"pages": 341, "awards": ["Hugo", "Nebula"]}, "made": "1974-05-01T10:20:30Z", "big": "9007199254740993"}]},
                                             {"name": "Стругацкие 😀", "mail": None}])
    yield api.ask("POST", "/items/authors", {"name": "twice", "mail": "U@EXAMPLE.ORG"}, 400)
    yield api.ask("POST", "/items/books", {"title": None}, 400)
    yield api.ask("POST", "/items/books", {"title": "nobody's", "author": 99}, 400)
    yield api.ask("POST", "/items/books", [{"title": f"100% _wild_ {n}", "author": 2, "price": n, "place": 5 - n, "at": "10:20:30", "on": "1999-12-31T23:59:59", "ratio": n / 3, "many": ["a", "b"], "sold": n % 2 == 0, "hidden": "x", "details": {"n": n}} for n in range(1, 5)], shown=False)
    for query in ("books?sort=-price", "books?filter[price][_between]=2,4&fields=id,title,author.name", "books?search=WILD&limit=2&page=2&meta=*", "books?filter[title][_contains]=_wild_", "books?filter[author][name][_starts_with]=Ursula", "books?filter[_or][0][sold][_eq]=true&filter[_or][1][details][_null]=true",
                  "books?aggregate[sum]=price&aggregate[countDistinct]=author&groupBy[]=sold", "books?filter[year(made)][_eq]=1974&fields=year(made),month(made),count(details)", "authors?fields=*,books.title&deep[books][_sort]=place&deep[books][_limit]=2",
                  "authors?filter[books][_some][price][_gt]=10", "authors?filter[books][_none][price][_gt]=10", "authors?filter[count(books)][_gt]=1", "authors?sort=-books.price", "books?filter[made][_lt]=$NOW&fields=id", "books?filter[id][_in]=1,2,3&export=csv&fields=id,title,price"):
        yield api.ask("GET", "/items/" + query)
    yield api.ask("PATCH", "/items/books", {"query": {"filter": {"author": {"_eq": 2}}, "limit": -1}, "data": {"price": 1.25}}, shown=False)
    yield api.ask("PATCH", "/items/books/1", {"title": "changed", "author": {"id": 1, "name": "U. K. L."}})
    yield api.ask("POST", "/utils/sort/books", {"item": 3, "to": 5})
    yield api.ask("POST", "/graphql", {"query": "{ authors(sort: [\"id\"]) { name books(filter: {sold: {_eq: true}}, sort: [\"id\"]) { title price } books_func { count } } books_aggregated { count { id } avg { price } } }"})
    yield api.ask("POST", "/roles", {"name": "reader"})
    role = api.answer["data"]["id"]
    yield api.ask("POST", "/policies", {"name": "reads", "app_access": False, "permissions": {"create": [{"collection": "books", "action": "read", "fields": ["id", "title"], "permissions": {"sold": {"_eq": True}}}], "update": [], "delete": []}, "roles": {"create": [{"role": role}], "update": [], "delete": []}})
    yield api.ask("POST", "/users", {"email": "reader@example.org", "password": "secret", "role": role, "token": "reader-token"})
    reader = _rest.Rest(port, CLOCK, Authorization="Bearer reader-token")
    yield reader.ask("GET", "/items/books")
    yield reader.ask("GET", "/items/authors", None, 403)
    yield reader.ask("PATCH", "/items/books/1", {"title": "no"}, 403)
    yield api.ask("GET", "/activity?aggregate[count]=*&groupBy[]=action&groupBy[]=collection", shown=False)
    yield "groups", "in no order", 200, "\n".join(sorted(map(str, api.answer["data"])))
    for path in ("users?fields=email,role.name&sort=email", "revisions?aggregate[count]=id", "schema/snapshot", "server/health", "permissions?fields=collection,action&sort=id", "collections"):
        yield api.ask("GET", "/" + path, shown=path not in ("server/health", "collections"))
    yield api.ask("DELETE", "/items/authors/2")
    yield api.ask("GET", "/items/books?fields=id")
    yield api.ask("DELETE", "/fields/books/big")
    yield api.ask("DELETE", "/relations/books/author")
    yield api.ask("DELETE", "/collections/authors")
