#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <fmt/format.h>

#include "core/base/file.h"
#include "plugins/mc_embedding/models/text_model.h"
#include "plugins/mc_embedding/study/experiments/layer_rates.h"
#include "plugins/mc_embedding/study/study_files.h"
#include "tests/plugins/mc_embedding/mc_run_bench.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::mc_embedding;

namespace {

const WayScores& wayOf(const ModelStudy& study, const std::string& experiment,
                       const std::string& name)
{
    const auto found = std::find_if(study.ways.begin(), study.ways.end(), [&](const auto& way) {
        return way.experiment == experiment && way.name == name;
    });
    if (found == study.ways.end())
        throw InputError("no way " + experiment + " " + name);
    return *found;
}

double meanOf(const Matrix& matrix)
{
    return std::accumulate(matrix.values.begin(), matrix.values.end(), 0.0) /
           static_cast<double>(matrix.values.size());
}

double distance(const Matrix& a, const Matrix& b)
{
    double sum = 0;
    for (std::size_t i = 0; i < a.values.size(); ++i)
        sum += (a.values[i] - b.values[i]) * (a.values[i] - b.values[i]);
    return std::sqrt(sum);
}

bool areSame(const Matrix& a, const Matrix& b)
{
    return a.rows == b.rows && a.columns == b.columns && a.values == b.values;
}

/// What differs between two studies in what the later experiments measured; empty: nothing.
std::string laterDifferenceOf(const ModelStudy& a, const ModelStudy& b)
{
    if (a.ways.size() != b.ways.size() || a.degradedFeatures.size() != b.degradedFeatures.size())
        return "extents";
    for (const WayScores& way : a.ways) {
        const WayScores& other = wayOf(b, way.experiment, way.name);
        if (!areSame(way.trace, other.trace) || !areSame(way.anisotropy, other.anisotropy) ||
            way.rates != other.rates)
            return way.experiment + " " + way.name;
    }
    for (const auto& [name, features] : a.degradedFeatures) {
        if (!areSame(features, b.degradedFeatures.at(name)))
            return "features of " + name;
    }
    if (a.synthetic->groups != b.synthetic->groups ||
        !areSame(a.synthetic->trace, b.synthetic->trace))
        return "exp2";
    if (!areSame(a.prompts->features, b.prompts->features))
        return "exp8";
    return areSame(a.texts->trace, b.texts->trace) ? "" : "exp10";
}

} // namespace

/// The later experiments from a run to their files, on a tiny tower and painted pictures.
class TestMcLaterRun : public QObject {
    Q_OBJECT

    test::Scratch m_scratch;
    RunBench m_bench{m_scratch.path()};
    RunFolder m_folder;
    StudyState m_state;
    RunOutcome m_outcome;

    const std::vector<std::string> m_assignments{
        "experiment=[\"exp1\", \"exp2\", \"exp3\", \"exp6\", \"exp7\", \"exp8\", \"exp9\", "
        "\"exp10\", \"exp11\", \"mean_convergence\"]",
        "count=12",
        "batch_images=4",
        "batch_passes=8",
        "passes=[4, 16]",
        "exp1_rates=[0.01, 0.05, 0.1]",
        "exp2_each=3",
        "exp10_prompts=20",
        "exp11_candidates=3"};

    const ModelStudy& study() const { return m_state.models.front(); }
    nlohmann::json summary(const std::string& experiment) const
    {
        return nlohmann::json::parse(
            readFile(m_folder.artifacts() /
                     fmt::format("study/{0}/tiny_clip/{0}_summary.json", experiment)));
    }

private Q_SLOTS:
    void initTestCase()
    {
        m_folder = m_bench.newFolder();
        m_outcome = m_bench.run(m_folder, m_bench.configOf(m_assignments));
        QVERIFY2(m_outcome.code == ExitCode::Success, m_outcome.problems().c_str());
        m_state = readStudy(m_folder.root);
        QCOMPARE(m_state.models.size(), std::size_t(1));
    }

    /// exp1: the trace is of first order in p / (1 − p), and the rate of the study itself is not
    /// measured twice.
    void ranksOverRates()
    {
        const auto json = summary("exp1");
        QCOMPARE(json.at("p").get<std::vector<double>>(), (std::vector<double>{0.01, 0.05, 0.1}));
        const double order = json.at("order_in_p").get<double>();
        QVERIFY2(order > 0.8 && order < 1.2, qPrintable(QString::number(order)));
        QVERIFY(areSame(wayOf(study(), "exp1", "0.05").trace, study().scores.at("trace_pre")[1]));
        QVERIFY(json.at("spearman")[0][0] == 1.0);
    }

