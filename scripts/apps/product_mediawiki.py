"""MediaWiki: its installer, edits and queries by api.php, special pages, jobs, and its maintenance scripts. Its table of full texts (MyISAM, FULLTEXT) is made without them, and search is off: there is no FULLTEXT yet."""
import json, re, shutil, time, urllib.parse
import _pages, harness

TITLE = "MediaWiki 1.39.17 (Debian; mysqli; without full-text search)"
CLOCK = _pages.MOMENT + r"|\b20\d{12}\b|:pbkdf2:\S+|\b[0-9a-f]{32}\b|\b1[78]\d{8}\b"
# Caches, what is random (page_random, tokens of users, sessions), and what goes by the second in which something happened.
UNSEEN = {"objectcache", "l10n_cache", "module_deps", "user", "page", "querycache_info", "job", "recentchanges", "change_tag", "comment"}
SETTINGS = """
$wgDBserver = getenv('APP_HOST') . ':' . getenv('APP_PORT');
$wgServer = 'http://localhost:' . getenv('APP_HTTP_PORT');
$wgSearchType = 'SearchEngineDummy'; $wgDisableSearchUpdate = true; $wgDisableTextSearch = true;
$wgJobRunRate = 0; $wgEnableUploads = true; $wgUploadDirectory = __DIR__ . '/images'; $wgFileExtensions = ['png', 'txt']; $wgVerifyMimeType = false; $wgStrictFileExtensions = false;
$wgMainCacheType = CACHE_DB; $wgSessionCacheType = CACHE_DB; $wgParserCacheType = CACHE_DB; $wgShowExceptionDetails = true; $wgShowDBErrorBacktrace = true; $wgPasswordPolicy['policies']['default'] = [];
$wgEnableBotPasswords = true; $wgPhpCli = false; $wgRateLimits = []; $wgNamespacesWithSubpages[0] = true; $wgAllowCategorizedRecentChanges = true; $wgRCWatchCategoryMembership = true;
foreach (['ParserFunctions', 'Cite', 'CategoryTree', 'Gadgets', 'Interwiki', 'Nuke', 'Renameuser', 'ReplaceText', 'AbuseFilter', 'OATHAuth', 'Poem', 'InputBox', 'TitleBlacklist'] as $name) wfLoadExtension($name);
$wgGroupPermissions['sysop']['abusefilter-modify'] = true; $wgGroupPermissions['sysop']['replacetext'] = true;
"""
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def install(tools):
    place = tools / "mediawiki"
    if (place / "index.php").exists():
        return
    tree = harness.unpacked(tools / "mediawiki-tree", "mediawiki", "mediawiki-classes", depends=r"php-[\w-]+")
    harness.apt("php-cli", "php-mysql")
    for link in ("LocalSettings.php", "config", "images", "extensions"):
        (tree / "usr/share/mediawiki" / link).unlink()
    (tree / "usr/share/mediawiki/extensions-core").rename(tree / "usr/share/mediawiki/extensions")
    shutil.move(tree / "usr/share/mediawiki", place)
    schema = place / "maintenance/tables-generated.sql"
    schema.write_text(re.sub(r",\s+FULLTEXT INDEX \w+ \(\w+\)", "", schema.read_text()).replace("ENGINE = MyISAM DEFAULT", "ENGINE = InnoDB DEFAULT"))


def environment(target, database, tools):
    return {"WIKI": f"{tools}/mediawiki"}


def steps(target, database, tools, work):
    for old in work.glob("LocalSettings.php"):
        old.unlink()
    (work / "images").mkdir(exist_ok=True)
    (work / "more.php").write_text(SETTINGS)
    (work / "book.txt").write_text("".join(f"Line {n} — “text”\n" for n in range(40)))
    install = f'php $WIKI/maintenance/install.php --dbtype mysql --dbserver $APP_HOST:$APP_PORT --dbname {database} --installdbuser root --installdbpass "" --dbuser root --dbpass "" --confpath {work} --pass Long.pass-word1 --scriptpath "" --server http://localhost Wiki Admin'
    script = lambda name: ["sh", "-c", f"MW_CONFIG_FILE={work}/LocalSettings.php php $WIKI/maintenance/{name} < /dev/null"]
    return {"before": [
        ("install", ["sh", "-c", install], False),
        ("settings", ["sh", "-c", f"cat {work}/more.php >> {work}/LocalSettings.php"], False),
        ("update", script("update.php --quick"), r".*\bin [\d.]+ ?(?:m?s\b|seconds).*"),
        ("import texts", ["sh", "-c", f"MW_CONFIG_FILE={work}/LocalSettings.php php $WIKI/maintenance/importTextFiles.php -u Admin --prefix File- {work}/book.txt"], _pages.MOMENT),
    ], "serve": ["sh", "-c", f"cd $WIKI && MW_CONFIG_FILE={work}/LocalSettings.php PHP_CLI_SERVER_WORKERS=3 exec php -d memory_limit=512M -S 127.0.0.1:$APP_HTTP_PORT"]}


