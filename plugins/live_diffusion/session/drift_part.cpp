#include "plugins/live_diffusion/session/drift_part.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/artifact/json_text.h"
#include "core/artifact/plot/drawing_files.h"
#include "core/base/clock.h"
#include "core/run/publish.h"
#include "plugins/live_diffusion/model/pixel_blocks.h"
#include "plugins/live_diffusion/quality/frame_quality.h"
#include "plugins/live_diffusion/stream/frame_grid.h"

namespace vergence::live {

namespace {

constexpr double kSecondsBetweenPictures = 1;

/// The scene of the source where its targets are known, else Orbits.
SceneSettings pairedScene(const LiveDiffusionConfig& config)
{
    SceneSettings settings = sceneSettings(config);
    if (!makeScene(settings)->isPaired())
        settings.kind = SceneKind::Orbits;
    return settings;
}

/// What a stream in `used` is compared with: strict F32, or 16 bits where it is F32 already.
std::optional<Precision> otherPrecision(const Device& device, Precision used)
{
    if (used == Precision::Fp16 || used == Precision::Bf16)
        return Precision::Fp32;
    for (const Precision half : {Precision::Fp16, Precision::Bf16}) {
        if (precisionChoice(device, half).isAvailable)
            return half;
    }
    return std::nullopt;
}

/// A slope says nothing before the film has gone round once since the loop settled: till then it is
/// the film that is easier here than there.
bool isTooShort(const DriftVariant& variant)
{
    constexpr std::size_t kSettled = 50;
    return variant.psnr.size() < kSettled + kSceneLoop && variant.verdict != "collapsed";
}

DriftVariant drawn(const std::string& name, bool isReference, const DriftMeter& meter)
{
    DriftVariant variant;
    variant.name = name;
    variant.isReference = isReference;
    for (const FrameQuality& frame : meter.frames()) {
        variant.psnr.push_back(frame.psnr);
        variant.colourDistance.push_back(frame.meanColourDistance);
        variant.contrastRatio.push_back(frame.contrastRatio);
        variant.detailRatio.push_back(frame.detailRatio);
        variant.repetition.push_back(frame.repetition);
        variant.temporalError.push_back(frame.temporalError);
    }
    if (!meter.frames().empty()) {
        variant.slope = meter.slope();
        variant.verdict = nameOf(meter.verdict());
        if (isTooShort(variant))
            variant.verdict = "too short to judge";
    }
    return variant;
}

nlohmann::json toJson(const DriftVariant& variant)
{
    return {{"name", variant.name},
            {"reference", variant.isReference},
            {"slope_db_per_100_frames", variant.slope},
            {"verdict", variant.verdict},
            {"psnr_db", variant.psnr},
            {"colour_distance", variant.colourDistance},
            {"contrast_ratio", variant.contrastRatio},
            {"detail_ratio", variant.detailRatio},
            {"repetition", variant.repetition},
            {"temporal_error", variant.temporalError}};
}

struct Removal {
    std::string name; ///< "no memory, no blend"
    LoopSettings loop;
};

/// Every choice of what holds a stream together left out, the fewest first.
std::vector<Removal> removals(const LoopSettings& loop)
{
    using Change = void (*)(LoopSettings&);
    std::vector<std::pair<const char*, Change>> parts;
    if (loop.usesHistory && loop.historyNoise > 0)
        parts.emplace_back("no history noise", [](LoopSettings& l) { l.historyNoise = 0; });
    if (loop.usesMemory)
        parts.emplace_back("no memory", [](LoopSettings& l) { l.usesMemory = false; });
    if (loop.blend > 0)
        parts.emplace_back("no blend", [](LoopSettings& l) { l.blend = 0; });
    std::vector<unsigned> choices((1U << parts.size()) - 1); // bits: which parts
    std::iota(choices.begin(), choices.end(), 1U);
    std::ranges::stable_sort(choices, {}, [](unsigned bits) { return std::popcount(bits); });
    std::vector<Removal> removals;
    for (const unsigned bits : choices) {
        Removal& removal = removals.emplace_back(Removal{"", loop});
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if ((bits >> i & 1U) == 0)
                continue;
            removal.name += (removal.name.empty() ? "" : ", ") + std::string(parts[i].first);
            parts[i].second(removal.loop);
        }
    }
    return removals;
}

/// The first, after a fifth and a half of the run, and the last.
std::vector<std::int64_t> thumbnailFrames(std::int64_t frames)
{
    return {0, frames / 5, frames / 2, frames - 1};
}

} // namespace

