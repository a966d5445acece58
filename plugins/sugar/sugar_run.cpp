#include "plugins/sugar/sugar_run.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/log.h"
#include "plugins/sugar/forecast.h"
#include "plugins/sugar/results.h"
#include "plugins/sugar/settings.h"
#include "plugins/sugar/step_metrics.h"
#include "plugins/sugar/train/recentred.h"

namespace vergence::sugar {

namespace {

constexpr std::int64_t kHistogramEvery = 500; ///< steps
constexpr int kPhases = 3;

} // namespace

SugarRun::SugarRun(SugarConfig config) : m_config(std::move(config)) {}

SugarRun::~SugarRun() = default;

void SugarRun::prepare(RunContext& context)
{
    context.phase(1, kPhases, "reading the scene");
    readScene(context);
    context.phase(2, kPhases, "placing the first Gaussians");
    const PictureSource& pictures = m_pictures->source();
    const GaussianCloud cloud = startingCloud(m_config, pictures, m_extent);
    if (cloud.count() == 0)
        throw InputError("There is no Gaussian to start from: the file or the scene's points are "
                         "empty.");
    if (m_config.hasNoPictures())
        m_extent = cloudExtent(cloud);
    std::vector<std::size_t> learnFrom;
    for (std::size_t i = 0; i < pictures.count(); ++i) {
        if (!m_isTest[i])
            learnFrom.push_back(i);
    }
    m_trainer =
        std::make_unique<Trainer>(context.device(), trainerSettings(m_config, m_extent, cloud),
                                  m_pictures, std::move(learnFrom));
    reportForecast(context, cloud.count());
    context.phase(3, kPhases, "preparing the first step");
    m_trainer->start(context.stream(), cloud);
    log("sugar").info("Starts from {} Gaussians; extent of the cameras {:.4g}.", cloud.count(),
                      m_extent);
    m_viewer.declare(context, viewSource());
}

void SugarRun::readScene(RunContext& context)
{
    std::shared_ptr<PictureSource> pictures = picturesOf(m_config);
    m_origin = originOf(*pictures);
    m_isTest = heldOut(m_config, *pictures);
    std::vector<Camera> learnt;
    for (std::size_t i = 0; i < pictures->count(); ++i) {
        if (!m_isTest[i])
            learnt.push_back(pictures->cameras()[i]);
    }
    if (!learnt.empty())
        m_extent = sceneExtent(learnt, pictures->scene().points);
    m_pictures = std::make_shared<TrainingPictures>(pictures, context.device());
    for (const SceneFinding& finding : pictures->findings()) {
        if (finding.severity == SceneFinding::Severity::Warning)
            context.warn("E-DATA", finding.sentence);
        else
            log("sugar").info("{}", finding.sentence);
    }
    context.note("scene", {{"kind", pictures->scene().kind},
                           {"root", pictures->scene().root.string()},
                           {"fingerprint", pictures->fingerprint()},
                           {"extent", m_extent}});
    if (pictures->count() > 0)
        reportScene(context);
}

void SugarRun::reportScene(RunContext& context) const
{
    const PictureSource& pictures = m_pictures->source();
    const auto tests = std::count(m_isTest.begin(), m_isTest.end(), true);
    const Camera& first = pictures.cameras().front();
    nlohmann::json rows = nlohmann::json::array();
    const auto add = [&](const char* name, const std::string& value) {
        rows.push_back({name, value});
    };
    add("scene", pictures.scene().kind);
    add("pictures", fmt::format("{}, of them {} held out", pictures.count(), tests));
    add("size of the first", fmt::format("{} × {} px", first.width, first.height));
    add("lenses", fmt::format("{}", pictures.scene().cameras.size()));
    add("points", fmt::format("{}", pictures.scene().points.size()));
    add("extent of the cameras", fmt::format("{:.4g}", m_extent));
    context.table(
        {{"id", "data"}, {"title", "Data"}, {"columns", {"figure", "value"}}, {"rows", rows}});
}

void SugarRun::reportForecast(RunContext& context, Index startCount) const
{
    const MemoryForecast forecast =
        memoryForecast(m_config, m_pictures->source(), startCount, context.device()->isCpu());
    const DeviceMemory memory = context.device()->memory();
    context.table(forecastTable(forecast, memory));
    context.note("forecast_bytes", forecast.total());
    if (const std::string warning = forecastWarning(forecast, memory); !warning.empty())
        context.warn("E-MEMORY", warning);
}

SplatSource SugarRun::viewSource() const
{
    SplatSource source;
    if (m_trainer) {
        source.trained = &m_trainer->state();
        source.step = m_trainer->stepsDone();
        source.raster = m_trainer->rasterSettings();
        source.isTraining = !m_trainer->isDone() && !m_isFinished;
    }
    source.extent = m_extent;
    source.pictures = m_pictures.get();
    source.isTest = &m_isTest;
    return source;
}

std::int64_t SugarRun::totalSteps() const
{
    return m_config.iterations;
}

StepOutcome SugarRun::step(RunContext& context)
{
    if (m_trainer->isDone())
        return test(context) ? StepOutcome::Done : StepOutcome::Interrupted;
    // A test that a stop cut short is made up for before the Gaussians change.
    if (isTestDue() && !test(context))
        return StepOutcome::Interrupted;
    StepReport stepReport;
    if (!m_trainer->step(
            context.stream(), [&] { return context.stopRequested(); }, stepReport))
        return StepOutcome::Interrupted;
    report(context, stepReport);
    keepMilestone(context);
    if (isTestDue())
        test(context);
    if (context.framesDue())
        m_viewer.publish(context, viewSource());
    return m_trainer->isDone() ? StepOutcome::Done : StepOutcome::Continue;
}

bool SugarRun::isTestDue() const
{
    const std::int64_t step = m_trainer->stepsDone();
    const bool hasTests = std::find(m_isTest.begin(), m_isTest.end(), true) != m_isTest.end();
    if (!hasTests || step == 0 || (!m_evaluations.empty() && m_evaluations.back().step == step))
        return false;
    return m_trainer->isDone() || (m_config.evalEvery > 0 && step % m_config.evalEvery == 0);
}

bool SugarRun::test(RunContext& context)
{
    if (!isTestDue())
        return true;
    Evaluator evaluator(context.device(), m_pictures);
    EvaluationResult result;
    result.step = m_trainer->stepsDone();
    result.gaussians = m_trainer->gaussians().count;
    for (std::size_t i = 0; i < m_isTest.size(); ++i) {
        if (!m_isTest[i])
            continue;
        if (context.stopRequested())
            return false;
        result.pictures.push_back(evaluator.measure(context.stream(), m_trainer->gaussians(),
                                                    m_trainer->rasterSettings(), i));
    }
    recordTest(context, result);
    log("sugar").info("Step {}: held-out PSNR {:.2f} dB, SSIM {:.4f}, {} Gaussians.", result.step,
                      result.meanPsnr(), result.meanSsim(), result.gaussians);
    m_evaluations.push_back(std::move(result));
    return true;
}

void SugarRun::report(RunContext& context, const StepReport& report)
{
    if (context.metricsDue())
        recordStep(context, report, m_trainer->gaussians().count);
    if (report.notFinite > 0)
        context.warn("E-GRADIENT",
                     fmt::format("Gradients of {} Gaussians were not finite in step {}; they were "
                                 "left as they are.",
                                 report.notFinite, report.step));
    const DensityReport& d = report.density;
    if (report.densified)
        log("sugar").debug("Step {}: {} cloned, {} split, {} pruned, {} relocated, {} born; {} "
                           "Gaussians.",
                           report.step, d.cloned, d.split, d.pruned, d.relocated, d.born, d.count);
    if (report.step % kHistogramEvery == 0 || m_trainer->isDone()) {
        reportHistograms(context, m_trainer->gaussians(), m_extent);
        context.record("memory/trainer_mb", static_cast<double>(m_trainer->allocatedBytes()) / 1e6);
        context.note("allocated_bytes", m_trainer->allocatedBytes());
    }
}

void SugarRun::keepMilestone(RunContext& context)
{
    const std::int64_t step = m_trainer->stepsDone();
    const auto& milestones = m_config.milestones;
    if (std::find(milestones.begin(), milestones.end(), step) != milestones.end() &&
        !m_trainer->isDone())
        writeGaussians(context, *m_trainer, m_config, m_origin,
                       fmt::format("milestones/step-{:06}/", step));
}

void SugarRun::save(RunContext& context, Checkpoint& checkpoint)
{
    for (const Trainer::Named& named : m_trainer->tensors()) {
        const std::vector<float> values = named.tensor.toHost<float>(context.stream());
        checkpoint.tensors.push_back(
            HostTensor::from<float>(named.name, named.tensor.shape(), values));
    }
    nlohmann::json evaluations = nlohmann::json::array();
    for (const EvaluationResult& evaluation : m_evaluations)
        evaluations.push_back(toJson(evaluation));
    checkpoint.state["step"] = m_trainer->stepsDone();
    checkpoint.state["count"] = m_trainer->gaussians().count;
    checkpoint.state["degree"] = m_trainer->gaussians().value.degree();
    checkpoint.state["evaluations"] = evaluations;
    checkpoint.state["fingerprint"] = m_pictures->source().fingerprint();
}

void SugarRun::load(RunContext& context, const Checkpoint& checkpoint)
{
    try {
        const auto& state = checkpoint.state;
        if (state.at("fingerprint").get<std::string>() != m_pictures->source().fingerprint())
            context.warn("E-CHANGED", "The photographs or their cameras have changed since the "
                                      "checkpoint; the run goes on with the new ones.");
        m_evaluations.clear();
        for (const nlohmann::json& evaluation : state.at("evaluations"))
            m_evaluations.push_back(evaluationFromJson(evaluation));
        m_trainer->restore(context.stream(), state.at("step").get<std::int64_t>(),
                           state.at("count").get<Index>(), state.at("degree").get<int>(),
                           [&](const std::string& name) {
                               const auto values = checkpoint.tensor(name).as<float>();
                               return std::vector<float>(values.begin(), values.end());
                           });
    } catch (const nlohmann::json::exception& failure) {
        throw InputError(std::string("The checkpoint is damaged: ") + failure.what());
    }
    m_viewer.declare(context, viewSource());
}

void SugarRun::finish(RunContext& context)
{
    m_isFinished = true;
    const PictureSource& pictures = m_pictures->source();
    writeGaussians(context, *m_trainer, m_config, m_origin, "");
    writeCameras(context, pictures, m_isTest, m_origin);
    writeEvaluations(context, m_evaluations);
    writeTestPictures(context, *m_trainer, *m_pictures, m_isTest);
    writeTurntable(context, *m_trainer, m_config, pictures);
    if (context.frames().isWatched())
        m_viewer.publish(context, viewSource());
}

void SugarRun::view(RunContext& context, const ViewInput& input)
{
    if (m_viewer.apply(input, viewSource()))
        m_viewer.publish(context, viewSource());
}

} // namespace vergence::sugar
