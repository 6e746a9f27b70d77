#!/usr/bin/env bash
# Installs, upgrades, removes and purges the Debian package under a systemd that runs in a container, and in a system that does not run.
#
#   scripts/package.sh [--package target/dist/altiplano_V_ARCH.deb] [--base IMAGE] [--work DIR]
#
# The package's scripts and unit are those of this checkout (it is packed anew with them); its program is the one that was built. Needs buildah, podman, jq, dpkg-deb and root, and
# Debian's packages (systemd). Base image, --work and what is left behind: as container.sh.
set -euo pipefail

package=$(ls -t target/dist/*.deb 2>/dev/null | head -1 || true) base=docker.io/library/debian:bookworm-slim work= keep=
while [ $# -gt 0 ]; do
    case $1 in
        --package) package=$2 ;;
        --base) base=$2 ;;
        --work) work=$2 ;;
        *) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2 ;;
    esac
    shift 2
done
here=$(cd "$(dirname "$0")/.." && pwd)
[ -f "$package" ] || { echo "no package: cargo xtask release makes one" >&2; exit 2; }
package=$(realpath "$package")
. "$here/scripts/container_base.sh"
image=localhost/altiplano-systemd

# Its name and version, packed anew.
pack() {
    local root="$work/packed" version=$1
    rm -rf "$root"
    dpkg-deb -R "$package" "$root"
    sed -i "s/^Version: .*/Version: $version/" "$root/DEBIAN/control"
    for script in postinst prerm postrm; do install -m 0755 "$here/packaging/debian/$script" "$root/DEBIAN/$script"; done
    install -m 0644 "$here/packaging/altiplano.service" "$root/usr/lib/systemd/system/altiplano.service"
    # What a newer version says of its settings.
    [ "$version" = 0.1.0 ] || echo "# as of $version" >>"$root/etc/altiplano/altiplano.toml"
    dpkg-deb --root-owner-group -b "$root" "$work/debs/altiplano_$version.deb" >/dev/null
}

systemd_image() {
    if buildah images -q "$image" 2>/dev/null | grep -q .; then return; fi
    local from
    from=$(buildah from --pull-never "$base")
    buildah run --isolation chroot "$from" -- sh -ec 'apt-get update -q
        apt-get install -qy --no-install-recommends systemd systemd-sysv dbus' >"$work/systemd.log" 2>&1 || die "systemd: $(tail -2 "$work/systemd.log")"
    buildah config --cmd /sbin/init --stop-signal SIGRTMIN+3 "$from"
    buildah commit -q "$from" "$image" >/dev/null
    buildah rm "$from" >/dev/null
}

machine() { podman exec machine "$@"; }
quietly() { machine sh -c "$*" >"$work/said" 2>&1 || die "$*: $(tail -3 "$work/said")"; }
put() { quietly "DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends -o Dpkg::Options::=--force-confold /debs/altiplano_$1.deb"; }
answer() { machine altiplano sql -N -e "$1" | tr '\t' ' '; }
serves() { patiently answer 'DO 1' || die "it does not answer: $(machine journalctl -u altiplano -n 3 -o cat --no-pager)"; }
state() { echo "$(machine systemctl is-active altiplano) $(machine systemctl is-enabled altiplano 2>/dev/null)"; }
pid() { machine systemctl show -P MainPID altiplano; }
there() { machine sh -c "[ -e $1 ]" && echo yes || echo no; }

end() {
    code=$?
    podman rm -f machine >/dev/null 2>&1 || true
    clear_store
    return $code
}
trap end EXIT

base_image
systemd_image
mkdir -p "$work/debs"
for version in 0.1.0 0.1.1 0.1.2; do pack $version; done

podman rm -f machine >/dev/null 2>&1 || true
podman run -d --name machine --systemd=always "${limits[@]}" -v "$work/debs:/debs:ro" "$image" >/dev/null 2>"$work/machine.log" || die "podman run: $(tail -2 "$work/machine.log")"
patiently machine systemctl is-active multi-user.target || die "systemd does not come up"

put 0.1.0
is "installed" "active enabled" "$(state)"
serves
is "runs as" altiplano "$(machine stat -c %U "/proc/$(pid)")"
is "its directory" "750 altiplano altiplano" "$(machine stat -c '%a %U %G' /var/lib/altiplano)"
is "its socket" root@localhost "$(machine altiplano sql -S /run/altiplano/altiplano.sock -N -e 'SELECT USER()')"
is "what systemd says of the unit" "" "$(machine systemd-analyze verify /usr/lib/systemd/system/altiplano.service 2>&1)"
answer "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1), (2)" >/dev/null
rows() { serves && answer 'SELECT COUNT(*) FROM d.t'; }

