#include "plugins/mc_embedding/study/chunk_measurement.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plugins/mc_embedding/study/geometry.h"
#include "plugins/mc_embedding/study/score_kinds.h"

namespace vergence::mc_embedding {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// The four sums of a snapshot, one after the other.
void putMoments(const Moments::Snapshot& snapshot, double* target)
{
    for (const auto* part :
         {&snapshot.sum, &snapshot.squares, &snapshot.postSum, &snapshot.postSquares})
        target = std::copy(part->begin(), part->end(), target);
}

void takeMoments(const double* source, std::size_t size, Moments::Snapshot& snapshot)
{
    for (auto* part :
         {&snapshot.sum, &snapshot.squares, &snapshot.postSum, &snapshot.postSquares}) {
        part->assign(source, source + size);
        source += size;
    }
}

const Tensor& begun(Stream& stream, Encoder& encoder, const Tensor& pixels,
                    std::span<const std::uint32_t> maskIds, const std::function<bool()>& isStopped)
{
    encoder.begin(stream, pixels, maskIds, isStopped);
    return encoder.deterministic();
}

} // namespace

ChunkMeasurement::ChunkMeasurement(Stream& stream, Encoder& encoder, const Tensor& pixels,
                                   Images images, const MeasurementPlan& plan, bool biased,
                                   const std::function<bool()>& isStopped)
    : m_encoder(encoder),
      m_plan(plan),
      m_images(std::move(images)),
      m_biased(biased),
      m_moments(stream, begun(stream, encoder, pixels, m_images.maskIds, isStopped))
{
    m_result.first = m_images.first;
    m_result.images = m_images.maskIds.size();
    m_result.dimensions = static_cast<std::size_t>(encoder.tower().feature);
    m_result.trials = m_plan.trials;
    m_result.passes = m_plan.passes;
    m_result.deterministic = encoder.deterministic().toHost<float>(stream);
    const bool isOfUse = !(isStopped && isStopped());
    if (isOfUse && !std::all_of(m_result.deterministic.begin(), m_result.deterministic.end(),
                                [](float value) { return std::isfinite(value); }))
        throw FeatureOverflow(fmt::format("Features of images {} to {} are not finite without "
                                          "masks.",
                                          m_images.first, m_images.first + m_result.images - 1));
    m_result.cloudImages = m_images.clouds;
    const std::size_t b = m_result.images, d = m_result.dimensions, t = m_plan.passes.size(),
                      k = static_cast<std::size_t>(m_plan.trials);
    for (const std::string& name : m_plan.scores) {
        const ScoreKind& kind = *scoreKind(name);
        m_needsShapes = m_needsShapes || kind.source == ScoreKind::Source::Shape;
        m_needsVariances = m_needsVariances || kind.source == ScoreKind::Source::Weighted;
        if (kind.source != ScoreKind::Source::Weighted)
            m_result.scores[name].assign(t * k * b, kUnknown);
    }
    if (m_needsVariances)
        m_result.variances.assign(t * k * b * d, kUnknown);
    m_result.moments.assign(k * 4 * b * d, kUnknown);
    m_result.geometryTrials = m_plan.geometryTrials;
    const std::size_t spectra = static_cast<std::size_t>(m_plan.geometryTrials) * b * kEigenvalues;
    m_result.eigenvaluesPre.assign(spectra, kUnknown);
    m_result.eigenvaluesPost.assign(spectra, kUnknown);
    m_result.clouds.assign(
        m_images.clouds.size() * k * static_cast<std::size_t>(m_plan.passes.back()) * d, 0);
    if (m_plan.storedFeatures) {
        m_result.storedFeatures = m_plan.storedFeatures;
        m_result.features.assign(k * static_cast<std::size_t>(m_plan.passes.back()) * b * d, 0);
    }
    m_firstPasses.assign(k, 0);
}

