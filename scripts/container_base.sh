#!/usr/bin/env bash
# What container.sh and package.sh share: a store of images of their own, a base image, podman, claims. Sourced; expects `work`, `base` and `keep`.

[ "$(id -u)" = 0 ] || { echo "root is needed: for owners of files in images" >&2; exit 2; }
if [ -z "$work" ]; then
    work=$(mktemp -d /var/tmp/altiplano-container.XXXXXX)
    keep=
else
    mkdir -p "$work"
    work=$(realpath "$work") keep=1
fi
store=(--root "$work/store" --runroot "$work/run" --storage-driver vfs)
buildah() { command buildah "${store[@]}" "$@"; }
runtime=()
# crun knows one hierarchy of control groups or the other, and no machine that has both.
! command -v runc >/dev/null || runtime=(--runtime runc)
podman() { command podman "${store[@]}" --tmpdir "$work/tmp" --cgroup-manager cgroupfs "${runtime[@]}" "$@"; }
# Not more than whoever runs this may give: containers get limits of their own otherwise, which takes CAP_SYS_RESOURCE.
limits=(--ulimit "nofile=$(ulimit -Sn):$(ulimit -Hn)" --ulimit nproc=4096:4096)

say() { printf '%s\n' "$*"; }
die() { say "FAILED: $*"; exit 1; }
# A claim and what shows it: `is CLAIM EXPECTED FOUND`.
is() { [ "$2" = "$3" ] && say "ok: $1: $3" || die "$1: $3, not $2"; }
patiently() { for _ in $(seq 150); do "$@" >/dev/null 2>&1 && return 0; sleep 0.2; done; return 1; }

# The base from its registry; where none can be asked, a stand-in of its name, made of Debian's packages.
base_image() {
    if command buildah "${store[@]}" images -q "$base" 2>/dev/null | grep -q .; then return; fi
    if buildah pull -q "$base" >/dev/null 2>"$work/pull.log"; then
        say "base: $base, from its registry"
        return
    fi
    say "base: $(tail -1 "$work/pull.log" | cut -c1-120)"
    say "base: a stand-in of that name by debootstrap"
    rm -rf "$work/base"
    debootstrap --variant=minbase bookworm "$work/base" >"$work/debootstrap.log" 2>&1 || die "debootstrap: $(tail -1 "$work/debootstrap.log")"
    rm -rf "$work"/base/var/cache/apt/archives/*.deb "$work"/base/var/lib/apt/lists/*
    local from
    from=$(buildah from scratch)
    buildah add -q "$from" "$work/base" / >/dev/null
    buildah config --cmd bash "$from"
    buildah commit -q "$from" "$base" >/dev/null
    buildah rm "$from" >/dev/null
    rm -rf "$work/base"
}

# Everything of it goes, unless it was to be kept.
clear_store() {
    [ -z "$keep" ] || return 0
    buildah rm -a >/dev/null 2>&1 || true
    rm -rf --one-file-system "$work"
}
