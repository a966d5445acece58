#include "plugins/foveated_vlm/model/sequences.h"

namespace vergence::fvlm {

namespace {
constexpr Index kAlignment = 16; ///< elements

/// Windows of one block, one after another.
class Windows {
public:
    Index take(Index count)
    {
        const Index first = m_next;
        m_next += (count + kAlignment - 1) / kAlignment * kAlignment;
        return first;
    }
    Index total() const { return m_next; }

private:
    Index m_next = 0;
};

/// Every table of integers with its host side.
template <class Visit>
void forEachTable(SequenceTables& device, const Sequences* host, const Visit& visit)
{
    const auto on = [&](Tensor& tensor, const std::vector<std::int32_t> Sequences::*table,
                        Index SequenceShape::*a, Index SequenceShape::*b) {
        const SequenceShape& shape = device.shape();
        visit(tensor, shape.*a * (b ? shape.*b : 1), host ? &(host->*table) : nullptr);
    };
    using S = SequenceShape;
    on(device.textIds, &Sequences::textIds, &S::text, nullptr);
    on(device.fine, &Sequences::fine, &S::sequences, &S::length);
    on(device.coarse, &Sequences::coarse, &S::sequences, &S::length);
    on(device.shortFine, &Sequences::shortFine, &S::clips, &S::shortLength);
    on(device.shortCoarse, &Sequences::shortCoarse, &S::clips, &S::shortLength);
    on(device.visual, &Sequences::visual, &S::slots, nullptr);
    on(device.shortVisual, &Sequences::shortVisual, &S::slots, nullptr);
    on(device.queryOf, &Sequences::queryOf, &S::slots, nullptr);
    on(device.frameOf, &Sequences::frameOf, &S::slots, nullptr);
    on(device.staticOf, &Sequences::staticOf, &S::slots, nullptr);
    on(device.before, &Sequences::before, &S::slots, nullptr);
    on(device.shortBefore, &Sequences::shortBefore, &S::slots, nullptr);
    on(device.latentBefore, &Sequences::latentBefore, &S::slots, nullptr);
    on(device.predicting, &Sequences::predicting, &S::counted, nullptr);
    on(device.labels, &Sequences::labels, &S::counted, nullptr);
}

/// Numbers of every table of reals, in the order of its declaration.
struct RealNumbers {
    std::vector<double> counted{0}, isReal, realShare, laterShare, frameShare, sequenceSums;

    explicit RealNumbers(const Sequences& host)
    {
        const SequenceShape& shape = host.shape();
        const auto slots = static_cast<std::size_t>(shape.slots);
        isReal.assign(slots, 0);
        laterShare.assign(slots, 0);
        frameShare.assign(slots * static_cast<std::size_t>(shape.longestClip), 0);
        std::vector<double> perFrame(static_cast<std::size_t>(shape.longestClip), 0);
        double later = 0;
        for (const Sequences::Clip& clip : host.clips()) {
            for (int t = 0; t < clip.frames; ++t)
                ++perFrame[static_cast<std::size_t>(t)];
            later += std::max(0, clip.frames - 1);
        }
        for (const Sequences::Clip& clip : host.clips()) {
            for (int t = 0; t < clip.frames; ++t) {
                const auto slot = static_cast<std::size_t>(clip.firstSlot + t);
                const auto frame = static_cast<std::size_t>(t);
                isReal[slot] = 1;
                laterShare[slot] = t > 0 ? 1 / later : 0;
                frameShare[frame * slots + slot] = 1 / perFrame[frame];
            }
        }
        realShare = isReal;
        for (double& share : realShare)
            share /= std::max<double>(1, static_cast<double>(host.real().slots));
        if (shape.sequences > shape.clips)
            sequenceSums.assign(static_cast<std::size_t>(shape.sequences * shape.counted), 0);
        for (std::size_t i = 0; i < host.sequenceOf.size(); ++i) {
            if (host.sequenceOf[i] < 0)
                continue;
            ++counted[0];
            if (!sequenceSums.empty())
                sequenceSums[static_cast<std::size_t>(host.sequenceOf[i]) *
                                 static_cast<std::size_t>(shape.counted) +
                             i] = 1;
        }
    }
};

/// Each table of reals with its shape, and its numbers where there are some.
template <class Visit>
void forEachReal(SequenceTables& device, const RealNumbers* host, const Visit& visit)
{
    const SequenceShape& s = device.shape();
    const auto numbers = [&](std::vector<double> RealNumbers::*table) {
        return host ? &(host->*table) : nullptr;
    };
    visit(device.countedTokens, Shape{1}, numbers(&RealNumbers::counted));
    visit(device.isReal, Shape{s.slots}, numbers(&RealNumbers::isReal));
    visit(device.realShare, Shape{s.slots}, numbers(&RealNumbers::realShare));
    visit(device.laterShare, Shape{s.slots}, numbers(&RealNumbers::laterShare));
    visit(device.frameShare, Shape{s.longestClip, s.slots}, numbers(&RealNumbers::frameShare));
    if (s.sequences > s.clips)
        visit(device.sequenceSums, Shape{s.sequences, s.counted},
              numbers(&RealNumbers::sequenceSums));
}
} // namespace

SequenceTables::SequenceTables(const std::shared_ptr<Device>& device, const SequenceShape& shape,
                               DType real)
    : m_shape(shape)
{
    Windows integers, reals;
    forEachTable(*this, nullptr, [&](Tensor&, Index count, const auto*) { integers.take(count); });
    forEachReal(*this, nullptr, [&](Tensor&, const Shape& extents, const auto*) {
        reals.take(elementCount(extents));
    });
    m_integers = Tensor::empty(device, {integers.total()}, DType::I32);
    m_reals = Tensor::empty(device, {reals.total()}, real);
    Windows placed, placedReals;
    forEachTable(*this, nullptr, [&](Tensor& tensor, Index count, const auto*) {
        tensor = m_integers.narrow(0, placed.take(count), count);
    });
    forEachReal(*this, nullptr, [&](Tensor& tensor, const Shape& extents, const auto*) {
        const Index count = elementCount(extents);
        tensor = m_reals.narrow(0, placedReals.take(count), count).reshaped(extents);
    });
}

void SequenceTables::fill(Stream& stream, const Sequences& sequences)
{
    expects(sequences.shape() == m_shape, "SequenceTables: the sequences have another shape");
    std::vector<std::int32_t> integers(static_cast<std::size_t>(m_integers.size()), 0);
    Windows placed;
    forEachTable(*this, &sequences,
                 [&](Tensor&, Index count, const std::vector<std::int32_t>* table) {
                     std::copy(table->begin(), table->end(), integers.begin() + placed.take(count));
                 });
    stream.copy(m_integers.data(), integers.data(), m_integers.bytes());
    std::vector<double> reals(static_cast<std::size_t>(m_reals.size()), 0);
    Windows placedReals;
    const RealNumbers numbers(sequences);
    forEachReal(*this, &numbers,
                [&](Tensor&, const Shape& extents, const std::vector<double>* table) {
                    std::copy(table->begin(), table->end(),
                              reals.begin() + placedReals.take(elementCount(extents)));
                });
    if (m_reals.dtype() == DType::F64) {
        stream.copy(m_reals.data(), reals.data(), m_reals.bytes());
    } else {
        const std::vector<float> single(reals.begin(), reals.end());
        stream.copy(m_reals.data(), single.data(), m_reals.bytes());
    }
}

} // namespace vergence::fvlm
