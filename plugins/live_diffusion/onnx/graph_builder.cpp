#include "plugins/live_diffusion/onnx/graph_builder.h"

#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.h"
#include "core/compute/half.h"

namespace vergence::live {

namespace {

void store(const std::vector<float>& values, OnnxType type, std::span<std::byte> to)
{
    expects(to.size() == values.size() * sizeOf(type), "OnnxTensor: room for all numbers");
    if (type == OnnxType::Float) {
        std::memcpy(to.data(), values.data(), to.size());
        return;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint16_t bits = Float16(values[i]).bits;
        std::memcpy(to.data() + 2 * i, &bits, 2);
    }
}

} // namespace

std::string OnnxGraphBuilder::node(const std::string& op, const std::string& name,
                                   std::vector<std::string> inputs,
                                   std::vector<OnnxAttribute> attributes)
{
    m_model.nodes.push_back({op, name, std::move(inputs), {name}, std::move(attributes)});
    return name;
}

std::vector<std::string> OnnxGraphBuilder::split(const std::string& name, const std::string& x,
                                                 std::int64_t axis, const OnnxDims& sizes)
{
    OnnxNode node{"Split", name, {x, integers(sizes)}, {}, {{"axis", axis}}};
    for (std::size_t i = 0; i < sizes.size(); ++i)
        node.outputs.push_back(fmt::format("{}.{}", name, i));
    m_model.nodes.push_back(node);
    return node.outputs;
}

std::string OnnxGraphBuilder::reshape(const std::string& name, const std::string& x,
                                      const OnnxDims& dims)
{
    return node("Reshape", name, {x, integers(dims)});
}

std::string OnnxGraphBuilder::transpose(const std::string& name, const std::string& x,
                                        const OnnxDims& order)
{
    return node("Transpose", name, {x}, {{"perm", order}});
}

std::string OnnxGraphBuilder::integers(const OnnxDims& values)
{
    const std::string name = fmt::format("int64({})", fmt::join(values, ","));
    if (isNew(name))
        m_model.initialisers.push_back({name,
                                        OnnxType::Int64,
                                        {static_cast<std::int64_t>(values.size())},
                                        [values](std::span<std::byte> to) {
                                            std::memcpy(to.data(), values.data(), to.size());
                                        }});
    return name;
}

std::string OnnxGraphBuilder::scalar(float value, OnnxType type)
{
    return floats(fmt::format("{}({})", nameOf(type), value), {value}, {}, type);
}

std::string OnnxGraphBuilder::floats(const std::string& name, std::vector<float> values,
                                     const OnnxDims& dims, OnnxType type)
{
    const auto kept = std::make_shared<const std::vector<float>>(std::move(values));
    return weight(name, dims, type, [kept] { return *kept; });
}

std::string OnnxGraphBuilder::weight(const std::string& name, const OnnxDims& dims, OnnxType type,
                                     std::function<std::vector<float>()> values)
{
    if (isNew(name))
        m_model.initialisers.push_back(
            {name, type, dims, [type, values = std::move(values)](std::span<std::byte> to) {
                 store(values(), type, to);
             }});
    return name;
}

} // namespace vergence::live
