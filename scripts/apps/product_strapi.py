"""Strapi: its schema sync and migrations over content types with relations, components, dynamic zones, drafts and locales; content over its REST interface and its admin API, rights, filters, populations, and everything away again."""
import json, shutil, subprocess
import _programs, _rest

VERSION = "5.53.0"
TITLE = f"Strapi {VERSION} (knex, mysql2)"
CHANCE = r"\b[a-z][a-z0-9]{23}\b"  # a document's id
CLOCK = _rest.BOTH + f"|{CHANCE}" + r"|\$2[aby]\$\S+|\b[0-9a-f]{128,}\b|-m[0-9a-z]{7}\b"  # the last: what ends a role's code
UNSEEN = ("strapi_core_store_settings", "strapi_sessions", "strapi_api_tokens", "up_permissions", "up_permissions_role_lnk", "strapi_migrations", "strapi_migrations_internal")  # the first has its models; the last two are written by many at once
KEYS_UNORDERED = True
SETTINGS = {"STRAPI_TELEMETRY_DISABLED": "true", "NODE_ENV": "production", "JWT_SECRET": "jwt"}
SHARED = {"pluginOptions": {"i18n": {"localized": True}}}
to = lambda kind, target, **more: {"type": "relation", "relation": kind, "target": f"api::{target}.{target}", **more}
TYPES = {
    "author": ({"name": {"type": "string", "required": True}, "email": {"type": "email", "unique": True}, "born": {"type": "date"}, "books": to("oneToMany", "book", mappedBy="author")}, {}),
    "tag": ({"name": {"type": "string", "unique": True}, "books": to("manyToMany", "book", mappedBy="tags")}, {}),
    "book": ({"title": {"type": "string", "required": True, **SHARED}, "slug": {"type": "uid", "targetField": "title"}, "body": {"type": "richtext", **SHARED}, "blocks": {"type": "blocks"}, "price": {"type": "decimal"}, "ratio": {"type": "float"},
              "big": {"type": "biginteger"}, "stock": {"type": "integer", "default": 3}, "sold": {"type": "boolean", "default": False}, "details": {"type": "json"}, "made": {"type": "datetime"}, "at": {"type": "time"}, "on": {"type": "date"},
              "kind": {"type": "enumeration", "enum": ["novel", "poem", "essay"]}, "secret": {"type": "password"}, "author": to("manyToOne", "author", inversedBy="books"), "tags": to("manyToMany", "tag", inversedBy="books"),
              "seo": {"type": "component", "component": "shared.seo"}, "parts": {"type": "component", "component": "shared.part", "repeatable": True}, "zone": {"type": "dynamiczone", "components": ["shared.seo", "shared.part"]}}, {"draft": True, "localized": True}),
    "home": ({"heading": {"type": "string"}, "featured": to("oneToMany", "book")}, {"kind": "singleType"}),
}
COMPONENTS = {"seo": {"title": {"type": "string"}, "description": {"type": "text"}}, "part": {"heading": {"type": "string"}, "pages": {"type": "integer"}, "tags": to("oneToMany", "tag")}}
CONFIG = {
    "database": "() => ({ connection: { client: 'mysql', connection: { host: process.env.APP_HOST, port: Number(process.env.APP_PORT), database: process.env.APP_DATABASE, user: process.env.APP_USER, password: process.env.APP_PASSWORD, ssl: false } } })",
    "server": "() => ({ host: '127.0.0.1', port: Number(process.env.APP_HTTP_PORT), app: { keys: ['one', 'two'] } })",
    "admin": "() => ({ auth: { secret: 'secret' }, apiToken: { salt: 'salt' }, transfer: { token: { salt: 'salt' } }, secrets: { encryptionKey: '0123456789abcdef0123456789abcdef' }, serveAdminPanel: false, flags: { nps: false, promoteEE: false } })",
    "middlewares": json.dumps([f"strapi::{name}" for name in ("logger", "errors", "security", "cors", "poweredBy", "query", "body", "session", "favicon", "public")]),
}


