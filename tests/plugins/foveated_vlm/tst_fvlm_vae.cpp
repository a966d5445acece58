#include <algorithm>
#include <cmath>
#include <map>

#include <QTemporaryDir>
#include <QTest>

#include "core/artifact/safetensors.h"
#include "core/artifact/weights.h"
#include "core/compute/graph/functions.h"
#include "plugins/foveated_vlm/encoder/vae_encoder.h"
#include "tests/core/compute/graph/tape_check.h"
#include "tests/support/device_table.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::fvlm;
using namespace vergence::test;

namespace {

/// An image [channels, height, width].
struct Picture {
    int channels = 0, height = 0, width = 0;
    std::vector<double> values;

    Picture(int c, int h, int w)
        : channels(c),
          height(h),
          width(w),
          values(static_cast<std::size_t>(c * h * w), 0.0)
    {
    }
    double& at(int c, int y, int x)
    {
        return values[static_cast<std::size_t>((c * height + y) * width + x)];
    }
    double at(int c, int y, int x) const
    {
        return values[static_cast<std::size_t>((c * height + y) * width + x)];
    }
    /// 0 beyond the border.
    double padded(int c, int y, int x) const
    {
        return y < 0 || x < 0 || y >= height || x >= width ? 0 : at(c, y, x);
    }
};

/// The encoder written out in the order of its description, image by image.
class PlainVae {
public:
    PlainVae(std::map<std::string, std::vector<double>> weights, VaeConfig config)
        : m_weights(std::move(weights)),
          m_config(std::move(config))
    {
    }

    Picture latents(const Picture& pixels) const
    {
        const int levels = static_cast<int>(m_config.widths.size());
        Picture x = convolve("encoder.conv_in", pixels, 3, 1);
        for (int i = 0; i < levels; ++i) {
            const std::string level = "encoder.down_blocks." + std::to_string(i);
            for (int j = 0; j < m_config.blocksPerLevel; ++j)
                x = residual(level + ".resnets." + std::to_string(j), x);
            if (i + 1 < levels)
                x = convolve(level + ".downsamplers.0.conv", x, 3, 2);
        }
        x = residual("encoder.mid_block.resnets.0", x);
        x = attend("encoder.mid_block.attentions.0", x);
        x = residual("encoder.mid_block.resnets.1", x);
        x = convolve("encoder.conv_out", silu(norm("encoder.conv_norm_out", x)), 3, 1);
        x = convolve("quant_conv", x, 1, 1);
        Picture mean(4, x.height, x.width);
        for (std::size_t i = 0; i < mean.values.size(); ++i)
            mean.values[i] = 0.18215 * x.values[i];
        return mean;
    }

private:
    const std::vector<double>& weight(const std::string& name) const { return m_weights.at(name); }

    Picture convolve(const std::string& name, const Picture& x, int side, int stride) const
    {
        const auto &kernel = weight(name + ".weight"), &bias = weight(name + ".bias");
        const int out = static_cast<int>(bias.size());
        // Where it strides one row below and one column to the right are added, else all around.
        const int before = stride == 1 ? side / 2 : 0;
        Picture y(out, x.height / stride, x.width / stride);
        for (int o = 0; o < out; ++o) {
            for (int row = 0; row < y.height; ++row) {
                for (int column = 0; column < y.width; ++column) {
                    double sum = bias[static_cast<std::size_t>(o)];
                    for (int c = 0; c < x.channels; ++c) {
                        for (int dy = 0; dy < side; ++dy) {
                            for (int dx = 0; dx < side; ++dx)
                                sum += kernel[static_cast<std::size_t>(
                                           ((o * x.channels + c) * side + dy) * side + dx)] *
                                       x.padded(c, row * stride + dy - before,
                                                column * stride + dx - before);
                        }
                    }
                    y.at(o, row, column) = sum;
                }
            }
        }
        return y;
    }

