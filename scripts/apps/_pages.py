"""What the tools' modules share: the tables that their pages are about, and a page's text."""
import html, http.cookiejar, re, urllib.error, urllib.parse, urllib.request

# phpMyAdmin shows a row by its first column of text, in no order that it asks for: the same in the order of names and of places.
SCHEMA = """
CREATE TABLE author (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(60) NOT NULL COMMENT 'who', z_mail VARCHAR(100) COLLATE utf8mb4_bin DEFAULT NULL, z_kind ENUM('writer','editor') DEFAULT 'writer',
  born DATE, balance DECIMAL(10,2) NOT NULL DEFAULT '0.00', upper_name VARCHAR(60) GENERATED ALWAYS AS (UPPER(name)) VIRTUAL, UNIQUE KEY one_mail (z_mail), KEY by_name (name(10), born DESC)) COMMENT='people';
CREATE TABLE book (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, author_id INT UNSIGNED NOT NULL, title VARCHAR(200) NOT NULL, details JSON, cover BLOB, made TIMESTAMP(3) NULL DEFAULT NULL, flags SET('a','b') DEFAULT NULL,
  bits BIT(4) DEFAULT b'101', CONSTRAINT written FOREIGN KEY (author_id) REFERENCES author (id) ON DELETE CASCADE ON UPDATE RESTRICT, CONSTRAINT titled CHECK (title <> ''));
INSERT INTO author (id, name, z_mail, born, balance) VALUES (1, 'Ursula', 'u@example.org', '1929-10-21', 12.5), (2, '<b>Éric</b> 😀', NULL, NULL, -1);
INSERT INTO book VALUES (1, 1, 'The Dispossessed', '{"pages": 341}', 0x00FF27, '1974-05-01 10:20:30.125', 'a,b', 5), (2, 2, 'it''s', NULL, NULL, NULL, NULL, NULL);
CREATE VIEW shelf AS SELECT b.id, b.title, a.name FROM book b JOIN author a ON a.id = b.author_id WHERE b.id > 0;
"""


# Lists to choose from: collations, character sets and engines that one server has and the other has not.
LISTS = [(r"(?m)^\[?[a-z]+\d*[a-z]*\d*(?:_\w+)?_(?:ci|cs|bin|ks)\]?$", ""), (r"(?m)^\[?(?:MEMORY|CSV|ARCHIVE|BLACKHOLE|MyISAM|MRG_MYISAM|PERFORMANCE_SCHEMA|FEDERATED|InnoDB|binary)\]?$", "")]


# Moments, in the forms that applications show them in, and how long something took.
MOMENT = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?"
CLOCKS = [(MOMENT, "MOMENT"), (r"\d{4}[-/]\d\d[-/]\d\d", "DAY"), (r"\b\d\d?:\d\d(?::\d\d)?(?: ?[ap]m)?", "HOUR"), (r"(?i)\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:mon|tue|wed|thu|fri|sat|sun)\b", "WEEKDAY"),
          (r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{1,2}, \d{4}|\b\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* \d{4}", "DATE"),
          (r"\b\d+ (?:seconds?|secs?|minutes?|mins?) ago", "AGO"), (r"\b1[78]\d{8}(?:\.\d+)?\b", "SECONDS")]


class Browser:
    """Asks for pages, with cookies. `last` is the last page."""

    def __init__(self, port, host="127.0.0.1"):
        self.place = f"http://{host}:{port}"
        self.last = ""
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def get(self, path, form=None):
        return self.send("GET" if form is None else "POST", path, None if form is None else urllib.parse.urlencode(form))

    def send(self, method, path, body=None, headers={}):
        try:
            with self.opener.open(urllib.request.Request(self.place + path, data=body.encode() if body else None, method=method, headers=headers), timeout=120) as answer:
                status, self.last = answer.status, answer.read().decode("utf-8", "replace")
        except urllib.error.HTTPError as error:
            status, self.last = error.code, error.read().decode("utf-8", "replace")
        return status, self.last


def masked(page, hidden):
    for pattern, instead in hidden:
        page = re.sub(pattern, instead, page)
    return page


def pager(browser, hidden, wrong):
    """A function that asks for a page and tells of it as `visit` does. A page with one of the texts `wrong` in it is not as it should be."""

    def page(path, form=None, shown=True, name=None, headers={}):
        status, body = browser.send("GET" if form is None else "POST", path, None if form is None else urllib.parse.urlencode(form), headers if form is None else {"Content-Type": "application/x-www-form-urlencoded", **headers})
        for part in wrong:
            if part in body:
                status = f"{status} with {text(body[body.index(part):], hidden)[:600]}"
        return "GET" if form is None else "POST", masked(name or path, hidden), status, text(body, hidden) if shown else "(not compared)"

    return page


def text(page, hidden):
    """The text of a page and the values of its fields, a line each. `hidden` are patterns of what a server has of its own."""
    page = re.sub(r"(?s)<(script|style|svg)\b.*?</\1>|<!--.*?-->", "", page)
    page = re.sub(r"<(?:input|option)\b[^>]*?\bvalue=(['\"])(.*?)\1[^>]*>", r"\n[\2]\n", page, flags=re.S)
    page = masked(html.unescape(re.sub(r"<[^>]*>", "\n", page)), hidden)
    return "\n".join(line.strip() for line in page.split("\n") if line.strip())
