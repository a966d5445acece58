#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugins/live_diffusion/engine/convolution.h"
#include "plugins/live_diffusion/engine/tuned_choices.h"

namespace vergence::live {

struct ConvolutionChoice {
    bool tuned = true;     ///< by time; else the library, or Collapsed where allowed
    bool collapses = true; ///< Collapsed is allowed
};

/// Fastest algorithms by shape, so that each is timed once. Not thread-safe.
class ConvolutionTuner {
public:
    /// `choices` (may be null) knows what earlier processes found, and hears what is found now.
    explicit ConvolutionTuner(std::shared_ptr<Device> device,
                              std::shared_ptr<TunedChoices> choices = nullptr);

    ConvolutionAlgorithm best(Stream& stream, const ConvolutionShape& shape,
                              const ConvolutionChoice& choice);
    std::size_t peakBytes() const { return m_peakBytes; } ///< most that was used while timing
    /// Gives back what only timing needs and keeps what was found.
    void rest();

private:
    /// Least seconds of each.
    std::vector<double> seconds(Stream& stream, const ConvolutionShape& shape,
                                const std::vector<Convolution>& candidates);
    /// The fastest of those that the library has; not timed where that is one.
    ConvolutionAlgorithm timed(Stream& stream, const ConvolutionShape& shape,
                               const std::vector<ConvolutionAlgorithm>& candidates);

    std::shared_ptr<Device> m_device;
    std::shared_ptr<TunedChoices> m_choices;
    std::string m_machine;
    std::map<std::pair<ConvolutionShape, bool>, ConvolutionAlgorithm> m_best;
    Tensor m_flood; ///< read between runs, so that weights are cold
    std::size_t m_peakBytes = 0;
};

/// All that decides which algorithm is fastest on a device: processor, threads, kernels, version of
/// the program and of its library.
std::string tuningMachine(const Device& device);

} // namespace vergence::live
