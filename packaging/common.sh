# Shared by run.sh and test.sh: installs what is missing, configures, builds. Sourced, not started.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$top"
say() { printf '\n== %s\n' "$*" >&2; }
die() { printf '\nVergence Studio: %s\n' "$*" >&2; exit 1; }

install_packages() {
    command -v apt-get >/dev/null || die "this script installs packages with apt-get (Debian 12); on other systems install the counterparts of packaging/debian-packages.txt, then use CMake as the README says."
    local missing=() name
    while read -r name _; do
        case $name in "" | "#"*) continue ;; esac
        dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'install ok installed' || missing+=("$name")
    done <packaging/debian-packages.txt
    [ ${#missing[@]} -eq 0 ] && { say "All packages are installed"; return; }
    say "Installing ${#missing[@]} packages: ${missing[*]}"
    local sudo=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || die "packages are missing and this user may not install them. As root: apt-get install ${missing[*]}"
        sudo=(sudo)
    fi
    "${sudo[@]}" apt-get update -qq || die "apt-get update failed; check the package sources and the network."
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" >&2 ||
        die "apt-get could not install: ${missing[*]}"
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
