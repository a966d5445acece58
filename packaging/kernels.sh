#!/usr/bin/env bash
# What nvcc makes of the CUDA kernels: registers, spills, occupancy, shared memory, tensor instructions, as a table for kernels.md
# in this folder. Fails where kernels.txt asks for more than a kernel holds, and names both. Needs no GPU.
#   packaging/kernels.sh [ARCHITECTURE...]     75 80 86 89 90 100 120; all of them where none is named
# Compiles the CUDA files of the build folder, whatever architectures that is for; where it is not configured, those of all but
# studio and tests. nvcc, cuobjdump and nvdisasm are of the CUDA toolkit.
set -euo pipefail
VERGENCE_BUILD_DIR=${VERGENCE_BUILD_DIR:-build/kernels}
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
[ $# -gt 0 ] || set -- 75 80 86 89 90 100 120
facts=$build/kernels

# Commands that compile CUDA, but for tests, without architecture, list of headers and output.
compilations() {
    ninja -C "$build" -t commands | grep -E 'nvcc.* -x cu -c ' | grep -vF -e " -c $top/tests/" -e " -c $build/tests/" |
        sed -E 's/ --generate-code=[^ ]*//g; s/ -MD -MT [^ ]* -MF [^ ]*//; s/ -o [^ ]*$//'
}

# read_facts PTXAS-LOG DUMP: a line for each kernel with its mangled name, registers, bytes that are spilled (stored and read
# again), of stack and of shared memory, threads of a block by __launch_bounds__, and instructions that a design may ask for.
read_facts() {
    awk -v OFS='\t' '
        # the number before the words, as in "8 bytes spill stores"
        function count(words,    n, at) {
            at = index($0, " " words)
            n = at ? split(substr($0, 1, at - 1), before, " ") : 0
            return n ? before[n] : 0
        }
        function from_hex(text,    i, n) {
            for (i = 3; i <= length(text); ++i) n = 16 * n + index("0123456789abcdef", substr(text, i, 1)) - 1
            return n
        }
        /Compiling entry function/ { split($0, quoted, "\047"); kernel = quoted[2]; kernels[kernel] }
        /bytes stack frame/ { # of the kernel, then of functions that it calls
            stack[kernel] += count("bytes stack frame")
            spilled[kernel] += count("bytes spill stores") + count("bytes spill loads")
        }
        /Used [0-9]+ registers/ { registers[kernel] = count("registers"); shared[kernel] = count("bytes smem") }
        /^\.nv\.info\./ { kernel = substr($1, 10) }
        /EIATTR_/ { attribute = $2 }
        /Value:/ && attribute == "EIATTR_MAX_THREADS" { threads[kernel] = from_hex($2) * from_hex($3) * from_hex($4) }
        /Function : / { kernel = $3 }
        /^ +\/\*[0-9a-f]+\*\/ / {
            word = $2 ~ /^@/ ? $3 : $2
            sub(/[.;].*/, "", word)
            if (word ~ /MMA$|^LDSM$|^LDGSTS$|^UBLKCP$|^UTMALDG$/ && index(words[kernel], " " word " ") == 0)
                words[kernel] = words[kernel] " " word " "
        }
        END {
            for (kernel in kernels)
                print kernel, registers[kernel], spilled[kernel] + 0, stack[kernel] + 0, shared[kernel], threads[kernel] + 0,
                    words[kernel]
        }' "$@"
}

# inspect ARCHITECTURE COMMAND
inspect() {
    local file=${2##* -c }
    local base=$facts/$1/${file//\//_}
    (cd "$build" && eval "$2 -gencode=arch=compute_$1,code=sm_$1 -cubin -Xptxas -v -o '$base.cubin'") >"$base.log" 2>&1 ||
        { cat "$base.log" >&2; die "$file does not compile for $1."; }
    cuobjdump -elf -sass "$base.cubin" >"$base.dump" 2>&1 || { cat "$base.dump" >&2; die "cuobjdump could not read $base.cubin."; }
    read_facts "$base.log" "$base.dump" >"$base.facts"
    rm "$base.dump"
}

# Names as the sources have them: without the namespaces that most share, type of result, arguments, spaces.
short_names() {
    c++filt | sed -E 's/\(anonymous namespace\):://g; s/\b(vergence|kernels_cuda|detail|loops):://g
        s/^void //; s/unsigned /u/g; s/ //g' | awk '
        {
            depth = 0
            for (end = 1; end <= length($0); ++end) {
                c = substr($0, end, 1)
                depth += (c == "<") - (c == ">")
                if (c == "(" && depth == 0)
                    break
            }
            print substr($0, 1, end - 1)
        }'
}

# Facts of all architectures with short names, without those of CUB.
all_facts() {
    local architecture
    for architecture in "$@"; do
        cat "$facts/$architecture"/*.facts | cut -f 1 | short_names | paste - <(cat "$facts/$architecture"/*.facts) |
            awk -v a="$architecture" '!/^cub::/ { print a "\t" $0 }' |
            LC_ALL=C sort -k 2
    done
}

for tool in nvcc ninja cuobjdump nvdisasm c++filt; do
    command -v $tool >/dev/null || die "$tool is missing; nvcc, cuobjdump and nvdisasm are of the CUDA toolkit."
done
[ -e "$build/build.ninja" ] || configure -DVERGENCE_BUILD_STUDIO=OFF -DVERGENCE_BUILD_TESTS=OFF
ninja -C "$build" build.ninja >"$logs/configure.log" 2>&1 ||
    { cat "$logs/configure.log" >&2; failed configure "CMake could not configure again"; }

rm -rf "$facts"
export -f inspect read_facts die
export build facts
say "Compiling $(compilations | wc -l) files for $*"
for architecture in "$@"; do
    mkdir -p "$facts/$architecture"
    compilations | sed "s/^/$architecture\n/" | tr '\n' '\0'
done | xargs -0 -n 2 -P "$CMAKE_BUILD_PARALLEL_LEVEL" bash -c 'set -euo pipefail; inspect "$@"' inspect || exit 1
all_facts "$@" | awk -F '\t' -v architectures="$*" -v asked=packaging/kernels.txt -v version="$(nvcc --version | sed -n 's/.*, V//p')" \
    -f packaging/kernels.awk
