#include "plugins/live_diffusion/stream/frame_loop.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/compute/stream.h"
#include "plugins/live_diffusion/diffusion/similarity.h"
#include "plugins/live_diffusion/model/blend.h"
#include "plugins/live_diffusion/model/unet_settings.h"
#include "plugins/live_diffusion/stream/drift_guard.h"
#include "plugins/live_diffusion/stream/frame_grid.h"
#include "plugins/live_diffusion/stream/frame_numbers.h"
#include "plugins/live_diffusion/stream/frames_in_flight.h"

namespace vergence::live {

namespace {

/// Values of a frame above which its arithmetic is spread over threads.
constexpr Index kManyValues = 1 << 16;
/// Results that are not finite, one after the other, at which the memory bank is suspected.
constexpr int kMemorySuspect = 2;

std::shared_ptr<Device> deviceFor(const FrameShape& shape)
{
    return makeCpuDevice(shape.values() > kManyValues ? 0 : 1);
}

bool isBatch(const LoopSettings& settings)
{
    return settings.isStreamBatch && stepsOf(settings) > 1;
}

/// Whether frames in flight cannot go on with the other settings.
bool changesFlight(const LoopSettings& a, const LoopSettings& b)
{
    return stepsOf(a) != stepsOf(b) || a.sampler != b.sampler || a.curve != b.curve ||
           a.zeroTerminalSnr != b.zeroTerminalSnr || a.prediction != b.prediction ||
           a.strength != b.strength || isBatch(a) != isBatch(b) ||
           FrameStepper::isGuided(a.guidance) != FrameStepper::isGuided(b.guidance);
}

SimilarityFilter filterOf(const LoopSettings& settings)
{
    SimilaritySettings similarity;
    similarity.threshold = settings.similarity;
    return {FrameNoise(settings.seed), similarity};
}

/// A longer range, or more bits, than what just failed.
std::vector<Precision> saferThan(Precision precision)
{
    if (precision == Precision::Fp16)
        return {Precision::Bf16, Precision::Fp32};
    if (precision != Precision::Fp32)
        return {Precision::Fp32};
    return {};
}

} // namespace

const char* nameOf(FrameFate fate)
{
    constexpr std::array kNames = {"generated", "skipped", "filling", "kept"};
    return kNames[static_cast<std::size_t>(fate)];
}

void LoopTotals::add(const FrameRecord& record)
{
    ++frames;
    generated += record.fate == FrameFate::Generated;
    skipped += record.fate == FrameFate::Skipped;
    filling += record.fate == FrameFate::Filling;
    kept += record.fate == FrameFate::Kept;
    evaluations += record.evaluations;
    calls += record.calls;
    cuts += record.isCut;
    memoryWrites += record.wroteMemory;
}

struct FrameLoop::Impl {
    Impl(std::shared_ptr<FrameNetwork> wanted, const LoopSettings& loop)
        : network(std::move(wanted)),
          settings(loop),
          device(deviceFor(network->shape())),
          gridStream(device->createStream()),
          grid(network->shape(), gridStream.get()),
          stepper(std::make_unique<FrameStepper>(*network, loop, *device)),
          filter(filterOf(loop)),
          flying(slotsOf(loop)),
          input(static_cast<std::size_t>(network->shape().values())),
          before(input.size()),
          shown(input.size()),
          candidate(input.size()),
          picture(makeImage(network->shape().width(), network->shape().height(), 3))
    {
        prepareSteps();
    }

    /// Frames at each step, and the one that came out last.
    static std::size_t slotsOf(const LoopSettings& loop)
    {
        return isBatch(loop) ? static_cast<std::size_t>(stepsOf(loop)) + 1 : 1;
    }
    /// Level of the noise of the history at a row of a stream batch.
    double rowNoise(std::size_t row) const;
    void prepareSteps();

