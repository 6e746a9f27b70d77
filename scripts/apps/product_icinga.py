"""Icinga 2 with its IDO database: the daemon writes its configuration, the states, comments, downtimes and notifications of its objects, while commands come by its pipe; then once more after a change."""
import json, time
import _pages, harness

TITLE = "Icinga 2.13.6 (Debian; IDO, libmariadb)"
CLOCK = _pages.MOMENT + r"|\b\d\.\d{4,}\b|\b\d+\.\d{1,3}(?=\t)|\b1[78]\d{8}\b|[0-9a-f-]{36}|\b[0-9a-f]{40}\b"
# What is measured while it runs; ids of objects go by the order in which threads come to them.
UNSEEN = {f"icinga_{name}" for name in ("programstatus", "conninfo", "processevents", "servicestatus", "hoststatus", "statehistory", "notifications", "contactnotifications", "contactnotificationmethods", "runtimevariables", "endpointstatus", "endpoints", "zonestatus", "zones", "logentries", "flappinghistory", "commenthistory", "comments", "downtimehistory", "scheduleddowntime", "objects", "acknowledgements", "eventhandlers", "externalcommands", "configfilevariables", "instances", "contactstatus",
                                      "hosts", "services", "commands", "contacts", "contactgroups", "contactgroup_members", "hostgroups", "hostgroup_members", "servicegroups", "servicegroup_members", "timeperiods", "timeperiod_timeranges", "customvariables", "customvariablestatus", "host_contacts", "host_contactgroups", "service_contacts", "service_contactgroups", "host_parenthosts", "hostdependencies", "servicedependencies")}
CONFIG = """
const NodeName = "node"
const ZoneName = "node"
include <itl>
library "db_ido_mysql"
object Endpoint NodeName {{ }}
object Zone ZoneName {{ endpoints = [ NodeName ] }}
object IdoMysqlConnection "ido" {{ host = "{target.host}"; port = {target.port}; user = "{target.user}"; password = "{target.password}"; database = "{database}"; cleanup = {{ statehistory_age = 31d; notifications_age = 1d; commenthistory_age = 1d }} }}
object CheckerComponent "checker" {{ }}
object NotificationComponent "notification" {{ }}
object ExternalCommandListener "command" {{ command_path = "{work}/pipe" }}
object FileLogger "log" {{ path = "{work}/icinga.log"; severity = "information" }}
object UserGroup "admins" {{ display_name = "Größe 😀" }}
object User "me" {{ groups = [ "admins" ]; email = "me@example.org"; enable_notifications = true }}
object NotificationCommand "say" {{ command = [ "/bin/true" ] }}
object TimePeriod "always" {{ ranges = {{ monday = "00:00-24:00"; tuesday = "00:00-24:00" }} }}
object HostGroup "all" {{ display_name = "All “hosts”" }}
object ServiceGroup "some" {{ assign where service.name == "s1" }}
for (n in range({count})) {{
  object Host "h" + n use (n) {{ check_command = "dummy"; check_interval = 2; retry_interval = 1; groups = [ "all" ]; address = "192.0.2." + n; vars.os = "Linux"; vars.list = [ "a", "b" ]; vars.dummy_state = n % 5 == 4 ? 2 : 0; vars.dummy_text = "host ü 😀 " + n; notes = "it's \\\\ a note" }}
}}
for (s in range(4)) {{
  apply Service "s" + s use (s) {{ check_command = "dummy"; check_interval = 2; retry_interval = 1; max_check_attempts = 2; vars.dummy_state = s; vars.dummy_text = "state | load=" + s + ";1;2"; assign where host.name != "" }}
}}
apply Notification "mail" to Service {{ command = "say"; users = [ "me" ]; interval = 5; assign where service.name == "s2" }}
apply Dependency "up" to Host {{ parent_host_name = "h0"; assign where host.name != "h0" }}
"""


def install(tools):
    harness.unpacked(tools / "icinga", "icinga2-bin", "icinga2-common", "icinga2-ido-mysql", depends=r"lib(?!c6|.*-icu)[\w.+-]+")


def steps(target, database, tools, work):
    (work / "few.conf").write_text(CONFIG.format(target=target, database=database, work=work, count=12))
    (work / "fewer.conf").write_text(CONFIG.format(target=target, database=database, work=work, count=7))
    client = f"mysql --ssl=0 -h$APP_HOST -P$APP_PORT -u$APP_USER {database}"
    return {"before": [("schema", ["sh", "-c", f"{client} < {tools}/icinga/usr/share/icinga2-ido-mysql/schema/mysql.sql"], False), ("folders", ["mkdir", "-p", f"{work}/data", f"{work}/run", f"{work}/cache"], False)], "serve": None}


