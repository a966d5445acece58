#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/compute/ops/host_numbers.h"
#include "plugins/foveated_vlm/train/trainer.h"

namespace vergence::fvlm {

namespace {

/// Of a number that is used as an index.
void checkSaved(bool isPossible, const char* name)
{
    if (!isPossible)
        throw InputError(fmt::format("The saved state of the training is damaged or not of these "
                                     "settings: {} is out of range.",
                                     name));
}

} // namespace

// Preferences: the reference

bool Trainer::needsReference() const
{
    if (!m_reference)
        return false;
    const auto& members = m_parts.batches.members();
    return !std::all_of(members.begin(), members.end(),
                        [&](Index clip) { return m_reference->knows(clip); });
}

bool Trainer::makeReference(Stream& stream, const std::function<bool()>& isStopped)
{
    expects(m_reference != nullptr, "Trainer: there are no preferences");
    std::vector<Index> unknown;
    for (const Index clip : m_parts.batches.members()) {
        if (!m_reference->knows(clip))
            unknown.push_back(clip);
    }
    expects(unknown.empty() || m_counts.microSteps == 0,
            "Trainer: the reference is of the weights before training");
    const auto batch = static_cast<std::size_t>(m_parts.batches.settings().batch);
    for (std::size_t first = 0; first < unknown.size(); first += batch) {
        const std::size_t count = std::min(batch, unknown.size() - first);
        try {
            referBatch(stream, std::span(unknown).subspan(first, count), isStopped);
        } catch (const GraphStopped&) {
            return false;
        }
    }
    return true;
}

void Trainer::referBatch(Stream& stream, std::span<const Index> clips,
                         const std::function<bool()>& isStopped)
{
    const ParameterSet& parameters = m_parts.model.parameters();
    MicroBatchPlan plan;
    for (const Index clip : clips) {
        const ClipInfo info = m_parts.clips.info(clip);
        plan.samples.push_back({clip, -1, info.frames, info.isImage, {}});
    }
    LoadedBatch& loaded = m_loader.load(stream, plan, samplesOf(plan));
    Graph graph(stream, parameters.device(), {false, parameters.computeType()});
    graph.stopWhen(isStopped);
    const ForwardPass pass{graph, parameters, nullptr, false, {}};
    PreferenceSettings settings;
    settings.refinements = m_settings.refinements;
    settings.inversePairs = m_inversePairs;
    settings.reference = m_logs.narrow(0, 0, static_cast<Index>(clips.size()));
    const PreferenceValues values = preferenceLoss(pass, m_parts.model, loaded.batch, settings);
    const std::vector<double> logs = toDoubles(stream, graph.dense(values.logProbabilities));
    for (std::size_t i = 0; i < clips.size(); ++i)
        m_reference->set(clips[i], {logs[2 * i], logs[2 * i + 1]});
}

// Checkpoints

NamedTensors Trainer::tensors() const
{
    const ParameterSet& parameters = m_parts.model.parameters();
    NamedTensors tensors = trainerState(parameters, m_adam.get(), m_average.get());
    if (m_reference)
        tensors.emplace_back("trainer.reference", m_reference->tensor());
    if (m_update && m_update->next > 0 && !m_update->lostSums) {
        tensors.emplace_back("trainer.gradients", parameters.gradients());
        tensors.emplace_back("trainer.sums", m_ring.sums());
    }
    return tensors;
}

nlohmann::json Trainer::state() const
{
    expects(m_ring.waiting() == 0 && m_records.empty(),
            "Trainer: records must be taken before its state is saved");
    const Update* update = m_update ? m_update.get() : m_following.get();
    const BatchMaker::Position start = update ? update->start : m_parts.batches.position();
    return {{"micro_steps", m_counts.microSteps},
            {"updates", m_counts.updates},
            {"samples", m_counts.samples},
            {"cut_samples", m_counts.cutSamples},
            {"empty_updates", m_counts.emptyUpdates},
            {"skipped", m_counts.skipped},
            {"splits", m_counts.splits},
            {"skipped_in_row", m_skippedInRow},
            {"last_reading", m_lastReading},
            {"pieces", m_pieces},
            {"best", m_best.state()},
            {"window_first", start.firstDrawn},
            {"window_batch", start.batch},
            {"micro_batches_done", m_update ? m_update->next : 0},
            {"lost_sums", m_update && m_update->lostSums},
            {"references", m_ring.references()},
            {"loss_counts", m_ring.counts()},
            {"framed_passes", m_ring.framedPasses()}};
}

/// Goes on with an update of which `done` micro-batches are run, and summed up unless `lostSums`.
void Trainer::enterUpdate(Stream& stream, Index done, bool lostSums)
{
    if (done == 0)
        return;
    startUpdate(stream);
    const auto& batches = m_update->plan.microBatches;
    checkSaved(done < static_cast<Index>(batches.size()), "micro_batches_done");
    m_update->next = static_cast<std::size_t>(done);
    m_update->lostSums = lostSums;
    if (lostSums)
        return;
    Index pairs = 0;
    for (std::size_t i = 0; m_reference && i < m_update->next; ++i)
        pairs += static_cast<Index>(batches[i].samples.size());
    checkSaved(static_cast<Index>(m_ring.references().size()) == pairs, "references");
}

void Trainer::restore(Stream& stream, const nlohmann::json& state, const NamedTensors& saved)
{
    Index done = 0;
    bool lostSums = false;
    try {
        const auto read = [&](const char* name, auto& target) { state.at(name).get_to(target); };
        read("micro_steps", m_counts.microSteps);
        read("updates", m_counts.updates);
        read("samples", m_counts.samples);
        read("cut_samples", m_counts.cutSamples);
        read("empty_updates", m_counts.emptyUpdates);
        read("skipped", m_counts.skipped);
        read("splits", m_counts.splits);
        read("skipped_in_row", m_skippedInRow);
        read("last_reading", m_lastReading);
        read("pieces", m_pieces);
        read("micro_batches_done", done);
        lostSums = state.value("lost_sums", false);
        m_best.restore(state.at("best"));
        // Earlier versions saved the number of passes in place of counts.
        m_ring.restore(state.at("references").get<std::vector<std::array<double, 2>>>(),
                       state.value("loss_counts", m_ring.countsOf(state.value("pieces_done", 0))),
                       state.value("framed_passes", Index{0}));
        m_loader.drop();
        m_update.reset();
        m_following.reset();
        m_parts.batches.seek({state.at("window_first"), state.at("window_batch")});
    } catch (const nlohmann::json::exception& error) {
        throw InputError(std::string("The saved state of the training is damaged: ") +
                         error.what());
    }
    checkSaved(m_pieces > 0, "pieces");
    checkSaved(done >= 0, "micro_batches_done");
    enterUpdate(stream, done, lostSums);
    restoreTrainerState(stream, tensors(), saved, m_parts.model.parameters());
}

} // namespace vergence::fvlm
