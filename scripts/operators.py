#!/usr/bin/env python3
"""operators.py: operators' programs and drivers of Debian, unmodified, on a fresh Altiplano and on the MySQL beside it; what they say must be the same.

  scripts/operators.py                          all of TOOLS
  scripts/operators.py pt-archiver odbc         only these
  --server PATH (target/fast/altiplano)    --peer HOST:PORT (127.0.0.1:13097)    --work DIR (/tmp/altiplano-operators): what each said, NAME.altiplano and NAME.mysql

Each tool is a line of shell over the tables of `operators/tables.sql`, made anew for it in the database $D. It finds $P (port), $O (options for mysql's programs), $DSN (percona-toolkit's), $M (the client
on $D), $HERE (`operators/`) and $SLOW (where the server can write its slow log, which is found below $SLOW_SEEN). What it says is compared without what MASKS and its own patterns match; one that ends
otherwise than on MySQL, or says something else, fails. Tools that tell a server's own figures are compared without numbers. Exits with 1 when one differs.
"""
import argparse, difflib, os, re, subprocess, sys
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True  # no __pycache__ in the tree
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "suites"))
import harness

D = "operators"
MASKS = [(r"\d+\.\d+\.\d+-(?:altiplano-[\d.]+(?: Altiplano)?|\d+(?: \(Debian\))?)", "VERSION"), (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?", "MOMENT"), (r"\b\d\d:\d\d:\d\d\b", "HOUR")]
NUMBERS = [(r"\d+(?:\.\d+)?[kMG]?", "N"), (r"[ #]+", " "), (r"-{2,}|={2,}", "--")]
MAKE_BIG2 = """$M -e "CREATE TABLE big2 LIKE big; INSERT INTO big2 SELECT * FROM big WHERE id > 1000; UPDATE big2 SET v = NULL WHERE id % 1111 = 0; INSERT INTO big2 (grp, v, at) VALUES (99, 'é', '2024-01-01')" """
LOAD = """mysqlslap $O --create-schema=$D --silent -c 3 -i 5 --delimiter=';' --query="select count(*) from big where grp = 3; select * from author where id = 2; update big set v = 'x' where id = 77; insert into nokey values (1, 'a'); select b.title from book b join author a on a.id = b.author_id where a.name like 'U%'" """


@dataclass
class Tool:
    name: str
    packages: str
    line: str
    hidden: tuple = ()


PT = "percona-toolkit"
TOOLS = [
    Tool("pt-duplicate-key-checker", PT, "pt-duplicate-key-checker $DSN --databases $D"),
    Tool("pt-find", PT, """pt-find $O --print $D; pt-find $O $D --empty; pt-find $O $D --engine InnoDB --column-name author_id; pt-find $O --dblike "operat%" --printf "%D %N %e %r\\n" """),
    Tool("pt-archiver", PT, """pt-archiver --source $DSN,D=$D,t=big --dest t=archive --where "id <= 1000" --limit 100 --txn-size 100 --no-check-charset; pt-archiver --source $DSN,D=$D,t=big --purge --where "grp = 3" --limit 100 --commit-each --primary-key-only
         rm -f out.*; pt-archiver --source $DSN,D=$D,t=big --file $PWD/out.%t --where "id BETWEEN 6000 AND 7000" --limit 100 --bulk-delete --commit-each; md5sum < out.big; pt-archiver --source $DSN,D=$D,t=archive --dest t=big --where "1=1" --limit 100 --bulk-insert --bulk-delete --commit-each; $M -e "SELECT COUNT(*), SUM(id), SUM(CRC32(v)) FROM big" """),
    Tool("pt-table-sync", PT, MAKE_BIG2 + """; for a in Chunk Nibble GroupBy Stream; do pt-table-sync --algorithms $a --print --chunk-size 500 $DSN,D=$D,t=big $DSN,D=$D,t=big2 | sed 's!/[*]percona.*!!' | sort | md5sum; done; pt-table-sync --verbose --execute $DSN,D=$D,t=big $DSN,D=$D,t=big2; $M -e "CHECKSUM TABLE big, big2" """),
    Tool("pt-show-grants", PT, """$M -e "DROP USER IF EXISTS op1, op2; CREATE USER op1 IDENTIFIED WITH caching_sha2_password AS 0x24412430303524; GRANT SELECT, INSERT (name) ON author TO op1; GRANT ALL ON operators.* TO op1 WITH GRANT OPTION; CREATE USER op2 ACCOUNT LOCK" 2>/dev/null || $M -e "CREATE USER IF NOT EXISTS op1 ACCOUNT LOCK; GRANT SELECT, INSERT (name) ON author TO op1; GRANT ALL ON operators.* TO op1 WITH GRANT OPTION"; pt-show-grants $DSN --only op1,op2 --drop --flush; pt-show-grants $DSN --only op1 --revoke --separate; $M -e "DROP USER op1" """, ((r"AS '.*?'", "AS X"),)),
    Tool("pt-query-digest", PT, """$M -e "SET GLOBAL slow_query_log_file = '$SLOW'; SET GLOBAL slow_query_log = ON; SET GLOBAL long_query_time = 0"; """ + LOAD + """; $M -e "SET GLOBAL slow_query_log = OFF; SET GLOBAL long_query_time = DEFAULT"
         pt-query-digest --limit 100% $(find $SLOW_SEEN -name operators_slow.log) 2>&1 | sed -n 's/^# *[0-9]* \\(0x[0-9A-F]*\\) .*%  *\\([0-9]*\\) .* [0-9.]* \\([A-Z]\\)/\\1 \\2 \\3/p' | grep -v ADMIN | sort; pt-index-usage $O $(find $SLOW_SEEN -name operators_slow.log) --databases $D 2>&1 | sort
         pt-query-digest --limit 100% --review $DSN,D=$D,t=review --history $DSN,D=$D,t=history --no-report $(find $SLOW_SEEN -name operators_slow.log); $M -e "SELECT LEFT(fingerprint, 60) FROM review ORDER BY 1" """),
    Tool("pt-deadlock-logger", PT, "/usr/bin/python3 $HERE/deadlock.py $P $D; pt-deadlock-logger $DSN --create-dest-table --dest D=$D,t=deadlocks --iterations 1 --interval 1 | wc -l; $M -e 'SELECT user, hostname, ip, db, tbl, idx, lock_type, lock_mode, wait_hold, txn_time > 0, victim, query FROM deadlocks ORDER BY query'"),
    Tool("pt-kill", PT, """($M -e "SELECT SLEEP(8) /* victim */" &) ; sleep 3; pt-kill $DSN --print --kill-query --busy-time 1 --run-time 3 --interval 1 --ignore-user x --match-command Query --match-info "victim" --victims all; sleep 1; $M -e "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'" """, ((r"KILL_QUERY \d+ .*", "KILLED"), (r"(?:KILLED\n|# MOMENT KILLED\n)+", "KILLED\n"))),
    Tool("pt-variable-advisor", PT, "pt-variable-advisor $DSN > /dev/null; echo $?"),
    Tool("pt-mysql-summary", PT, "pt-mysql-summary -- $O | grep -E '^# [A-Z]' ", tuple(NUMBERS)),
    Tool("mysqlslap", "mariadb-client", LOAD + """; for a in "--auto-generate-sql-add-autoincrement --auto-generate-sql-secondary-indexes=2 --number-int-cols=3 --number-char-cols=3 --auto-generate-sql-load-type=mixed" "--auto-generate-sql-guid-primary --auto-generate-sql-load-type=update --commit=10" "--auto-generate-sql-unique-query-number=5 --auto-generate-sql-unique-write-number=5"
         do mysqlslap $O --csv --auto-generate-sql $a --create-schema=slapped -c 3 --number-of-queries=150 2>&1 | cut -d, -f1,5-; done""", tuple(NUMBERS)),
    Tool("mysqlcheck", "mariadb-client", "mysqlcheck $O --databases $D; mysqlcheck $O -a -e $D; mysqlcheck $O -o $D book nokey; mysqlcheck $O -r $D; mysqlcheck $O -F -m -q $D; mysqlcheck $O --fix-db-names --fix-table-names $D; mysqlcheck --process-views=YES $O $D"),
    Tool("mysqlimport", "mariadb-client", r"""printf '100\tx\\ty\t2020-01-01\n101\t\\N\t2020-01-02\n100\tdup\t2020-01-03\n' > imp.txt;  printf '"102","a,b","2020-01-01"\n' > imp.csv; $M -e "CREATE TABLE imp (id INT PRIMARY KEY, v VARCHAR(20), d DATE)"
         mysqlimport $O --local $D imp.txt; mysqlimport $O --local -v --replace $D imp.txt; mysqlimport $O --local --ignore --fields-terminated-by=, --fields-enclosed-by=\" $D imp.csv; mysqlimport $O -d --local --columns=id,v,d $D imp.txt; mysqlimport $O --lock-tables --local -v $D imp.csv; mysqlimport $O --use-threads=3 --local $D imp.txt; $M -e "SELECT * FROM imp" """),
    Tool("mysqlshow", "mariadb-client", "mysqlshow $O $D; mysqlshow $O --count $D; mysqlshow $O -k $D book; mysqlshow $O $D author 'n%'; mysqlshow $O -t $D"),
    Tool("mysqladmin", "mariadb-client", "mysqladmin $O ping; mysqladmin $O create adm1; mysqladmin $O create adm1; mysqladmin $O -f drop adm1; mysqladmin $O -f drop adm1; mysqladmin $O status; for a in flush-tables flush-logs flush-status flush-privileges flush-threads reload refresh 'kill 999999'; do mysqladmin $O $a; echo $?; done; mysqladmin $O -i1 -c2 ping; mysqladmin $O variables | grep -c sql_mode", tuple(NUMBERS)),
    Tool("mytop", "mariadb-client libterm-readkey-perl", "sleep 2; TERM=xterm timeout 20 mytop -b -h 127.0.0.1:$P -u root -p '' -d $D 2>&1 | head -8", (*NUMBERS, (r"/ N", "/N"))),
    Tool("innotop", "mariadb-client libterm-readkey-perl", "for m in A B D F I K M O U; do echo == $m; timeout 20 innotop --nocolor --nonint --count 1 --delay 1 -m $m -h 127.0.0.1 -P $P -u root 2>&1 | head -1; done", tuple(NUMBERS)),
    Tool("mysqltuner", "mysqltuner", "mysqltuner --host 127.0.0.1 --port $P --user root --pass '' --forcemem 4000 --forceswap 100 --nocolor 2>&1 | grep -E '^-{8}|^(General|Variables)'", tuple(NUMBERS)),
    Tool("check_mysql", "monitoring-plugins-standard", "c=/usr/lib/nagios/plugins; $c/check_mysql -H 127.0.0.1 -P $P -u root -d $D | sed 's/|.*//'; $c/check_mysql_query -H 127.0.0.1 -P $P -u root -d $D -q 'select count(*) from big' -w 2 -c 5; $c/check_mysql -H 127.0.0.1 -P $P -u nobody; $c/check_mysql_query -H 127.0.0.1 -P $P -u root -q 'select x'; echo $?", tuple(NUMBERS)),
    Tool("munin", "munin-plugins-core libdbd-mysql-perl libcache-cache-perl", """export MUNIN_LIBDIR=/usr/share/munin mysqlopts="-h127.0.0.1 -P$P -uroot" mysqladmin=/usr/bin/mysqladmin; for p in bytes queries slowqueries threads; do /usr/share/munin/plugins/mysql_$p; done""", tuple(NUMBERS)),
    Tool("haproxy", "haproxy", """printf 'defaults\n mode tcp\n timeout connect 2s\n timeout client 9s\n timeout server 9s\nlisten my\n bind unix@'$PWD'/ha.sock\n option mysql-check\n server s1 127.0.0.1:'$P' check inter 300ms\n' > ha.cfg; haproxy -f ha.cfg 2>/dev/null & sleep 2; mysql --ssl=0 -uroot -S $PWD/ha.sock -NBe "SELECT COUNT(*) FROM $D.big"; kill $!"""),
    Tool("postmap", "postfix postfix-mysql", r"""for q in "SELECT CONCAT(name, '/', kind, '/') FROM author WHERE mail='%s'" "SELECT name FROM author WHERE born IS NOT NULL AND '%d' = 'x' ORDER BY id" "SELECT nothing FROM author WHERE mail = '%s'"; do printf "user = root\npassword =\nhosts = inet:127.0.0.1:$P\ndbname = $D\nquery = %s\n" "$q" > map.cf; for k in u@x "o'brien@x" nobody; do postmap -q "$k" mysql:$PWD/map.cf; done; done""", ((r"mysql:\S+", "MAP"), (r"query error: .*", "query error"))),
    Tool("odbc", "odbc-mariadb unixodbc odbcinst python3-pyodbc", "/usr/bin/python3 $HERE/odbc.py $P", ((r"SQL_DBMS_VER '.*'", ""), (r"(?m)('A'), (?:\d+|None), None, None\)$", r"\1)"))),
    Tool("DBD::mysql", "libdbd-mysql-perl", "perl $HERE/dbi.pl $P mysql"),
    Tool("DBD::MariaDB", "libdbd-mariadb-perl", "perl $HERE/dbi.pl $P MariaDB"),
    Tool("RMySQL", "r-cran-rmysql", "Rscript $HERE/rmysql.R $P"),
    Tool("mysqltcl", "mysqltcl", "tclsh $HERE/mysqltcl.tcl $P"),
    Tool("luasql, luadbi", "lua5.1 lua-sql-mysql lua-dbi-mysql", "lua5.1 $HERE/luasql_luadbi.lua $P"),
]


def said(tool, target, work):
    """What the tool says, and how it ends."""
    target.fresh(D)
    target.sql((HERE / "operators/tables.sql").read_text(), D)
    options = f"-h127.0.0.1 -P{target.port} -u{target.user}"
    folder = work / target.name.lower()
    folder.mkdir(parents=True, exist_ok=True)
    # MySQL of shared/peers runs in a root of its own: where it writes is found by name.
    slow = folder / "operators_slow.log" if target.name == "Altiplano" else Path(target.sql("SELECT @@datadir")) / "operators_slow.log"
    for old in (slow, *Path("/var/tmp/peers").glob("*/**/operators_slow.log")):
        old.unlink(missing_ok=True)
    env = {**os.environ, "HOME": str(folder), "D": D, "APP_DATABASE": D, "P": str(target.port), "O": options, "DSN": f"h=127.0.0.1,P={target.port},u={target.user}", "M": f"mysql --ssl=0 --default-character-set=utf8mb4 {options} {D}", "HERE": str(HERE / "operators"), "SLOW": str(slow),
           "SLOW_SEEN": str(slow.parent if target.name == "Altiplano" else "/var/tmp/peers")}
    done = subprocess.run(["timeout", "200", "bash", "-c", tool.line], env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    text = f"{done.stdout}ended with {done.returncode}\n".replace(str(folder), "WORK").replace(str(target.port), "PORT")
    for pattern, instead in [*MASKS, *tool.hidden]:
        text = re.sub(pattern, instead, text)
    (work / f"{tool.name.replace('/', '_')}.{target.name.lower()}").write_text(text)
    return text.splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tools", nargs="*")
    parser.add_argument("--server")
    parser.add_argument("--peer", default="127.0.0.1:13097")
    parser.add_argument("--work", type=Path, default=Path("/tmp/altiplano-operators"))
    options = parser.parse_args()
    mysql = harness.peer(options.peer) or sys.exit(f"no MySQL at {options.peer}")
    chosen = [tool for tool in TOOLS if not options.tools or tool.name in options.tools] or sys.exit("no such tool")
    harness.apt(*sorted({package for tool in chosen for package in tool.packages.split()}))
    options.work.mkdir(parents=True, exist_ok=True)
    notes = []
    print("| Tool | lines | beside MySQL |\n|---|---|---|")
    for tool in chosen:
        with harness.server(options.server) as ours:
            here, there = said(tool, ours, options.work), said(tool, mysql, options.work)
        differing = list(difflib.unified_diff(there, here, "MySQL", "Altiplano", lineterm="", n=0))
        print(f"| {tool.name} | {len(here)} | {'DIFFER' if differing else 'equal'} |", flush=True)
        notes += [f"{tool.name}:", *differing[:30]] if differing else []
    mysql.sql(f"DROP DATABASE IF EXISTS {D}; DROP DATABASE IF EXISTS slapped")
    print("\n".join(["", *notes]))
    return bool(notes)


if __name__ == "__main__":
    sys.exit(main())
