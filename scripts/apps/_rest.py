"""What the products' modules share that are used by JSON over HTTP: a client that keeps what a session needs, and answers without what is made by chance or by the clock."""
import contextlib, http.cookiejar, json, re, time, urllib.error, urllib.parse, urllib.request

# Ids and tokens made by chance, and moments, as JSON and rows show them.
CHANCE = r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{24,64}\b"
MOMENT = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?|\b1[78]\d{8}(?:\d{3})?\b"
BOTH = f"{CHANCE}|{MOMENT}"


class Rest:
    """`answer` is the last answer's JSON (or text), `headers` go with each request. `hidden` is a pattern of what is not compared."""

    def __init__(self, port, hidden=BOTH, **headers):
        self.place, self.hidden, self.answer, self.told = f"http://127.0.0.1:{port}", hidden, None, {}
        self.headers = {"Accept": "application/json", **headers}
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def ask(self, method, path, body=None, expected=None, shown=True, form=None, raw=None):
        """One request, told as a visit tells it: a status of `expected` (of 2xx by default) counts as 200. `raw` is a body's content type and bytes."""
        data = raw[1] if raw else urllib.parse.urlencode(form).encode() if form is not None else None if body is None else json.dumps(body, ensure_ascii=False).encode()
        kind = raw[0] if raw else "application/x-www-form-urlencoded" if form is not None else "application/json"
        headers = {**self.headers, **({} if data is None else {"Content-Type": kind})}
        request = urllib.request.Request(self.place + path, data=data, method=method, headers=headers)
        try:
            with self.opener.open(request, timeout=300) as answer:
                status, text, self.told = answer.status, answer.read().decode("utf-8", "replace"), answer.headers
        except urllib.error.HTTPError as error:
            status, text, self.told = error.code, error.read().decode("utf-8", "replace"), error.headers
        try:
            self.answer = json.loads(text)
            text = json.dumps(self.answer, ensure_ascii=False, sort_keys=True, indent=1)
        except ValueError:
            self.answer = text
        right = status == expected if expected else 200 <= status < 300
        port = self.place.rpartition(":")[2]
        hide = lambda text: re.sub(self.hidden, "(chance)", text.replace(port, "PORT"))
        return method, hide(path), 200 if right else status, f"{status} {hide(text)}" if shown or not right else f"{status} (not compared)"


def until(true, seconds=180):
    """Waits for what an application does behind its requests, or before the first."""
    end = time.time() + seconds
    while True:
        with contextlib.suppress(OSError):  # nobody listens yet
            if true():
                return
        if time.time() > end:
            raise RuntimeError("waited in vain")
        time.sleep(0.5)
