#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/compute/optim/adam.h"
#include "core/compute/optim/trainer_state.h"
#include "plugins/foveated_vlm/train/batch_loader.h"
#include "plugins/foveated_vlm/train/best_metric.h"
#include "plugins/foveated_vlm/train/loss_ring.h"
#include "plugins/foveated_vlm/train/preference_reference.h"

namespace vergence::fvlm {

/// What a micro-step did, as far as the host knows without waiting for the device.
struct MicroStepReport {
    Index microStep = 0;         ///< now done, counted from 1
    Index updates = 0;           ///< now done
    bool endsUpdate = false;     ///< it was the last of its update
    Index samples = 0;           ///< of this micro-step
    int pieces = 1;              ///< it was run in
    bool ranOutOfMemory = false; ///< and was run again in more pieces
    bool wasStopped = false;     ///< on its way, and is not done
};

/// Sums over a run; saved with it.
struct TrainCounts {
    Index microSteps = 0, updates = 0;
    Index samples = 0;      ///< presented
    Index cutSamples = 0;   ///< shortened by the limit of tokens
    Index emptyUpdates = 0; ///< had nothing to learn from and changed nothing
    Index skipped = 0; ///< updates whose gradients were not finite, as far as records were taken
    Index splits = 0;  ///< times the memory was not enough
};

/// What was learnt from since the trainer exists, for those who ask how much work that was.
struct WorkCounts {
    double microSteps = 0;
    double frames = 0, encoded = 0; ///< of all samples; an image is encoded once
    double sequences = 0;           ///< samples and their other endings
    double visual = 0, text = 0;    ///< tokens of all sequences
    double counted = 0;             ///< text tokens that a loss counts
};

/// Trains a foveated model. A micro-step is one forward and backward pass; after the micro-steps of
/// an update their summed gradients are clipped and applied. All losses of an update share one
/// denominator, the tokens it counts (frames for latents), so that accumulation equals a large
/// batch. On CUDA every shape of batch is recorded and replayed. Used from one thread with one
/// stream.
class Trainer {
public:
    /// What it works with; all must outlive it. `text`: null where nothing is written; needed for
    /// preferences. `feed` may be null where no sample has frames.
    struct Parts {
        FoveatedModel& model;
        FrameFeed* feed = nullptr;
        BatchMaker& batches;
        const ClipSource& clips;
        const ChatTemplate* text = nullptr;
    };
    /// The model has its weights and is prepared for the feed's frames. Throws ContractError for
    /// settings out of range and where nothing is trained.
    Trainer(Stream& stream, const Parts& parts, const TrainSettings& settings);
    ~Trainer();
    Trainer(const Trainer&) = delete;
    Trainer& operator=(const Trainer&) = delete;

    /// The next micro-step, and the update where it is the last of one. Where the memory is not
    /// enough, all micro-batches are run in twice as many pieces from now on and those of this
    /// update again; their sum is the same. Throws DeviceError (exit code 5) where single samples
    /// do not fit, NumericsError as takeRecords() does. `isStopped` is asked after each operation;
    /// where it says so, nothing is done, and the next call runs the update's micro-batches again.
    MicroStepReport microStep(Stream& stream, std::function<bool()> isStopped = {});
    bool isDone() const { return m_counts.updates >= m_settings.updates; }

    /// Preferences: log-probabilities of all pairs under the weights as they are, before the first
    /// micro-step. `isStopped` is asked after each operation; a later call goes on. True when done.
    bool makeReference(Stream& stream, const std::function<bool()>& isStopped = {});
    bool needsReference() const;

    /// Records of updates since the last call, in order; empty unless `logEvery` micro-steps passed
    /// or `now`. Waits for the device where there are some. Throws NumericsError after skipLimit
    /// updates in a row that were not finite, and for a loss that is not finite though its
    /// gradients are.
    std::vector<UpdateRecord> takeRecords(Stream& stream, bool now = false);

