"""Redmine: all its migrations and default data, then projects, issues, relations, time, wiki, news, versions, queries, searches and reports by its REST interface and its pages."""
import json, re, shutil, urllib.parse
import _pages, harness

TITLE = "Redmine 5.0.4 (Debian; Rails 6.1, mysql2)"
CLOCK = _pages.MOMENT + r"|\b[0-9a-f]{32,64}\b|\b\d{4}-\d\d-\d\d\b"
UNSEEN = {"tokens"}
DATABASE = """production:
  adapter: mysql2
  host: <%= ENV['APP_HOST'] %>
  port: <%= ENV['APP_PORT'] %>
  username: <%= ENV['APP_USER'] %>
  password: "<%= ENV['APP_PASSWORD'] %>"
  database: <%= ENV['APP_DATABASE'] %>
  encoding: utf8mb4
"""
SETUP = "Setting.rest_api_enabled = '1'; admin = User.find_by_login('admin'); admin.update!(must_change_passwd: false, password: 'Long.word-1', password_confirmation: 'Long.word-1'); t = Token.find_or_initialize_by(user_id: admin.id, action: 'api'); t.save!; t.update_column(:value, 'f' * 40)"


def install(tools):
    place = tools / "redmine"
    if (place / "config.ru").exists():
        return
    tree = harness.unpacked(tools / "redmine-tree", "redmine", "redmine-mysql", depends=r"ruby-[\w.+-]+")
    harness.apt("ruby-mysql2", "ruby-bundler", "puma")
    home = tree / "usr/share/redmine"
    for path in [path for path in home.glob("**/*") if path.is_symlink() and not path.exists()] + [home / "Gemfile.lock"]:
        path.unlink(missing_ok=True)
    for folder in ("config", "log", "files", "tmp", "plugins"):
        (home / "instances/default" / folder).mkdir(parents=True, exist_ok=True)
    (home / "plugins").mkdir(exist_ok=True)
    for config in ("config", "instances/default/config"):
        (home / config / "database.yml").write_text(DATABASE)
    gems = home / "Gemfile"
    gems.write_text(gems.read_text().replace("/usr/share/redmine/", f"{place}/"))
    (home / "Gemfile.local").write_text("gem 'puma'\n")
    shutil.move(home, place)


def environment(target, database, tools):
    return {"RAILS_ENV": "production", "SECRET_KEY_BASE": "x" * 64, "REDMINE_LANG": "en", "RAILS_LOG_TO_STDOUT": "", "RAILS_SERVE_STATIC_FILES": "1"}


def steps(target, database, tools, work):
    home = tools / "redmine"
    rails = lambda title, line: (title, ["sh", "-c", f"cd {home} && {line}"], False)
    return {"before": [rails("migrate", "bundle exec rake db:migrate"), rails("default data", "bundle exec rake redmine:load_default_data"), rails("set up", f'bundle exec rails runner "{SETUP}"')],
            "serve": ["sh", "-c", f"cd {home} && exec bundle exec puma -e production -b tcp://127.0.0.1:$APP_HTTP_PORT config.ru"]}


