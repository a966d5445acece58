#include "plugins/sugar/compute/learning/optimiser.h"

#include <algorithm>
#include <cmath>

#include "plugins/sugar/compute/learning/adam_kernels.h"

namespace vergence::sugar {

namespace {

std::array<const Tensor*, kAdamGroups> tensorsOf(const GaussianArrays& arrays)
{
    return {&arrays.position, &arrays.logScale, &arrays.rotation,
            &arrays.opacity,  &arrays.shDc,     &arrays.shRest};
}

float* floatsOf(const Tensor& tensor)
{
    return tensor.isEmpty() ? nullptr : tensor.flat<float>().data();
}

void expectRows(const Tensor& tensor, const Tensor& like, Index rows)
{
    const bool isAlike = tensor.isEmpty()
                             ? like.isEmpty() || rows == 0
                             : tensor.extent(0) >= rows && !like.isEmpty() &&
                                   tensor.size() / tensor.extent(0) == like.size() / like.extent(0);
    expects(isAlike, "adamUpdate: gradients and moments must be shaped like the Gaussians");
}

} // namespace

double positionRate(const LearningRates& rates, double extent, double step, double steps)
{
    const double progress = steps > 0 ? std::clamp(step / steps, 0.0, 1.0) : 0.0;
    return extent * rates.position * std::pow(rates.positionFinal / rates.position, progress);
}

std::array<float, 6> ratesAt(const LearningRates& rates, double extent, std::int64_t step,
                             std::int64_t steps)
{
    const double position =
        positionRate(rates, extent, static_cast<double>(step), static_cast<double>(steps));
    const std::array<double, 6> all{position,      rates.scale, rates.rotation,
                                    rates.opacity, rates.shDc,  rates.shRest};
    std::array<float, 6> result{};
    std::transform(all.begin(), all.end(), result.begin(),
                   [](double rate) { return static_cast<float>(rate); });
    return result;
}

Index adamUpdate(Stream& stream, Gaussians& gaussians, const GaussianArrays& gradients,
                 GaussianArrays& moment1, GaussianArrays& moment2, const AdamStep& adam,
                 const Tensor& visible, double extent)
{
    expects(adam.step >= 1, "adamUpdate: steps count from 1");
    expects(extent > 0, "adamUpdate: the extent of the scene must be positive");
    expects(!adam.sparse || visible.isEmpty() || visible.size() >= gaussians.count,
            "adamUpdate: a flag for each Gaussian is needed");
    expects(!adam.sparse || !visible.isEmpty() || gaussians.count == 0,
            "adamUpdate: a sparse step needs to know what was visible");
    if (gaussians.count == 0)
        return 0;
    AdamArguments arguments;
    arguments.rows = gaussians.count;
    arguments.factors = adamFactors<float>(adam, extent);
    arguments.compactMoments = formatOf(moment1, moment2) == MomentFormat::Compact;
    arguments.visible = adam.sparse ? visible.flat<std::uint8_t>().data() : nullptr;
    const auto value = tensorsOf(gaussians.value), gradient = tensorsOf(gradients),
               first = tensorsOf(moment1), second = tensorsOf(moment2);
    for (std::size_t i = 0; i < kAdamGroups; ++i) {
        for (const Tensor* tensor : {gradient[i], first[i], second[i]})
            expectRows(*tensor, *value[i], gaussians.count);
        const int width =
            value[i]->isEmpty() ? 0 : static_cast<int>(value[i]->size() / value[i]->extent(0));
        arguments.group[i] = {width, floatsOf(*gradient[i]), first[i]->data(), second[i]->data(),
                              floatsOf(*value[i])};
    }
    arguments.skipped =
        static_cast<unsigned long long*>(stream.scratch(sizeof(unsigned long long)));
    stream.fillBytes(arguments.skipped, 0, sizeof(unsigned long long));
    adamRows(stream, arguments);
    unsigned long long skipped = 0;
    stream.copy(&skipped, arguments.skipped, sizeof(skipped));
    stream.synchronize();
    return static_cast<Index>(skipped);
}

void normaliseRotations(Stream& stream, Gaussians& gaussians)
{
    normaliseRows(stream, {gaussians.count, floatsOf(gaussians.value.rotation)});
}

} // namespace vergence::sugar
