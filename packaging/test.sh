#!/usr/bin/env bash
# Installs missing packages, builds everything and runs the whole test suite, with a display of its own.
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

say "Starting a display for the window tests"
work=$(mktemp -d)
Xvfb -displayfd 3 -screen 0 1600x1000x24 -nolisten tcp 3>"$work/display" >"$work/xvfb.log" 2>&1 &
xvfb=$!
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 100); do
    [ -s "$work/display" ] && break
    kill -0 "$xvfb" 2>/dev/null || { cat "$work/xvfb.log" >&2; die "Xvfb did not start."; }
    sleep 0.1
done
[ -s "$work/display" ] || die "Xvfb did not say which display it serves."
export DISPLAY=":$(cat "$work/display")"
unset WAYLAND_DISPLAY
openbox >"$work/openbox.log" 2>&1 &

say "Running the tests on display $DISPLAY"
# Windows and worker processes share the cores with each other here: a test gets a second try, its first failure is printed.
status=0
ctest --test-dir "$build" --output-on-failure --repeat until-pass:2 -j "$(nproc)" "${selection[@]}" "$@" || status=$?
[ $status -eq 0 ] && say "All tests passed" || say "Tests failed; their output is above"
exit $status
