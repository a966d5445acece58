#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDir>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QStandardItemModel>
#include <QTreeWidget>
#include <QtTest>

#include "app/export/export_dialog.h"
#include "core/artifact/bundle.h"
#include "core/artifact/gif.h"
#include "core/artifact/video/video.h"
#include "tests/app/export/sample_run.h"
#include "tests/support/environment.h"
#include "tests/support/patience.h"
#include "tests/support/test_program.h"

using namespace vergence;
using test::ScopedVariable;

class ExportDialogTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init()
    {
        m_run = std::make_unique<test::SampleRun>();
        QImage view(320, 200, QImage::Format_RGB32);
        view.fill(QColor(40, 90, 160));
        m_dialog = std::make_unique<ExportDialog>(m_run->folder(), view);
        m_dialog->show();
    }

    void cleanup()
    {
        const QString folder = qEnvironmentVariable("VERGENCE_SCREENSHOTS");
        if (!folder.isEmpty())
            m_dialog->grab().save(QDir(folder).filePath(
                QStringLiteral("export-%1.png").arg(QLatin1String(QTest::currentTestFunction()))));
        m_dialog.reset();
        m_run.reset();
    }

    void defaultsWriteAVerifiedZip()
    {
        const QString path = exportNow();
        QVERIFY(path.endsWith(QStringLiteral("_results.zip")));
        QCOMPARE(QFileInfo(path).absolutePath(),
                 QString::fromStdString(m_run->folder().exports().string()));
        const VerifyResult result = verifyBundle(path.toStdString());
        QVERIFY(result.isGood());
        QVERIFY(result.filesChecked > 15);
        QVERIFY(find<QLabel>("exportResult")->text().contains(QStringLiteral("Open folder")));
        QVERIFY(leftovers().isEmpty());
    }

    void equalRunsGiveEqualZips()
    {
        const ScopedVariable epoch("SOURCE_DATE_EPOCH", "1700000000");
        const std::string first = readFile(exportNow().toStdString());
        find<QLineEdit>("exportNamePattern")->setText(QStringLiteral("again"));
        const std::string second = readFile(exportNow().toStdString());
        QVERIFY(first == second);
    }

    void untickedFilesStayOut()
    {
        auto* tree = find<QTreeWidget>("exportTree");
        const auto items =
            tree->findItems(QStringLiteral("planes"), Qt::MatchExactly | Qt::MatchRecursive);
        QCOMPARE(items.size(), 1);
        items.first()->setCheckState(0, Qt::Unchecked);
        const QString path = exportNow();
        QTemporaryDir place;
        const RunFolder opened = openBundle(path.toStdString(), place.path().toStdString());
        QVERIFY(std::filesystem::exists(opened.artifacts() / "boards" / "n2" / "eye.png"));
        QVERIFY(!std::filesystem::exists(opened.artifacts() / "planes"));
    }

    void cancelLeavesNothing()
    {
        // Noise does not compress, so that the export is still busy when it is cancelled.
        std::string noise(64 << 20, '\0');
        quint32 state = 1;
        for (char& byte : noise)
            byte = static_cast<char>((state = state * 1664525U + 1013904223U) >> 24);
        writeFileAtomic(m_run->folder().artifacts() / "noise.bin", std::string_view(noise));
        ExportDialog dialog(m_run->folder(), {});
        QSignalSpy exported(&dialog, &ExportDialog::exported);
        QSignalSpy failed(&dialog, &ExportDialog::failed);
        dialog.show();
        dialog.findChild<QPushButton*>(QStringLiteral("exportButton"))->click();
        auto* cancel = dialog.findChild<QPushButton*>(QStringLiteral("exportCancelButton"));
        QCOMPARE(cancel->text(), QStringLiteral("Cancel"));
        cancel->click();
        QTRY_COMPARE(cancel->text(), QStringLiteral("Close"));
        QCOMPARE(exported.count(), 0);
        QCOMPARE(failed.count(), 0);
        QVERIFY(dialog.isVisible());
        QVERIFY(QDir(QString::fromStdString(m_run->folder().exports().string()))
                    .entryList(QDir::Files | QDir::Hidden)
                    .isEmpty());
    }

    void gifHasTheChosenFramesAndDelay()
    {
        choosePage(1);
        find<QComboBox>("exportSequence")->setCurrentIndex(1);
        find<QSpinBox>("exportDelay")->setValue(12);
        find<QComboBox>("exportScale")->setCurrentIndex(3);
        const QString path = exportNow();
        const GifContent gif = readGif(path.toStdString());
        QCOMPARE(gif.frames.size(), std::size_t(3));
        QVERIFY(gif.delaysCentiseconds == std::vector<int>({12, 12, 12}));
        QVERIFY(gif.loops);
        QCOMPARE(gif.frames.front().width, 64);
        QCOMPARE(gif.frames.front().height, 48);
        // Frames come in the order of the numbers: the boards grow lighter from n2 to n26.
        QVERIFY(gif.frames[0].pixels.front() < gif.frames[1].pixels.front());
        QVERIFY(gif.frames[1].pixels.front() < gif.frames[2].pixels.front());
        QVERIFY(leftovers().isEmpty());
    }

    void frameRangeIsKept()
    {
        choosePage(1);
        find<QSpinBox>("exportFirstFrame")->setValue(3);
        find<QSpinBox>("exportLastFrame")->setValue(6);
        QCOMPARE(readGif(exportNow().toStdString()).frames.size(), std::size_t(4));
        find<QSpinBox>("exportFirstFrame")->setValue(9);
        QVERIFY(!find<QPushButton>("exportButton")->isEnabled());
        QVERIFY(find<QLabel>("exportWarning")->isVisible());
    }

    void everySequenceHasItsOwnFile()
    {
        choosePage(1);
        auto* sequence = find<QComboBox>("exportSequence");
        QSet<QString> names;
        for (int i = 0; i < sequence->count(); ++i) {
            sequence->setCurrentIndex(i);
            names << QFileInfo(exportNow()).fileName();
        }
        const QString run = QString::fromStdString(m_run->folder().id());
        QCOMPARE(names, QSet<QString>({run + QStringLiteral("_planes-plane.gif"),
                                       run + QStringLiteral("_boards-eye.gif")}));
    }

    void nothingIsOverwritten_data()
    {
        QTest::addColumn<int>("page");
        QTest::addColumn<int>("kind");
        QTest::newRow("ZIP") << 0 << 0;
        QTest::newRow("GIF") << 1 << 0;
        QTest::newRow("PNG") << 1 << 1;
        QTest::newRow("MP4") << 1 << 2;
        QTest::newRow("metrics") << 2 << 0;
    }
    void nothingIsOverwritten()
    {
        QFETCH(int, page);
        QFETCH(int, kind);
        if (page == 1 && kind == 2 && videoModule() == nullptr)
            QSKIP("The video module was not built.");
        choosePage(page);
        find<QComboBox>("exportMediaKind")->setCurrentIndex(kind);
        const QString first = exportNow();
        QVERIFY(QFile::exists(first));
        writeFileAtomic(first.toStdString(), std::string_view("mine"));
        const QString second = exportNow();
        QVERIFY2(second != first, qPrintable(first));
        QVERIFY(QFile::exists(second));
        QCOMPARE(readFile(first.toStdString()), std::string("mine"));
        // What comes next is said before it is written.
        const QString shown = find<QLabel>("exportFileName")->text().remove(QStringLiteral("→"));
        QCOMPARE(QFileInfo(exportNow()).fileName(), shown.trimmed());
    }

    void aFileThatCameMeanwhileIsKept()
    {
        const QString shown = find<QLabel>("exportFileName")->text().remove(QStringLiteral("→"));
        const std::filesystem::path taken =
            m_run->folder().exports() / shown.trimmed().toStdString();
        writeFileAtomic(taken, std::string_view("mine"));
        QVERIFY(exportNow().toStdString() != taken);
        QCOMPARE(readFile(taken), std::string("mine"));
    }

    void mp4IsWrittenWhereTheModuleIs()
    {
        choosePage(1);
        auto* kind = find<QComboBox>("exportMediaKind");
        const auto* model = qobject_cast<QStandardItemModel*>(kind->model());
        QCOMPARE(model->item(2)->isEnabled(), videoModule() != nullptr);
        QCOMPARE(kind->itemText(2).contains(QStringLiteral("video module")),
                 videoModule() == nullptr);
        if (videoModule() == nullptr)
            QSKIP("The video module was not built.");
        kind->setCurrentIndex(2);
        find<QComboBox>("exportSequence")->setCurrentIndex(0);
        find<QSpinBox>("exportDelay")->setValue(10);
        find<QComboBox>("exportScale")->setCurrentIndex(4);
        const QString path = exportNow();
        QVERIFY2(path.endsWith(QStringLiteral("_planes-plane.mp4")), qPrintable(path));
        const VideoStreamInfo info = videoModule()->stream(path.toStdString(), 1)->info();
        QCOMPARE(info.width, 64);
        QCOMPARE(info.height, 64);
        QCOMPARE(info.fps, 10.0);
        QCOMPARE(videoModule()->reader(path.toStdString(), 1)->packetTimes().times.size(),
                 std::size_t(12));
    }

    void viewIsWrittenAsPng()
    {
        choosePage(1);
        find<QComboBox>("exportMediaKind")->setCurrentIndex(1);
        QVERIFY(!find<QPushButton>("exportCopyCommand")->isEnabled());
        const QImage image(exportNow());
        QCOMPARE(image.size(), QSize(320, 200));
        QCOMPARE(image.pixelColor(5, 5), QColor(40, 90, 160));
    }

    void metricsAreWrittenAsCsv()
    {
        choosePage(2);
        QCOMPARE(readFile(exportNow().toStdString()), readFile(m_run->folder().metrics()));
    }

    void commandLineNamesRunAndFile()
    {
        find<QPushButton>("exportCopyCommand")->click();
        const QString line = QGuiApplication::clipboard()->text();
        QVERIFY(line.startsWith(QStringLiteral("vergence export zip ")));
        QVERIFY(line.contains(QString::fromStdString(m_run->folder().id())));
        QVERIFY(line.contains(QStringLiteral("--output ")));
    }

    void unwritableFolderIsSaidInline()
    {
        QSignalSpy failed(m_dialog.get(), &ExportDialog::failed);
        find<QLineEdit>("exportDestination")->setText(QStringLiteral("/proc/none"));
        find<QPushButton>("exportButton")->click();
        QTRY_COMPARE(failed.count(), 1);
        QCOMPARE(failed.first().first().toString(), QStringLiteral("E-OUTPUT"));
        QVERIFY(find<QLabel>("exportError")->isVisible());
        QVERIFY(find<QPushButton>("exportButton")->isEnabled());
    }

    void estimateFollowsTheTicks()
    {
        const QString before = find<QLabel>("exportEstimate")->text();
        find<QTreeWidget>("exportTree")->topLevelItem(0)->setCheckState(0, Qt::Unchecked);
        QVERIFY(find<QLabel>("exportEstimate")->text() != before);
    }