std::size_t ChunkMeasurement::scoreAt(std::size_t passIndex, std::size_t image) const
{
    return (passIndex * static_cast<std::size_t>(m_plan.trials) +
            static_cast<std::size_t>(m_trial)) *
               m_result.images +
           image;
}

bool ChunkMeasurement::keepsTrial() const
{
    return m_needsShapes || m_trial < m_plan.geometryTrials || !m_images.clouds.empty() ||
           m_plan.storedFeatures;
}

bool ChunkMeasurement::adopt(const ChunkResult& earlier)
{
    const int reached = earlier.passes.back(), wanted = m_plan.passes.back();
    const bool isWhole = reached == wanted;
    const bool needsPasses = m_needsShapes || m_plan.geometryTrials > 0;
    const bool lacksClouds =
        m_plan.needsClouds && !std::ranges::includes(earlier.cloudImages, m_images.clouds);
    const bool lacksFeatures =
        m_plan.storedFeatures && earlier.storedFeatures != m_plan.storedFeatures;
    if (lacksClouds || lacksFeatures || reached > wanted || earlier.images != m_result.images ||
        earlier.dimensions != m_result.dimensions || (!isWhole && needsPasses) ||
        (m_needsVariances && earlier.variances.empty()) ||
        earlier.geometryTrials < std::min(m_plan.geometryTrials, earlier.trials))
        return false;
    for (const int t : m_plan.passes) {
        if (t <= reached && earlier.passIndex(t) == earlier.passes.size())
            return false;
    }
    for (const auto& [name, values] : m_result.scores) {
        if (!earlier.scores.contains(name))
            return false;
    }
    const std::size_t b = m_result.images, d = m_result.dimensions;
    const std::size_t trials = static_cast<std::size_t>(std::min(earlier.trials, m_plan.trials));
    const auto copyRows = [&](const std::vector<double>& from, std::size_t fromRow,
                              std::vector<double>& to, std::size_t toRow, std::size_t size) {
        std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(fromRow * size), trials * size,
                    to.begin() + static_cast<std::ptrdiff_t>(toRow * size));
    };
    for (std::size_t i = 0; i < m_plan.passes.size(); ++i) {
        const std::size_t j = earlier.passIndex(m_plan.passes[i]);
        if (j == earlier.passes.size())
            continue;
        const std::size_t from = j * static_cast<std::size_t>(earlier.trials);
        const std::size_t to = i * static_cast<std::size_t>(m_plan.trials);
        for (auto& [name, values] : m_result.scores)
            copyRows(earlier.scores.at(name), from, values, to, b);
        if (m_needsVariances)
            copyRows(earlier.variances, from, m_result.variances, to, b * d);
    }
    copyRows(earlier.moments, 0, m_result.moments, 0, 4 * b * d);
    adoptGeometry(earlier, m_result, trials);
    adoptPasses(earlier, trials);
    std::fill_n(m_firstPasses.begin(), trials, reached);
    while (!isDone() && firstPass(m_trial) == wanted)
        ++m_trial;
    return true;
}

/// The passes of images that an earlier chunk kept; what it lacks is not worth measuring again.
void ChunkMeasurement::adoptPasses(const ChunkResult& earlier, std::size_t trials)
{
    const std::size_t d = m_result.dimensions;
    const auto reached = static_cast<std::size_t>(earlier.passes.back()),
               wanted = static_cast<std::size_t>(m_plan.passes.back());
    const auto copyTrials = [&](const std::vector<float>& from, std::size_t fromRow,
                                std::vector<float>& to, std::size_t toRow, std::size_t size) {
        for (std::size_t k = 0; k < trials; ++k)
            std::copy_n(from.begin() + static_cast<std::ptrdiff_t>((fromRow + k) * reached * size),
                        reached * size,
                        to.begin() + static_cast<std::ptrdiff_t>((toRow + k) * wanted * size));
    };
    if (m_plan.storedFeatures)
        copyTrials(earlier.features, 0, m_result.features, 0, m_result.images * d);
    std::vector<std::size_t> both;
    std::ranges::set_intersection(m_images.clouds, earlier.cloudImages, std::back_inserter(both));
    m_images.clouds = m_result.cloudImages = both;
    const auto own = static_cast<std::size_t>(m_plan.trials),
               theirs = static_cast<std::size_t>(earlier.trials);
    m_result.clouds.assign(both.size() * own * wanted * d, 0);
    for (std::size_t c = 0; c < both.size(); ++c) {
        const auto at = static_cast<std::size_t>(std::ranges::find(earlier.cloudImages, both[c]) -
                                                 earlier.cloudImages.begin());
        copyTrials(earlier.clouds, at * theirs, m_result.clouds, c * own, d);
    }
}

