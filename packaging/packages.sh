# shellcheck shell=bash
# What the system must have, by packaging/debian-packages.txt: installed with apt-get, elsewhere listed. Sourced by common.sh.

is_installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'; }

# first_where TEST NAME...: the first name for which TEST holds.
first_where() {
    local test=$1 name
    shift
    for name in "$@"; do "$test" "$name" && { echo "$name"; return; }; done
    return 1
}

# is_known NAME: whether there is a package of this name; one that another package only provides is none.
is_known() { apt-cache show "$1" 2>/dev/null | grep -x "Package: $1" >/dev/null; }
is_there() { is_installed "$1" || is_known "$1"; }

# begins_services: whether the system starts what a package brings as a service, for other computers to reach.
begins_services() { [ -d /run/systemd/system ]; }

# Calls VISIT "NAME NAME..." "REASON" "FILE FILE..." for every line of the list; the names of a line are alternatives. What
# only tests need is left out unless packages_for=tests; where it would begin as a service, always.
each_package() {
    local line names files reason
    while IFS= read -r line; do
        names=${line%%#*}
        files=${names#"${names%%:*}"}
        names=${names%%:*}
        reason=$(sed 's/^[^#]*# *//' <<<"$line")
        [[ $reason == tests* && ${packages_for:-} != tests ]] && continue
        [[ $reason == "tests, a service:"* ]] && begins_services && continue
        [ -n "${names// /}" ] && "$1" "${names//|/ }" "$reason" "${files#:}"
    done <packaging/debian-packages.txt
    return 0
}

# is_found FILE: whether pkg-config knows the .pc, the compiler the header, the shell the program.
is_found() {
    case $1 in
        *.pc) pkg-config --exists "${1%.pc}" 2>/dev/null ;;
        *.h | *.hpp) printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" | "${CXX:-c++}" -E -x c++ - >/dev/null 2>&1 ;;
        *) command -v "$1" >/dev/null ;;
    esac
}

list_needs() {
    local file
    show_need() {
        for file in $3; do
            printf '   %-8s %-36s %s\n' "$(is_found "$file" && echo found || echo missing)" "$file" "$2" >&2
        done
    }
    say "This system has no apt-get, so nothing is installed. The studio needs these programs, pkg-config files and headers;
   \"dnf provides '*/FILE'\", \"pacman -F FILE\" or \"zypper search --file-list FILE\" name the packages that bring them:"
    each_package show_need
    say "CMake looks for them next and has the last word: some systems leave out a .pc and bring a file for CMake instead"
}

# download_megabytes PACKAGE...: of these and what they bring along.
download_megabytes() {
    apt-get -qq --print-uris install --no-install-recommends "$@" 2>/dev/null |
        awk '{ bytes += $3 } END { printf "%.0f", bytes / 1e6 }'
}

install_packages() {
    command -v apt-get >/dev/null || { list_needs; return; }
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
    logged packages "${sudo[@]}" apt-get update -qq >&2 ||
        failed packages "apt-get update failed; check the package sources and the network"
    for i in "${!missing[@]}"; do
        if name=$(first_where is_known ${missing[$i]}); then
            chosen+=("$name")
        elif [[ ${reasons[$i]} == optional* || ${reasons[$i]} == tests* ]]; then
            say "This system has no package ${missing[$i]%% *}. It is ${reasons[$i]/#tests/for tests}; that will be absent."
        else
            absent+=("${missing[$i]%% *} (${reasons[$i]})")
        fi
    done
    [ ${#absent[@]} -eq 0 ] || die "this system has no package for: $(printf '%s; ' "${absent[@]}")the README names the systems that do."
    [ ${#chosen[@]} -eq 0 ] && return
    say "Installing ${#chosen[@]} packages ($(download_megabytes "${chosen[@]}") MB to download): ${chosen[*]}"
    logged packages "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${chosen[@]}" >&2 ||
        failed packages "apt-get could not install the packages"
}
