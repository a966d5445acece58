#include "core/compute/nn/layers.h"

#include <cmath>

namespace vergence {

Declaration::Declaration(ParameterSet& parameters, LayerGroups groups, std::string prefix)
    : m_parameters(parameters),
      m_groups(groups),
      m_prefix(std::move(prefix))
{
}

Declaration Declaration::below(const std::string& name) const
{
    return {m_parameters, m_groups, m_prefix + name + "."};
}

int Declaration::matrix(const std::string& name, Shape shape, double deviation) const
{
    return m_parameters.add(m_prefix + name, std::move(shape), m_groups.matrices, {0, deviation});
}

int Declaration::matrix(const std::string& name, Shape shape, InitialValue initial) const
{
    return m_parameters.add(m_prefix + name, std::move(shape), m_groups.matrices, initial);
}

int Declaration::other(const std::string& name, Shape shape, InitialValue initial) const
{
    return m_parameters.add(m_prefix + name, std::move(shape), m_groups.others, initial);
}

int Declaration::table(const std::string& name, Shape shape, double deviation) const
{
    return m_parameters.add(m_prefix + name, std::move(shape),
                            m_groups.tables < 0 ? m_groups.others : m_groups.tables,
                            {0, deviation});
}

void Declaration::window(const std::string& name, int parameter, Index firstRow, Index rows) const
{
    m_parameters.addWindow(m_prefix + name, parameter, firstRow, rows);
}

const PackedWeight* PackedWeights::find(Graph& graph, const ParameterSet& parameters, int index,
                                        Index first, Index count, Index rows)
{
    const auto [place, isNew] = m_packed.try_emplace({&parameters, index, first, count});
    if (isNew) {
        const Tensor weight = parameters[index].computed().narrow(0, first, count);
        place->second = graph.dense().packLinear(
            graph.stream(), weight.reshaped({count, weight.size() / count}), rows);
    }
    return place->second.get();
}

LinearLayer LinearLayer::declare(const Declaration& where, Index in, Index out, bool bias)
{
    LinearLayer layer;
    layer.weight = where.matrix("weight", {out, in});
    if (bias)
        layer.bias = where.other("bias", {out});
    return layer;
}

LinearLayer LinearLayer::declareUniform(const Declaration& where, Index in, Index out, bool bias)
{
    const InitialValue even{0, 1 / std::sqrt(static_cast<double>(in)), true};
    LinearLayer layer;
    layer.weight = where.matrix("weight", {out, in}, even);
    if (bias)
        layer.bias = where.other("bias", {out}, even);
    return layer;
}

namespace {
Value apply(const ForwardPass& pass, const LinearLayer& layer, Value x, Index first, Index count,
            LinearOptions options)
{
    Graph& graph = pass.graph;
    const Value weight = graph.parameterRows(pass.parameters, layer.weight, first, count);
    if (layer.bias >= 0)
        options.bias = graph.parameterRows(pass.parameters, layer.bias, first, count);
    if (pass.packed && !graph.options().recordsGradients) {
        const Index columns = graph.shape(x).back();
        options.packed = pass.packed->find(graph, pass.parameters, layer.weight, first, count,
                                           graph.tensor(x).size() / columns);
    }
    return linear(graph, x, weight, options);
}
} // namespace

Value LinearLayer::operator()(const ForwardPass& pass, Value x, Activation activation,
                              Value residual) const
{
    LinearOptions options;
    options.activation = activation;
    options.residual = residual;
    return apply(pass, *this, x, 0, pass.parameters[weight].shape[0], options);
}

Value LinearLayer::rows(const ForwardPass& pass, Value x, Index first, Index count) const
{
    return apply(pass, *this, x, first, count, {});
}

NormLayer NormLayer::declare(const Declaration& where, Index width, double epsilon, bool rms)
{
    NormLayer layer;
    layer.weight = where.other("weight", {width}, {1, 0});
    if (!rms)
        layer.bias = where.other("bias", {width});
    layer.epsilon = epsilon;
    return layer;
}

Value NormLayer::operator()(const ForwardPass& pass, Value x) const
{
    if (bias < 0)
        return rmsNorm(pass.graph, x, pass[weight], epsilon);
    return layerNorm(pass.graph, x, pass[weight], pass[bias], epsilon);
}

} // namespace vergence
