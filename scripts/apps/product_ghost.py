"""Ghost as its package has it, with mysql2 and knex: all migrations, setup, staff sessions, posts, pages, tags, tiers, members, newsletters, settings and search over its admin API, the site itself, and its export."""
import json, shutil, subprocess
import _programs, _rest

VERSION = "6.65.0"
TITLE = f"Ghost {VERSION} (knex, mysql2)"
CLOCK = _rest.BOTH + r"|\$2[ab]\$\S+|-----BEGIN[^\t]*"
UNSEEN = ("sessions", "jobs", "migrations", "brute", "settings")  # jobs follow the clock; settings have keys made by chance


def install(tools):
    environment = _programs.node22(tools)
    place = tools / "ghost"
    if (place / "done").exists():
        return
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(["npm", "pack", "--silent", f"ghost@{VERSION}"], cwd=place, check=True, stdout=subprocess.DEVNULL)
    shutil.unpack_archive(place / f"ghost-{VERSION}.tgz", place)
    subprocess.run(["npm", "install", "--omit=dev", "--legacy-peer-deps", "--no-audit", "--no-fund", "--silent"], cwd=place / "package", env=environment, check=True)
    (place / "done").touch()


def steps(target, database, tools, work):
    content = work / "content"
    shutil.copytree(tools / "ghost/package/content", content, dirs_exist_ok=True, symlinks=True)
    settings = {"url": "http://127.0.0.1:2368", "server__host": "127.0.0.1", "database__client": "mysql", "database__connection__host": target.host, "database__connection__port": target.port, "database__connection__user": target.user,
                "database__connection__password": target.password, "database__connection__database": database, "database__connection__charset": "utf8mb4", "paths__contentPath": content, "logging__transports": '["stdout"]',
                "privacy__useTinfoil": "true", "security__staffDeviceVerification": "false", "mail__transport": "stub", "NODE_ENV": "production"}
    run = f"cd {tools}/ghost/package && server__port=$APP_HTTP_PORT exec {tools}/node22/node_modules/node/bin/node index.js"
    return {"before": [], "serve": ["env", *(f"{name}={value}" for name, value in settings.items()), "sh", "-c", run]}