    /// exp3: of first order, traces of disjoint sites add up: attention and MLP make all linears.
    void placementsAddUp()
    {
        const double a = meanOf(wayOf(study(), "exp3", "A attention_only").trace),
                     b = meanOf(wayOf(study(), "exp3", "B mlp_only").trace),
                     d = meanOf(wayOf(study(), "exp3", "D sites").trace),
                     e = meanOf(wayOf(study(), "exp3", "E all_linear").trace);
        QVERIFY2(std::abs((a + b) / e - 1) < 0.15, qPrintable(QString::number((a + b) / e)));
        QVERIFY(d > 0 && d < b);
        QVERIFY(areSame(wayOf(study(), "exp3", "E all_linear").trace,
                        study().scores.at("trace_pre")[1]));
        const auto types = summary("exp3").at("types");
        for (const auto& [name, type] : types.items()) {
            const double anisotropy = type.at("anisotropy_median").get<double>();
            QVERIFY2(anisotropy > 1.0 / 15 && anisotropy <= 1, name.c_str());
        }
        // Six coins move a feature in six directions, of first order.
        const auto anisotropyOf = [&](const char* name) {
            return types.at(name).at("anisotropy_median").get<double>();
        };
        const double coins = anisotropyOf("C stochastic_depth");
        QVERIFY2(coins > 1.0 / 6 && coins > anisotropyOf("E all_linear"),
                 qPrintable(QString::number(coins)));
    }

    void paintedPicturesAreToldFromNatural()
    {
        QVERIFY(m_outcome.problems().find("no natural pictures") != std::string::npos);
        const auto json = summary("exp2");
        QCOMPARE(json.at("groups").size(), std::size_t(3));
        for (const auto& group : json.at("groups")) {
            QCOMPARE(group.at("num_images").get<int>(), 3);
            QVERIFY(group.at("mean").get<double>() > 0);
        }
        QVERIFY(json.at("is_expected_order").is_null());
        QCOMPARE(json.at("is_expected_order_reason").get<std::string>(),
                 std::string("needs pictures of natural"));
    }

    /// Where the study's pictures are named from the current folder, too.
    void naturalPicturesAreFound_data()
    {
        QTest::addColumn<QString>("key");
        QTest::addColumn<QString>("name");
        QTest::newRow("folder") << "folder"
                                << "";
        QTest::newRow("manifest") << "manifest"
                                  << "list.txt";
    }
    void naturalPicturesAreFound()
    {
        QFETCH(QString, key);
        QFETCH(QString, name);
        const std::filesystem::path pictures = m_scratch / ("photos of a " + key.toStdString());
        writeDemoImages(pictures, 3, 42);
        writeFileAtomic(pictures / "list.txt",
                        "solid/solid_000.png\nhorizontal/horizontal_000.png\n");
        const auto named = std::filesystem::relative(pictures) / name.toStdString();
        QVERIFY(named.is_relative());
        const RunFolder folder = m_bench.newFolder();
        const RunOutcome outcome = m_bench.run(
            folder, m_bench.configOf({key.toStdString() + "=" + named.string(), "count=2",
                                      "experiment=[\"exp2\"]", "exp2_each=2"}));
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        QCOMPARE(outcome.problems(), std::string());
        const auto json = nlohmann::json::parse(
            readFile(folder.artifacts() / "study/exp2/tiny_clip/exp2_summary.json"));
        QCOMPARE(json.at("groups").size(), std::size_t(4));
        QCOMPARE(json.at("groups")[3].at("num_images").get<int>(), 2);
        QVERIFY(json.at("is_expected_order").is_boolean());
    }

    /// exp6: the trace of the hat matrix with λ = 1 is the number of effective parameters.
    void leveragesSumToTheEffectiveParameters()
    {
        const auto json = summary("exp6");
        const std::string csv = readFile(m_folder.artifacts() / "study/exp6/tiny_clip/exp6.csv");
        double sum = 0;
        for (std::size_t at = csv.find('\n') + 1; at < csv.size(); at = csv.find('\n', at) + 1)
            sum += std::stod(csv.substr(csv.find(',', at) + 1));
        const double effective = json.at("lambda_1").at("effective_parameters").get<double>();
        QVERIFY2(std::abs(sum / effective - 1) < 1e-6, qPrintable(QString::number(sum)));
        QVERIFY(effective > 0 && effective < 12);
        QVERIFY(json.at("seconds_per_image").get<double>() > 0);
    }

