#include <algorithm>
#include <cmath>

#include <QtTest>

#include <nlohmann/json.hpp>

#include "core/artifact/json_text.h"
#include "core/artifact/plot/diagram_image.h"
#include "core/artifact/plot/stroke_face.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/compute/rng.h"
#include "plugins/foveated_vlm/view/token_curve.h"
#include "plugins/foveated_vlm/view/verdict.h"
#include "tests/plugins/foveated_vlm/gaze_scenes.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::fvlm;

namespace {

using Outcome = Verdict::Outcome;

/// Fine losses about 2 nats a token; the others are multiples of them with some noise.
EvaluationRecord record(std::size_t clips, double coarse, double noise = 0.05)
{
    EvaluationRecord record;
    record.update = 400;
    record.variant = "B";
    record.trainsCoarse = true;
    record.epochs = 0.8;
    record.clips = "digest";
    const Rng rng(9);
    for (std::size_t i = 0; i < clips; ++i) {
        ClipScore score;
        score.id = 100 + i;
        score.counted = 6;
        score.fine = 12 * (0.7 + 0.6 * rng.uniform(4 * i));
        const auto times = [&](double factor, std::uint64_t k) {
            return score.fine * (factor + noise * (rng.uniform(4 * i + k) - 0.5));
        };
        score.coarse = times(coarse, 1);
        score.random = times(1.3, 2);
        score.shuffled = times(1.2, 3);
        score.sequential = score.fine * 1.002;
        record.scores.push_back(score);
    }
    return record;
}

EvaluationRecord controlOf(const EvaluationRecord& of, double times)
{
    EvaluationRecord control = of;
    control.isCoarseOnly = true;
    for (ClipScore& score : control.scores) {
        score.coarse = score.fine * times;
        score.fine = NAN;
    }
    return control;
}

HealthFigures healthy()
{
    return {3'000, 0.7, 0.5, 0.4, 0.5, 1.2};
}

bool says(const Verdict& verdict, const std::string& words)
{
    bool isThere = verdict.sentence.find(words) != std::string::npos;
    for (const std::string& remark : verdict.remarks)
        isThere |= remark.find(words) != std::string::npos;
    return isThere;
}

} // namespace

/// Whether looking helps, and how well that is known.
class TestFvlmVerdict : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void intervalsHoldTheirRatio()
    {
        const std::vector<double> a = {2, 4, 6, 8}, b = {1, 2, 3, 4};
        const Interval exact = ratioInterval(a, b); // every resample has the same ratio
        QCOMPARE(exact.value, 2.0);
        QCOMPARE(exact.low, 2.0);
        QCOMPARE(exact.high, 2.0);
        const std::vector<double> c = {3, 1, NAN, 2}, d = {1, 1, 1, 1};
        const Interval some = ratioInterval(c, d);
        QCOMPARE(some.value, 2.0); // the pair that is not finite does not count
        QVERIFY(some.low >= 1 && some.low < 1.7 && some.high > 2.3 && some.high <= 3);
        QCOMPARE(ratioInterval(c, d).low, some.low); // the same draws again
        QVERIFY(std::isnan(ratioInterval({}, {}).value));
        QVERIFY_EXCEPTION_THROWN(ratioInterval(a, std::span(b).first(3)), ContractError);
    }

    void intervalsCoverTheTruth()
    {
        // 200 experiments of 30 pairs whose ratio is 1.5: about 95 of 100 intervals hold it.
        int covered = 0;
        for (std::uint64_t experiment = 0; experiment < 200; ++experiment) {
            const Rng rng(77, experiment);
            std::vector<double> above, below;
            for (std::uint64_t i = 0; i < 30; ++i) {
                below.push_back(1 + rng.uniform(2 * i));
                above.push_back(below.back() * 1.5 + rng.uniform(2 * i + 1) - 0.5);
            }
            const Interval interval = ratioInterval(above, below, experiment);
            covered += interval.low <= 1.5 && 1.5 <= interval.high;
        }
        QVERIFY2(covered >= 176 && covered <= 199, qPrintable(QString::number(covered)));
    }

    void outcomesFollowTheIntervals()
    {
        QVERIFY(judge(record(64, 1.2), healthy()).outcome == Outcome::Helps);
        QVERIFY(says(judge(record(64, 1.25), healthy()), "Looking helps: the loss is below that of "
                                                         "the coarse pass by 20 %"));
        QVERIFY(judge(record(64, 0.9), healthy()).outcome == Outcome::DoesNot);
        QVERIFY(judge(record(64, 1.0, 0.001), healthy()).outcome == Outcome::DoesNot);
        QVERIFY(judge(record(20, 1.01, 0.3), healthy()).outcome == Outcome::CannotTell);
        QVERIFY(says(judge(record(7, 1.5), healthy()), "7 held-out clips are too few"));
    }

