#!/usr/bin/env bash
# Installs missing packages, builds everything and runs the whole test suite. Tests with windows start a virtual display.
#   packaging/test.sh            all tests
#   packaging/test.sh --fast     without those labelled `long`
#   further arguments go to ctest, for instance: packaging/test.sh -R config
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

selection=()
[ "${1:-}" = --fast ] && { selection=(-LE long); shift; }

install_packages
configure -DVERGENCE_BUILD_TESTS=ON
build_targets all

say "Running the tests"
status=0
ctest --test-dir "$build" --output-on-failure -j "$(nproc)" "${selection[@]}" "$@" || status=$?
[ $status -eq 0 ] && say "All tests passed" || say "Tests failed; their output is above"
exit $status
