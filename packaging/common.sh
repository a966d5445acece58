# Shared by run.sh and test.sh: installs what is missing, configures, builds. Sourced, not started.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$top"
say() { printf '\n== %s\n' "$*" >&2; }
die() { printf '\nVergence Studio: %s\n' "$*" >&2; exit 1; }

is_installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'; }

# first_where TEST NAME...: the first name for which TEST holds.
first_where() {
    local test=$1 name
    shift
    for name in "$@"; do "$test" "$name" && { echo "$name"; return; }; done
    return 1
}

is_known() { apt-cache show "$1" >/dev/null 2>&1; }
is_there() { is_installed "$1" || is_known "$1"; }

# Calls VISIT "NAME NAME..." "REASON" for every line of the list; the names of a line are alternatives.
each_package() {
    local line names
    while IFS= read -r line; do
        names=${line%%#*}
        [ -n "${names// /}" ] && "$1" "${names//|/ }" "$(sed 's/^[^#]*# *//' <<<"$line")"
    done <packaging/debian-packages.txt
    return 0
}

install_packages() {
    command -v apt-get >/dev/null || die "this script installs packages with apt-get (Debian 12); on other systems install the counterparts of packaging/debian-packages.txt, then use CMake as the README says."
    local missing=() reasons=() chosen=() absent=() i name
    note_missing() {
        name=$(first_where is_there $1) && is_installed "$name" || { missing+=("$1"); reasons+=("$2"); }
    }
    each_package note_missing
    [ ${#missing[@]} -eq 0 ] && { say "All packages are installed"; return; }
    local sudo=()
    if [ "$(id -u)" -ne 0 ]; then
        for name in "${missing[@]}"; do chosen+=("$(first_where is_known $name || awk '{ print $NF }' <<<"$name")"); done
        command -v sudo >/dev/null || die "packages are missing and this user may not install them. As root: apt-get install ${chosen[*]}"
        chosen=()
        sudo=(sudo)
    fi
    "${sudo[@]}" apt-get update -qq || die "apt-get update failed; check the package sources and the network."
    for i in "${!missing[@]}"; do
        if name=$(first_where is_known ${missing[$i]}); then
            chosen+=("$name")
        elif [[ ${reasons[$i]} == optional* ]]; then
            say "This system has no package ${missing[$i]%% *}. It is ${reasons[$i]}; that will be absent."
        else
            absent+=("${missing[$i]%% *} (${reasons[$i]})")
        fi
    done
    [ ${#absent[@]} -eq 0 ] || die "this system has no package for: $(printf '%s; ' "${absent[@]}")the README names the systems that do."
    [ ${#chosen[@]} -eq 0 ] && return
    say "Installing ${#chosen[@]} packages: ${chosen[*]}"
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${chosen[@]}" >&2 ||
        die "apt-get could not install: ${chosen[*]}"
}

# CUDA is used where nvcc is found. Architectures: $VERGENCE_CUDA_ARCHITECTURES, or those of the GPUs here. Without one, what
# is built runs on no GPU of this computer and is compiled for one architecture, 90, so that the suite takes a seventh of the
# time. What goes to other computers is built for all of them: cmake --preset cuda-release.
cuda_arguments() {
    if ! command -v nvcc >/dev/null && [ -x /usr/local/cuda/bin/nvcc ]; then PATH=$PATH:/usr/local/cuda/bin; fi
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
    local arguments
    arguments=$(cuda_arguments)
    build=${VERGENCE_BUILD_DIR:-build/release}
    say "Configuring in $build ($arguments)"
    # shellcheck disable=SC2086
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DVERGENCE_UNITY=ON -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
        -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache $arguments "$@" >"$top/.configure.log" 2>&1 ||
        { cat "$top/.configure.log" >&2; die "CMake could not configure; the lines above say what is missing."; }
    rm -f "$top/.configure.log"
}

build_targets() {
    say "Building $* (the first build takes some minutes)"
    cmake --build "$build" --target "$@" >&2 || die "the build failed; the lines above name the file."
}
