#pragma once

#include <list>
#include <memory>
#include <span>
#include <vector>

#include "core/compute/graph/step_graph.h"
#include "plugins/foveated_vlm/feed/frame_feed.h"
#include "plugins/foveated_vlm/model/forward.h"
#include "plugins/foveated_vlm/text/batch_maker.h"

namespace vergence::fvlm {

/// The sample as the model wants it; `other`: its rejected ending, null where there is none.
SampleTokens sampleTokens(const PlannedSample& sample, const TextTokens* other = nullptr);

/// A micro-batch on the device: memory of one shape at fixed addresses, filled again and again.
struct LoadedBatch {
    MicroBatch batch;
    std::unique_ptr<SequenceTables> tables;
    std::unique_ptr<Sequences> sequences; ///< of the latest filling
    std::unique_ptr<StepGraph> step;      ///< for who records what is done with it; else null
    std::vector<bool> measured;           ///< what the recorded step gives, see LossRing
};

/// Brings planned micro-batches to the device. Shapes are rounded up, so that few of them occur;
/// memory of the shapes used last is kept.
class BatchLoader {
public:
    /// `feed` and `model` must outlive it. `feed` may be null where no sample has frames.
    BatchLoader(const FoveatedModel& model, FrameFeed* feed, int mostShapes);
    ~BatchLoader();

    /// Queues frames, latents and tables. The result stays until the shape is needed for another
    /// batch or dropped.
    LoadedBatch& load(Stream& stream, const MicroBatchPlan& plan,
                      std::span<const SampleTokens> samples);
    /// Announces the frames of a batch to the feed.
    void ahead(const MicroBatchPlan& plan);
    /// Forgets what is recorded, of all shapes.
    void forgetSteps();
    /// Gives all memory back, and forgets what was announced.
    void drop();

private:
    struct Entry;
    Entry& entryOf(const SequenceShape& shape, Stream& stream);

    const FoveatedModel& m_model;
    FrameFeed* m_feed;
    std::size_t m_mostShapes;
    std::list<Entry> m_entries; ///< used last first
};

} // namespace vergence::fvlm
