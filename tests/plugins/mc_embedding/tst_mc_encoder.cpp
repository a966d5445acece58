#include <algorithm>
#include <optional>
#include <set>

#include <QTest>

#include "core/compute/nn/siglip.h"
#include "plugins/mc_embedding/compute/mask_math.h"
#include "plugins/mc_embedding/compute/moments.h"
#include "plugins/mc_embedding/models/weight_layout.h"
#include "tests/plugins/mc_embedding/encoder_setup.h"
#include "tests/plugins/mc_embedding/faulty_device.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::mc_embedding;
using namespace vergence::test;

class TestMcEncoder : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void goldenFeaturesAreReproduced_data();
    void goldenFeaturesAreReproduced();
    void masksAreWhereTheyAreSaidToBe_data() { addTowerRows(); }
    void masksAreWhereTheyAreSaidToBe();
    void featuresDoNotDependOnTheBatch_data() { addTowerRows(); }
    void featuresDoNotDependOnTheBatch();
    void devicesAndTypesAgree_data();
    void devicesAndTypesAgree();
    void shortcutsChangeNoBit_data() { addPresetRows(); }
    void shortcutsChangeNoBit();
    void configuringAgainReplaces();
    void branchesAreKeptOrDroppedAsAWhole();
    void noiseFollowsItsFormula();
    void toyMatchesItsClosedForm_data() { addDeviceRows(); }
    void toyMatchesItsClosedForm();
    void workIsCounted();
    void wrongUseIsRefused();
};

void TestMcEncoder::goldenFeaturesAreReproduced_data()
{
    QTest::addColumn<int>("device");
    QTest::addColumn<QString>("tower");
    QTest::addColumn<int>("type");
    QTest::addColumn<double>("tolerance");
    forEachDevice([](const std::string& name, int device) {
        for (const char* tower : {"tiny_clip", "tiny_siglip"}) {
            const auto row = [&](DType type, double tolerance) {
                QTest::addRow("%s, %s, %s", name.c_str(), tower, nameOf(type).data())
                    << device << QString(tower) << static_cast<int>(type) << tolerance;
            };
            row(DType::F32, 1e-5);
            row(DType::F16, 2e-3);
            row(DType::BF16, 1e-2);
        }
    });
}

void TestMcEncoder::goldenFeaturesAreReproduced()
{
    VERGENCE_ROW_DEVICE(device);
    QFETCH(QString, tower);
    QFETCH(int, type);
    QFETCH(double, tolerance);
    const bool isClip = tower == "tiny_clip";
    VERGENCE_GOLDEN_FOLDER(folder, isClip ? "clip_tiny" : "siglip_tiny");
    EncoderOptions options;
    options.compute = static_cast<DType>(type);
    EncoderSetup setup(device, tower.toStdString(), options);
    loadWeights(*setup.stream, setup.encoder.parameters(), WeightFile::open(folder),
                visionNames(WeightLayout::Transformers));
    setup.encoder.refreshWeights(*setup.stream);
    const auto expected = readSafetensors(folder / "expected.safetensors");
    const HostTensor* pixels = expected.find("pixel_values");
    const auto want =
        expected.find(isClip ? "image_features_f64" : "pooler_output_f64")->as<double>();
    const std::vector<std::uint32_t> ids(4, 0);
    setup.encoder.begin(
        *setup.stream,
        Tensor::fromHost<float>(*setup.stream, device, pixels->shape, pixels->as<float>()), ids);
    double largest = 0;
    for (const double value : want)
        largest = std::max(largest, std::abs(value));
    const auto got = setup.host(setup.encoder.deterministic());
    const std::string fault = difference(std::span<const float>(got), want, tolerance * largest, 0);
    QVERIFY2(fault.empty(), fault.c_str());
}