struct DriftPart::Running {
    Running(const FrameShape& shape, std::size_t thumbnails) : meter(shape.height(), shape.width())
    {
        pictures.resize(thumbnails);
    }

    std::unique_ptr<FrameLoop> loop, first; ///< first: of a twin, as configured
    DriftMeter meter;
    std::vector<Image> pictures;
    std::int64_t frame = 0;
};

DriftPart::DriftPart(Networks& networks) : m_networks(networks) {}

DriftPart::~DriftPart() = default;

void DriftPart::begin(RunContext& context)
{
    m_hasBegun = true;
    m_variants.clear();
    m_running.reset();
    m_variant = 0;
    m_divergence.clear();
    m_divergenceName.clear();
    if (m_networks.config().isReplica()) {
        context.warn("W-DRIFT", "The " + m_networks.name() + " makes no stream that could drift.");
        return;
    }
    if (!m_networks.isTrained())
        context.warn("W-DRIFT", "The weights are random: where the stream drifts says nothing.");
    m_frames = std::max(1, m_networks.config().driftFrames);
    m_scene = makeScene(pairedScene(m_networks.config()));
    m_drawingDevice = makeCpuDevice(1);
    m_drawing = m_drawingDevice->createStream();
    m_done = {};
    m_done.thumbnailFrames = thumbnailFrames(m_frames);
    m_done.targets.resize(m_done.thumbnailFrames.size());
    m_variants = planned();
    if (m_variants.back().isTwin)
        m_divergenceName = std::string(nameOf(m_variants.back().switches.precision)) + " beside " +
                           std::string(nameOf(m_variants.front().switches.precision));
}

std::vector<DriftPart::Variant> DriftPart::planned() const
{
    std::vector<Variant> variants;
    LoopSettings loop = m_networks.loop();
    loop.filtersSimilar = false; // every frame is judged
    const Switches switches = m_networks.switches();
    variants.push_back({"as configured", loop, switches});
    if (!m_networks.config().driftGrid)
        return variants;
    for (const Removal& removal : removals(loop))
        variants.push_back({removal.name, removal.loop, switches});
    Variant taught{"fed the truth", loop, switches, true};
    taught.loop.isStreamBatch = false; // its rows have histories of their own
    taught.loop.memoryStride = std::numeric_limits<int>::max(); // see teach()
    variants.push_back(taught);
    if (const auto other = otherPrecision(*m_networks.device(), switches.precision);
        other && m_networks.config().network == NetworkKind::Unet) {
        Variant twin{"in " + std::string(nameOf(*other)), loop, switches, false, true};
        twin.switches.precision = *other;
        variants.push_back(std::move(twin));
    }
    return variants;
}

void DriftPart::start()
{
    const Variant& variant = m_variants.at(m_variant);
    const int rows = FrameLoop::rowsNeeded(m_networks.loop());
    if (!m_network)
        m_network = m_networks.build(m_networks.switches(), rows, keptChoices());
    m_running = std::make_unique<Running>(m_network->shape(), m_done.thumbnailFrames.size());
    const auto network =
        variant.isTwin ? m_networks.build(variant.switches, rows, keptChoices()) : m_network;
    m_running->loop = std::make_unique<FrameLoop>(network, variant.loop);
    m_running->loop->reset(); // memory of the variant before
    if (variant.isTwin) {
        m_running->first = std::make_unique<FrameLoop>(m_network, variant.loop);
        m_running->first->reset();
        m_divergence.clear();
    }
}

void DriftPart::frame()
{
    Running& now = *m_running;
    const FrameShape& shape = m_network->shape();
    const auto values = static_cast<std::size_t>(shape.values());
    std::vector<float> input(values), target(values), grid(values), picture(values);
    m_scene->draw(*m_drawing, now.frame, input, target);
    pixelUnshuffle(input, shape.height(), shape.patch, grid);
    const FrameRecord record = now.loop->process(grid);
    if (record.shown < 0) { // a stream batch that fills: nothing to judge yet
        ++now.frame;
        return;
    }
    if (record.shown != now.frame) // a stream batch answers an earlier frame
        m_scene->draw(*m_drawing, record.shown, {}, target);
    pixelShuffle(now.loop->values(), shape.height(), shape.patch, picture);
    now.meter.add(picture, target);
    for (std::size_t i = 0; i < m_done.thumbnailFrames.size(); ++i) {
        if (m_done.thumbnailFrames[i] != now.frame)
            continue;
        now.pictures[i] = now.loop->output();
        pixelUnshuffle(target, shape.height(), shape.patch, grid);
        FrameGrid(shape).toPicture(grid, m_done.targets[i]);
    }
    if (now.first) {
        pixelUnshuffle(input, shape.height(), shape.patch, grid);
        now.first->process(grid);
        m_divergence.push_back(psnr(now.loop->values(), now.first->values()));
    }
    if (m_variants[m_variant].isTaught) {
        pixelUnshuffle(target, shape.height(), shape.patch, grid);
        teach(grid);
    }
    ++now.frame;
}

