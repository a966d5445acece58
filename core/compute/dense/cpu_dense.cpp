#include "core/compute/dense/cpu_dense.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "core/compute/cpu_threads.h"
#include "core/compute/dense/pieces.h"
#include "core/compute/dense/tile_kernels.h"

namespace vergence {

namespace {

/// BF16 pays where the processor has matrix registers, or is not Intel's: measured on Sapphire
/// Rapids without them, dot products of pairs reach half of the rate of F32.
bool processorMultipliesBf16()
{
#if defined(__x86_64__)
    // A set of bits: later instruction sets have those of the earlier ones.
    const auto has = [isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa())](auto wanted) {
        return (isa & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
    };
    const bool hasTiles = has(dnnl::cpu_isa::avx512_core_amx);
    const bool hasPairs = has(dnnl::cpu_isa::avx512_core_bf16);
    __builtin_cpu_init();
    return hasTiles || (hasPairs && !__builtin_cpu_is("intel"));
#else
    return false;
#endif
}

/// Between the memory of two threads: processors read ahead, and what one reads ahead of another's
/// numbers goes back and forth between them.
constexpr std::size_t kApart = 4096;

} // namespace

CpuDenseMath::CpuDenseMath(Device& device, tbb::task_arena& arena, int threads)
    : m_arena(&arena),
      m_threads(threads),
      m_multipliesBf16(processorMultipliesBf16()),
      m_workspace(device)
{
    const int count = threadsForProducts(threads, usableCores(),
                                         [&](int some) { return secondsWith(device, some); });
    if (count < threads)
        m_fewer = std::make_unique<tbb::task_arena>(count);
    m_arena = m_fewer ? m_fewer.get() : &arena;
}

double CpuDenseMath::secondsWith(Device& device, int count)
{
    constexpr Index kSide = 512, kRowsEach = 128; // about 0.5 ms of one core for each thread
    tbb::task_arena arena(count);
    m_arena = &arena;
    const Index rows = kRowsEach * m_threads;
    std::vector<float> a(static_cast<std::size_t>(rows * kSide), 1.0f);
    std::vector<float> b(static_cast<std::size_t>(kSide * kSide), 1.0f), y(a.size());
    MatmulProblem problem;
    problem.m = rows;
    problem.n = problem.k = kSide;
    problem.a = {a.data(), kSide, {}};
    problem.b = {b.data(), kSide, {}};
    problem.y = {y.data(), kSide, {}};
    problem.transposeB = true;
    const auto stream = device.createStream();
    product(*stream, problem); // wakes the threads and makes the plans
    const auto start = std::chrono::steady_clock::now();
    product(*stream, problem);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::unique_ptr<DenseMath> makeCpuDenseMath(Device& device, tbb::task_arena& arena, int threads)
{
    return std::make_unique<CpuDenseMath>(device, arena, threads);
}

int productThreads(Device& device)
{
    const auto* dense = device.isCpu() ? dynamic_cast<CpuDenseMath*>(&device.dense()) : nullptr;
    return dense ? dense->busyThreads() : 0;
}

Index CpuDenseMath::piecesOf(double flops) const
{
    constexpr double kLeast = 1.5e6; // about 10 µs of one core
    if (m_threads == 1)
        return 1;
    return std::clamp<Index>(static_cast<Index>(flops / kLeast), 1, 6 * Index{m_threads});
}

void CpuDenseMath::widen(Stream& stream, const void* source, DType type, Index rows, Index columns,
                         Index stride, float* target)
{
    const Index rowsAtOnce = std::max<Index>(1, 32768 / std::max<Index>(columns, 1));
    forPieces((rows + rowsAtOnce - 1) / rowsAtOnce, [&](Index piece, int) {
        const Index first = piece * rowsAtOnce;
        TileCopy copy;
        copy.source = static_cast<const std::byte*>(source) +
                      first * stride * static_cast<Index>(sizeOf(type));
        copy.sourceStride = stride;
        copy.type = type;
        copy.rows = std::min(rowsAtOnce, rows - first);
        copy.columns = columns;
        copy.target = target + first * columns;
        copy.targetStride = columns;
        copyTile(stream, copy);
    });
}

void CpuDenseMath::turn(Stream& stream, const MatrixBatch& a, DType type, Index m, Index k,
                        float* target)
{
    constexpr Index kRows = 16; // of the target: what one cache line of the source serves
    forPieces((m + kRows - 1) / kRows, [&](Index piece, int) {
        const Index first = piece * kRows;
        TileCopy copy;
        copy.source =
            static_cast<const std::byte*>(a.data) + first * static_cast<Index>(sizeOf(type));
        copy.sourceStride = a.rowStride;
        copy.type = type;
        copy.rows = k;
        copy.columns = std::min(kRows, m - first);
        copy.target = target + first * k;
        copy.targetStride = k;
        copy.transpose = true;
        copyTile(stream, copy);
    });
}

SlotMemory::SlotMemory(CpuDenseMath& dense, Stream& stream, Index pieces, std::size_t scratchBytes,
                       std::size_t tileBytes)
    : m_tileAt(padded(scratchBytes)),
      m_stride(m_tileAt + padded(tileBytes) + kApart)
{
    const Index slots = pieces > 1 ? dense.threads() : 1;
    m_memory = dense.workspace(stream, m_stride * static_cast<std::size_t>(slots));
    m_data = static_cast<std::byte*>(m_memory.get());
}

} // namespace vergence