namespace {

/// The tower on the tape of core, every value multiplied by its mask element by element.
class MaskedReference {
public:
    MaskedReference(EncoderSetup& setup, double p, const SequenceKey& key,
                    const std::vector<mc_embedding::Site>& sites)
        : m_setup(setup),
          m_rate(dropRate(p)),
          m_key(key)
    {
        for (const mc_embedding::Site& site : sites)
            m_live.insert(site.number);
    }

    std::vector<float> features(const Tensor& pixels) const
    {
        const TowerShape& t = m_setup.encoder.tower();
        ParameterSet parameters(m_setup.device);
        const Declaration where(parameters, {});
        const vergence::TowerConfig config{t.width,  t.layers,     t.heads,
                                           t.hidden, t.activation, t.epsilon};
        Graph graph(*m_setup.stream, m_setup.device, {false, DType::F32});
        const ForwardPass pass{graph, parameters, nullptr, false,
                               [this](Graph& g, Value x, int block, vergence::Site site) {
                                   return masked(g, x, block, site);
                               }};
        m_headCalls = 0;
        if (t.family == Family::Clip) {
            const ClipVisionTower tower(where, config, t.patch, t.patches(), t.feature);
            copyParameters(parameters);
            return m_setup.host(graph.tensor(tower(pass, graph.constant(pixels))));
        }
        const SiglipVisionTower tower(where, config, t.patch, t.patches());
        copyParameters(parameters);
        return m_setup.host(graph.tensor(tower(pass, graph.constant(pixels))));
    }

private:
    void copyParameters(ParameterSet& parameters) const
    {
        parameters.allocate(*m_setup.stream);
        for (int i = 0; i < parameters.count(); ++i) {
            const Tensor& to = parameters[i].value;
            const Tensor from = m_setup.encoder.parameters().named(parameters[i].name);
            m_setup.stream->copy(to.data(), from.data(), to.bytes());
        }
    }

    Value masked(Graph& graph, Value x, int block, vergence::Site site) const
    {
        std::vector<int> parts; // site numbers of the columns, side by side
        const auto code = [&](SiteCode c) { return siteNumber(block, c); };
        using enum SiteCode;
        switch (site) {
        case vergence::Site::PatchEmbedding:
            parts = {kPatchEmbedding};
            break;
        case vergence::Site::PositionAdd:
            parts = {kPositionAdd};
            break;
        case vergence::Site::Qkv:
            if (block < m_setup.encoder.tower().layers)
                parts = {code(Query), code(Key), code(SiteCode::Value)};
            else if (m_headCalls++ == 0)
                parts = {code(Query)};
            else
                parts = {code(Key), code(SiteCode::Value)};
            break;
        case vergence::Site::AttentionOutput:
            parts = {code(Output)};
            break;
        case vergence::Site::Fc1:
            parts = {code(Fc1)};
            break;
        case vergence::Site::AfterActivation:
            parts = {code(AfterActivation)};
            break;
        case vergence::Site::Fc2:
            parts = {code(Fc2)};
            break;
        case vergence::Site::BlockOutput:
            parts = {code(BlockOutput)};
            break;
        case vergence::Site::FinalProjection:
            parts = {kFinalProjection};
            break;
        }
        const Shape shape = graph.shape(x);
        const Index columns = shape.back(), width = columns / static_cast<Index>(parts.size());
        std::vector<float> mask(static_cast<std::size_t>(elementCount(shape)), 1.0f);
        for (std::size_t i = 0; i < mask.size(); ++i) {
            const Index row = static_cast<Index>(i) / columns, c = static_cast<Index>(i) % columns;
            const int number = parts[static_cast<std::size_t>(c / width)];
            if (!m_live.contains(number))
                continue;
            const bool isGone =
                isDropped(m_rate, 42, m_key, number, Purpose::Dropout, row * width + c % width);
            mask[i] = isGone ? 0.0f : m_rate.scale;
        }
        return multiply(
            graph, x,
            graph.constant(Tensor::fromHost<float>(*m_setup.stream, m_setup.device, shape, mask)));
    }

