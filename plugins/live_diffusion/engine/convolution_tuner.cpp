#include "plugins/live_diffusion/engine/convolution_tuner.h"

#include <algorithm>
#include <chrono>

#include <dnnl.h>
#include <fmt/format.h>

#include "core/compute/ops/pointwise.h"
#include "plugins/live_diffusion/model/stop_scope.h"

namespace vergence::live {

namespace {

/// Numbers of transformed weights beyond which a layer only waits for memory, and networks of
/// several hundred million weights would need several times their memory.
constexpr Index kMostWinogradWeights = Index{8} << 20;
constexpr Index kWinogradPoints = 36; ///< of tiles of 4×4 results, the largest

std::string keyOf(const ConvolutionShape& s, bool collapses)
{
    return fmt::format("convolution {}x{}x{}x{} to {}, kernel {} stride {} padding {}{}{}{}",
                       s.images, s.height, s.width, s.channels, s.outChannels, s.kernel, s.stride,
                       s.padding, s.upsamples ? ", upsampled" : "",
                       s.channelsLast ? "" : ", planes", collapses ? ", may collapse" : "");
}

} // namespace

std::string tuningMachine(const Device& device)
{
    const dnnl_version_t* library = dnnl_version();
    return fmt::format("{}, kernels {}, version {}, oneDNN {}.{}.{}", device.info().name,
                       device.kernelVariant(), VERGENCE_VERSION, library->major, library->minor,
                       library->patch);
}

ConvolutionTuner::ConvolutionTuner(std::shared_ptr<Device> device,
                                   std::shared_ptr<TunedChoices> choices)
    : m_device(std::move(device)),
      m_choices(std::move(choices)),
      m_machine(tuningMachine(*m_device))
{
}

void ConvolutionTuner::rest()
{
    m_flood = {};
    if (m_choices)
        m_choices->save();
}

std::vector<double> ConvolutionTuner::seconds(Stream& stream, const ConvolutionShape& shape,
                                              const std::vector<Convolution>& candidates)
{
    using Clock = std::chrono::steady_clock;
    constexpr int kRounds = 5;
    const Tensor x = Tensor::zeros(stream, m_device, shape.inputShape(), shape.type);
    const Tensor y = Tensor::zeros(stream, m_device, shape.outputShape(), shape.type);
    constexpr Index kFlood = Index{8} << 20;
    if (m_flood.isEmpty())
        m_flood = Tensor::zeros(stream, m_device, {kFlood});
    Index between = 0;
    std::size_t weightBytes = 0;
    for (const Convolution& candidate : candidates) {
        between = std::max(between, candidate.temporaryElements(shape.images));
        weightBytes += candidate.weightBytes();
    }
    const Tensor betweenMemory = Tensor::empty(m_device, {between}, shape.type);
    m_peakBytes = std::max(m_peakBytes, weightBytes + x.bytes() + y.bytes() + m_flood.bytes() +
                                            betweenMemory.bytes());
    // Others may have the processor for a while: round by round they disturb all candidates alike.
    std::vector<double> least(candidates.size(), 1e9);
    for (int round = 0; round <= kRounds; ++round) {
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            stopHere();
            const Tensor part =
                betweenMemory.narrow(0, 0, candidates[i].temporaryElements(shape.images));
            scale(stream, 1.0, m_flood, m_flood);
            stream.synchronize();
            const auto start = Clock::now();
            candidates[i](stream, x, y, {}, part);
            stream.synchronize();
            const double time = std::chrono::duration<double>(Clock::now() - start).count();
            if (round > 0) // the first makes plans
                least[i] = std::min(least[i], time);
        }
    }
    return least;
}

ConvolutionAlgorithm ConvolutionTuner::timed(Stream& stream, const ConvolutionShape& shape,
                                             const std::vector<ConvolutionAlgorithm>& candidates)
{
    // larger weights must pay: what they push out of the cache is not seen here
    constexpr double kClearly = 0.95;
    const Index taps = Index{shape.kernel} * shape.kernel;
    const std::vector<float> weight(
        static_cast<std::size_t>(shape.outChannels * taps * shape.channels), 0.01f);
    std::vector<Convolution> made;
    for (const ConvolutionAlgorithm algorithm : candidates) {
        made.emplace_back(stream, m_device, shape, algorithm, weight);
        if (made.back().algorithm() != algorithm)
            made.pop_back();
    }
    if (made.size() == 1)
        return made.front().algorithm();
    const std::vector<double> times = seconds(stream, shape, made);
    std::size_t best = 0;
    for (std::size_t i = 1; i < made.size(); ++i)
        if (times[i] < kClearly * times[best])
            best = i;
    return made[best].algorithm();
}

ConvolutionAlgorithm ConvolutionTuner::best(Stream& stream, const ConvolutionShape& shape,
                                            const ConvolutionChoice& choice)
{
    using Algorithm = ConvolutionAlgorithm;
    const bool collapses = shape.upsamples && choice.collapses;
    std::vector<Algorithm> candidates{collapses ? Algorithm::Collapsed : Algorithm::Library};
    if (!choice.tuned || !fitsWinograd(*m_device, shape))
        return candidates.front();
    const auto key = std::pair(shape, collapses);
    if (const auto found = m_best.find(key); found != m_best.end())
        return found->second;
    if (kWinogradPoints * shape.channels * shape.outChannels > kMostWinogradWeights)
        return m_best[key] = candidates.front();
    candidates.push_back(Algorithm::Winograd);
    const std::string name = keyOf(shape, collapses);
    if (const auto kept = m_choices ? m_choices->find(m_machine, name) : std::nullopt) {
        const auto known = std::ranges::find(candidates, *kept, nameOf);
        if (known != candidates.end())
            return m_best[key] = *known;
    }
    const Algorithm best = timed(stream, shape, candidates);
    if (m_choices)
        m_choices->set(m_machine, name, nameOf(best));
    return m_best[key] = best;
}

} // namespace vergence::live
