#pragma once

#include <set>
#include <string>
#include <vector>

#include "plugins/live_diffusion/onnx/onnx_model.h"

namespace vergence::live {

/// Adds nodes and constants to a model; names are made from those that are given.
class OnnxGraphBuilder {
public:
    explicit OnnxGraphBuilder(OnnxModel& model) : m_model(model)
    {
        for (const OnnxTensor& tensor : model.initialisers)
            m_names.insert(tensor.name);
    }

    /// A node with one output of the same name; returns it.
    std::string node(const std::string& op, const std::string& name,
                     std::vector<std::string> inputs, std::vector<OnnxAttribute> attributes = {});
    /// A node with several outputs, `name`.0, `name`.1, …
    std::vector<std::string> split(const std::string& name, const std::string& x, std::int64_t axis,
                                   const OnnxDims& sizes);

    std::string reshape(const std::string& name, const std::string& x, const OnnxDims& dims);
    std::string transpose(const std::string& name, const std::string& x, const OnnxDims& order);

    /// Constants; equal ones are one.
    std::string integers(const OnnxDims& values);
    std::string scalar(float value, OnnxType type);
    std::string floats(const std::string& name, std::vector<float> values, const OnnxDims& dims,
                       OnnxType type);
    /// A weight that is fetched when the file is written.
    std::string weight(const std::string& name, const OnnxDims& dims, OnnxType type,
                       std::function<std::vector<float>()> values);

private:
    bool isNew(const std::string& name) { return m_names.insert(name).second; }

    OnnxModel& m_model;
    std::set<std::string> m_names; ///< of constants
};

} // namespace vergence::live
