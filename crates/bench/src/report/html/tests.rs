//! The page is whole: well-formed, escaped, and shown by a browser where there is one.

use super::*;
use crate::report::samples;
use std::path::PathBuf;
use std::process::Command;

/// Names that would be marks, and what else a page could stumble over.
fn hostile() -> Report {
    let mut report = samples::report();
    let name = "<script>document.title='taken over'</script>";
    for outcome in report.outcomes.iter_mut().filter(|o| o.server == "B") {
        outcome.server = name.to_owned();
        outcome.version = "\"><img src=x onerror=alert(1)>&amp;]]>".to_owned();
        outcome.workload = "tpcc</title><style>*{display:none}".to_owned();
        outcome.errors.insert(2000, (1, "' onload='x \u{0} \u{202e}<!--".to_owned()));
        outcome.kinds[0].name = "</table><b>".to_owned();
    }
    report.machine.cpu = "<cpu>".to_owned();
    report.command = "altiplano bench '<b>' && x".to_owned();
    report.notes.push("</dl><note>".to_owned());
    report
}

fn parsed(page: &str) -> roxmltree::Document<'_> {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    roxmltree::Document::parse_with_options(page, options).unwrap_or_else(|e| panic!("{e}:\n{page}"))
}

fn elements(tree: &roxmltree::Document<'_>, name: &str) -> usize {
    tree.descendants().filter(|node| node.tag_name().name() == name).count()
}

#[test]
fn a_page_is_well_formed_and_has_all_parts() {
    let page = page(&[samples::report()]);
    let tree = parsed(&page);
    // Six over connections, two over time for each of four counts; five of the soak.
    assert_eq!(elements(&tree, "svg"), 6 + 8 + 5);
    assert_eq!((elements(&tree, "table"), elements(&tree, "script"), elements(&tree, "h1")), (4, 0, 1));
    let text: String = tree.descendants().filter_map(|n| n.text()).collect();
    for part in [
        "AMD EPYC",
        "load average",
        "Linux 6.18",
        "--workload tpcc",
        "× A (95 %)",
        "1213",
        "new_order",
        "keys=zipf:0.9",
        "Memory is flat",
        "B refused 3 connections",
        "history not purged",
    ] {
        assert!(text.contains(part), "{part} is missing");
    }
}

#[test]
fn a_page_needs_nothing_from_elsewhere() {
    let page = page(&[samples::report()]);
    let tree = parsed(&page);
    for node in tree.descendants() {
        for attribute in node.attributes() {
            assert!(
                !matches!(attribute.name(), "src" | "href" | "srcset" | "action") && !attribute.name().starts_with("on"),
                "{attribute:?}"
            );
        }
    }
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("url(") && !page.contains("@import"));
    assert!(page.contains("prefers-color-scheme:dark"));
}

#[test]
fn text_is_text_whatever_it_holds() {
    let page = page(&[hostile()]);
    let tree = parsed(&page);
    for element in ["script", "img", "b", "cpu", "note"] {
        assert_eq!(elements(&tree, element), 0, "{element}");
    }
    assert_eq!((elements(&tree, "style"), elements(&tree, "title") > 1), (1, true));
    let text: String = tree.descendants().filter_map(|n| n.text()).collect();
    assert!(text.contains("<script>document.title='taken over'</script>"), "the name is shown as it is");
}

#[test]
fn several_reports_stand_side_by_side_in_stable_colours() {
    let (mut one, mut other) = (samples::report(), samples::report());
    one.outcomes.retain(|o| o.server == "A");
    other.outcomes.retain(|o| o.server == "B");
    other.machine.cpu = "another processor".to_owned();
    for part in [&mut one, &mut other] {
        part.comparisons.clear();
        part.soaks.clear();
    }
    let page = page(&[one.clone(), other.clone()]);
    assert!(page.contains("AMD EPYC") && page.contains("another processor"));
    let figures = [one, other];
    let figures = Figures::new(&figures);
    assert_eq!(figures.servers.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["A", "B"]);
    for (_, plot) in figures.groups[0].charts(&figures) {
        assert_eq!(plot.series.iter().map(|s| (s.name.as_str(), s.color)).collect::<Vec<_>>(), [("A", 0), ("B", 1)], "{}", plot.title);
    }
}

#[test]
fn nothing_measured_is_a_page_too() {
    parsed(&page(&[]));
    let mut report = samples::report();
    report.outcomes.truncate(1);
    report.outcomes[0].kinds.clear();
    report.outcomes[0].each_second.clear();
    report.outcomes[0].local = None;
    report.outcomes[0].seconds = 0.0;
    report.soaks.clear();
    assert!(!page(&[report]).contains("NaN"));
}

