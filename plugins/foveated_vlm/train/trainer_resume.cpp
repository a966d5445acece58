#include <algorithm>

#include <nlohmann/json.hpp>

#include "plugins/foveated_vlm/train/host_numbers.h"
#include "plugins/foveated_vlm/train/trainer.h"

namespace vergence::fvlm {

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
        if (isStopped && isStopped())
            return false;
        referBatch(stream,
                   std::span(unknown).subspan(first, std::min(batch, unknown.size() - first)));
    }
    return true;
}

void Trainer::referBatch(Stream& stream, std::span<const Index> clips)
{
    const ParameterSet& parameters = m_parts.model.parameters();
    MicroBatchPlan plan;
    for (const Index clip : clips) {
        const ClipInfo info = m_parts.clips.info(clip);
        plan.samples.push_back({clip, -1, info.frames, info.isImage, {}});
    }
    LoadedBatch& loaded = m_loader.load(stream, plan, samplesOf(plan));
    Graph graph(stream, parameters.device(), {false, parameters.computeType()});
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
    if (m_update && m_update->next > 0) {
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
            {"pieces_done", m_update ? m_update->pieces : 0},
            {"references", m_ring.references()}};
}

void Trainer::restore(Stream& stream, const nlohmann::json& state, const NamedTensors& saved)
{
    std::size_t next = 0;
    Index piecesDone = 0;
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
        read("micro_batches_done", next);
        read("pieces_done", piecesDone);
        m_best.restore(state.at("best"));
        m_ring.restore(state.at("references").get<std::vector<std::array<double, 2>>>());
        m_loader.drop();
        m_update.reset();
        m_following.reset();
        m_parts.batches.seek({state.at("window_first"), state.at("window_batch")});
    } catch (const nlohmann::json::exception& error) {
        throw InputError(std::string("The saved state of the training is damaged: ") +
                         error.what());
    }
    if (next > 0) {
        startUpdate(stream);
        m_update->next = next;
        m_update->pieces = piecesDone;
    }
    restoreTrainerState(stream, tensors(), saved, m_parts.model.parameters());
}

} // namespace vergence::fvlm
