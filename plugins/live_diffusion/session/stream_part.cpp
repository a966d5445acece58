#include "plugins/live_diffusion/session/stream_part.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "plugins/live_diffusion/quality/frame_quality.h"
#include "plugins/live_diffusion/session/exports.h"
#include "plugins/live_diffusion/view/picture_sheet.h"

namespace vergence::live {

namespace {

constexpr double kShowSeconds = 0.1; ///< between pictures
constexpr double kWaitSeconds = 0.08;
constexpr std::int64_t kClipFrames = 250; ///< that a GIF keeps

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

/// Cheap changes of a loop; sizes and networks stay.
bool isSame(const LiveDiffusionConfig& a, const LiveDiffusionConfig& b)
{
    const auto key = [](const LiveDiffusionConfig& c) {
        return std::tie(c.mode, c.steps, c.sampler, c.strength, c.eta, c.clampEstimate, c.start,
                        c.noise, c.freshness, c.guidance, c.gamma, c.delta, c.history,
                        c.historyNoise, c.memory, c.memoryStride, c.blend, c.cutCosine,
                        c.flushOnCut, c.driftGuard, c.streamBatch, c.filterSimilar, c.similarity);
    };
    return key(a) == key(b);
}

} // namespace

StreamPart::StreamPart(Networks& networks) : m_networks(networks) {}
StreamPart::~StreamPart() = default;

bool StreamPart::isThreaded() const
{
    return m_networks.config().paced || m_networks.config().source == "camera";
}

std::unique_ptr<FrameLoop> StreamPart::newLoop() const
{
    return std::make_unique<FrameLoop>(
        m_networks.build(m_switches, FrameLoop::rowsNeeded(m_loopSettings)), m_loopSettings);
}

void StreamPart::begin(RunContext& context)
{
    const LiveDiffusionConfig& config = m_networks.config();
    m_loopSettings = m_networks.loop();
    m_switches = m_networks.switches();
    m_speed = config.speed;
    m_look.edge = std::clamp(config.frameSize * 4, 192, 512);
    OpenedSource opened = openSourceOrOrbits(sourceSettings(config));
    if (!opened.message.empty())
        context.warn("W-SOURCE", opened.message);
    auto loop = newLoop();
    m_cost = loop->network().cost();
    if (isThreaded()) {
        const QualityLevel best{config.steps, loop->shape().patch, config.frameSize, 1};
        auto ladder = config.deadlineKeeper ? qualityLadder(best) : std::vector{best};
        if (config.weights != "bench") // other sizes would need other weights
            std::erase_if(ladder, [&](const QualityLevel& level) {
                return level.patch != best.patch || level.size != best.size;
            });
        LoopBuilder build = [this](const QualityLevel& level) {
            LoopSettings settings = m_loopSettings;
            settings.steps = level.steps;
            return std::make_unique<FrameLoop>(
                m_networks.build(m_switches, FrameLoop::rowsNeeded(settings)), settings);
        };
        m_live = std::make_unique<LiveStream>(std::move(opened.source), std::move(loop),
                                              liveSettings(config), ladder, build);
    } else {
        m_source = std::move(opened.source);
        m_loop = std::move(loop);
    }
    openExport(context);
    ViewControl mode{.id = "view", .title = "Show", .kind = ViewControl::Kind::Choice};
    mode.labels = {"side by side", "wipe", "difference ×4"};
    mode.value = {0};
    ViewControl wipe{.id = "wipe", .title = "Wipe", .minimum = {0}, .maximum = {1}, .value = {0.5}};
    context.declareControls({mode, wipe});
    m_startedAt = steadySeconds();
}

void StreamPart::openExport(RunContext& context)
{
    const LiveDiffusionConfig& config = m_networks.config();
    if (config.exportClip == "none")
        return;
    ExportSettings settings;
    settings.format = config.exportClip == "gif"   ? ExportFormat::Gif
                      : config.exportClip == "png" ? ExportFormat::PngSequence
                                                   : ExportFormat::Mp4;
    settings.view = config.exportSideBySide ? ExportView::SideBySide : ExportView::Output;
    settings.hasOverlay = config.exportOverlay;
    settings.fps = config.fps;
    settings.scale = std::clamp(192 / config.frameSize, 1, 4);
    m_clipName = config.exportClip == "png" ? "stream/frames" : "stream." + config.exportClip;
    try {
        m_clip = openClip(context.artifacts().pathFor(m_clipName), settings);
    } catch (const InputError& failure) {
        context.warn("W-CLIP", failure.what());
    }
}

void StreamPart::follow(RunContext& context)
{
    const LiveDiffusionConfig& config = m_networks.config();
    const LoopSettings wanted = m_networks.loop();
    std::vector<std::string> changes;
    const Switches switches = switchesOf(config, *m_networks.device(), &changes);
    const std::string moved = differences(m_switches, switches);
    const bool needsRows = FrameLoop::rowsNeeded(wanted) > FrameLoop::rowsNeeded(m_loopSettings);
    const std::string stepsMoved =
        wanted.steps == m_loopSettings.steps
            ? ""
            : fmt::format("steps {} to {}", m_loopSettings.steps, wanted.steps);
    m_loopSettings = wanted;
    m_switches = switches;
    if (m_live != nullptr && config.speed != m_speed)
        m_live->setSpeed(m_speed = config.speed);
    if (!moved.empty() || needsRows) {
        if (m_live != nullptr) {
            m_live->rebuild([this] { return newLoop(); });
        } else {
            auto loop = newLoop();
            loop->adopt(*m_loop);
            m_loop = std::move(loop);
            m_cost = m_loop->network().cost();
        }
    } else if (m_live != nullptr) {
        m_live->setLoopSettings(wanted);
    } else {
        m_loop->setSettings(wanted);
    }
    const std::string text = moved + (moved.empty() || stepsMoved.empty() ? "" : ", ") + stepsMoved;
    if (!text.empty())
        m_log.mark(text);
    for (const std::string& change : changes)
        context.warn("W-SWITCH", change);
}

std::optional<PresentedFrame> StreamPart::taken()
{
    auto frame = m_source->next({});
    if (!frame && m_networks.config().loop && m_frames > 0) {
        m_source->seek(0);
        frame = m_source->next({});
    }
    if (!frame)
        return std::nullopt;
    PresentedFrame result;
    result.captured = result.taken = steadySeconds();
    result.record = m_loop->process(frame->rgb);
    result.input = std::move(frame->rgb);
    result.target = std::move(frame->target);
    result.output = m_loop->output();
    result.finished = steadySeconds();
    return result;
}

std::optional<PresentedFrame> StreamPart::next(RunContext& context, bool& isLate)
{
    isLate = false;
    if (m_live == nullptr)
        return taken();
    for (const StreamEvent& event : m_live->takeEvents())
        if (event.kind == StreamEvent::Kind::NotFinite || event.kind == StreamEvent::Kind::Level ||
            event.kind == StreamEvent::Kind::RebuildFailed ||
            event.kind == StreamEvent::Kind::Stalled || event.kind == StreamEvent::Kind::Message)
            context.warn("W-STREAM", event.text);
    auto frame = m_live->waitFor(kWaitSeconds);
    isLate = !frame && m_live->state() == StreamState::Running;
    return frame;
}

bool StreamPart::step(RunContext& context)
{
    const LiveDiffusionConfig now = readLiveDiffusionConfig(context.config());
    const LiveDiffusionConfig& before = m_networks.config();
    const bool isChanged = !isSame(now, before) || now.speed != before.speed;
    m_networks.follow(now);
    if (isChanged || !differences(m_switches, m_networks.switches()).empty())
        follow(context);
    bool isLate = false;
    m_wasInterrupted = false;
    auto frame = next(context, isLate);
    if (isLate) {
        m_wasInterrupted = context.stopRequested();
        return true;
    }
    if (!frame) {
        m_isOver = true;
        return false;
    }
    take(context, *frame);
    const double limit = now.streamSeconds;
    m_isOver =
        m_frames >= now.streamFrames || (limit > 0 && steadySeconds() - m_startedAt >= limit);
    return !m_isOver;
}

void StreamPart::take(RunContext& context, PresentedFrame& frame)
{
    const LiveDiffusionConfig& config = m_networks.config();
    int lost = 0;
    if (m_live != nullptr) {
        const DropCounts drops = m_live->drops();
        lost = static_cast<int>(drops.replaced + drops.late - m_lost);
        m_lost += lost;
    }
    m_record = frame.record;
    m_log.add(m_record, frame.finished - frame.captured, frame.finished, lost);
    m_shown = {std::move(frame.input), std::move(frame.output), std::move(frame.target)};
    if (m_record.fate == FrameFate::Kept)
        context.warn("W-NOT-FINITE", "A result was not finite; the last good frame is kept.");
    if (m_clip != nullptr && m_record.shown >= 0 && m_frames < kClipFrames)
        m_clip->add(
            composed(m_shown.input, m_shown.output,
                     fmt::format("{} {:.1f} ms", m_frames, 1e3 * m_record.seconds.total),
                     {.view = config.exportSideBySide ? ExportView::SideBySide : ExportView::Output,
                      .hasOverlay = config.exportOverlay,
                      .scale = std::clamp(192 / config.frameSize, 1, 4)}));
    if (context.metricsDue()) {
        context.recordAt("frame_ms", 1e3 * m_record.seconds.total, m_frames);
        context.recordAt("fps", m_log.framesPerSecond(), m_frames);
        if (!m_shown.target.pixels.empty() && m_record.fate == FrameFate::Generated) {
            const double value = psnrOf(m_shown.output, m_shown.target);
            if (std::isfinite(value)) {
                context.recordAt("psnr", value, m_frames);
                m_psnrSum += value;
                ++m_psnrCount;
            }
        }
    }
    ++m_frames;
    if (context.framesDue() && steadySeconds() - m_publishedAt >= kShowSeconds)
        publish(context);
}

std::vector<Badge> StreamPart::badges() const
{
    const LiveDiffusionConfig& config = m_networks.config();
    std::vector<Badge> badges{
        {m_networks.name(), false},
        {fmt::format("{} px", config.frameSize), false},
        {std::string(nameOf(m_switches.precision)), false},
        {fmt::format("{} step{}", m_loopSettings.steps, m_loopSettings.steps == 1 ? "" : "s"),
         false},
        {fmt::format("{:.1f} frames/s", m_log.framesPerSecond()), false}};
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

void StreamPart::publish(RunContext& context)
{
    if (m_shown.output.pixels.empty())
        return;
    m_publishedAt = steadySeconds();
    const double budget = m_networks.config().budget;
    const LatencyLook look = latencyLook();
    const Image& output = m_shown.output;
    Image input = output;
    if (m_shown.input.width == output.width && m_shown.input.height == output.height)
        input = m_shown.input;
    else
        input = resized(m_shown.input, output.width, output.height);
    publishImage(context, "live", livePicture(input, output, badges(), m_look));
    publishDrawing(context, "timeline", latencyTimeline(m_log.timings(), look));
    publishDrawing(context, "histogram", latencyHistogram(m_log.milliseconds(), look));
    publishDrawing(context, "numbers",
                   numbersCard(bigNumbers(m_log, m_cost, m_loopSettings.steps, budget)));
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
    publish(context);
}

void StreamPart::finish(RunContext& context)
{
    if (m_live != nullptr)
        m_live->stop();
    if (m_frames == 0)
        return;
    ArtifactStore& artifacts = context.artifacts();
    if (m_clip != nullptr) {
        m_clip->finish();
        if (m_networks.config().exportClip == "png")
            for (std::int64_t i = 0; i < std::min(m_frames, kClipFrames); ++i)
                artifacts.add(fmt::format("{}/{:06}.png", m_clipName, i), "frame");
        else
            artifacts.add(m_clipName, "clip", "Streamed frames");
        m_clip = nullptr;
    }
    const LatencyLook look = latencyLook();
    exportDrawing(artifacts, "stream/timeline", latencyTimeline(m_log.timings(), look), "chart",
                  "Time of the last frames");
    exportDrawing(artifacts, "stream/histogram", latencyHistogram(m_log.milliseconds(), look),
                  "chart", "How often which time occurred");
    artifacts.writeText("stream/frames.csv", m_log.csv(), "table", "Time of every frame");
    nlohmann::json summary{{"network", m_networks.name()},
                           {"trained", m_networks.isTrained()},
                           {"frames", m_frames},
                           {"generated", m_log.generated()},
                           {"lost", m_lost},
                           {"steps", m_loopSettings.steps},
                           {"frames_per_second", m_log.meanRate()},
                           {"frame_ms_p50", m_log.networkMs(0.5)},
                           {"frame_ms_p95", m_log.networkMs(0.95)},
                           {"frame_ms_p99", m_log.networkMs(0.99)},
                           {"over_40_ms", m_log.missed(40)},
                           {"over_16_ms", m_log.missed(16)},
                           {"steady_bytes", m_cost.steadyBytes()},
                           {"switches", m_log.switchTable()}};
    if (m_psnrCount > 0) {
        summary["psnr"] = m_psnrSum / static_cast<double>(m_psnrCount);
        context.record("psnr_mean", m_psnrSum / static_cast<double>(m_psnrCount));
    }
    artifacts.writeText("stream/stream.json", summary.dump(2), "report", "The stream in numbers");
    context.record("fps_mean", m_log.meanRate());
    context.note("frames_per_second", m_log.meanRate());
    publish(context);
}

} // namespace vergence::live
