#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/compute/graph/graph.h"
#include "plugins/foveated_vlm/model/losses.h"
#include "plugins/foveated_vlm/train/train_settings.h"

namespace vergence::fvlm {

/// What an update was like. Losses are means over the whole update; not a number where it has no
/// such loss, or not in all of its passes (of latents: those over frames).
struct UpdateRecord {
    Index update = 0;    ///< counted from 0
    Index microStep = 0; ///< that ended it, counted from 1
    double loss = 0, fine = 0, coarse = 0;
    double text = 0, coarseText = 0;
    double latents = 0, coarseLatents = 0;
    double laterLatents = 0, laterCoarseLatents = 0; ///< frames 2, 3, …
    double contrast = 0;
    std::vector<double> latentsByFrame, coarseLatentsByFrame; ///< over the clips that have it
    double accuracy = 0, margin = 0;             ///< of preferences: share with m > 0, mean m
    double chosenReward = 0, rejectedReward = 0; ///< β (log π − log ρ), means
    std::array<double, 3> partNorms{};           ///< of gradients before clipping, by Part
    double gradientNorm = 0;
    bool isSkipped = false; ///< the gradients were not finite
};

/// Losses and norms stay on the device, one row per update, until somebody reads them all at once;
/// so no micro-step waits for the host.
class LossRing {
public:
    static constexpr Index kRows = 256;

    /// `longestClip`: frames whose losses are told apart; `mostPairs`: preferences of an update.
    LossRing(Stream& stream, const ParameterSet& parameters, int longestClip, Index mostPairs);

    /// Which numbers of a pass there are.
    using Present = std::vector<bool>;

    /// Before the first micro-step of an update.
    void begin(Stream& stream);
    /// Notes the losses of a pass, which wait for keep(); may be recorded.
    Present note(Graph& graph, const StepValues& values);
    /// The same of preferences and their log-probabilities.
    Present note(Graph& graph, const PreferenceValues& values);
    /// Adds the losses of the latest pass, which was over these sequences; not to be recorded.
    void keep(Stream& stream, const Present& present, const Sequences& sequences);
    /// Keeps the log-probabilities [pairs, 2] of the latest pass, of pairs with this reference.
    void keep(Stream& stream, std::span<const std::array<double, 2>> reference);
    /// The norms of all gradients; may be recorded.
    void measure(Stream& stream);
    /// Closes the row of an update.
    void end(Stream& stream, Index update, Index microStep);

    /// Rows that were closed and not yet taken; the ring is full at kRows.
    Index waiting() const { return static_cast<Index>(m_pending.size()); }
    /// Takes them; waits for the stream.
    std::vector<UpdateRecord> take(Stream& stream);

    /// Sums of the update that is under way; for checkpoints.
    const Tensor& sums() const { return m_sums; }

    /// What else of it is needed to go on: references of its pairs so far, and what its sums are
    /// sums of.
    const std::vector<std::array<double, 2>>& references() const { return m_references; }
    const std::vector<double>& counts() const { return m_counts; }
    Index framedPasses() const { return m_framed; }
    /// Throws InputError for more than an update has.
    void restore(std::vector<std::array<double, 2>> references, std::vector<double> counts,
                 Index framedPasses);
    /// Counts of `passes` that an earlier version summed up as means and did not count.
    std::vector<double> countsOf(Index passes) const;

    double preferenceBeta = 0.1; ///< of rewards

private:
    struct Pending {
        Index update = 0, microStep = 0, framed = 0;
        std::vector<double> counts;
        std::vector<std::array<double, 2>> references;
    };
    void put(Graph& graph, Value value, Index column, Present& present);
    std::vector<double> weightsOf(const Present& present, const Sequences& sequences) const;
    Index columns() const;
    UpdateRecord recordOf(const double* row, const Pending& pending) const;
    void readPreferences(const double* logs, const Pending& pending, UpdateRecord& record) const;

    const ParameterSet& m_parameters;
    Index m_frames, m_pairs;
    Tensor m_row;                 ///< [columns] of the latest pass, master type
    Tensor m_weights;             ///< [columns] of how many frames they are means; 1 for shares
    Tensor m_terms;               ///< [columns] their product
    Tensor m_sums;                ///< [columns] over the update
    Tensor m_logs;                ///< [2 · pairs] of the latest pass
    Tensor m_rows;                ///< [kRows, columns]
    std::vector<double> m_counts; ///< [columns] Σ weights over the update
    Index m_framed = 0;           ///< passes of the update that had frames
    std::vector<std::array<double, 2>> m_references; ///< of the running update
    Index m_next = 0;
    std::vector<Pending> m_pending;
};

} // namespace vergence::fvlm
