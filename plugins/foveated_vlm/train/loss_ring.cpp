#include "plugins/foveated_vlm/train/loss_ring.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/compute/ops/host_numbers.h"
#include "core/compute/ops/pointwise.h"
#include "core/compute/ops/scalar.h"

namespace vergence::fvlm {

namespace {

/// Single columns of a row; losses by frame, of both looks, and log-probabilities follow.
enum Column : Index {
    Loss,
    Fine,
    Coarse,
    Text,
    CoarseText,
    Latents,
    CoarseLatents,
    LaterLatents,
    LaterCoarseLatents,
    Contrast,
    GroupNorms,
    FirstFrame = GroupNorms + FoveatedModel::kGroups
};

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Means within passes; the others are shares of the update.
bool isMean(Index column)
{
    return column == LaterLatents || column == LaterCoarseLatents || column == Contrast ||
           column >= FirstFrame;
}

} // namespace

LossRing::LossRing(Stream& stream, const ParameterSet& parameters, int longestClip, Index mostPairs)
    : m_parameters(parameters),
      m_frames(longestClip),
      m_pairs(mostPairs),
      m_counts(static_cast<std::size_t>(columns()), 0)
{
    const DType type = parameters.masterType();
    const auto& device = parameters.device();
    m_row = Tensor::zeros(stream, device, {columns()}, type);
    m_weights = Tensor::zeros(stream, device, {columns()}, type);
    m_terms = Tensor::zeros(stream, device, {columns()}, type);
    m_sums = Tensor::zeros(stream, device, {columns()}, type);
    m_rows = Tensor::zeros(stream, device, {kRows, columns()}, type);
    m_logs = Tensor::zeros(stream, device, {2 * m_pairs}, type);
}

Index LossRing::columns() const
{
    return FirstFrame + 2 * m_frames + 2 * m_pairs;
}

void LossRing::begin(Stream& stream)
{
    stream.fillBytes(m_sums.data(), 0, m_sums.bytes());
    m_counts.assign(static_cast<std::size_t>(columns()), 0);
    m_framed = 0;
    m_references.clear();
}

void LossRing::put(Graph& graph, Value value, Index column, Present& present)
{
    if (!value)
        return;
    const Tensor& numbers = graph.dense(value);
    expects(numbers.dtype() == m_row.dtype(), "LossRing: losses have the type of the masters");
    const Index room = column < FirstFrame ? 1 : m_frames;
    const Tensor target = m_row.narrow(0, column, std::min(numbers.size(), room));
    graph.stream().copy(target.data(), numbers.data(), target.bytes());
    std::fill_n(present.begin() + column, target.size(), true);
}

LossRing::Present LossRing::note(Graph& graph, const StepValues& values)
{
    Present present(static_cast<std::size_t>(columns()), false);
    const auto note = [&](Value value, Index column) { put(graph, value, column, present); };
    graph.stream().fillBytes(m_row.data(), 0, m_row.bytes());
    note(values.loss, Loss);
    note(values.fine, Fine);
    note(values.coarse, Coarse);
    note(values.text, Text);
    note(values.coarseText, CoarseText);
    note(values.latents, Latents);
    note(values.coarseLatents, CoarseLatents);
    note(values.laterLatents, LaterLatents);
    note(values.laterCoarseLatents, LaterCoarseLatents);
    note(values.contrast, Contrast);
    note(values.latentsByFrame, FirstFrame);
    note(values.coarseLatentsByFrame, FirstFrame + m_frames);
    return present;
}

LossRing::Present LossRing::note(Graph& graph, const PreferenceValues& values)
{
    Present present(static_cast<std::size_t>(columns()), false);
    graph.stream().fillBytes(m_row.data(), 0, m_row.bytes());
    put(graph, values.loss, Loss, present);
    const Tensor& logs = graph.dense(values.logProbabilities);
    expects(logs.size() <= m_logs.size(), "LossRing: more pairs than were announced");
    expects(logs.dtype() == m_logs.dtype(), "LossRing: log-probabilities have the masters' type");
    graph.stream().copy(m_logs.data(), logs.data(), logs.bytes());
    return present;
}

/// Of how many frames the numbers of a pass are means; 1 of shares, 0 of what there is not.
std::vector<double> LossRing::weightsOf(const Present& present, const Sequences& sequences) const
{
    std::vector<double> weights(m_counts.size(), 0);
    std::fill_n(weights.begin(), Index{LaterLatents}, 1);
    for (const Sequences::Clip& clip : sequences.clips()) {
        for (const Index later : {LaterLatents, LaterCoarseLatents})
            weights[static_cast<std::size_t>(later)] += std::max(0, clip.frames - 1);
        weights[Contrast] += clip.frames;
        for (Index t = 0; t < std::min<Index>(clip.frames, m_frames); ++t) {
            ++weights[static_cast<std::size_t>(FirstFrame + t)];
            ++weights[static_cast<std::size_t>(FirstFrame + m_frames + t)];
        }
    }
    for (std::size_t i = 0; i < weights.size(); ++i)
        weights[i] = present[i] ? weights[i] : 0;
    return weights;
}

void LossRing::keep(Stream& stream, const Present& present, const Sequences& sequences)
{
    const std::vector<double> weights = weightsOf(present, sequences);
    const std::vector<float> singles(weights.begin(), weights.end());
    const bool isDouble = m_weights.dtype() == DType::F64;
    stream.copy(m_weights.data(),
                isDouble ? static_cast<const void*>(weights.data()) : singles.data(),
                m_weights.bytes());
    multiply(stream, m_row, m_weights, m_terms);
    addScaled(stream, 1, m_sums, 1, m_terms, m_sums);
    for (std::size_t i = 0; i < weights.size(); ++i)
        m_counts[i] += weights[i];
    m_framed += sequences.real().slots > 0 ? 1 : 0;
}

void LossRing::keep(Stream& stream, std::span<const std::array<double, 2>> reference)
{
    const auto done = static_cast<Index>(m_references.size());
    const auto more = static_cast<Index>(reference.size());
    expects(done + more <= m_pairs, "LossRing: more pairs than were announced");
    const Tensor target = m_sums.narrow(0, FirstFrame + 2 * m_frames + 2 * done, 2 * more);
    stream.copy(target.data(), m_logs.data(), target.bytes());
    m_references.insert(m_references.end(), reference.begin(), reference.end());
}

void LossRing::measure(Stream& stream)
{
    for (int group = 0; group < FoveatedModel::kGroups; ++group) {
        const auto [first, last] = m_parameters.range(group);
        if (m_parameters.groups()[static_cast<std::size_t>(group)].frozen || first == last)
            continue;
        const Tensor part = m_parameters.gradients().narrow(0, first, last - first);
        dotProduct(stream, part, part, m_sums.narrow(0, GroupNorms + group, 1));
    }
}

void LossRing::end(Stream& stream, Index update, Index microStep)
{
    expects(waiting() < kRows, "LossRing: it is full");
    const Tensor row = m_rows.slice(m_next);
    stream.copy(row.data(), m_sums.data(), row.bytes());
    m_next = (m_next + 1) % kRows;
    m_pending.push_back({update, microStep, m_framed, m_counts, m_references});
}

void LossRing::restore(std::vector<std::array<double, 2>> references, std::vector<double> counts,
                       Index framedPasses)
{
    if (static_cast<Index>(references.size()) > m_pairs || counts.size() != m_counts.size())
        throw InputError("The saved state of the training is damaged: it has other numbers of "
                         "pairs or losses than an update.");
    m_references = std::move(references);
    m_counts = std::move(counts);
    m_framed = framedPasses;
}

std::vector<double> LossRing::countsOf(Index passes) const
{
    std::vector<double> counts(m_counts.size(), 0);
    for (std::size_t i = 0; i < counts.size(); ++i)
        counts[i] = isMean(static_cast<Index>(i)) ? static_cast<double>(passes) : 0;
    return counts;
}

std::vector<UpdateRecord> LossRing::take(Stream& stream)
{
    std::vector<UpdateRecord> records;
    if (m_pending.empty())
        return records;
    const std::vector<double> rows = toDoubles(stream, m_rows);
    Index row = m_next + kRows - waiting();
    for (const Pending& pending : m_pending)
        records.push_back(recordOf(rows.data() + (row++ % kRows) * columns(), pending));
    m_pending.clear();
    return records;
}

UpdateRecord LossRing::recordOf(const double* row, const Pending& pending) const
{
    const auto at = [&](Index column) {
        const double count = pending.counts[static_cast<std::size_t>(column)];
        if (count == 0)
            return kNone;
        if (isMean(column))
            return row[column] / count;
        // A part of the update tells nothing of the whole. Texts alone have no latents.
        const bool isOfFrames = column == Latents || column == CoarseLatents;
        const double passes =
            isOfFrames ? static_cast<double>(pending.framed) : pending.counts[Loss];
        return count < passes ? kNone : row[column];
    };
    UpdateRecord record;
    record.update = pending.update;
    record.microStep = pending.microStep;
    record.loss = at(Loss);
    record.fine = at(Fine);
    record.coarse = at(Coarse);
    record.text = at(Text);
    record.coarseText = at(CoarseText);
    record.latents = at(Latents);
    record.coarseLatents = at(CoarseLatents);
    record.laterLatents = at(LaterLatents);
    record.laterCoarseLatents = at(LaterCoarseLatents);
    record.contrast = at(Contrast);
    for (Index frame = FirstFrame; frame < FirstFrame + m_frames; ++frame) {
        record.latentsByFrame.push_back(at(frame));
        record.coarseLatentsByFrame.push_back(at(frame + m_frames));
    }
    double sum = 0;
    for (std::size_t part = 0; part < record.partNorms.size(); ++part) {
        const double* groups = row + GroupNorms + 2 * part;
        record.partNorms[part] = std::sqrt(groups[0] + groups[1]);
        sum += groups[0] + groups[1];
    }
    record.gradientNorm = std::sqrt(sum);
    record.isSkipped = !std::isfinite(record.gradientNorm);
    if (!pending.references.empty())
        readPreferences(row + FirstFrame + 2 * m_frames, pending, record);
    return record;
}

void LossRing::readPreferences(const double* logs, const Pending& pending,
                               UpdateRecord& record) const
{
    for (const auto& [chosen, rejected] : pending.references) {
        const double chosenReward = preferenceBeta * (*logs++ - chosen);
        const double rejectedReward = preferenceBeta * (*logs++ - rejected);
        record.chosenReward += chosenReward;
        record.rejectedReward += rejectedReward;
        record.margin += chosenReward - rejectedReward;
        record.accuracy += chosenReward > rejectedReward ? 1 : 0;
    }
    const auto count = static_cast<double>(pending.references.size());
    for (double* mean :
         {&record.chosenReward, &record.rejectedReward, &record.margin, &record.accuracy})
        *mean /= count;
}

} // namespace vergence::fvlm
