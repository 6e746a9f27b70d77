#!/bin/bash
# ratios.sh: Altiplano beside MySQL 9.7, MySQL 5.6 and a server with canned answers, in alternating slices; prints the tables of docs/performance.md.
#   SECONDS_ (5), ROUNDS (3), THREADS ("1,16,128,1024"), TPCC_THREADS ("1,16,128"), WORKLOADS, TARGET (release): as versus.py takes them
#   PROGRAM: this build of Altiplano instead of one that is made now
#   KEEP=1: the data of an earlier run is used again, each server warmed by WARM (15) seconds of each load, since a server that has just begun reads its pages
# Needs ../shared/peers (or PEERS=DIR) with its servers installed and a machine that does nothing else; takes half an hour.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
peers=${PEERS:-$(readlink -f ../shared/peers || true)}
[ -x "$peers/versus.py" ] || { echo "ratios.sh: no versus.py in ${peers:-../shared/peers}; set PEERS" >&2; exit 1; }
export PEERS_HOME=${PEERS_HOME:-/var/tmp/peers}
export PATH=$PEERS_HOME/bin:$PATH
home=${RATIOS_HOME:-/var/tmp/altiplano-ratios} port=13307 canned=13308
profile=${TARGET:-release} tables=4 size=100000 warehouses=4
program=${PROGRAM:-target/$profile/altiplano}
[ -n "${PROGRAM:-}" ] || cargo build -q --profile "$profile" --bin altiplano
mkdir -p "$home"; [ "${KEEP:-}" = 1 ] || rm -rf "$home/data"
gcc -O2 -w -pthread "$peers/ceiling.c" -o "$home/ceiling"
ulimit -n "$(ulimit -Hn)"

trap 'kill $ours $ceiling 2>/dev/null; "$peers/mysql97.sh" stop; "$peers/mysql56.sh" stop' EXIT
"$program" serve --data-dir "$home/data" --port $port --buffer-pool-size 4G --set max_connections=12000 >"$home/log" 2>&1 & ours=$!
"$home/ceiling" $canned & ceiling=$!
"$peers/mysql97.sh" start; "$peers/mysql56.sh" start
until "$program" sql -P $port -e 'SELECT 1' >/dev/null 2>&1; do kill -0 $ours || { cat "$home/log" >&2; exit 1; }; sleep 0.1; done

if [ "${KEEP:-}" != 1 ]; then
  for at in $port 13097 13056; do
    echo "preparing 127.0.0.1:$at" >&2
    "$program" sql -P $at -u root -e 'DROP DATABASE IF EXISTS sbtest; CREATE DATABASE sbtest; DROP DATABASE IF EXISTS tpcc; CREATE DATABASE tpcc'
    sysbench oltp_read_write --mysql-host=127.0.0.1 --mysql-port=$at --mysql-user=root --tables=$tables --table-size=$size --threads=$tables prepare >"$home/prepare.log"
    go-tpc tpcc prepare -H 127.0.0.1 -P $at -U root -D tpcc --warehouses $warehouses -T 4 --no-check >>"$home/prepare.log"
  done
fi
if [ "${KEEP:-}" = 1 ]; then
  for at in $port 13097 13056; do
    sysbench oltp_read_write --mysql-host=127.0.0.1 --mysql-port=$at --mysql-user=root --tables=$tables --table-size=$size --threads=$tables --time="${WARM:-15}" run >>"$home/prepare.log"
    [ -z "${TPCC_THREADS-1}" ] || go-tpc tpcc run -H 127.0.0.1 -P $at -U root -D tpcc --warehouses $warehouses -T 4 --time "${WARM:-15}s" >>"$home/prepare.log"
  done
fi
# What the load left behind (dirty pages, purge) is over before the first slice.
sleep "${SETTLE:-30}"
versus() { python3 "$peers/versus.py" --seconds "${SECONDS_:-5}" --rounds "${ROUNDS:-3}" --tables $tables --size $size --warehouses $warehouses "$@"; }
mysql97=MySQL97=127.0.0.1:13097:$("$peers/mysql97.sh" pid) mysql56=MySQL56=127.0.0.1:13056:$("$peers/mysql56.sh" pid) altiplano=Altiplano=127.0.0.1:$port:$ours
# The canned server has no data, so it takes part where no answer matters to the client.
versus "$mysql97" "$altiplano" "$mysql56" "Ceiling=127.0.0.1:$canned:$ceiling" --threads "${THREADS:-1,16,128,1024}" \
  --workloads "${WORKLOADS:-oltp_point_select,oltp_read_write,oltp_update_index,oltp_insert}"
[ -z "${TPCC_THREADS-1}" ] || versus "$mysql97" "$altiplano" "$mysql56" --workloads tpcc --threads "${TPCC_THREADS:-1,16,128}"
