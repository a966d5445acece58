#!/usr/bin/env bash
# Verifies and measures a GPU, without a window. What runs there is built and packed here: the other computer needs a driver,
# CMake and glibc 2.36 or newer; cuBLASLt and cuDNN are found where CUDA, or PyTorch of python3, has brought them.
#   packaging/gpu.sh pack FILE                     builds the headless part for $VERGENCE_CUDA_ARCHITECTURES, or 90, and packs it
#   packaging/gpu.sh run FILE FOLDER [STEP...]     unpacks FILE where it was built, in /tmp/vergence-gpu or $VERGENCE_GPU_PLACE,
#                                                  and takes the steps, each in ten minutes or $VERGENCE_GPU_LIMIT seconds:
#       tests     every test that does the same on the CPU and on a GPU, which is required
#       labs      the demo of each lab on the GPU, with its numbers beside the CPU's
#       benches   tensor engine, rasteriser and labs
#       peers     the same in PyTorch, where python3 has that
#       profile   the kernels that take longest, by Nsight Compute where that may read counters
# FOLDER receives report.md, which says what became of each step, and what the steps leave.
set -euo pipefail
labs="light_field sugar foveated_vlm mc_embedding live_diffusion"
benches="sugar_raster sugar_learning sugar_refine light_field live_diffusion mc_embedding fvlm_encoder"
usage() { sed -n '2,13p' "$0" >&2; exit 2; }

# What the loader takes from packages, but for glibc, whose parts belong together and to the kernel's driver.
libraries() {
    { find "$1/bin" "$1/lib" -type f -exec ldd {} + 2>/dev/null || true; } |
        awk -v own="$1/" '$2 == "=>" && $3 ~ /^\// && index($3, own) != 1 && !taken[$1]++ { print $3 }' |
        sed -E '/\/(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util))\.so\.[0-9]+$/d'
}

# What the steps below start, of a build in build/gpu, and how.
packed_files() {
    local name
    find packaging tests/bench -name '*.sh' -o -name '*.py'
    find build/gpu -name CTestTestfile.cmake
    find build/gpu/lib build/gpu/bin/vergence -type f
    for name in engine_dense engine_ops engine_attention engine_vit $benches; do
        find build/gpu/bin/bench -name "bench_$name"
    done
    ctest --test-dir build/gpu -L cuda -N -V | sed -nE "s,^.*Test command: $PWD/(build/gpu/bin/tests/[a-z0-9_]+).*,\1,p" | sort -u
}

pack() {
    local file=$1 place=${VERGENCE_GPU_PLACE:-/tmp/vergence-gpu} stage
    # CTest knows the programs by the path they were built in.
    mkdir -p "$place"
    find "$place" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
    tar -C "$(dirname "$0")/.." --exclude-vcs --exclude-vcs-ignores --exclude=./build -c . | tar -C "$place" -x
    # shellcheck disable=SC2034
    VERGENCE_BUILD_DIR=$place/build/gpu
    # shellcheck source=/dev/null
    . "$place/packaging/common.sh"
    export CCACHE_BASEDIR=$place
    announce 75 2 "packs it"
    install_packages
    # Programs find the libraries beside them, and these each other: DT_RPATH, which counts for both.
    local link=-Wl,--disable-new-dtags
    configure -DVERGENCE_BUILD_STUDIO=OFF -DVERGENCE_BUILD_TESTS=ON -DVERGENCE_EMULATED_CUDA=OFF -DVERGENCE_WITH_OPEN3D=OFF \
        -DVERGENCE_WITH_LIBAV=OFF -DCMAKE_BUILD_RPATH_USE_ORIGIN=ON "-DCMAKE_BUILD_RPATH=\$ORIGIN/../lib;\$ORIGIN/../../lib" \
        -DCMAKE_EXE_LINKER_FLAGS=$link -DCMAKE_SHARED_LINKER_FLAGS=$link -DCMAKE_MODULE_LINKER_FLAGS=$link
    build_targets all

    say "Packing"
    stage=$(mktemp -d)
    # shellcheck disable=SC2064
    trap "rm -rf '$stage'" EXIT
    (cd "$place" && packed_files) | tar -C "$place" -T - -c | tar -C "$stage" -x
    libraries "$build" | xargs -r cp -Lt "$stage/build/gpu/lib"
    find "$stage/build/gpu" -type f \( -perm -u+x -o -name '*.so*' \) -exec strip --strip-unneeded {} + 2>/dev/null || true
    tar -C "$stage" --transform "s,^\.,${place#/}," -c . | xz -9 -T0 --memlimit-compress=75% >"$file"
    say "$file: $(du -m "$file" | cut -f 1) MB"
}

# Where the libraries are that the backend opens by name, where the loader does not know them.
cuda_folders() {
    local name roots
    roots=$(python3 -c 'import nvidia; print(*nvidia.__path__)' 2>/dev/null) || roots=""
    for name in libcublasLt.so libcudnn.so libnvrtc.so; do
        # shellcheck disable=SC2086
        ldconfig -p | grep -q "$name" ||
            find $roots /usr/local/cuda/lib64 -maxdepth 4 -name "$name*" -printf '%h\n' -quit 2>/dev/null || true
    done | sort -u | paste -sd :
}

tests() {
    VERGENCE_REQUIRE_CUDA=1 ctest --test-dir "$build" -L cuda -j "$(nproc)" --timeout 200 --output-on-failure \
        --output-junit "$results/tests.xml"
}

# series_of RUN: name and last value of each.
series_of() { "$build/bin/vergence" runs show "$1" | awk '/^series / { on = 1; next } NF == 0 { on = 0 } on { print $1, $2 }' | sort; }

