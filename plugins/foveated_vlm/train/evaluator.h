#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "plugins/foveated_vlm/model/evaluation.h"
#include "plugins/foveated_vlm/model/generation.h"
#include "plugins/foveated_vlm/train/batch_loader.h"
#include "plugins/foveated_vlm/train/bootstrap.h"
#include "plugins/foveated_vlm/train/gaze_measures.h"

namespace vergence::fvlm {

/// One way of looking, on the held-out clips. Text: nats; latents: mean squared errors. Not a
/// number where nothing was counted.
struct WayResult {
    double loss = 0;                ///< per counted token, or per latent number
    double answerNats = 0;          ///< Σ over an answer, mean over clips; text
    double exactMatch = 0;          ///< share of clips whose greedy answer is exact; text
    Index exact = 0, generated = 0; ///< as many are, of so many answers that were generated
    double latents = 0;             ///< mean squared error
    double later = 0;               ///< the same over frames 2, 3, …
    std::vector<double> clipLosses; ///< by clip, in order: Σ over its answer, mean over its frames
    std::vector<double> byFrame;    ///< latents
};

struct EvaluationSettings {
    int batch = 8;
    bool coarse = true, fine = true, sequential = true;
    int refinements = 1;
    int attentionClips = 32; ///< whose attention is measured
    int exactClips = 64;     ///< whose answers are generated
    bool controls = false;   ///< random and shuffled queries
    double blindNats = 0;    ///< that a model without sight reaches per answer; 0: unknown
    std::uint64_t seed = 42; ///< of controls and resampling
};

/// All that is said about held-out clips at one time.
struct EvaluationReport {
    Index clips = 0;
    std::optional<WayResult> coarse, fine, sequential;
    std::optional<double> randomQueries, shuffledQueries; ///< losses of the fine look with those
    std::optional<Interval> ratio;   ///< coarse / fine loss over clips; above 1, looking helps
    std::optional<double> copyError; ///< mean squared error of the latent of the frame before
    AttentionMeasures coarseAttention, fineAttention;
    LikenessMeasures likeness;
    double blindNats = 0; ///< per answer; 0: unknown
    bool wasStopped = false;

    /// Nats per answer below what is possible without sight; 0 where the floor is unknown.
    double natsBelowBlind(const std::optional<WayResult>& way) const;
    /// The loss that tells the best checkpoint: fine, else coarse, else sequential.
    double judged() const;
};

/// Evaluates a model on fixed clips. Specification, sections 6.9 and 12.
class Evaluator {
public:
    /// All must outlive it. `text`: null where nothing is written.
    struct Parts {
        FoveatedModel& model;
        FrameFeed* feed = nullptr;
        const ClipSource& clips;
        const LatentSource* latents = nullptr; ///< for the error of copying
        const ChatTemplate* text = nullptr;
    };
    /// `members`: the clips, in order.
    Evaluator(const Parts& parts, std::vector<Index> members, EvaluationSettings settings);
    ~Evaluator();

    /// `isStopped` is asked between batches and several times within; what was seen in whole ones
    /// until then is reported. `tell` hears before each batch how many clips are done.
    EvaluationReport run(Stream& stream, std::function<bool()> isStopped = {},
                         const std::function<void(Index done)>& tell = {});
    const std::vector<Index>& members() const { return m_members; }

private:
    struct WaySums;
    struct Sums;
    MicroBatchPlan planOf(std::span<const Index> clips) const;
    bool isStopped() const { return m_isStopped && m_isStopped(); }
    /// False where it was stopped; the sums are then of no use.
    bool runBatch(Stream& stream, std::span<const Index> clips, Sums& sums);
    ForwardPass newPass(Stream& stream);
    Evaluation look(Stream& stream, const LoadedBatch& loaded, Mode mode,
                    const EvaluationWish& wish);
    void add(WaySums& way, const LoadedBatch& loaded, std::span<const double> nlls,
             std::span<const int> counts, std::span<const double> latents) const;
    bool answerQuestions(Stream& stream, const MicroBatchPlan& plan, Sums& sums);
    void measure(Stream& stream, const Sequences& sequences, const Evaluation& seen,
                 Sums& sums) const;
    void runControls(Stream& stream, const LoadedBatch& loaded, const Tensor& queries, Sums& sums);
    bool runLooks(Stream& stream, const LoadedBatch& loaded, Sums& sums);
    void finish(const Sums& sums, EvaluationReport& report);
    std::optional<double> copyError() const;

    Parts m_parts;
    std::vector<Index> m_members;
    EvaluationSettings m_settings;
    BatchLoader m_loader;
    std::unique_ptr<Graph> m_graph;
    std::optional<double> m_copyError;
    std::function<bool()> m_isStopped; ///< while it runs
};

} // namespace vergence::fvlm
