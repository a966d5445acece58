#include <algorithm>
#include <cmath>

#include <QTest>

#include "tests/plugins/mc_embedding/encoder_setup.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::mc_embedding;

namespace {

using Numbers = std::vector<double>;

/// SigLIP's pooling in double precision, number by number, from the weights of an encoder.
class HeadReference {
public:
    HeadReference(Stream& stream, Encoder& encoder)
        : m_stream(stream),
          m_parameters(encoder.parameters()),
          m_tower(encoder.tower())
    {
    }

    /// tokens [n, w] after the last block → feature [w].
    Numbers operator()(const std::vector<Numbers>& tokens)
    {
        const auto w = static_cast<std::size_t>(m_tower.width);
        std::vector<Numbers> normed;
        for (const Numbers& token : tokens)
            normed.push_back(norm("vision_model.post_layernorm", token));
        const std::string attention = "vision_model.head.attention.";
        const Numbers weight = values(attention + "in_proj_weight"),
                      bias = values(attention + "in_proj_bias");
        const Numbers query = rows(weight, bias, 0, values("vision_model.head.probe"));
        std::vector<Numbers> keys, held;
        for (const Numbers& token : normed) {
            keys.push_back(rows(weight, bias, w, token));
            held.push_back(rows(weight, bias, 2 * w, token));
        }
        const Numbers context = attend(query, keys, held);
        const Numbers result = linear(attention + "out_proj", context);
        Numbers inner =
            linear("vision_model.head.mlp.fc1", norm("vision_model.head.layernorm", result));
        for (double& x : inner)
            x = 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
        Numbers feature = linear("vision_model.head.mlp.fc2", inner);
        for (std::size_t i = 0; i < w; ++i)
            feature[i] += result[i];
        return feature;
    }

    Numbers values(const std::string& name)
    {
        const int index = m_parameters.find(name);
        if (index < 0)
            throw ContractError("no parameter " + name);
        const auto host = m_parameters[index].value.toHost<float>(m_stream);
        return {host.begin(), host.end()};
    }

private:
    Numbers linear(const std::string& name, const Numbers& x)
    {
        const Numbers weight = values(name + ".weight"), bias = values(name + ".bias");
        Numbers y = bias;
        for (std::size_t i = 0; i < y.size(); ++i)
            for (std::size_t j = 0; j < x.size(); ++j)
                y[i] += weight[i * x.size() + j] * x[j];
        return y;
    }
    /// Rows [first, first + w) of a joined layer.
    static Numbers rows(const Numbers& weight, const Numbers& bias, std::size_t first,
                        const Numbers& x)
    {
        Numbers y(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            y[i] = bias[first + i];
            for (std::size_t j = 0; j < x.size(); ++j)
                y[i] += weight[(first + i) * x.size() + j] * x[j];
        }
        return y;
    }
    Numbers norm(const std::string& name, const Numbers& x)
    {
        const Numbers weight = values(name + ".weight"), bias = values(name + ".bias");
        double mean = 0, variance = 0;
        for (const double v : x)
            mean += v / static_cast<double>(x.size());
        for (const double v : x)
            variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
        Numbers y(x.size());
        for (std::size_t i = 0; i < x.size(); ++i)
            y[i] = (x[i] - mean) / std::sqrt(variance + m_tower.epsilon) * weight[i] + bias[i];
        return y;
    }
    Numbers attend(const Numbers& query, const std::vector<Numbers>& keys,
                   const std::vector<Numbers>& held) const
    {
        const auto size = static_cast<std::size_t>(m_tower.headSize());
        Numbers context(query.size(), 0);
        for (std::size_t first = 0; first < query.size(); first += size) {
            Numbers weights;
            double most = -HUGE_VAL, total = 0;
            for (const Numbers& key : keys) {
                double score = 0;
                for (std::size_t d = first; d < first + size; ++d)
                    score += query[d] * key[d];
                weights.push_back(score / std::sqrt(static_cast<double>(size)));
                most = std::max(most, weights.back());
            }
            for (double& weight : weights)
                total += weight = std::exp(weight - most);
            for (std::size_t t = 0; t < keys.size(); ++t)
                for (std::size_t d = first; d < first + size; ++d)
                    context[d] += weights[t] / total * held[t][d];
        }
        return context;
    }