def visit(port, target, database, run):
    tree = f"{harness.TOOLS}/icinga"
    start = f"LD_LIBRARY_PATH={tree}/usr/lib/x86_64-linux-gnu/icinga2 {tree}/usr/lib/x86_64-linux-gnu/icinga2/sbin/icinga2 daemon -DDataDir=$PWD/data -DLogDir=$PWD -DCacheDir=$PWD/cache -DSpoolDir=$PWD/run -DInitRunDir=$PWD/run -DConfigDir=$PWD -DRunAsUser=root -DRunAsGroup=root -DIncludeConfDir={tree}/usr/share/icinga2/include -D PkgDataDir={tree}/usr/share/icinga2"
    commands = ["ACKNOWLEDGE_SVC_PROBLEM;h1;s2;2;1;1;me;seen ü 😀", "ADD_HOST_COMMENT;h2;1;me;it's a \\ comment", "SCHEDULE_HOST_DOWNTIME;h3;1700000000;1999999999;1;0;3600;me;down", "SCHEDULE_SVC_DOWNTIME;h3;s1;1700000000;1999999999;1;0;3600;me;down", "PROCESS_SERVICE_CHECK_RESULT;h5;s0;2;passive | x=1", "DISABLE_HOST_CHECK;h6", "ADD_SVC_COMMENT;h1;s1;0;me;gone soon", "SEND_CUSTOM_SVC_NOTIFICATION;h1;s2;4;me;hello"]
    piped = "".join(f"echo '[{int(time.time())}] {line}' > pipe; sleep 0.3; ".replace("it's", "it'\\''s") for line in commands)
    wrong = ["critical/IdoMysqlConnection", "Error"]
    yield run(f"{start} -c few.conf > first.out 2>&1 & p=$!; sleep 12; {piped} sleep 12; kill -TERM $p; wait $p; cat first.out icinga.log >&2; true", None, ["critical/", "Error \"", "Exception"], "with 12 hosts")
    yield counted(target, database)
    yield run(f"{start} -c fewer.conf > second.out 2>&1 & p=$!; sleep 12; kill -TERM $p; wait $p; cat second.out >&2; true", None, ["critical/", "Error \"", "Exception"], "with 7 hosts")
    yield counted(target, database)


def counted(target, database):
    told = {}
    for name, asked in {"objects": "SELECT objecttype_id, is_active, COUNT(*) FROM icinga_objects GROUP BY 1, 2 ORDER BY 1, 2", "hosts": "SELECT o.name1, h.alias, h.address, h.notes, h.check_interval FROM icinga_hosts h JOIN icinga_objects o ON o.object_id = h.host_object_id ORDER BY 1",
                        "hoststatus": "SELECT o.name1, s.current_state, s.output, s.has_been_checked, s.active_checks_enabled, s.problem_has_been_acknowledged, s.scheduled_downtime_depth FROM icinga_hoststatus s JOIN icinga_objects o ON o.object_id = s.host_object_id ORDER BY 1",
                        "servicestatus": "SELECT o.name1, o.name2, s.current_state, s.output, s.perfdata, s.problem_has_been_acknowledged, s.acknowledgement_type FROM icinga_servicestatus s JOIN icinga_objects o ON o.object_id = s.service_object_id ORDER BY 1, 2", "comments": "SELECT author_name, comment_data, entry_type FROM icinga_comments ORDER BY 2, 3", "history": "SELECT comment_data, deletion_time IS NULL FROM icinga_commenthistory ORDER BY 1, 2",
                        "downtimes": "SELECT author_name, comment_data, is_fixed, downtime_type FROM icinga_scheduleddowntime ORDER BY 4", "variables": "SELECT varname, varvalue, COUNT(*) FROM icinga_customvariables GROUP BY 1, 2 ORDER BY 1, 2", "members": "SELECT g.alias, COUNT(*) FROM icinga_hostgroups g JOIN icinga_hostgroup_members m USING (hostgroup_id) GROUP BY 1", "contacts": "SELECT alias, email_address FROM icinga_contacts ORDER BY 1",
                        "states": "SELECT o.name1, o.name2, h.state, COUNT(*) > 0 FROM icinga_statehistory h JOIN icinga_objects o USING (object_id) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3", "notified": "SELECT COUNT(*) > 0 FROM icinga_notifications", "program": "SELECT COUNT(*), MAX(is_currently_running) FROM icinga_programstatus"}.items():
        told[name] = target.sql(asked, database)
    return "SQL", "what is in the tables", 200, "\n".join(f"{name}:\n{text}" for name, text in told.items())
