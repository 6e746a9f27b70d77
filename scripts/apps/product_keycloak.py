"""Keycloak as its distribution has it: Liquibase's 100 change sets, realms, users, groups, roles, clients, scopes, sessions, events and authorization over its admin REST interface, logins over OpenID Connect, an export, and everything away again."""
import re, shutil, subprocess
import _rest

VERSION = "26.4.7"
TITLE = f"Keycloak {VERSION} (Hibernate, Liquibase, Connector/J)"
CLOCK = _rest.BOTH + r"|\b[\w-]{22,}\.[\w-]+\.[\w-]+\b"
# Keys and hashes made by chance, and what follows the clock. Rows of many tables are by ids of chance, too, so that masked they have no order to tell.
UNSEEN = ("COMPONENT_CONFIG", "CREDENTIAL", "DATABASECHANGELOG", "DATABASECHANGELOGLOCK", "EVENT_ENTITY", "ADMIN_EVENT_ENTITY", "OFFLINE_USER_SESSION", "OFFLINE_CLIENT_SESSION", "MIGRATION_MODEL", "CLIENT", "SERVER_CONFIG", "JGROUPS_PING", "REVOKED_TOKEN")


def install(tools):
    place = tools / "keycloak"
    if (place / "done").exists():
        return
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    subprocess.run(["mvn", "-q", "-B", "dependency:copy", f"-Dartifact=org.keycloak:keycloak-quarkus-dist:{VERSION}:zip", f"-DoutputDirectory={place}"], check=True)
    archive = place / f"keycloak-quarkus-dist-{VERSION}.zip"
    shutil.unpack_archive(archive, place)
    archive.unlink()
    subprocess.run(["sh", place / f"keycloak-{VERSION}/bin/kc.sh", "build", "--db", "mysql"], check=True, stdout=subprocess.DEVNULL)
    (place / "done").touch()


def environment(target, database, tools):
    return {"KC_DB_URL": f"jdbc:mysql://{target.host}:{target.port}/{database}?useSSL=false&allowPublicKeyRetrieval=true", "KC_DB_USERNAME": target.user, "KC_DB_PASSWORD": target.password, "KC_BOOTSTRAP_ADMIN_USERNAME": "admin", "KC_BOOTSTRAP_ADMIN_PASSWORD": "secret",
            "KC_HTTP_HOST": "127.0.0.1", "KC_HTTP_ENABLED": "true", "KC_HOSTNAME_STRICT": "false", "KC_CACHE": "local", "KC_DB_POOL_MAX_SIZE": "10", "JAVA_OPTS_KC_HEAP": "-Xmx500m", "KC": str(tools / f"keycloak/keycloak-{VERSION}/bin/kc.sh")}


def steps(target, database, tools, work):
    return {"before": [], "serve": ["sh", "-c", "exec sh $KC start --optimized --http-port=$APP_HTTP_PORT --log-level=warn"]}