std::int64_t ChunkMeasurement::passesLeft() const
{
    std::int64_t left = m_isTrialBegun ? m_plan.passes.back() - m_pass : 0;
    for (int k = m_trial + (m_isTrialBegun ? 1 : 0); k < m_plan.trials; ++k)
        left += m_plan.passes.back() - firstPass(k);
    return left;
}

void ChunkMeasurement::beginTrial(Stream& stream)
{
    m_moments.clear(stream);
    m_pass = firstPass(m_trial);
    const std::size_t size = m_result.images * m_result.dimensions;
    if (m_pass > 0) {
        Moments::Snapshot snapshot = m_moments.snapshot(stream);
        snapshot.passes = m_pass;
        takeMoments(m_result.moments.data() + static_cast<std::size_t>(m_trial) * 4 * size, size,
                    snapshot);
        m_moments.restore(stream, snapshot);
    }
    if (keepsTrial())
        m_passes.assign(static_cast<std::size_t>(m_plan.passes.back()) * size, 0);
    m_isTrialBegun = true;
}

int ChunkMeasurement::runBlock(Stream& stream, int most, const std::function<bool()>& isStopped)
{
    expects(!isDone() && most > 0, "runBlock: nothing to run");
    const std::vector<PassId> ids = nextPasses(most);
    bool wasStopped = false;
    const Tensor& features = m_encoder.run(
        stream, ids, [&] { return wasStopped = wasStopped || (isStopped && isStopped()); });
    if (wasStopped)
        return 0;
    const auto count = static_cast<Index>(ids.size());
    for (Index at = 0; at < count;)
        at += takePasses(stream, features.narrow(0, at, count - at));
    return static_cast<int>(count);
}

/// At most so many passes from here on, of one trial after the other.
std::vector<PassId> ChunkMeasurement::nextPasses(int most) const
{
    std::vector<PassId> ids;
    for (int k = m_trial; k < m_plan.trials; ++k) {
        int t = k == m_trial && m_isTrialBegun ? m_pass : firstPass(k);
        for (; t < m_plan.passes.back() && static_cast<int>(ids.size()) < most; ++t)
            ids.push_back({static_cast<std::uint16_t>(k), static_cast<std::uint16_t>(t)});
    }
    return ids;
}

/// Adds features [passes, B, D] as far as to the next pass count of the list; returns how many.
Index ChunkMeasurement::takePasses(Stream& stream, const Tensor& features)
{
    if (!m_isTrialBegun)
        beginTrial(stream);
    const auto next = std::upper_bound(m_plan.passes.begin(), m_plan.passes.end(), m_pass);
    const Index count = std::min(features.extent(0), Index{*next - m_pass});
    const Tensor taken = features.narrow(0, 0, count);
    m_moments.add(stream, taken);
    if (keepsTrial())
        keepPasses(stream, taken);
    m_pass += static_cast<int>(count);
    if (m_pass == *next)
        takeScores(stream, static_cast<std::size_t>(next - m_plan.passes.begin()));
    if (m_pass == m_plan.passes.back())
        endTrial();
    return count;
}

