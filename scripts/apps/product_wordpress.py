"""WordPress: its installer, pages, REST interface and administration over HTTP, wp-cron, and a plugin that makes its table by dbDelta and asks what plugins ask (WP_Query by meta, terms, dates)."""
import json, re, shutil
import _pages, harness

TITLE = "WordPress 6.1.9 (Debian; mysqli)"
CLOCK = _pages.MOMENT + r"|\bcron\t.*|\b1[78]\d{8}\b|\$P\$\S{31}|\b[0-9a-f]{32,64}\b|localhost:\d+|i:\d+;|s:\d+:|s:10:\S+"
# Sessions, nonces, what is fetched or scheduled at moments.
UNSEEN = {"wp_usermeta"}
CONFIG = """<?php
define('DB_NAME', getenv('APP_DATABASE')); define('DB_USER', getenv('APP_USER')); define('DB_PASSWORD', getenv('APP_PASSWORD')); define('DB_HOST', getenv('APP_HOST') . ':' . getenv('APP_PORT'));
define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', '');
foreach (['AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY', 'AUTH_SALT', 'SECURE_AUTH_SALT', 'LOGGED_IN_SALT', 'NONCE_SALT'] as $key) define($key, $key . str_repeat('x', 50));
define('WP_HTTP_BLOCK_EXTERNAL', true); define('AUTOMATIC_UPDATER_DISABLED', true); define('DISABLE_WP_CRON', true);
define('WP_DEBUG', true); define('WP_DEBUG_DISPLAY', false); define('WP_DEBUG_LOG', getenv('APP_LOG'));
$table_prefix = 'wp_';
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
"""
PLUGIN = r"""<?php
/* Plugin Name: Visits */
function visits_table($more) {
    global $wpdb;
    require_once ABSPATH . 'wp-admin/includes/upgrade.php';
    return dbDelta("CREATE TABLE {$wpdb->prefix}visits (
  id bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  page varchar(" . ($more ? 200 : 100) . ") NOT NULL DEFAULT '',
  seen datetime NOT NULL DEFAULT '0000-00-00 00:00:00',
  amount decimal(10,2) NULL,
  note text NOT NULL," . ($more ? "\n  score float NOT NULL DEFAULT 0.5," : "") . "
  PRIMARY KEY  (id),
  KEY page (page(50)),
  " . ($more ? "KEY seen_page (seen,page(20))" : "KEY seen (seen)") . "
) " . $wpdb->get_charset_collate() . ";");
}
register_activation_hook(__FILE__, function () { visits_table(false); update_option('permalink_structure', ''); });
add_filter('comment_flood_filter', '__return_false');
add_action('visits_daily', function () { update_option('visits_ran', (int) get_option('visits_ran') + 1); });
add_action('wp_ajax_visits', function () {
    global $wpdb;
    $told = ['delta' => visits_table(true), 'again' => visits_table(true)];
    foreach ([['/a', '9.50'], ['/b', null], ["/c'%_\\", '-1']] as [$page, $amount]) $wpdb->insert($wpdb->prefix . 'visits', ['page' => $page, 'seen' => '2024-02-29 10:00:00', 'amount' => $amount, 'note' => 'ü😀']);
    $wpdb->replace($wpdb->prefix . 'visits', ['id' => 2, 'page' => '/b2', 'note' => '']);
    $told['changed'] = [$wpdb->update($wpdb->prefix . 'visits', ['amount' => 3], ['page' => '/a']), $wpdb->delete($wpdb->prefix . 'visits', ['id' => 3]), $wpdb->insert_id];
    $told['rows'] = $wpdb->get_results("SELECT *, YEAR(seen) y FROM {$wpdb->prefix}visits ORDER BY id", ARRAY_A);
    foreach (get_posts(['numberposts' => -1, 'post_type' => 'post', 'fields' => 'ids']) as $id) { add_post_meta($id, 'price', $id * 1.5); add_post_meta($id, 'day', '2024-01-0' . ($id % 9 + 1)); }
    foreach ([['meta_query' => ['relation' => 'OR', 'p' => ['key' => 'price', 'value' => 7, 'compare' => '>', 'type' => 'DECIMAL(10,2)'], 'd' => ['key' => 'day', 'value' => ['2024-01-01', '2024-01-03'], 'compare' => 'BETWEEN', 'type' => 'DATE']], 'orderby' => ['p' => 'DESC', 'ID' => 'ASC']],
              ['meta_key' => 'price', 'orderby' => 'meta_value_num', 'order' => 'DESC'], ['meta_query' => [['key' => 'absent', 'compare' => 'NOT EXISTS']], 'orderby' => 'ID'],
              ['tax_query' => ['relation' => 'AND', ['taxonomy' => 'category', 'field' => 'slug', 'terms' => ['uncategorized', 'news']], ['taxonomy' => 'post_tag', 'field' => 'slug', 'terms' => ['none'], 'operator' => 'NOT IN']], 'orderby' => 'title'],
              ['date_query' => [['after' => '2 days ago', 'inclusive' => true], ['hour' => 0, 'compare' => '>=']], 'orderby' => 'ID'], ['s' => 'second post -hello', 'posts_per_page' => 1, 'orderby' => ['relevance' => 'DESC', 'ID' => 'ASC']], ['orderby' => 'comment_count title', 'author_name' => 'admin']] as $asked) {
        $found = new WP_Query($asked + ['post_type' => 'any']);
        $told['asked'][] = [$found->found_posts, $found->max_num_pages, wp_list_pluck($found->posts, 'post_title')];
    }
    $told['users'] = (new WP_User_Query(['search' => '*reader*', 'orderby' => 'login', 'has_published_posts' => false, 'meta_query' => [['key' => 'wp_capabilities', 'value' => 'author', 'compare' => 'LIKE']]]))->get_total();
    $told['counts'] = [count_users()['avail_roles'], wp_count_posts(), wp_count_comments(), wp_get_archives(['echo' => 0, 'type' => 'yearly', 'format' => 'custom', 'show_post_count' => true]) !== '', get_calendar(true, false) !== ''];
    set_transient('visits_kept', ['a' => 1], 3600); wp_schedule_event(time() - 10, 'daily', 'visits_daily');
    $told['error'] = [$wpdb->query('SELECT * FROM nowhere'), preg_replace("/'\w+\./", "'", $wpdb->last_error), $wpdb->db_version() >= '8', $wpdb->has_cap('utf8mb4_520'), $wpdb->get_col_length($wpdb->posts, 'post_title')];
    wp_send_json($told);
});
"""


