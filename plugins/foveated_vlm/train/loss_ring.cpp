#include "plugins/foveated_vlm/train/loss_ring.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/compute/ops/pointwise.h"
#include "core/compute/ops/scalar.h"
#include "plugins/foveated_vlm/train/host_numbers.h"

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

/// Means within micro-steps, whose sums are divided by their count.
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
      m_isUsed(static_cast<std::size_t>(columns()), false)
{
    const DType type = parameters.masterType();
    const auto& device = parameters.device();
    m_row = Tensor::zeros(stream, device, {columns()}, type);
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
    m_references.clear();
}

void LossRing::put(Graph& graph, Value value, Index column)
{
    if (!value)
        return;
    const Tensor& numbers = graph.dense(value);
    const Index room = column < FirstFrame ? 1 : m_frames;
    const Tensor target = m_row.narrow(0, column, std::min(numbers.size(), room));
    graph.stream().copy(target.data(), numbers.data(), target.bytes());
    std::fill_n(m_isUsed.begin() + column, target.size(), true);
}

void LossRing::addRow(Graph& graph)
{
    addScaled(graph.stream(), 1, m_sums, 1, m_row, m_sums);
}

void LossRing::add(Graph& graph, const StepValues& values)
{
    graph.stream().fillBytes(m_row.data(), 0, m_row.bytes());
    put(graph, values.loss, Loss);
    put(graph, values.fine, Fine);
    put(graph, values.coarse, Coarse);
    put(graph, values.text, Text);
    put(graph, values.coarseText, CoarseText);
    put(graph, values.latents, Latents);
    put(graph, values.coarseLatents, CoarseLatents);
    put(graph, values.laterLatents, LaterLatents);
    put(graph, values.laterCoarseLatents, LaterCoarseLatents);
    put(graph, values.contrast, Contrast);
    put(graph, values.latentsByFrame, FirstFrame);
    put(graph, values.coarseLatentsByFrame, FirstFrame + m_frames);
    addRow(graph);
}

void LossRing::add(Graph& graph, const PreferenceValues& values)
{
    graph.stream().fillBytes(m_row.data(), 0, m_row.bytes());
    put(graph, values.loss, Loss);
    addRow(graph);
    const Tensor& logs = graph.dense(values.logProbabilities);
    expects(logs.size() <= m_logs.size(), "LossRing: more pairs than were announced");
    graph.stream().copy(m_logs.data(), logs.data(), logs.bytes());
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

void LossRing::end(Stream& stream, Index update, Index microStep, Index pieces)
{
    expects(waiting() < kRows, "LossRing: it is full");
    const Tensor row = m_rows.slice(m_next);
    stream.copy(row.data(), m_sums.data(), row.bytes());
    m_next = (m_next + 1) % kRows;
    m_pending.push_back({update, microStep, pieces, m_references});
}

void LossRing::restore(std::vector<std::array<double, 2>> references)
{
    expects(static_cast<Index>(references.size()) <= m_pairs,
            "LossRing: more pairs than were announced");
    m_references = std::move(references);
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
        if (!m_isUsed[static_cast<std::size_t>(column)])
            return kNone;
        return isMean(column) ? row[column] / static_cast<double>(pending.pieces) : row[column];
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
        if (m_isUsed[static_cast<std::size_t>(frame)])
            record.latentsByFrame.push_back(at(frame));
        if (m_isUsed[static_cast<std::size_t>(frame + m_frames)])
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
