# shellcheck shell=bash
# Shared by run.sh, test.sh and gpu.sh: says what will be done, configures, builds. Sourced, not started.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$top" || exit
build=${VERGENCE_BUILD_DIR:-build/release}
[[ $build == /* ]] || build=$top/$build
logs=$build/logs

say() { printf '\n== %s\n' "$*" >&2; }
die() { printf '\nVergence Studio: %s\n' "$*" >&2; exit 1; }

# logged STEP COMMAND...: what it prints is seen, and kept for who helps.
logged() {
    local log=$logs/$1.log
    shift
    "$@" 2>&1 | tee -a "$log"
}

free_megabytes() { df -Pk "$build" | awk 'NR == 2 { print int($4 / 1024) }'; }

# failed STEP SENTENCE: the last words of a step, with its log and with the reasons that a log may bury.
failed() {
    local log=$logs/$1.log why=""
    if [ "$(free_megabytes)" -lt 10 ] || grep -qs 'No space left on device' "$log"; then
        why=" A disk is full."
    elif grep -qsE 'Killed signal terminated|out of memory|Cannot allocate memory' "$log"; then
        why=" Memory ran out; CMAKE_BUILD_PARALLEL_LEVEL=1 compiles one file at a time."
    fi
    die "$2.$why The log to send when you ask for help: $log"
}

# available_megabytes ROOT: memory that is free, or less where a control group (version 2 or 1) or one above it has a
# limit; nothing where the kernel does not tell.
available_megabytes() {
    local least controllers path base file limit
    [ -r "$1/proc/self/cgroup" ] || return 0
    least=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' "$1/proc/meminfo")
    while IFS=: read -r _ controllers path; do
        case ,$controllers, in
            ,,) base=$1/sys/fs/cgroup file=memory.max ;;
            *,memory,*) base=$1/sys/fs/cgroup/memory file=memory.limit_in_bytes ;;
            *) continue ;;
        esac
        while :; do
            path=${path%/}
            limit=$(cat "$base$path/$file" 2>/dev/null) || limit=max
            if [ "$limit" != max ] && [ $((limit >> 20)) -lt "$least" ]; then least=$((limit >> 20)); fi
            [ -n "$path" ] || break
            path=${path%/*}
        done
    done <"$1/proc/self/cgroup"
    echo "$least"
}

# As many compilers at once as there are cores, but no more than fit: the largest files take 1.5 GB.
build_jobs() {
    local cores memory jobs
    cores=$(nproc)
    memory=$(available_megabytes "")
    jobs=$((${memory:-$((cores * 1536))} / 1536))
    [ $jobs -le "$cores" ] || jobs=$cores
    [ $jobs -ge 1 ] || jobs=1
    [ $jobs -eq "$cores" ] || say "Only $memory MB of memory are available: $jobs of $cores cores compile"
    echo $jobs
}

# announce CORE_MINUTES GIGABYTES AFTERWARDS: what a build from nothing takes, without a compiler cache, and what follows it.
announce() {
    local jobs=$CMAKE_BUILD_PARALLEL_LEVEL free built
    say "Installs what is missing, builds in $build (at most $((($1 + jobs - 1) / jobs)) minutes with $jobs of $(nproc) cores;" \
        "longer with CUDA), then $3. Logs: $logs"
    free=$(free_megabytes)
    built=$(du -sm "$build" | cut -f 1)
    [ $((free + built)) -ge $(($2 * 1000)) ] ||
        die "the build needs $2 GB and $free MB are free in $build; make room, or set VERGENCE_BUILD_DIR to another disk."
}

# CUDA is used where nvcc is found. Architectures: $VERGENCE_CUDA_ARCHITECTURES, or those of the GPUs here. Without one, what
# is built runs on no GPU of this computer and is compiled for one architecture, 90, so that the suite takes a seventh of the
# time. What goes to other computers is built for all of them: cmake --preset cuda-release.
cuda_arguments() {
    if ! command -v nvcc >/dev/null || [ "${VERGENCE_WITH_CUDA:-ON}" = OFF ]; then
        echo -DVERGENCE_WITH_CUDA=OFF
        return
    fi
    local architectures=${VERGENCE_CUDA_ARCHITECTURES:-}
    if [ -z "$architectures" ] && command -v nvidia-smi >/dev/null; then
        architectures=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
            grep -Eo '^[0-9]+\.[0-9]+' | sort -u | tr -d . | paste -sd ';')
    fi
    echo "-DVERGENCE_WITH_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=${architectures:-90}"
}

configure() {
    local arguments cache
    arguments=$(cuda_arguments)
    cache=$(command -v ccache >/dev/null && echo ccache) || true
    say "Configuring in $build ($arguments)"
    # shellcheck disable=SC2086
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DVERGENCE_UNITY=ON -DCMAKE_CXX_COMPILER_LAUNCHER="$cache" \
        -DCMAKE_CUDA_COMPILER_LAUNCHER="$cache" $arguments "$@" >"$logs/configure.log" 2>&1 ||
        { cat "$logs/configure.log" >&2; failed configure "CMake could not configure; the lines above say what is missing"; }
}

# Reads what ninja prints. Steps become one line with the time that is left: in place on a terminal, else every twentieth part.
show_progress() {
    local line steps part=0 shown="" step='^\[([0-9]+)/([0-9]+) ([0-9]+)[0-9.]*\]'
    while IFS= read -r line; do
        if [[ $line =~ $step ]]; then
            local finished=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]} seconds=${BASH_REMATCH[3]}
            [ "$finished" -gt 0 ] || continue
            steps="$finished of $all steps, about $(((seconds * (all - finished) / finished + 59) / 60)) min left"
            if [ -t 2 ]; then
                printf '\r\e[K%s' "$steps" >&2
                shown=$'\n'
            elif [ $((20 * finished / all)) -gt $part ]; then
                part=$((20 * finished / all))
                echo "$steps" >&2
            fi
        else
            echo "$shown$line" >&2
            shown=""
        fi
    done
    [ -z "$shown" ] || echo >&2
}

build_targets() {
    say "Building $*"
    NINJA_STATUS='[%f/%t %e] ' logged build cmake --build "$build" --target "$@" | show_progress ||
        failed build "the build failed; the lines above name the file"
}

error=$({ mkdir -p "$logs" && rm -f "$logs"/*.log && : >"$logs/configure.log"; } 2>&1) ||
    die "the build folder $build cannot be written; set VERGENCE_BUILD_DIR to a folder that can. ($error)"
# Where CUDA's own packages put nvcc.
if ! command -v nvcc >/dev/null && [ -x /usr/local/cuda/bin/nvcc ]; then PATH=$PATH:/usr/local/cuda/bin; fi
# ccache keeps what is compiled with precompiled headers, and finds it again from a checkout elsewhere.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$top} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1}
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
# CMake reads it; who sets it decides.
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(build_jobs)}
. packaging/packages.sh
