#pragma once

#include <memory>
#include <set>

#include "core/run/run.h"
#include "plugins/mc_embedding/report/study_views.h"
#include "plugins/mc_embedding/study/image_source.h"
#include "plugins/mc_embedding/study/model_session.h"
#include "plugins/mc_embedding/study/work_meter.h"

namespace vergence::mc_embedding {

/// Measures the models of a study one after the other; one step is one block of passes of one
/// chunk of images. Finished chunks are files of their own, so that a checkpoint is small and other
/// runs can go on from them.
class McEmbeddingRun final : public Run {
public:
    explicit McEmbeddingRun(McEmbeddingConfig config);
    ~McEmbeddingRun() override;

    void prepare(RunContext& context) override;
    StepOutcome step(RunContext& context) override;
    std::int64_t totalSteps() const override;
    void save(RunContext& context, Checkpoint& checkpoint) override;
    void load(RunContext& context, const Checkpoint& checkpoint) override;
    void finish(RunContext& context) override;
    void view(RunContext& context, const ViewInput& input) override;

private:
    bool isDone() const { return m_model >= m_plan.models.size(); }
    bool openSession(RunContext& context);
    bool hasWeights(const std::string& model) const;
    void checkFolders() const;
    void removeLeftovers(const RunFolder& folder) const;
    void chooseProducts(RunContext& context);
    void tellForecast(RunContext& context) const;
    void checkClasses(RunContext& context) const;
    StudyState completePart() const;
    void writePartialResults(ArtifactStore& artifacts) const;
    bool writeResults(RunContext& context);
    void leaveOut(RunContext& context, const ModelPlan& plan, const std::string& reason);
    void restartInBf16(RunContext& context, const std::string& reason);
    void closeSession();
    double totalFlop() const;
    std::map<std::string, std::string> facts() const;
    void checkSame(const nlohmann::json& state) const;
    void checkModel(const ModelSession& session) const;
    void publish(RunContext& context, bool isForced);

    McEmbeddingConfig m_config;
    StudyPlan m_plan;
    StudyState m_state;
    WorkMeter m_meter;
    ModelShelf m_shelf;                               ///< before the session that borrows from it
    std::unique_ptr<ImageSource> m_source, m_painted; ///< of the study; of exp2
    std::unique_ptr<ModelSession> m_session;
    StudyViews m_views;
    std::size_t m_model = 0;
    std::int64_t m_steps = 0;
    std::set<std::string> m_wide; ///< labels of models that go on in bf16
    std::map<std::string, std::string> m_modelFacts, m_earlierFacts;
    std::size_t m_shownModels = 0;
    double m_publishedAt = 0, m_reportedAt = 0;
    bool m_isCpu = true, m_usesTf32 = false;
};

} // namespace vergence::mc_embedding
