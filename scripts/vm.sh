#!/usr/bin/env bash
# Runs a command of this machine under another Linux and on other numbers of processors, in a virtual machine.
#
#   scripts/vm.sh --kernel linux-image-6.1.0-50-amd64_….deb [--processors 8] [--memory 8G] [--disk 8G] [--minutes 60] -- COMMAND ARGUMENTS…
#
# The guest has this machine's files (read only, what it writes is gone with it), no network but its own loopback, and an empty ext4 on a disk of its own at /disk, which TMPDIR names.
# So programs are built here and run there: `cargo test --no-run` names the tests' programs. Without a KVM for guests of any kind (a machine that is a guest itself) all instructions are
# emulated, which takes twenty times as long, and more processors than the machine has take turns: nothing here says anything of speed, but much of what threads, posts and latches do when
# they are many, and of what a kernel has not. The exit code is the command's.
# Needs qemu-system-x86, busybox-static, kmod, cpio, e2fsprogs, dpkg-deb and root. Kernels are Debian's packages: `apt-get download linux-image-…-amd64`.
set -euo pipefail

usage() { sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 2; }
kernel= processors=2 memory=8G disk=8G minutes=60
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    [ $# -ge 2 ] || usage
    case $1 in
        --kernel) kernel=$2 ;;
        --processors) processors=$2 ;;
        --memory) memory=$2 ;;
        --disk) disk=$2 ;;
        --minutes) minutes=$2 ;;
        *) usage ;;
    esac
    shift 2
done
[ $# -ge 2 ] && [ -f "$kernel" ] || usage
shift

work=$(mktemp -d /var/tmp/altiplano-vm.XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT
dpkg-deb -x "$kernel" "$work/package"
image=$(echo "$work"/package/boot/vmlinuz-*)
version=${image##*/vmlinuz-}
# Newer packages have their modules below usr/.
modules=$(echo "$work"/package/lib/modules "$work"/package/usr/lib/modules | tr ' ' '\n' | while read -r it; do [ ! -d "$it/$version" ] || echo "$it"; done)
root="$work/initramfs"
mkdir -p "$root"/{bin,proc,sys,dev,host,upper,root,lib/modules}
cp "$(command -v busybox)" "$root/bin/busybox"
mkdir -p "$work/depmod/lib"
ln -s "$modules" "$work/depmod/lib/modules"
depmod -b "$work/depmod" "$version"
# What the guest needs to see its files and its disk, each behind what it depends on.
wanted=(virtio_pci virtio_blk 9pnet_virtio 9p overlay ext4 crc32c_generic)
for module in "${wanted[@]}"; do
    modprobe -d "$work/depmod" -S "$version" --show-depends "$module" 2>/dev/null | sed -n 's/^insmod \([^ ]*\).*/\1/p' || true
done | awk '!seen[$0]++' >"$work/order"
: >"$root/order"
while read -r module; do
    name=$(basename "$module")
    case $name in
        *.xz) xz -dc "$module" >"$root/lib/modules/${name%.xz}" ;;
        *.zst) zstd -qdc "$module" >"$root/lib/modules/${name%.zst}" ;;
        *) cp "$module" "$root/lib/modules/$name" ;;
    esac
    echo "/lib/modules/$(echo "$name" | sed 's/\.xz$//; s/\.zst$//')" >>"$root/order"
done <"$work/order"
printf '%q ' "$@" >"$root/command"
pwd >"$root/directory"
cat >"$root/init" <<'INIT'
#!/bin/busybox sh
bb=/bin/busybox
$bb mount -t proc proc /proc
$bb mount -t sysfs sys /sys
$bb mount -t devtmpfs dev /dev
while read module; do $bb insmod $module || echo "vm: $module did not load"; done </order
$bb mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose host /host || echo "vm: no files"
$bb mount -t tmpfs -o size=1G upper /upper
$bb mkdir /upper/files /upper/work
$bb mount -t overlay -o lowerdir=/host,upperdir=/upper/files,workdir=/upper/work root /root || echo "vm: no root"
for it in proc sys dev; do $bb mount --move /$it /root/$it; done
$bb mkdir -p /root/disk /root/dev/shm /root/dev/pts
$bb mount -t tmpfs shm /root/dev/shm
$bb mount -t devpts pts /root/dev/pts
$bb mount -t tmpfs run /root/run
$bb mount -t ext4 /root/dev/vda /root/disk || echo "vm: no disk"
$bb cp /command /directory /root/run/
$bb cat >/root/run/go <<'GO'
export TMPDIR=/disk HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ip link set lo up 2>/dev/null || busybox ip link set lo up
ulimit -n 1048576
cd "$(cat /run/directory)"
echo "vm: Linux $(uname -r), $(nproc) processors"
bash /run/command
echo "vm: exit $?"
GO
$bb chroot /root /bin/bash /run/go </root/dev/null >/root/dev/ttyS1 2>&1
$bb sync
$bb poweroff -f
INIT
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initrd"
truncate -s "$disk" "$work/disk"
mkfs.ext4 -q -F "$work/disk"

# A KVM without the processor's own support runs only kernels that are made for it.
if grep -qwE 'svm|vmx' /proc/cpuinfo && [ -w /dev/kvm ]; then machine=(-accel kvm -cpu host); else machine=(-accel tcg,thread=multi -cpu max); fi
timeout "$((minutes * 60))" qemu-system-x86_64 "${machine[@]}" -machine q35 -smp "$processors" -m "$memory" -no-reboot -display none -monitor none -net none \
    -kernel "$image" -initrd "$work/initrd" -append "console=ttyS0 panic=-1" \
    -serial "file:$work/console" -serial stdio \
    -fsdev local,id=host,path=/,security_model=none,readonly=on,multidevs=remap -device virtio-9p-pci,fsdev=host,mount_tag=host \
    -drive "file=$work/disk,if=virtio,format=raw,cache=writeback,discard=unmap" 2>"$work/qemu" </dev/null | stdbuf -o0 tr -d '\r' | tee "$work/said" || true
code=$(sed -n 's/^vm: exit \([0-9]*\)$/\1/p' "$work/said" | tail -1)
if [ -z "$code" ]; then
    echo "vm: it did not come to an end; the console's last lines:" >&2
    tail -n 5 "$work/console" "$work/qemu" >&2
    exit 1
fi
exit "$code"