def visit(port, target, database, run):
    browser = _pages.Browser(port)
    hidden = [(r'"(?:csrf-token|authenticity_token)" (?:content|value)="[^"]*"|\[[\w+/=-]{80,}\]', "TOKEN"), (f"127.0.0.1:{port}|{port}", "HOST"), *_pages.CLOCKS, (r"\b(?:less than a|about \d+|\d+) (?:minute|hour|second)s?\b", "AGO"), (r"\?\d{10}", "?"), (r"\d{1,2}/\d{1,2}/\d{4}", "DATE"), (r"\b[0-9a-f]{40,64}\b|\[[\w-]{43,}\]", "TOKEN"), (r'"(?:start_date|spent_on|due_date)":"[^"]*"', "DAY")]

    def rest(method, path, body=None, shown=True, expected=(200, 201, 204)):
        status, text = browser.send(method, path, json.dumps(body) if body else None, {"X-Redmine-API-Key": "f" * 40, "Content-Type": "application/json"})
        return method, path, 200 if status in expected else f"{status}: {text[:400]}", _pages.masked(text, hidden) if shown else "(not compared)"

    yield rest("POST", "/projects.json", {"project": {"name": "Größe 😀", "identifier": "one", "description": "it's \\ \"quoted\"", "enabled_module_names": ["issue_tracking", "time_tracking", "news", "wiki", "boards", "calendar", "gantt", "documents", "files", "repository"]}})
    yield rest("POST", "/projects.json", {"project": {"name": "Child", "identifier": "two", "parent_id": 1, "inherit_members": True}})
    yield rest("POST", "/projects.json", {"project": {"name": "Again", "identifier": "one"}}, expected=(422,))
    yield rest("POST", "/users.json", {"user": {"login": "ursula", "firstname": "Ursula", "lastname": "Ü", "mail": "ursula@example.org", "password": "Other.word-2"}})
    yield rest("POST", "/users.json", {"user": {"login": "URSULA", "firstname": "U", "lastname": "U", "mail": "u2@example.org", "password": "Other.word-2"}}, expected=(422,))
    yield rest("POST", "/groups.json", {"group": {"name": "Devs", "user_ids": [5]}})
    yield rest("POST", "/projects/one/memberships.json", {"membership": {"user_id": 1, "role_ids": [3, 4]}})
    yield rest("POST", "/projects/one/versions.json", {"version": {"name": "1.0", "status": "open", "sharing": "descendants", "due_date": "2030-01-01"}})
    yield rest("POST", "/projects/one/issue_categories.json", {"issue_category": {"name": "Cat ü"}})
    for number in range(1, 16):
        yield rest("POST", "/issues.json", {"issue": {"project_id": 1 + number % 2, "tracker_id": 1 + number % 3, "subject": f"Issue {number} “ü😀” {'alpha' if number % 4 else 'beta'}", "description": "text " * number, "priority_id": 1 + number % 5, "done_ratio": number * 5, "estimated_hours": number / 4, **({"parent_issue_id": number - 2} if number in (5, 7, 9) else {}), **({"assigned_to_id": 1} if number % 2 == 0 else {}), "is_private": number == 13}}, number < 4)
    yield rest("PUT", "/issues/3.json", {"issue": {"notes": "a note ü", "status_id": 2, "due_date": "2030-02-28"}})
    yield rest("PUT", "/issues/7.json", {"issue": {"parent_issue_id": 1}})
    yield rest("PUT", "/issues/4.json", {"issue": {"status_id": 5, "private_notes": True, "notes": "closed"}})
    yield rest("POST", "/issues/3/relations.json", {"relation": {"issue_to_id": 11, "relation_type": "precedes", "delay": 2}})
    yield rest("POST", "/issues/3/watchers.json", {"user_id": 1})
    for number in range(1, 6):
        yield rest("POST", "/time_entries.json", {"time_entry": {"issue_id": number, "hours": f"{number}.25", "activity_id": 8 + number % 2, "comments": "worked ü", "spent_on": f"2024-0{number}-15"}}, False)
    yield rest("PUT", "/projects/one/wiki/Wiki.json", {"wiki_page": {"text": "h1. Wiki\n\n[[Other]] #3 ü😀", "comments": "first"}})
    yield rest("PUT", "/projects/one/wiki/Wiki.json", {"wiki_page": {"text": "h1. Wiki\n\nchanged", "version": 1}})
    yield rest("PUT", "/projects/one/wiki/Other.json", {"wiki_page": {"text": "other", "parent_title": "Wiki"}})
    yield rest("POST", "/projects/one/news.json", {"news": {"title": "News ü", "summary": "s", "description": "d"}})
    for path in ("/issues.json?sort=priority:desc,id", "/issues.json?project_id=1&status_id=*&sort=done_ratio:desc&limit=5&offset=2", "/issues.json?assigned_to_id=me&sort=id", "/issues.json?subject=~alpha&sort=id&status_id=*", "/issues.json?created_on=%3E%3D2024-01-01&estimated_hours=%3E%3D2&sort=id", "/issues/1.json?include=children,journals,relations,watchers,attachments,allowed_statuses", "/issues/3.json?include=journals,relations,watchers", "/projects.json?include=trackers,enabled_modules", "/projects/1.json", "/users.json?name=urs", "/groups.json", "/time_entries.json?sort=hours:desc", "/projects/one/wiki/index.json",
                 "/projects/one/wiki/Wiki/1.json", "/news.json", "/projects/one/versions.json", "/search.json?q=alpha&issues=1&limit=5", "/search.json?q=changed&wiki_pages=1", "/trackers.json", "/issue_statuses.json", "/enumerations/issue_priorities.json", "/roles/3.json", "/custom_fields.json", "/projects/one/memberships.json"):
        yield rest("GET", path, shown="updated_on" not in path)
    page = _pages.pager(browser, hidden, ["Internal error", "Mysql2::Error"])
    yield page("/login")
    token = re.search(r'name="authenticity_token" value="([^"]*)"', browser.last)
    yield page("/login", form={"username": "admin", "password": "Long.word-1", "authenticity_token": token.group(1) if token else "", "back_url": ""}, shown=False)
    for path in ("/projects", "/projects/one", "/projects/one/activity", "/projects/one/issues?set_filter=1&group_by=status&t[]=estimated_hours&t[]=spent_hours", "/projects/one/issues/report", "/projects/one/issues/gantt", "/projects/one/issues/calendar?year=2024&month=2", "/projects/one/roadmap", "/projects/one/wiki/Wiki/history", "/projects/one/settings", "/projects/one/time_entries/report?criteria[]=user&criteria[]=activity&columns=month", "/time_entries.csv", "/issues.csv?set_filter=1&sort=id", "/issues/3", "/my/page", "/admin/info", "/users", "/workflows", "/workflows/edit?role_id=3&tracker_id=1",
                 "/settings", "/versions/1", "/search?q=beta", "/roles/permissions", "/enumerations", "/queries/new", "/projects/one/issues.atom", "/projects/one/issues?set_filter=1&f[]=child_id&op[child_id]=*&sort=id", "/projects/one/issues?set_filter=1&f[]=updated_by&op[updated_by]=%3D&v[updated_by][]=me&sort=id"):
        yield page(path, shown=not re.search("activity|gantt|admin/info|my/page|settings|atom|queries/new|workflows", path))
    yield rest("PUT", "/issues/5.json", {"issue": {"project_id": 2}})
    yield rest("DELETE", "/issues/1.json")
    yield rest("DELETE", "/projects/two.json")
    yield rest("GET", "/issues.json?status_id=*&sort=id")
