#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "core/run/run.h"
#include "plugins/light_field/problem.h"
#include "plugins/light_field/recorder.h"
#include "plugins/light_field/result.h"
#include "plugins/light_field/viewer.h"

namespace vergence::light_field {

/// Solves the items of a sweep one after the other; one step is one iteration. Geometry is traced
/// once, targets are rendered before the first step and stay in memory.
class LightFieldRun final : public Run {
public:
    LightFieldRun(LightFieldConfig config, Config source);
    ~LightFieldRun() override;

    void prepare(RunContext& context) override;
    StepOutcome step(RunContext& context) override;
    std::int64_t totalSteps() const override;
    void save(RunContext& context, Checkpoint& checkpoint) override;
    void load(RunContext& context, const Checkpoint& checkpoint) override;
    void finish(RunContext& context) override;
    void view(RunContext& context, const ViewInput& input) override;

private:
    struct Prepared {
        std::shared_ptr<Geometry> geometry;
        ItemTargets targets;
    };

    const SweepItem& item() const { return m_items[static_cast<std::size_t>(m_index)]; }
    std::shared_ptr<Geometry> tracedGeometry(RunContext& context, const SweepItem& item);
    void prepareShared(RunContext& context, const std::shared_ptr<Geometry>& geometry);
    std::vector<ItemTargets> targetsOf(RunContext& context, std::span<const SweepItem* const> items,
                                       const Geometry& geometry);
    /// False where a stop came first.
    bool prepareItem(RunContext& context, int index);
    bool allSolved() const { return m_index >= static_cast<int>(m_items.size()); }
    std::int64_t stepsOf(const SweepItem& item) const;
    void skipRepeats();
    bool work(RunContext& context);
    /// `startsOver` is false where a checkpoint gives the texels. False where a stop came first.
    bool beginItem(RunContext& context, bool startsOver);
    void iterate(RunContext& context);
    void solveDirectly(RunContext& context);
    void evaluate(RunContext& context, bool withStructure);
    std::int64_t seriesPosition() const;
    void completeItem(RunContext& context);
    void failItem(RunContext& context, const std::string& sentence);
    std::vector<int> solvedItems() const; ///< in their order; failed ones are left out
    void nextItem();
    Tensor coarseStart(RunContext& context, InitMode& mode);
    Tensor initialPlanes(RunContext& context, InitMode& mode);
    Tensor storedPlanes(RunContext& context, int index) const;
    void recordIteration(RunContext& context, const HistoryPoint& point);
    void reportTables(RunContext& context);
    void reportHealth(RunContext& context);
    void declareView(RunContext& context);
    ViewSource viewSource(RunContext& context);

    LightFieldConfig m_config;
    Config m_source;
    std::vector<SweepItem> m_items;
    std::map<int, Prepared> m_prepared;
    std::unique_ptr<Recorder> m_recorder;
    std::unique_ptr<Solver> m_solver;
    Tensor m_planes;     ///< of a finished or directly solved item
    Tensor m_lastPlanes; ///< of the item before, for init = "previous"
    ItemResult m_current;
    std::vector<ItemResult> m_results;
    int m_index = 0;
    int m_shownIndex = -1;     ///< finished item whose planes are loaded for the viewer
    bool m_hasPreview = false; ///< the solver has looked at planes that are not its start
    bool m_isShown = true;     ///< the newest step was published
    Tensor m_shownPlanes;
    std::int64_t m_stepsDone = 0;
    Viewer m_viewer;
};

} // namespace vergence::light_field
