# What DBI shows of a schema, types both ways, errors, transactions, several statements: port and driver (mysql, MariaDB) by the command line.
use strict; use DBI; use utf8; binmode STDOUT,":utf8"; my ($port,$drv)=@ARGV;
my $dbh=DBI->connect("DBI:$drv:database=$ENV{APP_DATABASE};host=127.0.0.1;port=$port","root","",{RaiseError=>1,PrintError=>0,AutoCommit=>1}) or die;
$drv eq 'mysql' and $dbh->{mysql_enable_utf8mb4}=1;
sub t { my($n,$f)=@_; my @r=eval{$f->()}; print "== $n: ", $@ ? "ERR $@" : join("|",map{ref $_ ? join(",",map{ref $_ eq 'ARRAY' ? "[".join(";",map{defined $_?$_:'undef'}@$_)."]" : defined $_ ? $_ : 'undef'} ref $_ eq 'HASH' ? map{"$_=$$_{$_}"} sort keys %$_ : @$_) : defined $_ ? $_ : 'undef'} @r),"\n" }
for my $ps (0,1) {
 my $a=$drv eq 'mysql'?'mysql_server_prepare':'mariadb_server_prepare'; $dbh->{$a}=$ps; print "### server_prepare=$ps\n";
 t 'type_info', sub{ map{$_} @{$dbh->type_info_all}[1..60] } if !$ps;
 t 'tables', sub{ sort grep /operators/, $dbh->tables(undef,$ENV{APP_DATABASE},'%','') };
 t 'table_info', sub{ @{$dbh->table_info(undef,$ENV{APP_DATABASE},'%',undef)->fetchall_arrayref} };
 for my $tab (qw(author book big nokey v)) {
  t "column_info $tab", sub{ map{[@$_]} @{$dbh->column_info(undef,$ENV{APP_DATABASE},$tab,'%')->fetchall_arrayref} };
  t "pk $tab", sub{ $dbh->primary_key(undef,$ENV{APP_DATABASE},$tab) };
  t "stat $tab", sub{ my $s=$dbh->statistics_info(undef,$ENV{APP_DATABASE},$tab,0,1) or return 'none'; sort map{join ',',map{defined $_?$_:'undef'}@$_[0..9]} @{$s->fetchall_arrayref} };
 }
 t 'fk', sub{ @{$dbh->foreign_key_info(undef,$ENV{APP_DATABASE},'author',undef,$ENV{APP_DATABASE},'book')->fetchall_arrayref} };
 $dbh->do("drop table if exists pt"); 
 t 'create', sub{ $dbh->do("create table pt (id int not null auto_increment primary key, i tinyint, u bigint unsigned, f float, d double, n decimal(20,5), c char(5), v varchar(50), tx text, b blob, vb varbinary(20), dt date, t time(3), dtm datetime(6), ts timestamp null, y year, j json, e enum('a','b'), s set('x','y'), bt bit(10))") };
 my $st=$dbh->prepare("insert into pt (i,u,f,d,n,c,v,tx,b,vb,dt,t,dtm,ts,y,j,e,s,bt) values (".join(",",("?")x19).")");
 my $bl="\x00\x01\xff'\\\"\n"x30; 
 t 'insert', sub{ $st->bind_param(9,$bl,DBI::SQL_BLOB); $st->bind_param(19,"\x02\x01",DBI::SQL_BINARY); my $i=0; for my $x (-5,"18446744073709551615",1.5,2.25,"123456789012345.12345",'añ','vü😀','tx'x500,undef,'vb','2024-02-29','-10:20:30.125','2024-02-29 01:02:03.456789','2024-02-29 01:02:03',1999,'{"a":[1,null]}','b','x,y') {$i++; next if $i==9; $st->bind_param($i,$x)} $st->execute };
 t 'insertid', sub{ $dbh->last_insert_id(undef,undef,'pt','id'), $drv eq 'mysql'?($dbh->{mysql_insertid},$st->{mysql_insertid}):($dbh->{mariadb_insertid}) };
 t 'insert null', sub{ $st->execute((undef)x19) };
 t 'select', sub{ my $s=$dbh->prepare("select * from pt where id>=? order by id"); $s->execute(1); my @m=map{[@{$s->{$_}}]} qw(NAME TYPE PRECISION SCALE NULLABLE); my $p=$drv eq 'mysql'?'mysql':'mariadb'; push @m, map{[@{$s->{$p.'_'.$_}}]} qw(is_blob is_num is_key is_pri_key is_auto_increment table type type_name length max_length); my @r=@{$s->fetchall_arrayref}; @m,map{[map{defined $_ ? unpack("H*",$_) : undef}map{my $x=$_; utf8::encode($x) if utf8::is_utf8($x); $x}@$_]}@r };
 t 'dup', sub{ $dbh->do("insert into author (id,name) values (1,'x')") }; print "   ",$dbh->err," ",$dbh->state,"\n";
 t 'fkerr', sub{ $dbh->do("insert into book (id,author_id,title) values (99,99,'x')") }; print "   ",$dbh->err," ",$dbh->state,"\n";
 t 'syntax', sub{ my $s=$dbh->prepare("selec 1"); $s->execute }; print "   ",$dbh->err," ",$dbh->state,"\n";
 t 'rows', sub{ $dbh->do("update big set v=concat(v,'') where id<20"), $dbh->do("update big set v=concat(v,'x') where id between ? and ?",undef,1000,1009), $dbh->do("delete from big where id=-1"), $dbh->do("replace into nokey values (1,?)",undef,"z") };
 t 'found', sub{ $dbh->{$drv eq 'mysql'?'mysql_client_found_rows':'x'}; $dbh->do("update author set kind='a' where id=1") };
 t 'tx', sub{ $dbh->begin_work; $dbh->do("delete from nokey"); $dbh->rollback; my @a=$dbh->selectrow_array("select count(*)>0 from nokey"); $dbh->{AutoCommit}=0; $dbh->do("insert into nokey values (?,?)",undef,5,'q'); $dbh->commit; $dbh->{AutoCommit}=1; @a };
 t 'types in where', sub{ map{[$dbh->selectrow_array("select count(*) from big where $$_[0]",undef,@$_[1..$#$_])]} (["id=?","10"],["grp=? and at>?",3,'2024-01-02'],["v like ?",'value 1%'],["id in (?,?,?)",1,'2',3.0],["at between ? and ?",'2024-01-01 00:00:00','2024-01-03']) };
 t 'limit', sub{ my $s=$dbh->prepare("select id from big order by id limit ?,?"); $s->bind_param(1,5,DBI::SQL_INTEGER); $s->bind_param(2,3,DBI::SQL_INTEGER); $s->execute; map{$$_[0]}@{$s->fetchall_arrayref} };
 t 'limit str', sub{ my $s=$dbh->prepare("select id from big order by id limit ?,?"); $s->execute(5,3); map{$$_[0]}@{$s->fetchall_arrayref} };
 t 'use_result', sub{ my $s=$dbh->prepare("select id from big",{($drv eq 'mysql'?'mysql_use_result':'mariadb_use_result')=>1}); $s->execute; my $n=0; $n++ while $s->fetch; $n };
 t 'multi', sub{ my $d=DBI->connect("DBI:$drv:database=$ENV{APP_DATABASE};host=127.0.0.1;port=$port;".($drv eq 'mysql'?'mysql':'mariadb')."_multi_statements=1","root","",{RaiseError=>1,PrintError=>0}); my $s=$d->prepare("select 1; select 'a','b'; update nokey set a=a; select 3"); $s->execute; my @o; do { push @o, $s->{NUM_OF_FIELDS} ? map{"@$_"}@{$s->fetchall_arrayref} : "rows ".$s->rows } while ($s->more_results); @o };
 t 'ping', sub{ $dbh->ping, $dbh->get_info(17), $dbh->get_info(29), $dbh->quote("a'b\\c\0d\n"), $dbh->quote_identifier('a`b','c') };
 t 'warn', sub{ $dbh->do("set sql_mode=''"); my $s=$dbh->prepare("insert into pt (i) values (1000)"); $s->execute; my $w=$s->{($drv eq 'mysql'?'mysql':'mariadb').'_warning_count'}; $dbh->do("set sql_mode=default"); $w, @{$dbh->selectall_arrayref("show warnings")} };
 t 'json', sub{ $dbh->selectrow_array("select j->'\$.a[0]', json_arrayagg(id) from pt where id=1 group by j") };
 t 'bindcol', sub{ my $s=$dbh->prepare("select id,v from big where id<? order by id limit 3"); $s->execute(100); my($a,$b); $s->bind_columns(\$a,\$b); my @o; push @o,"$a=$b" while $s->fetch; @o };
 t 'explain ps', sub{ scalar @{$dbh->selectall_arrayref("explain format=traditional select * from big where id=?",undef,3)} };
 t 'show ps', sub{ map{@$_[0,1]} @{$dbh->selectall_arrayref("show columns from author like ?",undef,'n%')} };
 t 'call', sub{ $dbh->do("call nosuch(?)",undef,1) };
 t 'statistics hash', sub{ my %h=%{$dbh->selectall_hashref("select id,name,mail from author",'id')}; map{"$_:$h{$_}{name}"} sort keys %h };
 t 'async', sub{ my $p=$drv eq 'mysql'?'mysql':'mariadb'; my $s=$dbh->prepare("select sleep(0.2), 5",{$p.'_async'=>1}); $s->execute; my $m=$p.'_async_ready'; my $n=0; select(undef,undef,undef,0.05) until $s->$m; my @r=$s->fetchrow_array; $s->finish; @r };
}
