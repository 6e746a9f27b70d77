"""Bacula: director, storage and file daemons at work: full, incremental and differential backups of a folder, listings, a restore, verification, pruning and deletion by its console, dbcheck."""
import _pages, harness

TITLE = "Bacula 9.6.7 (Debian; libmariadb)"
CLOCK = _pages.MOMENT + r"|\b1[78]\d{8}\b|\b\d{4}-\d\d-\d\d_\d\d\.\d\d\.\d\d_\d\d\b"
# Attributes and checksums of files, what devices count.
UNSEEN = {"File", "Media", "JobMedia", "Job", "JobHisto", "FileSet", "Client", "Log", "Storage", "Path", "MediaType", "Device"}
DIRECTOR = """
Director {{ Name = dir; DIRport = {base}; DirAddress = 127.0.0.1; QueryFile = "{tree}/etc/bacula/scripts/query.sql"; WorkingDirectory = "{work}/dir"; PidDirectory = "{work}"; PluginDirectory = "{tree}/usr/lib/bacula"; Password = "x"; Messages = m; Maximum Concurrent Jobs = 5 }}
Catalog {{ Name = c; dbname = "{database}"; dbuser = "{target.user}"; dbpassword = "{target.password}"; DB Address = "{target.host}"; DB Port = {target.port} }}
Client {{ Name = fd; Address = 127.0.0.1; FDPort = {fd}; Catalog = c; Password = "x"; File Retention = 60 days; Job Retention = 6 months; AutoPrune = yes }}
Storage {{ Name = sd; Address = 127.0.0.1; SDPort = {sd}; Password = "x"; Device = d; Media Type = File }}
Pool {{ Name = p; Pool Type = Backup; Recycle = yes; AutoPrune = yes; Volume Retention = 365 days; Label Format = "Vol-"; Maximum Volume Bytes = 10M; Maximum Volumes = 20 }}
FileSet {{ Name = "all"; Include {{ Options {{ signature = SHA1; accurate = pmcs }} File = {work}/data }} }}
Messages {{ Name = m; append = "{work}/log" = all; catalog = all; console = all, !skipped
}}
JobDefs {{ Name = defs; Type = Backup; Client = fd; FileSet = "all"; Storage = sd; Pool = p; Messages = m; Write Bootstrap = "{work}/%c.bsr"; Spool Attributes = yes }}
Job {{ Name = save; JobDefs = defs; Level = Full; Accurate = yes }}
Job {{ Name = restore; Type = Restore; Client = fd; FileSet = "all"; Storage = sd; Pool = p; Messages = m; Where = {work}/restored }}
Job {{ Name = verify; JobDefs = defs; Type = Verify; Level = VolumeToCatalog; Verify Job = save }}
Console {{ Name = c; Password = "x"; CommandACL = *all*
}}
"""
SD = """
Storage {{ Name = sd; SDPort = {sd}; SDAddress = 127.0.0.1; WorkingDirectory = "{work}/sd"; Pid Directory = "{work}"; Plugin Directory = "{tree}/usr/lib/bacula" }}
Director {{ Name = dir; Password = "x" }}
Device {{ Name = d; Media Type = File; Archive Device = {work}/volumes; LabelMedia = yes; Random Access = yes; AutomaticMount = yes; RemovableMedia = no; AlwaysOpen = no }}
Messages {{ Name = m; director = dir = all
}}
"""
FD = """
Director {{ Name = dir; Password = "x" }}
FileDaemon {{ Name = fd; FDport = {fd}; FDAddress = 127.0.0.1; WorkingDirectory = "{work}/fd"; Pid Directory = "{work}"; Plugin Directory = "{tree}/usr/lib/bacula" }}
Messages {{ Name = m; director = dir = all, !skipped, !restored
}}
"""
CONSOLE = """Director {{ Name = dir; DIRport = {base}; address = 127.0.0.1; Password = "x" }}\n"""


def install(tools):
    place = harness.unpacked(tools / "bacula", "bacula-director", "bacula-common", "bacula-common-mysql", "bacula-director-mysql", "bacula-console", "bacula-sd", "bacula-fd", depends=r"lib(?!c6|bac)[\w.+-]+")
    if not (place / "usr/lib/bacula/libbaccats.so").exists():
        (place / "usr/lib/bacula/libbaccats.so").symlink_to("libbaccats-mysql.so")


