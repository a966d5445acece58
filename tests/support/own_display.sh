#!/usr/bin/env bash
# own_display.sh COMMAND…   runs COMMAND on a virtual display of its own, with a window manager: tests that run side by
# side share neither pointer nor focus. With VERGENCE_TEST_DISPLAY set, COMMAND is shown on that display instead.
set -u

if [ -n "${VERGENCE_TEST_DISPLAY:-}" ]; then
    DISPLAY=$VERGENCE_TEST_DISPLAY exec "$@"
fi
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$work"' EXIT
fail() { echo "own_display.sh: $1" >&2; cat "$work"/*.log >&2; exit 1; }
# wait_for FILE PROCESS: until the file has been written; false where the process ended or 30 s have gone by.
wait_for() {
    for _ in $(seq 600); do
        [ -s "$1" ] && return 0
        kill -0 "$2" 2>/dev/null || return 1
        sleep 0.05
    done
    return 1
}

Xvfb -displayfd 3 -screen 0 1600x1000x24 -nolisten tcp 3>"$work/display" >"$work/xvfb.log" 2>&1 &
wait_for "$work/display" $! || fail "Xvfb did not start."
export DISPLAY=":$(cat "$work/display")"
unset WAYLAND_DISPLAY
openbox --startup "sh -c 'echo ready >$work/ready'" >"$work/openbox.log" 2>&1 &
wait_for "$work/ready" $! || fail "openbox did not start."

"$@"
