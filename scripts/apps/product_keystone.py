"""Keystone, OpenStack's identity service: its migrations by keystone-manage, bootstrap, then domains, projects, users, groups, roles, grants, application credentials and tokens over its API."""
import re
from pathlib import Path
import _rest, harness

VERSION = "27.0.0"
TITLE = f"OpenStack Keystone {VERSION} (SQLAlchemy, PyMySQL)"
KEYS_UNORDERED = True
CLOCK = _rest.BOTH + r"|\$2b\$\S+|gAAAA[\w-]+=*|\b1[78]\d{14}\b"
CONFIG = """[DEFAULT]
debug = false
[database]
connection = mysql+pymysql://{user}:{password}@{host}:{port}/{database}
[fernet_tokens]
key_repository = {work}/fernet/
[credential]
key_repository = {work}/credential/
"""


def install(tools):
    harness.venv(tools / "keystone-venv", f"keystone=={VERSION}", "PyMySQL==1.1.3", "setuptools<81")


def environment(target, database, tools):
    return {"PYTHONWARNINGS": "ignore"}


def steps(target, database, tools, work):
    config = work / "keystone.conf"
    config.write_text(CONFIG.format(user=target.user, password=target.password, host=target.host, port=target.port, database=database, work=work))
    for folder in ("fernet", "credential"):
        (work / folder).mkdir(mode=0o700, exist_ok=True)
    programs = Path(tools) / "keystone-venv/bin"
    manage = [programs / "keystone-manage", "--config-file", config]
    keys = [word for name in ("user", "group") for word in (f"--keystone-{name}", "root")]
    return {
        "before": [("db_sync", [*manage, "db_sync"], False), ("nothing left", [*manage, "db_sync", "--check"], False), ("again", [*manage, "db_sync"], False), ("fernet_setup", [*manage, "fernet_setup", *keys], False),
                   ("credential_setup", [*manage, "credential_setup", *keys], False),
                   ("bootstrap", [*manage, "bootstrap", "--bootstrap-password", "secret", "--bootstrap-region-id", "RegionOne", "--bootstrap-public-url", "http://127.0.0.1/v3/"], False),
                   ("trust_flush", [*manage, "trust_flush"], False), ("mapping_populate", [*manage, "mapping_populate", "--domain-name", "Default"], True)],
        "serve": ["env", f"OS_KEYSTONE_CONFIG_FILES={config}", "sh", "-c", f"exec {programs}/keystone-wsgi-public --host 127.0.0.1 --port $APP_HTTP_PORT"],
    }


def visit(port, target, database, _run):
    api = _rest.Rest(port, CLOCK)
    login = lambda name, password, scope: {"auth": {"identity": {"methods": ["password"], "password": {"user": {"name": name, "domain": {"id": "default"}, "password": password}}}, **scope}}
    admin = {"scope": {"project": {"name": "admin", "domain": {"id": "default"}}}}
    yield api.ask("GET", "/v3")
    yield api.ask("POST", "/v3/auth/tokens", login("admin", "wrong", admin), 401)
    yield api.ask("POST", "/v3/auth/tokens", login("admin", "secret", admin), shown=False)
    api.headers["X-Auth-Token"] = api.told["X-Subject-Token"]

    def make(kind, **members):
        told = api.ask("POST", f"/v3/{kind}s", {kind: members})
        made[kind] = api.answer.get(kind, {}).get("id")
        return told

    made = {}
    yield make("domain", name="Ütopia", description="Земля")
    yield api.ask("POST", "/v3/domains", {"domain": {"name": "ÜTOPIA"}}, 409)
    yield api.ask("POST", "/v3/domains", {"domain": {"name": "no", "description": "😀"}}, 500)  # its tables are utf8mb3
    yield make("project", name="rocket", domain_id=made["domain"], description="O'Neil's \\ \"quoted\"", tags=["blue", "big"])
    yield api.ask("PUT", f"/v3/projects/{made['project']}/tags/new")
    yield api.ask("GET", f"/v3/projects/{made['project']}/tags", shown=False)
    yield make("user", name="ada", password="engine", email="ada@example.org", domain_id="default", options={"ignore_password_expiry": True})
    yield api.ask("POST", "/v3/users", {"user": {"name": "ada", "domain_id": "default"}}, 409)
    yield make("group", name="crew", domain_id="default")
    yield make("role", name="pilot")
    yield api.ask("PUT", f"/v3/groups/{made['group']}/users/{made['user']}")
    yield api.ask("PUT", f"/v3/projects/{made['project']}/groups/{made['group']}/roles/{made['role']}")
    yield api.ask("PUT", f"/v3/projects/{made['project']}/users/{made['user']}/roles/{made['role']}")
    yield make("service", name="store", type="object-store")
    yield make("endpoint", service_id=made["service"], interface="public", url="http://127.0.0.1/store", region_id="RegionOne")
    yield make("credential", user_id=made["user"], type="cert", blob="{\"a\": 1}", project_id=made["project"])
    yield api.ask("POST", "/v3/policies", {"policy": {"blob": "{}", "type": "application/json"}})
    yield api.ask("POST", "/v3/registered_limits", {"registered_limits": [{"service_id": made["service"], "resource_name": "object", "default_limit": 10}]})
    yield api.ask("POST", "/v3/limits", {"limits": [{"service_id": made["service"], "project_id": made["project"], "resource_name": "object", "resource_limit": 5}]})
    for path in ("users?name=ada", "users?name__icontains=AD", "groups", "roles", "domains", "role_assignments", "role_assignments?effective&include_names", "services", "endpoints", "limits", "regions", "credentials", "projects?tags=big",
                 f"users/{made['user']}/groups", f"groups/{made['group']}/users", f"projects/{made['project']}?parents_as_list"):
        yield api.ask("GET", f"/v3/{path}", shown=False)
        names = lambda rows: sorted(re.sub(CLOCK, "(chance)", str(row.get("name") or row.get("url") or row.get("type") or row.get("role"))) for row in rows)
        yield "list", path.partition("?")[0].split("/")[0], 200, "".join(f"{kind}: {names(rows)}" for kind, rows in api.answer.items() if isinstance(rows, list))
    yield api.ask("PATCH", f"/v3/users/{made['user']}", {"user": {"email": "countess@example.org", "description": None}})
    yield api.ask("PATCH", f"/v3/projects/{made['project']}", {"project": {"enabled": False}})
    mine = _rest.Rest(port, CLOCK)
    yield mine.ask("POST", "/v3/auth/tokens", login("ada", "engine", {}), shown=False)
    mine.headers["X-Auth-Token"] = mine.told["X-Subject-Token"]
    yield mine.ask("GET", "/v3/users", None, 403)
    yield mine.ask("POST", f"/v3/users/{made['user']}/password", {"user": {"password": "difference", "original_password": "engine"}})
    yield mine.ask("POST", "/v3/auth/tokens", login("ada", "engine", {}), 401)
    yield api.ask("DELETE", f"/v3/groups/{made['group']}/users/{made['user']}")
    yield api.ask("DELETE", f"/v3/roles/{made['role']}")
    yield api.ask("DELETE", f"/v3/domains/{made['domain']}", None, 403)
    yield api.ask("PATCH", f"/v3/domains/{made['domain']}", {"domain": {"enabled": False}})
    yield api.ask("DELETE", f"/v3/domains/{made['domain']}")
    yield api.ask("GET", f"/v3/projects/{made['project']}", None, 404)
