#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/compute/tensor.h"

namespace vergence::live {

// What an ONNX file holds, as far as this lab writes it: one graph with static shapes. Numbers of
// fields and types follow the format's own description (Open Neural Network Exchange, onnx.proto,
// IR version 8 and 10).

enum class OnnxType : std::int32_t { Float = 1, Int64 = 7, Float16 = 10 };
std::string_view nameOf(OnnxType type); ///< "float", "int64", "float16"
std::size_t sizeOf(OnnxType type);      ///< bytes

using OnnxDims = Shape;

/// A tensor that goes in, comes out, or lies between nodes.
struct OnnxValue {
    std::string name;
    OnnxType type = OnnxType::Float;
    OnnxDims dims;
    bool operator==(const OnnxValue&) const = default;
};

/// A tensor of the file. Its numbers are fetched when somebody needs them, so that a model of many
/// gigabytes never lies in memory twice.
struct OnnxTensor {
    std::string name;
    OnnxType type = OnnxType::Float;
    OnnxDims dims;
    /// Fills `bytes()` bytes, little-endian, row-major.
    std::function<void(std::span<std::byte>)> load;

    std::size_t bytes() const
    {
        return static_cast<std::size_t>(elementCount(dims)) * sizeOf(type);
    }
};

struct OnnxAttribute {
    std::string name;
    std::variant<std::int64_t, float, std::string, OnnxDims> value;
};

struct OnnxNode {
    std::string op, name;
    std::vector<std::string> inputs, outputs; ///< an empty input is one that is left out
    std::vector<OnnxAttribute> attributes;

    const OnnxAttribute* find(std::string_view attribute) const; ///< null: not there
    std::int64_t integer(std::string_view attribute, std::int64_t otherwise) const;
    float number(std::string_view attribute, float otherwise) const;
    std::string text(std::string_view attribute, const std::string& otherwise) const;
    OnnxDims integers(std::string_view attribute, const OnnxDims& otherwise) const;
};

struct OnnxModel {
    int irVersion = 8, opset = 17;
    std::string producer, producerVersion, name, description;
    std::map<std::string, std::string> metadata;
    std::vector<OnnxValue> inputs, outputs;
    std::vector<OnnxTensor> initialisers;
    std::vector<OnnxNode> nodes; ///< in an order in which they can run
};

} // namespace vergence::live
