#!/usr/bin/env bash
# Installs missing packages, builds everything and runs the whole test suite. Tests with windows start a virtual display.
#   packaging/test.sh            all tests
#   packaging/test.sh --fast     without those labelled `long`
#   further arguments go to ctest, for instance: packaging/test.sh -R config
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

selection=()
[ "${1:-}" = --fast ] && { selection=(-LE long); shift; }

announce 90 2 "runs the tests"
packages_for=tests
install_packages
configure -DVERGENCE_BUILD_TESTS=ON
build_targets all

say "Running the tests"
status=0
logged tests ctest --test-dir "$build" --output-on-failure -j "$(nproc)" "${selection[@]}" "$@" || status=$?
if [ $status -eq 0 ]; then
    say "All tests passed"
else
    say "Tests failed; their output is above and in the log to send when you ask for help: $logs/tests.log"
fi
exit $status
