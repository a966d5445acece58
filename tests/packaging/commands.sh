#!/usr/bin/env bash
# The README's two commands where something is in the way. A tree of a few lines stands in for the studio's, with a space in its
# path and no history; its packages are there.
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
room=$(mktemp -d)
trap 'chmod -R u+w "$room"; rm -rf "$room"' EXIT
chmod 755 "$room"
tree="$room/a tree"
mkdir -p "$room/bin" "$room/disk" "$room/elsewhere" "$tree"
chmod 777 "$room/elsewhere"
cp -r "$source_dir/packaging" "$tree/"
printf '#!/bin/sh\necho "$*"\n' >"$tree/vergence"
chmod +x "$tree/vergence"
cat >"$tree/CMakeLists.txt" <<'TREE'
cmake_minimum_required(VERSION 3.25)
project(Tree LANGUAGES NONE)
if(DEFINED ENV{NEED})
    message(FATAL_ERROR "$ENV{NEED} was not found")
endif()
add_custom_target(studio ALL
    COMMAND sh -c "eval \"$BUILD\""
    COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/vergence bin/vergence
    VERBATIM)
enable_testing()
add_test(NAME outcome COMMAND sh -c "$OUTCOME")
TREE
stand_in() { printf '#!/bin/sh\n%s\n' "$2" >"$room/bin/$1"; chmod +x "$room/bin/$1"; }
stand_in apt-get 'exit 1'
stand_in dpkg-query 'printf "install ok installed"'
# Free kilobytes: $FREE when they are asked for first, then the truth.
stand_in df "[ -n \"\$FREE\" ] && mkdir '$room/asked' 2>&- || exec $(command -v df) \"\$@\"
echo; echo - 0 0 \$FREE"

export PATH=$room/bin:$PATH VERGENCE_WITH_CUDA=OFF VERGENCE_BUILD_DIR="" BUILD=true OUTCOME=true FREE=9000000
unset DISPLAY WAYLAND_DISPLAY VERGENCE_RUNS CMAKE_BUILD_PARALLEL_LEVEL
cd "$tree"
. "$source_dir/tests/packaging/expect.sh"
forget() { [ ! -e "$room/asked" ] || rmdir "$room/asked"; }
logs="$tree/build/release/logs"

expect "what will be done" 0 "builds in $tree/build/release (at most" packaging/run.sh
expect "the demo" 0 "ZIP: export zip run light_field --preset demo --runs-dir $tree/runs" packaging/run.sh
expect "all is well" 0 "All tests passed" packaging/test.sh
NEED=oneDNN expect "oneDNN is missing" 1 "oneDNN was not found" packaging/run.sh
NEED=oneDNN expect "its log" 1 "$logs/configure.log" packaging/run.sh
BUILD=false expect "the build fails" 1 "help: $logs/build.log" packaging/test.sh
BUILD="echo c++: fatal error: Killed signal terminated program cc1plus; false" \
    expect "no memory" 1 "Memory ran out" packaging/run.sh
BUILD="echo ld: final link failed: No space left on device; false" \
    expect "no room elsewhere" 1 "A disk is full" packaging/run.sh
OUTCOME="exit 3" expect "a test fails" 8 "help: $logs/tests.log" packaging/test.sh
FREE=700000 expect "too little room" 1 "needs 1 GB" packaging/run.sh

# A file system of its own, without being root, where the kernel lets users have one.
small_disk() {
    unshare --map-root-user --mount sh -c 'mount -t tmpfs -o size=4m tmpfs "$0" && exec "$@"' "$room/disk" "$@"
}
if small_disk true 2>/dev/null; then
    export VERGENCE_BUILD_DIR=$room/disk/build
    FREE="" expect "a small disk" 1 "make room, or set VERGENCE_BUILD_DIR" small_disk packaging/test.sh
    BUILD="head -c 9000000 /dev/zero >zeros" expect "the disk fills up" 1 "A disk is full" small_disk packaging/run.sh
    export VERGENCE_BUILD_DIR=""
else
    echo "skipped: a small disk; this system lets nobody mount one here"
fi

# Root may write everywhere, so nobody tries instead.
as_user=()
[ "$(id -u)" -ne 0 ] || as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$room/elsewhere")
rm -rf "$tree/build"
chmod -R a-w "$tree"
expect "read-only" 1 "set VERGENCE_BUILD_DIR" "${as_user[@]}" packaging/run.sh
VERGENCE_BUILD_DIR=$room/elsewhere/build \
    expect "read-only, built elsewhere" 0 "--runs-dir $room/elsewhere/build/runs" "${as_user[@]}" packaging/run.sh
chmod -R u+w "$tree"

# within FUNCTION ARGUMENT...: a function of common.sh on a machine with four cores and $MEMORY megabytes.
within() {
    bash -c 'set -euo pipefail; . packaging/common.sh
        nproc() { echo 4; }
        [ -z "${MEMORY+x}" ] || available_megabytes() { echo "$MEMORY"; }
        "$@"' within "$@"
}
MEMORY=64000 expect "memory for all cores" 0 4 within build_jobs
MEMORY=4000 expect "memory for two" 0 "4000 MB of memory are available: 2 of 4" within build_jobs
MEMORY="" expect "memory that nobody tells" 0 4 within build_jobs
MEMORY=900 expect "memory for none" 0 "1 of 4" within build_jobs

expect "no /proc" 0 "" within available_megabytes "$room"
machine=$room/machine
mkdir -p "$machine/proc/self" "$machine/sys/fs/cgroup/user/shell" "$machine/sys/fs/cgroup/memory"
echo "MemAvailable: 8192000 kB" >"$machine/proc/meminfo"
echo "0::/user/shell" >"$machine/proc/self/cgroup"
expect "no limit" 0 8000 within available_megabytes "$machine"
echo max >"$machine/sys/fs/cgroup/user/shell/memory.max"
echo $((3000 << 20)) >"$machine/sys/fs/cgroup/user/memory.max"
expect "a limit above" 0 3000 within available_megabytes "$machine"
printf '%s\n' "4:cpu,memory:/docker/0" "0::/" >"$machine/proc/self/cgroup"
echo 9223372036854771712 >"$machine/sys/fs/cgroup/memory/memory.limit_in_bytes"
expect "version 1, no limit" 0 8000 within available_megabytes "$machine"
echo $((2000 << 20)) >"$machine/sys/fs/cgroup/memory/memory.limit_in_bytes"
expect "version 1, a limit" 0 2000 within available_megabytes "$machine"

steps() {
    for i in $(seq 1000); do echo "[$i/1000 $((i / 2)).5] Building"; done
    echo "a warning"
}
expect "time that is left" 0 "500 of 1000 steps, about 5 min left" within show_progress < <(steps)
expect "what is no step" 0 "a warning" within show_progress < <(steps)
[ "$(steps | within show_progress 2>&1 | wc -l)" -eq 21 ] || { echo "FAIL steps: not every twentieth part"; failures=1; }
exit $failures
