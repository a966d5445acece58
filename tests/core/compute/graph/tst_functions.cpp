#include <map>

#include <QTest>

#include "core/compute/ops/spatial.h"
#include "tests/core/compute/graph/tape_check.h"
#include "tests/support/device_table.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;

namespace {
using Inputs = std::vector<Value>;

Tensor integers(Graph& graph, const std::vector<std::int32_t>& values)
{
    return Tensor::fromHost<std::int32_t>(graph.stream(), graph.device(),
                                          {static_cast<Index>(values.size())}, values);
}

Value withActivation(Graph& g, const Inputs& in, Activation activation)
{
    LinearOptions options;
    options.bias = in[2];
    options.residual = in[3];
    options.activation = activation;
    return linear(g, in[0], in[1], options);
}

Value convolved(Graph& g, const Inputs& in, ImageLayout layout, int stride, Activation activation)
{
    ConvOptions options;
    options.bias = in[2];
    if (in.size() > 3)
        options.residual = in[3];
    options.layout = layout;
    options.stride = stride;
    options.padding = static_cast<int>(g.shape(in[1])[layout == ImageLayout::Nhwc ? 1 : 2] / 2);
    options.activation = activation;
    return conv2d(g, in[0], in[1], options);
}

void addDense(std::map<std::string, TapeCase>& cases)
{
    const std::map<std::string, Activation> activations{{"none", Activation::None},
                                                        {"gelu", Activation::GeluErf},
                                                        {"tanh gelu", Activation::GeluTanh},
                                                        {"quick gelu", Activation::QuickGelu},
                                                        {"silu", Activation::Silu}};
    for (const auto& [name, kind] : activations) {
        cases["linear, " + name] = {
            {{2, 3, 5}, {7, 5}, {7}, {2, 3, 7}},
            [kind = kind](Graph& g, const Inputs& in) { return withActivation(g, in, kind); }};
        cases["activate, " + name] = {{{3, 11}}, [kind = kind](Graph& g, const Inputs& in) {
                                          return activate(g, kind, in[0]);
                                      }};
    }
    cases["linear without bias"] = {
        {{33, 31}, {1, 31}}, [](Graph& g, const Inputs& in) { return linear(g, in[0], in[1]); }};
    cases["linear, residual is the input"] = {{{4, 6}, {6, 6}}, [](Graph& g, const Inputs& in) {
                                                  LinearOptions options;
                                                  options.residual = in[0];
                                                  return linear(g, in[0], in[1], options);
                                              }};
    cases["linear, convolution kernel as weight"] = {
        {{4, 12}, {5, 3, 2, 2}},
        [](Graph& g, const Inputs& in) { return linear(g, in[0], in[1]); }};
    for (const bool ta : {false, true}) {
        for (const bool tb : {false, true}) {
            const std::string suffix = fmt::format("{}{}", ta ? ", aT" : "", tb ? ", bT" : "");
            const auto build = [ta, tb](Graph& g, const Inputs& in) {
                return matmul(g, in[0], in[1], ta, tb, 0.7);
            };
            const Shape a = ta ? Shape{2, 5, 3} : Shape{2, 3, 5};
            const Shape b = tb ? Shape{4, 5} : Shape{5, 4};
            cases["matmul of batches" + suffix] = {{a, {2, b[0], b[1]}}, build};
            cases["matmul with one b" + suffix] = {{a, b}, build};
        }
    }
    for (const auto& [layoutName, layout] :
         {std::pair{"nhwc", ImageLayout::Nhwc}, std::pair{"nchw", ImageLayout::Nchw}}) {
        const bool last = layout == ImageLayout::Nhwc;
        const Shape x = last ? Shape{2, 5, 6, 3} : Shape{2, 3, 5, 6};
        const Shape w = last ? Shape{4, 3, 3, 3} : Shape{4, 3, 3, 3};
        const Shape y = last ? Shape{2, 5, 6, 4} : Shape{2, 4, 5, 6};
        cases[fmt::format("conv2d, {}", layoutName)] = {
            {x, w, {4}, y}, [layout = layout](Graph& g, const Inputs& in) {
                return convolved(g, in, layout, 1, Activation::Silu);
            }};
        cases[fmt::format("conv2d, {}, stride 2", layoutName)] = {
            {x, w, {4}}, [layout = layout](Graph& g, const Inputs& in) {
                return convolved(g, in, layout, 2, Activation::None);
            }};
        for (const int stride : {1, 2}) {
            cases[fmt::format("conv2d 1 x 1, {}, stride {}", layoutName, stride)] = {
                {x, last ? Shape{4, 1, 1, 3} : Shape{4, 3, 1, 1}, {4}},
                [layout = layout, stride](Graph& g, const Inputs& in) {
                    return convolved(g, in, layout, stride, Activation::GeluErf);
                }};
        }
    }
}

void addPointwise(std::map<std::string, TapeCase>& cases)
{
    cases["add"] = {{{3, 5}, {3, 5}},
                    [](Graph& g, const Inputs& in) { return add(g, in[0], in[1]); }};
    cases["add to itself"] = {{{3, 5}},
                              [](Graph& g, const Inputs& in) { return add(g, in[0], in[0]); }};
    cases["addScaled"] = {{{3, 5}, {3, 5}}, [](Graph& g, const Inputs& in) {
                              return addScaled(g, 0.3, in[0], -2, in[1]);
                          }};
    cases["scale"] = {{{7}}, [](Graph& g, const Inputs& in) { return scale(g, -1.5, in[0]); }};
    cases["multiply"] = {{{3, 5}, {3, 5}},
                         [](Graph& g, const Inputs& in) { return multiply(g, in[0], in[1]); }};
    cases["square"] = {{{3, 5}},
                       [](Graph& g, const Inputs& in) { return multiply(g, in[0], in[0]); }};
    cases["swiglu"] = {{{2, 3, 14}}, [](Graph& g, const Inputs& in) { return swiglu(g, in[0]); }};
    cases["layerScale"] = {{{2, 3, 5}, {5}, {2, 3, 5}}, [](Graph& g, const Inputs& in) {
                               return layerScale(g, in[0], in[1], in[2]);
                           }};
    cases["film"] = {{{2, 3, 4, 5}, {2, 5}, {2, 5}},
                     [](Graph& g, const Inputs& in) { return film(g, in[0], in[1], in[2]); }};
    cases["dropout"] = {{{5, 33}}, [](Graph& g, const Inputs& in) {
                            return dropout(g, dropout(g, in[0], 0.3), 0.2);
                        }};
    cases["addBroadcast"] = {{{3, 4, 5}, {4, 5}}, [](Graph& g, const Inputs& in) {
                                 return addBroadcast(g, in[0], in[1]);
                             }};
}

void addNorms(std::map<std::string, TapeCase>& cases)
{
    for (const Index width : {Index{4}, Index{31}, Index{33}}) {
        const std::string suffix = fmt::format(", {} channels", width);
        cases["layerNorm" + suffix] = {
            {{2, 3, width}, {width}, {width}},
            [](Graph& g, const Inputs& in) { return layerNorm(g, in[0], in[1], in[2], 1e-3); }};
        cases["rmsNorm" + suffix] = {{{2, 3, width}, {width}}, [](Graph& g, const Inputs& in) {
                                         return rmsNorm(g, in[0], in[1], 1e-3);
                                     }};
    }
    cases["layerNorm without weights"] = {
        {{3, 8}}, [](Graph& g, const Inputs& in) { return layerNorm(g, in[0], {}, {}, 1e-3); }};
    for (const bool last : {true, false}) {
        for (const bool silu : {true, false}) {
            const Shape x = last ? Shape{2, 3, 4, 6} : Shape{2, 6, 3, 4};
            cases[fmt::format("groupNorm{}{}", last ? ", channels last" : "",
                              silu ? ", silu" : "")] = {
                {x, {6}, {6}}, [last, silu](Graph& g, const Inputs& in) {
                    return groupNorm(g, in[0], in[1], in[2], 3, 1e-3, silu, last);
                }};
        }
    }
    cases["softmax"] = {{{3, 33}}, [](Graph& g, const Inputs& in) { return softmax(g, in[0]); }};
}

void addAttention(std::map<std::string, TapeCase>& cases)
{
    cases["attention"] = {
        {{2, 5, 2, 4}, {2, 7, 2, 4}, {2, 7, 2, 4}},
        [](Graph& g, const Inputs& in) { return attention(g, in[0], in[1], in[2]); }};
    cases["attention, grouped, causal, padded"] = {
        {{2, 5, 6, 4}, {2, 5, 2, 4}, {2, 5, 2, 4}}, [](Graph& g, const Inputs& in) {
            const Tensor counts = integers(g, {5, 3});
            AttentionArgs args;
            args.causal = true;
            args.keyCounts = &counts;
            return attention(g, in[0], in[1], in[2], args);
        }};
    cases["attention of x with itself"] = {{{1, 5, 2, 4}}, [](Graph& g, const Inputs& in) {
                                               return attention(g, in[0], in[0], in[0]);
                                           }};
    cases["attentionPacked"] = {{{2, 5, 3 * 2 * 4}}, [](Graph& g, const Inputs& in) {
                                    return attentionPacked(g, in[0], 2, 2);
                                }};
    cases["attentionPacked, rotary, grouped"] = {
        {{2, 5, (6 + 2 * 2) * 4}}, [](Graph& g, const Inputs& in) {
            AttentionArgs args;
            args.causal = true;
            const Tensor positions = integers(g, {0, 2, 3, 5, 9});
            RopeArgs rotary;
            rotary.positions = &positions;
            return attentionPacked(g, in[0], 6, 2, args, rotary);
        }};
    cases["attentionPacked beside another use"] = {
        {{1, 3, 3 * 4}}, [](Graph& g, const Inputs& in) {
            return concat(g, {attentionPacked(g, in[0], 1, 1), in[0]}, 2);
        }};
    cases["rope"] = {{{2, 5, 3, 8}}, [](Graph& g, const Inputs& in) {
                         RopeArgs args;
                         args.theta = 100;
                         args.first = 2;
                         return rope(g, in[0], args);
                     }};
}

void addStructure(std::map<std::string, TapeCase>& cases)
{
    cases["reshape"] = {
        {{3, 4}}, [](Graph& g, const Inputs& in) {
            return multiply(g, reshape(g, in[0], {2, 6}), reshape(g, in[0], {2, 6}));
        }};
    cases["permute"] = {{{2, 3, 4}}, [](Graph& g, const Inputs& in) {
                            const Value p = permute(g, in[0], {2, 0, 1});
                            return multiply(g, p, p);
                        }};
    cases["permute of a window"] = {{{3, 4, 5}}, [](Graph& g, const Inputs& in) {
                                        return permute(g, narrow(g, in[0], 1, 1, 2), {1, 2, 0});
                                    }};
    cases["narrow, overlapping"] = {{{3, 6}}, [](Graph& g, const Inputs& in) {
                                        return multiply(g, narrow(g, in[0], 1, 0, 4),
                                                        narrow(g, in[0], 1, 2, 4));
                                    }};
    for (const int dimension : {0, 1, -1}) {
        cases[fmt::format("concat along {}", dimension)] = {
            {{2, 3, 4}, {2, 3, 4}}, [dimension](Graph& g, const Inputs& in) {
                return concat(g, {in[0], in[1], in[0]}, dimension);
            }};
    }
    cases["gatherRows"] = {{{5, 3}}, [](Graph& g, const Inputs& in) {
                               return gatherRows(g, in[0], integers(g, {4, 0, 4, 4, 2}));
                           }};
    cases["broadcastLeading"] = {
        {{3, 4}}, [](Graph& g, const Inputs& in) { return broadcastLeading(g, in[0], 5); }};
    cases["unfoldPatches"] = {
        {{2, 3, 9, 8}}, [](Graph& g, const Inputs& in) { return unfoldPatches(g, in[0], 4); }};
    cases["resamplePositions"] = {{{16, 5}}, [](Graph& g, const Inputs& in) {
                                      const auto map = [&](Index to) {
                                          return Tensor::fromHost<double>(g.stream(), g.device(),
                                                                          {to, 4},
                                                                          cubicResampling(4, to));
                                      };
                                      return resamplePositions(g, in[0], 4, map(3), map(6));
                                  }};
    for (const bool last : {true, false}) {
        const std::string suffix = last ? ", channels last" : "";
        const Shape x = last ? Shape{2, 4, 6, 8} : Shape{2, 8, 4, 6};
        cases["upsampleNearest2" + suffix] = {
            {x}, [last](Graph& g, const Inputs& in) { return upsampleNearest2(g, in[0], last); }};
        cases["pixelShuffle" + suffix] = {
            {x}, [last](Graph& g, const Inputs& in) { return pixelShuffle(g, in[0], 2, last); }};
        cases["pixelUnshuffle" + suffix] = {
            {x}, [last](Graph& g, const Inputs& in) { return pixelUnshuffle(g, in[0], 2, last); }};
    }
}

void addLosses(std::map<std::string, TapeCase>& cases)
{
    cases["crossEntropy"] = {{{4, 7}}, [](Graph& g, const Inputs& in) {
                                 return crossEntropy(g, in[0], integers(g, {3, -1, 0, 6}));
                             }};
    cases["linearCrossEntropy"] = {
        {{5, 6}, {9, 6}}, [](Graph& g, const Inputs& in) {
            return linearCrossEntropy(g, in[0], in[1], integers(g, {8, -1, 0, 3, 3}), 2);
        }};
    cases["linearCrossEntropy with tied weight"] = {
        {{9, 6}}, [](Graph& g, const Inputs& in) {
            const Value hidden = gatherRows(g, in[0], integers(g, {1, 5, 5}));
            return linearCrossEntropy(g, hidden, in[0], integers(g, {2, 0, 7}));
        }};
    cases["meanSquaredError"] = {{{3, 5}, {3, 5}}, [](Graph& g, const Inputs& in) {
                                     return meanSquaredError(g, in[0], in[1]);
                                 }};
    cases["smoothL1"] = {{{3, 5}, {3, 5}},
                         [](Graph& g, const Inputs& in) { return smoothL1(g, in[0], in[1], 0.5); }};
    cases["smoothAbsoluteError"] = {{{3, 5}, {3, 5}}, [](Graph& g, const Inputs& in) {
                                        return smoothAbsoluteError(g, in[0], in[1], 0.1);
                                    }};
    cases["losses weighted and added"] = {{{3, 5}, {3, 5}}, [](Graph& g, const Inputs& in) {
                                              return addScaled(
                                                  g, 1, meanSquaredError(g, in[0], in[1]), 0.5,
                                                  crossEntropy(g, in[0], integers(g, {1, 2, 4})));
                                          }};
}

const std::map<std::string, TapeCase>& cases()
{
    static const auto all = [] {
        std::map<std::string, TapeCase> result;
        addDense(result);
        addPointwise(result);
        addNorms(result);
        addAttention(result);
        addStructure(result);
        addLosses(result);
        return result;
    }();
    return all;
}
} // namespace

