"""Roundcube: its schema, its login page and sessions, and what its own classes keep: users, preferences, identities, address books, groups, searches, responses, caches; its scripts."""
import shutil
import _pages, harness

TITLE = "Roundcube 1.6.5 (Debian; PDO)"
CLOCK = _pages.MOMENT
UNSEEN = {"session", "cache", "cache_shared"}
CONFIG = """<?php
$config['db_dsnw'] = 'mysql://' . getenv('APP_USER') . ':' . getenv('APP_PASSWORD') . '@' . getenv('APP_HOST') . ':' . getenv('APP_PORT') . '/' . getenv('APP_DATABASE');
$config['des_key'] = str_repeat('x', 24); $config['imap_host'] = 'localhost:1'; $config['log_dir'] = getenv('APP_WORK') . '/logs'; $config['temp_dir'] = getenv('APP_WORK') . '/temp'; $config['enable_installer'] = false; $config['plugins'] = [];
"""
USE = r"""<?php
define('INSTALL_PATH', getenv('APP_PLACE') . '/');
require INSTALL_PATH . 'program/include/clisetup.php';
$rc = rcmail::get_instance();
$db = $rc->get_dbh();
function told($what, $value) { global $db; echo $what, ': ', json_encode($value, JSON_UNESCAPED_UNICODE), $db->is_error() ? ' ERROR ' . $db->is_error() : '', "\n"; }
$user = rcube_user::create('ursula@example.org', 'imap.example.org'); $other = rcube_user::create('Ürsula', 'imap.example.org');
told('users', [$user->ID, $other->ID, rcube_user::query('ursula@example.org', 'imap.example.org')->ID, rcube_user::query('URSULA@example.org', 'imap.example.org')]);
$user->touch(); $user->failed_login(); told('locked', $user->is_locked());
$rc->set_user($user);
told('prefs', [$user->save_prefs(['skin' => 'elastic', 'text' => "it's \\ ü😀"]), (new rcube_user($user->ID))->get_prefs()]);
told('identities', [$user->insert_identity(['name' => 'Ursula “U”', 'email' => 'u2@example.org', 'signature' => "-- \nü😀"]), $user->list_identities(), $user->update_identity(1, ['organization' => 'Org']), $user->set_default(3), $user->delete_identity(1), count($user->list_emails())]);
$search = $user->insert_search(['type' => rcube_user::SEARCH_MAIL, 'name' => 'mine', 'data' => ['a' => [1, 'ü']]]);
told('searches', [$search, $user->list_searches(rcube_user::SEARCH_MAIL), $user->get_search($search), $user->delete_search($search)]);
$answer = $user->insert_response(['name' => 'hello', 'data' => '<b>ü</b>', 'is_html' => true]);
told('responses', [$answer, $user->list_responses(), $user->update_response($answer, ['name' => 'bye', 'data' => 'x', 'is_html' => false]), $user->get_response($answer), $user->delete_response($answer)]);
$book = new rcube_contacts($db, $user->ID);
foreach (range(1, 60) as $n) { $ids[] = $book->insert(['name' => ['Żółć', 'Éric', "O'Neil", '100%_x', '😀'][$n % 5] . " $n", 'firstname' => "F$n", 'surname' => 'S' . ($n % 7), 'email:home' => ["m$n@example.org"], 'email:work' => ["w$n@example.com"], 'notes' => str_repeat("note $n ", $n)], true); }
told('contacts', [count($ids), $book->insert(['name' => 'again', 'email' => 'm3@example.org'], true)]);
$group = $book->create_group('Friends ü'); $second = $book->create_group('Friends ü');
told('groups', [$group, $second, $book->add_to_group($group['id'], [$ids[0], $ids[5], $ids[5]]), $book->add_to_group($group['id'], "$ids[5],$ids[7]"), $book->rename_group($second['id'], 'Foes', $new), $book->remove_from_group($group['id'], $ids[0]), $book->list_groups(), $book->list_groups('fri', 0), $book->get_record_groups($ids[5])]);
$book->set_page(2); $book->set_pagesize(10);
foreach ([['*', 'note 4'], ['name', 'eric'], ['name', '%_'], [['firstname', 'email'], 'm1', 2], ['surname', 's3', 1], ['ID', [$ids[1], $ids[2]]], [['name', 'surname'], ['zolc', 's1']]] as $asked) { $book->reset(); $found = $book->search(...$asked); told('search ' . json_encode($asked), [$found->count, array_column($found->records, 'name')]); }
$book->reset(); $book->set_search_set(null); $book->set_group($group['id']); told('of group', array_column($book->list_records()->records, 'name')); $book->set_group(0);
$book->set_sort_order('surname', 'DESC'); told('sorted', array_column($book->list_records(null, 5)->records, 'name'));
told('record', $book->get_record($ids[3], true)); told('changed', [$book->update($ids[3], ['name' => 'Neu', 'email' => ['n@example.org']]), $book->delete([$ids[8], $ids[9]], false), $book->undelete([$ids[8]]), $book->count()->count]);
$collected = new rcube_addresses($db, $user->ID, rcube_addresses::TYPE_RECIPIENT);
told('collected', [$collected->insert(['name' => 'C', 'email' => 'c@example.org']), $collected->search('*', 'c@')->count, $collected->delete([1])]);
foreach (['db'] as $kind) { $cache = $rc->get_cache('x', $kind, '1h'); $cache->set('a.b', ['v' => "ü\0"]); $cache->set('a.c', str_repeat('y', 300000)); $cache->close(); $cache = $rc->get_cache('x', $kind, '1h'); told('cache', [$cache->get('a.b') == ['v' => "ü\0"], strlen($cache->get('a.c'))]); $cache->remove('a.', true); $cache->expunge(); $shared = $rc->get_cache_shared('s'); if ($shared) { $shared->set('k', 1); $shared->close(); } }
$columns = $db->list_cols('contacts'); sort($columns);
told('schema', [$db->list_tables(), $columns, $db->get_variable('max_allowed_packet') > 0, $db->insert_or_update('users', ['username' => 'x', 'mail_host' => 'y'], ['language', 'created'], ['en_US', '2024-02-29 00:00:00']), $db->insert_or_update('users', ['username' => 'x', 'mail_host' => 'y'], ['language', 'created'], ['de_DE', '2024-03-01 00:00:00'])]);
$db->startTransaction(); $db->query('DELETE FROM contacts'); $db->rollbackTransaction(); told('rolled back', $db->fetch_assoc($db->query('SELECT COUNT(*) n, MIN(name) least FROM contacts WHERE user_id = ? AND del <> 1 AND email LIKE ?', $user->ID, '%m1%')));
told('wrong', [$db->query('SELECT nothing FROM nowhere'), preg_replace("/'\w+\./", "'", $db->is_error())]);
"""


