#include <QTest>
#include <nlohmann/json.hpp>

#include "tests/plugins/foveated_vlm/train_bench.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::fvlm;
using namespace vergence::fvlm::fixtures;

namespace {

using Options = TrainBench::Options;

struct Saved {
    std::string state;
    NamedTensors tensors;
};

Saved saved(TrainBench& bench)
{
    Saved result{bench.trainer->state().dump(), {}};
    for (const auto& [name, tensor] : bench.trainer->tensors())
        result.tensors.emplace_back(name, tensor.clone(*bench.stream));
    return result;
}

void restore(TrainBench& bench, const Saved& from)
{
    bench.trainer->restore(*bench.stream, nlohmann::json::parse(from.state), from.tensors);
}

Options preferring()
{
    Options options;
    options.training.objective = Objective::Preferences;
    return options;
}

} // namespace

class TestTrainerResume : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Specification, section 16.7, case 6: save after some micro-steps and go on, or reload and go
    /// on.
    void continuedRunsAreEqualToTheBit_data()
    {
        QTest::addColumn<int>("microSteps");
        QTest::addColumn<bool>("prefers");
        QTest::newRow("at the start") << 0 << false;
        QTest::newRow("between updates") << 8 << false;
        QTest::newRow("inside an accumulation") << 7 << false;
        QTest::newRow("in a later window") << 11 << false;
        QTest::newRow("latents, inside an accumulation") << 7 << false;
        QTest::newRow("preferences") << 8 << true;
        QTest::newRow("preferences, inside an accumulation") << 7 << true;
    }
    void continuedRunsAreEqualToTheBit()
    {
        QFETCH(int, microSteps);
        QFETCH(bool, prefers);
        Options options = prefers ? preferring() : Options{};
        const ListedClips varied = variedClips(16, 3);
        if (std::string(QTest::currentDataTag()).starts_with("latents")) {
            options.variant = Variant::Latents;
            options.source = &varied;
        }
        TrainBench first(options), second(options);
        if (prefers)
            QVERIFY(first.trainer->makeReference(*first.stream));
        for (int i = 0; i < microSteps; ++i) {
            first.trainer->microStep(*first.stream);
            first.trainer->takeRecords(*first.stream);
        }
        restore(second, saved(first));
        const auto a = first.run(12), b = second.run(12);
        QVERIFY(a.size() >= 6);
        QCOMPARE(a.size(), b.size());
        for (std::size_t i = 0; i < a.size(); ++i) {
            QCOMPARE(a[i].loss, b[i].loss);
            QCOMPARE(a[i].gradientNorm, b[i].gradientNorm);
            QCOMPARE(a[i].microStep, b[i].microStep);
            QCOMPARE(a[i].margin, b[i].margin);
            QCOMPARE(a[i].coarse, b[i].coarse);
            QCOMPARE(a[i].laterLatents, b[i].laterLatents);
            QCOMPARE(a[i].latentsByFrame.size(), b[i].latentsByFrame.size());
            for (std::size_t t = 0; t < a[i].latentsByFrame.size(); ++t)
                QCOMPARE(a[i].latentsByFrame[t], b[i].latentsByFrame[t]);
        }
        QCOMPARE(first.values(), second.values());
        QCOMPARE(saved(first).state, saved(second).state);
        const Saved x = saved(first), y = saved(second);
        for (std::size_t i = 0; i < x.tensors.size(); ++i) {
            if (x.tensors[i].second.dtype() == DType::F32)
                QCOMPARE(x.tensors[i].second.toHost<float>(*first.stream),
                         y.tensors[i].second.toHost<float>(*second.stream));
        }
    }

    /// Wherever a micro-step is stopped: it is not done, its update ends as if nothing had been,
    /// and so does that of a run which goes on from what was saved then.
    void stoppedMicroStepsLoseNothing_data()
    {
        QTest::addColumn<bool>("prefers");
        QTest::addColumn<bool>("isLatents");
        QTest::newRow("captions") << false << false;
        QTest::newRow("latents") << false << true;
        QTest::newRow("preferences") << true << false;
    }
    void stoppedMicroStepsLoseNothing()
    {
        QFETCH(bool, prefers);
        QFETCH(bool, isLatents);
        Options options = prefers ? preferring() : Options{};
        if (isLatents)
            options.variant = Variant::Latents;
        const auto begun = [&] { // inside an accumulation
            auto bench = std::make_unique<TrainBench>(options);
            if (prefers)
                bench->trainer->makeReference(*bench->stream);
            bench->trainer->microStep(*bench->stream);
            return bench;
        };
        const auto whole = begun();
        const auto records = whole->run(2);
        int questions = 0;
        const auto counted = begun();
        counted->trainer->microStep(*counted->stream, [&] { return ++questions < 0; });
        QVERIFY2(questions > 100, qPrintable(QString::number(questions)));
        for (int wanted = 1; wanted <= questions; wanted += 41) {
            const auto stopped = begun();
            int asked = 0;
            const auto isStopped = [&] { return ++asked == wanted; };
            const auto report = stopped->trainer->microStep(*stopped->stream, isStopped);
            QVERIFY(report.wasStopped);
            QCOMPARE(stopped->trainer->counts().microSteps, Index(1));
            TrainBench resumed(options);
            restore(resumed, saved(*stopped));
            for (TrainBench* bench : {stopped.get(), &resumed}) {
                const auto later = bench->run(2);
                QCOMPARE(later.size(), records.size());
                for (std::size_t i = 0; i < records.size(); ++i) {
                    QCOMPARE(later[i].loss, records[i].loss);
                    QCOMPARE(later[i].margin, records[i].margin);
                }
                QCOMPARE(bench->values(), whole->values());
            }
        }
    }

    /// States of earlier versions, inside an accumulation, do not say what their sums are of.
    void statesWithoutCountsGoOn()
    {
        TrainBench bench({}), other({});
        bench.trainer->microStep(*bench.stream);
        const Saved state = saved(bench);
        nlohmann::json json = nlohmann::json::parse(state.state);
        QVERIFY(json.erase("loss_counts") == 1 && json.erase("framed_passes") == 1);
        json["pieces_done"] = 1;
        other.trainer->restore(*other.stream, json, state.tensors);
        QCOMPARE(other.run(1).back().loss, bench.run(1).back().loss);
        json["loss_counts"] = {1, 2};
        VERGENCE_THROWS(InputError, "damaged",
                        other.trainer->restore(*other.stream, json, state.tensors));
    }

    void savingChangesNothing()
    {
        TrainBench first({}), second({});
        first.run(3);
        saved(first);
        QCOMPARE(first.run(5).back().loss, (second.run(3), second.run(5)).back().loss);
    }

    void damagedStatesAreRefused()
    {
        TrainBench bench({});
        bench.run(1);
        Saved state = saved(bench);
        nlohmann::json json = nlohmann::json::parse(state.state);
        json.erase("window_first");
        VERGENCE_THROWS(InputError, "damaged",
                        bench.trainer->restore(*bench.stream, json, state.tensors));
        state.tensors.pop_back();
        VERGENCE_THROWS(InputError, "has no tensor", restore(bench, state));
    }

    /// Numbers that are used as indices are checked against what they point into.
    void impossibleNumbersAreRefused_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<int>("number");
        QTest::newRow("all micro-batches done") << "micro_batches_done" << 2;
        QTest::newRow("far more of them") << "micro_batches_done" << 1'000'000;
        QTest::newRow("less than none") << "micro_batches_done" << -1;
        QTest::newRow("beyond the window") << "window_batch" << 8;
        QTest::newRow("before the window") << "window_batch" << -1;
        QTest::newRow("between windows") << "window_first" << 5;
        QTest::newRow("before all") << "window_first" << -16;
        QTest::newRow("no piece") << "pieces" << 0;
    }
    void impossibleNumbersAreRefused()
    {
        QFETCH(QString, name);
        QFETCH(int, number);
        TrainBench bench({}), other({});
        bench.trainer->microStep(*bench.stream);
        const Saved state = saved(bench);
        nlohmann::json json = nlohmann::json::parse(state.state);
        QVERIFY(json.contains(name.toStdString()));
        json[name.toStdString()] = number;
        VERGENCE_THROWS(InputError, "damaged",
                        other.trainer->restore(*other.stream, json, state.tensors));
    }

    void referencesOfOtherPairsAreRefused()
    {
        TrainBench bench(preferring()), other(preferring());
        QVERIFY(bench.trainer->makeReference(*bench.stream));
        bench.trainer->microStep(*bench.stream);
        const Saved state = saved(bench);
        for (const std::size_t count : {std::size_t{1}, std::size_t{3}, std::size_t{9}}) {
            nlohmann::json json = nlohmann::json::parse(state.state);
            json["references"] = std::vector<std::array<double, 2>>(count);
            VERGENCE_THROWS(InputError, "damaged",
                            other.trainer->restore(*other.stream, json, state.tensors));
        }
    }

    void recordsAreTakenBeforeSaving()
    {
        Options options;
        options.training.live.logEvery = 100;
        TrainBench bench(options);
        bench.run(1);
        VERGENCE_THROWS(ContractError, "records must be taken", bench.trainer->state());
        bench.trainer->takeRecords(*bench.stream, true);
        bench.trainer->state();
    }
};

VERGENCE_TEST(TestTrainerResume)
#include "tst_fvlm_trainer_resume.moc"