    EncoderSetup& m_setup;
    DropRate m_rate;
    SequenceKey m_key;
    std::set<int> m_live;
    mutable int m_headCalls = 0;
};

} // namespace

void TestMcEncoder::masksAreWhereTheyAreSaidToBe()
{
    VERGENCE_ROW_DEVICE(device);
    QFETCH(QString, tower);
    EncoderSetup setup(device, tower.toStdString());
    Placement placement = placementWithFlags("all_linear", setup.encoder.tower());
    placement.attentionProbabilities = false; // no such hook in core
    const auto sites = liveSites(setup.encoder.tower(), placement);
    constexpr double p = 0.1;
    setup.perturb(sites, p);
    const Tensor pixels = setup.normalisedPixels(1, 3);
    const std::vector<std::uint32_t> ids = {77};
    const std::vector<PassId> passes = {{2, 5}, {0, 0}};
    setup.encoder.begin(*setup.stream, pixels, ids);
    const auto got = setup.host(setup.encoder.run(*setup.stream, passes));
    const std::size_t size = got.size() / 2;
    for (std::size_t i = 0; i < 2; ++i) {
        const MaskedReference reference(setup, p, sequenceKey(77, passes[i]), sites);
        const std::vector<float> part(got.begin() + static_cast<std::ptrdiff_t>(i * size),
                                      got.begin() + static_cast<std::ptrdiff_t>((i + 1) * size));
        const std::vector<float> want = reference.features(pixels);
        const float largest = *std::ranges::max_element(want);
        const std::string fault = difference(part, want, 2e-5 * largest, 0);
        QVERIFY2(fault.empty(), fault.c_str());
    }
}

void TestMcEncoder::featuresDoNotDependOnTheBatch()
{
    VERGENCE_ROW_DEVICE(device);
    QFETCH(QString, tower);
    EncoderSetup setup(device, tower.toStdString());
    setup.perturb(liveSites(setup.encoder.tower(), {}), 0.05);
    const std::vector<std::uint32_t> ids = {11, 7, 0xffffffffu, 3, 99};
    std::vector<PassId> passes; // two trials in one sequence of passes
    for (std::uint16_t t = 0; t < 64; ++t)
        passes.push_back({static_cast<std::uint16_t>(t / 32), static_cast<std::uint16_t>(t % 32)});
    const auto want = setup.features(ids, {0, 1, 2, 3, 4}, passes, 1, 1);
    for (const std::size_t perRun : {1u, 3u, 8u, 64u}) {
        for (const std::size_t images : {1u, 2u, 5u})
            QVERIFY(setup.features(ids, {0, 1, 2, 3, 4}, passes, images, perRun) == want);
    }
    const std::vector<std::size_t> order = {3, 0, 4, 2, 1};
    const auto permuted = setup.features(ids, order, passes, 5, 8);
    for (std::size_t i = 0; i < order.size(); ++i)
        QVERIFY(permuted[i] == want[order[i]]);
}

namespace {

std::vector<double> traces(EncoderSetup& setup)
{
    setup.perturb(liveSites(setup.encoder.tower(), {}), 0.05);
    std::vector<PassId> passes;
    for (std::uint16_t t = 0; t < 64; ++t)
        passes.push_back({0, t});
    const std::vector<std::uint32_t> ids = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    setup.encoder.begin(*setup.stream, setup.pixels(ids.size(), 4), ids);
    Moments moments(*setup.stream, setup.encoder.deterministic());
    moments.add(*setup.stream, setup.encoder.run(*setup.stream, passes));
    return moments.snapshot(*setup.stream).trace(false);
}

} // namespace

void TestMcEncoder::devicesAndTypesAgree_data()
{
    goldenFeaturesAreReproduced_data();
}