    Picture norm(const std::string& name, const Picture& x) const
    {
        const auto &scale = weight(name + ".weight"), &bias = weight(name + ".bias");
        const int each = x.channels / m_config.groups;
        const std::size_t area = static_cast<std::size_t>(x.height * x.width);
        Picture y = x;
        for (int group = 0; group < m_config.groups; ++group) {
            const std::size_t first = static_cast<std::size_t>(group * each) * area;
            const std::size_t count = static_cast<std::size_t>(each) * area;
            double mean = 0, variance = 0;
            for (std::size_t i = first; i < first + count; ++i)
                mean += x.values[i] / static_cast<double>(count);
            for (std::size_t i = first; i < first + count; ++i)
                variance +=
                    (x.values[i] - mean) * (x.values[i] - mean) / static_cast<double>(count);
            for (std::size_t i = first; i < first + count; ++i)
                y.values[i] = (x.values[i] - mean) / std::sqrt(variance + 1e-6) * scale[i / area] +
                              bias[i / area];
        }
        return y;
    }

    static Picture silu(Picture x)
    {
        for (double& value : x.values)
            value /= 1 + std::exp(-value);
        return x;
    }

    static Picture sum(Picture a, const Picture& b)
    {
        for (std::size_t i = 0; i < a.values.size(); ++i)
            a.values[i] += b.values[i];
        return a;
    }

    Picture residual(const std::string& name, const Picture& x) const
    {
        const Picture first = convolve(name + ".conv1", silu(norm(name + ".norm1", x)), 3, 1);
        const Picture second = convolve(name + ".conv2", silu(norm(name + ".norm2", first)), 3, 1);
        const bool widens = m_weights.contains(name + ".conv_shortcut.weight");
        return sum(second, widens ? convolve(name + ".conv_shortcut", x, 1, 1) : x);
    }

    Picture attend(const std::string& name, const Picture& x) const
    {
        const Picture normed = norm(name + ".group_norm", x);
        const Picture q = convolve(name + ".to_q", normed, 1, 1);
        const Picture k = convolve(name + ".to_k", normed, 1, 1);
        const Picture v = convolve(name + ".to_v", normed, 1, 1);
        const int places = x.height * x.width;
        const auto value = [&](const Picture& p, int c, int place) {
            return p.values[static_cast<std::size_t>(c * places + place)];
        };
        Picture mixed(x.channels, x.height, x.width);
        for (int to = 0; to < places; ++to) {
            std::vector<double> weights;
            double total = 0;
            for (int from = 0; from < places; ++from) {
                double dot = 0;
                for (int c = 0; c < x.channels; ++c)
                    dot += value(q, c, to) * value(k, c, from);
                weights.push_back(std::exp(dot / std::sqrt(static_cast<double>(x.channels))));
                total += weights.back();
            }
            for (int c = 0; c < x.channels; ++c) {
                double result = 0;
                for (int from = 0; from < places; ++from)
                    result += weights[static_cast<std::size_t>(from)] / total * value(v, c, from);
                mixed.values[static_cast<std::size_t>(c * places + to)] = result;
            }
        }
        return sum(convolve(name + ".to_out.0", mixed, 1, 1), x);
    }

    std::map<std::string, std::vector<double>> m_weights;
    VaeConfig m_config;
};

VaeConfig narrowConfig()
{
    VaeConfig config;
    config.widths = {4, 8, 12, 12};
    config.groups = 4;
    return config;
}

struct Setup {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream;
    ParameterSet parameters;
    VaeEncoder encoder;