class TestFunctions : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void derivativeIsThatOfCentralDifferences_data();
    void derivativeIsThatOfCentralDifferences();
    void castRoundsForthAndBack();
    void sixteenBitVariablesTakeRoundedSums();
    void shapesThatDoNotFitAreNamed();
};

void TestFunctions::derivativeIsThatOfCentralDifferences_data()
{
    QTest::addColumn<int>("device");
    QTest::addColumn<std::string>("name");
    QTest::addColumn<bool>("strided");
    forEachDevice([](const std::string& name, int device) {
        const bool isThere = static_cast<std::size_t>(device) < devices().devices.size();
        for (const auto& [what, tested] : cases()) {
            for (const bool strided : {false, true})
                QTest::addRow("%s, %s%s", name.c_str(), what.c_str(), strided ? ", strided" : "")
                    << device << what << strided;
            if (!isThere)
                break;
        }
    });
}

void TestFunctions::derivativeIsThatOfCentralDifferences()
{
    VERGENCE_ROW_DEVICE(device);
    QFETCH(std::string, name);
    QFETCH(bool, strided);
    VERGENCE_AGREES(TapeCheck(device, cases().at(name), strided).run());
}

void TestFunctions::castRoundsForthAndBack()
{
    const auto device = devices().devices.front();
    const auto stream = device->createStream();
    Graph graph(*stream, device, {});
    const std::vector<float> numbers{1.0f, 1.00390625f, -3.1415927f};
    const Value x = graph.variable(Tensor::fromHost<float>(*stream, device, {3}, numbers));
    const Value half = cast(graph, x, DType::BF16);
    QCOMPARE(graph.tensor(half).dtype(), DType::BF16);
    const Value y = cast(graph, half, DType::F32);
    QCOMPARE(graph.tensor(y).toHost<float>(*stream), (std::vector<float>{1.0f, 1.0f, -3.140625f}));
    const std::vector<float> weights{1.0f, 2.0f, 1.00390625f};
    graph.backward(weightedSum(graph, y, Tensor::fromHost<float>(*stream, device, {3}, weights)));
    QCOMPARE(graph.gradient(x).toHost<float>(*stream), (std::vector<float>{1.0f, 2.0f, 1.0f}));
}