/// Specification, V20: relative differences of traces under equal masks, the largest in F32 and the
/// median in 16 bits.
void TestMcEncoder::devicesAndTypesAgree()
{
    VERGENCE_ROW_DEVICE(device);
    QFETCH(QString, tower);
    QFETCH(int, type);
    EncoderSetup reference(devices().devices.front(), tower.toStdString());
    const auto want = traces(reference);
    EncoderOptions options;
    options.compute = static_cast<DType>(type);
    EncoderSetup setup(device, tower.toStdString(), options);
    const auto got = traces(setup);
    std::vector<double> differences;
    for (std::size_t i = 0; i < want.size(); ++i)
        differences.push_back(std::abs(got[i] / want[i] - 1));
    std::ranges::sort(differences);
    const bool isWhole = options.compute == DType::F32;
    const double tolerance = isWhole ? 1e-4 : options.compute == DType::F16 ? 1e-3 : 1e-2;
    const double worst = isWhole ? differences.back() : differences[differences.size() / 2];
    QVERIFY2(worst <= tolerance, qPrintable(QString::number(worst)));
}

namespace {

using Features = std::vector<std::vector<float>>; ///< per image and pass

/// Of all numbers, beside the largest of `b`.
double largestDifference(const Features& a, const Features& b)
{
    double largest = 0, apart = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
        for (std::size_t k = 0; k < b[i].size(); ++k) {
            largest = std::max(largest, std::abs(double{b[i][k]}));
            apart = std::max(apart, std::abs(double{a.at(i).at(k)} - b[i][k]));
        }
    }
    return apart / largest;
}

} // namespace

void TestMcEncoder::shortcutsChangeNoBit()
{
    VERGENCE_ROW_DEVICE(device);
    QFETCH(QString, tower);
    QFETCH(QString, preset);
    const std::vector<std::uint32_t> ids = {11, 7, 5};
    std::vector<PassId> passes;
    for (std::uint16_t t = 0; t < 7; ++t)
        passes.push_back({1, t});
    // Products over the class token alone have fewer rows, for which a library of a GPU may add in
    // another order.
    const bool tokenRowsDiffer = device->info().kind == DeviceKind::Cuda && tower == "tiny_clip";
    std::optional<Features> allTokens;
    for (const bool classTokenOnly : {false, true}) {
        std::optional<Features> first;
        for (const bool sharesPrefix : {false, true}) {
            EncoderOptions options;
            options.sharesPrefix = sharesPrefix;
            options.classTokenOnly = classTokenOnly;
            EncoderSetup setup(device, tower.toStdString(), options);
            Placement placement;
            placement.preset = preset.toStdString();
            setup.perturb(liveSites(setup.encoder.tower(), placement), 0.1);
            Features result = setup.features(ids, {0, 1, 2}, passes, 3, 4);
            if (preset == "fc2_all") { // a cut within the last block
                placement.blocks = {2};
                setup.perturb(liveSites(setup.encoder.tower(), placement), 0.1);
                auto more = setup.features(ids, {0, 1, 2}, passes, 2, 7);
                result.insert(result.end(), more.begin(), more.end());
            }
            if (!first)
                first = result;
            QVERIFY(result == *first);
        }
        if (!allTokens)
            allTokens = first;
        else if (!tokenRowsDiffer)
            QVERIFY(*first == *allTokens);
        else
            QVERIFY(largestDifference(*first, *allTokens) <= 1e-5);
    }
}

void TestMcEncoder::configuringAgainReplaces()
{
    const auto device = devices().devices.front();
    const std::vector<std::uint32_t> ids = {1, 2};
    const std::vector<PassId> passes = {{0, 0}, {0, 1}};
    EncoderSetup once(device, "tiny_siglip"), often(device, "tiny_siglip");
    const auto sites = liveSites(once.encoder.tower(), {});
    once.perturb(sites, 0.1);
    for (int i = 0; i < 10; ++i)
        often.perturb(sites, 0.1);
    QVERIFY(once.features(ids, {0, 1}, passes, 2, 2) == often.features(ids, {0, 1}, passes, 2, 2));
    // A call takes effect with the next chunk alone.
    const auto before = often.host(often.encoder.run(*often.stream, passes));
    often.perturb(sites, 0.5);
    QVERIFY(often.host(often.encoder.run(*often.stream, passes)) == before);
}

