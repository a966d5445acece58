#include "plugins/live_diffusion/session/stream_part.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/artifact/plot/drawing_files.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/config/config.h"
#include "core/run/publish.h"
#include "plugins/live_diffusion/quality/frame_quality.h"
#include "plugins/live_diffusion/view/picture_sheet.h"

namespace vergence::live {

namespace {

constexpr double kPictureSeconds = 1.0 / 30; ///< between pictures of a stream that is watched
constexpr double kWaitSeconds = 0.08;

double psnrOf(const Image& output, const Image& target)
{
    if (output.width != target.width || output.height != target.height)
        return std::nan("");
    double sum = 0;
    for (std::size_t i = 0; i < output.pixels.size(); ++i) {
        const double d = (output.pixels[i] - target.pixels[i]) / 127.5;
        sum += d * d;
    }
    return psnrOfError(sum / static_cast<double>(output.pixels.size()));
}

/// Whether a change of loop settings alone asks for another network.
bool needsNewNetwork(const LiveDiffusionConfig& config, const LoopSettings& before,
                     const LoopSettings& after)
{
    const bool isOtherOracle = before.curve != after.curve ||
                               before.prediction != after.prediction ||
                               before.zeroTerminalSnr != after.zeroTerminalSnr;
    return FrameLoop::rowsNeeded(after) > FrameLoop::rowsNeeded(before) ||
           (config.network == NetworkKind::Oracle && isOtherOracle);
}

} // namespace

StreamPart::StreamPart(Networks& networks) : m_networks(networks) {}
StreamPart::~StreamPart() = default;

bool StreamPart::isThreaded() const
{
    return m_networks.config().play.isPaced || m_networks.config().source == FilmKind::Camera;
}

int StreamPart::stepsNow() const
{
    if (m_last)
        return m_last->steps;
    if (m_live == nullptr)
        return stepsOf(m_loop->settings());
    return m_networks.config().deadline.isOn ? m_live->level().steps : stepsOf(m_settings);
}

FrameCost StreamPart::cost() const
{
    if (m_last)
        return m_last->cost;
    return m_live != nullptr ? m_live->cost() : m_loop->network().cost();
}

void StreamPart::begin(RunContext& context)
{
    const LiveDiffusionConfig& config = m_networks.config();
    m_settings = m_networks.loop();
    m_switches = switchesOf(config, *m_networks.device(), &m_replaced);
    m_model = modelKey(config);
    context.closeChoices(closedChoices(*m_networks.device()));
    m_speed = config.play.speed;
    auto source = openSource(sourceSettings(config));
    const LiveSettings live = liveSettings(config);
    const LoopRecipe made = recipe();
    if (isThreaded()) {
        m_live = std::make_unique<LiveStream>(
            std::move(source), made.build(), live, made.ladder(),
            [made](const QualityLevel& level) { return made.build(level); });
    } else {
        m_source = std::move(source);
        m_loop = made.build();
        m_keeper.emplace(made.ladder(), live.deadline);
    }
    m_clip.emplace(context, config);
    ViewControl mode{.id = "view", .title = "Show", .kind = ViewControl::Kind::Choice};
    mode.labels = {"side by side", "wipe", "difference ×4"};
    mode.value = {0};
    ViewControl wipe{.id = "wipe", .title = "Wipe", .minimum = {0}, .maximum = {1}, .value = {0.5}};
    context.declareControls({mode, wipe});
    m_startedAt = steadySeconds();
}

void StreamPart::follow(RunContext& context)
{
    const LiveDiffusionConfig& config = m_networks.config();
    if (m_live != nullptr && config.play.speed != m_speed)
        m_live->setSpeed(m_speed = config.play.speed);
    const LoopSettings settings = m_networks.loop();
    const ModelKey model = modelKey(config);
    std::vector<std::string> replaced;
    const Switches switches = switchesOf(config, *m_networks.device(), &replaced);
    if (replaced != m_replaced)
        for (const std::string& sentence : replaced)
            context.warn("W-SWITCH", sentence);
    m_replaced = std::move(replaced);
    if (settings == m_settings && switches == m_switches && model == m_model)
        return;
    Change change;
    change.text = joined({differences(m_model, model), differences(m_switches, switches),
                          differences(m_settings, settings)});
    change.movesSteps = stepsOf(settings) != stepsOf(m_settings);
    change.needsNewLoop =
        switches != m_switches || model != m_model || needsNewNetwork(config, m_settings, settings);
    m_settings = settings;
    m_switches = switches;
    m_model = model;
    apply(context, change);
}

LoopRecipe StreamPart::recipe() const
{
    LoopRecipe recipe{m_networks, m_switches, m_settings, m_shelf};
    // Measured now, the fastest number of threads would be that beside a stream.
    if (m_live != nullptr || m_loop != nullptr)
        recipe.switches.threads = cost().threads;
    return recipe;
}

void StreamPart::apply(RunContext& context, const Change& change)
{
    const bool needsNewLadder = change.movesSteps && m_networks.config().deadline.isOn;
    const LoopRecipe made = recipe();
    if (m_live != nullptr) {
        if (change.needsNewLoop || needsNewLadder) {
            m_live->rebuild([made](const QualityLevel& level) { return made.build(level); },
                            made.ladder());
            m_awaited = joined({m_awaited, change.text});
            return;
        }
        m_live->setLoopSettings(m_settings);
        m_log.mark(change.text);
        return;
    }
    if (needsNewLadder)
        m_keeper.emplace(made.ladder(), m_keeper->settings());
    if (change.needsNewLoop)
        m_newLoop.start(made);
    if (m_newLoop.isBusy()) { // the old loop may have too few rows for what is asked for
        m_isBuilding = true;
        m_awaited = joined({m_awaited, change.text});
    } else if (useSettings(context)) {
        m_log.mark(change.text);
    }
}

bool StreamPart::useSettings(RunContext& context)
{
    try {
        m_loop->setSettings(m_keeper->isReduced() ? reducedTo(m_keeper->level(), m_settings)
                                                  : m_settings);
    } catch (const ContractError& refusal) {
        context.warn("W-SWITCH", std::string(refusal.what()) + ". The settings stay as they are.");
        return false;
    }
    return true;
}

void StreamPart::swapWhenBuilt(RunContext& context)
{
    auto made = m_newLoop.take();
    if (!made)
        return;
    if (made->loop == nullptr) {
        context.warn("W-STREAM", made->failure);
        m_awaited.clear();
        m_isBuilding = false;
        return;
    }
    made->loop->adopt(*m_loop);
    m_loop = std::move(made->loop);
    useSettings(context);
    planIsInUse();
}

void StreamPart::planIsInUse()
{
    m_isBuilding = false;
    if (auto model = m_shelf->model(m_model))
        m_networks.setModel(std::move(model));
    m_log.mark(std::exchange(m_awaited, {}));
}

void StreamPart::hearEvents(RunContext& context)
{
    using Kind = StreamEvent::Kind;
    for (const StreamEvent& event : m_live->takeEvents()) {
        switch (event.kind) {
        case Kind::Level:
            m_awaited = event.text;
            [[fallthrough]];
        case Kind::NotFinite:
        case Kind::Stalled:
        case Kind::Message:
            context.warn("W-STREAM", event.text);
            break;
        case Kind::RebuildFailed:
            m_awaited.clear();
            m_isBuilding = false;
            context.warn("W-STREAM", event.text);
            break;
        case Kind::Rebuilt:
            m_live->setLoopSettings(m_settings); // they may have moved while the plan was made
            planIsInUse();
            break;
        case Kind::Rebuilding:
            m_isBuilding = true;
            break;
        case Kind::Resumed:
        case Kind::Ended:
            break;
        }
    }
}

std::optional<PresentedFrame> StreamPart::taken(RunContext& context)
{
    auto frame = m_source->next({});
    if (!frame && m_networks.config().play.loops && m_frames > 0) {
        m_source->seek(0);
        frame = m_source->next({});
    }
    if (!frame)
        return std::nullopt;
    PresentedFrame result;
    const double taken = steadySeconds();
    result.record = m_loop->process(frame->rgb);
    result.output = m_loop->output();
    result.finished = steadySeconds();
    if (result.record.fate == FrameFate::Filling) { // its answer is still to come
        result.input = frame->rgb;
        result.target = frame->target;
        result.captured = result.taken = taken;
        m_fed.add(result.record.number, std::move(*frame), taken);
        return result;
    }
    m_fed.add(result.record.number, std::move(*frame), taken);
    auto answered = m_fed.takeAnswered(result.record);
    result.input = std::move(answered.frame.rgb);
    result.target = std::move(answered.frame.target);
    result.captured = result.taken = answered.taken;
    if (result.record.fate != FrameFate::Generated)
        return result;
    const auto level = m_keeper->add(result.record.seconds.total);
    if (level && useSettings(context)) {
        const std::string text = "The deadline keeper goes to " + level->text() + ".";
        context.warn("W-STREAM", text);
        m_log.mark(text);
    }
    return result;
}

std::optional<PresentedFrame> StreamPart::next(RunContext& context, bool& isLate)
{
    isLate = false;
    if (m_live == nullptr) {
        swapWhenBuilt(context);
        return taken(context);
    }
    hearEvents(context);
    auto frame = m_live->waitFor(kWaitSeconds);
    if (frame)
        return frame;
    m_live->throwFailure();
    const StreamState state = m_live->state();
    isLate = state == StreamState::Starting || state == StreamState::Running;
    return isLate ? std::nullopt : m_live->take(); // it may have come since with the end
}

bool StreamPart::advance(RunContext& context)
{
    if (context.config().revision() != m_revision) {
        m_revision = context.config().revision();
        m_networks.follow(readLiveDiffusionConfig(context.config()));
    }
    const LiveDiffusionConfig& now = m_networks.config();
    follow(context);
    const auto isTimeUp = [&] {
        return now.streamSeconds > 0 && steadySeconds() - m_startedAt >= now.streamSeconds;
    };
    if (m_isPictureKept) { // else the frame of this step is there already
        bool isLate = false;
        auto frame = next(context, isLate);
        if (isLate && !isTimeUp()) { // nothing was done that would count as a step
            m_wasInterrupted = true;
            return true;
        }
        if (!frame) {
            m_isOver = true;
            return false;
        }
        take(context, *frame);
    }
    keepPicture();
    m_isOver = m_frames >= now.streamFrames || isTimeUp();
    return !m_isOver;
}

void StreamPart::take(RunContext& context, PresentedFrame& frame)
{
    int lost = 0;
    if (m_live != nullptr) {
        const DropCounts drops = m_live->drops();
        lost = static_cast<int>(drops.replaced + drops.late - m_lost);
        m_lost += lost;
    }
    m_record = frame.record;
    m_latency = frame.latency();
    m_log.add(frame, lost);
    m_shown = {std::move(frame.input), std::move(frame.output), std::move(frame.target)};
    if (m_record.fate == FrameFate::Kept)
        context.warn("W-NOT-FINITE", "A result was not finite; the last good frame is kept.");
    if (context.metricsDue())
        recordFrame(context);
    ++m_frames;
    if (isPictureDue(context))
        publishPicture(context);
    if (context.framesDue())
        publishNumbers(context);
}

void StreamPart::keepPicture()
{
    m_isPictureKept = false;
    if (m_record.shown >= 0)
        m_clip->add(m_shown.input, m_shown.output, 1e3 * m_latency);
    m_isPictureKept = true;
}

void StreamPart::recordFrame(RunContext& context)
{
    context.recordAt("frame_ms", 1e3 * m_latency, m_frames);
    context.recordAt("fps", m_log.framesPerSecond(), m_frames);
    if (m_shown.target.pixels.empty() || m_record.fate != FrameFate::Generated)
        return;
    const double value = psnrOf(m_shown.output, m_shown.target);
    if (!std::isfinite(value))
        return;
    context.recordAt("psnr", value, m_frames);
    m_psnrSum += value;
    ++m_psnrCount;
}

/// On threads the network works on while pictures are made, so they may come often; in turn they
/// cost its time.
bool StreamPart::isPictureDue(RunContext& context) const
{
    if (m_live == nullptr)
        return context.framesDue();
    return context.frames().isWatched() && steadySeconds() - m_pictureAt >= kPictureSeconds;
}

std::vector<Badge> StreamPart::badges() const
{
    const int steps = stepsNow();
    std::vector<Badge> badges{{m_networks.name(), false},
                              {fmt::format("{} px", m_shown.output.width), false},
                              {std::string(nameOf(m_switches.precision)), false},
                              {fmt::format("{} step{}", steps, steps == 1 ? "" : "s"), false},
                              {fmt::format("{:.1f} frames/s", m_log.framesPerSecond()), false}};
    if (m_isBuilding)
        badges.push_back({"building…", true});
    if (!m_networks.note().empty())
        badges.push_back({m_networks.note(), true});
    if (m_record.fate != FrameFate::Generated)
        badges.push_back({nameOf(m_record.fate), true});
    if (m_record.isCut)
        badges.push_back({"scene cut", true});
    return badges;
}

LatencyLook StreamPart::latencyLook() const
{
    LatencyLook look;
    const double budget = m_networks.config().budget;
    if (budget != 40 && budget != 16) // these have lines of their own
        look.budgetMs = budget;
    return look;
}

void StreamPart::publishPicture(RunContext& context)
{
    const Image& output = m_shown.output;
    if (output.pixels.empty())
        return;
    m_pictureAt = steadySeconds();
    m_look.edge = std::clamp(output.width * 4, 192, 512);
    const bool isFitting =
        m_shown.input.width == output.width && m_shown.input.height == output.height;
    publishImage(
        context, "live",
        livePicture(isFitting ? m_shown.input : resized(m_shown.input, output.width, output.height),
                    output, badges(), m_look));
}

void StreamPart::publishNumbers(RunContext& context)
{
    const LatencyLook look = latencyLook();
    publishDrawing(context, "timeline", latencyTimeline(m_log.timings(), look));
    publishDrawing(context, "histogram", latencyHistogram(m_log.milliseconds(), look));
    publishDrawing(context, "numbers",
                   numbersCard(bigNumbers(m_log, cost(), stepsNow(), m_networks.config().budget)));
    if (m_log.hasMarks())
        context.table(m_log.switchTable());
}

std::int64_t StreamPart::stepsLeft() const
{
    return m_isOver ? 0 : std::max<std::int64_t>(0, m_networks.config().streamFrames - m_frames);
}

void StreamPart::view(RunContext& context, const ViewInput& input)
{
    if (const auto mode = input.scalar("view"))
        m_look.mode = *mode == 1   ? LiveMode::Wipe
                      : *mode == 2 ? LiveMode::Difference
                                   : LiveMode::SideBySide;
    if (const auto wipe = input.scalar("wipe"))
        m_look.wipe = std::clamp(*wipe, 0.0, 1.0);
    publishPicture(context);
    if (m_frames > 0)
        publishNumbers(context);
}

void StreamPart::letGo()
{
    m_last = Last{stepsNow(), cost()};
    m_live = nullptr;
    m_newLoop.drop();
    m_loop = nullptr;
    m_source = nullptr;
    m_shelf = nullptr;
}

void StreamPart::finish(RunContext& context)
{
    if (m_live != nullptr)
        m_live->stop();
    context.closeChoices(closedAfterStream());
    if (m_frames == 0)
        return;
    ArtifactStore& artifacts = context.artifacts();
    m_clip->finish(artifacts);
    const LatencyLook look = latencyLook();
    plot::writeDrawing(artifacts, "stream/timeline", latencyTimeline(m_log.timings(), look),
                       "chart", "Time of the last frames");
    plot::writeDrawing(artifacts, "stream/histogram", latencyHistogram(m_log.milliseconds(), look),
                       "chart", "How often which time occurred");
    artifacts.writeText("stream/frames.csv", m_log.csv(), "table", "Time of every frame");
    nlohmann::json summary{{"network", m_networks.name()},
                           {"trained", m_networks.isTrained()},
                           {"frames", m_frames},
                           {"generated", m_log.generated()},
                           {"lost", m_lost},
                           {"steps", stepsNow()},
                           {"frames_per_second", m_log.meanRate()},
                           {"frame_ms_p50", m_log.latencyMs(0.5)},
                           {"frame_ms_p95", m_log.latencyMs(0.95)},
                           {"frame_ms_p99", m_log.latencyMs(0.99)},
                           {"tick_ms_p50", m_log.tickMs(0.5)},
                           {"share_over_40_ms", m_log.missedShare(40)},
                           {"share_over_16_ms", m_log.missedShare(16)},
                           {"steady_bytes", cost().steadyBytes()},
                           {"switches", m_log.switchTable()}};
    if (m_psnrCount > 0) {
        summary["psnr"] = m_psnrSum / static_cast<double>(m_psnrCount);
        context.record("psnr_mean", m_psnrSum / static_cast<double>(m_psnrCount));
    }
    artifacts.writeText("stream/stream.json", summary.dump(2), "report", "The stream in numbers");
    context.record("fps_mean", m_log.meanRate());
    context.note("frames_per_second", m_log.meanRate());
    letGo();
    publishPicture(context);
    publishNumbers(context);
}

} // namespace vergence::live