void ChunkMeasurement::keepPasses(Stream& stream, const Tensor& features)
{
    const std::vector<float> values = features.toHost<float>(stream);
    const std::size_t size = m_result.images * m_result.dimensions;
    std::copy(values.begin(), values.end(),
              m_passes.begin() +
                  static_cast<std::ptrdiff_t>(static_cast<std::size_t>(m_pass) * size));
}

void ChunkMeasurement::takeScores(Stream& stream, std::size_t passIndex)
{
    const Moments::Snapshot snapshot = m_moments.snapshot(stream);
    // The traces themselves would hide it: a NaN is clamped to 0 there.
    if (!std::all_of(snapshot.sum.begin(), snapshot.sum.end(),
                     [](double value) { return std::isfinite(value); }))
        throw FeatureOverflow(fmt::format("Features of images {} to {} are not finite in trial {} "
                                          "within {} passes.",
                                          m_images.first, m_images.first + m_result.images - 1,
                                          m_trial, m_pass));
    const std::vector<double> pre = snapshot.trace(false, m_biased),
                              post = snapshot.trace(true, m_biased);
    for (std::size_t i = 0; i < m_result.images; ++i) {
        const std::size_t at = scoreAt(passIndex, i);
        const auto put = [&](const char* name, double value) {
            if (const auto found = m_result.scores.find(name); found != m_result.scores.end())
                found->second[at] = value;
        };
        put("trace_pre", pre[i]);
        put("trace_post", post[i]);
        put("trace_sum", pre[i] * static_cast<double>(m_result.dimensions));
    }
    if (m_needsVariances) {
        const std::vector<double> variance = snapshot.variance(false, m_biased);
        std::copy(variance.begin(), variance.end(),
                  m_result.variances.begin() +
                      static_cast<std::ptrdiff_t>(scoreAt(passIndex, 0) * m_result.dimensions));
    }
    if (m_needsShapes)
        takeShapes(passIndex);
    if (m_pass == m_plan.passes.back())
        putMoments(snapshot, m_result.moments.data() + static_cast<std::size_t>(m_trial) * 4 *
                                                           m_result.images * m_result.dimensions);
}

Matrix ChunkMeasurement::cloudOf(std::size_t image, int passes) const
{
    const std::size_t d = m_result.dimensions;
    Matrix cloud(static_cast<std::size_t>(passes), d);
    for (std::size_t t = 0; t < cloud.rows; ++t) {
        const auto row =
            m_passes.begin() + static_cast<std::ptrdiff_t>((t * m_result.images + image) * d);
        std::copy_n(row, d, cloud.values.begin() + static_cast<std::ptrdiff_t>(t * d));
    }
    return cloud;
}

void ChunkMeasurement::takeShapes(std::size_t passIndex)
{
    const std::size_t d = m_result.dimensions;
    for (std::size_t i = 0; i < m_result.images; ++i) {
        const std::vector<double> deterministic(
            m_result.deterministic.begin() + static_cast<std::ptrdiff_t>(i * d),
            m_result.deterministic.begin() + static_cast<std::ptrdiff_t>((i + 1) * d));
        const CloudShape shape = cloudShape(cloudOf(i, m_plan.passes[passIndex]), deterministic);
        for (auto& [name, values] : m_result.scores) {
            const ScoreKind& kind = *scoreKind(name);
            if (kind.source == ScoreKind::Source::Shape)
                values[scoreAt(passIndex, i)] = kind.ofShape(shape);
        }
    }
}