    bool skips(FrameRecord& record);
    void noticeCut(FrameRecord& record);
    void launch(FlyingFrame& frame, const FrameRecord& record);
    void giveHistory(FlyingFrame& frame, double level, std::span<const float> from);
    void advance(std::span<FlyingFrame* const> frames, FrameRecord& record);
    bool seesDream() const { return settings.mode == StreamMode::Dream && !isFirst && hasShown; }
    void runSequential(FrameRecord& record);
    void runWhole(FrameRecord& record);
    void runBatch(FrameRecord& record);
    void emit(const FlyingFrame& frame, std::size_t row, FrameRecord& record);
    void show(std::span<const float> seen, std::int64_t from, std::uint64_t version);
    void settle(std::int64_t fromScene, FrameRecord& record);
    void keepLast(FrameRecord& record);
    void writeMemory(FrameRecord& record);
    FrameRecord process(double preprocessSeconds);
    void reset();

    std::shared_ptr<FrameNetwork> network;
    LoopSettings settings;
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> gridStream;
    FrameGrid grid;
    std::unique_ptr<FrameStepper> stepper;
    SimilarityFilter filter;
    DriftGuard guard;
    std::vector<FlyingFrame> flying; ///< by row, newest first
    std::vector<FlyingFrame*> active;
    std::vector<float> input, before, shown, candidate; ///< u_k, u_{k−1}, y, what may become y
    std::vector<float> estimate;
    Image picture;
    LoopTotals totals;
    std::int64_t number = 0;        ///< of the next frame
    std::int64_t answered = -1;     ///< input frame that `shown` belongs to
    std::int64_t scene = 0;         ///< grows when the memory is emptied
    std::int64_t sinceWrite = 0;    ///< generated frames since the last write of this scene
    std::uint64_t shownVersion = 0; ///< what the network calls `shown`; 0: it was made here
    int keptInRow = 0;
    bool isFirst = true, hasShown = false;
};

double FrameLoop::Impl::rowNoise(std::size_t row) const
{
    const auto steps = static_cast<std::size_t>(stepper->sampler().steps());
    if (row + 1 >= steps)
        return 0;
    return std::min(kMostHistoryNoise,
                    kMostHistoryNoise * stepper->sampler().sigma(static_cast<int>(row) + 1));
}

void FrameLoop::Impl::prepareSteps()
{
    const std::span<const int> times =
        std::span(stepper->sampler().times())
            .first(static_cast<std::size_t>(stepper->sampler().steps()));
    const bool hasHistory = settings.usesHistory;
    if (!isBatch(settings)) {
        network->prepareSteps(times, hasHistory ? historyBucket(settings.historyNoise) : 0);
        return;
    }
    for (std::size_t row = 0; row < times.size(); ++row)
        network->prepareSteps(times.subspan(row, 1), hasHistory ? historyBucket(rowNoise(row)) : 0);
}

bool FrameLoop::Impl::skips(FrameRecord& record)
{
    if (!settings.filtersSimilar)
        return false;
    const bool wants = filter.skips(input, static_cast<std::uint32_t>(record.number));
    record.skipChance =
        record.isReset ? 0 : skipProbability(filter.similarity(), settings.similarity);
    return wants && hasShown && !record.isReset;
}

void FrameLoop::Impl::noticeCut(FrameRecord& record)
{
    if (isFirst)
        return;
    record.inputCosine = cosineSimilarity(input, before);
    record.isCut = settings.mode != StreamMode::Dream && record.inputCosine < settings.cutCosine;
    record.isReset = record.isCut;
    if (record.isCut && settings.flushesMemoryOnCut) {
        network->resetMemory();
        ++scene;
        sinceWrite = 0;
    }
}

void FrameLoop::Impl::launch(FlyingFrame& frame, const FrameRecord& record)
{
    const bool isDream = seesDream();
    frame.number = record.number;
    frame.noise = static_cast<std::uint32_t>(record.number);
    frame.isReset = record.isReset;
    frame.scene = scene;
    const bool startsFromShown =
        (settings.start == StartFrom::Previous || isDream) && hasShown && !record.isReset;
    std::span<const float> init = startsFromShown ? shown : input;
    if (settings.start == StartFrom::Noise)
        init = {};
    stepper->begin(frame, init);
    if (FrameStepper::isGuided(settings.guidance))
        std::ranges::copy(isDream ? shown : input, frame.reference.begin());
    frame.input.assign(input.begin(), isDream ? input.begin() : input.end());
}

void FrameLoop::Impl::giveHistory(FlyingFrame& frame, double level, std::span<const float> from)
{
    if (!settings.usesHistory) {
        frame.history.clear();
        frame.bucket = 0;
        return;
    }
    frame.history.resize(input.size());
    frame.bucket = historyBucket(level);
    historyNoise(stepper->stream(), stepper->noise(), level, frame.noise, from, frame.history);
}

void FrameLoop::Impl::advance(std::span<FlyingFrame* const> frames, FrameRecord& record)
{
    const FrameStepper::Cost cost = stepper->advance(frames);
    record.evaluations += cost.evaluations;
    ++record.calls;
    record.seconds.network += cost.networkSeconds;
    record.seconds.sampler += cost.samplerSeconds;
}

void FrameLoop::Impl::runSequential(FrameRecord& record)
{
    const double start = steadySeconds();
    FlyingFrame& frame = flying.front();
    launch(frame, record);
    giveHistory(frame, settings.historyNoise, frame.isReset || !hasShown ? input : shown);
    record.seconds.sampler += steadySeconds() - start;
    FlyingFrame* const frames[] = {&frame};
    while (frame.step < stepper->sampler().steps())
        advance(frames, record);
    emit(frame, 0, record);
}

/// A frame that the network runs in one piece.
void FrameLoop::Impl::runWhole(FrameRecord& record)
{
    const double start = steadySeconds();
    const Sampler& sampler = stepper->sampler();
    const bool isDream = seesDream();
    FrameCall call;
    call.plan = planOf(settings, sampler);
    // What the guard changes is written when it has done so.
    call.plan.writesMemory = settings.usesMemory && sinceWrite == 0 && settings.driftGuard == 0;
    call.numbers =
        numbersOf(settings, sampler,
                  {static_cast<std::uint32_t>(record.number), record.isReset, isDream, hasShown});
    call.timesteps = std::span(sampler.times()).first(static_cast<std::size_t>(sampler.steps()));
    call.historyBucket = settings.usesHistory ? historyBucket(settings.historyNoise) : 0;
    call.seesMemory = settings.usesMemory;
    call.input = input;
    call.last = shown;
    call.lastVersion = shownVersion;
    const FrameAnswer answer = network->runFrame(call, candidate);
    record.evaluations = evaluations(call.plan.guidance, call.plan.steps);
    record.calls = call.plan.steps;
    record.seconds.network = steadySeconds() - start;
    if (!answer.isFinite) {
        keepLast(record);
        return;
    }
    record.wroteMemory = call.plan.writesMemory;
    estimate.clear();
    show(isDream ? std::span<const float>() : input, record.number, answer.version);
    record.seconds.sampler = steadySeconds() - start - record.seconds.network;
    settle(scene, record);
}

void FrameLoop::Impl::runBatch(FrameRecord& record)
{
    const double start = steadySeconds();
    std::rotate(flying.begin(), flying.end() - 1, flying.end());
    launch(flying.front(), record);
    active.clear();
    for (std::size_t row = 0; row + 1 < flying.size(); ++row) {
        FlyingFrame& frame = flying[row];
        if (frame.number < 0)
            continue;
        const FlyingFrame& ahead = flying[row + 1]; // was at this row one tick ago
        const bool follows = !frame.isReset && ahead.number >= 0 && ahead.isFinite;
        const auto& own = frame.input.empty() ? shown : frame.input;
        giveHistory(frame, rowNoise(row), follows ? ahead.clean : own);
        active.push_back(&frame);
    }
    record.seconds.sampler += steadySeconds() - start;
    advance(active, record);
    const FlyingFrame& last = flying[flying.size() - 2];
    if (last.number >= 0)
        emit(last, active.size() - 1, record);
    else
        record.fate = FrameFate::Filling;
}

void FrameLoop::Impl::emit(const FlyingFrame& frame, std::size_t row, FrameRecord& record)
{
    const double start = steadySeconds();
    if (!frame.isFinite) {
        keepLast(record);
        return;
    }
    const FrameShape& shape = network->shape();
    const bool isAlone = frame.isReset || !hasShown;
    temporalBlend(frame.clean, isAlone ? std::span<const float>() : shown, stepper->logits(row),
                  settings.blend, {1, shape.channels(), shape.cells()}, candidate);
    estimate = frame.clean;
    show(frame.input, frame.number, 0);
    record.seconds.sampler += steadySeconds() - start;
    settle(frame.scene, record);
}

/// What became of the candidate is what is shown. `seen`: the input that it answers; empty in a
/// dream.
void FrameLoop::Impl::show(std::span<const float> seen, std::int64_t from, std::uint64_t version)
{
    if (settings.driftGuard > 0) {
        if (!seen.empty())
            guard.observe(seen);
        guard.apply(settings.driftGuard, candidate);
        for (float& value : candidate)
            value = std::clamp(value, -1.f, 1.f);
        version = 0;
    }
    std::swap(shown, candidate);
    shownVersion = version;
    hasShown = true;
    keptInRow = 0;
    answered = from;
}

/// What is left when a picture is there.
void FrameLoop::Impl::settle(std::int64_t fromScene, FrameRecord& record)
{
    const double start = steadySeconds();
    record.fate = FrameFate::Generated;
    if (fromScene == scene)
        writeMemory(record);
    const double written = steadySeconds();
    record.seconds.memory += written - start;
    grid.toPicture(shown, picture);
    record.seconds.postprocess += steadySeconds() - written;
}

void FrameLoop::Impl::writeMemory(FrameRecord& record)
{
    if (!settings.usesMemory)
        return;
    if (sinceWrite == 0 && !record.wroteMemory) // else it was part of the frame
        network->writeMemory(shown);
    record.wroteMemory = sinceWrite == 0;
    sinceWrite = (sinceWrite + 1) % settings.memoryStride;
}

void FrameLoop::Impl::keepLast(FrameRecord& record)
{
    record.fate = FrameFate::Kept;
    if (++keptInRow % kMemorySuspect == 0) {
        network->resetMemory();
        sinceWrite = 0;
    }
    Switches switches = network->switches();
    for (const Precision precision : saferThan(switches.precision)) {
        const Precision failed = switches.precision;
        switches.precision = precision;
        try {
            network->setSwitches(switches);
        } catch (const Error&) { // the device has no such type, or no memory: the next one
            switches.precision = failed;
            continue;
        }
        record.message = "The result of frame " + std::to_string(record.number) +
                         " was not finite; the last good frame is kept and the precision changes "
                         "from " +
                         std::string(nameOf(failed)) + " to " + std::string(nameOf(precision)) +
                         ".";
        break;
    }
    if (record.message.empty())
        record.message = "The result of frame " + std::to_string(record.number) +
                         " was not finite; the last good frame is kept.";
    if (keptInRow == 1 || !saferThan(switches.precision).empty())
        log("live_diffusion").warn("{}", record.message);
}

FrameRecord FrameLoop::Impl::process(double preprocessSeconds)
{
    const double start = steadySeconds();
    FrameRecord record;
    record.number = number++;
    record.isReset = isFirst;
    noticeCut(record);
    const bool isSkipped = skips(record);
    record.seconds.preprocess = preprocessSeconds + (steadySeconds() - start);
    if (isSkipped)
        record.fate = FrameFate::Skipped;
    else if (isBatch(settings))
        runBatch(record);
    else if (network->runsFrames())
        runWhole(record);
    else
        runSequential(record);
    record.shown = answered;
    record.seconds.total = preprocessSeconds + (steadySeconds() - start);
    std::swap(before, input);
    isFirst = false;
    totals.add(record);
    return record;
}

void FrameLoop::Impl::reset()
{
    network->resetMemory();
    filter.reset();
    guard.reset();
    for (FlyingFrame& frame : flying)
        frame.number = -1;
    number = sinceWrite = 0;
    answered = -1;
    keptInRow = 0;
    ++scene;
    isFirst = true;
    hasShown = false;
}

FrameLoop::FrameLoop(std::shared_ptr<FrameNetwork> network, const LoopSettings& settings)
{
    expects(network != nullptr, "frame loop: a network");
    check(settings);
    m_impl = std::make_unique<Impl>(std::move(network), settings);
}

FrameLoop::~FrameLoop() = default;

int FrameLoop::rowsNeeded(const LoopSettings& settings)
{
    const int frames = isBatch(settings) ? stepsOf(settings) : 1;
    if (!FrameStepper::isGuided(settings.guidance))
        return frames;
    const GuidanceKind kind = settings.guidance.kind;
    return kind == GuidanceKind::Full              ? 2 * frames
           : kind == GuidanceKind::OnetimeNegative ? frames + 1
                                                   : frames;
}

FrameRecord FrameLoop::process(const Image& picture)
{
    const double start = steadySeconds();
    m_impl->grid.toValues(picture, m_impl->input);
    return m_impl->process(steadySeconds() - start);
}

FrameRecord FrameLoop::process(std::span<const float> values)
{
    expects(values.size() == m_impl->input.size(), "frame loop: values of the grid's size");
    std::ranges::copy(values, m_impl->input.begin());
    return m_impl->process(0);
}

void FrameLoop::setSettings(const LoopSettings& settings)
{
    check(settings);
    Impl& loop = *m_impl;
    auto stepper = std::make_unique<FrameStepper>(*loop.network, settings, *loop.device);
    const bool emptiesFlight = changesFlight(loop.settings, settings);
    const bool emptiesMemory = loop.settings.usesMemory != settings.usesMemory;
    const bool newFilter = loop.settings.filtersSimilar != settings.filtersSimilar ||
                           loop.settings.similarity != settings.similarity ||
                           loop.settings.seed != settings.seed;
    loop.settings = settings;
    loop.stepper = std::move(stepper);
    if (newFilter)
        loop.filter = filterOf(settings);
    if (emptiesFlight) {
        loop.flying.resize(Impl::slotsOf(settings));
        for (FlyingFrame& frame : loop.flying)
            frame.number = -1;
    }
    if (emptiesMemory) {
        loop.network->resetMemory();
        loop.sinceWrite = 0;
    }
    loop.sinceWrite %= settings.memoryStride;
    loop.prepareSteps();
}

void FrameLoop::reset()
{
    m_impl->reset();
}

void FrameLoop::adopt(const FrameLoop& other)
{
    Impl& loop = *m_impl;
    const Impl& from = *other.m_impl;
    loop.totals = from.totals;
    loop.number = from.number;
    if (!from.hasShown)
        return;
    if (loop.network->shape() == from.network->shape()) {
        loop.shown = from.shown;
        loop.before = from.before;
    } else {
        Image last;
        FrameGrid grid(from.network->shape());
        grid.toPicture(from.before, last);
        loop.grid.toValues(last, loop.before);
        loop.grid.toValues(from.picture, loop.shown);
    }
    loop.shownVersion = 0;
    loop.hasShown = true;
    loop.isFirst = false;
    loop.answered = from.answered;
    loop.guard = from.guard;
    loop.grid.toPicture(loop.shown, loop.picture);
    if (loop.settings.usesMemory && loop.network->memoryWrites() == 0) {
        loop.network->writeMemory(loop.shown);
        loop.sinceWrite = 1 % loop.settings.memoryStride;
    }
}

void FrameLoop::replaceLast(std::span<const float> values)
{
    Impl& loop = *m_impl;
    expects(values.size() == loop.shown.size(), "frame loop: values of the grid's size");
    expects(loop.hasShown && !isBatch(loop.settings),
            "frame loop: a last output, frames one after the other");
    std::ranges::copy(values, loop.shown.begin());
    loop.shownVersion = 0;
}

const LoopSettings& FrameLoop::settings() const
{
    return m_impl->settings;
}

const FrameShape& FrameLoop::shape() const
{
    return m_impl->network->shape();
}

FrameNetwork& FrameLoop::network() const
{
    return *m_impl->network;
}

const Image& FrameLoop::output() const
{
    return m_impl->picture;
}

std::span<const float> FrameLoop::values() const
{
    return m_impl->shown;
}

std::span<const float> FrameLoop::input() const
{
    return m_impl->before;
}

std::span<const float> FrameLoop::estimate() const
{
    return m_impl->estimate;
}

const LoopTotals& FrameLoop::totals() const
{
    return m_impl->totals;
}

std::span<const int> FrameLoop::timesteps() const
{
    const Sampler& sampler = m_impl->stepper->sampler();
    return std::span(sampler.times()).first(static_cast<std::size_t>(sampler.steps()));
}

} // namespace vergence::live