def visit(port, target, database, run):
    browser = _pages.Browser(port, "localhost")
    hidden = [*_pages.CLOCKS, (rf"localhost:{port}|{port}", "HOST"), (r"\b[0-9a-f]{32,40}(?:\+\\+)?", "TOKEN"), (r"\b20\d{12}\b", "STAMP"), (r"0\.\d{6,}", "RANDOM"), (r"(?m)^.*(?:127\.0\.0\.1|8\.4\.3|9\.7\.\d).*$", "SERVER"), (r"\w+ and \w+ \(\w+\)", "X"), (r"\[[\w.]+\] ", "")]
    page, token = _pages.pager(browser, hidden, ["Database error", "[DBQueryError]", "Fatal error", "Internal error", "DBQueryError"]), "+\\"

    def api(shown=True, **asked):
        method = "POST" if asked.get("action") not in ("query", "parse", "opensearch", "compare", "expandtemplates", "feedrecentchanges") else "GET"
        asked = {"format": "json", "formatversion": 2, "utf8": 1, **asked}
        if method == "POST":
            status, text = browser.get("/api.php", {**asked, "token": asked.get("lgtoken") or token, **({"lgtoken": asked["lgtoken"]} if "lgtoken" in asked else {})})
        else:
            status, text = browser.get("/api.php?" + urllib.parse.urlencode(asked))
        if '"error":{' in text:
            status = f"{status} with {text[:400]}"
        return method, _pages.masked(f"api {json.dumps({k: str(v)[:40] for k, v in asked.items() if 'token' not in k})}", hidden), status, _pages.masked(text, hidden) if shown else "(not compared)"

    def of(kind):
        return json.loads(browser.get(f"/api.php?action=query&meta=tokens&type={kind}&format=json")[1])["query"]["tokens"][f"{kind}token"]

    yield api(action="login", lgname="Admin", lgpassword="Long.pass-word1", lgtoken=of("login"))
    token = of("csrf")
    edits = [("Alpha", "Alpha [[Beta]] [[Gamma]] {{Box|1}} [[Category:Letters]] [https://example.org x] <ref>note</ref>"), ("Beta", "Beta [[Alpha]] {{#ifexist:Nowhere|a|b}} [[Category:Letters]] [[de:Beta]]"), ("Template:Box", "<includeonly>box {{{1}}} [[Category:Boxed]]</includeonly>"), ("Category:Letters", "[[Category:All]]"),
             ("Größe 😀", "Ünïcode 😀 ''text'' [[File:Dot.png]]"), ("Alpha/Sub", "{{Alpha}} __NOINDEX__ [[Special:Log]]"), ("Old name", "#REDIRECT [[Alpha]]"), ("User:Admin", "me"), ("Talk:Alpha", "== First ==\nHello"), ("MediaWiki:Gadgets-definition", "* x[ResourceLoader]|x.js")]
    for title, text in edits:
        yield api(action="edit", title=title, text=text, summary=f"made “{title}”")
    yield api(action="edit", title="Alpha", appendtext="\n\nmore\n== Head ==\nand [[Delta]]", minor=1)
    yield api(action="edit", title="Talk:Alpha", section="new", sectiontitle="Second", text="again")
    for number in range(12):
        yield api(False, action="edit", title=f"Number {number}", text=f"{number} of [[Numbers]] [[Category:Numbers|{number:03}]]", bot=1)
    yield api(action="move", **{"from": "Beta", "to": "Beta moved", "movetalk": 1, "reason": "why not"})
    yield api(action="protect", title="Alpha", protections="edit=sysop|move=sysop", expiry="infinite")
    yield api(action="delete", title="Number 3", reason="gone")
    yield api(action="undelete", title="Number 3", reason="back")
    yield api(action="delete", title="Number 4")
    yield api(action="createaccount", username="Reader", password="Other.word-2", retype="Other.word-2", email="r@example.org", createreturnurl="http://localhost/", createtoken=of("createaccount"))
    yield api(action="block", user="Reader", expiry="1 day", reason="test", nocreate=1, autoblock=1)
    yield api(action="unblock", user="Reader")
    yield api(action="options", change="skin=monobook|gender=female")
    yield api(action="purge", titles="Alpha|Beta moved", forcelinkupdate=1)
    yield api(action="managetags", operation="create", tag="mine", reason="x")
    time.sleep(2)  # The list of tags is cached by the second: one made in the second of the last look is not in it.
    yield api(action="tag", revid=4, add="mine")
    yield api(action="mergehistory", **{"from": "Number 5", "to": "Number 6"})
    for args in ("runJobs.php --nothrottle", "showJobs.php --group", "updateSpecialPages.php", "rebuildrecentchanges.php", "refreshLinks.php", "initSiteStats.php --update", "recountCategories.php --mode pages", "updateCollation.php --force", "dumpBackup.php --full --quiet", "attachLatest.php", "namespaceDupes.php", "purgeParserCache.php --age 0"):
        # How long it takes is told, and the order in which jobs come. Without --nothrottle one failed job in fifty, by chance, puts off the others of its kind.
        shown = args.startswith(("showJobs", "initSite", "recount"))
        yield run(f"MW_CONFIG_FILE=$PWD/LocalSettings.php php $WIKI/maintenance/{args}", hidden if shown else None, ["DBQueryError", "Database error"], args)
    lists = ["allpages&aplimit=50", "allpages&apfilterredir=redirects", "allpages&apprefix=Number&apminsize=10&apdir=descending", "categorymembers&cmtitle=Category:Numbers&cmlimit=5&cmsort=sortkey", "categorymembers&cmtitle=Category:Letters&cmtype=page|subcat", "backlinks&bltitle=Alpha&blredirect=1", "embeddedin&eititle=Template:Box", "recentchanges&rcprop=title|user|comment|flags|sizes|loginfo&rclimit=100",
             "logevents&leprop=title|type|comment|details&lelimit=50", "usercontribs&ucuser=Admin&uclimit=50&ucprop=title|comment|size|sizediff|flags", "allusers&auprop=editcount|groups|registration", "allcategories&acprop=size&acmin=1", "alllinks&alunique=1&allimit=50", "allrevisions&arvlimit=20&arvprop=ids|comment|size", "alldeletedrevisions&adrlimit=5", "protectedtitles", "querypage&qppage=Wantedpages", "querypage&qppage=Lonelypages",
             "querypage&qppage=Mostlinked", "exturlusage&euquery=example.org", "langbacklinks&lbllang=de", "tags&tgprop=hitcount|description", "blocks", "watchlist&wlallrev=1&wlprop=title", "prefixsearch&pssearch=Num", "random&rnlimit=1&rnnamespace=6", "allredirects", "alltransclusions", "fileusage&titles=File:Dot.png", "abusefilters"]
    for asked in lists:
        name, _, more = asked.partition("&")
        yield api(name not in ("recentchanges", "watchlist"), action="query", list=name, **dict(pair.split("=", 1) for pair in more.split("&") if pair)) if name not in ("fileusage",) else api(action="query", prop="fileusage", titles="File:Dot.png")
    yield api(action="query", prop="info|categories|links|extlinks|langlinks|templates|revisions|redirects|pageprops|contributors", titles="Alpha|Beta moved|Größe 😀", pllimit="max", rvprop="ids|comment|size|user|flags", inprop="protection|watched")
    yield api(action="query", prop="revisions", titles="Alpha", rvlimit="5", rvprop="content|comment", rvslots="main")
    yield api(action="query", generator="allpages", gaplimit="20", prop="revisions|categoryinfo", rvprop="size")
    yield api(action="query", meta="siteinfo", siprop="statistics|namespaces")
    yield api(action="parse", page="Alpha", prop="text|links|categories|sections", disablelimitreport=1)
    yield api(action="compare", fromtitle="Alpha", totitle="Beta moved")
    for path in ("Main_Page", "Alpha", "Alpha&action=history", "Alpha&action=edit", "Alpha&action=info", "Beta", "Special:RecentChanges", "Special:AllPages", "Special:Log", "Special:Contributions/Admin", "Special:WhatLinksHere/Alpha", "Category:Numbers", "Special:Statistics", "Special:ListUsers", "Special:Export/Alpha", "Special:Version", "Special:Preferences", "Special:Watchlist", "Special:Undelete/Number_4", "Special:Search&search=Alpha&fulltext=1", "Special:RecentChangesLinked/Alpha",
                 "Special:NewPages", "Special:Block", "Special:AbuseFilter/new", "Special:ReplaceText", "Special:Nuke", "Special:MovePage/Alpha", "Special:SpecialPages", "Special:Wantedpages", "Special:LongPages", "Special:ListFiles", "Special:Tags", "Special:DoubleRedirects", "Special:PrefixIndex/Num", "Special:Categories", "Special:LinkSearch&target=*.example.org", "Special:ActiveUsers", "Special:MostRevisions", "Special:BlockList"):
        yield page(f"/index.php?title={path}", shown=not re.search("Version|action=info|Statistics|Wanted|Export|Preferences|ActiveUsers|Recent|Watchlist|Special:Log|NewPages|MostRevisions", path))  # of the last, pages have equally many
    yield page("/rest.php/v1/page/Alpha/history")
    yield page("/rest.php/v1/search/title?q=Num&limit=5")