def visit(port, target, database, _run):
    place = "/ghost/api/admin"
    api = _rest.Rest(port, CLOCK, Origin="http://127.0.0.1:2368", **{"X-Forwarded-Proto": "http"})
    _rest.until(lambda: api.ask("GET", f"{place}/authentication/setup/")[2] == 200)
    owner = {"name": "Éric O'Neil", "email": "eric@example.org", "password": "correct horse battery", "blogTitle": "Дневник 😀"}
    yield api.ask("POST", f"{place}/authentication/setup/", {"setup": [owner]}, shown=False)
    yield api.ask("POST", f"{place}/authentication/setup/", {"setup": [owner]}, 403)
    yield api.ask("POST", f"{place}/session/", {"username": owner["email"], "password": "wrong"}, 422)
    yield api.ask("POST", f"{place}/session/", {"username": owner["email"], "password": owner["password"]})
    yield api.ask("GET", f"{place}/users/me/?include=roles", shown=False)

    def make(kind, body, **query):
        told = api.ask("POST", f"{place}/{kind}/" + (f"?{_rest.urllib.parse.urlencode(query)}" if query else ""), {kind: [body]}, shown=False)
        made[kind] = api.answer[kind][0] if told[2] == 200 else {}
        return told

    made = {}
    yield make("tags", {"name": "Sci-Fi", "description": "far away"})
    yield make("tags", {"name": "Éclair"})
    yield api.ask("POST", f"{place}/tags/", {"tags": [{"name": "x" * 300}]}, 422)
    yield make("posts", {"title": "The Dispossessed 日本", "html": "<p>An <b>ambiguous</b> utopia 😀</p>", "status": "published", "tags": [{"name": "Sci-Fi"}, {"name": "new one"}], "featured": True, "published_at": "2024-05-01T10:20:30.000Z"}, source="html")
    yield make("posts", {"title": "100% _wild_ \\ \"quoted\"", "html": "<p>two</p>", "tags": ["Éclair"]}, source="html")
    draft = made["posts"]
    yield api.ask("PUT", f"{place}/posts/{draft.get('id')}/?source=html", {"posts": [{"updated_at": draft.get("updated_at"), "title": "Changed", "html": "<p>three</p>", "excerpt": None, "visibility": "members"}]}, shown=False)
    yield api.ask("PUT", f"{place}/posts/{draft.get('id')}/", {"posts": [{"updated_at": "2020-01-01T00:00:00.000Z", "title": "Too late"}]}, 409, shown=False)
    yield make("pages", {"title": "About us", "html": "<p>we</p>", "status": "published"}, source="html")
    yield make("tiers", {"name": "Gold", "monthly_price": 500, "yearly_price": 5000, "currency": "usd", "benefits": ["one", "two"]})
    yield make("labels", {"name": "VIP"})
    for number in range(5):
        yield make("members", {"name": f"Member {number}", "email": f"m{number}@example.org", "note": "ü" * number, "labels": [{"name": "VIP"}] if number % 2 else []})
    yield api.ask("POST", f"{place}/members/", {"members": [{"email": "M0@example.org"}]}, 422, shown=False)
    yield api.ask("PUT", f"{place}/members/{made['members'].get('id')}/", {"members": [{"name": "renamed", "comped": True}]}, shown=False)
    yield make("newsletters", {"name": "Weekly", "description": "news"})
    yield make("snippets", {"name": "greeting", "mobiledoc": "{}", "lexical": "{}"})
    yield make("integrations", {"name": "Robot"})
    yield make("webhooks", {"event": "post.added", "target_url": "http://127.0.0.1/hook", "name": "hook", "integration_id": made["integrations"].get("id")})
    yield api.ask("PUT", f"{place}/settings/", {"settings": [{"key": "title", "value": "Renamed"}, {"key": "description", "value": "Ünïcode"}, {"key": "timezone", "value": "Europe/Vienna"}]}, shown=False)
    titles = ("title", "name", "email", "key", "slug")
    for path in ("posts/?filter=tag:sci-fi", "posts/?filter=featured:true%2Bstatus:published&include=tags,authors", "posts/?limit=1&page=2&order=title%20asc", "posts/?filter=title:~'wild'", "pages/", "tags/?include=count.posts", "tiers/?include=benefits",
                 "members/?search=m1", "members/?filter=label:vip&order=email%20desc", "members/?filter=status:free%2Bcreated_at:>'2020-01-01'", "labels/?include=count.members", "newsletters/?include=count.members,count.posts", "roles/", "integrations/", "snippets/",
                 "users/?include=roles,count.posts", "actions/?limit=20&include=actor,resource", "stats/member_count/", "stats/mrr/", "members/events/?limit=10", "site/", "config/", "themes/", "offers/", "links/?filter=post_id:0"):
        yield api.ask("GET", f"{place}/{path}", shown=False)
        rows = next((rows for rows in api.answer.values() if isinstance(rows, list)), []) if isinstance(api.answer, dict) else []
        yield "list", path, 200, json.dumps([next((row[key] for key in titles if key in row), "") for row in rows if isinstance(row, dict)], ensure_ascii=False)
    yield api.ask("DELETE", f"{place}/posts/{draft.get('id')}/")
    yield api.ask("DELETE", f"{place}/members/?filter=label:vip", shown=False)
    yield api.ask("GET", f"{place}/db/", shown=False)
    page = _rest.Rest(port, CLOCK, Host="127.0.0.1:2368")
    for path in ("/", "/tag/sci-fi/", "/author/eric/", "/about-us/", "/rss/", "/sitemap-posts.xml", "/the-dispossessed-ri-ben/"):
        yield page.ask("GET", path, shown=False)
    yield page.ask("GET", "/nowhere/", None, 404, shown=False)
