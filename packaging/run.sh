#!/usr/bin/env bash
# Installs missing packages, builds, and opens Vergence Studio on its start page. Without a display it runs the demo of the
# light-field lab in the terminal and prints run folder and ZIP. Arguments go to vergence-studio. README.md in this folder
# names the variables that it heeds.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

display=${DISPLAY:-}${WAYLAND_DISPLAY:-}
announce 60 1 "$([ -n "$display" ] && echo "opens the window" || echo "runs the demo of the light-field lab in the terminal")"
install_packages
configure
build_targets studio

if [ -n "$display" ]; then
    say "Opening the window"
    exec "$build/bin/vergence-studio" "$@"
fi

say "No display: running the demo of the light-field lab in the terminal"
runs=$top/runs
[ -w "$top" ] || runs=$build/runs
run=$("$build/bin/vergence" run light_field --preset demo --runs-dir "${VERGENCE_RUNS:-$runs}") ||
    die "the demo run failed with exit code $?; the lines above say why."
zip=$("$build/bin/vergence" export zip "$run") || die "the ZIP could not be written."
printf 'Run folder: %s\nZIP: %s\n' "$run" "$zip"
