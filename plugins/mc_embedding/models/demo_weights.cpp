#include <cmath>
#include <vector>

#include "plugins/mc_embedding/compute/mask_math.h"
#include "plugins/mc_embedding/models/demo_values.h"
#include "plugins/mc_embedding/models/vision_model.h"

namespace vergence::mc_embedding {

namespace {

/// mean + deviation · z for every number of a parameter.
struct DemoValue {
    double mean = 0, deviation = 0;
};

bool contains(const std::string& name, const char* part)
{
    return name.find(part) != std::string::npos;
}

/// Specification, section 14: gain / √fan-in for matrices.
DemoValue demoValue(const Parameter& parameter)
{
    const std::string& name = parameter.name;
    if (contains(name, "class_embedding"))
        return {0, 0.5};
    if (contains(name, "position_embedding"))
        return {0, 0.1};
    if (contains(name, "probe"))
        return {0, 1};
    if (name == "toy.bias")
        return {0.1, 0};
    if (contains(name, "bias"))
        return {};
    if (parameter.shape.size() == 1) // scale of a norm
        return {1, 0};
    const double inputs = static_cast<double>(elementCount(parameter.shape)) /
                          static_cast<double>(parameter.shape[0]);
    double gain = 1;
    if (contains(name, "patch_embedding"))
        gain = 2;
    else if (contains(name, "qkv") || contains(name, "in_proj") || contains(name, "fc1"))
        gain = 1.5;
    return {0, gain / std::sqrt(inputs)};
}

} // namespace

void setDemoValues(Stream& stream, ParameterSet& parameters, std::uint64_t seed,
                   std::uint32_t firstOwner, const std::function<bool()>& isStopped)
{
    std::vector<float> values;
    for (int i = 0; i < parameters.count() && !(isStopped && isStopped()); ++i) {
        const Parameter& parameter = parameters[i];
        const DemoValue how = demoValue(parameter);
        values.assign(static_cast<std::size_t>(parameter.value.size()),
                      static_cast<float>(how.mean));
        const SequenceKey key{firstOwner + static_cast<std::uint32_t>(i), 0};
        for (std::size_t e = 0; how.deviation != 0 && e < values.size(); e += 4) {
            const FourNormals normal =
                fourNormals(seed, key, 0, Purpose::DemoWeights, static_cast<Index>(e / 4));
            for (std::size_t k = 0; k < 4 && e + k < values.size(); ++k)
                values[e + k] = static_cast<float>(how.mean + how.deviation * normal.value[k]);
        }
        stream.copy(parameter.value.data(), values.data(), values.size() * sizeof(float));
    }
}

void setDemoWeights(Stream& stream, Encoder& encoder, std::uint64_t seed,
                    const std::function<bool()>& isStopped)
{
    setDemoValues(stream, encoder.parameters(), seed, 0, isStopped);
    encoder.refreshWeights(stream, isStopped);
}

} // namespace vergence::mc_embedding
