#pragma once

#include <memory>
#include <vector>

#include "core/run/run.h"
#include "plugins/sugar/sugar_config.h"
#include "plugins/sugar/train/evaluation.h"
#include "plugins/sugar/train/trainer.h"
#include "plugins/sugar/view/splat_viewer.h"

namespace vergence::sugar {

/// Trains Gaussians on the pictures of a scene; one step is one picture. With 0 iterations it only
/// shows what it starts from.
class SugarRun final : public Run {
public:
    explicit SugarRun(SugarConfig config);
    ~SugarRun() override;

    void prepare(RunContext& context) override;
    StepOutcome step(RunContext& context) override;
    std::int64_t totalSteps() const override;
    void save(RunContext& context, Checkpoint& checkpoint) override;
    void load(RunContext& context, const Checkpoint& checkpoint) override;
    void finish(RunContext& context) override;
    void view(RunContext& context, const ViewInput& input) override;

private:
    void readScene(RunContext& context);
    void reportScene(RunContext& context) const;
    void reportForecast(RunContext& context, Index startCount) const;
    bool isTestDue() const;
    /// False where a stop came first; the test is then still due.
    bool test(RunContext& context);
    void keepMilestone(RunContext& context);
    void report(RunContext& context, const StepReport& report);
    SplatSource viewSource() const;

    SugarConfig m_config;
    std::shared_ptr<TrainingPictures> m_pictures;
    std::vector<bool> m_isTest;
    std::array<double, 3> m_origin{};
    double m_extent = 1;
    std::unique_ptr<Trainer> m_trainer;
    std::vector<EvaluationResult> m_evaluations;
    SplatViewer m_viewer;
    bool m_isFinished = false;
};

} // namespace vergence::sugar
