"""kine: etcd's interface over SQL, as k3s runs it on MySQL: its schema, keys put, ranged over, changed under conditions, leased, watched and compacted by etcd's own client, from one and from many."""
import os, subprocess
import harness

VERSION = "v0.17.5"
TITLE = f"kine {VERSION[1:]} (go-sql-driver; etcd's client)"
UNSEEN = {"kine"}  # how many of its rows are left goes by the moment of a compaction
PROGRAM = r"""package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func main() {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{os.Args[1]}, DialTimeout: 10 * time.Second})
	if err != nil {
		fmt.Println("no client", err)
		os.Exit(1)
	}
	ctx, stop := context.WithTimeout(context.Background(), 120*time.Second)
	defer stop()
	create := func(k, v string, opts ...clientv3.OpOption) bool {
		r, err := c.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(k), "=", 0)).Then(clientv3.OpPut(k, v, opts...)).Commit()
		if err != nil {
			fmt.Println("create", k, err)
			return false
		}
		return r.Succeeded
	}
	get := func(k string, opts ...clientv3.OpOption) *clientv3.GetResponse {
		r, err := c.Get(ctx, k, opts...)
		if err != nil {
			fmt.Println("get", k, err)
			return &clientv3.GetResponse{}
		}
		return r
	}
	update := func(k, v string) bool {
		old := get(k)
		if len(old.Kvs) == 0 {
			return false
		}
		r, err := c.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(k), "=", old.Kvs[0].ModRevision)).Then(clientv3.OpPut(k, v)).Else(clientv3.OpGet(k)).Commit()
		if err != nil {
			fmt.Println("update", k, err)
			return false
		}
		return r.Succeeded
	}
	remove := func(k string) bool {
		old := get(k)
		if len(old.Kvs) == 0 {
			return false
		}
		r, err := c.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(k), "=", old.Kvs[0].ModRevision)).Then(clientv3.OpDelete(k)).Else(clientv3.OpGet(k)).Commit()
		if err != nil {
			fmt.Println("delete", k, err)
			return false
		}
		return r.Succeeded
	}
	show := func(what string, r *clientv3.GetResponse) {
		parts := []string{}
		for _, kv := range r.Kvs {
			v := string(kv.Value)
			if len(v) > 30 {
				v = fmt.Sprintf("%d bytes", len(v))
			}
			parts = append(parts, fmt.Sprintf("%s=%s v%d", kv.Key, v, kv.Version))
		}
		fmt.Println(what, r.Count, r.More, strings.Join(parts, " "))
	}
	watched := c.Watch(ctx, "/registry/pods/", clientv3.WithPrefix(), clientv3.WithPrevKV())
	time.Sleep(500 * time.Millisecond)
	for i := 0; i < 60; i++ {
		fmt.Print(create(fmt.Sprintf("/registry/pods/ns%d/pod-%02d", i%3, i), fmt.Sprintf("größe 😀 %d \x00\xff", i)), " ")
	}
	fmt.Println(create("/registry/pods/ns0/pod-00", "again"), create("/registry/pods_x/a", "1"), create("/registry/pods%/a", "1"), create("/registry/Pods/ns0/pod-00", "case"), create("/registry/pods/ns0/pod-00\\", "slash"), create("/registry/big", strings.Repeat("x", 900000)))
	for i := 0; i < 60; i += 4 {
		fmt.Print(update(fmt.Sprintf("/registry/pods/ns%d/pod-%02d", i%3, i), "changed"), " ")
	}
	for i := 0; i < 60; i += 7 {
		fmt.Print(remove(fmt.Sprintf("/registry/pods/ns%d/pod-%02d", i%3, i)), " ")
	}
	fmt.Println(update("/nothing", "x"), remove("/nothing"), create("/registry/pods/ns0/pod-00", "back"))
	show("all", get("/registry/pods/", clientv3.WithPrefix()))
	show("count", get("/registry/pods/", clientv3.WithPrefix(), clientv3.WithCountOnly()))
	first := get("/registry/pods/", clientv3.WithPrefix(), clientv3.WithLimit(10))
	show("page", first)
	if len(first.Kvs) > 0 {
		last := string(first.Kvs[len(first.Kvs)-1].Key)
		show("next page", get(last+"\x00", clientv3.WithRange(clientv3.GetPrefixRangeEnd("/registry/pods/")), clientv3.WithLimit(10), clientv3.WithRev(first.Header.Revision)))
	}
	show("one namespace", get("/registry/pods/ns1/", clientv3.WithPrefix(), clientv3.WithLimit(5)))
	show("old", get("/registry/pods/ns0/pod-00", clientv3.WithRev(first.Header.Revision-20)))
	show("keys", get("/registry/pods/ns2/", clientv3.WithPrefix(), clientv3.WithKeysOnly()))
	lease, err := c.Grant(ctx, 1)
	if err == nil {
		fmt.Println("leased", create("/lease/a", "x", clientv3.WithLease(lease.ID)), create("/lease/b", "y"))
		time.Sleep(4 * time.Second)
		show("after the lease", get("/lease/", clientv3.WithPrefix()))
	} else {
		fmt.Println("lease", err)
	}
	var many sync.WaitGroup
	var mutex sync.Mutex
	won := 0
	create("/counter", "0")
	for w := 0; w < 12; w++ {
		many.Add(1)
		go func() {
			defer many.Done()
			for n := 0; n < 15; {
				old := get("/counter")
				if len(old.Kvs) == 0 {
					continue
				}
				var value int
				fmt.Sscan(string(old.Kvs[0].Value), &value)
				r, err := c.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision("/counter"), "=", old.Kvs[0].ModRevision)).Then(clientv3.OpPut("/counter", fmt.Sprint(value+1))).Else(clientv3.OpGet("/counter")).Commit()
				if err == nil && r.Succeeded {
					n++
					mutex.Lock()
					won++
					mutex.Unlock()
				}
			}
		}()
	}
	many.Wait()
	show("counted", get("/counter"))
	fmt.Println("won", won)
	now := get("/counter").Header.Revision
	_, err = c.Compact(ctx, now-5)
	fmt.Println("compacted", err)
	time.Sleep(2 * time.Second)
	show("after", get("/registry/pods/ns1/", clientv3.WithPrefix()))
	_, err = c.Get(ctx, "/counter", clientv3.WithRev(3))
	fmt.Println("of a compacted revision:", err != nil)
	status, err := c.Status(ctx, os.Args[1])
	fmt.Println("size", err == nil && status.DbSize > 0)
	seen := map[string]int{}
	end := time.After(2 * time.Second)
	for done := false; !done; {
		select {
		case r, ok := <-watched:
			if !ok {
				done = true
			}
			for _, e := range r.Events {
				kind := e.Type.String()
				if e.IsCreate() {
					kind = "CREATE"
				}
				if e.PrevKv != nil {
					kind += " over " + fmt.Sprint(len(e.PrevKv.Value) > 0)
				}
				seen[kind]++
			}
		case <-end:
			done = true
		}
	}
	fmt.Println("watched", seen)
}
"""



