#pragma once

// For the CPU builds of kernel files.

#include "core/compute/launch.h"
#include "core/compute/ops/attention_lanes.h"
#include "core/compute/ops/linear_cross_entropy_kernels.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {
namespace cross_entropy_cpu {

/// One row: log-sum-exp in two passes, the derivative in a third.
template <class T>
struct Row {
    using Real = Accumulator<T>;
    using Vector = lanes::Vector<Real>;
    static constexpr int kWidth = lanes::kLanes<Real>;
    static constexpr Index kPiece = 512; ///< numbers that are converted at a time
    static constexpr Real kLog2e = Real(1.44269504088896340736);
    static constexpr Real kInfinity = Real(__builtin_inf());

    LogitRows rows;

    void operator()(Index i) const
    {
        T* z = static_cast<T*>(rows.logits) + i * rows.classes;
        const std::int32_t label = rows.labels[i];
        Real& loss = static_cast<Real*>(rows.rowLoss)[i];
        if (label < 0) {
            loss = 0;
            if (rows.wantsGradient)
                std::memset(z, 0, static_cast<std::size_t>(rows.classes) * sizeof(T));
            return;
        }
        const Real top = maximum(z), logSumExp = top + logarithm(sum(z, top));
        loss = label < rows.classes ? logSumExp - static_cast<Real>(z[label])
                                    : Real(__builtin_nan(""));
        if (rows.wantsGradient)
            differentiate(z, label, logSumExp);
    }

private:
    static Real logarithm(float x) { return __builtin_logf(x); }
    static Real logarithm(double x) { return __builtin_log(x); }

    /// Calls body(vector) for all numbers of a row; −∞ fills the last vector.
    template <class Body>
    VERGENCE_HD void forVectors(const T* z, const Body& body) const
    {
        alignas(64) Real piece[kPiece];
        for (Index at = 0; at < rows.classes; at += kPiece) {
            const Index left = rows.classes - at, n = left < kPiece ? left : kPiece;
            const Index padded = (n + kWidth - 1) / kWidth * kWidth;
            lanes::widen(z + at, n, piece);
            for (Index j = n; j < padded; ++j)
                piece[j] = -kInfinity;
            for (Index j = 0; j < padded; j += kWidth)
                body(lanes::load(piece + j));
        }
    }

    Real maximum(const T* z) const
    {
        Vector most = lanes::spread(-kInfinity);
        forVectors(z, [&](const Vector& v) { most = lanes::larger(v, most); });
        Real top = most[0];
        for (int i = 1; i < kWidth; ++i)
            top = most[i] > top ? most[i] : top;
        return top;
    }

    Real sum(const T* z, Real top) const
    {
        Vector sums{};
        forVectors(z, [&](const Vector& v) { sums += lanes::powerOfTwo((v - top) * kLog2e); });
        Real total = 0;
        for (int i = 0; i < kWidth; ++i)
            total += sums[i];
        return total;
    }

    void differentiate(T* z, Index label, Real logSumExp) const
    {
        const Real grad = rows.gradLoss ? *static_cast<const Real*>(rows.gradLoss) : Real(1);
        const Real factor = grad / static_cast<Real>(*rows.counted);
        const Real atLabel = label < rows.classes ? static_cast<Real>(z[label]) : Real(0);
        Index at = 0;
        alignas(64) Real piece[kWidth];
        forVectors(z, [&](const Vector& v) {
            lanes::store(piece, lanes::powerOfTwo((v - logSumExp) * kLog2e) * factor);
            const Index left = rows.classes - at;
            lanes::narrowTo(piece, left < kWidth ? left : kWidth, z + at);
            at += kWidth;
        });
        if (label < rows.classes) {
            const Vector p = lanes::powerOfTwo((lanes::spread(atLabel) - logSumExp) * kLog2e);
            z[label] = static_cast<T>((p[0] - 1) * factor);
        }
    }
};

template <class T>
void logitRows(Stream& stream, const LogitRows& rows)
{
    forEach(stream, rows.rows, Row<T>{rows}, 1 + 16384 / rows.classes);
}

inline void countLabels(Stream& stream, const std::int32_t* labels, Index rows,
                        std::int32_t* counted)
{
    forEach(stream, 1, [=](Index) {
        std::int32_t count = 0;
        for (Index i = 0; i < rows; ++i)
            count += labels[i] >= 0;
        *counted = count;
    });
}

template <class Real>
void meanRowLoss(Stream& stream, const Real* rowLoss, Index rows, const std::int32_t* counted,
                 Real* loss)
{
    forEach(stream, 1, [=](Index) {
        double sum = 0;
        for (Index i = 0; i < rows; ++i)
            sum += static_cast<double>(rowLoss[i]);
        *loss = static_cast<Real>(*counted > 0 ? sum / *counted : 0.0);
    });
}

} // namespace cross_entropy_cpu
} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