def install(tools):
    place = tools / "roundcube"
    if (place / "index.php").exists():
        return
    tree = harness.unpacked(tools / "roundcube-tree", "roundcube-core", "roundcube-mysql", depends=r"php-[\w-]+|libjs-jquery")
    harness.apt("php-cli", "php-mysql", "php-curl")
    # Where it lies, which is Debian's choice of folders.
    for path in [*(tree / "usr/share/roundcube/bin").glob("*.sh"), tree / "usr/share/roundcube/program/include/iniset.php"]:
        path.write_text(path.read_text().replace("'/var/lib/roundcube/'", f"'{place}/'"))
    shutil.move(tree / "usr/share/roundcube", place)
    (place / "config").mkdir()
    for name in ("defaults.inc.php", "mimetypes.php"):
        shutil.copy(tree / "etc/roundcube" / name, place / "config")
    (place / "config/config.inc.php").write_text(CONFIG)


def environment(target, database, tools):
    return {"APP_PLACE": f"{tools}/roundcube"}


def steps(target, database, tools, work):
    (work / "logs").mkdir(exist_ok=True)
    (work / "temp").mkdir(exist_ok=True)
    (work / "use.php").write_text(USE)
    place = tools / "roundcube"
    script = lambda line, shown=True: (line, ["sh", "-c", f"APP_WORK={work} php {place}/bin/{line} < /dev/null"], shown)
    return {"before": [("schema", ["sh", "-c", f"mysql --ssl=0 -h$APP_HOST -P$APP_PORT -u$APP_USER {database} < {place}/SQL/mysql.initial.sql"], True), script("updatedb.sh --package=roundcube --dir=$APP_PLACE/SQL"), ("classes", ["sh", "-c", f"APP_WORK={work} php {work}/use.php"], CLOCK), script("indexcontacts.sh"),
                       script("moduserprefs.sh --user=1 --type=string skin classic"), script("gc.sh"), script("cleandb.sh"), script("deluser.sh --host=imap.example.org Ürsula")],
            "serve": ["sh", "-c", f"cd {place} && APP_WORK={work} exec php -d session.save_path={work}/temp -S 127.0.0.1:$APP_HTTP_PORT"]}


def visit(port, target, database, run):
    browser = _pages.Browser(port)
    hidden = [*_pages.CLOCKS, (r"\[?[0-9A-Za-z]{32}\]?", "TOKEN"), (str(port), "PORT")]
    page = _pages.pager(browser, hidden, ["DATABASE ERROR", "Fatal error", "SERVICE CURRENTLY"])
    yield page("/")
    yield page("/?_task=settings")
    sessions = target.sql("SELECT COUNT(*) > 0, MAX(LENGTH(vars)) > 10 FROM session", database)
    yield "SQL", "sessions", 200, sessions
