#include "plugins/mc_embedding/study/study_files.h"
#include "tests/plugins/mc_embedding/faulty_device.h"
#include "tests/plugins/mc_embedding/mc_run_bench.h"
#include "tests/plugins/mc_embedding/study_difference.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::mc_embedding;

/// Want of memory and numbers too large for fp16, made on purpose.
class TestMcFaults : public QObject {
    Q_OBJECT

    test::Scratch m_scratch;
    RunBench m_bench{m_scratch.path()};
    RunOutcome m_outcome;
    RunFolder m_folder;
    std::size_t m_peak = 0; ///< bytes in use at a time, of the last run

    ModelStudy studyWith(test::Faults& faults, const std::vector<std::string>& assignments)
    {
        const auto device = std::make_shared<test::FaultyDevice>(faults);
        m_bench.device = device;
        m_folder = m_bench.newFolder();
        m_outcome = m_bench.run(m_folder, m_bench.configOf(assignments));
        m_bench.device.reset();
        m_peak = device->memory().peakUsedByUs;
        if (m_outcome.code != ExitCode::Success)
            throw DeviceError(m_outcome.problems(), m_outcome.code);
        return readStudy(m_folder.root).models.front();
    }
    bool isTold(const std::string& text) const
    {
        return m_outcome.problems().find(text) != std::string::npos;
    }

private Q_SLOTS:
    void valuesBeyondFp16AreMeasuredAnewInBf16()
    {
        test::Faults none, faults;
        const ModelStudy expected = studyWith(none, {"precision=bf16"});
        faults.overflowsF16 = true;
        const ModelStudy redone = studyWith(faults, {"precision=fp16"});
        QVERIFY2(isTold("tiny_clip starts anew in bf16"), m_outcome.problems().c_str());
        QCOMPARE(redone.precision, std::string("bf16/fp32/fp64"));
        QCOMPARE(differenceOf(expected, redone), std::string());
    }

    void redoneModelStaysInBf16AfterAStop()
    {
        test::Faults none, faults;
        const ModelStudy expected = studyWith(none, {"precision=bf16"});
        faults.overflowsF16 = true;
        m_bench.device = std::make_shared<test::FaultyDevice>(faults);
        const Config config = m_bench.configOf({"precision=fp16"});
        const RunFolder folder = m_bench.newFolder();
        bool isAsked = false;
        const RunOutcome first = m_bench.run(folder, config, false, [&](RunController& controller) {
            if (!isAsked && controller.step() >= 5)
                isAsked = controller.requestStop();
        });
        QCOMPARE(first.state, RunState::Stopped);
        const RunOutcome second = m_bench.run(folder, config, true);
        m_bench.device.reset();
        QVERIFY2(second.code == ExitCode::Success, second.problems().c_str());
        QCOMPARE(differenceOf(expected, readStudy(folder.root).models.front()), std::string());
    }

    /// exp7 measures features alone: no passes would tell.
    void featuresOfCopiesBeyondFp16StartTheModelAnewToo()
    {
        test::Faults none, faults;
        const std::string exp7 = "experiment=[\"exp7\"]";
        const ModelStudy expected = studyWith(none, {exp7, "precision=bf16"});
        m_bench.device = std::make_shared<test::FaultyDevice>(faults);
        const RunFolder folder = m_bench.newFolder();
        const std::int64_t clean = 3 * 8; // blocks: chunks of the clean pictures, by passes
        m_outcome = m_bench.run(folder, m_bench.configOf({exp7, "precision=fp16"}), false,
                                [&](const RunController& controller) {
                                    faults.overflowsF16 = controller.step() >= clean;
                                });
        m_bench.device.reset();
        QVERIFY2(m_outcome.code == ExitCode::Success, m_outcome.problems().c_str());
        QVERIFY2(isTold("tiny_clip starts anew in bf16"), m_outcome.problems().c_str());
        QVERIFY(isTold("without masks"));
        const ModelStudy redone = readStudy(folder.root).models.front();
        QCOMPARE(differenceOf(expected, redone), std::string());
        QCOMPARE(redone.degradedFeatures.size(), expected.degradedFeatures.size());
        for (const auto& [name, features] : expected.degradedFeatures)
            QVERIFY2(sameNumbers(features, redone.degradedFeatures.at(name)), name.c_str());
    }

    void valuesBeyondBf16TooEndTheRun()
    {
        test::Faults faults;
        faults.overflowsF16 = faults.overflowsBf16 = true;
        QVERIFY_THROWS_EXCEPTION(DeviceError, studyWith(faults, {"precision=fp16"}));
        QVERIFY2(isTold("are not finite"), m_outcome.problems().c_str());
        QVERIFY(m_outcome.code != ExitCode::OutOfMemory);
    }

    void fp16WithoutFaultsStaysFp16()
    {
        test::Faults none;
        const ModelStudy study = studyWith(none, {"precision=fp16"});
        QCOMPARE(study.precision, std::string("fp16/fp32/fp64"));
        QVERIFY(!isTold("bf16"));
    }

    /// What four images by 24 passes take is not there; three quarters of the way to it are.
    void batchIsHalvedUntilItFits()
    {
        test::Faults none, faults;
        const std::vector<std::string> large{"batch_images=4", "batch_passes=24"};
        const ModelStudy expected = studyWith(none, large);
        const std::size_t most = m_peak;
        studyWith(none, {"batch_images=1", "batch_passes=1"});
        const std::size_t least = m_peak;
        QVERIFY2(least < most, qPrintable(QString("%1 %2").arg(least).arg(most)));
        faults.capacity = least + (most - least) * 3 / 4;
        const ModelStudy study = studyWith(faults, large);
        QVERIFY2(isTold("4 images and 12 passes at once"), m_outcome.problems().c_str());
        QVERIFY(m_peak <= faults.capacity);
        QCOMPARE(differenceOf(expected, study), std::string());
    }

    void nothingFitsIsToldAsSuch()
    {
        test::Faults none, faults;
        studyWith(none, {"batch_images=1", "batch_passes=1"});
        faults.capacity = m_peak / 2;
        QVERIFY_THROWS_EXCEPTION(DeviceError, studyWith(faults, {}));
        QCOMPARE(m_outcome.code, ExitCode::OutOfMemory);
    }

    void pixelsLeaveADeviceThatTheyDoNotFit()
    {
        test::Faults none, faults;
        const std::vector<std::string> usual{"count=200", "batch_images=8", "pixel_cache=f32"};
        const ModelStudy expected = studyWith(none, usual);
        faults.capacity = m_peak + 200 * 32 * 32 * 3;
        std::vector<std::string> resident = usual;
        resident.push_back("residency=resident");
        const ModelStudy study = studyWith(faults, resident);
        QVERIFY2(isTold("stay in that of the host"), m_outcome.problems().c_str());
        QCOMPARE(differenceOf(expected, study), std::string());
    }
};

VERGENCE_TEST(TestMcFaults)
#include "tst_mc_faults.moc"