def install(tools):
    tree = harness.unpacked(tools / "wordpress-tree", "wordpress", "wordpress-theme-twentytwentythree", depends=r"php-[\w-]+|libjs-[\w-]+")
    harness.apt("php-cli")
    place = tools / "wordpress"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(tree / "usr/share/wordpress", place, symlinks=True)
    (place / "wp-config.php").write_text(CONFIG)
    (place / "wp-content/plugins/visits.php").write_text(PLUGIN)


def steps(target, database, tools, work):
    return {"before": [], "serve": ["sh", "-c", f"cd {tools}/wordpress && PHP_CLI_SERVER_WORKERS=3 APP_LOG={work}/debug.log exec php -d sendmail_path=/bin/true -d upload_max_filesize=8M -S 127.0.0.1:$APP_HTTP_PORT"]}


def visit(port, target, database, run):
    browser = _pages.Browser(port, "localhost")
    hidden = [*_pages.CLOCKS, (rf"localhost:{port}|{port}", "HOST"), (r"\b[0-9a-f]{10}\b", "NONCE"), (r"\$P\$\S{31}", "HASH")]
    page, nonce = _pages.pager(browser, hidden, ["<b>Fatal error", "Error establishing", "database error", "There has been a critical error", "<h1>Error"]), None

    def rest(method, route, shown=True, **body):
        path = f"/index.php?rest_route=/wp/v2/{route}" + ("&context=edit" if method == "GET" and "search&" not in route else "")
        status, text = browser.send(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json", "X-WP-Nonce": nonce})
        return method, route, 200 if status in (200, 201) else status, _pages.masked(text, hidden) if shown else "(not compared)"

    yield page("/wp-admin/install.php")
    yield page("/wp-admin/install.php?step=2", form={"weblog_title": "Blog & “Ü😀”", "user_name": "admin", "admin_password": "Pass.word-1", "admin_password2": "Pass.word-1", "pw_weak": "1", "admin_email": "admin@example.org", "blog_public": "1", "language": ""})
    yield page("/wp-login.php")
    yield page("/wp-login.php", form={"log": "admin", "pwd": "Pass.word-1", "wp-submit": "Log In", "testcookie": "1", "redirect_to": "/wp-admin/"})
    yield page("/wp-admin/plugins.php")
    link = re.search(r'href="(plugins\.php\?action=activate&amp;plugin=visits[^"]*)"', browser.last)
    yield page("/wp-admin/" + (link.group(1).replace("&amp;", "&") if link else "missing"), name="activate the plugin")
    nonce = browser.get("/wp-admin/admin-ajax.php?action=rest-nonce")[1]
    yield rest("POST", "settings", title="Renamed", timezone="Europe/Berlin", posts_per_page=3)
    yield rest("POST", "categories", name="News", description="what is new")
    yield rest("POST", "categories", name="Inner", parent=2)
    yield rest("POST", "tags", name="été")
    for number in range(1, 8):
        yield rest("POST", "posts", title=f"{'Second' if number % 2 else 'Other'} post {number}", content=f"<!-- wp:paragraph --><p>Text {number} of 😀 the post.</p><!-- /wp:paragraph -->", status="publish" if number < 6 else "draft", date=f"2024-01-0{number}T10:00:00", categories=[2 if number % 3 else 1], tags=[4] if number == 1 else [], excerpt="in short")
    yield rest("POST", "pages", title="A page", content="Here", status="publish", slug="a-page")
    yield rest("POST", "users", username="reader", email="reader@example.org", password="Other.word-2", roles=["author"], name="Read Er")
    yield rest("POST", "comments", post=5, content="First! “quoted”")
    yield rest("POST", "comments", post=5, content="An answer", parent=2)
    yield rest("POST", "posts/5", title="Second post, edited", sticky=True)
    yield rest("POST", "posts/5", content="Edited twice")
    for route in ("posts&search=second", "posts&categories=2&orderby=title&order=asc", "posts&tags=4", "posts&per_page=3&page=2&status=any&orderby=id", "posts/5/revisions", "users&search=read", "comments&search=answer", "search&search=page", "types", "taxonomies", "settings", "categories&hide_empty=1", "block-types&namespace=core"):
        yield rest("GET", route, "block-types" not in route and "types" != route)
    yield rest("DELETE", "posts/6")
    yield rest("DELETE", "posts/7&force=1")
    yield rest("DELETE", "categories/3&force=1")
    yield page("/wp-admin/admin-ajax.php?action=visits")
    yield page("/wp-cron.php?doing_wp_cron")
    for path in ("/", "/?p=5", "/?s=second", "/?cat=2", "/?tag=ete", "/?author=1", "/?page_id=12", "/?feed=rss2", "/?feed=comments-rss2", "/?paged=2", "/xmlrpc.php?rsd", "/?sitemap=index"):
        yield page(path)
    for path in ("index.php", "edit.php?s=post&orderby=title&order=asc&m=0&cat=2", "edit.php?post_status=trash&post_type=post", "edit-comments.php?s=first", "users.php?s=reader&orderby=email", "edit-tags.php?taxonomy=category", "upload.php?mode=list", "options-general.php", "options-writing.php", "options-permalink.php", "options.php", "tools.php", "export.php?download=true&content=all", "site-health.php?tab=debug", "profile.php", "post.php?post=5&action=edit"):
        yield page("/wp-admin/" + path, shown=not re.match("site-health|post.php|options|index|edit.php", path))
    guest = _pages.Browser(port, "localhost")
    yield _pages.pager(guest, hidden, ["<b>Fatal error"])("/wp-comments-post.php", form={"author": "Guest", "email": "g@example.org", "comment": "From outside <b>x</b>", "comment_post_ID": "5", "comment_parent": "0"})
    yield page("/wp-login.php?action=lostpassword", form={"user_login": "reader@example.org"})
