#include <filesystem>
#include <map>
#include <sstream>

#include <QTest>

#include "app/shell/run_starter.h"
#include "app/shell/studio_settings.h"
#include "core/base/file.h"
#include "tests/app/cli/cli_bench.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

namespace fs = std::filesystem;

/// Series whose values are times or the load of the machine.
bool isOfTheMachine(const std::string& name)
{
    for (const char* group : {"time/", "speed/", "system/", "progress/"}) {
        if (name.starts_with(group))
            return true;
    }
    return false;
}

/// "name,value" of every line of metrics.csv that does not tell of the machine, in their order.
std::vector<std::string> metricsOf(const fs::path& run)
{
    std::vector<std::string> lines;
    std::istringstream file(readFile(run / "metrics.csv"));
    std::string step, wall, rest;
    std::getline(file, rest); // names of the columns
    while (std::getline(file, step, ',') && std::getline(file, wall, ',') &&
           std::getline(file, rest)) {
        if (!isOfTheMachine(rest))
            lines.push_back(step + "," + rest);
    }
    return lines;
}

void dropTimes(nlohmann::json& value)
{
    if (value.is_object()) {
        for (const char* key : {"seconds", "leverage_seconds", "tflops"})
            value.erase(key);
    }
    if (value.is_structured()) {
        for (auto& part : value)
            dropTimes(part);
    }
}

/// Every file of the study: tables and arrays as bytes, JSON without times and its own folder.
std::map<std::string, std::string> studyOf(const fs::path& run)
{
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(run / "artifacts/study")) {
        if (!entry.is_regular_file())
            continue;
        std::string text = readFile(entry.path());
        if (entry.path().extension() == ".json") {
            auto json = nlohmann::json::parse(text);
            dropTimes(json);
            text = json.dump();
            for (std::size_t at; (at = text.find(run.string())) != std::string::npos;)
                text.replace(at, run.string().size(), "RUN");
        }
        files[fs::relative(entry.path(), run).generic_string()] = text;
    }
    return files;
}

} // namespace

/// One study from the command line and from the window's list of runs: the same numbers.
class TestMcWindowCli : public test::CliBench {
    Q_OBJECT

    const RunDraft m_draft{"mc_embedding",
                           "demo",
                           {"models=[\"tiny_clip\", \"toy_linear\"]", "count=6", "trials=3",
                            "passes=[4, 8]", "experiment=[\"exp0\", \"exp0b\"]"},
                           {}};

private Q_SLOTS:
    void init() { makeHome(); }

    void bothWaysGiveTheSameNumbers()
    {
        QStringList typed{"run", "mc_embedding", "--preset", "demo", "--run-dir", path("typed")};
        for (const QString& flag : m_draft.flags)
            typed += {"--set", flag};
        const test::Outcome outcome = vergence(typed);
        QVERIFY2(outcome.code == 0, qPrintable(outcome.err));

        StudioSettings settings(path("settings"), true);
        RunListModel runs;
        runs.setFolder(path("window"));
        RunStarter starter(runs, settings, m_worker, {});
        const QString id = starter.start(m_draft);
        QTRY_VERIFY_WITH_TIMEOUT(runs.find(id)->state == RunState::Completed ||
                                     runs.find(id)->state == RunState::Failed,
                                 test::kWaitMilliseconds);
        QCOMPARE(runs.find(id)->state, RunState::Completed);
        const fs::path clicked = runs.find(id)->folder.root;

        const fs::path byHand = path("typed").toStdString();
        const std::vector<std::string> metrics = metricsOf(byHand);
        QVERIFY2(metrics.size() > 10, qPrintable(QString::number(metrics.size())));
        QVERIFY(metrics == metricsOf(clicked));
        const auto study = studyOf(byHand), other = studyOf(clicked);
        QVERIFY(study.size() > 8);
        QCOMPARE(other.size(), study.size());
        for (const auto& [name, bytes] : study)
            QVERIFY2(other.contains(name) && other.at(name) == bytes, name.c_str());
        qInfo("%zu numbers and %zu files agree", metrics.size(), study.size());
    }

private:
    const QString m_worker = test::kBuild + "/bin/vergence";
};

VERGENCE_TEST(TestMcWindowCli)
#include "tst_mc_window_cli.moc"
