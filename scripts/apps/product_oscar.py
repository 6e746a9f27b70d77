"""django-oscar, a shop: its migrations in a plain project as its manual sets one up, a catalogue loaded by its own commands, and a customer's way from the account through basket and checkout to the order, with reviews, wishlists, vouchers, offers and the staff's dashboard."""
import re, shutil
from pathlib import Path
import _pages, harness

VERSION = "4.1"
TITLE = f"django-oscar {VERSION} on Django 5.2 (mysqlclient)"
HERE = Path(__file__).resolve().parent
CLOCK = _pages.MOMENT + r"|pbkdf2_sha256\S+|\b[0-9a-f]{32,64}\b|\b[0-9a-z]{32}\b|(?<=\t)[\w-]{30}(?=\t)"
UNSEEN = ("django_session", "django_migrations", "communication_email")
HIDDEN = [(r"\b[0-9a-zA-Z]{64}\b", "TOKEN"), *_pages.CLOCKS]


def install(tools):
    harness.apt("libmariadb-dev", "pkg-config", "gcc")
    harness.venv(tools / "oscar-venv", f"django-oscar=={VERSION}.0", "Django==5.2.19", "mysqlclient==2.3.1", "sorl-thumbnail", "django-treebeard<5", "tzdata")


def steps(target, database, tools, work):
    shutil.copytree(HERE / "oscar", work / "oscar", dirs_exist_ok=True)
    manage = [tools / "oscar-venv/bin/python", "oscar/manage.py"]
    return {"before": [("migrate", [*manage, "migrate", "--no-input"], False), ("nothing left", [*manage, "migrate", "--check"], False), ("back", [*manage, "migrate", "offer", "0001"], False), ("and again", [*manage, "migrate"], False),
                       ("superuser", [*manage, "createsuperuser", "--no-input", "--username", "boss", "--email", "boss@example.org"], False), ("catalogue", [*manage, "shell", "-c", "import fill"], True), ("countries", [*manage, "check"], True)],
            "serve": ["sh", "-c", f"exec {manage[0]} {manage[1]} runserver --noreload --skip-checks 127.0.0.1:$APP_HTTP_PORT"]}


def environment(target, database, tools):
    return {"DJANGO_SUPERUSER_PASSWORD": "Boss-secret-1", "PYTHONHASHSEED": "0"}


def visit(port, target, database, _run):
    def visitor():
        browser = _pages.Browser(port)
        page = _pages.pager(browser, HIDDEN + [(str(port), "PORT")], ["class=\"exception_value"])

        def send(path, form=None, **more):
            if form is None:
                return page(path, **more)
            token = re.search(r'csrfmiddlewaretoken" value="([^"]+)', browser.last)
            return page(path, {"csrfmiddlewaretoken": token.group(1) if token else "", **form}, headers={"Referer": f"http://127.0.0.1:{port}/"}, **more)
        return browser, send

    browser, send = visitor()
    yield send("/accounts/login/")
    yield send("/accounts/login/", {"registration-email": "ann@example.org", "registration-password1": "Hs7ssj2!kk", "registration-password2": "Hs7ssj2!kk", "registration_submit": "1", "registration-redirect_url": "/"})
    for path in ("/", "/catalogue/", "/catalogue/?page=2", "/search/?q=Product%201", "/offers/", "/catalogue/product-3_3/"):
        yield send(path)
    for product, count in ((1, 2), (3, 1), (5, 4)):
        yield send(f"/catalogue/product-{product}_{product}/", shown=False)
        yield send(f"/basket/add/{product}/", {"quantity": str(count)}, shown=False)
    yield send("/basket/")
    yield send("/basket/vouchers/add/", {"code": "TENOFF"})
    yield send("/basket/")
    yield send("/catalogue/product-3_3/reviews/add/", shown=False)
    yield send("/catalogue/product-3_3/reviews/add/", {"title": "Sehr schön 😀", "score": "4", "body": "O'Neil's \\ \"best\""})
    yield send("/checkout/shipping-address/", shown=False)
    yield send("/checkout/shipping-address/", {"first_name": "Änn", "last_name": "O'Neil", "line1": "Straße 1", "line4": "Wien", "postcode": "1010", "country": "AT"})
    yield send("/checkout/preview/", shown=False)
    yield send("/checkout/preview/", {"action": "place_order"})
    for path in ("/accounts/orders/", "/accounts/profile/", "/accounts/addresses/", "/accounts/alerts/", "/accounts/wishlists/", "/catalogue/product-3_3/reviews/"):
        yield send(path)
    browser, send = visitor()
    yield send("/dashboard/login/", shown=False)
    yield send("/dashboard/login/", {"username": "boss@example.org", "password": "Boss-secret-1"}, shown=False)
    for path in ("/dashboard/", "/dashboard/orders/", "/dashboard/orders/?name=neil", "/dashboard/catalogue/", "/dashboard/catalogue/?title=uct+2", "/dashboard/catalogue/categories/", "/dashboard/users/", "/dashboard/users/?email=ann", "/dashboard/offers/", "/dashboard/vouchers/", "/dashboard/ranges/",
                 "/dashboard/partners/", "/dashboard/reviews/", "/dashboard/catalogue/products/3/", "/dashboard/reports/?report_type=order_report&date_from=2020-01-01&date_to=2030-01-01", "/dashboard/reports/?report_type=product_analytics", "/dashboard/reports/?report_type=vouchers", "/dashboard/orders/statistics/", "/dashboard/shipping/weight-based/",
                 "/dashboard/pages/"):
        yield send(path)
    yield send("/admin/order/order/?q=100", shown=False)
