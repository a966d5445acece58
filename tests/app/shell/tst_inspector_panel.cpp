#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QTreeWidget>

#include "app/shell/inspector_panel.h"
#include "core/artifact/manifest.h"
#include "core/base/file.h"
#include "tests/support/patience.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

/// A run with two results, of which one is here.
RunFolder runWithResults(const test::Scratch& disk, bool isCopy)
{
    const RunFolder folder = RunFolder::createAt(disk / "run");
    RunStatus status;
    status.state = "Completed";
    writeStatus(folder, status);
    writeManifest(folder, makeManifest(folder),
                  {{"artifacts/mesh.glb", "mesh", {}, 2'000'000, "Mesh"},
                   {"artifacts/plate.txt", "plate", {}, 4, "Plate"}});
    writeFileAtomic(folder.artifacts() / "plate.txt", "warm");
    if (isCopy)
        writeRemoteRun(folder, {"gpu07", "ada@gpu07", "/opt/vergence", "/data/run", "Completed"});
    return folder;
}

} // namespace

/// What the inspector says of results.
class TestInspectorPanel : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void resultsThatAreNotHereCanBeFetched()
    {
        const test::Scratch disk;
        const RunFolder folder = runWithResults(disk, true);
        RunListModel runs;
        const QString id = runs.addFolder(folder);
        InspectorPanel panel(runs);
        panel.resize(400, 600);
        panel.show();
        panel.setRun(id);
        auto* results = panel.findChild<QTreeWidget*>("artifactsView");
        auto* fetch = panel.findChild<QPushButton*>("inspectorFetch");
        QTRY_COMPARE(results->topLevelItemCount(), 2);
        QVERIFY(results->topLevelItem(1)->text(2) != "not fetched yet");
        QCOMPARE(results->topLevelItem(0)->text(2), QString("not fetched yet"));
        QCOMPARE(panel.findChild<QLabel*>("inspectorMissing")->text(),
                 QString("1 result is on gpu07, not fetched yet."));
        QVERIFY(fetch->isVisible());
        results->setCurrentItem(results->topLevelItem(0)); // has no preview, and that is all
        QSignalSpy asked(&panel, &InspectorPanel::fetchRequested);
        QTest::mouseClick(fetch, Qt::LeftButton);
        QCOMPARE(asked.size(), 1);
        QCOMPARE(asked.front().front().toString(), id);
        writeFileAtomic(folder.artifacts() / "mesh.glb", "mesh");
        runs.lookAgain(id);
        QTRY_VERIFY(!fetch->isVisible());
        QVERIFY(results->topLevelItem(0)->text(2) != "not fetched yet");
    }
    void aRunOfThisComputerHasItsResultsOrNot()
    {
        const test::Scratch disk;
        RunListModel runs;
        const QString id = runs.addFolder(runWithResults(disk, false));
        InspectorPanel panel(runs);
        panel.show();
        panel.setRun(id);
        auto* results = panel.findChild<QTreeWidget*>("artifactsView");
        QTRY_COMPARE(results->topLevelItemCount(), 2);
        QVERIFY(results->topLevelItem(0)->text(2) != "not fetched yet");
        QVERIFY(!panel.findChild<QPushButton*>("inspectorFetch")->isVisible());
    }
};

VERGENCE_WINDOW_TEST(TestInspectorPanel)
#include "tst_inspector_panel.moc"
