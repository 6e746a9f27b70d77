# Selects, columns, cursors, errors, transactions: the port by the command line.
package require mysqltcl
set port [lindex $argv 0]
set h [mysqlconnect -host 127.0.0.1 -port $port -user root -db $env(APP_DATABASE) -encoding utf-8]
puts [lsort [mysqlinfo $h tables]]
foreach t {author book} { puts [mysqlcol $h $t {name type length numeric prim_key non_null decimals table}] }
puts [mysqlsel $h {select * from author order by id} -list]
puts [mysqlsel $h {select * from book order by id} -flatlist]
puts [mysqlcol $h -current {name type length non_null}]
mysqlsel $h {select id,v from big order by id limit 10}; puts [mysqlresult $h rows]; mysqlseek $h 5; puts [mysqlnext $h]; mysqlmap $h {a b} {puts -nonewline "$a=$b "}; puts ""
puts [mysqlexec $h "insert into nokey values (9,'tcl')"]; puts [mysqlexec $h "update nokey set b='x' where a=9"]; puts [mysqlexec $h "delete from nokey where a=9"]
puts [catch {mysqlsel $h {select * from nosuch}} e]; puts $e; puts $mysqlstatus(code)
mysql::autocommit $h false; mysqlexec $h "delete from nokey"; mysql::rollback $h; mysql::autocommit $h true; puts [mysqlsel $h {select count(*)>0 from nokey} -flatlist]
puts [mysqlescape "a'b\\c"]; puts [mysqlstate $h]; puts [mysql::isnull [lindex [mysqlsel $h {select null} -flatlist] 0]]
mysql::setserveroption $h -multi_statment_on; puts [mysql::moreresult $h]; mysql::exec $h "create temporary table tq (a int); insert into tq values (1); insert into tq values (2)"
set q [mysqlquery $h {select id from author order by id}]; while {[llength [set r [mysqlnext $q]]]} {puts -nonewline "$r "}; puts ""; mysqlendquery $q
puts [mysql::info $h host]; puts [mysql::changeuser $h root ""]; mysqlclose $h
