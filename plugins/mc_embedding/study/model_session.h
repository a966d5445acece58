#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "core/run/run_context.h"
#include "plugins/mc_embedding/models/text_model.h"
#include "plugins/mc_embedding/models/vision_model.h"
#include "plugins/mc_embedding/study/chunk_measurement.h"
#include "plugins/mc_embedding/study/image_source.h"
#include "plugins/mc_embedding/study/model_shelf.h"
#include "plugins/mc_embedding/study/pixel_feed.h"
#include "plugins/mc_embedding/study/study_state.h"
#include "plugins/mc_embedding/study/text_measurement.h"
#include "plugins/mc_embedding/study/work_meter.h"

namespace vergence::mc_embedding {

/// One model with its weights, on its way through the measurements of its plan, chunk by chunk.
class ModelSession {
public:
    struct Parts {
        const McEmbeddingConfig& config;
        const ModelPlan& plan;
        ImageSource& source;
        ImageSource& painted; ///< for exp2
        StudyState& state;    ///< gets the model's study, unless it has one of this label
        WorkMeter& meter;
        ModelShelf& shelf;            ///< of encoders
        std::filesystem::path chunks; ///< folder for the files of finished chunks
        DType compute = DType::F32;
        bool usesTf32 = false; ///< for products of F32
    };
    /// Reads weights. Throws InputError where there are none of this model. Of no use where a stop
    /// was requested meanwhile.
    ModelSession(RunContext& context, Parts parts);

    /// Decodes the pictures of the current measurement, looks for dead sites. False where a stop
    /// was requested meanwhile.
    bool open(RunContext& context);
    enum class Outcome { Interrupted, Continue, Done };
    /// One block of passes, or one stored chunk. Throws FeatureOverflow, and DeviceError for want
    /// of memory where not even one pass of one image fits.
    Outcome step(RunContext& context);
    /// Opens the pictures and takes over stored chunks up to a place, or as far as there are any.
    void skipTo(RunContext& context, std::size_t measurement, std::size_t first);

    const ModelPlan& plan() const { return m_p.plan; }
    bool isDone() const { return m_measurement >= m_p.plan.measurements.size(); }
    std::size_t measurement() const { return m_measurement; }
    std::size_t firstImage() const { return m_first; }
    std::int64_t blocksLeft() const;
    /// What the numbers of this model depend on besides the configuration.
    std::map<std::string, std::string> facts() const;

    /// Position within a chunk, for a checkpoint.
    void save(Stream& stream, std::vector<HostTensor>& tensors, nlohmann::json& state) const;
    /// Continues within that chunk where this session stands before it and measures it in the same
    /// way; else nothing happens.
    void load(RunContext& context, const std::vector<HostTensor>& tensors,
              const nlohmann::json& state);

private:
    const MeasurementPlan& current() const { return m_p.plan.measurements[m_measurement]; }
    using Kind = MeasurementPlan::Kind;
    bool isClean() const { return current().kind == Kind::Clean; }
    bool isTexts() const { return current().kind == Kind::Texts; }
    ImageSource& source() const
    {
        return current().kind == Kind::Synthetic ? m_p.painted : m_p.source;
    }
    std::size_t images() const;
    ModelStudy& study();

    void loadModel(RunContext& context);
    void describe(RunContext& context);
    bool probeSites(RunContext& context);
    [[noreturn]] void refuseDeadSites(const std::vector<Site>& dead) const;
    void perturb(const Variant& variant);
    Perturbation textDropout() const;
    std::vector<std::string> syntheticGroups() const;
    std::int64_t textBlocksLeft(const MeasurementPlan& plan, bool isCurrent) const;
    void openStore(std::vector<std::string> keys);
    void paint(RunContext& context);
    bool openTexts(RunContext& context);
    Outcome stepTexts(RunContext& context);
    void skipMeasurement(RunContext& context, const std::string& experiment,
                         const std::string& reason);
    std::string fingerprint() const;
    std::vector<std::size_t> cloudsOf(std::size_t first, std::size_t count) const;
    Residency chosenLevel(RunContext& context) const;
    void openFeed(RunContext& context, Residency level);
    bool startChunk(RunContext& context, std::size_t count);
    bool takeStored(RunContext& context);
    void skipWhatIsDone();
    bool beginChunk(RunContext& context);
    bool runBlock(RunContext& context);
    void shrinkBatch(RunContext& context, const std::string& reason);
    void completeChunk(RunContext& context, const ChunkResult& result, bool isNew);
    void completeMeasurement(RunContext& context);
    bool readPrompts(RunContext& context);
    bool weighScores(RunContext& context);
    void judge(RunContext& context);
    void takePrompts(RunContext& context);
    std::unique_ptr<TextModel> textModel(RunContext& context) const;
    double flopOf(const MeasurementPlan& plan, std::size_t count) const;

    Parts m_p;
    std::string m_device; ///< what bits depend on
    std::shared_ptr<VisionModel> m_vision;
    std::size_t m_study = 0; ///< in the state
    std::unique_ptr<PixelFeed> m_feed;
    std::unique_ptr<ChunkStore> m_store;
    std::unique_ptr<ChunkMeasurement> m_chunk;
    std::unique_ptr<TextModel> m_text; ///< of exp10
    std::unique_ptr<TextMeasurement> m_textChunk;
    std::size_t m_chunkImages = 0;
    std::size_t m_measurement = 0, m_first = 0;
    BatchSize m_batch;
    bool m_isReady = false, m_isCatchingUp = false;
    std::set<int> m_probed; ///< numbers of sites that are alive
};

} // namespace vergence::mc_embedding