    const TrainCounts& counts() const { return m_counts; }
    const WorkCounts& work() const { return m_work; }
    const TrainSettings& settings() const { return m_settings; }
    double epochs() const;                  ///< passes over the clips so far
    int pieces() const { return m_pieces; } ///< that micro-batches are run in
    double rate(Part part) const { return m_settings.rateAt(part, m_counts.updates); }
    void change(Stream& stream, const LiveSettings& live);

    /// True where the loss of held-out clips is the best so far.
    bool judge(double validationLoss) { return m_best.add(validationLoss); }
    const BestMetric& best() const { return m_best; }

    /// Puts the moving average into the model while it lives; does nothing where there is none.
    class AverageScope {
    public:
        AverageScope(Trainer& trainer, Stream& stream);
        ~AverageScope();
        AverageScope(const AverageScope&) = delete;
        AverageScope& operator=(const AverageScope&) = delete;

    private:
        Trainer& m_trainer;
        Stream& m_stream;
        Tensor m_values; ///< as they are trained
    };

    /// Everything that makes a continued run equal, to the bit, to one that never stopped; also
    /// between the micro-steps of an update. Records must have been taken before.
    NamedTensors tensors() const;
    nlohmann::json state() const;
    /// Throws InputError where tensors or state are damaged or of another run; the trainer is then
    /// not to be used.
    void restore(Stream& stream, const nlohmann::json& state, const NamedTensors& saved);

private:
    /// One update on its way.
    struct Update {
        BatchMaker::Position start;
        UpdatePlan plan;
        Index counted = 0, slots = 0; ///< denominators: tokens, frames
        std::size_t next = 0;         ///< micro-batch
        bool lostSums = false;        ///< those of the micro-batches before it must be made again
    };

    std::vector<SampleTokens> samplesOf(const MicroBatchPlan& plan) const;
    Update planned();
    void announce(const Update& update);
    void startUpdate(Stream& stream);
    void enterUpdate(Stream& stream, Index done, bool lostSums);
    void clearSums(Stream& stream);
    bool runToNext(Stream& stream);
    void runMicroBatch(Stream& stream, std::size_t index);
    void runPiece(Stream& stream, const MicroBatchPlan& piece);
    void learn(LoadedBatch& loaded);
    void learnPreferences(const ForwardPass& pass, LoadedBatch& loaded);
    LossSettings lossSettings() const;
    void uploadReference(Stream& stream, std::span<const std::array<double, 2>> reference);
    std::vector<Index> clipsOf(const MicroBatchPlan& plan) const;
    void referBatch(Stream& stream, std::span<const Index> clips,
                    const std::function<bool()>& isStopped);
    bool splitFurther(Stream& stream);
    void loseSums(Stream& stream);
    void countWork(const MicroBatchPlan& done);
    void endUpdate(Stream& stream);
    void makeGraph(Stream& stream);
    void makeAdam(Stream& stream);
    void readRing(Stream& stream);
    void watch(const UpdateRecord& record);

    Parts m_parts;
    TrainSettings m_settings;
    TrainCounts m_counts;
    WorkCounts m_work;
    BatchLoader m_loader;
    std::unique_ptr<Graph> m_graph;
    std::uint64_t m_allocations = 0; ///< of the graph, when steps were recorded
    std::unique_ptr<Adam> m_adam;
    std::unique_ptr<MovingAverage> m_average;
    std::unique_ptr<StepGraph> m_updateStep;
    LossRing m_ring;
    BestMetric m_best;
    std::unique_ptr<PreferenceReference> m_reference;        ///< null: no preferences
    Tensor m_inverseCounted, m_inverseSlots, m_inversePairs; ///< [1] master type
    Tensor m_logs; ///< [most pairs of a micro-batch, 2] master type: of the reference
    std::unique_ptr<Update> m_update, m_following;
    std::function<bool()> m_isStopped; ///< of the micro-step that runs; may be empty
    int m_pieces = 1;
    Index m_skippedInRow = 0;
    Index m_lastReading = 0;             ///< micro-step
    std::vector<UpdateRecord> m_records; ///< read and not yet taken
};

} // namespace vergence::fvlm
