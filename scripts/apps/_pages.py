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


class Browser:
    """Asks for pages, with cookies."""

    def __init__(self, port):
        self.port = port
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def get(self, path, form=None):
        data = urllib.parse.urlencode(form).encode() if form else None
        try:
            with self.opener.open(urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=data), timeout=60) as answer:
                return answer.status, answer.read().decode("utf-8", "replace")
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode("utf-8", "replace")


def text(page, hidden):
    """The text of a page and the values of its fields, a line each. `hidden` are patterns of what a server has of its own."""
    page = re.sub(r"(?s)<(script|style|svg)\b.*?</\1>|<!--.*?-->", "", page)
    page = re.sub(r"<(?:input|option)\b[^>]*?\bvalue=(['\"])(.*?)\1[^>]*>", r"\n[\2]\n", page, flags=re.S)
    page = html.unescape(re.sub(r"<[^>]*>", "\n", page))
    for pattern, instead in hidden:
        page = re.sub(pattern, instead, page)
    return "\n".join(line.strip() for line in page.split("\n") if line.strip())
