-- LuaSQL, then LuaDBI: selects, columns, parameters, errors, transactions. The port by the command line.
local port=tonumber(arg[1]); local d=require"luasql.mysql"; local env=d.mysql(); local c=assert(env:connect(os.getenv"APP_DATABASE","root","","127.0.0.1",port))
local cur=assert(c:execute"select * from author order by id"); print(table.concat(cur:getcolnames(),","),table.concat(cur:getcoltypes(),","),cur:numrows())
local r=cur:fetch({},"a") while r do print(r.id,r.name,r.mail,r.born,r.bal) r=cur:fetch(r,"a") end
cur=assert(c:execute"select * from book order by id"); print(table.concat(cur:getcoltypes(),",")); cur:close()
print(c:execute"insert into nokey values (4,'lua')"); print(c:getlastautoid()); print(c:execute"delete from nokey where a=4"); print(c:execute"select * from nosuch"); print(c:escape"a'b")
c:setautocommit(false); c:execute"delete from nokey"; c:rollback(); c:setautocommit(true); cur=c:execute"select count(*)>0 from nokey"; print(cur:fetch())
print(c:execute"selec"); c:close() env:close()
local DBI=require"DBI"; local h=assert(DBI.Connect("MySQL",os.getenv"APP_DATABASE","root","","127.0.0.1",port)); h:autocommit(true)
local s=assert(h:prepare"select * from author where id>? and name like ? order by id"); assert(s:execute(0,"%")); print(table.concat(s:columns(),","),s:rowcount()); for r in s:rows(true) do print(r.id,r.name,r.mail,r.born,r.bal,r.kind) end
s=assert(h:prepare"select * from book where id=?"); s:execute(1); for r in s:rows() do local o={} for i=1,12 do o[i]=tostring(r[i]):gsub("[^%g ]","?") end print(table.concat(o,"|")) end
print(DBI.Do(h,"insert into nokey values (?,?)",7,"dbi")); print(DBI.Do(h,"delete from nokey where a=?",7)); local s,e=h:prepare("select * from nosuch"); print(s,e); print(h:quote"a'b", h:ping()); 
s=h:prepare"insert into nokey values (?,?)"; for i=1,20 do s:execute(i+1000,nil) end; print(s:affected()); h:rollback(); print(DBI.Do(h,"delete from nokey where a>1000")); h:close()