is "another user at the socket" "1045 28000" "$(machine su -s /bin/sh nobody -c "altiplano sql -S /run/altiplano/altiplano.sock -u stranger -e 'DO 1'" 2>&1 | sed -n 's/^ERROR \([0-9]*\) (\([0-9]*\)).*/\1 \2/p')"

before=$(pid)
machine systemctl kill -s KILL altiplano
for _ in $(seq 100); do [ "$(pid)" != 0 ] && [ "$(pid)" != "$before" ] && break; sleep 0.2; done
is "started again after kill -9, with its rows" 2 "$(rows)"

machine sh -c 'printf "max_connections = 77\n" >>/etc/altiplano/altiplano.toml'
machine systemctl restart altiplano
serves
is "a changed setting" 77 "$(answer 'SELECT @@max_connections')"
podman restart -t 60 machine >/dev/null 2>&1
patiently machine systemctl is-active multi-user.target || die "systemd does not come up again"
is "rows after a restart of the machine" 2 "$(rows)"
is "redo after it: the machine let it end" none "$(machine journalctl -u altiplano -o cat --no-pager | grep recovery: || echo none)"

before=$(pid)
put 0.1.1
is "upgraded" "0.1.1 active enabled" "$(machine dpkg-query -W -f '${Version}' altiplano) $(state)"
is "rows after an upgrade" 2 "$(rows)"
[ "$(pid)" != "$before" ] || die "the old server goes on"
say "ok: another process than before"
is "settings kept, the new ones beside them" "77 yes" "$(answer 'SELECT @@max_connections') $(there /etc/altiplano/altiplano.toml.dpkg-dist)"

# It cannot start: whoever starts it is told, and so is the upgrade. Then what was wrong is mended.
machine sh -c 'echo "prot = 1" >>/etc/altiplano/altiplano.toml'
is "a start that fails is told" failed "$(machine systemctl restart altiplano 2>/dev/null && echo started || echo failed)"
machine sed -i '/^prot/d' /etc/altiplano/altiplano.toml
quietly "systemctl restart altiplano"
is "started is who serves" 2 "$(answer 'SELECT COUNT(*) FROM d.t')"

quietly "systemctl disable --now altiplano"
put 0.1.2
is "upgraded where it is disabled" "inactive disabled" "$(state || true)"
quietly "systemctl enable --now altiplano"

quietly "apt-get remove -qy altiplano"
is "removed" "inactive no yes yes" "$(machine systemctl is-active altiplano || true) $(there /usr/bin/altiplano) $(there /etc/altiplano/altiplano.toml) $(there /var/lib/altiplano/data)"
put 0.1.2
is "installed again" "active enabled" "$(state)"
is "rows, and settings" "2 77" "$(rows) $(answer 'SELECT @@max_connections')"

quietly "apt-get purge -qy altiplano"
is "purged: settings, data, user, link" "no yes yes no" "$(there /etc/altiplano) $(there /var/lib/altiplano/data) $(machine getent passwd altiplano >/dev/null && echo yes) $(there '/etc/systemd/system/multi-user.target.wants/altiplano.service -o -L /etc/systemd/system/multi-user.target.wants/altiplano.service')"
put 0.1.0
is "installed on data that stayed" "active enabled 2" "$(state) $(rows)"
quietly "apt-get remove -qy altiplano && rm -r /var/lib/altiplano && apt-get purge -qy altiplano"
is "purged without data: directory, user" "no no" "$(there /var/lib/altiplano) $(machine getent passwd altiplano >/dev/null && echo yes || echo no)"
is "what is left in /etc" "" "$(machine find /etc -name '*altiplano*')"

# A system that is being made: nothing runs, and it is enabled for when it does.
from=$(buildah from --pull-never "$image")
buildah run --isolation chroot -v "$work/debs:/debs:ro" "$from" -- sh -ec 'dpkg -i /debs/altiplano_0.1.0.deb
    [ -L /etc/systemd/system/multi-user.target.wants/altiplano.service ]
    [ ! -e /var/lib/altiplano/data ]
    apt-get purge -qy altiplano
    [ -z "$(getent passwd altiplano)" ]
    [ ! -L /etc/systemd/system/multi-user.target.wants/altiplano.service ]' >"$work/offline.log" 2>&1 || die "offline: $(tail -3 "$work/offline.log")"
buildah rm "$from" >/dev/null
say "ok: installed and purged where no systemd runs"
say "all of it, by $(command podman --version), systemd $(buildah run --isolation chroot "$(buildah from --pull-never "$image")" -- systemctl --version | awk 'NR == 1 { print $2 }')"
