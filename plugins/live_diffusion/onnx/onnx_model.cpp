#include "plugins/live_diffusion/onnx/onnx_model.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence::live {

std::string_view nameOf(OnnxType type)
{
    switch (type) {
    case OnnxType::Float:
        return "float";
    case OnnxType::Int64:
        return "int64";
    case OnnxType::Float16:
        return "float16";
    }
    return "";
}

std::size_t sizeOf(OnnxType type)
{
    return type == OnnxType::Int64 ? 8 : type == OnnxType::Float ? 4 : 2;
}

const OnnxAttribute* OnnxNode::find(std::string_view attribute) const
{
    const auto found = std::ranges::find(attributes, attribute, &OnnxAttribute::name);
    return found == attributes.end() ? nullptr : &*found;
}

namespace {

template <class T>
T valueOf(const OnnxNode& node, std::string_view attribute, const T& otherwise)
{
    const OnnxAttribute* found = node.find(attribute);
    if (!found)
        return otherwise;
    const T* value = std::get_if<T>(&found->value);
    if (!value)
        throw InputError(fmt::format("Attribute {} of {} ({}) has another type than it should.",
                                     attribute, node.name, node.op));
    return *value;
}

} // namespace

std::int64_t OnnxNode::integer(std::string_view attribute, std::int64_t otherwise) const
{
    return valueOf(*this, attribute, otherwise);
}

float OnnxNode::number(std::string_view attribute, float otherwise) const
{
    return valueOf(*this, attribute, otherwise);
}

std::string OnnxNode::text(std::string_view attribute, const std::string& otherwise) const
{
    return valueOf(*this, attribute, otherwise);
}

OnnxDims OnnxNode::integers(std::string_view attribute, const OnnxDims& otherwise) const
{
    return valueOf(*this, attribute, otherwise);
}

} // namespace vergence::live
