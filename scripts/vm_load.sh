#!/usr/bin/env bash
# A server under load, killed and started again, with nothing but the program itself: what scripts/vm.sh runs under other kernels and on other numbers of processors.
#
#   scripts/vm_load.sh [--program target/dist/altiplano] [--connections "1 24 200"] [--seconds 15] [--port 13500]
#   scripts/vm.sh --kernel linux-image-5.10.0-32-amd64_….deb --processors 8 -- scripts/vm_load.sh
#
# Each workload is prepared, run with each number of connections, and checked (totals, TPC-C's consistency, every row in the index). Then the server is killed under 100 connections'
# transfers, started again, and its totals and tables are checked once more; at the end it is asked to stop. Exits with 1 when a check fails, a load met an error or lost a connection, or
# the server ended otherwise. What rates it prints say nothing where instructions are emulated.
set -uo pipefail

usage() { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
program=target/dist/altiplano connections="1 24 200" seconds=15 port=13500
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || usage
    case $1 in
        --program) program=$2 ;;
        --connections) connections=$2 ;;
        --seconds) seconds=$2 ;;
        --port) port=$2 ;;
        *) usage ;;
    esac
    shift 2
done
[ -x "$program" ] || { echo "vm_load.sh: $program is no program" >&2; exit 2; }

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill -9 "$server" 2>/dev/null; rm -rf "$work"' EXIT
failed=0
fail() { echo "FAIL  $*"; failed=1; }

start() {
    "$program" serve --data-dir "$work/data" --port "$port" --buffer-pool-size 512M --set max_connections=3000 >>"$work/log" 2>&1 &
    server=$!
    for _ in $(seq 600); do
        "$program" sql -P "$port" -e 'DO 0' >/dev/null 2>&1 && return
        kill -0 "$server" 2>/dev/null || break
        sleep 0.5
    done
    tail -n 5 "$work/log"
    fail "the server does not answer"
    exit 1
}

# bench VERB WORKLOAD… : one of the client's verbs on that workload's own database.
bench() { timeout 900 "$program" bench "$1" --server "127.0.0.1:$port" --database "load_$2" --workload "${@:2}"; }

check() { bench check "$@" >"$work/said" 2>&1 && echo "ok    $1: $(tail -n 1 "$work/said")" || { tail -n 3 "$work/said"; fail "$1: check"; }; }

start
for workload in "bank" "tpcc --warehouses 2 --items 1000 --customers 100" "oltp_read_write --table-size 2000" "hot_row" "queue"; do
    read -ra words <<<"$workload"
    bench prepare "${words[@]}" >"$work/said" 2>&1 || { tail -n 3 "$work/said"; fail "${words[0]}: prepare"; continue; }
    for count in $connections; do
        bench run "${words[@]}" --connections "$count" --warmup 2 --seconds "$seconds" --json >"$work/json" 2>"$work/said" || { tail -n 3 "$work/said"; fail "${words[0]} by $count: run"; continue; }
        python3 - "$work/json" <<'PYTHON' || fail "${words[0]} by $count: errors"
import json, sys
said = json.loads(open(sys.argv[1]).readlines()[-1])
bad = {key: said[key] for key in ("errors", "lost", "refused", "wrong", "unfinished", "failed") if said[key]}
print(f"      {said['workload']} by {said['connections']}: {said['transactions']} transactions, p99 {said['latency_ms']['p99']:.0f} ms, {bad or 'no error'}")
sys.exit(bool(bad) or not said["transactions"])
PYTHON
    done
    check "${words[@]}"
done

# Under load to the end: killed once transfers have been acknowledged for a while.
bench run bank --connections 100 --seconds 600 >/dev/null 2>&1 &
load=$!
committed() { "$program" sql -P "$port" -N -e "SHOW GLOBAL STATUS LIKE 'Com_commit'" | tr -dc 0-9; }
before=$(committed)
for _ in $(seq 600); do
    now=$(committed)
    [ "${now:-0}" -gt $((before + 1000)) ] && break
    sleep 0.5
done
[ "${now:-0}" -gt $((before + 1000)) ] || fail "a thousand transfers took five minutes, or the server ended"
kill -9 "$server"
wait "$server" 2>/dev/null
wait "$load" 2>/dev/null
start
check bank
check tpcc --warehouses 2 --items 1000 --customers 100
"$program" sql -P "$port" -N -e 'CHECK TABLE load_tpcc.stock, load_tpcc.orders, load_tpcc.order_line, load_oltp_read_write.sbtest1' >"$work/said" 2>&1
[ "$(grep -c 'status.*OK' "$work/said")" = 4 ] && echo "ok    tables after kill -9" || { cat "$work/said"; fail "CHECK TABLE"; }
kill "$server"
wait "$server" || fail "the server ended with $?"
server=
grep -E ' \[(Warning|Error)\] ' "$work/log" && fail "the server's log has warnings"
[ "$failed" = 0 ] && echo "ok    all"
exit "$failed"
