#include <algorithm>
#include <set>

#include <QTest>

#include "plugins/live_diffusion/onnx/onnx_export.h"
#include "plugins/live_diffusion/onnx/shape_inference.h"
#include "tests/plugins/live_diffusion/onnx_checker.h"
#include "tests/plugins/live_diffusion/onnx_support.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::live;
using namespace vergence::live::testing;

namespace {

Sampler samplerOf(SamplerKind kind, int steps, double strength = 0.6, double eta = 0)
{
    return {NoiseSchedule(), {kind, Prediction::V, steps, strength, eta, true}};
}

} // namespace

/// A whole frame, all its steps and the blend, as one ONNX file.
class TestLiveOnnxFrame : public QObject {
    Q_OBJECT

    BenchNetworks m_networks;

    static void addSamplers()
    {
        QTest::addColumn<int>("kind");
        QTest::addColumn<int>("steps");
        QTest::addColumn<double>("eta");
        QTest::newRow("DDIM") << static_cast<int>(SamplerKind::Ddim) << 3 << 0.0;
        QTest::newRow("DDIM with noise") << static_cast<int>(SamplerKind::Ddim) << 2 << 1.0;
        QTest::newRow("2M") << static_cast<int>(SamplerKind::DpmSolver2M) << 4 << 0.0;
        QTest::newRow("LCM") << static_cast<int>(SamplerKind::Consistency) << 2 << 0.0;
        QTest::newRow("Turbo") << static_cast<int>(SamplerKind::Turbo) << 1 << 0.0;
    }

private Q_SLOTS:
    void graphsAreSoundAndHoldEachWeightOnce_data() { addSamplers(); }
    void graphsAreSoundAndHoldEachWeightOnce();
    void theFileIsTheFrame_data() { addSamplers(); }
    void theFileIsTheFrame();
    void sixteenBitsStayNear();
    void trainedSizesAreExported();
    void theOnnxLibraryAgrees();
};

void TestLiveOnnxFrame::graphsAreSoundAndHoldEachWeightOnce()
{
    QFETCH(int, kind);
    QFETCH(int, steps);
    QFETCH(double, eta);
    const Program unet = buildUnet(unetSettings(Size::Pico, 64));
    const Sampler sampler = samplerOf(static_cast<SamplerKind>(kind), steps, 0.6, eta);
    for (const OnnxType type : {OnnxType::Float, OnnxType::Float16}) {
        for (const int opset : {17, 21}) {
            const OnnxOptions options{type, opset, 2};
            const OnnxModel one = exportProgram(unet, madeWeight, options),
                            frame = exportFrame(unet, madeWeight, sampler, options);
            QCOMPARE(inferShapes(frame).problems, std::vector<std::string>());
            const auto wide = OnnxType::Float;
            const OnnxDims picture{2, 12, 32, 32};
            std::vector<OnnxValue> inputs{{"init", wide, picture},   {"noise", wide, picture},
                                          {"u", type, picture},      {"h", type, picture},
                                          {"b", wide, {2}},          {"mem", type, {264, 128}},
                                          {"mem_bias", type, {264}}, {"previous", wide, picture},
                                          {"beta", wide, {1}}};
            for (int step = 0; step + 1 < steps; ++step)
                if (eta > 0 || kind == static_cast<int>(SamplerKind::Consistency))
                    inputs.push_back({"noise_" + std::to_string(step), wide, picture});
            QVERIFY(frame.inputs == inputs);
            QVERIFY(frame.outputs == (std::vector<OnnxValue>{{"frame", wide, picture}}));
            QCOMPARE(frame.opset, opset);
            std::set<std::string> names;
            for (const OnnxTensor& tensor : frame.initialisers)
                QVERIFY2(names.insert(tensor.name).second, tensor.name.c_str());
            for (const ProgramWeight& weight : unet.weights)
                QVERIFY(names.contains(weight.name));
            // Keys of the memory are the same at each step.
            const auto ofMemory = [](const OnnxModel& model) {
                return std::ranges::count_if(model.nodes, [](const OnnxNode& node) {
                    return std::ranges::find(node.inputs, "mem") != node.inputs.end();
                });
            };
            QVERIFY(ofMemory(one) > 0);
            QCOMPARE(ofMemory(frame), ofMemory(one));
            QVERIFY(steps == 1 ||
                    frame.nodes.size() < static_cast<std::size_t>(steps) * one.nodes.size());
        }
    }
}