def install(tools):
    environment = _programs.node22(tools)
    place = tools / "strapi"
    if not (place / "done").exists():
        place.mkdir(parents=True, exist_ok=True)
        (place / "package.json").write_text('{"private": true}')
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--legacy-peer-deps", f"@strapi/strapi@{VERSION}", f"@strapi/plugin-users-permissions@{VERSION}", "mysql2@3.24.6", "react@18", "react-dom@18", "react-router-dom@6", "styled-components@6"], cwd=place, env=environment, check=True)
        (place / "done").touch()


def project(tools, work):
    """Strapi's project, whose dependencies are those of `install`."""
    shutil.rmtree(work / "shop", ignore_errors=True)

    def put(path, text):
        file = work / "shop" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    put("package.json", json.dumps({**json.loads((tools / "strapi/package.json").read_text()), "name": "shop", "version": "1.0.0", "strapi": {"uuid": False}}))
    for name, text in CONFIG.items():
        put(f"config/{name}.js", f"module.exports = {text};\n")
    put("src/index.js", "module.exports = { register() {}, bootstrap() {} };\n")
    put("public/uploads/.gitkeep", "")
    put("favicon.png", "")
    for name, (attributes, more) in TYPES.items():
        info = {"singularName": name, "pluralName": f"{name}s", "displayName": name}
        put(f"src/api/{name}/content-types/{name}/schema.json", json.dumps({"kind": more.get("kind", "collectionType"), "collectionName": f"{name}s", "info": info, "options": {"draftAndPublish": more.get("draft", False)},
                                                                           "pluginOptions": {"i18n": {"localized": more.get("localized", False)}}, "attributes": attributes}))
        for part, maker in (("routes", "Router"), ("controllers", "Controller"), ("services", "Service")):
            put(f"src/api/{name}/{part}/{name}.js", f"module.exports = require('@strapi/strapi').factories.createCore{maker}('api::{name}.{name}');\n")
    for name, attributes in COMPONENTS.items():
        put(f"src/components/shared/{name}.json", json.dumps({"collectionName": f"components_shared_{name}s", "info": {"displayName": name}, "attributes": attributes}))
    (work / "shop/node_modules").symlink_to(tools / "strapi/node_modules")


def steps(target, database, tools, work):
    project(tools, work)
    run = f"cd {work}/shop && exec {tools}/node22/node_modules/node/bin/node node_modules/@strapi/strapi/bin/strapi.js start"
    return {"before": [], "serve": ["env", *(f"{name}={value}" for name, value in SETTINGS.items()), "sh", "-c", run]}