void TestMcEncoder::branchesAreKeptOrDroppedAsAWhole()
{
    EncoderSetup setup(devices().devices.front(), "tiny_clip");
    Placement placement;
    placement.preset = "sites";
    const int number = siteNumber(2, SiteCode::DepthMlp);
    placement.sites = {number};
    Perturbation how;
    how.kind = Perturbation::Kind::StochasticDepth;
    how.p = 0.25;
    setup.encoder.setPerturbation(liveSites(setup.encoder.tower(), placement), how);
    const std::vector<std::uint32_t> ids = {5};
    std::vector<PassId> passes;
    for (std::uint16_t t = 0; t < 64; ++t)
        passes.push_back({0, t});
    const auto features = setup.features(ids, {0}, passes, 1, 64)[0];
    const std::size_t size = features.size() / passes.size();
    std::map<bool, std::set<std::vector<float>>> seen;
    for (std::size_t t = 0; t < passes.size(); ++t) {
        const auto first = features.begin() + static_cast<std::ptrdiff_t>(t * size);
        const bool isGone = isDropped(dropRate(0.25), 42, sequenceKey(5, passes[t]), number,
                                      Purpose::StochasticDepth, 0);
        seen[isGone].insert({first, first + static_cast<std::ptrdiff_t>(size)});
    }
    QCOMPARE(seen[false].size(), 1u);
    QCOMPARE(seen[true].size(), 1u);
    QVERIFY(seen[false] != seen[true]);
}

void TestMcEncoder::noiseFollowsItsFormula()
{
    EncoderSetup setup(devices().devices.front(), "tiny_siglip");
    Placement placement;
    placement.preset = "sites";
    placement.sites = {kFinalFeature};
    const auto sites = liveSites(setup.encoder.tower(), placement);
    const std::vector<std::uint32_t> ids = {5};
    const std::vector<PassId> passes = {{1, 2}};
    for (const auto kind : {Perturbation::Kind::Gaussian, Perturbation::Kind::Scale}) {
        Perturbation how;
        how.kind = kind;
        how.magnitude = 0.3;
        setup.encoder.setPerturbation(sites, how);
        setup.encoder.begin(*setup.stream, setup.pixels(1, 9), ids);
        const auto y = setup.host(setup.encoder.deterministic());
        double mean = 0, squares = 0;
        for (const float value : y)
            mean += value / static_cast<double>(y.size());
        for (const float value : y)
            squares += (value - mean) * (value - mean) / static_cast<double>(y.size());
        std::vector<double> want;
        for (std::size_t d = 0; d < y.size(); ++d) {
            const double normal = normalOf(42, sequenceKey(5, passes[0]), kFinalFeature,
                                           Purpose::Noise, static_cast<Index>(d));
            const double size = kind == Perturbation::Kind::Scale ? y[d] : std::sqrt(squares);
            want.push_back(y[d] + 0.3 * size * normal);
        }
        const auto got = setup.host(setup.encoder.run(*setup.stream, passes));
        const std::string fault =
            difference(std::span<const float>(got), std::span<const double>(want), 1e-6, 1e-6);
        QVERIFY2(fault.empty(), fault.c_str());
    }
}