def install(tools):
    place = tools / "kine"
    if (place / "done").exists():
        return
    (place / "user").mkdir(parents=True, exist_ok=True)
    (place / "user/main.go").write_text(PROGRAM)
    go = lambda *words, **more: subprocess.run(["go", *words], cwd=place / "user", check=True, capture_output=True, env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod", "GOBIN": str(place)}, **more)
    if not (place / "user/go.mod").exists():
        go("mod", "init", "kineuser")
    go("get", f"github.com/k3s-io/kine@{VERSION}")
    go("build", "-o", "../kine", "github.com/k3s-io/kine")
    go("build", "-o", "../use", ".")
    (place / "done").touch()


def steps(target, database, tools, work):
    target.sql(f"DROP USER IF EXISTS {database}; CREATE USER {database} IDENTIFIED BY 'secret'; GRANT ALL ON {database}.* TO {database}")
    return {"before": [], "serve": ["sh", "-c", f'exec {tools}/kine/kine --endpoint "mysql://{database}:secret@tcp({target.host}:{target.port})/{database}" --listen-address tcp://127.0.0.1:$APP_HTTP_PORT --compact-interval 20s --compact-min-retain 5 --metrics-bind-address 0']}


def visit(port, target, database, run):
    yield run(f"{harness.TOOLS}/kine/use 127.0.0.1:{port}", [(r"(of a compacted revision: )\w+", r"\1")], name="etcd's client")
    yield "SQL", "what is there", 200, "\n".join(target.sql(text, database) for text in (
        "SELECT name, COUNT(*) > 0, MAX(version) FROM (SELECT name, deleted AS version FROM kine WHERE id IN (SELECT MAX(id) FROM kine GROUP BY name)) k WHERE version = 0 AND name NOT LIKE 'gap-%' GROUP BY name ORDER BY name", "SELECT CAST(value AS CHAR) FROM kine WHERE name = '/counter' ORDER BY id DESC LIMIT 1"))