    explicit Setup(const VaeConfig& config, DType type = DType::F64, DType compute = DType::F64,
                   std::shared_ptr<Device> on = devices().devices.front())
        : device(std::move(on)),
          stream(device->createStream()),
          parameters(device, type, compute),
          encoder({parameters, {}, {}}, config)
    {
    }
    /// Values that leave nothing without influence.
    void fill()
    {
        parameters.allocate(*stream);
        for (int i = 0; i < parameters.count(); ++i) {
            const Parameter& parameter = parameters[i];
            auto values = numbers(parameter.value.size(), 10 + i);
            const bool isNorm = parameter.name.find("norm") != std::string::npos &&
                                parameter.name.ends_with("weight");
            const double fanIn = parameter.shape.size() > 1
                                     ? static_cast<double>(parameter.value.size()) /
                                           static_cast<double>(parameter.shape[0])
                                     : 16;
            for (double& value : values)
                value = isNorm ? 1 + 0.3 * value : value * 1.7 / std::sqrt(fanIn);
            put(parameter.value, values);
        }
        parameters.refreshShadows(*stream);
    }
    void put(const Tensor& target, const std::vector<double>& values)
    {
        if (target.dtype() == DType::F64) {
            stream->copy(target.data(), values.data(), target.bytes());
            return;
        }
        const std::vector<float> single(values.begin(), values.end());
        stream->copy(target.data(), single.data(), target.bytes());
        stream->synchronize();
    }
    std::vector<float> latents(const std::vector<double>& pixels, Shape shape)
    {
        Graph graph(*stream, device, {false, parameters.computeType()});
        const ForwardPass pass{graph, parameters, nullptr, false, {}};
        const std::vector<float> single(pixels.begin(), pixels.end());
        const Value image =
            graph.constant(Tensor::fromHost<float>(*stream, device, std::move(shape), single));
        const Value result = cast(graph, encoder.latents(pass, image), DType::F32);
        return graph.dense(result).toHost<float>(*stream);
    }
    std::map<std::string, std::vector<double>> weights()
    {
        std::map<std::string, std::vector<double>> result;
        for (int i = 0; i < parameters.count(); ++i)
            result[parameters[i].name] = parameters[i].value.toHost<double>(*stream);
        return result;
    }
};

/// What the names of today are called elsewhere.
std::string renamed(std::string name, const std::vector<std::pair<std::string, std::string>>& parts)
{
    for (const auto& [from, to] : parts) {
        if (const auto at = name.find(from); at != std::string::npos)
            name.replace(at, from.size(), to);
    }
    return name;
}

std::string originalName(const std::string& name)
{
    return "first_stage_model." +
           renamed(name, {{"down_blocks.", "down."},
                          {".resnets.0.",
                           name.find("mid_block") == std::string::npos ? ".block.0." : ".block_1."},
                          {".resnets.1.",
                           name.find("mid_block") == std::string::npos ? ".block.1." : ".block_2."},
                          {"mid_block.", "mid."},
                          {"downsamplers.0.", "downsample."},
                          {"conv_shortcut", "nin_shortcut"},
                          {"attentions.0.group_norm", "attn_1.norm"},
                          {"attentions.0.to_q", "attn_1.q"},
                          {"attentions.0.to_k", "attn_1.k"},
                          {"attentions.0.to_v", "attn_1.v"},
                          {"attentions.0.to_out.0", "attn_1.proj_out"},
                          {"conv_norm_out", "norm_out"}});
}

std::string olderName(const std::string& name)
{
    return renamed(
        name, {{"to_q", "query"}, {"to_k", "key"}, {"to_v", "value"}, {"to_out.0", "proj_attn"}});
}

} // namespace

class TestFvlmVae : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void countIsThePublished();
    void latentsAreTheFormula_data();
    void latentsAreTheFormula();
    void rightAndBottomArePadded();
    void halfPrecisionStaysNear();
    void singlePrecisionStaysNear_data();
    void singlePrecisionStaysNear();
    void temporariesAreNotKept();
    void allNamesLoadEqually_data();
    void allNamesLoadEqually();
    void whatDoesNotFitIsRefused();
};

void TestFvlmVae::countIsThePublished()
{
    const Setup setup{VaeConfig{}};
    Index count = 0;
    for (int i = 0; i < setup.parameters.count(); ++i)
        count += elementCount(setup.parameters[i].shape);
    QCOMPARE(count, Index{34'163'664});
    QCOMPARE(setup.encoder.reduction(), Index{8});
}

