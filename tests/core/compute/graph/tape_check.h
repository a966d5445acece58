#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/compute/graph/functions.h"
#include "core/compute/rng.h"
#include "tests/support/numbers.h"

namespace vergence::test {

/// Numbers in (−1, 1) without a pattern, the same everywhere.
inline std::vector<double> numbers(Index count, int seed)
{
    const Rng rng(1234, static_cast<std::uint64_t>(seed));
    std::vector<double> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = 2.0 * static_cast<double>(rng.uniform(i)) - 1.0;
    return values;
}

/// A function of tensors on the tape, in double.
struct TapeCase {
    std::vector<Shape> inputs;
    std::function<Value(Graph&, const std::vector<Value>&)> build;
    double relative = 1e-6;
};

/// Compares the derivative of Σ w ⊙ build(inputs) by the tape with central differences, for each
/// input. `strided`: every input is a window of a variable that is one longer in its innermost
/// dimension. Empty where all agree.
class TapeCheck {
public:
    TapeCheck(std::shared_ptr<Device> device, TapeCase tested, bool strided)
        : m_device(std::move(device)),
          m_stream(m_device->createStream()),
          m_case(std::move(tested)),
          m_strided(strided),
          m_plain(*m_stream, m_device, {false, DType::F64}),
          m_taped(*m_stream, m_device, {true, DType::F64})
    {
        for (std::size_t i = 0; i < m_case.inputs.size(); ++i) {
            Shape shape = m_case.inputs[i];
            if (m_strided && !shape.empty())
                ++shape.back();
            m_shapes.push_back(shape);
            m_values.push_back(numbers(elementCount(shape), static_cast<int>(i) + 1));
        }
    }

    std::string run()
    {
        std::vector<Value> variables;
        const Value loss = evaluate(m_taped, variables);
        m_taped.backward(loss);
        for (std::size_t i = 0; i < variables.size(); ++i) {
            const Tensor tensor = m_taped.gradient(variables[i]);
            if (tensor.isEmpty())
                return fmt::format("input {} takes no gradient", i);
            const auto gradient = tensor.toHost<double>(*m_stream);
            const auto kept = m_values[i];
            const std::string text = gradientDifference(
                [&](const std::vector<double>& x) {
                    m_values[i] = x;
                    return value();
                },
                kept, gradient, m_case.relative, 48);
            m_values[i] = kept;
            if (!text.empty())
                return fmt::format("input {}: {}", i, text);
        }
        return {};
    }

private:
    double value()
    {
        m_plain.reset();
        std::vector<Value> variables;
        const Value loss = evaluate(m_plain, variables);
        return m_plain.tensor(loss).toHost<double>(*m_stream).at(0);
    }

    Value evaluate(Graph& graph, std::vector<Value>& variables)
    {
        std::vector<Value> inputs;
        for (std::size_t i = 0; i < m_values.size(); ++i) {
            const Tensor tensor =
                Tensor::fromHost<double>(*m_stream, m_device, m_shapes[i], m_values[i]);
            variables.push_back(graph.variable(tensor));
            inputs.push_back(m_strided
                                 ? narrow(graph, variables.back(), -1, 1, m_case.inputs[i].back())
                                 : variables.back());
        }
        const Value y = m_case.build(graph, inputs);
        const Tensor weights = Tensor::fromHost<double>(*m_stream, m_device, graph.shape(y),
                                                        numbers(graph.tensor(y).size(), 99));
        return weightedSum(graph, y, weights);
    }

    std::shared_ptr<Device> m_device;
    std::unique_ptr<Stream> m_stream;
    TapeCase m_case;
    bool m_strided;
    Graph m_plain, m_taped;
    std::vector<Shape> m_shapes;
    std::vector<std::vector<double>> m_values;
};

} // namespace vergence::test
