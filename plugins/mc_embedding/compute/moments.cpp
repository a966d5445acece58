#include "plugins/mc_embedding/compute/moments.h"

#include <algorithm>

#include <fmt/format.h>

#include "plugins/mc_embedding/compute/moment_kernels.h"

namespace vergence::mc_embedding {

namespace {

double* doubles(const Tensor& tensor)
{
    return static_cast<double*>(tensor.data());
}

Tensor normsOf(Stream& stream, const Tensor& features)
{
    const Index dimensions = features.shape().back(), rows = features.size() / dimensions;
    const Tensor norms = Tensor::empty(features.device(), {rows}, DType::F64);
    featureNorms(stream,
                 {rows, dimensions, static_cast<const float*>(features.data()), doubles(norms)});
    return norms;
}

} // namespace

Moments::Moments(Stream& stream, const Tensor& shift)
{
    expects(shift.rank() == 2 && shift.dtype() == DType::F32 && shift.size() > 0,
            "Moments: the shift must be [images, dimensions] F32");
    m_shift = Tensor::empty(shift.device(), shift.shape(), DType::F64);
    m_postShift = Tensor::empty(shift.device(), shift.shape(), DType::F64);
    m_sums = Tensor::empty(shift.device(), {4, shift.extent(0), shift.extent(1)}, DType::F64);
    const Tensor norms = normsOf(stream, shift);
    momentShifts(stream, {shift.extent(0), shift.extent(1), static_cast<const float*>(shift.data()),
                          doubles(norms), doubles(m_shift), doubles(m_postShift)});
    clear(stream);
}

void Moments::clear(Stream& stream)
{
    stream.fillBytes(m_sums.data(), 0, m_sums.bytes());
    m_count = 0;
}

void Moments::add(Stream& stream, const Tensor& features)
{
    expects(features.rank() == 3 && features.dtype() == DType::F32 &&
                features.extent(1) == m_shift.extent(0) && features.extent(2) == m_shift.extent(1),
            fmt::format("Moments: features are {} but images and dimensions are {}",
                        toString(features.shape()), toString(m_shift.shape())));
    const Tensor norms = normsOf(stream, features);
    MomentArguments args;
    args.passes = features.extent(0);
    args.images = features.extent(1);
    args.dimensions = features.extent(2);
    args.features = static_cast<const float*>(features.data());
    args.norms = doubles(norms);
    args.shift = doubles(m_shift);
    args.postShift = doubles(m_postShift);
    args.sums = doubles(m_sums);
    addMoments(stream, args);
    m_count += args.passes;
}

Moments::Snapshot Moments::snapshot(Stream& stream) const
{
    const auto part = [&](Index i) { return m_sums.slice(i).toHost<double>(stream); };
    Snapshot result;
    result.passes = m_count;
    result.images = m_shift.extent(0);
    result.dimensions = m_shift.extent(1);
    result.sum = part(0);
    result.squares = part(1);
    result.postSum = part(2);
    result.postSquares = part(3);
    result.shift = m_shift.toHost<double>(stream);
    result.postShift = m_postShift.toHost<double>(stream);
    return result;
}

void Moments::restore(Stream& stream, const Snapshot& saved)
{
    expects(saved.images == m_shift.extent(0) && saved.dimensions == m_shift.extent(1),
            "Moments: the saved state is of another chunk");
    const std::vector<double>* parts[] = {&saved.sum, &saved.squares, &saved.postSum,
                                          &saved.postSquares};
    for (Index i = 0; i < 4; ++i) {
        const Tensor target = m_sums.slice(i);
        expects(static_cast<Index>(parts[i]->size()) == target.size(),
                "Moments: the saved state is incomplete");
        stream.copy(target.data(), parts[i]->data(), target.bytes());
    }
    m_count = saved.passes;
}

std::vector<double> Moments::Snapshot::variance(bool post, bool biased) const
{
    const Index divisor = biased ? passes : passes - 1;
    expects(divisor > 0, "Moments: a variance wants at least two passes (one where biased)");
    const auto& first = post ? postSum : sum;
    const auto& second = post ? postSquares : squares;
    const auto count = static_cast<double>(passes);
    std::vector<double> result(first.size());
    for (std::size_t i = 0; i < result.size(); ++i)
        result[i] =
            std::max(0.0, (second[i] - first[i] * first[i] / count) / static_cast<double>(divisor));
    return result;
}

std::vector<double> Moments::Snapshot::mean(bool post) const
{
    expects(passes > 0, "Moments: a mean wants at least one pass");
    const auto& first = post ? postSum : sum;
    std::vector<double> result = post ? postShift : shift;
    for (std::size_t i = 0; i < result.size(); ++i)
        result[i] += first[i] / static_cast<double>(passes);
    return result;
}

std::vector<double> Moments::Snapshot::trace(bool post, bool biased) const
{
    const std::vector<double> all = variance(post, biased);
    std::vector<double> result(static_cast<std::size_t>(images));
    for (std::size_t i = 0; i < result.size(); ++i) {
        double total = 0;
        for (std::size_t d = 0; d < static_cast<std::size_t>(dimensions); ++d)
            total += all[i * static_cast<std::size_t>(dimensions) + d];
        result[i] = total / static_cast<double>(dimensions);
    }
    return result;
}

} // namespace vergence::mc_embedding
