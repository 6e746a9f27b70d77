#!/usr/bin/env bash
# Builds packaging/Containerfile as an image and shows that what comes of it serves: its configuration, its user, its volume, its health, its end.
#
#   scripts/container.sh [--program target/dist/altiplano] [--runner podman|chroot] [--base IMAGE] [--work DIR]
#
# Needs buildah, jq and root; podman to run it as users do, or else `buildah run --isolation chroot`. Where no registry can be asked for the base image,
# debootstrap makes a stand-in of that name from Debian's packages. All of it lies in one directory that goes at the end (with --work it stays, and the base is used again).
set -euo pipefail

program=target/dist/altiplano runner= base=docker.io/library/debian:bookworm-slim work= keep=
while [ $# -gt 0 ]; do
    case $1 in
        --program) program=$2 ;;
        --runner) runner=$2 ;;
        --base) base=$2 ;;
        --work) work=$2 ;;
        *) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2 ;;
    esac
    shift 2
done
here=$(cd "$(dirname "$0")/.." && pwd)
program=$(realpath "$program")
[ -n "$runner" ] || { command -v podman >/dev/null && runner=podman || runner=chroot; }
. "$here/scripts/container_base.sh"
image=localhost/altiplano-tried

# --- the image ---------------------------------------------------------------------------------------------------------------------------

build() {
    rm -rf "$work/context"
    mkdir "$work/context"
    cp "$program" "$work/context/altiplano"
    # Docker's format: OCI's has no health check, and leaves it out with a warning.
    buildah bud --isolation chroot --pull-never --format docker -t "$image" -f "$here/packaging/Containerfile" "$work/context" >"$work/build.log" 2>&1 \
        || die "build: $(tail -5 "$work/build.log")"
    ! grep -i warning "$work/build.log" || die "the build warns"
    config=$(buildah inspect --type image "$image" | jq -c .Docker.config)
}

setting() { jq -r "$1" <<<"$config"; }

check_config() {
    is "user" 999:999 "$(setting .User)"
    is "volume" /var/lib/altiplano "$(setting '.Volumes | keys | join(" ")')"
    is "port" 3306/tcp "$(setting '.ExposedPorts | keys | join(" ")')"
    is "starts" "altiplano serve" "$(setting '.Entrypoint + .Cmd | join(" ")')"
    is "stops by" SIGTERM "$(setting .StopSignal)"
    is "environment" "ALTIPLANO_BIND=0.0.0.0 ALTIPLANO_DATA_DIR=/var/lib/altiplano" "$(setting '[.Env[] | select(startswith("ALTIPLANO_"))] | sort | join(" ")')"
    is "health is asked every so many seconds, for so long, at first, so often" "10 5 60 3" \
        "$(setting '.Healthcheck | [.Interval / 1e9, .Timeout / 1e9, .StartPeriod / 1e9, .Retries] | join(" ")')"
    mapfile -t health < <(setting '.Healthcheck.Test[1:][]')
}

# --- running it: what a runner can do ------------------------------------------------------------------------------------------------------
# start NAME ENV…: a server on the volume; inside NAME CMD…: in its container; healthy NAME: the image's own question; stop NAME: by the image's signal, sets exit_code.

start_podman() {
    local name=$1 variables=()
    for variable in "${@:2}"; do variables+=(-e "$variable"); done
    podman run -d --name "$name" --read-only -p 3306 -v altiplano-tried:/var/lib/altiplano "${limits[@]}" "${variables[@]}" \
        --stop-timeout 300 "$image" >/dev/null 2>"$work/$name.start" || die "podman run: $(tail -2 "$work/$name.start")"
    port=$(podman port "$name" 3306 | sed 's/.*://')
}
inside_podman() { podman exec "$1" "${@:2}"; }
healthy_podman() { podman healthcheck run "$1" >/dev/null 2>&1; }
without_server_podman() { podman run --rm "${limits[@]}" --no-healthcheck --entrypoint "${health[0]}" "$image" "${health[@]:1}" >/dev/null 2>&1; }
stop_podman() {
    podman stop "$1" >/dev/null 2>&1 || true
    exit_code=$(podman inspect "$1" | jq -r '.[0].State.ExitCode')
}
volume_podman() { podman volume inspect altiplano-tried | jq -r '.[0].Mountpoint'; }
new_volume_podman() { podman volume rm -f altiplano-tried >/dev/null 2>&1 || true; }
log_podman() { podman logs "$1" 2>&1; }
crash_podman() { podman kill -s KILL "$1" >/dev/null 2>&1; patiently sh -c "! kill -0 $2 2>/dev/null"; }
pid_podman() { podman inspect "$1" | jq -r '.[0].State.Pid'; }
remove_podman() { podman rm -f "$1" >/dev/null 2>&1 || true; }