def visit(port, target, database, _run):
    api = _rest.Rest(port, CLOCK)
    owner = {"firstname": "Éric", "lastname": "O'Neil", "email": "eric@example.org", "password": "Correct1horse"}
    _rest.until(lambda: api.ask("GET", "/admin/init")[2] == 200)
    yield api.ask("POST", "/admin/register-admin", owner, shown=False)
    yield api.ask("POST", "/admin/register-admin", owner, 400, shown=False)
    yield api.ask("POST", "/admin/login", {"email": owner["email"], "password": "wrong"}, 400)
    yield api.ask("POST", "/admin/login", {"email": owner["email"], "password": owner["password"]}, shown=False)
    api.headers["Authorization"] = f"Bearer {api.answer['data']['token']}"
    yield api.ask("POST", "/i18n/locales", {"name": "Deutsch", "code": "de", "isDefault": False})
    yield api.ask("GET", "/i18n/locales", shown=False)
    yield api.ask("POST", "/admin/roles", {"name": "Лектор", "description": "reads"}, shown=False)
    role = api.answer.get("data", {}).get("id")
    yield api.ask("PUT", f"/admin/roles/{role}/permissions", {"permissions": [{"action": "plugin::content-manager.explorer.read", "subject": "api::book.book", "properties": {"fields": ["title"], "locales": ["en"]}, "conditions": ["admin::is-creator"]}]}, shown=False)
    yield api.ask("POST", "/admin/users", {"firstname": "Ann", "lastname": "Lee", "email": "ann@example.org", "roles": [role]}, shown=False)
    yield api.ask("POST", "/admin/users", {"firstname": "Ann", "lastname": "Lee", "email": "ANN@example.org", "roles": [role]}, 400, shown=False)
    yield api.ask("GET", "/admin/users?_q=ann&sort=email:ASC&page=1&pageSize=5", shown=False)
    yield api.ask("POST", "/admin/api-tokens", {"name": "robot", "description": "", "type": "full-access", "lifespan": None}, shown=False)
    robot = _rest.Rest(port, CLOCK, Authorization=f"Bearer {api.answer['data']['accessKey']}")
    made = {}

    def make(kind, data, query="", expected=None):
        told = robot.ask("POST", f"/api/{kind}s{query}", {"data": data}, expected)
        if told[2] == 200 and not expected:
            made.setdefault(kind, []).append(robot.answer["data"]["documentId"])
        return told

    for name in ("Sci-Fi", "Éclair", "日本"):
        yield make("tag", {"name": name})
    yield make("tag", {"name": "Sci-Fi"}, expected=400)
    for name, email, born in (("Ursula K. Le Guin", "u@example.org", "1929-10-21"), ("Стругацкие", "abs@example.org", None), ("100% _wild_ \\ \"q\" 😀", "w@example.org", "2000-02-29")):
        yield make("author", {"name": name, "email": email, "born": born})
    yield make("author", {"name": "again", "email": "u@example.org"}, expected=400)
    for number in range(6):
        yield make("book", {"title": f"Book {number} ü", "slug": f"book-{number}", "body": "*b* 😀" * 50, "blocks": [{"type": "paragraph", "children": [{"type": "text", "text": "日本"}]}], "price": f"{number}.25", "ratio": number / 3, "big": "9007199254740993", "stock": number, "sold": number % 2 == 1,
                            "details": {"pages": number, "a": [1, None, "é", {"b": 2.5}]}, "made": f"2024-02-2{number}T10:20:30.125Z", "at": "10:20:30.125", "on": "2024-02-29", "kind": ("novel", "poem", "essay")[number % 3], "secret": "pass", "author": made["author"][number % 2], "tags": made["tag"][: number % 4],
                            "seo": {"title": f"seo {number}", "description": "d" * 300}, "parts": [{"heading": f"part {part}", "pages": part * 10, "tags": made["tag"][:part]} for part in range(number % 3)],
                            "zone": [{"__component": "shared.part", "heading": "z", "pages": 1}, {"__component": "shared.seo", "title": "z"}]}, "" if number % 2 else "?status=draft")
    books = made["book"]
    yield make("book", {"title": None}, expected=400)
    yield robot.ask("PUT", f"/api/books/{books[0]}?locale=de", {"data": {"title": "Buch Null", "body": "Körper"}})
    yield robot.ask("PUT", f"/api/books/{books[1]}", {"data": {"stock": 99, "tags": {"disconnect": [made["tag"][0]], "connect": [{"documentId": made["tag"][2], "position": {"start": True}}]}, "parts": [{"heading": "only"}], "zone": []}})
    yield robot.ask("PUT", "/api/home", {"data": {"heading": "Welcome", "featured": books[3:5]}})
    everything = "populate[author]=true&populate[tags][sort]=name&populate[parts][populate]=tags&populate[seo]=true&populate[zone][populate]=*"
    for query in ("sort=title", "sort[0]=kind:desc&sort[1]=title:asc&pagination[page]=2&pagination[pageSize]=2", f"{everything}&sort=title", "filters[title][$containsi]=BOOK&sort=title&fields[0]=title", "filters[$or][0][stock][$gt]=3&filters[$or][1][kind][$eq]=poem&sort=title", "filters[author][name][$startsWith]=Urs&sort=title",
                  "filters[tags][name][$in][0]=Sci-Fi&filters[tags][name][$in][1]=日本&sort=title", "filters[made][$between][0]=2024-02-21&filters[made][$between][1]=2024-02-24T00:00:00Z&sort=title", "filters[parts][pages][$gte]=10&sort=title", "filters[seo][title][$endsWith]=3", "filters[author][id][$null]=true", "status=draft&sort=title", "locale=de&sort=title",
                  "filters[price][$lt]=3&filters[sold][$eq]=true&sort=price:desc", "filters[$not][kind][$eqi]=NOVEL&sort=title", "sort=author.name,title&populate=author", "_q=körper&locale=de", "filters[details][$contains]=pages&sort=title", "filters[title][$notContains]=3&pagination[start]=1&pagination[limit]=2&sort=title", "filters[nope]=1"):
        yield robot.ask("GET", f"/api/books?{_rest.urllib.parse.quote(query, safe='=&[]$*,:')}", None, 400 if "nope" in query else None)
    yield robot.ask("GET", f"/api/authors?{_rest.urllib.parse.quote('populate[books][count]=true&filters[name][$contains]=100% _', safe='=&[]$*,:')}")
    yield robot.ask("GET", "/api/home?populate=featured")
    place = "/content-manager/collection-types/api::book.book"
    for query in ("page=1&pageSize=3&sort=title:ASC", "_q=book&filters[$and][0][stock][$ne]=0&sort=stock:DESC", "filters[$and][0][author][name][$contains]=Urs&pageSize=20&page=1&sort=title:DESC"):
        yield api.ask("GET", f"{place}?{query}", shown=False)
        yield "list", query, 200, str([row.get("title") for row in api.answer.get("results", [])])
    for action, body in (("publish", {"title": "published now"}), ("unpublish", {}), ("publish", {})):
        yield api.ask("POST", f"{place}/{books[2]}/actions/{action}", body, shown=False)
    yield api.ask("POST", f"{place}/actions/bulkPublish", {"documentIds": books[2:5]}, shown=False)
    yield api.ask("POST", f"{place}/clone/{books[3]}", {"title": "cloned", "slug": "cloned"}, shown=False)
    yield api.ask("POST", "/content-manager/uid/generate", {"contentTypeUID": "api::book.book", "field": "slug", "data": {"title": "Book 1"}})
    yield api.ask("GET", f"/content-manager/relations/api::book.book/tags?pageSize=10&id={books[1]}", None, shown=False)
    yield api.ask("PUT", "/content-manager/content-types/api::book.book/configuration", {"settings": {"pageSize": 20, "mainField": "title", "defaultSortBy": "title", "defaultSortOrder": "ASC", "bulkable": True, "filterable": True, "searchable": True}, "metadatas": {}, "layouts": {"list": ["id", "title"], "edit": []}}, None, shown=False)
    yield robot.ask("DELETE", f"/api/books/{books[0]}?locale=de")
    yield robot.ask("DELETE", f"/api/books/{books[3]}")
    yield robot.ask("DELETE", f"/api/authors/{made['author'][0]}")
    yield robot.ask("GET", f"/api/books?{everything}&sort=title")
    yield api.ask("POST", f"{place}/actions/bulkDelete", {"documentIds": books[4:]}, shown=False)
    yield robot.ask("DELETE", f"/api/tags/{made['tag'][0]}")
    guest = _rest.Rest(port, CLOCK)
    yield guest.ask("GET", "/api/books", None, 403)
    yield guest.ask("POST", "/api/auth/local/register", {"username": "reader", "email": "reader@example.org", "password": "secret1"}, shown=False)
    yield guest.ask("POST", "/api/auth/local/register", {"username": "READER", "email": "Reader@example.org", "password": "secret1"}, 400)
    yield guest.ask("POST", "/api/auth/local", {"identifier": "reader@example.org", "password": "secret1"}, shown=False)
    guest.headers["Authorization"] = f"Bearer {guest.answer['jwt']}"
    yield guest.ask("GET", "/api/users/me?populate=role", None, None, shown=False)