void TestFvlmVae::latentsAreTheFormula_data()
{
    QTest::addColumn<int>("height");
    QTest::addColumn<int>("width");
    QTest::addRow("8 by 8") << 8 << 8;
    QTest::addRow("16 by 40") << 16 << 40;
}

void TestFvlmVae::latentsAreTheFormula()
{
    QFETCH(int, height);
    QFETCH(int, width);
    Setup setup{narrowConfig()};
    setup.fill();
    const auto pixels = numbers(2 * 3 * height * width, 3);
    Graph graph(*setup.stream, setup.device, {false, DType::F64});
    const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
    const Value y = setup.encoder.latents(
        pass, graph.constant(Tensor::fromHost<double>(*setup.stream, setup.device,
                                                      {2, 3, height, width}, pixels)));
    QCOMPARE(graph.shape(y), (Shape{2, 4, height / 8, width / 8}));
    const auto got = graph.dense(y).toHost<double>(*setup.stream);
    const PlainVae plain(setup.weights(), narrowConfig());
    std::vector<double> expected;
    for (std::size_t image = 0; image < 2; ++image) {
        Picture picture(3, height, width);
        const std::size_t size = picture.values.size();
        std::copy_n(pixels.begin() + static_cast<std::ptrdiff_t>(image * size), size,
                    picture.values.begin());
        const Picture mean = plain.latents(picture);
        expected.insert(expected.end(), mean.values.begin(), mean.values.end());
    }
    QVERIFY(std::abs(expected[0]) > 1e-3);
    VERGENCE_AGREES(difference(got, expected, 1e-12, 1e-11));
}

/// A level that only halves: its kernel reads at (2y + dy, 2x + dx), never at −1.
void TestFvlmVae::rightAndBottomArePadded()
{
    VaeConfig config;
    config.widths = {4, 4};
    config.groups = 4;
    config.blocksPerLevel = 1;
    Setup setup{config};
    setup.fill();
    std::vector<double> pixels(3 * 4 * 4, 0.0);
    const auto plain = [&] {
        Picture picture(3, 4, 4);
        picture.values = pixels;
        return PlainVae(setup.weights(), config).latents(picture).values;
    };
    for (const std::size_t at : {0u, 15u, 3u, 12u}) {
        pixels.assign(pixels.size(), 0.0);
        pixels[at] = 1;
        VERGENCE_AGREES(difference(setup.latents(pixels, {1, 3, 4, 4}), plain(), 1e-6, 1e-6));
    }
}

void TestFvlmVae::singlePrecisionStaysNear_data()
{
    addDeviceRows();
}

void TestFvlmVae::singlePrecisionStaysNear()
{
    VERGENCE_ROW_DEVICE(device);
    Setup wide{narrowConfig()}, single{narrowConfig(), DType::F32, DType::F32, device};
    wide.fill();
    single.fill();
    const auto pixels = numbers(3 * 16 * 24, 3);
    VERGENCE_AGREES(difference(single.latents(pixels, {1, 3, 16, 24}),
                               wide.latents(pixels, {1, 3, 16, 24}), 1e-5, 1e-4));
}

void TestFvlmVae::halfPrecisionStaysNear()
{
    VaeConfig config = narrowConfig();
    config.widths = {16, 32, 32, 32};
    Setup wide{config}, half{config, DType::F32, DType::BF16};
    wide.fill();
    half.fill();
    const auto pixels = numbers(3 * 16 * 16, 3);
    const auto expected = wide.latents(pixels, {1, 3, 16, 16});
    const auto got = half.latents(pixels, {1, 3, 16, 16});
    double dot = 0, a = 0, b = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        dot += static_cast<double>(expected[i]) * got[i];
        a += static_cast<double>(expected[i]) * expected[i];
        b += static_cast<double>(got[i]) * got[i];
    }
    QVERIFY2(dot / std::sqrt(a * b) > 0.999, qPrintable(QString::number(dot / std::sqrt(a * b))));
}