# The network is the machine's: a port that nobody has.
start_chroot() {
    local name=$1 variables=(--env "ALTIPLANO_PORT=$((port = 20000 + RANDOM % 20000))")
    for variable in "${@:2}"; do variables+=(--env "$variable"); done
    containers[$name]=$(buildah from --pull-never "$image")
    ports[$name]=$port
    mapfile -t command_line < <(setting '.Entrypoint + .Cmd | .[]')
    buildah run --isolation chroot -v "$work/volume:/var/lib/altiplano" "${variables[@]}" "${containers[$name]}" -- "${command_line[@]}" >"$work/$name.log" 2>&1 &
    runs[$name]=$!
}
declare -A containers ports runs
inside_chroot() { buildah run --isolation chroot -v "$work/volume:/var/lib/altiplano" --env "ALTIPLANO_PORT=${ports[$1]}" "${containers[$1]}" -- "${@:2}"; }
healthy_chroot() { inside_chroot "$1" "${health[@]}" >/dev/null 2>&1; }
without_server_chroot() {
    local container code=0
    container=$(buildah from --pull-never "$image")
    buildah run --isolation chroot --env ALTIPLANO_PORT=1 "$container" -- "${health[@]}" >/dev/null 2>&1 || code=$?
    buildah rm "$container" >/dev/null
    return $code
}
volume_chroot() { echo "$work/volume"; }
# As an engine makes one: with the directory's owner and rights in the image.
new_volume_chroot() { rm -rf "$work/volume"; install -d -m 0750 -o 999 -g 999 "$work/volume"; }
# The server among what was started for it.
pid_chroot() {
    local pid=${runs[$1]} child
    while child=$(cat /proc/"$pid"/task/*/children 2>/dev/null | tr ' ' '\n' | head -1); [ -n "$child" ]; do pid=$child; done
    [ "$(cat /proc/"$pid"/comm)" = altiplano ] && echo "$pid"
}
stop_chroot() {
    kill -s "$(setting .StopSignal)" "$(pid_chroot "$1")"
    exit_code=0
    wait "${runs[$1]}" || exit_code=$?
}
log_chroot() { cat "$work/$1.log"; }
crash_chroot() { kill -KILL "$2"; wait "${runs[$1]}" || true; }
remove_chroot() {
    [ -n "${containers[$1]:-}" ] || return 0
    ! kill -KILL "$(pid_chroot "$1" 2>/dev/null)" 2>/dev/null || true
    buildah rm "${containers[$1]}" >/dev/null 2>&1 || true
}

start() { "start_$runner" "$@"; }
inside() { "inside_$runner" "$@"; }
health_code() { local code=0; "healthy_$runner" "$1" || code=$?; echo $code; }
stop() { "stop_$runner" "$1"; }
log() { "log_$runner" "$1"; }
answer() { inside "$1" altiplano sql -N -e "$2"; }
outside() { "$program" sql -h 127.0.0.1 -P "$port" -u guest -pguest -N -e "$1"; }

end() {
    code=$?
    for name in first second third; do "remove_$runner" "$name" || true; done
    "new_volume_$runner"
    clear_store
    return $code
}

# --- what is shown -----------------------------------------------------------------------------------------------------------------------

trap end EXIT
base_image
build
check_config

"new_volume_$runner"
code=0
"without_server_$runner" || code=$?
is "health without a server" 1 $code

start first ALTIPLANO_SET_MAX_CONNECTIONS=77 ALTIPLANO_BUFFER_POOL_SIZE=64M
patiently "healthy_$runner" first || die "it does not become healthy: $(log first | tail -5)"
is "health with a server" 0 "$(health_code first)"
is "runs as" "999 altiplano" "$(inside first sh -c 'echo $(id -u) $(id -un)')"
is "the server's own user" 999 "$(awk '/^Uid/ { print $2 }' "/proc/$("pid_$runner" first)/status")"
is "settings by the environment" "77 67108864" "$(answer first 'SELECT @@max_connections, @@innodb_buffer_pool_size' | tr '\t' ' ')"
answer first "CREATE USER guest@'%' IDENTIFIED BY 'guest'; GRANT ALL ON *.* TO guest@'%'; CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, s TEXT)" >/dev/null
outside "INSERT INTO d.t VALUES (1, REPEAT('x', 50000)), (2, 'two')" >/dev/null
is "a client from outside" "2 50003" "$(outside 'SELECT COUNT(*), SUM(LENGTH(s)) FROM d.t' | tr '\t' ' ')"
answer first "ALTER USER root@localhost IDENTIFIED BY 'secret'" >/dev/null
is "health where root has a password" 0 "$(health_code first)"
is "the volume is the server's alone" "750 999" "$(stat -c '%a %u' "$("volume_$runner")")"
is "whose its files are" 999 "$(find "$("volume_$runner")" -printf '%U\n' | sort -u)"
stop first
is "exit code at its stop signal" 0 "$exit_code"
log first | grep -q "SIGTERM received, stopping" && log first | grep -q "\] stopped" || die "no clean end: $(log first | tail -3)"
say "ok: its log tells of a clean end"

start second
patiently "healthy_$runner" second || die "it does not start on the volume again: $(log second | tail -5)"
is "data in the volume, after a stop" "2 50003" "$(outside 'SELECT COUNT(*), SUM(LENGTH(s)) FROM d.t' | tr '\t' ' ')"
outside "INSERT INTO d.t VALUES (3, 'three')" >/dev/null
pid=$("pid_$runner" second)
kill -STOP "$pid"
"healthy_$runner" second &
asked=$!
for _ in $(seq 25); do kill -0 $asked 2>/dev/null || break; sleep 0.2; done
said=nothing
kill -0 $asked 2>/dev/null || { said=0; wait $asked || said=$?; }
[ "$said" != 0 ] || die "healthy, and it does not answer"
say "ok: health where it stands still: $said within 5 s"
kill -CONT "$pid"
wait $asked || true
"crash_$runner" second "$pid"

start third
patiently "healthy_$runner" third || die "it does not start after a crash: $(log third | tail -5)"
is "data in the volume, after kill -9" "3 50008" "$(outside 'SELECT COUNT(*), SUM(LENGTH(s)) FROM d.t' | tr '\t' ' ')"
stop third
is "exit code at its stop signal" 0 "$exit_code"
say "all of it, by $(command buildah --version | cut -d' ' -f1-3), run by $runner $([ "$runner" = chroot ] || command podman --version | cut -d' ' -f3)"
