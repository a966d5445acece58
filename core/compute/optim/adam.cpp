#include "core/compute/optim/adam.h"

#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "core/compute/ops/adam_kernels.h"
#include "core/compute/ops/pointwise.h"

namespace vergence {

static_assert(sizeof(AdamCounters) == 2 * sizeof(std::int64_t));
static_assert(sizeof(AdamNorm) == 5 * sizeof(double));

Adam::Adam(ParameterSet& parameters, Stream& stream, AdamOptions options)
    : m_parameters(parameters),
      m_options(options)
{
    expects(parameters.trained() > 0, "Adam: no parameter is trained; allocate() comes first");
    expects(options.beta1 >= 0 && options.beta1 < 1 && options.beta2 >= 0 && options.beta2 < 1,
            fmt::format("Adam: betas {} and {} must be at least 0 and below 1", options.beta1,
                        options.beta2));
    expects(options.epsilon > 0 && options.clipNorm >= 0,
            "Adam: epsilon must be positive and clipNorm not negative");
    expects(options.measuresNorm || options.clipNorm == 0,
            "Adam: clipping needs the norm of the gradients");
    const auto& device = parameters.device();
    const DType type = parameters.masterType();
    m_first = Tensor::zeros(stream, device, {parameters.trained()}, type);
    m_second = Tensor::zeros(stream, device, {parameters.trained()}, type);
    m_rates =
        Tensor::zeros(stream, device, {static_cast<Index>(parameters.groups().size())}, DType::F64);
    m_counters = Tensor::zeros(stream, device, {2}, DType::I64);
    m_norm = Tensor::zeros(stream, device, {5}, DType::F64);
}

void Adam::setRates(Stream& stream, const std::vector<double>& rates)
{
    expects(static_cast<Index>(rates.size()) == m_rates.size(),
            fmt::format("Adam: {} rates for {} groups", rates.size(), m_rates.size()));
    stream.copy(m_rates.data(), rates.data(), m_rates.bytes());
}

void Adam::step(Stream& stream)
{
    auto* norm = static_cast<AdamNorm*>(m_norm.data());
    const Tensor measured = m_options.measuresNorm ? m_parameters.gradients() : Tensor{};
    adamPrepareKernel(stream, {measured, norm, static_cast<AdamCounters*>(m_counters.data()),
                               m_options.beta1, m_options.beta2, m_options.clipNorm});
    const auto& groups = m_parameters.groups();
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const auto [first, last] = m_parameters.range(static_cast<int>(g));
        if (groups[g].frozen || first == last)
            continue;
        const auto part = [from = first, count = last - first](const Tensor& flat) {
            return flat.isEmpty() ? flat : flat.narrow(0, from, count);
        };
        AdamUpdate update;
        update.gradients = part(m_parameters.gradients());
        update.first = part(m_first);
        update.second = part(m_second);
        update.values = part(m_parameters.values());
        update.shadows = part(m_parameters.shadows());
        update.rate = static_cast<const double*>(m_rates.data()) + g;
        update.norm = norm;
        update.beta1 = m_options.beta1;
        update.beta2 = m_options.beta2;
        update.epsilon = m_options.epsilon;
        update.weightDecay = groups[g].weightDecay;
        update.decoupledDecay = m_options.decoupledDecay;
        adamUpdateKernel(stream, update);
    }
}

double Adam::gradientNorm(Stream& stream) const
{
    return m_norm.toHost<double>(stream).at(1);
}

Index Adam::steps(Stream& stream) const
{
    return m_counters.toHost<std::int64_t>(stream).at(0);
}

Index Adam::skippedSteps(Stream& stream) const
{
    return m_counters.toHost<std::int64_t>(stream).at(1);
}

std::vector<std::pair<std::string, Tensor>> Adam::state() const
{
    return {{"first_moment", m_first}, {"second_moment", m_second}, {"counters", m_counters}};
}

MovingAverage::MovingAverage(const ParameterSet& parameters, Stream& stream, double decay)
    : m_parameters(parameters),
      m_decay(decay),
      m_average(parameters.values().clone(stream))
{
    expects(decay >= 0 && decay < 1, "MovingAverage: the decay must be at least 0 and below 1");
}

void MovingAverage::update(Stream& stream)
{
    addScaled(stream, m_decay, m_average, 1 - m_decay, m_parameters.values(), m_average);
}

} // namespace vergence