fn browser() -> Option<PathBuf> {
    let folders = std::env::split_paths(&std::env::var_os("PATH")?).collect::<Vec<_>>();
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome-headless-shell"];
    names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|path| path.is_file())
}

/// What the page looks like from within, which a browser is asked by a script that the test adds: it writes what it finds where the DOM is dumped.
const LOOK: &str = "<script>addEventListener('load',()=>{\
const shown=e=>{const b=e.getBoundingClientRect();return b.width>0&&b.height>0};\
const all=[...document.querySelectorAll('svg')],out=[];\
document.querySelectorAll('details').forEach(d=>d.open=true);\
const small=all.flatMap(s=>[...s.querySelectorAll('text')].map(t=>t.getBoundingClientRect().height));\
const beyond=all.flatMap(s=>[...s.querySelectorAll('circle,rect,path,text')].filter(e=>{const a=e.getBoundingClientRect(),b=s.getBoundingClientRect();return a.left<b.left-2||a.right>b.right+2||a.top<b.top-2||a.bottom>b.bottom+2}).map(e=>e.outerHTML));\
document.body.setAttribute('data-seen',[all.length,all.filter(shown).length,document.documentElement.scrollWidth-innerWidth,Math.min(...small)>=8,beyond.length,getComputedStyle(document.body).backgroundColor].join('|'));\
})</script>";

/// Opens a page in the browser, as wide as said, and returns what it saw, and the page's title.
fn seen(browser: &PathBuf, page: &str, width: u32, more: &[&str]) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    // Its own rule against scripts would stop the test's too.
    let page = page.replace(
        "default-src 'none'; style-src 'unsafe-inline'",
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'",
    );
    std::fs::write(&file, page.replace("</body>", &format!("{LOOK}</body>"))).unwrap();
    let mut command = Command::new("timeout");
    command.arg("120").arg(browser).args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--dump-dom",
        "--virtual-time-budget=2000",
    ]);
    command.arg(format!("--user-data-dir={}", folder.path().join("profile").display())).arg(format!("--window-size={width},900"));
    let done = command.args(more).arg(format!("file://{}", file.display())).output().unwrap();
    let dom = String::from_utf8_lossy(&done.stdout).into_owned();
    let between = |from: &str, to: &str| dom.split_once(from).and_then(|(_, rest)| rest.split_once(to)).map(|(found, _)| found.to_owned());
    let seen = between("data-seen=\"", "\"")
        .unwrap_or_else(|| panic!("{}\n{}", String::from_utf8_lossy(&done.stderr), dom.chars().take(2000).collect::<String>()));
    (seen, between("<title>", "</title>").unwrap_or_default())
}

#[test]
fn a_browser_shows_it_all_on_a_desk_and_on_a_phone() {
    let Some(browser) = browser() else {
        eprintln!("SKIPPED: no chromium on this machine (apt-get install chromium): the page was not shown in a browser");
        return;
    };
    // 500 is the narrowest window that the browser makes; a frame of 360 within shows a phone.
    for (width, more, ground) in
        [(1400, &[][..], "rgb(252, 252, 251)"), (500, &["--blink-settings=preferredColorScheme=0"][..], "rgb(26, 26, 25)")]
    {
        let (seen, title) = seen(&browser, &page(&[samples::report()]), width, more);
        let parts: Vec<&str> = seen.split('|').collect();
        assert_eq!(parts[0], "19", "charts: {seen}");
        assert_eq!(parts[1], parts[0], "all of them are to be seen: {seen}");
        assert!(parts[2].parse::<i32>().unwrap() <= 0, "{width} wide: nothing is moved sideways but tables: {seen}");
        assert_eq!((parts[3], parts[4], parts[5]), ("true", "0", ground), "letters are large enough, nothing leaves its chart: {seen}");
        assert_eq!(title, "tpcc: A, B");
    }
}

#[test]
fn a_browser_runs_nothing_of_a_name() {
    let Some(browser) = browser() else {
        eprintln!("SKIPPED: no chromium on this machine (apt-get install chromium): names with scripts were checked by a parser only");
        return;
    };
    let (seen, title) = seen(&browser, &page(&[hostile()]), 1000, &[]);
    assert!(!title.starts_with("taken over") && title.contains("&lt;script&gt;"), "{title}");
    assert!(seen.contains("|"), "{seen}");
}