void TestFunctions::sixteenBitVariablesTakeRoundedSums()
{
    const auto device = devices().devices.front();
    const auto stream = device->createStream();
    Graph graph(*stream, device, {true, DType::BF16});
    const auto make = [&](Shape shape, int seed) {
        const auto values = numbers(elementCount(shape), seed);
        std::vector<BFloat16> rounded;
        for (const double value : values)
            rounded.emplace_back(static_cast<float>(value));
        return graph.variable(Tensor::fromHost<BFloat16>(*stream, device, shape, rounded));
    };
    const Value x = make({8, 16}, 1), w = make({4, 16}, 2), b = make({4}, 3);
    LinearOptions options;
    options.bias = b;
    const Value y = linear(graph, x, w, options);
    const std::vector<float> ones(32, 1.0f);
    graph.backward(weightedSum(graph, y, Tensor::fromHost<float>(*stream, device, {8, 4}, ones)));
    const auto bits = graph.gradient(b).toHost<BFloat16>(*stream);
    for (const BFloat16 sum : bits)
        QCOMPARE(static_cast<float>(sum), 8.0f);
    QCOMPARE(graph.gradient(w).dtype(), DType::BF16);
}

void TestFunctions::shapesThatDoNotFitAreNamed()
{
    const auto device = devices().devices.front();
    const auto stream = device->createStream();
    Graph graph(*stream, device, {});
    const auto make = [&](Shape shape) {
        return graph.variable(Tensor::zeros(*stream, device, std::move(shape)));
    };
    const Value x = make({2, 3}), w = make({4, 5});
    VERGENCE_THROWS(ContractError, "[2, 3]", linear(graph, x, w));
    VERGENCE_THROWS(ContractError, "[4, 5]", linear(graph, x, w));
    VERGENCE_THROWS(ContractError, "[4, 5]", add(graph, x, w));
    VERGENCE_THROWS(ContractError, "[2, 3]", swiglu(graph, x));
    VERGENCE_THROWS(ContractError, "[4, 5]", concat(graph, {x, w}, 0));
    VERGENCE_THROWS(ContractError, "[1, 2, 10]", attentionPacked(graph, make({1, 2, 10}), 2, 1));
}

VERGENCE_TEST(TestFunctions)
#include "tst_functions.moc"
