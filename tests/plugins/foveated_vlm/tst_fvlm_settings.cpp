#include <cmath>

#include <QTest>

#include "core/base/error.h"
#include "plugins/foveated_vlm/session/flop.h"
#include "plugins/foveated_vlm/session/phase_teller.h"
#include "plugins/foveated_vlm/session/settings.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::fvlm;

namespace {

DeviceInfo device(const QString& capability)
{
    DeviceInfo info;
    if (capability == "cpu")
        return info;
    info.kind = DeviceKind::Cuda;
    info.name = "NVIDIA Something";
    info.computeCapability = capability.toStdString();
    return info;
}

} // namespace

/// What the configuration becomes in the words of those who do it.
class TestFvlmSettings : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void precisionFollowsTheCard_data()
    {
        QTest::addColumn<QString>("capability");
        QTest::addColumn<QString>("precision");
        QTest::addColumn<QString>("products"); ///< empty: refused
        for (const char* capability : {"cpu", "7.0", "7.5", "8.0", "8.9", "9.0", "10.0", "12.0"}) {
            const QString name = capability;
            const bool isCpu = name == "cpu", hasBf16 = !isCpu && name.toDouble() >= 8;
            QTest::addRow("%s, auto", capability) << name << "auto" << (hasBf16 ? "BF16" : "F32");
            QTest::addRow("%s, bf16", capability)
                << name << "bf16" << (hasBf16 || isCpu ? "BF16" : "");
            QTest::addRow("%s, fp32", capability) << name << "fp32"
                                                  << "F32";
            QTest::addRow("%s, fp64", capability) << name << "fp64"
                                                  << "F64";
        }
    }
    void precisionFollowsTheCard()
    {
        QFETCH(QString, capability);
        QFETCH(QString, precision);
        QFETCH(QString, products);
        FoveatedVlmConfig config;
        config.precision = precision.toStdString();
        const DeviceInfo info = device(capability);
        if (products.isEmpty()) {
            try {
                precisionOf(config, info);
                QFAIL("not refused");
            } catch (const InputError& error) {
                const std::string said = error.what();
                for (const char* part : {"8.0", info.computeCapability.c_str(), "fp32"})
                    QVERIFY2(said.find(part) != std::string::npos, said.c_str());
            }
            return;
        }
        const Precision chosen = precisionOf(config, info);
        QCOMPARE(nameOf(chosen.compute), products.toStdString());
        QCOMPARE(chosen.master, products == "F64" ? DType::F64 : DType::F32);
    }

    /// Section 7.6: where the prompt's tokens count too, the floor of answers is none.
    void blindFloorIsThatOfAnswersAlone()
    {
        FoveatedVlmConfig config;
        QVERIFY(evaluationSettings(config).blindNats > 3);
        config.textMask = "all";
        QCOMPARE(evaluationSettings(config).blindNats, 0.0);
    }

    /// Section 11.1: 10 clips of 8 frames of 256 px in one micro-step of the first run.
    void workIsThatOfTheSpecification()
    {
        ModelSettings model;
        model.variant = Variant::Latents;
        model.vit = *knownVit("dinov2-small", 256);
        model.llm = *knownLlm("smollm2-135m");
        model.head.kind = HeadKind::Film;
        model.head.widths = {4, 64, 128, 256};
        model.head.height = model.head.width = 32;
        model.head.hidden = 512;
        TrainSettings train;
        train.live.coarse = 1;
        const WorkCounts work{1, 80, 80, 10, 80, 0, 0};
        const auto isAbout = [](double flop, double wanted) {
            return std::abs(flop / wanted - 1) < 0.01;
        };
        const double all = trainFlop(work, 18 * 18, model, train);
        QVERIFY2(isAbout(all, 4.24e12), qPrintable(QString::number(all)));
        model.freezesVit = true;
        const double frozen = trainFlop(work, 18 * 18, model, train);
        QVERIFY2(isAbout(frozen, 1.87e12), qPrintable(QString::number(frozen)));
    }

    /// Counted by hand: latents 4 × 2 × 2, states of 5 numbers.
    void workOfHeadsIsThatOfTheirLayers()
    {
        HeadSettings head;
        head.widths = {4, 8};
        head.height = head.width = 2;
        head.hidden = 3;
        QCOMPARE(headFlop(head, 5), 3.0 * 2304 + 2 * (30 + 96));
        head.kind = HeadKind::Mlp;
        QCOMPARE(headFlop(head, 5), 2.0 * (504 + 288 + 384));
        head.kind = HeadKind::CrossAttention;
        QCOMPARE(headFlop(head, 5), 6912 + 2.0 * (80 + 3584 + 2304));
    }

    /// What a run does not do is not in its work.
    void workIsWhatTheRunDoes()
    {
        ModelSettings model;
        model.vit = *knownVit("tiny", 64);
        model.llm = *knownLlm("tiny");
        TrainSettings train;
        const WorkCounts work{1, 48, 48, 8, 48, 160, 64};
        const double whole = trainFlop(work, 64, model, train);
        train.trainsCoarseOnly = true;
        QVERIFY(trainFlop(work, 64, model, train) < whole);
        train.trainsCoarseOnly = false;
        train.refinements = 2;
        QVERIFY(trainFlop(work, 64, model, train) > whole);
        train.refinements = 1;
        WorkCounts text = work; // a batch of text alone
        text.frames = text.encoded = text.visual = 0;
        QVERIFY(trainFlop(text, 64, model, train) < 0.2 * whole);
        QCOMPARE(trainFlop({}, 64, model, train), 0.0);
    }

    /// No rest is promised before there is something to judge it by.
    void phasesSayHowFarTheyAre()
    {
        QCOMPARE(phaseText("testing", 0, 64, 9), std::string("testing, 0 of 64 clips"));
        QCOMPARE(phaseText("testing", 8, 64, 2.5), std::string("testing, 8 of 64 clips"));
        QCOMPARE(phaseText("testing", 16, 64, 10),
                 std::string("testing, 16 of 64 clips, 30 s left"));
        QCOMPARE(phaseText("testing", 100, 1'000, 40),
                 std::string("testing, 100 of 1000 clips, 6 min left"));
    }
};

VERGENCE_TEST(TestFvlmSettings)
#include "tst_fvlm_settings.moc"