void ChunkMeasurement::endTrial()
{
    const std::size_t d = m_result.dimensions;
    const auto passes = static_cast<std::size_t>(m_plan.passes.back());
    if (m_trial < m_plan.geometryTrials) {
        for (std::size_t i = 0; i < m_result.images; ++i)
            putGeometry(m_result, m_trial, i, cloudOf(i, m_plan.passes.back()));
    }
    // What an earlier chunk did of this trial is there already.
    const auto first = static_cast<std::size_t>(firstPass(m_trial)),
               trial = static_cast<std::size_t>(m_trial);
    if (m_plan.storedFeatures) {
        const std::size_t size = m_result.images * d;
        std::copy(m_passes.begin() + static_cast<std::ptrdiff_t>(first * size), m_passes.end(),
                  m_result.features.begin() +
                      static_cast<std::ptrdiff_t>((trial * passes + first) * size));
    }
    for (std::size_t c = 0; c < m_images.clouds.size(); ++c) {
        for (std::size_t t = first; t < passes; ++t) {
            const std::size_t from = (t * m_result.images + m_images.clouds[c]) * d;
            const std::size_t to =
                ((c * static_cast<std::size_t>(m_plan.trials) + trial) * passes + t) * d;
            std::copy_n(m_passes.begin() + static_cast<std::ptrdiff_t>(from), d,
                        m_result.clouds.begin() + static_cast<std::ptrdiff_t>(to));
        }
    }
    m_isTrialBegun = false;
    do {
        ++m_trial;
    } while (!isDone() && firstPass(m_trial) == m_plan.passes.back());
}

void ChunkMeasurement::save(Stream& stream, std::vector<HostTensor>& tensors,
                            nlohmann::json& state) const
{
    for (HostTensor& tensor : m_result.tensors()) {
        tensor.name = "chunk." + tensor.name;
        tensors.push_back(std::move(tensor));
    }
    state["layout"] = m_result.metadata().at("layout");
    state["trial"] = m_trial;
    state["pass"] = m_pass;
    state["begun"] = m_isTrialBegun;
    state["first_passes"] = m_firstPasses;
    if (!m_isTrialBegun)
        return;
    const Index b = static_cast<Index>(m_result.images),
                d = static_cast<Index>(m_result.dimensions);
    std::vector<double> sums(4 * m_result.images * m_result.dimensions);
    putMoments(m_moments.snapshot(stream), sums.data());
    tensors.push_back(
        HostTensor::from<double>("trial.moments", {4, b, d}, std::span(std::as_const(sums))));
    if (!m_passes.empty())
        tensors.push_back(HostTensor::from<float>("trial.passes", {m_plan.passes.back(), b, d},
                                                  std::span(m_passes)));
}

void ChunkMeasurement::load(Stream& stream, const std::vector<HostTensor>& tensors,
                            const nlohmann::json& state)
{
    SafetensorsFile file;
    file.metadata["layout"] = state.at("layout").get<std::string>();
    const HostTensor *moments = nullptr, *passes = nullptr;
    for (const HostTensor& tensor : tensors) {
        if (tensor.name.starts_with("chunk.")) {
            file.tensors.push_back(tensor);
            file.tensors.back().name = tensor.name.substr(6);
        } else if (tensor.name == "trial.moments") {
            moments = &tensor;
        } else if (tensor.name == "trial.passes") {
            passes = &tensor;
        }
    }
    m_result = ChunkResult::from(file, "the checkpoint");
    m_images.clouds = m_result.cloudImages;
    m_firstPasses = state.at("first_passes").get<std::vector<int>>();
    m_trial = state.at("trial").get<int>();
    m_isTrialBegun = false;
    if (!state.at("begun").get<bool>())
        return;
    beginTrial(stream);
    m_pass = state.at("pass").get<int>();
    const std::size_t size = m_result.images * m_result.dimensions;
    if (moments == nullptr || moments->as<double>().size() != 4 * size)
        throw InputError("The checkpoint lacks the sums of the trial in progress.");
    Moments::Snapshot snapshot = m_moments.snapshot(stream);
    snapshot.passes = m_pass;
    takeMoments(moments->as<double>().data(), size, snapshot);
    m_moments.restore(stream, snapshot);
    if (!m_passes.empty()) {
        if (passes == nullptr || passes->as<float>().size() != m_passes.size())
            throw InputError("The checkpoint lacks the passes of the trial in progress.");
        const auto values = passes->as<float>();
        m_passes.assign(values.begin(), values.end());
    }
}

} // namespace vergence::mc_embedding
