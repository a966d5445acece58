#pragma once

#include <memory>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "core/compute/dense/cpu_packed.h"
#include "core/compute/dense/plan.h"
#include "core/compute/dense/unfolded_conv.h"
#include "core/compute/dense/workspace.h"

namespace vergence {

/// Products and convolutions of the CPU: oneDNN on single threads for pieces of the result, which
/// the device's own pool works through; Eigen for F64. Pieces cut rows, columns, images and
/// channels, never a sum, except where partial sums are added in a fixed order. So results do not
/// depend on threads where oneDNN adds up tiles of all sizes in one order: with AVX-512, as far as
/// seen on AMD's processors, but not with AVX2. How many threads work on them is measured once, at
/// the start; the pieces do not depend on that.
class CpuDenseMath final : public DenseMath, public ProductBackend {
public:
    /// `arena` has `threads` threads and lives longer.
    CpuDenseMath(Device& device, tbb::task_arena& arena, int threads);

    void matmul(Stream& stream, const Tensor& a, const Tensor& b, const Tensor& y,
                const MatmulOptions& options) override;
    void conv2d(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& y,
                const Conv2dOptions& options) override;
    void conv2dBackwardData(Stream& stream, const Tensor& gradY, const Tensor& w,
                            const Tensor& gradX, const Conv2dOptions& options) override;
    void conv2dBackwardWeight(Stream& stream, const Tensor& x, const Tensor& gradY,
                              const Tensor& gradW, const Tensor* gradBias, bool accumulate,
                              const Conv2dOptions& options) override;
    std::shared_ptr<const PackedWeight> packLinear(Stream& stream, const Tensor& weight,
                                                   Index rows) override;
    std::shared_ptr<const PackedWeight> packConv2d(Stream& stream, const Tensor& weight,
                                                   const Shape& inputShape,
                                                   const Conv2dOptions& options) override;

    void product(Stream& stream, const MatmulProblem& problem) override;
    std::shared_ptr<void> workspace(Stream&, std::size_t bytes) override
    {
        return m_workspace.take(bytes);
    }

    CpuPlans& plans() { return m_plans; }
    int threads() const { return m_threads; } ///< of the device: what pieces are cut for
    int busyThreads() const { return m_arena->max_concurrency(); } ///< that work on them
    /// Whether BF16 is multiplied as such; otherwise 16-bit operands are widened to F32 first,
    /// which is faster where dot products of pairs run at half rate.
    bool multipliesBf16() const { return m_multipliesBf16; }

    /// Pieces worth making of `flops` of work.
    Index piecesOf(double flops) const;

    /// body(piece, slot) for all pieces; `slot` < threads() is the calling thread's alone.
    template <class Body>
    void forPieces(Index pieces, const Body& body)
    {
        if (pieces <= 1 || m_threads == 1) {
            const OnThisThread single;
            for (Index piece = 0; piece < pieces; ++piece)
                body(piece, 0);
            return;
        }
        m_arena->execute([&] {
            tbb::parallel_for(
                tbb::blocked_range<Index>(0, pieces, 1),
                [&](const tbb::blocked_range<Index>& range) {
                    const OnThisThread single;
                    const int slot = tbb::this_task_arena::current_thread_index();
                    for (Index piece = range.begin(); piece < range.end(); ++piece)
                        body(piece, slot);
                },
                tbb::simple_partitioner{});
        });
    }

    /// target [rows, columns] = the same numbers of any type in F32, by all threads.
    void widen(Stream& stream, const void* source, DType type, Index rows, Index columns,
               Index stride, float* target);

private:
    /// Seconds of one product of fixed size on `count` of the threads.
    double secondsWith(Device& device, int count);
    /// Fills `packed` from b: [K, N], or [N, K] where transposed.
    void pack(Stream& stream, const MatrixBatch& b, DType type, bool isTransposed,
              const CpuPackedLinear& packed);
    /// target [M, K] in F32 of a [K, M].
    void turn(Stream& stream, const MatrixBatch& a, DType type, Index m, Index k, float* target);
    void productInPairs(Stream& stream, const MatmulProblem& problem);
    void productInOrder(Stream& stream, const MatmulProblem& problem);
    void productOfWidened(Stream& stream, const MatmulProblem& problem);

    tbb::task_arena* m_arena;
    std::unique_ptr<tbb::task_arena> m_fewer; ///< where fewer threads are faster
    int m_threads;
    bool m_multipliesBf16;
    Workspace m_workspace;
    CpuPlans m_plans;
};

std::unique_ptr<DenseMath> makeCpuDenseMath(Device& device, tbb::task_arena& arena, int threads);

/// Memory of one call, cut into one piece per thread.
class SlotMemory {
public:
    SlotMemory(CpuDenseMath& dense, Stream& stream, Index pieces, std::size_t scratchBytes,
               std::size_t tileBytes);

    void* scratch(int slot) const { return m_data + m_stride * static_cast<std::size_t>(slot); }
    float* tile(int slot) const
    {
        return reinterpret_cast<float*>(m_data + m_stride * static_cast<std::size_t>(slot) +
                                        m_tileAt);
    }

private:
    std::shared_ptr<void> m_memory;
    std::byte* m_data;
    std::size_t m_tileAt, m_stride;
};

} // namespace vergence