    /// What makes no difference on one side of 1 makes none on the other.
    void anIntervalThatReachesIntoTheBandIsNoYes()
    {
        const Verdict close = judge(record(64, 1.005, 0.002), healthy());
        QVERIFY(close.ratio.low > 1 && close.ratio.low <= 1.005 && close.ratio.high > 1.005);
        QVERIFY2(close.outcome == Outcome::CannotTell, close.sentence.c_str());
        QVERIFY2(says(close, "reaches into 1 ± 0.005"), close.sentence.c_str());
        QVERIFY(judge(record(64, 1.006, 0.002), healthy()).outcome == Outcome::Helps);
        EvaluationRecord queries = record(64, 1.2);
        for (ClipScore& score : queries.scores)
            score.shuffled = 1.003 * score.fine;
        const Verdict shuffled = judge(queries, healthy());
        QVERIFY2(shuffled.outcome == Outcome::CannotTell, shuffled.sentence.c_str());
        QVERIFY(says(shuffled, "shuffled queries do no worse"));
    }

    void controlsThatDoAsWellForbidAYes()
    {
        EvaluationRecord even = record(64, 1.2);
        for (ClipScore& score : even.scores)
            score.random = score.fine * (score.id % 2 == 0 ? 1.01 : 0.99);
        const Verdict verdict = judge(even, healthy());
        QVERIFY(verdict.outcome == Outcome::CannotTell);
        QVERIFY(says(verdict, "random queries do no worse"));
        for (ClipScore& score : even.scores)
            score.random = NAN; // not measured: it says nothing
        QVERIFY(judge(even, healthy()).outcome == Outcome::Helps);
        even.randomRatio = 0.999; // of totals, where clips have none
        const Verdict total = judge(even, healthy());
        QVERIFY(total.outcome == Outcome::CannotTell && says(total, "random queries do no worse"));
        QVERIFY(!verdictJson(total)["random"].contains("low"));
        QCOMPARE(evaluationFromJson(evaluationJson(even), "here").randomRatio, 0.999);
        testing::keepPicture("verdict_totals", plot::toImage(verdictCard(total), 1.5));
    }

    void anUntrainedCoarsePassSaysLittle()
    {
        EvaluationRecord untrained = record(64, 1.3);
        untrained.trainsCoarse = false;
        QVERIFY(judge(untrained, healthy()).outcome == Outcome::CannotTell);
        QVERIFY(says(judge(untrained, healthy()), "coarse pass was not trained"));
        const EvaluationRecord better = controlOf(untrained, 1.1);
        const Verdict helped = judge(untrained, healthy(), &better);
        QVERIFY(helped.outcome == Outcome::Helps);
        QVERIFY(std::abs(helped.matched.value - 1.1) < 1e-9);
        QVERIFY(says(helped, "of a model trained without looking"));
        const EvaluationRecord worse = controlOf(untrained, 0.95);
        QVERIFY(judge(untrained, healthy(), &worse).outcome == Outcome::DoesNot);
    }

    void controlsArePairedByClip()
    {
        EvaluationRecord run = record(32, 1.2);
        EvaluationRecord control = controlOf(run, 1.1);
        std::ranges::reverse(control.scores);
        control.scores.erase(control.scores.begin(), control.scores.begin() + 4);
        QVERIFY(std::abs(judge(run, healthy(), &control).matched.value - 1.1) < 1e-9);
        for (ClipScore& score : control.scores)
            score.id += 1'000;
        const Verdict strangers = judge(run, healthy(), &control);
        QVERIFY(std::isnan(strangers.matched.value));
        QVERIFY(says(strangers, "measured on other clips"));
        control = controlOf(run, 1.1);
        control.update = 200;
        QVERIFY(says(judge(run, healthy(), &control), "200 updates, this run for 400"));
        QVERIFY_EXCEPTION_THROWN(judge(run, healthy(), &run), ContractError);
    }