def visit(port, target, database, run):
    public = _rest.Rest(port, CLOCK)
    _rest.until(lambda: public.ask("GET", "/realms/master")[2] == 200)
    api = _rest.Rest(port, CLOCK)

    def login():
        told = public.ask("POST", "/realms/master/protocol/openid-connect/token", form={"client_id": "admin-cli", "grant_type": "password", "username": "admin", "password": "secret"}, shown=False)
        api.headers["Authorization"] = f"Bearer {public.answer['access_token']}"
        return told

    def admin(method, path, body=None, expected=None, shown=False):
        login()  # tokens live a minute
        return api.ask(method, f"/admin/realms{path}", body, expected, shown)

    def names(path, key="name"):
        told = admin("GET", path)
        rows = api.answer if isinstance(api.answer, list) else []
        found = [row.get(key) for row in rows]
        return "list", re.sub(CLOCK, "(chance)", path), told[2], str(found if "/users?" in path else sorted(found, key=str))

    def made():
        return (api.told["Location"] or "").rpartition("/")[2]

    yield login()
    yield admin("POST", "", {"realm": "shop", "enabled": True, "displayName": "Магазин", "eventsEnabled": True, "adminEventsEnabled": True, "adminEventsDetailsEnabled": True, "registrationAllowed": True, "internationalizationEnabled": True, "supportedLocales": ["de", "en"], "bruteForceProtected": True})
    yield admin("POST", "", {"realm": "shop"}, 409)
    for name in ("reader", "Schreiber ü"):
        yield admin("POST", "/shop/roles", {"name": name, "description": "d" * 200, "attributes": {"level": ["1", "2"]}})
    yield admin("POST", "/shop/roles", {"name": "reader"}, 409)
    yield admin("GET", "/shop/roles/reader")
    reader = {"id": api.answer["id"], "name": "reader"}
    yield admin("POST", "/shop/groups", {"name": "staff", "attributes": {"floor": ["3"]}})
    staff = made()
    yield admin("POST", f"/shop/groups/{staff}/children", {"name": "night"})
    night = made()
    yield admin("POST", f"/shop/groups/{staff}/role-mappings/realm", [reader])
    yield admin("PUT", "/shop/users/profile", {"unmanagedAttributePolicy": "ENABLED", "attributes": [{"name": name, "permissions": {"view": ["admin", "user"], "edit": ["admin", "user"]}} for name in ("username", "email", "firstName", "lastName")]})
    users = []
    for number in range(6):
        yield admin("POST", "/shop/users", {"username": f"user{number}", "email": f"u{number}@example.org", "firstName": ("Änn", "Стругацкие", "100% _")[number % 3], "lastName": f"O'Neil {number}", "enabled": number != 5, "emailVerified": True, "groups": ["/staff"] if number % 2 else [],
                                            "credentials": [{"type": "password", "value": "horse", "temporary": False}], "attributes": {"city": ["Wien", "日本"], "long": ["x" * 2000]}})
        users.append(made())
    yield admin("POST", "/shop/users", {"username": "USER0"}, 409)
    yield admin("POST", "/shop/users", {"username": "other", "email": "U0@example.org"}, 409)
    yield admin("PUT", f"/shop/users/{users[0]}", {"attributes": {"city": ["Linz"], "long": ["y" * 1999]}, "firstName": "Renamed", "lastName": "L", "email": "u0@example.org"})
    yield admin("PUT", f"/shop/users/{users[1]}/groups/{night}")
    yield admin("POST", f"/shop/users/{users[2]}/role-mappings/realm", [reader])
    for query in ("", "?search=änn", "?search=user1", "?q=city:Linz", "?q=" + "long:" + "x" * 2000, "?first=1&max=2", "?lastName=neil&exact=false", "?enabled=false", "?email=U3@EXAMPLE.ORG&exact=true", "?search=*_*"):
        yield names(f"/shop/users{_rest.urllib.parse.quote(query, safe='?=&*:')}", "username")
    yield admin("GET", "/shop/users/count?search=user", shown=True)
    for path in (f"/shop/users/{users[1]}/groups", f"/shop/users/{users[1]}/role-mappings/realm/composite", "/shop/groups?search=nig&exact=false", "/shop/roles?search=re", "/shop/roles/reader/groups"):
        yield names(path)
    yield names("/shop/roles/reader/users", "username")
    yield names(f"/shop/groups/{staff}/members", "username")
    yield admin("POST", "/shop/client-scopes", {"name": "extra", "protocol": "openid-connect", "protocolMappers": [{"name": "city", "protocol": "openid-connect", "protocolMapper": "oidc-usermodel-attribute-mapper", "config": {"user.attribute": "city", "claim.name": "city", "access.token.claim": "true", "jsonType.label": "String"}}]})
    scope = made()
    yield admin("POST", "/shop/clients", {"clientId": "web", "secret": "s3cret", "directAccessGrantsEnabled": True, "serviceAccountsEnabled": True, "authorizationServicesEnabled": True, "redirectUris": ["http://127.0.0.1/*"], "attributes": {"note": "é" * 500}})
    web = made()
    yield admin("PUT", f"/shop/clients/{web}/default-client-scopes/{scope}")
    yield admin("POST", f"/shop/clients/{web}/roles", {"name": "buyer"})
    yield admin("POST", "/shop/roles/reader/composites", [{"id": (admin("GET", f"/shop/clients/{web}/roles/buyer"), api.answer["id"])[1], "name": "buyer"}])
    yield admin("POST", f"/shop/clients/{web}/authz/resource-server/resource", {"name": "books", "type": "urn:books", "uris": ["/books/*"], "scopes": [{"name": "read"}]})
    yield admin("POST", f"/shop/clients/{web}/authz/resource-server/policy/role", {"name": "readers", "roles": [{"id": reader["id"], "required": True}]})
    yield admin("POST", f"/shop/clients/{web}/authz/resource-server/permission/resource", {"name": "may read", "resources": ["books"], "policies": ["readers"]})
    yield admin("POST", "/shop/identity-provider/instances", {"alias": "other", "providerId": "oidc", "config": {"clientId": "x", "clientSecret": "y", "tokenUrl": "http://127.0.0.1/t", "authorizationUrl": "http://127.0.0.1/a"}})
    yield admin("POST", "/shop/organizations", {"name": "org"}, 404)
    token = lambda form, expected=None: public.ask("POST", "/realms/shop/protocol/openid-connect/token", None, expected, False, form={"client_id": "web", "client_secret": "s3cret", **form})
    yield token({"grant_type": "password", "username": "user1", "password": "wrong"}, 401)
    yield token({"grant_type": "password", "username": "user5", "password": "horse"}, 400)
    yield token({"grant_type": "password", "username": "user1", "password": "horse", "scope": "openid offline_access"})
    access, offline = public.answer["access_token"], public.answer["refresh_token"]
    mine = _rest.Rest(port, CLOCK, Authorization=f"Bearer {access}")
    yield mine.ask("GET", "/realms/shop/protocol/openid-connect/userinfo")
    for _ in range(2):
        yield token({"grant_type": "refresh_token", "refresh_token": offline})
    yield mine.ask("POST", "/realms/shop/protocol/openid-connect/token", form={"grant_type": "urn:ietf:params:oauth:grant-type:uma-ticket", "audience": "web"}, shown=False)
    yield token({"grant_type": "client_credentials"})
    yield names(f"/shop/clients/{web}/offline-sessions", "username")
    for path, key in (("/shop/events?type=LOGIN_ERROR", "error"), ("/shop/events?max=3", "type"), ("/shop/admin-events?operationTypes=CREATE&resourceTypes=GROUP", "resourceType"), (f"/shop/users/{users[1]}/offline-sessions/{web}", "username"), ("/shop/clients?search=true&clientId=WE", "clientId"), ("/shop/attack-detection/brute-force/users", "x")):
        yield names(path, key) if "attack" not in path else admin("GET", f"{path}/{users[1]}", shown=False)
    yield admin("POST", "/shop/partial-export?exportClients=true&exportGroupsAndRoles=true")
    yield admin("POST", "/shop/partialImport", {"ifResourceExists": "OVERWRITE", "users": [{"username": "user3", "email": "changed@example.org", "enabled": True}, {"username": "fresh", "enabled": True}]})
    yield admin("DELETE", f"/shop/users/{users[4]}")
    yield admin("DELETE", f"/shop/groups/{night}")
    yield admin("DELETE", f"/shop/client-scopes/{scope}")
    yield admin("POST", "/shop/logout-all")
    yield names("/shop/users", "username")
    yield admin("POST", "", {"realm": "brief", "enabled": True})
    yield admin("DELETE", "/brief")
    yield admin("GET", "/brief", None, 404)