# One table per lab. Runs on the GPU and on the CPU, each for so long that all ten fit into the step.
labs() {
    local lab preset status=0
    for lab in $labs; do
        preset=demo
        [ "$lab" = foveated_vlm ] && preset=demo-gaze
        rm -rf "$results/runs/$lab"
        mkdir -p "$results/runs/$lab"
        local start=$SECONDS code=0
        "$build/bin/vergence" run "$lab" --preset $preset --device cuda:0 --run-dir "$results/runs/$lab/gpu" --zip --time-limit 50 -q ||
            code=$?
        printf '\n## %s\n\nOn the GPU in %d s, exit code %d.\n' "$lab" $((SECONDS - start)) $code
        [ $code -eq 0 ] || status=1
        start=$SECONDS
        "$build/bin/vergence" run "$lab" --preset $preset --device cpu --run-dir "$results/runs/$lab/cpu" --time-limit 50 -q >/dev/null ||
            true
        printf 'On the CPU in %d s.\n\n| series | GPU | CPU |\n|---|---|---|\n' $((SECONDS - start))
        join -a 1 -e '' -o 0,1.2,2.2 <(series_of "$results/runs/$lab/gpu") <(series_of "$results/runs/$lab/cpu") |
            awk '{ printf "| %s | %s | %s |\n", $1, $2, $3 }'
    done
    return $status
}

benches() {
    local name status=0
    for name in dense ops attention vit; do
        "$build/bin/bench/bench_engine_$name" --device=cuda --benchmark_format=json >"$results/engine_$name.json" || status=1
    done
    for name in $benches; do
        VERGENCE_BENCH_DEVICE=cuda "$build/bin/bench/bench_$name" --benchmark_min_time=0.2 --benchmark_filter=-Reference || status=1
    done
    return $status
}

peers() {
    local name status=0
    python3 -c 'import torch; print("PyTorch", torch.__version__)' || return 1
    python3 tests/bench/compare.py "$build/bin/bench" --device cuda --rounds 1 || status=1
    for name in live mc_embedding fvlm; do
        python3 tests/bench/torch_$name.py --device cuda || status=1
    done
    return $status
}

# seconds_of_kernels: the ten that take longest of what ncu prints: times, ms in all, share of the multiprocessors' and of the
# memory's peak, name.
seconds_of_kernels() {
    awk -F '","' '/gpu__time_duration/ { gsub(/[",]/, "", $NF); time[$5] += $NF; count[$5]++ }
        /sm__throughput/ { gsub(/[",]/, "", $NF); core[$5] += $NF }
        /dram__throughput/ { gsub(/[",]/, "", $NF); memory[$5] += $NF }
        END { for (name in time)
                  printf "%12.3f ms %6d times, cores %3.0f %%, memory %3.0f %%  %s\n", time[name] / 1e6, count[name],
                         core[name] / count[name], memory[name] / count[name], substr(name, 1, 90) }' |
        sort -rn | head -n 10
}

profile() {
    local name status=0
    local metrics=gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed,dram__throughput.avg.pct_of_peak_sustained_elapsed
    command -v ncu >/dev/null || { echo "ncu is not here"; return 1; }
    export VERGENCE_BENCH_DEVICE=cuda
    for name in "bench_sugar_raster --benchmark_filter=step/1000000" "bench_light_field --benchmark_filter=iteration/standard" \
        "bench_live_diffusion --benchmark_filter=S" "bench_fvlm_encoder --benchmark_filter=small" "bench_mc_embedding"; do
        echo "$name"
        # shellcheck disable=SC2086
        timeout 110 ncu --clock-control none --launch-count 300 --metrics $metrics --csv --print-units base \
            "$build"/bin/bench/$name --benchmark_min_time=0.01 >"$results/ncu.csv" || status=1
        seconds_of_kernels <"$results/ncu.csv"
    done
    return $status
}

run() {
    local file=$1 place step limit=${VERGENCE_GPU_LIMIT:-570} status=0
    results=$(mkdir -p "$2" && cd "$2" && pwd)
    shift 2
    [ $# -gt 0 ] || set -- tests labs benches peers profile
    place=$(tar -tf "$file" 2>/dev/null | head -n 1) || true
    tar -C / -xf "$file"
    cd "/$place"
    place=$PWD
    build=$place/build/gpu
    LD_LIBRARY_PATH=$(cuda_folders)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH build results
    { nvidia-smi || true; "$build/bin/vergence" doctor; } >"$results/device.txt" 2>&1
    grep -qE '^ +cuda: ' "$results/device.txt" ||
        { echo "gpu.sh: vergence found no GPU; $results/device.txt says why." >&2; exit 7; }
    for step in "$@"; do
        local start=$SECONDS code=0
        timeout --kill-after=10 "$limit" "$BASH" packaging/gpu.sh step "$step" >"$results/$step.log" 2>&1 || code=$?
        case $code in
            0) echo "- $step: passed in $((SECONDS - start)) s" ;;
            124 | 137) echo "- $step: stopped after $limit s" ;;
            *) echo "- $step: failed after $((SECONDS - start)) s, see $step.log" ;;
        esac | tee -a "$results/report.md"
        [ $code -eq 0 ] || status=1
    done
    return $status
}

case "${1:-}" in
    pack) [ $# -eq 2 ] || usage; pack "$(realpath "$2")" ;;
    run) [ $# -ge 3 ] || usage; file=$(realpath "$2"); shift 2; run "$file" "$@" ;;
    step) "$2" ;;
    *) usage ;;
esac