    /// Of a task in which guessing costs 2 nats: before the turn neither yes nor no is said.
    void whatIsNotLearntHasNoVerdict_data()
    {
        QTest::addColumn<double>("nats"); // of a fine answer
        QTest::addColumn<bool>("isLearnt");
        QTest::newRow("guessing") << 2.0 << false;
        QTest::newRow("before the turn") << 1.01 << false;
        QTest::newRow("after it") << 0.99 << true;
        QTest::newRow("known by heart") << 0.01 << true;
    }
    void whatIsNotLearntHasNoVerdict()
    {
        QFETCH(double, nats);
        QFETCH(bool, isLearnt);
        EvaluationRecord run = record(64, 1);
        run.blindNats = 2;
        for (ClipScore& score : run.scores) {
            score.fine = score.sequential = nats;
            score.coarse = score.random = score.shuffled = 2;
        }
        EvaluationRecord control = controlOf(run, 1);
        for (ClipScore& score : control.scores)
            score.coarse = 1.9;
        const Verdict verdict = judge(run, healthy(), &control);
        QVERIFY(verdict.outcome == (isLearnt ? Outcome::Helps : Outcome::NotYetLearnt));
        QCOMPARE(says(verdict, "Not yet learnt: after 400 updates"), !isLearnt);
        QCOMPARE(verdictJson(verdict)["outcome"].get<std::string>(),
                 std::string(isLearnt ? "helps" : "not_yet_learnt"));
        run.blindNats = NAN; // unknown: it is judged as any other
        QVERIFY(judge(run, healthy(), &control).outcome != Outcome::NotYetLearnt);
    }

    void rightAnswersAreSaidInOneSentence()
    {
        EvaluationRecord run = record(64, 1.2);
        EvaluationRecord control = controlOf(run, 30);
        run.blindNats = 40;
        run.right = 500;
        run.answers = control.answers = 500;
        control.right = 100;
        const Verdict verdict = judge(run, healthy(), &control);
        QVERIFY2(says(verdict, "answers 100 % of 500 held-out questions right (95 % interval 99 to "
                               "100 %), the same model trained alike without one, the matched "
                               "control, 20 % (17 to 24 %); an answer costs the control 30 times "
                               "as many nats (30 to 30)."),
                 verdict.sentence.c_str());
        const EvaluationRecord again = evaluationFromJson(evaluationJson(run), "here");
        QCOMPARE(again.right, run.right);
        QCOMPARE(again.answers, run.answers);
        QCOMPARE(again.blindNats, run.blindNats);
    }

    void answersAreChartedOverTokens()
    {
        TokenCurve curve;
        QVERIFY(curve.isEmpty());
        curve.gaze = record(64, 1.2);
        curve.gaze->right = curve.gaze->answers = 500;
        for (const auto& [tokens, right] : {std::pair{16, 250}, std::pair{1, 100}}) {
            EvaluationRecord& control = curve.controls[tokens] = controlOf(*curve.gaze, 2);
            control.right = right;
            control.answers = 500;
        }
        QVERIFY(!curve.isEmpty());
        const nlohmann::json rows = tokenTable(curve)["rows"];
        QCOMPARE(rows.size(), std::size_t(3));
        QCOMPARE(rows[0][2].get<double>(), 100.0);
        QCOMPARE(rows[1][1].get<int>(), 1); // by their tokens
        QCOMPARE(rows[1][2].get<double>(), 20.0);
        QCOMPARE(rows[2][2].get<double>(), 50.0);
        QVERIFY(rows[2][3].get<double>() < 46 && rows[2][4].get<double>() > 54);
        QVERIFY(std::abs(rows[1][6].get<double>() / rows[0][6].get<double>() - 2 / 1.002) < 1e-3);
        testing::keepPicture("tokens", plot::toImage(tokenChart(curve), 1.5));
        QCOMPARE(tokenChart(curve).points.front().x.size(), std::size_t(2));
        curve.controls.erase(16); // one number of tokens makes no curve
        QVERIFY(curve.isEmpty());
    }

    void sharesHaveWilsonsIntervals()
    {
        const Interval none = shareInterval(0, 10), half = shareInterval(5, 10);
        QVERIFY(std::abs(none.low) < 1e-9 && std::abs(none.high - 0.27753) < 1e-4);
        QVERIFY(std::abs(half.low - 0.23660) < 1e-4 && std::abs(half.high - 0.76340) < 1e-4);
        QCOMPARE(shareInterval(10, 10).high, 1.0);
        QVERIFY_EXCEPTION_THROWN(shareInterval(1, 0), ContractError);
    }

    void manyEpochsAndDriftAreRemarked()
    {
        EvaluationRecord run = record(32, 1.2);
        run.epochs = 615;
        for (ClipScore& score : run.scores)
            score.sequential = score.fine * 1.05;
        const Verdict verdict = judge(run, healthy());
        QVERIFY(says(verdict, "615 passes over the data"));
        QVERIFY(says(verdict, "1.050 times the loss"));
    }