void TestLiveOnnxFrame::theFileIsTheFrame()
{
    QFETCH(int, kind);
    QFETCH(int, steps);
    QFETCH(double, eta);
    const test::Scratch scratch;
    const TapeNetwork& network = m_networks.of(Size::Nano);
    OnnxExportSettings settings;
    settings.options.batch = 2;
    settings.frame = samplerOf(static_cast<SamplerKind>(kind), steps, 0.6, eta);
    const OnnxExport result = exportOnnx(m_networks.stream(), network, scratch.path(), settings);
    QCOMPARE(result.verifications.size(), std::size_t(3));
    const OnnxVerification& frame = result.verifications.back();
    QCOMPARE(frame.file, "frame_" + std::to_string(steps) + ".onnx");
    QCOMPARE(frame.comparisons.size(), std::size_t(3)); // three runs of one output
    QVERIFY2(frame.holds(), frame.toJson().dump(1).c_str());
    qInfo("%s", frame.sentence().c_str());
    QVERIFY(std::ranges::count(result.files, scratch / frame.file) == 1);
    // Another strength is another frame.
    const Sampler other = samplerOf(static_cast<SamplerKind>(kind), steps, 0.7, eta);
    const OnnxVerification miss =
        verifyOnnx(scratch / frame.file, frameReference(m_networks.stream(), network, other), 1);
    QVERIFY(miss.problems.empty());
    QVERIFY(!miss.holds());
}

void TestLiveOnnxFrame::sixteenBitsStayNear()
{
    const test::Scratch scratch;
    OnnxExportSettings settings;
    settings.options.type = OnnxType::Float16;
    settings.frame = samplerOf(SamplerKind::Ddim, 2);
    const OnnxExport result =
        exportOnnx(m_networks.stream(), m_networks.of(Size::Nano), scratch.path(), settings);
    const OnnxVerification& frame = result.verifications.at(2);
    qInfo("%s", frame.sentence().c_str());
    QVERIFY(frame.holds());
    QVERIFY(frame.comparisons.at(0).maxAbs > 0);
}

void TestLiveOnnxFrame::trainedSizesAreExported()
{
    const test::Scratch scratch;
    OnnxExportSettings settings;
    settings.runs = 1;
    settings.frame = samplerOf(SamplerKind::Ddim, 2);
    const OnnxExport result =
        exportOnnx(m_networks.stream(), m_networks.of(Size::Pico), scratch.path(), settings);
    qInfo("%s", result.verifications.at(2).sentence().c_str());
    QVERIFY(result.holds());
}

void TestLiveOnnxFrame::theOnnxLibraryAgrees()
{
    const test::Scratch scratch;
    const Program unet = buildUnet(unetSettings(Size::Pico, 64));
    for (const OnnxType type : {OnnxType::Float, OnnxType::Float16}) {
        writeOnnx(exportFrame(unet, madeWeight, samplerOf(SamplerKind::DpmSolver2M, 4), {type}),
                  scratch / "frame_4.onnx");
        const auto complaint = onnxComplaint(scratch / "frame_4.onnx");
        if (!complaint)
            QSKIP("libonnx-dev was not there when the tests were built");
        QCOMPARE(QString::fromStdString(*complaint), QString());
    }
}

VERGENCE_TEST(TestLiveOnnxFrame)
#include "tst_live_onnx_frame.moc"