    /// exp7: features move the farther the worse the copy.
    void worseCopiesAreFartherAway()
    {
        const Matrix& clean = study().deterministic;
        const auto& copies = study().degradedFeatures;
        QCOMPARE(copies.size(), std::size_t(9));
        QVERIFY(distance(copies.at("jpeg20"), clean) > distance(copies.at("jpeg80"), clean));
        QVERIFY(distance(copies.at("blur4"), clean) > distance(copies.at("blur1"), clean));
        QVERIFY(distance(copies.at("occlude0.25"), clean) >
                distance(copies.at("occlude0.1"), clean));
        QVERIFY(summary("exp7").at("aleatoric_mean").get<double>() > 0);
    }

    void twentyPromptsSpanNineteenDimensions()
    {
        const auto json = summary("exp8");
        QCOMPARE(json.at("rank").get<int>(), 19);
        QVERIFY(std::abs(json.at("null_share").get<double>() - 19.0 / 48) < 1e-12);
        const double inside = json.at("mean_inside_share").get<double>();
        QVERIFY(inside > 0.1 && inside < 0.9);
    }

    void oracleAssociatesBest()
    {
        const auto json = summary("exp9");
        QCOMPARE(json.at("baseline").at("detections").get<int>(), 40 * 12);
        QVERIFY(json.at("oracle").at("accuracy") >= json.at("baseline").at("accuracy"));
        const double baseline = json.at("baseline").at("accuracy").get<double>();
        QVERIFY(baseline > 1.0 / 12 && baseline < 1);
    }

    /// exp10: the trace of a prompt, worked out from its passes alone.
    void textTraceIsThatOfItsPasses()
    {
        const auto device = makeCpuDevice();
        const auto stream = device->createStream();
        const auto text = demoTextModel("tiny_clip", 48, 42, device);
        std::vector<PassId> passes;
        for (std::uint16_t t = 0; t < 16; ++t)
            passes.push_back({1, t});
        Perturbation dropout;
        dropout.p = 0.05;
        const Matrix features = text->encodeMasked(*stream, {study().texts->prompts[17]},
                                                   "canonicalize", dropout, passes);
        double trace = 0;
        for (std::size_t d = 0; d < 48; ++d) {
            double mean = 0, squares = 0;
            for (std::size_t t = 0; t < 16; ++t)
                mean += features(t, d) / 16;
            for (std::size_t t = 0; t < 16; ++t)
                squares += (features(t, d) - mean) * (features(t, d) - mean);
            trace += squares / 15 / 48;
        }
        const double measured = study().texts->trace(1, 17);
        QVERIFY2(std::abs(measured / trace - 1) < 1e-3,
                 qPrintable(QString("%1 %2").arg(measured).arg(trace)));
        QCOMPARE(summary("exp10").at("styles").size(), std::size_t(5));
    }

    /// exp11: with rates between two values the trace lies between those of the values; that of one
    /// rate everywhere is proportional to p / (1 − p).
    void tracesFollowTheirRates()
    {
        const double whole = meanOf(study().scores.at("trace_pre")[1]) / (0.05 / 0.95);
        for (const char* name : {"00", "01", "02", "03"}) {
            const WayScores& way = wayOf(study(), "exp11", name);
            const auto [low, high] = std::minmax_element(way.rates.begin(), way.rates.end());
            const double trace = meanOf(way.trace);
            QVERIFY2(trace > 0.8 * whole * *low / (1 - *low), name);
            QVERIFY2(trace < 1.2 * whole * *high / (1 - *high), name);
        }
        QVERIFY(areSame(wayOf(study(), "exp11", "00").trace, study().scores.at("trace_pre")[1]));
        QCOMPARE(summary("exp11").at("candidates").size(), std::size_t(4));
    }

    void distanceOfTheMeanIsBiasAndSampling()
    {
        const auto json = summary("mean_convergence");
        const auto squared = json.at("squared_distance").get<std::vector<double>>();
        QCOMPARE(squared.size(), std::size_t(2));
        for (std::size_t i = 0; i < 2; ++i) {
            const double t = json.at("passes")[i].get<double>();
            const double fit =
                json.at("bias2").get<double>() + json.at("variance").get<double>() / t;
            QVERIFY(std::abs(fit / squared[i] - 1) < 1e-9); // two points, two unknowns
        }
        const double ratio = json.at("variance").get<double>() / json.at("trace_sum").get<double>();
        QVERIFY2(ratio > 0.7 && ratio < 1.3, qPrintable(QString::number(ratio)));
    }

