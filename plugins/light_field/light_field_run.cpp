#include "plugins/light_field/light_field_run.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "core/artifact/host_tensors.h"
#include "core/artifact/npy.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "plugins/light_field/compute/coarse.h"
#include "plugins/light_field/health.h"
#include "plugins/light_field/run_log.h"

namespace vergence::light_field {

namespace {

/// Why an item cannot be solved, which does not lose the others; nothing where `work` got through.
template <class Work>
std::optional<std::string> failureOf(const Work& work)
{
    try {
        work();
    } catch (const NumericsError& failure) {
        return failure.what();
    } catch (const ContractError& failure) {
        return failure.what();
    }
    return std::nullopt;
}

} // namespace

LightFieldRun::LightFieldRun(LightFieldConfig config, Config source)
    : m_config(std::move(config)),
      m_source(std::move(source))
{
}

LightFieldRun::~LightFieldRun() = default;

void LightFieldRun::prepare(RunContext& context)
{
    context.phase(1, 3, "reading scenes");
    m_items = sweepItems(m_config, m_source);
    m_recorder = std::make_unique<Recorder>(context.artifacts());
    context.phase(2, 3, "tracing rays");
    const auto failure = failureOf([&] {
        prepareShared(context, tracedGeometry(context, m_items.front()));
        if (!context.stopRequested())
            reportHealth(context);
    });
    if (context.stopRequested())
        return;
    if (failure) // it comes again, and counts, when it is the item's turn
        log("light_field").warn("{} could not be prepared: {}", m_items.front().label, *failure);
    declareView(context);
}

std::shared_ptr<Geometry> LightFieldRun::tracedGeometry(RunContext& context, const SweepItem& item)
{
    const double start = steadySeconds();
    auto geometry = makeGeometry(context.stream(), context.device(), item);
    context.stream().synchronize();
    logGeometry(*geometry, steadySeconds() - start);
    return geometry;
}

/// Targets of the first item and of all that share its geometry, several at a time, as far as no
/// stop comes.
void LightFieldRun::prepareShared(RunContext& context, const std::shared_ptr<Geometry>& geometry)
{
    std::vector<int> indices;
    std::vector<const SweepItem*> items;
    for (int i = 0; i < static_cast<int>(m_items.size()); ++i) {
        const SweepItem& next = m_items[static_cast<std::size_t>(i)];
        if (i == 0 || (next.sameAs < 0 && sharesGeometry(next, m_items.front()))) {
            indices.push_back(i);
            items.push_back(&next);
        }
    }
    const double start = steadySeconds();
    std::size_t done = 0;
    while (done < items.size() && !context.stopRequested()) {
        context.phase(3, 3, fmt::format("rendering targets, {} of {} done", done, items.size()));
        const auto left = std::span(items).subspan(done);
        const auto group = left.first(renderedTogether(left, *geometry));
        for (ItemTargets& made : targetsOf(context, group, *geometry))
            m_prepared.emplace(indices[done++], Prepared{geometry, std::move(made)});
    }
    logTargets(done, *geometry, steadySeconds() - start);
}

/// Empty where a stop came first.
std::vector<ItemTargets> LightFieldRun::targetsOf(RunContext& context,
                                                  std::span<const SweepItem* const> items,
                                                  const Geometry& geometry)
{
    return makeTargets(context.stream(), context.device(), items, geometry,
                       [&] { return context.stopRequested(); });
}

/// Makes geometry and targets of an item where they are not there. Items of the first one's
/// geometry keep theirs; others are made when their turn comes, or somebody looks at them, and
/// dropped after it.
bool LightFieldRun::prepareItem(RunContext& context, int index)
{
    if (m_prepared.contains(index))
        return true;
    const SweepItem& wanted = m_items[static_cast<std::size_t>(index)];
    Prepared prepared;
    const auto first = m_prepared.find(0);
    const auto shared = first != m_prepared.end() ? first->second.geometry : nullptr;
    if (shared != nullptr && sharesGeometry(wanted, m_items.front())) {
        prepared.geometry = shared;
    } else {
        std::erase_if(m_prepared, [&](const auto& entry) {
            return entry.second.geometry != shared && entry.first != m_index;
        });
        prepared.geometry = tracedGeometry(context, wanted);
    }
    const double start = steadySeconds();
    const SweepItem* const only[] = {&wanted};
    std::vector<ItemTargets> targets = targetsOf(context, only, *prepared.geometry);
    if (targets.empty())
        return false;
    prepared.targets = std::move(targets.front());
    logTargets(1, *prepared.geometry, steadySeconds() - start);
    m_prepared.emplace(index, std::move(prepared));
    return true;
}

std::int64_t LightFieldRun::stepsOf(const SweepItem& item) const
{
    if (item.sameAs >= 0)
        return 0;
    return item.config.solver == "direct" ? 1 : item.config.iterations;
}

std::int64_t LightFieldRun::totalSteps() const
{
    std::int64_t total = m_stepsDone;
    for (std::size_t i = static_cast<std::size_t>(m_index); i < m_items.size(); ++i)
        total += stepsOf(m_items[i]);
    return allSolved() ? total : total - m_current.iterations;
}

void LightFieldRun::skipRepeats()
{
    while (!allSolved() && item().sameAs >= 0)
        ++m_index;
}

StepOutcome LightFieldRun::step(RunContext& context)
{
    skipRepeats();
    if (allSolved())
        return StepOutcome::Done;
    const std::int64_t before = m_stepsDone;
    bool isInterrupted = false;
    const auto failure = failureOf([&] { isInterrupted = !work(context); });
    if (isInterrupted)
        return StepOutcome::Interrupted;
    if (failure) {
        m_stepsDone = before + 1; // one that fails counts too
        failItem(context, *failure);
    }
    skipRepeats();
    return allSolved() ? StepOutcome::Done : StepOutcome::Continue;
}

/// One iteration of the item at work. False, with nothing changed, where a stop came before it.
bool LightFieldRun::work(RunContext& context)
{
    if (!prepareItem(context, m_index))
        return false;
    if (item().config.solver == "direct") {
        solveDirectly(context);
        return true;
    }
    if (!m_solver) {
        if (!beginItem(context, true))
            return false;
        declareView(context);
    }
    iterate(context);
    return true;
}

Tensor LightFieldRun::initialPlanes(RunContext& context, InitMode& mode)
{
    mode = InitMode::Black;
    if (item().config.coarseIterations > 0)
        return coarseStart(context, mode);
    const std::string& init = item().config.init;
    if (init == "mid_grey")
        mode = InitMode::MidGrey;
    if (init == "direct") {
        mode = InitMode::Given;
        const LaneScene scene{item().scene, item().channels};
        return directPlanes(context.stream(), *m_prepared.at(m_index).geometry->tables,
                            std::span(&scene, 1));
    }
    if (init == "previous" && m_index > 0) {
        const std::vector<int> solved = solvedItems();
        const Tensor planes = m_lastPlanes.isEmpty() && !solved.empty()
                                  ? storedPlanes(context, solved.back())
                                  : m_lastPlanes;
        const Geometry& geometry = *m_prepared.at(m_index).geometry;
        const bool fits = !planes.isEmpty() && planes.extent(0) == geometry.optics.planes() &&
                          planes.extent(1) == geometry.optics.panelResolution &&
                          planes.extent(3) == lanesFor(item().channels);
        if (fits) {
            mode = InitMode::Given;
            return planes;
        }
        context.warn(
            "init",
            fmt::format("{} starts from black: the planes of the item before have another size.",
                        item().label));
    }
    return {};
}

Tensor LightFieldRun::coarseStart(RunContext& context, InitMode& mode)
{
    mode = InitMode::Given;
    const LightFieldConfig& c = item().config;
    SolverSettings settings = solverSettingsOf(c);
    settings.iterations = c.coarseIterations;
    const double start = steadySeconds();
    Tensor planes = coarsePlanes(context.stream(), *m_prepared.at(m_index).geometry->tables,
                                 {item().scene, item().channels}, targetRaysOf(c), settings,
                                 [&] { return context.stopRequested(); });
    log("light_field")
        .info("{} starts from {} iterations at half size, {:.2f} s.", item().label,
              c.coarseIterations, steadySeconds() - start);
    return planes;
}

bool LightFieldRun::beginItem(RunContext& context, bool startsOver)
{
    Prepared& prepared = m_prepared.at(m_index);
    m_solver = std::make_unique<Solver>(context.stream(), prepared.geometry->solving,
                                        prepared.targets.training, solverSettingsOf(item().config));
    m_hasPreview = false;
    const double start = steadySeconds();
    InitMode mode = InitMode::Black;
    const Tensor planes = startsOver ? initialPlanes(context, mode) : Tensor();
    if (context.stopRequested()) { // the start may be cut short, and would change every number
        m_solver.reset();
        return false;
    }
    if (mode != InitMode::Black)
        m_solver->initialise(context.stream(), mode, planes);
    m_current = {};
    m_current.index = m_index;
    m_current.seconds = steadySeconds() - start; // what the start took counts
    logItemStart(item(), m_index + 1, static_cast<int>(m_items.size()));
    context.note("allocated_bytes", m_solver->allocatedBytes());
    return true;
}

void LightFieldRun::iterate(RunContext& context)
{
    const double start = steadySeconds();
    HistoryPoint point;
    point.record = m_solver->iterate(context.stream());
    m_current.seconds += steadySeconds() - start;
    point.seconds = m_current.seconds;
    if (!std::isfinite(point.record.loss))
        throw NumericsError(fmt::format(
            "The loss of {} is not finite in iteration {}; choose a smaller learning rate.",
            item().label, point.record.iteration));
    m_current.iterations = point.record.iteration;
    ++m_stepsDone;
    m_hasPreview = point.record.iteration > 1; // the first pass shows the start, usually black
    if (m_current.history.empty())
        m_current.mseFirst = point.record.mse;
    m_current.history.push_back(point);

    const bool isLast = m_solver->isDone();
    const bool isDue = point.record.iteration % item().config.heldoutEvery == 0 &&
                       point.record.iteration < item().config.iterations;
    if (isLast || isDue) {
        m_planes = m_solver->planes(context.stream());
        evaluate(context, isLast);
        m_current.history.back().heldOutPsnr = m_current.heldOut.psnrRoi;
    }
    recordIteration(context, m_current.history.back());
    m_isShown = context.framesDue();
    if (m_isShown)
        m_viewer.publish(context, viewSource(context));
    if (isLast)
        completeItem(context);
}

void LightFieldRun::solveDirectly(RunContext& context)
{
    Prepared& prepared = m_prepared.at(m_index);
    m_current = {};
    m_current.index = m_index;
    m_current.iterations = 1;
    logItemStart(item(), m_index + 1, static_cast<int>(m_items.size()));
    ++m_stepsDone;
    const double start = steadySeconds();
    const LaneScene scene{item().scene, item().channels};
    m_planes = directPlanes(context.stream(), *prepared.geometry->tables, std::span(&scene, 1));
    m_current.seconds = steadySeconds() - start;
    evaluate(context, true);
    m_current.mseFirst = m_current.training.mse;
    HistoryPoint point;
    point.record.iteration = 1;
    point.record.mse = point.record.loss = m_current.training.mse;
    point.record.psnr = m_current.training.psnr;
    point.heldOutPsnr = m_current.heldOut.psnrRoi;
    point.seconds = m_current.seconds;
    m_current.history.push_back(point);
    recordIteration(context, point);
    completeItem(context);
}

/// Measures m_planes on held-out states; SSIM and contrast only with structure.
void LightFieldRun::evaluate(RunContext& context, bool withStructure)
{
    Prepared& prepared = m_prepared.at(m_index);
    Evaluator heldOut(prepared.geometry->evaluating, prepared.targets.heldOut);
    m_current.heldOut =
        heldOut.evaluate(context.stream(), m_planes, 0, item().channels, withStructure);
}

/// Where the series `sweep/…` have this item: at its own value where all values are whole,
/// otherwise at its place in the sweep, from 1.
std::int64_t LightFieldRun::seriesPosition() const
{
    const bool isWhole = std::all_of(m_items.begin(), m_items.end(), [](const SweepItem& each) {
        return each.x == std::round(each.x);
    });
    return isWhole ? static_cast<std::int64_t>(item().x) : m_index + 1;
}

void LightFieldRun::completeItem(RunContext& context)
{
    Prepared& prepared = m_prepared.at(m_index);
    Evaluator training(prepared.geometry->solving, prepared.targets.training);
    m_current.training = training.evaluate(context.stream(), m_planes, 0, item().channels);
    m_current.mseFinal = m_current.training.mse;
    for (const EyeState& state : prepared.geometry->training)
        m_current.trainingFocus.push_back(state.accommodation);
    for (const EyeState& state : prepared.geometry->heldOut)
        m_current.heldOutFocus.push_back(state.accommodation);
    logItemEnd(item(), m_current);
    m_recorder->writeItem(context.stream(), context.device(), item(), *prepared.geometry,
                          prepared.targets, m_planes, training.images(), m_current);
    const std::int64_t x = seriesPosition();
    context.recordAt("sweep/psnr_roi", m_current.training.psnrRoi, x);
    context.recordAt("sweep/psnr_heldout", m_current.heldOut.psnrRoi, x);
    context.recordAt("sweep/ssim_heldout", m_current.heldOut.ssim, x);
    context.recordAt("sweep/contrast_heldout", m_current.heldOut.contrast, x);
    m_results.push_back(m_current);
    m_shownIndex = m_index;
    m_shownPlanes = m_planes;
    reportTables(context);
    nextItem();
    declareView(context);
}

void LightFieldRun::reportTables(RunContext& context)
{
    context.table(sweepTable(sweepAxis(m_config), m_items, m_results));
    for (const nlohmann::json& table : focusTables(m_items, m_results))
        context.table(table);
}

void LightFieldRun::failItem(RunContext& context, const std::string& sentence)
{
    context.warn("E-ITEM", fmt::format("{} failed: {}", item().label, sentence));
    m_current.index = m_index;
    m_current.failure = sentence;
    m_results.push_back(m_current);
    m_planes = m_lastPlanes;
    nextItem();
    if (!allSolved())
        return;
    if (solvedItems().empty())
        throw NumericsError("Every item of the sweep failed. The first: " +
                            m_results.front().failure);
    declareView(context);
}

std::vector<int> LightFieldRun::solvedItems() const
{
    std::vector<int> solved;
    for (const ItemResult& result : m_results) {
        if (result.failure.empty())
            solved.push_back(result.index);
    }
    return solved;
}

void LightFieldRun::nextItem()
{
    m_lastPlanes = m_planes;
    m_solver.reset();
    m_current = {};
    ++m_index;
    skipRepeats();
}

void LightFieldRun::recordIteration(RunContext& context, const HistoryPoint& point)
{
    const IterationRecord& r = point.record;
    context.record("train/loss", r.mse);
    context.record("train/psnr", r.psnr);
    const auto recordKnown = [&](const char* name, double value) {
        if (!std::isnan(value))
            context.record(name, value);
    };
    recordKnown("train/gradient_norm", r.gradientNorm);
    recordKnown("texels/at_zero", r.shareAtZero);
    recordKnown("texels/at_one", r.shareAtOne);
    context.record("time/forward_ms", r.forwardSeconds * 1e3);
    context.record("time/adjoint_ms", r.adjointSeconds * 1e3);
    context.record("time/rays_per_s", r.raysPerSecond);
    recordKnown("heldout/psnr_roi", point.heldOutPsnr);
}

Tensor LightFieldRun::storedPlanes(RunContext& context, int index) const
{
    const SweepItem& stored = m_items[static_cast<std::size_t>(index)];
    m_recorder->wait();
    const NpyArray array = readNpy(context.artifacts().pathFor(Recorder::planesName(stored)));
    if (array.shape.size() != 4 || array.shape[3] != stored.channels)
        throw InputError(
            fmt::format("The stored planes of {} have another shape than the run.", stored.label));
    const Index lanes = lanesFor(stored.channels);
    const auto texels = array.values.size() / static_cast<std::size_t>(stored.channels);
    std::vector<float> values(texels * static_cast<std::size_t>(lanes), 0.0f);
    for (std::size_t i = 0; i < texels; ++i) {
        for (int c = 0; c < stored.channels; ++c)
            values[i * static_cast<std::size_t>(lanes) + static_cast<std::size_t>(c)] =
                array.values[i * static_cast<std::size_t>(stored.channels) +
                             static_cast<std::size_t>(c)];
    }
    return Tensor::fromHost<float>(context.stream(), context.device(),
                                   {array.shape[0], array.shape[1], array.shape[2], lanes}, values);
}

void LightFieldRun::save(RunContext& context, Checkpoint& checkpoint)
{
    m_recorder->wait();
    nlohmann::json results = nlohmann::json::array();
    for (const ItemResult& result : m_results)
        results.push_back(toJson(result));
    checkpoint.state["results"] = results;
    checkpoint.state["index"] = m_index;
    checkpoint.state["steps_done"] = m_stepsDone;
    checkpoint.state["solving"] = m_solver != nullptr;
    if (!m_solver)
        return;
    checkpoint.state["current"] = toJson(m_current);
    for (const auto& [name, tensor] : m_solver->state())
        checkpoint.tensors.push_back(toHostTensor(context.stream(), name, tensor));
}

void LightFieldRun::load(RunContext& context, const Checkpoint& checkpoint)
{
    try {
        m_results.clear();
        for (const auto& result : checkpoint.state.at("results"))
            m_results.push_back(resultFromJson(result));
        m_index = checkpoint.state.at("index").get<int>();
        m_stepsDone = checkpoint.state.at("steps_done").get<std::int64_t>();
        if (checkpoint.state.at("solving").get<bool>()) {
            const ItemResult current = resultFromJson(checkpoint.state.at("current"));
            if (!prepareItem(context, m_index) || !beginItem(context, false))
                return;
            m_current = current;
            NamedTensors tensors;
            for (const HostTensor& stored : checkpoint.tensors)
                tensors.emplace_back(stored.name,
                                     fromHostTensor(context.stream(), context.device(), stored));
            m_solver->restore(context.stream(), tensors);
        }
    } catch (const nlohmann::json::exception& failure) {
        throw InputError(std::string("The checkpoint is damaged: ") + failure.what());
    }
    if (!m_results.empty())
        reportTables(context);
    if (!allSolved())
        log("light_field")
            .info("Continues with {} after {} iterations; {} of {} items are done.", item().label,
                  m_current.iterations, m_index, m_items.size());
    declareView(context);
}

void LightFieldRun::finish(RunContext& context)
{
    if (m_solver && m_current.iterations > 0 && prepareItem(context, m_index)) {
        // Stopped within an item: what it has reached is shown, but does not count as a result of
        // the sweep.
        const Prepared& prepared = m_prepared.at(m_index);
        m_planes = m_solver->planes(context.stream());
        ItemResult partial = m_current;
        partial.isPartial = true;
        Evaluator training(prepared.geometry->solving, prepared.targets.training);
        partial.training = training.evaluate(context.stream(), m_planes, 0, item().channels, false);
        m_recorder->writeItem(context.stream(), context.device(), item(), *prepared.geometry,
                              prepared.targets, m_planes, training.images(), partial);
    }
    m_recorder->writeSweep(m_items, m_results, [&] { return context.stopRequested(); });
}

void LightFieldRun::reportHealth(RunContext& context)
{
    const Prepared& first = m_prepared.at(0);
    context.table(healthTable(context.stream(), m_items.front(), *first.geometry, first.targets));
    for (const std::string& sentence : healthWarnings(m_items.front(), *first.geometry))
        context.warn("W-HEALTH", sentence);
}

void LightFieldRun::declareView(RunContext& context)
{
    std::vector<std::string> labels;
    for (const int index : solvedItems())
        labels.push_back(m_items[static_cast<std::size_t>(index)].label);
    if (const ViewSource source = viewSource(context); source.item != nullptr)
        m_viewer.declare(context, source, labels);
}

/// The chosen item, else the one being solved, else the last one that was; without any the prepared
/// one, which has no planes yet. Empty where there is none.
ViewSource LightFieldRun::viewSource(RunContext& context)
{
    ViewSource source;
    const auto look = [&](int index) {
        if (!prepareItem(context, index))
            return;
        source.item = &m_items[static_cast<std::size_t>(index)];
        const Prepared& prepared = m_prepared.at(index);
        source.geometry = prepared.geometry;
        source.targets = &prepared.targets;
    };
    const std::vector<int> solved = solvedItems();
    const auto chosen = m_viewer.chosenItem();
    const bool isChosen = chosen && *chosen < static_cast<int>(solved.size());
    if (isChosen || (!m_solver && !solved.empty())) {
        const int index = isChosen ? solved[static_cast<std::size_t>(*chosen)] : solved.back();
        if (m_shownIndex != index) {
            m_shownPlanes = storedPlanes(context, index);
            m_shownIndex = index;
        }
        look(index);
        source.planes = m_shownPlanes;
        return source;
    }
    if (m_solver || m_prepared.contains(m_index))
        look(m_index);
    if (m_solver) {
        source.planes = m_solver->planes(context.stream());
        if (m_hasPreview)
            source.views = m_solver->preview();
        source.weight = [this, &context] { return m_solver->seenWeight(context.stream()); };
    }
    return source;
}

void LightFieldRun::view(RunContext& context, const ViewInput& input)
{
    const bool choosesItem = m_viewer.apply(input);
    const ViewSource source = viewSource(context);
    if (choosesItem)
        declareView(context);
    if (choosesItem || (allSolved() && !m_isShown)) {
        m_viewer.publish(context, source);
        m_isShown = true;
    } else {
        m_viewer.publishMoved(context, source);
    }
}

} // namespace vergence::light_field
