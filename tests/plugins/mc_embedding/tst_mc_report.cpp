#include <QRegularExpression>
#include <QtTest>

#include "core/artifact/gif.h"
#include "core/base/file.h"
#include "plugins/mc_embedding/report/report_content.h"
#include "plugins/mc_embedding/report/study_report.h"
#include "tests/plugins/mc_embedding/synthetic_study.h"
#include "tests/support/scratch.h"

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
        QCOMPARE(html.count("<figure>"), html.count("</figure>"));
        QVERIFY(html.contains("color-scheme: light"));
        QVERIFY(html.contains("data:image/gif;base64,R0lGOD"));
    }

    void whatTheStudySaysIsThere()
    {
        for (const std::string& text : {m_html, m_markdown}) {
            const QString report = QString::fromStdString(text);
            for (const char* part :
                 {"Question", "Settings", "Results", "Known deviations from the original",
                  "Reproduction", "vergence run config.toml", "dropout.p", "siglip2_b16",
                  "clip_l14 was left out: no weights", "only the MLP was masked", "0.362",
                  "seed 42"})
                QVERIFY2(report.contains(part), part);
        }
        QVERIFY(m_html.find("Nothing is usable up to T = 12. The Spearman–Brown law puts ICC "
                            "0.75 at T ≈ 15") != std::string::npos);
    }

    void theGatesDecide()
    {
        StudyState state = test::makeStudy();
        QVERIFY(reportOf(state).verdict.starts_with("Go on: siglip2_b16 at T = 64"));
        QCOMPARE(reportOf(state).tone, std::string("good"));
        state.models.resize(1); // clip_b32 fails at T = 64
        QVERIFY(reportOf(state).verdict.starts_with("Nothing is usable up to T = 64. The"));
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

QTEST_GUILESS_MAIN(StudyReportTest)
#include "tst_mc_report.moc"
