#pragma once

#include <cmath>
#include <string>

#include "core/compute/nn/layers.h"

namespace vergence::fvlm {

/// Declares layers whose weights and biases start uniformly in ±1/√fanIn.
class UniformDeclaration {
public:
    UniformDeclaration(ParameterSet& parameters, LayerGroups groups, std::string prefix = {})
        : m_parameters(parameters),
          m_groups(groups),
          m_prefix(std::move(prefix))
    {
    }
    UniformDeclaration below(const std::string& name) const
    {
        return {m_parameters, m_groups, m_prefix + name + "."};
    }
    /// For layers with other start values.
    Declaration plain() const { return {m_parameters, m_groups, m_prefix}; }

    /// weight [out, in], bias [out]
    LinearLayer linear(const std::string& name, Index in, Index out) const
    {
        return layer(name, {out, in}, in);
    }
    /// weight [out, in, 3, 3], bias [out]
    LinearLayer convolution(const std::string& name, Index in, Index out) const
    {
        return layer(name, {out, in, 3, 3}, 9 * in);
    }

private:
    LinearLayer layer(const std::string& name, Shape shape, Index fanIn) const
    {
        const InitialValue start{0, 1 / std::sqrt(static_cast<double>(fanIn)), true};
        const Index out = shape.front();
        LinearLayer result;
        result.weight = m_parameters.add(m_prefix + name + ".weight", std::move(shape),
                                         m_groups.matrices, start);
        result.bias = m_parameters.add(m_prefix + name + ".bias", {out}, m_groups.others, start);
        return result;
    }

    ParameterSet& m_parameters;
    LayerGroups m_groups;
    std::string m_prefix;
};

} // namespace vergence::fvlm
