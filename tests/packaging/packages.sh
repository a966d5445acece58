#!/usr/bin/env bash
# Which packages are asked for on systems that are not here: apt-get, apt-cache and dpkg-query are stand-ins.
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
mkdir -p "$room/bin" "$room/tree/packaging"
cp "$source_dir"/packaging/*.sh "$room/tree/packaging/"
cat >"$room/tree/packaging/debian-packages.txt" <<'LIST'
# comment
g++ : sh                      # compiler
qt6-charts-dev | old-charts   # charts
old-opengl | qt6-base-dev     # OpenGL widget
camera2 | camera1             # optional: cameras
queue                         # tests: a queue
daemon                        # tests, a service: another computer
LIST
stand_in() { printf '#!/bin/sh\n%s\n' "$2" >"$room/bin/$1"; chmod +x "$room/bin/$1"; }
stand_in apt-get 'echo "$*" >>"$ROOM/calls"
case "$*" in
    "${BROKEN:-nothing}"*) exit 1 ;;
    *--print-uris*) printf "place %s %s sum\n" a 3100000 b 900000 ;;
esac'
stand_in apt-cache 'grep -qx "$2" "$ROOM/known" && echo "Package: $2" && exit
[ "$2" = "${provided:-}" ] && echo "Package: provider"'
stand_in dpkg-query 'grep -qx "$3" "$ROOM/installed" && printf "install ok installed"'
stand_in id 'cat "$ROOM/uid"'
echo 0 >"$room/uid"
services=false

failures=0
# expect TITLE KNOWN INSTALLED WANTED-STATUS WANTED-PACKAGES WANTED-WORDS
expect() {
    printf '%s\n' $2 >"$room/known"
    printf '%s\n' $3 >"$room/installed"
    : >"$room/calls"
    local status=0 output asked
    output=$(ROOM=$room provided=${provided:-} packages_for=${packages_for:-} PATH=$room/bin:$PATH bash -c 'set -euo pipefail; . "$ROOM/tree/packaging/common.sh"; begins_services() { '"$services"'; }; install_packages' 2>&1) || status=$?
    asked=$(sed -n 's/^install -y --no-install-recommends //p' "$room/calls")
    if [ "$status" != "$4" ] || [ "$asked" != "$5" ] || [[ $output != *"$6"* ]]; then
        printf 'FAIL %s: status %s, asked for "%s", said: %s\n' "$1" "$status" "$asked" "$output"
        failures=1
    fi
}
older="g++ old-charts old-opengl qt6-base-dev camera1"
newer="g++ qt6-charts-dev qt6-base-dev camera2"
expect "older system" "$older" "" 0 "g++ old-charts old-opengl camera1" "Installing 4"
expect "newer system" "$newer" "" 0 "g++ qt6-charts-dev qt6-base-dev camera2" "Installing 4"
provided=old-opengl expect "provided by another" "$newer" "$newer" 0 "" "All packages are installed"
expect "size" "$newer" "" 0 "g++ qt6-charts-dev qt6-base-dev camera2" "(4 MB to download)"
expect "half is there" "$older" "g++ qt6-base-dev camera1" 0 "old-charts old-opengl" "Installing 2"
expect "all is there" "$newer" "$newer" 0 "" "All packages are installed"
expect "all is there, lists are not" "" "$newer" 0 "" "All packages are installed"
expect "no cameras" "g++ old-charts old-opengl" "" 0 "g++ old-charts old-opengl" "optional: cameras; that will be absent"
packages_for=tests expect "tests" "$newer queue daemon" "" 0 "g++ qt6-charts-dev qt6-base-dev camera2 queue daemon" "Installing 6"
packages_for=tests services=true expect "tests where services begin" "$newer queue daemon" "" 0 "g++ qt6-charts-dev qt6-base-dev camera2 queue" "Installing 5"
packages_for=tests expect "tests without a queue" "$newer daemon" "" 0 "g++ qt6-charts-dev qt6-base-dev camera2 daemon" "for tests: a queue; that will be absent"
expect "no tests" "$newer queue daemon" "" 0 "g++ qt6-charts-dev qt6-base-dev camera2" "Installing 4"
expect "no charts" "g++ old-opengl camera1" "" 1 "" "no package for: qt6-charts-dev (charts)"
BROKEN=update expect "no network" "$newer" "" 1 "" "build/release/logs/packages.log"
BROKEN=install expect "no room" "$newer" "g++ qt6-base-dev camera2" 1 "qt6-charts-dev" "build/release/logs/packages.log"
if ! command -v sudo >/dev/null; then
    echo 1000 >"$room/uid"
    expect "no right to install" "$newer" "g++" 1 "" "As root: apt-get install qt6-charts-dev qt6-base-dev camera2"
    expect "no right, no lists" "" "g++" 1 "" "As root: apt-get install old-charts qt6-base-dev camera1"
fi

# Systems without apt-get are told what to look for.
cat >"$room/tree/packaging/debian-packages.txt" <<'LIST'
g++     : sh no-such-program        # compiler
spdlog  : no-such-package.pc        # log
libgif  : cstddef no/such/header.h  # GIF
LIST
output=$(PATH=$room/bin:$PATH ROOM=$room bash -c 'set -euo pipefail
    command() { [ "$2" != apt-get ] && builtin command "$@"; }
    . "$ROOM/tree/packaging/common.sh"; install_packages; echo "goes on"' 2>&1)
for words in "found +sh +compiler" "missing +no-such-program +compiler" "missing +no-such-package.pc +log" \
    "missing +no/such/header.h +GIF" "goes on"; do
    grep -Eq "$words" <<<"$output" || { printf 'FAIL no apt-get: no "%s" in: %s\n' "$words" "$output"; failures=1; }
done

# What the list says of each package is true of those that are installed here.
if command -v dpkg-query >/dev/null; then
    cd "$source_dir"
    VERGENCE_BUILD_DIR=$room/build
    . packaging/common.sh
    check_files() {
        local file
        first_where is_installed $1 >/dev/null || return 0
        for file in $3; do is_found "$file" || { echo "FAIL $1 does not bring $file"; failures=1; }; done
    }
    each_package check_files
fi
exit $failures
