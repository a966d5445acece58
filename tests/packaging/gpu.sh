#!/usr/bin/env bash
# packaging/gpu.sh with a tree of a few lines in the place of the studio's and programs that stand in for those of a GPU's computer.
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
tree="$room/a tree"
mkdir -p "$room/bin" "$tree/tests/bench"
cp -r "$source_dir/packaging" "$tree/"
cat >"$tree/CMakeLists.txt" <<'TREE'
cmake_minimum_required(VERSION 3.25)
project(Tree LANGUAGES NONE)
add_custom_target(programs ALL
    COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/vergence bin/vergence
    COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/bench bin/bench/bench_engine_ops
    COMMAND ${CMAKE_COMMAND} -E copy /bin/true lib/program
    VERBATIM)
enable_testing()
add_test(NAME parity COMMAND sh -c "test \"$VERGENCE_REQUIRE_CUDA\" = 1 && $OUTCOME")
set_tests_properties(parity PROPERTIES LABELS cuda)
add_test(NAME other COMMAND false)
TREE
stand_in() { printf '#!/bin/sh\n%s\n' "$2" >"$1"; chmod +x "$1"; }
stand_in "$room/bin/apt-get" 'exit 1'
stand_in "$room/bin/dpkg-query" 'printf "install ok installed"'
stand_in "$room/bin/nvidia-smi" 'exit 9'
# Two launches of one kernel and one of another, as Nsight Compute prints them.
stand_in "$room/bin/ncu" 'for call in "a(int, int)|4000|80|10" "b<float>()|9000|20|90" "a(int, int)|6000|60|30"; do
    IFS="|"; set -- $call
    for metric in "gpu__time_duration.sum|ns|$2" "sm__throughput.avg.pct|%|$3" "dram__throughput.avg.pct|%|$4"; do
        name=$1; set -- $metric
        printf "\"0\",\"1\",\"bench\",\"host\",\"%s\",\"1\",\"7\",\"(1, 1, 1)\",\"(1, 1, 1)\",\"0\",\"9.0\",\"Metrics\",\"%s\",\"%s\",\"%s\"\n" "$name" "$@"
        set -- $call
    done
done'
stand_in "$tree/vergence" 'case "$1 $2" in
    doctor*) [ -n "$NO_GPU" ] || echo "  cuda: A card, 1 GiB of 2 GiB free" ;;
    "runs show") printf "\nseries  last least\nloss  0.%s 0\n\nartifact role\npicture view\n" "$(basename "$3" | tr -d a-z)5" ;;
    "run sugar") exit 5 ;;
esac'
stand_in "$tree/bench" 'echo {}'

export PATH=$room/bin:$PATH VERGENCE_WITH_CUDA=OFF VERGENCE_GPU_PLACE="$room/the place" NO_GPU="" OUTCOME=true
cd "$tree"
. "$source_dir/tests/packaging/expect.sh"
run() { packaging/gpu.sh run "$room/packed" "$room/results" "$@"; }

expect "no arguments" 2 "pack FILE" packaging/gpu.sh
expect "no such archive" 2 "packed: Cannot open" run tests
expect "packing" 0 "packed: 1 MB" packaging/gpu.sh pack "$room/packed"
rm -rf "$VERGENCE_GPU_PLACE"
unset VERGENCE_GPU_PLACE # the archive knows its place
NO_GPU=1 expect "no GPU" 7 "device.txt says why" run tests
expect "tests" 0 "- tests: passed" run tests
OUTCOME=false expect "tests that fail" 1 "see tests.log" run tests
expect "a lab that fails" 1 "- labs: failed" run labs
expect "its code" 0 "exit code 5" cat "$room/results/labs.log"
expect "numbers beside each other" 0 "| loss | 0.5 | 0.5 |" cat "$room/results/labs.log"
expect "no more of them" 1 "" grep -q picture "$room/results/labs.log"
expect "kernels" 0 "- profile: passed" run profile
expect "their times" 0 "0.010 ms      2 times, cores  70 %, memory  20 %  a(int, int)" cat "$room/results/profile.log"
expect "all steps go on" 1 "- profile: passed" run tests labs profile
expect "the report" 0 "- tests: passed" cat "$room/results/report.md"
exit $failures
