#include "plugins/live_diffusion/engine/convolution_tuner.h"

#include <algorithm>
#include <chrono>

#include <dnnl.h>
#include <fmt/format.h>

#include "core/compute/ops/pointwise.h"
#include "plugins/live_diffusion/engine/winograd_kernels.h"

namespace vergence::live {

namespace {

/// Numbers of transformed weights beyond which a layer only waits for memory, and networks of
/// several hundred million weights would need several times their memory.
constexpr Index kMostWinogradWeights = Index{8} << 20;

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

double ConvolutionTuner::seconds(Stream& stream, const ConvolutionShape& shape,
                                 ConvolutionAlgorithm algorithm)
{
    using Clock = std::chrono::steady_clock;
    constexpr int kRuns = 4;
    const Index taps = Index{shape.kernel} * shape.kernel;
    std::vector<float> weight(static_cast<std::size_t>(shape.outChannels * taps * shape.channels),
                              0.01f);
    const Convolution convolution(stream, m_device, shape, algorithm, weight);
    const Tensor x = Tensor::zeros(stream, m_device, shape.inputShape(), shape.type);
    const Tensor y = Tensor::zeros(stream, m_device, shape.outputShape(), shape.type);
    const Tensor between =
        Tensor::empty(m_device, {convolution.temporaryElements(shape.images)}, shape.type);
    const Tensor room = Tensor::empty(m_device, {convolution.roomNumbers(shape.images)});
    constexpr Index kFlood = Index{8} << 20;
    if (m_flood.isEmpty())
        m_flood = Tensor::zeros(stream, m_device, {kFlood});
    m_peakBytes = std::max(m_peakBytes, convolution.weightBytes() + x.bytes() + y.bytes() +
                                            between.bytes() + room.bytes() + m_flood.bytes());
    double least = 1e9; // others may have the processor in between
    for (int run = 0; run <= kRuns; ++run) {
        scale(stream, 1.0, m_flood, m_flood);
        stream.synchronize();
        const auto start = Clock::now();
        convolution(stream, x, y, {}, between, static_cast<float*>(room.data()));
        stream.synchronize();
        if (run > 0) // the first makes plans
            least = std::min(least, std::chrono::duration<double>(Clock::now() - start).count());
    }
    return least;
}

ConvolutionAlgorithm ConvolutionTuner::timed(Stream& stream, const ConvolutionShape& shape,
                                             const std::vector<ConvolutionAlgorithm>& candidates)
{
    // larger weights must pay: what they push out of the cache is not seen here
    constexpr double kClearly = 0.95;
    ConvolutionAlgorithm best = candidates.front();
    double least = seconds(stream, shape, best);
    for (std::size_t i = 1; i < candidates.size(); ++i) {
        if (const double time = seconds(stream, shape, candidates[i]); time < kClearly * least) {
            best = candidates[i];
            least = time;
        }
    }
    return best;
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
    for (const Algorithm other : {Algorithm::Winograd2, Algorithm::Winograd4}) {
        const int tile = other == Algorithm::Winograd2 ? 2 : 4;
        if (winogradWeightNumbers(tile, shape.channels, shape.outChannels) <= kMostWinogradWeights)
            candidates.push_back(other);
    }
    if (candidates.size() == 1)
        return m_best[key] = candidates.front();
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
