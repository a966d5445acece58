#!/usr/bin/env bash
# Tries the README's two commands on systems that are not here: each in a bare root of its own, on a fresh clone of HEAD, without
# a display. Prints a table for README.md in this folder; fails where a command fails.
#   packaging/matrix.sh [SYSTEM...]     debian12, debian13; all of them where none is named
# Roots, logs, and the compiler caches that the next try uses again lie in $VERGENCE_MATRIX_DIR, else in /var/tmp/vergence-matrix.
# Packages come from where this system gets its own, or from $VERGENCE_PACKAGE_SOURCE. Needs root and debootstrap.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
place=${VERGENCE_MATRIX_DIR:-/var/tmp/vergence-matrix}
say() { printf '\n== %s\n' "$*" >&2; }
die() { printf '\nVergence Studio: %s\n' "$*" >&2; exit 1; }

suite_of() {
    case $1 in
        debian12) echo bookworm ;;
        debian13) echo trixie ;;
        *) die "no system is called $1; there are debian12 and debian13." ;;
    esac
}

# make_root SYSTEM: what a new user's system has: the least that Debian calls a system, and git.
make_root() {
    local suite root=$place/$1/root
    suite=$(suite_of "$1")
    rm -rf --one-file-system "$root"
    mkdir -p "$root" "$place/$1/ccache"
    debootstrap --variant=minbase --include=git,ca-certificates "$suite" "$root" "$source" >&2 || die "debootstrap could not make $root."
    echo "deb $source $suite main" >"$root/etc/apt/sources.list"
    apt-config dump 2>/dev/null | grep -E '^Acquire::(https?|Retries)' >"$root/etc/apt/apt.conf.d/90-host" || true
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
    mkdir -p "$root/root/.cache/ccache"
    git clone -q "$top" "$root/home/vergence"
}

# inside SYSTEM COMMAND...: runs it in the clone. Mounts and processes live in namespaces that end with it, so that none is left.
inside() {
    # shellcheck disable=SC2016
    unshare --mount --pid --fork --kill-child bash -euc '
        mount -t proc proc "$0/root/proc"
        mount -t tmpfs tmpfs "$0/root/dev/shm"
        mount --bind /dev/pts "$0/root/dev/pts"
        mount --bind "$0/ccache" "$0/root/root/.cache/ccache"
        exec chroot "$0/root" env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin \
            sh -c "cd /home/vergence && exec \"\$@\"" sh "$@"' "$place/$1" "${@:2}" </dev/null
}

# timed SYSTEM NAME: how many minutes NAME.sh takes; its output is seen, and kept in NAME.log.
timed() {
    local status=0 begin=$SECONDS
    inside "$1" "packaging/$2.sh" 2>&1 | tee "$place/$1/$2.log" >&2 || status=$?
    echo $(((SECONDS - begin + 30) / 60))
    return $status
}

# shellcheck disable=SC2016
version_of() { inside "$1" dpkg-query -W -f='${Version}' "$2" 2>/dev/null | sed 's/^[0-9]*://; s/[-+].*//' || echo none; }

try() {
    local run=none test=none result=passed
    say "$1: making a root in $place/$1"
    make_root "$1"
    if ! run=$(timed "$1" run); then
        result="run.sh failed"
    elif ! test=$(timed "$1" test); then
        result="test.sh failed"
    fi
    printf '| %s | %s | %s | %s | %s | %s | %s |\n' "$1" "$(inside "$1" g++ -dumpfullversion 2>/dev/null || echo none)" \
        "$(version_of "$1" libdnnl-dev)" "$(version_of "$1" qt6-base-dev)" "$run" "$test" "$result" >>"$table"
    if [ "$result" = passed ]; then
        rm -rf --one-file-system "$place/$1/root"
    else
        say "$1: $result; root and logs lie in $place/$1"
        failures=1
    fi
}

[ $# -gt 0 ] || set -- debian12 debian13
for system in "$@"; do suite_of "$system" >/dev/null; done
[ "$(id -u)" -eq 0 ] || die "roots are made by root; start this with sudo."
command -v debootstrap >/dev/null || die "roots are made by debootstrap: apt-get install debootstrap."
# shellcheck disable=SC2016
source=${VERGENCE_PACKAGE_SOURCE:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' 2>/dev/null |
    sed -n 1p)} || true
[ -n "$source" ] || die "this system has no package source of Debian; VERGENCE_PACKAGE_SOURCE names one."

mkdir -p "$place"
table=$place/table.md
printf '%s\n' "| system | compiler | oneDNN | Qt | run.sh (min) | test.sh (min) | result |" "|---|---|---|---|---|---|---|" >"$table"
failures=0
for system in "$@"; do try "$system"; done
cat "$table"
exit $failures