void TestMcEncoder::toyMatchesItsClosedForm()
{
    VERGENCE_ROW_DEVICE(device);
    EncoderSetup setup(device, "toy_linear");
    constexpr double p = 0.05;
    setup.perturb(liveSites(setup.encoder.tower(), {}), p);
    const std::vector<std::uint32_t> ids = {21, 22, 23};
    constexpr int kPasses = 2048;
    std::vector<PassId> passes;
    for (std::uint16_t t = 0; t < kPasses; ++t)
        passes.push_back({0, t});
    setup.encoder.begin(*setup.stream, setup.pixels(3, 2), ids);
    const auto y = setup.host(setup.encoder.deterministic());
    Moments moments(*setup.stream, setup.encoder.deterministic());
    moments.add(*setup.stream, setup.encoder.run(*setup.stream, passes));
    const auto trace = moments.snapshot(*setup.stream).trace(false);
    const std::size_t size = y.size() / ids.size();
    for (std::size_t i = 0; i < ids.size(); ++i) {
        double want = 0, variance = 0; // of the trace; specification, V28
        for (std::size_t d = 0; d < size; ++d) {
            const double square = std::pow(y[i * size + d], 2), spread = square * p / (1 - p);
            const double fourth =
                square * square * p * (1 - 3 * p + 3 * p * p) / std::pow(1 - p, 3);
            want += spread / static_cast<double>(size);
            variance += (fourth - spread * spread * (kPasses - 3) / (kPasses - 1)) / kPasses /
                        static_cast<double>(size * size);
        }
        QVERIFY2(std::abs(trace[i] - want) < 4 * std::sqrt(variance),
                 qPrintable(QString("%1 instead of %2").arg(trace[i]).arg(want)));
    }
}

void TestMcEncoder::workIsCounted()
{
    EncoderOptions whole;
    whole.classTokenOnly = whole.sharesPrefix = false;
    const auto device = devices().devices.front();
    EncoderSetup clip(device, "tiny_clip", whole);
    clip.perturb(liveSites(clip.encoder.tower(), {}), 0.1);
    const double all = clip.encoder.tower().flop();
    QCOMPARE(clip.encoder.prefixFlop(), all);
    QCOMPARE(clip.encoder.passFlop(), all);
    EncoderSetup siglip(device, "tiny_siglip", whole);
    // The head's query is the same for all images and computed once for all.
    QCOMPARE(siglip.encoder.prefixFlop(), siglip.encoder.tower().flop() - 2.0 * 96 * 96);
    EncoderSetup shared(device, "tiny_clip");
    shared.perturb(liveSites(shared.encoder.tower(), {}), 0.1);
    const double prefix = 2.0 * 16 * 192 * 128 + 6.0 * 17 * 128 * 128;
    const double classToken = 2.0 * 16 * (128 * 128 + 2 * 128 * 512);
    QCOMPARE(shared.encoder.passFlop(), all - prefix - classToken);
}

void TestMcEncoder::wrongUseIsRefused()
{
    EncoderSetup setup(devices().devices.front(), "tiny_clip");
    const std::vector<PassId> passes = {{0, 0}};
    const std::vector<std::uint32_t> ids = {1};
    VERGENCE_THROWS(ContractError, "before begin", setup.encoder.run(*setup.stream, passes));
    VERGENCE_THROWS(ContractError, "one mask id per image",
                    setup.encoder.begin(*setup.stream, setup.pixels(2, 1), ids));
    const auto sites = liveSites(setup.encoder.tower(), {});
    VERGENCE_THROWS(ContractError, "not in [0, 0.9]", setup.perturb(sites, 0.95));
    Perturbation how;
    how.kind = Perturbation::Kind::StochasticDepth;
    VERGENCE_THROWS(ContractError, "takes dropout or noise",
                    setup.encoder.setPerturbation(sites, how));
    auto twice = sites;
    twice.push_back(sites.front());
    VERGENCE_THROWS(ContractError, "there twice", setup.perturb(twice, 0.1));
    VERGENCE_THROWS(ContractError, "not one of tiny_clip",
                    setup.perturb({{siteNumber(7, SiteCode::Fc1), 17, 512}}, 0.1));
}

VERGENCE_TEST(TestMcEncoder)
#include "tst_mc_encoder.moc"