def steps(target, database, tools, work):
    tree, base = tools / "bacula", 21000 + target.port % 9000
    values = {"tree": tree, "work": work, "database": database, "target": target, "base": base, "fd": base + 1, "sd": base + 2}
    for name, text in {"dir": DIRECTOR, "sd": SD, "fd": FD, "console": CONSOLE}.items():
        (work / f"{name}.conf").write_text(text.format(**values))
    for folder in ("dir", "sd", "fd", "volumes", "restored"):
        (work / folder).mkdir(exist_ok=True)
    make = f"mkdir -p data/ü😀 data/sub && for n in $(seq 300); do echo text $n > \"data/sub/file $n it's\"; done && head -c 3000000 /dev/zero > data/zero && echo x > 'data/ü😀/back\\slash' && ln -sf zero data/link"
    # The schema speaks to its own database by name.
    schema = f"sed 's/XXX_DBNAME_XXX/{database}/' {tree}/usr/share/dbconfig-common/data/bacula-director-mysql/install/mysql | mysql --ssl=0 -h$APP_HOST -P$APP_PORT -u$APP_USER {database}"
    daemon = lambda kind: f"LD_LIBRARY_PATH={tree}/usr/lib/bacula {tree}/usr/sbin/bacula-{kind} -f -c {work}/{kind}.conf"
    (work / "start").write_text(f"{daemon('sd')} & {daemon('fd')} & exec env {daemon('dir')}\n")
    return {"before": [("folder", ["sh", "-c", make], False), ("schema", ["sh", "-c", schema], True)], "serve": ["sh", "-c", f"sh {work}/start & exec python3 -m http.server --bind 127.0.0.1 $APP_HTTP_PORT"]}


def visit(port, target, database, run):
    tree = harness.TOOLS / "bacula"
    hidden = [(r"(?i)(?:[A-Z][a-z]{2} )?\d{1,2}-[A-Z][a-z]{2}(?:-\d{4})?,? \d\d:\d\d(?::\d\d)?", "DAY"), *_pages.CLOCKS, (CLOCK, "X"), (r"(?m)^.*(?:Elapsed|Rate|Bytes|bytes|Session|Speed|Compression|Build|Version|Start time|End time|Scheduled|Director-Side|Connecting|1000 OK|Daemon|Heap|PID|Jobs:).*$", ""), (r"\b[\d,]{4,}\b", "N"), (r"w/\w+/\w+|/\S*/(?:mysql|altiplano|\d+)/", "WORK/"), (r"[ \t]+", " "), (r"-{2,}", "--"), (r"\+(?:-+\+)+", "+"), (r"JobId \d+: ", ""), (r"\n+", "\n")]

    def console(lines, shown=True):
        text = "\\n".join(lines.split("|")) if "|" in lines else lines
        return run(f"printf '%b\\n' '{text}' | LD_LIBRARY_PATH={tree}/usr/lib/bacula timeout 200 {tree}/usr/sbin/bconsole -n -c $PWD/console.conf", hidden if shown else None, ["sql_mysql", "Query failed", "ERR=", "Fatal error", "insertion into", "update UPDATE"], lines)

    yield run("for n in $(seq 20); do timeout 3 sh -c 'echo version | LD_LIBRARY_PATH=" + f"{tree}/usr/lib/bacula {tree}/usr/sbin/bconsole -n -c $PWD/console.conf' | grep -q 1000 && exit 0; sleep 1; done; cat log; exit 1", None, (), "wait for the director")
    yield console("run job=save level=Full yes|wait|messages", False)
    yield run("echo changed > 'data/sub/file 7 it'\\''s'; rm 'data/sub/file 8 it'\\''s'; echo new > data/new", None, (), "change files")
    yield console("run job=save level=Incremental yes|wait|messages", False)
    yield run("echo again >> data/new", None, (), "change a file")
    yield console("run job=save level=Differential yes|wait|messages", False)
    yield console("run job=verify yes|wait|messages", False)
    for line in ("list jobs", "list jobtotals", "llist job jobid=2", "list files jobid=2", "list jobmedia jobid=1", "list volumes", "list pools", "list clients", "list filesets", "list joblog jobid=2", "list copies", "list jobs jobname=save limit=2 order=desc", "list restoreobjects jobid=1", "list nextvol job=save", "list basefiles jobid=1", "list snapshots", "show filesets", "estimate job=save level=Incremental listing accurate=yes", "sqlquery|SELECT JobId, Type, Level, JobStatus, JobFiles FROM Job ORDER BY JobId;|"):
        yield console(line, not any(word in line for word in ("llist", "files", "volumes", "jobmedia", "joblog", "listing", "filesets", "clients")))
    yield console("restore client=fd select current all done yes|wait|messages", False)
    yield run("find restored -type f | wc -l; find restored -name 'new' -exec cat {} +", [], (), "what is restored")
    for line in ("update volume=Vol-0001 volstatus=Used", "update stats days=0", "purge files jobid=1", "prune jobs client=fd yes", "prune stats yes", "delete jobid=2 yes", "delete volume=Vol-0001 yes", "list jobs", "status director"):
        yield console(line, line == "list jobs")
    yield run(f"LD_LIBRARY_PATH={tree}/usr/lib/bacula {tree}/usr/sbin/dbcheck -b -f -v -c $PWD/dir.conf", [(r"(?m)^(?:Hello|Database:).*$", "")], ["failed", "ERR"], "dbcheck")
    yield "SQL", "what is in the tables", 200, "\n".join(target.sql(asked, database) for asked in ("SELECT Type, Level, JobStatus, JobFiles FROM Job ORDER BY JobId", "SELECT COUNT(*), COUNT(DISTINCT FilenameId), SUM(FileIndex) FROM File", "SELECT n.Name, COUNT(*) FROM File f JOIN Filename n ON n.FilenameId = f.FilenameId WHERE n.Name LIKE '%7%' OR n.Name LIKE '%\\\\\\\\%' GROUP BY 1 ORDER BY 1"))
