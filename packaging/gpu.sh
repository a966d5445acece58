#!/usr/bin/env bash
# Verifies and measures a GPU, without a window: builds the headless part with CUDA, runs its tests with a GPU required, then the
# benchmarks of the tensor engine on it, beside PyTorch where python3 has that. Installs nothing.
#   packaging/gpu.sh FOLDER      FOLDER receives device.txt, tests.log, tests.xml and engine_*.json, engine.md
set -euo pipefail
[ $# -eq 1 ] || { sed -n '2,4p' "$0" >&2; exit 2; }
results=$(mkdir -p "$1" && cd "$1" && pwd)
VERGENCE_BUILD_DIR=${VERGENCE_BUILD_DIR:-build/gpu}
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

nvidia-smi >"$results/device.txt" 2>&1 || die "nvidia-smi names no GPU; without one packaging/test.sh tests all that can be."
configure -DVERGENCE_BUILD_STUDIO=OFF -DVERGENCE_BUILD_TESTS=ON
build_targets all

say "Running the tests; a GPU is required"
status=0
VERGENCE_REQUIRE_CUDA=1 ctest --test-dir "$build" -j "$(nproc)" --output-on-failure --output-junit "$results/tests.xml" \
    >"$results/tests.log" 2>&1 || status=$?
tail -n 30 "$results/tests.log" >&2

say "Measuring"
for part in dense ops attention vit; do
    "$build/bin/bench/bench_engine_$part" --device=cuda --benchmark_format=json >"$results/engine_$part.json" || status=1
done
if python3 -c 'import torch' 2>/dev/null; then
    python3 tests/bench/compare.py "$build/bin/bench" --device cuda --rounds 2 >"$results/engine.md" || status=1
fi
say "Results lie in $results"
exit $status