/// The truth as last output and in the memory bank, where the loop itself wrote nothing but its
/// first frame.
void DriftPart::teach(std::span<const float> truth)
{
    Running& now = *m_running;
    now.loop->replaceLast(truth);
    if (!now.loop->settings().usesMemory)
        return;
    if (now.frame == 0)
        m_network->resetMemory();
    if (now.frame % m_networks.loop().memoryStride == 0)
        m_network->writeMemory(truth);
}

bool DriftPart::advance(RunContext& context)
{
    if (stepsLeft() == 0)
        return false;
    if (!m_running)
        start();
    frame();
    const auto& frames = m_running->meter.frames();
    if (m_variant == 0 && context.metricsDue() && !frames.empty() &&
        std::isfinite(frames.back().psnr))
        context.recordAt("drift_psnr", frames.back().psnr, m_running->frame - 1);
    if (m_running->frame == m_frames) {
        end(context);
        show(context);
    } else if (context.framesDue() && steadySeconds() - m_shown >= kSecondsBetweenPictures) {
        show(context);
    }
    return stepsLeft() > 0;
}

void DriftPart::end(RunContext& context)
{
    const Variant& variant = m_variants[m_variant];
    DriftVariant done = drawn(variant.name, variant.isTaught, m_running->meter);
    done.thumbnails = m_running->pictures;
    if (m_variant == 0) {
        if (std::isfinite(done.slope))
            context.record("drift_slope", done.slope);
        context.note("drift_verdict", done.verdict);
    }
    m_done.variants.push_back(std::move(done));
    m_running.reset();
    ++m_variant;
}

std::int64_t DriftPart::stepsLeft() const
{
    if (!m_hasBegun)
        return m_networks.config().driftFrames * static_cast<std::int64_t>(planned().size());
    return m_frames * static_cast<std::int64_t>(m_variants.size() - m_variant) -
           (m_running ? m_running->frame : 0);
}

DriftStudy DriftPart::study() const
{
    DriftStudy study = m_done;
    if (m_running && !m_running->meter.frames().empty()) {
        const Variant& variant = m_variants[m_variant];
        study.variants.push_back(drawn(variant.name, variant.isTaught, m_running->meter));
        study.variants.back().thumbnails = m_running->pictures;
    }
    return study;
}

void DriftPart::show(RunContext& context)
{
    const DriftStudy now = study();
    if (now.variants.empty())
        return;
    publishDrawing(context, "drift", driftCharts(now));
    publishImage(context, "ablation", ablationGrid(now));
    m_shown = steadySeconds();
}

std::string DriftPart::csv() const
{
    std::string text = "variant,frame,psnr_db,colour_distance,contrast_ratio,detail_ratio,"
                       "repetition,temporal_error\n";
    for (const DriftVariant& variant : study().variants) {
        for (std::size_t i = 0; i < variant.psnr.size(); ++i)
            text += fmt::format("{},{},{},{},{},{},{},{}\n", variant.name, i, variant.psnr[i],
                                variant.colourDistance[i], variant.contrastRatio[i],
                                variant.detailRatio[i], variant.repetition[i],
                                variant.temporalError[i]);
    }
    return text;
}

void DriftPart::finish(RunContext& context)
{
    const DriftStudy all = study();
    if (all.variants.empty())
        return;
    auto variants = nlohmann::json::array();
    for (const DriftVariant& variant : all.variants)
        variants.push_back(toJson(variant));
    nlohmann::json report = {{"model", m_networks.name()},
                             {"weights", m_networks.note()},
                             {"frames", m_frames},
                             {"variants", std::move(variants)}};
    if (!m_divergence.empty())
        report["divergence"] = {{"name", m_divergenceName}, {"psnr_db", m_divergence}};
    ArtifactStore& artifacts = context.artifacts();
    artifacts.writeText("drift/drift.csv", csv(), "drift", "Drift by frame");
    artifacts.writeText("drift/drift.json", prettyJson(report), "drift", "Drift");
    plot::writeDrawing(artifacts, "drift/drift", driftCharts(all), "drift", "Drift");
    artifacts.writePng("drift/ablation.png", ablationGrid(all), "drift", "Ablation");
    show(context);
    m_running.reset();
    m_network = nullptr; // nothing of it is looked at any more
}

} // namespace vergence::live
