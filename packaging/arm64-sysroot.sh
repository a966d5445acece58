#!/usr/bin/env bash
# packaging/arm64-sysroot.sh FOLDER: unpacks there, apart from this system's own packages, the arm64 packages that a build
# without the window needs (packaging/cmake/aarch64-linux-gnu.cmake, VERGENCE_SYSROOT).
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: packaging/arm64-sysroot.sh FOLDER" >&2; exit 2; }
folder=$(realpath -m "$1")
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
VERGENCE_BUILD_DIR=$state
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
compiler=$(aarch64-linux-gnu-g++ -dumpversion) || die "g++-aarch64-linux-gnu is missing."

mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$folder"
touch "$state/status"
arm=(-o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State="$state" -o Dir::State::status="$state/status"
    -o Dir::Cache="$state/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User=root)
apt-get "${arm[@]}" update -qq || die "the package source has no lists for arm64."

is_known() { apt-cache "${arm[@]}" show "$1" >/dev/null 2>&1; }
chosen=(libc6-dev "libstdc++-${compiler%%.*}-dev")
choose() {
    local name
    [[ $1 == *-dev* && $1 != *open3d* && $1 != *libgl1* && $1 != *onnx* && $1 != *protobuf* ]] || return 0
    [[ $1 == *charts* || $1 == *opengl* || $1 == *svg* ]] && return 0 # of the window
    name=$(first_where is_known $1) && chosen+=("$name") || [[ $2 == optional* ]] || die "arm64 has no package for $1."
}
each_package choose
say "Unpacking ${chosen[*]} and what they need in $folder"
apt-get "${arm[@]}" install -y -qq --download-only --no-install-recommends "${chosen[@]}" >&2
for package in "$state"/cache/archives/*.deb; do dpkg-deb -x "$package" "$folder"; done

# One tree under usr, as systems have it, and links that stay within the folder.
for part in bin sbin lib; do
    [ -L "$folder/$part" ] && continue
    mkdir -p "$folder/usr/$part"
    cp -a "$folder/$part/." "$folder/usr/$part/" && rm -r "${folder:?}/$part"
    ln -s "usr/$part" "$folder/$part"
done
find "$folder" -type l -lname '/*' | while IFS= read -r link; do
    ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$folder$(readlink "$link")")" "$link"
done
