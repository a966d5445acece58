#include "plugins/mc_embedding/study/model_session.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "plugins/mc_embedding/models/tower_config.h"
#include "plugins/mc_embedding/study/assembly.h"
#include "plugins/mc_embedding/study/experiments/leverage.h"
#include "plugins/mc_embedding/study/live_report.h"
#include "plugins/mc_embedding/study/memory_plan.h"
#include "plugins/mc_embedding/study/score_kinds.h"

namespace vergence::mc_embedding {

namespace {

constexpr double kCloudBytes = 64e6; // of kept passes per model, as doubles on the host

std::string precisionText(const ModelSession::Parts& parts)
{
    const char* products = parts.compute == DType::F16    ? "fp16"
                           : parts.compute == DType::BF16 ? "bf16"
                           : parts.usesTf32               ? "tf32"
                                                          : "fp32";
    return fmt::format("{}/fp32/fp64", products);
}

/// Whether a stored chunk is just what is wanted, so that nothing need be computed.
bool satisfies(const ChunkResult& chunk, const MeasurementPlan& plan)
{
    const bool lacksClouds =
        plan.needsClouds && chunk.cloudImages.empty(); // another run had no use for them
    const bool lacksFeatures = plan.storedFeatures && chunk.storedFeatures != plan.storedFeatures;
    if (lacksClouds || lacksFeatures || chunk.trials != plan.trials ||
        chunk.passes != plan.passes || chunk.geometryTrials != plan.geometryTrials ||
        (wantsWeightedScores(plan) && chunk.variances.empty()))
        return false;
    return std::all_of(plan.scores.begin(), plan.scores.end(), [&](const std::string& name) {
        return scoreKind(name)->source == ScoreKind::Source::Weighted ||
               chunk.scores.contains(name);
    });
}

} // namespace

ModelSession::ModelSession(RunContext& context, Parts parts)
    : m_p(std::move(parts)),
      m_device(context.device()->isCpu() ? "CPU" : context.device()->info().name)
{
    loadModel(context);
    if (context.stopRequested())
        return;
    describe(context);
    const Encoder& encoder = *m_vision->encoder;
    m_batch =
        chosenBatch(m_p.config, encoder.tower(), context.device()->isCpu(), mostPasses(m_p.plan));
}

void ModelSession::loadModel(RunContext& context)
{
    const McEmbeddingConfig& c = m_p.config;
    VisionModelOptions options;
    options.compute = m_p.compute;
    options.activation = m_p.plan.variant.activation;
    options.imageSize = c.size;
    options.demoSeed = c.seed;
    options.encoder.compute = m_p.compute;
    options.encoder.fixedRows = c.deterministic;
    options.isStopped = [&context] { return context.stopRequested(); };
    const std::string key =
        fmt::format("{} {} {}", m_p.plan.model, m_p.plan.variant.activation, precisionText(m_p));
    const TowerShape tower = *towerShape(m_p.plan.model);
    const bool isCpu = context.device()->isCpu();
    m_vision = m_p.shelf.take(
        *context.device(), key,
        weightBytes(tower, m_p.compute, isCpu) + workspaceBytes(tower, m_p.compute, {}, isCpu),
        [&] {
            context.phase(2, 3, fmt::format("reading weights of {}", m_p.plan.model));
            return loadVisionModel(context.stream(), context.device(), m_p.plan.model,
                                   c.folderOf(m_p.plan.model), options);
        });
    if (context.stopRequested()) {
        m_p.shelf.forget(key);
        return;
    }
    context.phase(3, 3, "measuring");
    m_vision->preprocess.stored = c.pixelCache;
    if (c.filter != "per_model")
        m_vision->preprocess.filter = c.filter == "bicubic" ? Filter::Bicubic : Filter::Bilinear;
    m_vision->preprocess.floorsCrop = c.crop == "floor";
    m_vision->preprocess.rotatesByExif = c.exif;
    perturb(m_p.plan.variant);
}

void ModelSession::perturb(const Variant& variant)
{
    Encoder& encoder = *m_vision->encoder;
    encoder.setPerturbation(liveSites(encoder.tower(), variant.placement),
                            perturbationOf(m_p.config, variant));
}

/// The model's entry in the state, before the first pass.
void ModelSession::describe(RunContext& context)
{
    auto& models = m_p.state.models;
    const auto found = std::find_if(models.begin(), models.end(), [&](const ModelStudy& study) {
        return study.label == m_p.plan.label;
    });
    m_study = static_cast<std::size_t>(found - models.begin());
    if (found == models.end())
        models.emplace_back();
    ModelStudy fresh;
    const Preprocess& how = m_vision->preprocess;
    fresh.label = m_p.plan.label;
    fresh.tower = m_vision->encoder->tower();
    fresh.placement = m_p.plan.variant.placement.preset;
    fresh.sites = m_vision->encoder->sites();
    fresh.p = m_p.plan.variant.p;
    fresh.variance = m_p.config.variance;
    fresh.alpha = m_p.config.alpha;
    fresh.activation = m_p.plan.variant.activation;
    fresh.precision = precisionText(m_p);
    fresh.weightsSha256 = m_vision->weightsSha256;
    fresh.weightsSource = m_vision->source;
    fresh.warnings = m_vision->notes;
    fresh.experiments = m_p.plan.experiments;
    fresh.preprocess = {{"size", std::to_string(how.size)},
                        {"geometry", how.stretches ? "stretch" : "short side, centre crop"},
                        {"crop", how.floorsCrop ? "floor" : "torch"},
                        {"filter", how.filter == Filter::Bicubic ? "bicubic" : "bilinear"},
                        {"exif", how.rotatesByExif ? "turned" : "ignored"}};
    study() = std::move(fresh);
    Index elements = 0;
    for (const Site& site : study().sites)
        elements += site.elements();
    context.note("sites/" + m_p.plan.label,
                 {{"live", study().sites.size()}, {"elements_per_pass", elements}});
    log("mc_embedding")
        .info("{}: {}, {}, {} live sites with {} values a pass, {:.3g} GFLOP a pass.",
              m_p.plan.label, m_vision->source,
              activationName(m_vision->encoder->tower().activation), study().sites.size(), elements,
              m_vision->encoder->passFlop() * 1e-9);
    for (const std::string& note : m_vision->notes)
        log("mc_embedding").info("{}: {}.", m_p.plan.label, note);
}

ModelStudy& ModelSession::study()
{
    return m_p.state.models[m_study];
}

std::size_t ModelSession::images() const
{
    const auto wanted = static_cast<std::size_t>(current().images);
    return isTexts() ? wanted : std::min(wanted, source().images().images.size());
}

double ModelSession::flopOf(const MeasurementPlan& plan, std::size_t count) const
{
    const double passes =
        plan.kind == Kind::Texts ? 0.0 : static_cast<double>(plan.trials) * plan.passes.back();
    return static_cast<double>(count) * passes * m_vision->encoder->tower().flop();
}

std::map<std::string, std::string> ModelSession::facts() const
{
    const std::string& label = m_p.plan.label;
    return {{"weights of " + label, m_vision->weightsSha256},
            {"preprocessing of " + label, m_vision->preprocess.fingerprint()},
            {"activation of " + label, activationName(m_vision->encoder->tower().activation)},
            {"epsilon of " + label, fmt::format("{}", m_vision->encoder->tower().epsilon)},
            {"precision of " + label, precisionText(m_p)}};
}

/// Of everything that a score depends on, images apart. Trials, passes and batch sizes are not
/// among it: a mask is a function of trial and pass. Nor is the number of CPU threads,
/// which changes last digits at most (specification, section 12.5).
std::string ModelSession::fingerprint() const
{
    const McEmbeddingConfig& c = m_p.config;
    const Variant& variant = current().variant;
    std::string sites;
    for (const Site& site : m_vision->encoder->sites()) {
        const auto rate = variant.rates.find(site.number);
        sites += rate == variant.rates.end()
                     ? fmt::format("{} ", site.number)
                     : fmt::format("{}:{:.17g} ", site.number, rate->second);
    }
    if (isTexts())
        sites = fmt::format("text {} {}", m_text->identity(), c.clean);
    const TowerShape& tower = m_vision->encoder->tower();
    const bool hasOwnEpsilon = tower.epsilon != towerShape(tower.key)->epsilon;
    return sha256Hex(fmt::format(
        "mc-embedding/1 model={} activation={} weights={} preprocess={} degradation={} seed={} "
        "kind={} p={:.17g} magnitude={:.17g} sites={} precision={} variance={} device={}{}{}",
        tower.key, static_cast<int>(tower.activation), m_vision->weightsSha256,
        m_vision->preprocess.fingerprint(), current().degradation, c.seed, variant.kind, variant.p,
        c.magnitude, sites, precisionText(m_p), c.variance, m_device,
        c.deterministic ? "" : " not deterministic",
        hasOwnEpsilon ? fmt::format(" epsilon={:.17g}", tower.epsilon) : ""));
}

bool ModelSession::open(RunContext& context)
{
    if (m_isReady || isDone())
        return true;
    if (isTexts())
        return openTexts(context);
    if (current().kind == Kind::Synthetic)
        paint(context);
    if (context.stopRequested())
        return false;
    if (!source().open(context, m_vision->preprocess, current().degradation))
        return false;
    m_p.state.images = m_p.source.images();
    perturb(current().variant);
    if (!probeSites(context))
        return false;
    openFeed(context, chosenLevel(context));
    if (context.stopRequested()) {
        m_feed.reset(); // it may be half filled
        return false;
    }
    if (isClean())
        prepareStudy(study(), current(), images());
    openStore(source().keys());
    m_isReady = true;
    return true;
}

/// Where the pixels of the current measurement go, and a line in the log that says why.
Residency ModelSession::chosenLevel(RunContext& context) const
{
    const Encoder& encoder = *m_vision->encoder;
    const std::shared_ptr<Device> device = context.device();
    const MemoryNeed need{images() * source().pixelBytes(), encoder.weightBytes(),
                          encoder.workspaceBytes(m_batch.images, m_batch.passes),
                          accumulatorBytes(encoder.tower(), m_batch)};
    // Weights and the buffers of a tile are there already.
    const std::size_t held = encoder.weightBytes() + encoder.workspaceBytes(0, 0);
    const std::size_t free = freeBytesOf(*device) + held;
    Residency level =
        device->isCpu() ? Residency::Mapped : chooseResidency(need, free, freeHostBytes());
    level = m_p.config.residency.value_or(level);
    log("mc_embedding")
        .info("{}: {}; {:.3g} GB are free on {}: {}{}.", m_p.plan.label, needText(need),
              static_cast<double>(free) * 1e-9, device->info().name, nameOf(level),
              m_p.config.residency ? " as configured" : "");
    context.note("residency/" + m_p.plan.label, nameOf(level));
    return level;
}

/// The pixels on their way, one level further from the device where they do not fit.
void ModelSession::openFeed(RunContext& context, Residency level)
{
    m_feed.reset();
    try {
        m_feed = std::make_unique<PixelFeed>(context.stream(), context.device(), source(), images(),
                                             level, [&] { return context.stopRequested(); });
    } catch (const DeviceError& failure) {
        if (failure.exitCode() != ExitCode::OutOfMemory || level != Residency::Resident)
            throw;
        context.warn("W-MEMORY", fmt::format("The pixels of {} do not fit into the memory of the "
                                             "device and stay in that of the host.",
                                             m_p.plan.label));
        openFeed(context, Residency::Pinned);
    }
}

/// The pictures of exp2: painted once, with some of the study's own as natural ones.
void ModelSession::paint(RunContext& context)
{
    if (!m_p.painted.drawn().images.empty())
        return;
    const bool isPainted = paintsImages(m_p.config);
    if (isPainted)
        context.warn("W-EXP2", "exp2 has no natural pictures: the study's own are painted too. "
                               "Whether its groups come in the expected order stays open.");
    const int side = isPainted ? m_vision->encoder->tower().imageSize : 224;
    m_p.painted.paintSynthetic(context, static_cast<std::size_t>(m_p.config.exp2Each), side,
                               isPainted ? ImageSet{} : m_p.source.images());
}

void ModelSession::skipMeasurement(RunContext& context, const std::string& experiment,
                                   const std::string& reason)
{
    const std::string sentence =
        fmt::format("{} has no part in {}: {}", m_p.plan.label, experiment, reason);
    study().warnings.push_back(sentence);
    context.warn(fmt::format("W-{}/{}", experiment, m_p.plan.label), sentence);
    ++m_measurement;
    m_first = 0;
    m_isReady = false;
}

/// False where a stop was requested meanwhile.
bool ModelSession::probeSites(RunContext& context)
{
    const Variant& variant = current().variant;
    const bool masks = variant.p > 0 || variant.kind == "gaussian" || variant.kind == "scale";
    const auto& sites = m_vision->encoder->sites();
    const bool isKnown = std::all_of(sites.begin(), sites.end(), [&](const Site& site) {
        return m_probed.contains(site.number);
    });
    if (!masks || isKnown || current().trials == 0)
        return true;
    std::size_t told = 0;
    const Tensor first = source().pixels(context.stream(), context.device(), 0, 1);
    const std::vector<Site> dead = deadSites(
        context.stream(), *m_vision->encoder, first, [&](std::size_t reached, std::size_t count) {
            if (reached == 0 || reached > told)
                context.phase(3, 3,
                              fmt::format("looking for dead sites, {} of {}", reached, count));
            told = reached;
            return !context.stopRequested();
        });
    if (context.stopRequested())
        return false;
    context.phase(3, 3, "measuring");
    for (const Site& site : sites)
        m_probed.insert(site.number);
    if (!dead.empty())
        refuseDeadSites(dead);
    return true;
}

void ModelSession::refuseDeadSites(const std::vector<Site>& dead) const
{
    std::vector<std::string> names;
    for (const Site& site : dead)
        names.push_back(siteName(site.number, m_vision->encoder->tower()));
    throw NumericsError(fmt::format("Masks change nothing at {} of {} sites of {}: {}. This is a "
                                    "fault of the model or its weights, not a finding.",
                                    dead.size(), m_vision->encoder->sites().size(), m_p.plan.label,
                                    fmt::join(names, ", ")));
}

void ModelSession::openStore(std::vector<std::string> keys)
{
    const std::filesystem::path sub = std::filesystem::path(m_p.plan.label) / current().folder;
    std::vector<std::filesystem::path> others;
    if (!m_p.config.reuseFrom.empty())
        others.push_back(m_p.config.reuseFrom / "checkpoints" / "chunks" / sub);
    keys.resize(images());
    m_store = std::make_unique<ChunkStore>(m_p.chunks / sub, std::move(others), fingerprint(),
                                           std::move(keys));
}

/// Images whose passes are kept: all where they fit, else some in equal distances.
std::vector<std::size_t> ModelSession::cloudsOf(std::size_t first, std::size_t count) const
{
    std::vector<std::size_t> kept;
    if (!current().keepsClouds)
        return kept;
    const double bytes = 8.0 * current().trials * current().passes.back() *
                         static_cast<double>(m_vision->encoder->tower().feature);
    const double share = std::min(1.0, kCloudBytes / (bytes * static_cast<double>(images())));
    for (std::size_t i = 0; i < count; ++i) {
        const double at = static_cast<double>(first + i);
        if (std::floor((at + 1) * share) > std::floor(at * share))
            kept.push_back(i);
    }
    return kept;
}

/// False where a stop was requested meanwhile.
bool ModelSession::startChunk(RunContext& context, std::size_t count)
{
    const Tensor pixels = m_feed->take(context.stream(), m_first, count);
    m_chunk = std::make_unique<ChunkMeasurement>(
        context.stream(), *m_vision->encoder, pixels,
        ChunkMeasurement::Images{m_first, source().maskIds(m_first, count),
                                 cloudsOf(m_first, count)},
        current(), m_p.config.variance == "biased", [&] { return context.stopRequested(); });
    m_chunkImages = count;
    if (context.stopRequested())
        m_chunk.reset();
    return m_chunk != nullptr;
}

/// A chunk that is there already. True where it was complete and nothing is left to compute.
bool ModelSession::takeStored(RunContext& context)
{
    auto stored = m_store->find(m_first, images() - m_first);
    if (!stored)
        return false;
    if (satisfies(*stored, current())) {
        m_p.meter.skip(flopOf(current(), stored->images));
        completeChunk(context, *stored, false);
        return true;
    }
    if (isTexts())
        return false;
    if (startChunk(context, stored->images)) {
        if (m_chunk->adopt(*stored))
            skipWhatIsDone();
        else
            m_chunk.reset();
    }
    return false;
}

/// Passes of the chunk that were taken over count as done.
void ModelSession::skipWhatIsDone()
{
    const double left = static_cast<double>(m_chunk->passesLeft()) *
                        static_cast<double>(m_chunkImages) * m_vision->encoder->tower().flop();
    m_p.meter.skip(flopOf(current(), m_chunkImages) - left);
}

/// False where a stop was requested meanwhile.
bool ModelSession::beginChunk(RunContext& context)
{
    return m_chunk || startChunk(context, std::min(static_cast<std::size_t>(m_batch.images),
                                                   images() - m_first));
}

ModelSession::Outcome ModelSession::step(RunContext& context)
{
    if (!open(context))
        return Outcome::Interrupted;
    if (isDone()) // what was left has been skipped
        return Outcome::Done;
    if (isTexts())
        return stepTexts(context);
    if (m_first > 0 && m_first >= images()) { // a stop came while prompts were read
        completeMeasurement(context);
        return isDone() ? Outcome::Done : Outcome::Interrupted;
    }
    if (!m_chunk && takeStored(context))
        return isDone() ? Outcome::Done : Outcome::Continue;
    try {
        if (!beginChunk(context) || (!m_chunk->isDone() && !runBlock(context)))
            return Outcome::Interrupted;
    } catch (const DeviceError& failure) {
        if (failure.exitCode() != ExitCode::OutOfMemory)
            throw;
        shrinkBatch(context, failure.what());
        return Outcome::Interrupted;
    }
    if (m_chunk->isDone())
        completeChunk(context, m_chunk->result(), true);
    return isDone() ? Outcome::Done : Outcome::Continue;
}

bool ModelSession::runBlock(RunContext& context)
{
    const double start = steadySeconds();
    const int passes = m_chunk->runBlock(context.stream(), m_batch.passes,
                                         [&] { return context.stopRequested(); });
    if (passes == 0)
        return false;
    context.stream().synchronize();
    const double seconds = steadySeconds() - start;
    const double passImages = static_cast<double>(passes) * static_cast<double>(m_chunkImages);
    const double computed = passImages * m_vision->encoder->passFlop();
    m_p.meter.add(passImages * m_vision->encoder->tower().flop(), computed, passImages, seconds);
    study().seconds += seconds;
    study().flop += computed;
    return true;
}

/// Other models go first; then half the passes, half the images, pixels further from the device.
/// Results do not depend on it.
void ModelSession::shrinkBatch(RunContext& context, const std::string& reason)
{
    m_chunk.reset();
    if (m_p.shelf.clearIdle())
        return;
    const auto next = lighter({static_cast<std::size_t>(m_batch.images),
                               static_cast<std::size_t>(m_batch.passes), m_feed->level()});
    if (!next)
        throw DeviceError(fmt::format("{} does not fit into the memory of the device: {}",
                                      m_p.plan.label, reason),
                          ExitCode::OutOfMemory);
    m_batch = {static_cast<int>(next->images), static_cast<int>(next->passes)};
    if (next->residency != m_feed->level())
        openFeed(context, next->residency);
    context.warn("W-MEMORY", fmt::format("{} goes on with {} images and {} passes at once, pixels "
                                         "{}, for want of memory.",
                                         m_p.plan.label, m_batch.images, m_batch.passes,
                                         nameOf(m_feed->level())));
}

void ModelSession::completeChunk(RunContext& context, const ChunkResult& result, bool isNew)
{
    if (isNew)
        m_store->write(result); // first: a full disk pauses, and the step is repeated
    if (isClean())
        addChunk(study(), result);
    else if (current().kind == Kind::Degraded)
        addDegradedChunk(study(), current(), result);
    else
        addLaterChunk(study(), current(), result, syntheticGroups());
    m_chunk.reset();
    m_first += result.images;
    const bool isLast = m_first >= images();
    if (isClean() && !m_isCatchingUp)
        reportProgress(context, study(), result.images, isLast);
    if (isLast)
        completeMeasurement(context);
}

/// Scores that need all images first. False where a stop was requested meanwhile.
bool ModelSession::weighScores(RunContext& context)
{
    if (!wantsWeightedScores(current()))
        return true;
    WeightedScores weighted(study(), current());
    for (std::size_t first = 0; first < images();) {
        if (context.stopRequested())
            return false;
        const auto chunk = m_store->find(first, images() - first);
        if (!chunk || chunk->variances.empty())
            throw InputError(fmt::format("A file of the chunk at image {} of {} has vanished "
                                         "from {}.",
                                         first, m_p.plan.label, m_p.chunks.string()));
        weighted.add(*chunk);
        first += chunk->images;
    }
    return true;
}

/// Leaves all as it is where a stop was requested meanwhile; done again when the run goes on.
void ModelSession::completeMeasurement(RunContext& context)
{
    if (isClean() && !(readPrompts(context) && weighScores(context)))
        return;
    if (isClean()) {
        for (const MeasurementPlan& way : m_p.plan.cleanWays)
            addCleanWay(study(), way);
        if (m_p.config.runs("exp6") && images() > 1)
            study().leverageSeconds =
                linearLeverage(study().deterministic, study().deterministic).secondsPerImage;
    }
    reportTables(context, m_p.state);
    m_feed.reset();
    ++m_measurement;
    m_first = 0;
    m_isReady = false;
}

std::vector<std::string> ModelSession::syntheticGroups() const
{
    std::vector<std::string> groups;
    if (current().kind == Kind::Synthetic) {
        for (const StudyImage& image : m_p.painted.images().images)
            groups.push_back(image.label);
    }
    return groups;
}

std::int64_t ModelSession::blocksLeft() const
{
    std::int64_t blocks = 0;
    for (std::size_t i = m_measurement; i < m_p.plan.measurements.size(); ++i) {
        const MeasurementPlan& plan = m_p.plan.measurements[i];
        const auto wanted = static_cast<std::size_t>(plan.images);
        if (plan.kind == Kind::Texts) {
            blocks += textBlocksLeft(plan, i == m_measurement);
            continue;
        }
        // How many pictures exp2 has is known once they are painted.
        const std::size_t there = plan.kind == Kind::Synthetic ? m_p.painted.drawn().images.size()
                                                               : m_p.source.images().images.size();
        const std::size_t total = std::min(wanted, there);
        std::size_t left = total - (i == m_measurement ? std::min(total, m_first) : 0);
        if (i == m_measurement && m_chunk) {
            const std::int64_t perBlock = std::max(1, m_batch.passes);
            blocks += (m_chunk->passesLeft() + perBlock - 1) / perBlock;
            left -= std::min(left, m_chunkImages);
        }
        blocks += blocksOf(plan, m_batch, left);
    }
    return blocks;
}

} // namespace vergence::mc_embedding
