#include <cmath>
#include <numeric>

#include <QTest>

#include "core/compute/nn/siglip.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;

namespace {

/// A text tower whose weights are sines: 12 ids, width 8, 2 heads, 2 blocks, 10 features.
struct SineText {
    static constexpr Index kVocabulary = 12, kWidth = 8, kFeatures = 10;

    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream;
    ParameterSet parameters;
    SiglipTextTower tower;

    SineText(std::shared_ptr<Device> on, DType type, Index context)
        : device(std::move(on)),
          stream(device->createStream()),
          parameters(device, type, type),
          tower({parameters, {}}, {kWidth, 2, 2, 16, Activation::GeluTanh, 1e-6}, kVocabulary,
                context, kFeatures)
    {
        parameters.allocate(*stream);
        const std::vector<std::string> order = names();
        for (std::size_t k = 0; k < order.size(); ++k)
            fill(order[k], static_cast<double>(k));
    }
    static std::vector<std::string> names()
    {
        std::vector<std::string> names{"embeddings.token_embedding.weight",
                                       "embeddings.position_embedding.weight"};
        for (const char* block : {"encoder.layers.0.", "encoder.layers.1."}) {
            for (const char* part :
                 {"layer_norm1", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                  "self_attn.out_proj", "layer_norm2", "mlp.fc1", "mlp.fc2"}) {
                names.push_back(std::string(block) + part + ".weight");
                names.push_back(std::string(block) + part + ".bias");
            }
        }
        names.insert(names.end(), {"final_layer_norm.weight", "final_layer_norm.bias",
                                   "head.weight", "head.bias"});
        return names;
    }
    void fill(const std::string& name, double k)
    {
        const Tensor target = parameters.named("text_model." + name);
        std::vector<double> values(static_cast<std::size_t>(target.size()));
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double s = std::sin(0.5 + 1.3 * k + 0.9 * static_cast<double>(i));
            const bool isNorm = name.find("norm") != std::string::npos;
            values[i] = name.ends_with("bias") ? 0.05 * s : isNorm ? 1 + 0.1 * s : 0.4 * s;
        }
        const std::vector<float> single(values.begin(), values.end());
        const bool isDouble = target.dtype() == DType::F64;
        stream->copy(target.data(),
                     isDouble ? static_cast<const void*>(values.data()) : single.data(),
                     target.bytes());
    }
    std::vector<double> run(const std::vector<std::int32_t>& ids, Index texts)
    {
        Graph graph(*stream, device, {false, parameters.computeType()});
        const ForwardPass pass{graph, parameters, nullptr, false, {}};
        const Tensor& y = graph.dense(tower(pass, ids, texts));
        if (y.dtype() == DType::F64)
            return y.toHost<double>(*stream);
        const auto single = y.toHost<float>(*stream);
        return {single.begin(), single.end()};
    }
};

// SiglipTextModel of the public library `transformers` 5.23 with the same weights, in double.
const std::vector<std::int32_t> kIds{3, 7, 1, 0, 0, 0, 11, 1, 0, 0, 0, 0, 3, 7, 1, 4, 5, 6};
const std::vector<double> kFeatures{
    0.126849788309,   0.967685751966,  1.04961733805,   0.309564237507,  -0.671829981386,
    -1.1257424156,    -0.697463003524, 0.276396466486,  1.03243346356,   0.978865574957,
    -0.0863522753047, 0.664294090058,  0.893681968981,  0.423228925908,  -0.377598487111,
    -0.881414871364,  -0.694420532374, 0.0357707048969, 0.736620995658,  0.859575529146,
    0.553073763521,   1.15338020402,   0.849328290854,  -0.119822424842, -0.993976815158,
    -1.08831265285,   -0.329775279005, 0.68633332483,   1.16351699233,   0.728418390704};
/// Of ids 3 7 1 alone, as a model gives them where the padding is left out.
const std::vector<double> kUnpadded{
    -0.333145903315, -0.0240089364037, 0.303015495102,  0.392866500701,  0.176125944194,
    -0.177334474811, -0.39148849412,   -0.299731484284, 0.0254825617705, 0.329833716188};

double cosine(const std::vector<double>& a, const std::vector<double>& b)
{
    const auto dot = [](const auto& x, const auto& y) {
        return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
    };
    return dot(a, b) / std::sqrt(dot(a, a) * dot(b, b));
}

} // namespace

class TestSiglipText : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void featuresAreKnownInDouble()
    {
        SineText model(devices().devices.front(), DType::F64, 6);
        VERGENCE_AGREES(difference(model.run(kIds, 3), kFeatures, 1e-11, 0));
    }

    void everyDeviceAgreesInSingle_data() { addDeviceRows(); }
    void everyDeviceAgreesInSingle()
    {
        VERGENCE_ROW_DEVICE(device);
        SineText model(device, DType::F32, 6);
        VERGENCE_AGREES(difference(model.run(kIds, 3), kFeatures, 1e-5, 0));
    }

    void aTextDoesNotDependOnItsBatch()
    {
        SineText model(devices().devices.front(), DType::F64, 6);
        const std::vector<double> all = model.run(kIds, 3);
        const std::vector<double> alone = model.run({kIds.begin() + 6, kIds.begin() + 12}, 1);
        VERGENCE_AGREES(
            difference(alone, std::vector<double>(all.begin() + 10, all.begin() + 20), 1e-14, 0));
    }

    void paddingIsPartOfTheText()
    {
        SineText model(devices().devices.front(), DType::F64, 3);
        const std::vector<double> unpadded = model.run({3, 7, 1}, 1);
        // The position table of three rows is the start of that of six, later ones are unused.
        VERGENCE_AGREES(difference(unpadded, kUnpadded, 1e-11, 0));
        const std::vector<double> padded(kFeatures.begin(), kFeatures.begin() + 10);
        QVERIFY2(cosine(unpadded, padded) < 0.7,
                 qPrintable(QString::number(cosine(unpadded, padded))));
    }

    void textsThatAreNotPaddedAreRefused()
    {
        SineText model(devices().devices.front(), DType::F32, 6);
        VERGENCE_THROWS(ContractError, "shorter texts are padded", model.run({3, 7, 1}, 1));
        VERGENCE_THROWS(ContractError, "vocabulary of 12", model.run({3, 7, 12, 0, 0, 0}, 1));
        VERGENCE_THROWS(ContractError, "texts of 6", model.run({}, 0));
    }
};

VERGENCE_TEST(TestSiglipText)
#include "tst_siglip_text.moc"
