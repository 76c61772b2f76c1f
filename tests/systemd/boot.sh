#!/usr/bin/env bash
# boot.sh ROOT FILES BUILD SOURCE over|whole: becomes the systemd of a box, as process 1 of namespaces of
# its own (mount, pid, uts, ipc, net, cgroup), which box.py made.
#
# over: the box is a tmpfs at ROOT: the host's /usr with the tree FILES over it, an empty /etc, /var and
# /run. It writes nothing outside. whole: it is the system that FILES has, which it writes. Either has
# BUILD and SOURCE to look at in /box, and goes with its process 1.
set -euo pipefail
root=$1 files=$2 build=$3 source=$4 how=$5

over() {
  mount -t tmpfs -o mode=0755 gard-box "$root"
  cd "$root"
  mkdir -p usr etc/systemd/system var/lib var/log run proc sys dev root box/build box/source \
    .over/upper .over/work .host
  mkdir -m 1777 tmp var/tmp
  for other in "$files"/*; do
    [ "$other" = "$files/usr" ] || cp -a "$other" .
  done
  mount -t overlay -o "lowerdir=$files/usr:/usr,upperdir=$root/.over/upper,workdir=$root/.over/work" gard-box usr
  for link in bin sbin lib lib32 lib64 libx32; do
    [ -L "/$link" ] && ln -s "usr/$link" "$link"
  done
  echo 'root:x:0:0:root:/root:/bin/sh' >etc/passwd
  echo 'root:x:0:' >etc/group
  echo 'passwd: files' >etc/nsswitch.conf
  echo 'group: files' >>etc/nsswitch.conf
  cp /etc/ld.so.cache etc/
}

whole() {
  mount --bind "$files" "$root"
  cd "$root"
  mkdir -p box/build box/source .host
}

mount --make-rprivate /
"$how"
# Where the host is a container, its image may forbid that packages start services.
rm -f usr/sbin/policy-rc.d
mount --bind "$build" box/build
mount --bind "$source" box/source
mount -o remount,bind,ro box/build
mount -o remount,bind,ro box/source

: >etc/machine-id
# What gard's dependencies need is there; what a whole machine starts beside it is not.
ln -sf /usr/lib/systemd/system/basic.target etc/systemd/system/default.target

mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=0755 dev dev
mkdir dev/pts dev/shm
for node in null zero full random urandom tty cpu_dma_latency; do
  if [ -e "/dev/$node" ]; then
    cp -a "/dev/$node" dev/
  fi
done
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=1777 shm dev/shm
mount -t tmpfs -o mode=0755 run run

pivot_root . .host
cd /
umount -l /.host
exec env -i container=gard-box PATH=/usr/sbin:/usr/bin LANG=C.UTF-8 \
  /usr/lib/systemd/systemd --system --log-target=journal --show-status=no