/// Of the first level alone, at full size, twelve tensors are made.
void TestFvlmVae::temporariesAreNotKept()
{
    Setup setup{narrowConfig(), DType::F32, DType::F32};
    setup.fill();
    Graph graph(*setup.stream, setup.device, {false, DType::F32});
    const ForwardPass pass{graph, setup.parameters, nullptr, false, {}};
    const Value image = graph.constant(Tensor::zeros(*setup.stream, setup.device, {1, 3, 96, 96}));
    (void)setup.encoder.latents(pass, image);
    const std::size_t one = 96 * 96 * 4 * sizeof(float);
    QVERIFY2(graph.peakBytes() < 14 * one, qPrintable(QString::number(graph.peakBytes() / one)));
}

void TestFvlmVae::allNamesLoadEqually_data()
{
    QTest::addColumn<int>("style");
    QTest::addRow("today's") << 0;
    QTest::addRow("older") << 1;
    QTest::addRow("original") << 2;
}

void TestFvlmVae::allNamesLoadEqually()
{
    QFETCH(int, style);
    Setup from{narrowConfig()}, into{narrowConfig()};
    from.fill();
    into.parameters.allocate(*into.stream);
    std::vector<HostTensor> tensors;
    for (int i = 0; i < from.parameters.count(); ++i) {
        const Parameter& parameter = from.parameters[i];
        HostTensor tensor;
        tensor.name = style == 0   ? parameter.name
                      : style == 1 ? olderName(parameter.name)
                                   : originalName(parameter.name);
        tensor.dtype = DType::F64;
        tensor.shape = parameter.shape;
        if (style == 2 && parameter.name.find("attentions.0.to_") != std::string::npos &&
            tensor.shape.size() == 2)
            tensor.shape.insert(tensor.shape.end(), {1, 1}); // 1×1 kernels
        tensor.bytes.resize(parameter.value.bytes());
        from.stream->copy(tensor.bytes.data(), parameter.value.data(), parameter.value.bytes());
        tensors.push_back(std::move(tensor));
    }
    // What is not the encoder's is passed over.
    HostTensor other = tensors.front();
    for (const char* name : {"decoder.conv_in.weight", "post_quant_conv.weight"}) {
        other.name = (style == 2 ? "first_stage_model." : "") + std::string(name);
        tensors.push_back(other);
    }
    const QTemporaryDir folder;
    const std::filesystem::path path = folder.filePath("model.safetensors").toStdString();
    writeSafetensors(path, tensors, {});
    const VaeNames vae = vaeNames();
    NameMap names;
    for (const std::string& prefix : vae.prefixes)
        names.dropPrefix(prefix);
    for (const std::string& part : vae.unwanted)
        names.ignore(part);
    for (const auto& [part, replacement] : vae.replacements)
        names.replace(part, replacement);
    const WeightReport report =
        loadWeights(*into.stream, into.parameters, WeightFile::open(path), names);
    QVERIFY(report.unexpected.empty());
    QVERIFY(into.weights() == from.weights());
}

void TestFvlmVae::whatDoesNotFitIsRefused()
{
    VaeConfig config = narrowConfig();
    config.widths[1] = 9;
    VERGENCE_THROWS(ContractError, "9 channels in 4 groups", Setup{config});
    config.widths.clear();
    VERGENCE_THROWS(ContractError, "no levels", Setup{config});
    Setup setup{narrowConfig()};
    setup.fill();
    VERGENCE_THROWS(ContractError, "multiple of 8",
                    (void)setup.latents(numbers(3 * 8 * 12, 1), {1, 3, 8, 12}));
    VERGENCE_THROWS(ContractError, "[1, 1, 8, 8] is not",
                    (void)setup.latents(numbers(64, 1), {1, 1, 8, 8}));
}

VERGENCE_TEST(TestFvlmVae)
#include "tst_fvlm_vae.moc"
