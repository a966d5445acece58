#include <algorithm>

#include <QRegularExpression>
#include <QtTest>

#include "core/artifact/gif.h"
#include "core/base/file.h"
#include "plugins/mc_embedding/report/plots.h"
#include "plugins/mc_embedding/report/report_content.h"
#include "plugins/mc_embedding/report/study_report.h"
#include "tests/plugins/mc_embedding/synthetic_study.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::mc_embedding;
using vergence::test::Scratch;

namespace {

Image picture(std::size_t image)
{
    return makeImage(40, 30, 3, static_cast<std::uint8_t>(40 + image % 200));
}

StudyState smallStudy()
{
    test::SyntheticStudy wanted;
    wanted.images = wanted.done = 60;
    wanted.trials = 3;
    wanted.passes = {4, 12};
    wanted.dimensions = 8;
    return test::makeStudy(wanted);
}

} // namespace

class StudyReportTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase()
    {
        writeReport(m_artifacts, smallStudy(), picture);
        m_html = readFile(m_scratch / "artifacts/report/report.html");
        m_markdown = readFile(m_scratch / "artifacts/report/report.md");
        if (const char* folder = std::getenv("VERGENCE_PICTURES"))
            std::filesystem::copy(m_scratch / "artifacts/report",
                                  std::filesystem::path(folder) / "report",
                                  std::filesystem::copy_options::recursive |
                                      std::filesystem::copy_options::overwrite_existing);
    }

    void everyFileIsListedWithItsHash()
    {
        const auto listed = m_artifacts.list();
        QVERIFY(listed.size() > 50);
        for (const Artifact& artifact : listed)
            QCOMPARE(sha256OfFile(m_scratch / artifact.path), artifact.sha256);
    }

    void chartsComeWithTheirData()
    {
        int charts = 0;
        for (const Artifact& artifact : m_artifacts.list()) {
            if (artifact.role != "chart")
                continue;
            ++charts;
            const Image image = readPng(m_scratch / artifact.path);
            QVERIFY(image.width >= 800 && image.text.empty());
            const std::string data = artifact.path.substr(0, artifact.path.size() - 4) + ".csv";
            QVERIFY2(std::filesystem::exists(m_scratch / data), data.c_str());
        }
        QVERIFY(charts >= 25);
    }

    void theCloudGrowsPassByPass()
    {
        const GifContent gif = readGif(m_scratch / "artifacts/report/cloud/clip_b32_highest.gif");
        QCOMPARE(gif.frames.size(), std::size_t{12});
        QVERIFY(gif.frames[0].width <= 640 && gif.frames[0].height <= 480);
        QCOMPARE(gif.delaysCentiseconds.front(), 8);
        QCOMPARE(gif.delaysCentiseconds.back(), 100);
        QVERIFY(gif.frames[0].pixels != gif.frames[11].pixels);
        QCOMPARE(gif.frames[0].pixels[0], std::uint8_t{255}); // white paper
        for (int t = 1; t <= 12; ++t)
            QVERIFY(std::filesystem::exists(
                m_scratch /
                fmt::format("artifacts/report/cloud/clip_b32_highest/pass_{:04}.png", t)));
    }

    void thePageNeedsNothingElse()
    {
        const QString html = QString::fromStdString(m_html);
        QVERIFY(!html.contains("<script") && !html.contains("<link") && !html.contains("@import"));
        const QRegularExpression source("(?:src|href)=\"(?!data:)");
        QVERIFY2(!source.match(html).hasMatch(), "a reference to another file");
        QVERIFY(html.count("<svg ") >= 25);
        QCOMPARE(html.count("<figure"), html.count("</figure>"));
        QVERIFY(html.contains("prefers-color-scheme: dark"));
        QCOMPARE(html.count("data:image/jpeg;base64,/9j/"), 2 * 2 * 12); // two galleries a model
        QVERIFY2(m_html.size() < 1'000'000, qPrintable(QString::number(m_html.size())));
    }

    void answersComeBeforeSettings()
    {
        const std::vector<const char*> order{"Extend T: nothing is usable",
                                             "clip_b32: failed at T = 12",
                                             "<h2>Results",
                                             "Models beside each other",
                                             "<h2>clip_b32",
                                             "<h2>siglip2_b16",
                                             "Settings that differ",
                                             "<h2>Models as measured",
                                             "<summary>All settings",
                                             "<summary>Known deviations ",
                                             "<h2>Reproduction"};
        std::size_t at = 0;
        for (const char* part : order) {
            const std::size_t found = m_html.find(part);
            QVERIFY2(found != std::string::npos && found > at, part);
            at = found;
        }
    }

    void settingsStandBesideTheirDefaults()
    {
        const Report report = reportOf(smallStudy());
        const auto rowsOf = [&](const std::string& title) {
            const auto section = std::ranges::find(report.sections, title, &ReportSection::title);
            std::vector<std::string> rows;
            for (const auto& row : section->tables.front().rows)
                rows.push_back(row[0].grey + " " + row[1].text + " " + row[2].text);
            return rows;
        };
        QCOMPARE(rowsOf("Settings that differ from their defaults"),
                 (std::vector<std::string>{" value default", "count 120 500", "p 0.05 0.01",
                                           "trials 6 10"}));
        QCOMPARE(rowsOf("All settings").size(), std::size_t{1 + 5});
    }

    void intervalsFollowAlpha()
    {
        StudyState state = smallStudy();
        for (ModelStudy& model : state.models)
            model.alpha = 0.32;
        const Report report = reportOf(state);
        const std::string title = "Reliability of every model, T and space";
        const auto section = std::ranges::find(report.sections, title, &ReportSection::title);
        const auto& rows = section->tables.front().rows;
        QCOMPARE(rows[0][7].text, std::string("ICC 68 %"));
        const auto scores = scoresOf(state, {0, 0, "trace_pre"});
        const Reliability cell = reliability(*scores, 4, 0.32);
        QCOMPARE(rows[1][7].text,
                 shortNumber(cell.iccLow.value) + " … " + shortNumber(cell.iccHigh.value));
    }

    void coloursFollowThePaper()
    {
        Diagram drawing;
        drawing.lines.emplace_back().colour = "series 3";
        QVERIFY(toSvg(drawing).find("class=\"s3\"") != std::string::npos);
        QVERIFY(svgStyle(false) != svgStyle(true));
        QVERIFY(svgStyle(true).find("svg .s15,") != std::string::npos);
    }

    void whatTheStudySaysIsThere()
    {
        for (const std::string& text : {m_html, m_markdown}) {
            const QString report = QString::fromStdString(text);
            for (const char* part :
                 {"is that amount repeatable", "Settings", "Results",
                  "Known deviations from the original", "Reproduction", "vergence run config.toml",
                  "Drop probability p", "siglip2_b16", "clip_l14 was left out: no weights",
                  "only the MLP was masked", "0.362", "seed 42"})
                QVERIFY2(report.contains(part), part);
        }
        QVERIFY(m_html.find("ICC 0.75 is predicted at T = 20") != std::string::npos);
    }

    void theGatesDecide()
    {
        StudyState state = test::makeStudy();
        const Report both = reportOf(state);
        QCOMPARE(both.verdict,
                 std::string("Go on: 1 of 2 models are usable – siglip2_b16 at T = 64."));
        QCOMPARE(both.findings.size(), std::size_t{2});
        QVERIFY(both.findings[0].starts_with("clip_b32: failed at T = 64 – ICC 0."));
        QVERIFY(both.findings[1].find("; the score is higher for ") != std::string::npos);
        QCOMPARE(both.tone, std::string("good"));
        state.models.push_back(state.models[1]);
        QVERIFY(reportOf(state).verdict.starts_with("Go on: 2 of 3 models are usable – "));
        state.models.resize(1); // clip_b32 fails at T = 64
        QVERIFY(reportOf(state).verdict.starts_with("Extend T: nothing is usable yet"));
        QCOMPARE(reportOf(state).tone, std::string("bad"));
        const std::string negative = "Negative result: no model reaches an ICC of 0.5 at T = 64.";
        QCOMPARE(std::ranges::count(both.findings, negative), 0);
        QCOMPARE(reportOf(state).findings.back(), negative);
        for (Matrix& scores : state.models[0].scores["trace_pre"])
            scores = Matrix(1, scores.columns, 0.5);
        QVERIFY(reportOf(state).verdict.starts_with("No verdict"));
    }

    void picturesOfTheMarkdownExist()
    {
        const QRegularExpression picture("!\\[[^\\]]*\\]\\(([^)]+)\\)");
        auto matches = picture.globalMatch(QString::fromStdString(m_markdown));
        int count = 0;
        while (matches.hasNext()) {
            const auto file = matches.next().captured(1).toStdString();
            QVERIFY2(std::filesystem::exists(m_scratch / ("artifacts/report/" + file)),
                     file.c_str());
            ++count;
        }
        QVERIFY(count >= 25);
    }

    void theSameStudyGivesTheSameBytes()
    {
        const Scratch other;
        ArtifactStore again(RunFolder{other.path()});
        writeReport(again, smallStudy(), picture);
        const auto first = m_artifacts.list(), second = again.list();
        QCOMPARE(first.size(), second.size());
        for (std::size_t i = 0; i < first.size(); ++i)
            QVERIFY2(first[i].sha256 == second[i].sha256, first[i].path.c_str());
    }

    void anEmptyStudyStillReports()
    {
        const Scratch other;
        ArtifactStore artifacts(RunFolder{other.path()});
        StudyState state;
        state.skippedModels["clip_b32"] = "no weights";
        writeReport(artifacts, state, picture);
        const std::string html = readFile(other / "artifacts/report/report.html");
        QVERIFY(html.find("No verdict") != std::string::npos);
        QVERIFY(html.find("clip_b32 was left out: no weights") != std::string::npos);
    }

private:
    Scratch m_scratch;
    ArtifactStore m_artifacts{RunFolder{m_scratch.path()}};
    std::string m_html, m_markdown;
};

VERGENCE_TEST(StudyReportTest)
#include "tst_mc_report.moc"