    void recordKeepsAllOfIt()
    {
        const RunFolder copy = m_bench.newFolder();
        ArtifactStore artifacts(copy);
        writeStudy(artifacts, m_state);
        QCOMPARE(laterDifferenceOf(study(), readStudy(copy.root).models.front()), std::string());
        for (const char* file : {"study/exp1/tiny_clip/exp1_summary.json",
                                 "study/exp11/tiny_clip/exp11.csv", "study/state.json"})
            QCOMPARE(readFile(copy.artifacts() / file), readFile(m_folder.artifacts() / file));
    }

    void reportHasTheirTables()
    {
        const std::string report = readFile(m_folder.artifacts() / "report/report.md");
        for (const char* title : {"Exp 1:", "Exp 2:", "Exp 3:", "Exp 6:", "Exp 7:", "Exp 8:",
                                  "Exp 9:", "Exp 10:", "Exp 11:", "Mean of T passes"})
            QVERIFY2(report.find(title) != std::string::npos, title);
    }

    void stoppedRunGoesOnToTheSameBits()
    {
        const Config config = m_bench.configOf(m_assignments);
        const RunFolder folder = m_bench.newFolder();
        std::mt19937 random(11);
        bool resumes = false;
        int stops = 0;
        for (bool isDone = false; !isDone;) {
            const auto after = std::uniform_int_distribution<int>(
                1, static_cast<int>(m_outcome.steps) / 6)(random);
            std::int64_t begin = -1;
            bool isAsked = false;
            const RunOutcome outcome =
                m_bench.run(folder, config, resumes, [&](RunController& controller) {
                    if (begin < 0)
                        begin = controller.step();
                    if (!isAsked && controller.step() - begin >= after)
                        isAsked = controller.requestStop();
                });
            QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
            isDone = outcome.state != RunState::Stopped;
            resumes = true;
            stops += isDone ? 0 : 1;
        }
        QVERIFY(stops >= 5);
        QCOMPARE(laterDifferenceOf(study(), readStudy(folder.root).models.front()), std::string());
    }

    void stoppedRunReportsWhatIsComplete()
    {
        const Config config = m_bench.configOf({"models=[\"toy_linear\", \"tiny_clip\"]"});
        const RunFolder folder = m_bench.newFolder();
        bool isAsked = false;
        // 3 chunks of 3 trials of 4 blocks are the first model.
        const RunOutcome outcome =
            m_bench.run(folder, config, false, [&](RunController& controller) {
                if (!isAsked && controller.step() >= 37)
                    isAsked = controller.requestStop();
            });
        QCOMPARE(outcome.state, RunState::Stopped);
        const auto report = folder.artifacts() / "report/report.md";
        const std::string partial = readFile(report);
        QVERIFY(partial.find("Partial, the run was stopped") != std::string::npos);
        QVERIFY(partial.find("tiny_clip") != std::string::npos);
        QVERIFY(partial.find("toy_linear") != std::string::npos);
        QCOMPARE(m_bench.run(folder, config, true).code, ExitCode::Success);
        QVERIFY(readFile(report).find("Partial,") == std::string::npos);
    }

    /// What a study cannot support is said; the rest is measured.
    void imagesWithoutClassesHaveNoJudgement()
    {
        const std::filesystem::path pictures = m_scratch / "one_class";
        writeDemoImages(pictures, 1, 42);
        std::filesystem::copy_file(pictures / "solid/solid_000.png",
                                   pictures / "solid/solid_001.png");
        const RunFolder folder = m_bench.newFolder();
        const RunOutcome outcome = m_bench.run(
            folder, m_bench.configOf({"folder=" + pictures.string(), "count=2",
                                      "experiment=[\"exp6\", \"exp11\", \"exp1\"]",
                                      "exp1_rates=[0.02, 0.05]", "exp11_candidates=1"}));
        QVERIFY2(outcome.code == ExitCode::Success, outcome.problems().c_str());
        QVERIFY(outcome.problems().find("at least two classes") != std::string::npos);
        const auto json = nlohmann::json::parse(
            readFile(folder.artifacts() / "study/exp6/tiny_clip/exp6_summary.json"));
        QVERIFY(json.contains("reason"));
        QVERIFY(
            std::filesystem::exists(folder.artifacts() / "study/exp1/tiny_clip/exp1_summary.json"));
    }
};

VERGENCE_TEST(TestMcLaterRun)
#include "tst_mc_later_run.moc"