private:
    template <class Widget>
    Widget* find(const char* name)
    {
        auto* widget = m_dialog->findChild<Widget*>(QLatin1String(name));
        if (widget == nullptr)
            qFatal("no widget %s", name);
        return widget;
    }

    void choosePage(int row) { find<QListWidget>("exportWhat")->setCurrentRow(row); }

    QString exportNow()
    {
        QSignalSpy exported(m_dialog.get(), &ExportDialog::exported);
        QSignalSpy failed(m_dialog.get(), &ExportDialog::failed);
        find<QPushButton>("exportButton")->click();
        if (exported.isEmpty() && failed.isEmpty())
            exported.wait(20000);
        if (!failed.isEmpty())
            qWarning() << failed.first();
        return exported.isEmpty() ? QString() : exported.first().first().toString();
    }

    QStringList leftovers() const
    {
        QStringList found;
        for (const QString& name : QDir(QString::fromStdString(m_run->folder().exports().string()))
                                       .entryList(QDir::Files | QDir::Hidden))
            if (!name.endsWith(QStringLiteral(".zip")) && !name.endsWith(QStringLiteral(".gif")))
                found << name;
        return found;
    }

    std::unique_ptr<test::SampleRun> m_run;
    std::unique_ptr<ExportDialog> m_dialog;
};

VERGENCE_WINDOW_TEST(ExportDialogTest)
#include "tst_export_dialog.moc"
