"""Catalogue functions, types, parameters, transactions and options of Connector/ODBC by pyodbc: the port by the command line, the database from the environment."""
import os,pyodbc,sys,datetime,decimal,uuid
port, D = sys.argv[1], os.environ['APP_DATABASE']
def conn(**k):
    return pyodbc.connect("DRIVER={MariaDB Unicode};SERVER=127.0.0.1;PORT=%s;UID=root;PWD=;DATABASE=%s;%s"%(port, D,k.get('x','')),autocommit=k.get('ac',True))
c=conn(); cur=c.cursor()
def show(t,f):
    try:
        r=f(); 
        print("==",t); 
        for x in (r if isinstance(r,list) else [r]): print("  ",x)
    except Exception as e: print("==",t,"ERR",repr(e)[:300])
def q(s,*a):
    def f():
        cur.execute(s,*a)
        if cur.description: 
            d=[(x[0],x[1].__name__,x[2:]) for x in cur.description]
            return [d]+[tuple(r) for r in cur.fetchall()]
        return cur.rowcount
    show(s[:100],f)
show("types",lambda:[tuple(r) for r in cur.getTypeInfo()])
for kind in ('TABLE','VIEW','SYSTEM TABLE',None): show("tables %s"%kind,lambda:[tuple(r) for r in cur.tables(catalog=D,tableType=kind)])
show("tables like",lambda:[tuple(r) for r in cur.tables(table='b%',catalog=D)])
show("catalogs",lambda:[r[0] for r in cur.tables(catalog='%',schema='',table='') if r[0] in (D,'mysql')])
show("types list",lambda:[tuple(r) for r in cur.tables(catalog='',schema='',table='',tableType='%')])
for t in ('author','book','big','nokey','v'):
    show("columns "+t,lambda:[tuple(r) for r in cur.columns(table=t,catalog=D)])
    show("pk "+t,lambda:[tuple(r) for r in cur.primaryKeys(table=t,catalog=D)])
    show("stat "+t,lambda:[tuple(r) for r in cur.statistics(table=t,catalog=D)])
    show("stat uniq "+t,lambda:[tuple(r) for r in cur.statistics(table=t,catalog=D,unique=True)])
    show("rowid "+t,lambda:[tuple(r) for r in cur.rowIdColumns(table=t,catalog=D)])
    show("rowver "+t,lambda:[tuple(r) for r in cur.rowVerColumns(table=t,catalog=D)])
show("columns like",lambda:[tuple(r) for r in cur.columns(table='b%',column='%i%')])
show("fk",lambda:[tuple(r) for r in cur.foreignKeys(table='author',catalog=D)])
show("fk2",lambda:[tuple(r) for r in cur.foreignKeys(foreignTable='book',foreignCatalog=D)])
show("fk3",lambda:[tuple(r) for r in cur.foreignKeys(table='author',foreignTable='book')])
show("procs",lambda:[tuple(r) for r in cur.procedures(catalog=D)])
show("proccols",lambda:[tuple(r) for r in cur.procedureColumns(catalog=D)])
for n in sorted(x for x in dir(pyodbc) if x.startswith('SQL_') ):
    try: print("info",n,repr(c.getinfo(getattr(pyodbc,n))))
    except Exception as e: pass
q("drop table if exists ot")
q("create table ot (id int auto_increment primary key, i1 tinyint, i2 smallint unsigned, i3 mediumint, i8 bigint unsigned, f float, d double, n decimal(20,5), c char(5), v varchar(50), x text, lx longtext, b binary(4), vb varbinary(20), lb longblob, dt date, t time(3), dtm datetime(6), ts timestamp null, y year, j json, e enum('a','b'), s set('x','y'), bt bit(10), bo boolean)")
row=(-5,65535,-8000000,2**64-1,1.5,2.25,decimal.Decimal('123456789012345.12345'),'añ','vü😀','tx'*50,'L'*70000,b'\0\1\2\3',b'\xff\0',b'B'*70000,datetime.date(2024,2,29),datetime.time(10,20,30),datetime.datetime(2024,2,29,1,2,3,456789),datetime.datetime(2024,2,29,1,2,3),1999,'{"a": 1}','b','x,y',b'\x02\x01',True)
q("insert into ot (i1,i2,i3,i8,f,d,n,c,v,x,lx,b,vb,lb,dt,t,dtm,ts,y,j,e,s,bt,bo) values (%s)"%",".join("?"*24),row)
q("insert into ot () values ()")
q("select id,i1,i2,i3,i8,f,d,n,c,v,x,b,vb,dt,t,dtm,ts,y,j,e,s,bt,bo, length(lx), length(lb) from ot")
q("select lx=repeat('L',70000), sha2(lb,256) from ot where v=?","vü😀")
q("select * from ot where dtm=? and n=? and i8=?",row[16],row[6],row[3])
def many():
    cur.fast_executemany=True
    cur.executemany("insert into nokey values (?,?)",[(i,'r%d'%i) for i in range(50)]+[(None,None)])
    return cur.execute("select count(*),sum(a),max(b) from nokey").fetchall()
show("executemany",lambda:[tuple(r) for r in many()])
def tx():
    d=conn(ac=False); k=d.cursor(); k.execute("insert into nokey values (777,'tx')"); d.rollback(); k.execute("select count(*) from nokey where a=777"); r=k.fetchall(); k.execute("insert into nokey values (778,'tx')"); d.commit(); d.close(); return [tuple(x) for x in r]
show("tx",tx)
show("multi",lambda:(lambda k:[tuple(k.execute("select 1; select 'two', 3; insert into nokey values (1,'m')").fetchone()),k.nextset(),tuple(k.fetchone()),k.nextset(),k.rowcount])(conn(x="OPTION=67108864").cursor()))
for o in ("FORWARDONLY=1","NO_CACHE=1","OPTION=1048576","OPTION=3","CHARSET=utf8mb4;INITSTMT=set @a=5"):
    show(o,lambda:[tuple(r) for r in conn(x=o).cursor().execute("select id,grp,@a from big order by id limit 3").fetchall()])
q("select * from nosuch"); q("insert into author(id,name) values (1,'x')"); q("insert into book(id,author_id,title) values (9,999,'x')"); q("select"); q("{call nosuch(1)}"); q("select {fn ucase('x')}, {d '2020-01-01'}, {ts '2020-01-01 10:00:00'}, {t '10:00:00'}")
q("update big set v=? where id=?", 'new',9999); q("select count(*) from big"); q("select ?, ?",'x',None)
q("delete from nokey")
def st():
    k=c.cursor(); k.execute("select id,v from big order by id"); a=k.fetchmany(5); k.skip(100); b=k.fetchone(); return [tuple(x) for x in a]+[tuple(b)]
show("skip",st)