    void recordsComeBack()
    {
        const test::Scratch scratch;
        std::filesystem::create_directories(scratch.path() / "artifacts");
        EvaluationRecord run = record(5, 1.2);
        run.scores[2].random = NAN;
        const nlohmann::json json = evaluationJson(run);
        writeFileAtomic(scratch.path() / "artifacts" / kEvaluationFile, prettyJson(json));
        const EvaluationRecord again = readEvaluation(scratch.path());
        QCOMPARE(evaluationJson(again).dump(), json.dump());
        QVERIFY(std::isnan(again.scores[2].random));
        QVERIFY_EXCEPTION_THROWN(readEvaluation(scratch.path() / "artifacts"), InputError);
        nlohmann::json bad = json;
        bad["scores"][0]["id"] = "seven";
        QVERIFY_EXCEPTION_THROWN(evaluationFromJson(bad, "here"), InputError);
        bad = json;
        bad.erase("epochs");
        QVERIFY_EXCEPTION_THROWN(evaluationFromJson(bad, "here"), InputError);
        bad = json;
        bad["format"] = "vergence-evaluation/2";
        QVERIFY_EXCEPTION_THROWN(evaluationFromJson(bad, "here"), InputError);
    }

    void lightsHaveTheirBounds_data()
    {
        QTest::addColumn<QString>("id");
        QTest::addColumn<double>("good");
        QTest::addColumn<double>("bad");
        QTest::newRow("uniform") << "uniform" << 0.979 << 0.981;
        QTest::newRow("collapsed") << "collapsed" << 0.979 << 0.981;
        QTest::newRow("same") << "same" << 0.979 << 0.981;
        QTest::newRow("narrow") << "narrow" << 0.201 << 0.199;
        QTest::newRow("even above") << "even" << 1.0051 << 1.0049;
        QTest::newRow("even below") << "even" << 0.9949 << 0.9951;
    }
    void lightsHaveTheirBounds()
    {
        QFETCH(QString, id);
        QFETCH(double, good);
        QFETCH(double, bad);
        const auto stateWith = [&](double value, std::int64_t updates) {
            HealthFigures figures = healthy();
            figures.updates = updates;
            (id == "uniform"     ? figures.uniformity
             : id == "collapsed" ? figures.querySimilarity
             : id == "same"      ? figures.featureSimilarity
             : id == "narrow"    ? figures.queryDeviation
                                 : figures.ratio) = value;
            for (const HealthLight& light : healthLights(figures))
                if (light.id == id.toStdString())
                    return light.state;
                else if (light.state != HealthLight::State::Good)
                    qFatal("another light is on");
            return HealthLight::State::Unknown;
        };
        QVERIFY(stateWith(good, 2'000) == HealthLight::State::Good);
        QVERIFY(stateWith(bad, 2'000) == HealthLight::State::Bad);
        QVERIFY(stateWith(NAN, 2'000) == HealthLight::State::Unknown);
        if (id == "even") // what is even may still be learning
            QVERIFY(stateWith(bad, 1'999) == HealthLight::State::Unknown);
    }

    void cardsHoldEverything_data()
    {
        QTest::addColumn<int>("kind");
        QTest::newRow("helps") << 0;
        QTest::newRow("does_not") << 1;
        QTest::newRow("cannot_tell") << 2;
        QTest::newRow("matched") << 3;
        QTest::newRow("empty") << 4;
        QTest::newRow("large") << 5;
    }
    void cardsHoldEverything()
    {
        QFETCH(int, kind);
        HealthFigures health = healthy();
        if (kind == 1)
            health.uniformity = 0.995, health.querySimilarity = 0.993, health.ratio = 0.9991;
        if (kind == 4)
            health = {};
        EvaluationRecord run = kind == 1   ? record(64, 0.999, 0.001)
                               : kind == 2 ? record(16, 1.02, 0.4)
                               : kind == 4 ? EvaluationRecord{}
                                           : record(256, 1.21);
        if (kind == 1)
            run.epochs = 615;
        if (kind == 5)
            run = record(256, 779.802);
        const EvaluationRecord control = controlOf(run, 1.09);
        const Verdict verdict = judge(run, health, kind == 3 ? &control : nullptr);
        const Diagram card = verdictCard(verdict);
        testing::keepPicture((std::string("verdict_") + QTest::currentDataTag()).c_str(),
                             plot::toImage(card, 1.5, kind == 1));
        for (const Diagram::Text& text : card.texts) {
            const double length = plot::strokedText(text.text, text.size).width;
            const double left = text.anchor == "centre" ? text.x - length / 2 : text.x;
            QVERIFY2(left >= 0 && left + length <= card.right && text.y > 4 &&
                         text.y < card.top - 4,
                     text.text.c_str());
        }
        const nlohmann::json json = verdictJson(verdict);
        QCOMPARE(json["sentence"].get<std::string>(), verdict.sentence);
        QCOMPARE(json["lights"].size(), std::size_t(5));
        QCOMPARE(json["matched"].is_null(), kind != 3);
    }
};

VERGENCE_TEST(TestFvlmVerdict)
#include "tst_fvlm_verdict.moc"
