#!/usr/bin/env bash
# packaging/kernels.sh on kernels of a few lines, one of which spills. Where the toolkit brings no cuobjdump, what that says of
# them is told by a stand-in.
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
tree="$room/tree"
mkdir -p "$room/bin" "$tree/build"
cp -r "$source_dir/packaging" "$tree/"
cat >"$tree/planted.cu" <<'KERNELS'
namespace vergence {
namespace kernels_cuda {
namespace {
// 1024 threads and two blocks leave 32 registers.
template <int N>
__global__ void __launch_bounds__(1024, 2) keep(float* x)
{
    float kept[N];
#pragma unroll
    for (int i = 0; i < N; ++i)
        kept[i] = x[1024 * i + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < N; ++i)
        x[1024 * i + threadIdx.x] = kept[i] * kept[N - 1 - i];
}
template __global__ void keep<4>(float*);
template __global__ void keep<64>(float*);
} // namespace
} // namespace kernels_cuda
} // namespace vergence

extern "C" __global__ void __launch_bounds__(128) multiply(float* x, const unsigned* y)
{
    __shared__ float shared[128];
    float* to = x + 4 * threadIdx.x;
    const unsigned* from = y + threadIdx.x;
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(to[0]), "+f"(to[1]), "+f"(to[2]), "+f"(to[3])
        : "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3]), "r"(from[4]), "r"(from[5]));
    shared[threadIdx.x] = to[0];
    __syncthreads();
    x[threadIdx.x] = shared[127 - threadIdx.x];
}

extern "C" __global__ void increment(float* x)
{
    x[threadIdx.x] += 1;
}
KERNELS
cat >"$tree/build/build.ninja" <<NINJA
rule cuda
  command = $(command -v ccache || true) nvcc --generate-code=arch=compute_90,code=[compute_90,sm_90] -MD -MT \$out -MF \$out.d -x cu -c \$in -o \$out
build build.ninja: phony
build planted.o: cuda $tree/planted.cu
NINJA
if ! command -v cuobjdump >/dev/null || ! command -v nvdisasm >/dev/null; then
    cat >"$room/bin/cuobjdump" <<'STAND_IN'
#!/bin/sh
printf '%s\n' '.nv.info.multiply' '	<0x1>' '	Attribute:	EIATTR_MAX_THREADS' '	Format:	EIFMT_SVAL' '	Value:	0x80 0x1 0x1 ' \
    '		Function : multiply' '        /*0090*/              @!P0 HMMA.16816.F32 R4, R4, R8, R12 ;    /* 0x000000080404723c */'
STAND_IN
    ln -s /bin/true "$room/bin/nvdisasm"
    chmod +x "$room/bin/cuobjdump"
fi
export PATH=$room/bin:$PATH VERGENCE_BUILD_DIR=build
cd "$tree"
failures=0
# expect TITLE WANTED-STATUS WANTED-WORDS LINE...: with these lines as kernels.txt.
expect() {
    local title=$1 wanted=$2 words=$3 status=0 output
    shift 3
    printf '%s\n' "$@" >packaging/kernels.txt
    output=$(packaging/kernels.sh 80 2>&1) || status=$?
    if [ $status != "$wanted" ] || [[ $output != *$words* ]]; then
        printf 'FAIL %s: status %s, said: %s\n' "$title" $status "$output"
        failures=1
    fi
}
expect "a hot kernel that spills" 1 "keep<64> is hot and spills " "hot keep<"
expect "a kernel that spills, but is not hot" 0 '| `keep<4>` | ' "hot keep<4>" "apart keep"
expect "tensor instructions" 0 " / 0 / 100 | HMMA |" "hot multiply" "tensor multiply 80"
expect "no tensor instructions" 1 "increment has no tensor instructions on 80" "tensor increment 80"
expect "no tensor instructions yet" 0 "" "tensor increment 90"
expect "threads of a launch" 0 '| `increment` | 64 | 0 | 0 | ' "threads increment 64"
expect "shared memory of a launch" 0 '| `multiply` | 128 | 61952 | 0 | ' "shared multiply 61440"
expect "a name that no kernel has" 1 "no kernel is called divide" "hot divide"
echo "no kernel" >>planted.cu
expect "what does not compile" 1 "planted.cu does not compile for 80" ""
exit $failures