    Stream& m_stream;
    ParameterSet& m_parameters;
    TowerShape m_tower;
};

/// The block adds nothing, so that tokens are patches and positions.
void silenceBlock(Stream& stream, Encoder& encoder)
{
    ParameterSet& parameters = encoder.parameters();
    for (const char* name : {"self_attn.out_proj", "mlp.fc2"}) {
        for (const char* part : {".weight", ".bias"}) {
            const int index =
                parameters.find("vision_model.encoder.layers.0." + std::string(name) + part);
            if (index < 0)
                throw ContractError("no such parameter");
            const Tensor& value = parameters[index].value;
            const std::vector<float> zeros(static_cast<std::size_t>(value.size()), 0);
            stream.copy(value.data(), zeros.data(), value.bytes());
        }
    }
    encoder.refreshWeights(stream);
}

std::vector<Numbers> tokensOf(HeadReference& reference, const TowerShape& tower,
                              const std::vector<float>& pixels)
{
    const Numbers weight = reference.values("vision_model.embeddings.patch_embedding.weight"),
                  bias = reference.values("vision_model.embeddings.patch_embedding.bias"),
                  positions = reference.values("vision_model.embeddings.position_embedding.weight");
    const auto w = static_cast<std::size_t>(tower.width),
               side = static_cast<std::size_t>(tower.imageSize),
               patch = static_cast<std::size_t>(tower.patch),
               grid = static_cast<std::size_t>(tower.grid()), area = patch * patch;
    std::vector<Numbers> tokens;
    for (std::size_t n = 0; n < grid * grid; ++n) {
        Numbers token(w);
        for (std::size_t i = 0; i < w; ++i) {
            token[i] = bias[i] + positions[n * w + i];
            for (std::size_t k = 0; k < 3 * area; ++k) {
                const std::size_t y = n / grid * patch + k % area / patch,
                                  x = n % grid * patch + k % patch;
                token[i] += weight[i * 3 * area + k] * pixels[(k / area * side + y) * side + x];
            }
        }
        tokens.push_back(std::move(token));
    }
    return tokens;
}

} // namespace

/// V19: SigLIP's head against scalar arithmetic in double precision, on shapes drawn at random and
/// some that are chosen (head dimension 72, one token).
class TestMcMapHead : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void headEqualsItsReference_data()
    {
        QTest::addColumn<int>("device");
        QTest::addColumn<int>("heads");
        QTest::addColumn<int>("headSize");
        QTest::addColumn<int>("grid");
        QTest::addColumn<int>("hidden");
        test::forEachDevice([](const std::string& name, int device) {
            const auto row = [&](int heads, int size, int grid, int hidden) {
                QTest::addRow("%s, %d heads of %d, %d tokens, hidden %d", name.c_str(), heads, size,
                              grid * grid, hidden)
                    << device << heads << size << grid << hidden;
            };
            row(2, 72, 1, 304);
            row(2, 72, 7, 304);
            row(1, 96, 4, 16);
            const Rng random(19);
            for (std::uint64_t i = 0; i < 8; ++i) {
                const auto draw = [&](std::uint64_t k, int n) {
                    return static_cast<int>(random.bits(4 * i + k) % static_cast<unsigned>(n));
                };
                row(1 + draw(0, 4), 16 * (1 + draw(1, 5)), 1 + draw(2, 7), 16 * (1 + draw(3, 20)));
            }
        });
    }
    void headEqualsItsReference()
    {
        VERGENCE_ROW_DEVICE(device);
        QFETCH(int, heads);
        QFETCH(int, headSize);
        QFETCH(int, grid);
        QFETCH(int, hidden);
        TowerShape tower = towerShape("tiny_siglip").value();
        tower.patch = 4;
        tower.imageSize = 4 * grid;
        tower.heads = heads;
        tower.width = tower.feature = Index{heads} * headSize;
        tower.hidden = hidden;
        tower.layers = 1;
        const auto stream = device->createStream();
        Encoder encoder(*stream, device, tower);
        setDemoWeights(*stream, encoder, 42);
        silenceBlock(*stream, encoder);
        std::vector<float> pixels(static_cast<std::size_t>(3 * tower.imageSize * tower.imageSize));
        const Rng random(7);
        for (std::size_t i = 0; i < pixels.size(); ++i)
            pixels[i] = 2 * random.uniform(i) - 1;
        const std::uint32_t ids[] = {0};
        encoder.begin(*stream,
                      Tensor::fromHost<float>(*stream, device,
                                              {1, 3, tower.imageSize, tower.imageSize}, pixels),
                      ids);
        const auto got = encoder.deterministic().toHost<float>(*stream);
        HeadReference reference(*stream, encoder);
        const Numbers want = reference(tokensOf(reference, tower, pixels));
        double largest = 0, most = 0;
        for (const double value : want)
            largest = std::max(largest, std::abs(value));
        for (std::size_t i = 0; i < want.size(); ++i)
            most = std::max(most, std::abs(got[i] - want[i]) / largest);
        QVERIFY2(most < 1e-5, qPrintable(QString::number(most)));
    }
};

VERGENCE_TEST(TestMcMapHead)
#include "tst_mc_map_head.moc"
