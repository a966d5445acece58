#include <QAbstractItemView>
#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTableWidget>
#include <QToolButton>
#include <QUndoStack>
#include <QWheelEvent>
#include <QtTest>

#include "app/forms/accents.h"
#include "app/forms/config_form.h"
#include "tests/app/forms/lab_schema.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

QPalette darkPalette()
{
    QPalette palette(QColor(45, 45, 48), QColor(45, 45, 48));
    palette.setColor(QPalette::Base, QColor(30, 30, 32));
    palette.setColor(QPalette::Highlight, QColor(60, 120, 200));
    palette.setColor(QPalette::PlaceholderText, QColor(160, 160, 160));
    return palette;
}

} // namespace

class TestConfigForm : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void cleanup();
    void everyEditorHasANameAndAHelp();
    void aWrongNumberKeepsStartFromWorkingAndSaysWhich();
    void theSummaryJumpsToTheField();
    void aRowMakesOnlyWhatItShows();
    void theWheelChangesNothingUnderThePointer();
    void scientificNumbersComeBackExactlyInToml();
    void aCommaIsRefusedWithAHint();
    void escapeRestores();
    void undoIsPerCommit();
    void threeChangesAreThreeDotsAndThreeDifferences();
    void theDotResets();
    void searchOpensSectionsAndClosesThem();
    void narrowFormsKeepListsReadable();
    void basicHidesAdvancedSettings();
    void conditionsHideRows();
    void frozenLeavesLiveFieldsAlone();
    void liveSettingsOfTheRunAreShown();
    void closedChoicesSayWhy();
    void wrongTomlChangesNothing_data();
    void wrongTomlChangesNothing();
    void externalIssuesBlockUntilTheirFieldIsEdited();
    void assignmentsAreOneStep();
    void copyLeftTakesTheOtherValue();
    void keysStartAndQueue();
    void accentsCanBeRead();
    void pictures();

private:
    template <class T>
    T* editor(const char* key) const
    {
        return m_form->findChild<T*>(QStringLiteral("configForm/") + QLatin1String(key));
    }
    template <class T = QWidget>
    T* part(const char* name) const
    {
        return m_form->findChild<T*>(QLatin1String(name));
    }
    QWidget* row(const char* key) const { return part((std::string("configRow/") + key).c_str()); }
    void type(const char* key, const char* text, bool isCommitted = true) const;
    QString summary() const { return part<QLabel>("configSummary")->text(); }
    int dots() const;

    std::unique_ptr<ConfigForm> m_form;
};

void TestConfigForm::init()
{
    m_form = std::make_unique<ConfigForm>();
    m_form->setSchema(labSchema(), labPresets());
    m_form->resize(420, 700);
    m_form->show();
    QVERIFY(QTest::qWaitForWindowActive(m_form.get()));
}

void TestConfigForm::cleanup()
{
    m_form.reset();
}

void TestConfigForm::type(const char* key, const char* text, bool isCommitted) const
{
    auto* line = editor<QLineEdit>(key);
    line->setFocus();
    line->selectAll();
    QTest::keyClicks(line, QLatin1String(text));
    if (isCommitted)
        QTest::keyClick(line, Qt::Key_Return);
}

int TestConfigForm::dots() const
{
    int count = 0;
    for (const QToolButton* dot : m_form->findChildren<QToolButton*>(QStringLiteral("changedDot")))
        count += !dot->isHidden();
    return count;
}

void TestConfigForm::everyEditorHasANameAndAHelp()
{
    for (const Field& each : labFields()) {
        auto* input = editor<QWidget>(each.key.c_str());
        QVERIFY2(input != nullptr, each.key.c_str());
        QVERIFY(!input->accessibleName().isEmpty());
        QVERIFY(input->whatsThis().contains(QString::fromStdString(each.key)));
    }
    for (QWidget* widget : m_form->findChildren<QWidget*>())
        if (widget->focusPolicy() != Qt::NoFocus &&
            widget->objectName().startsWith(QLatin1String("config")))
            QVERIFY2(!widget->accessibleName().isEmpty(), qPrintable(widget->objectName()));
}

void TestConfigForm::aWrongNumberKeepsStartFromWorkingAndSaysWhich()
{
    auto* start = part<QPushButton>("startButton");
    QVERIFY(start->isEnabled());
    type("iterations", "-5", false);
    QVERIFY(!start->isEnabled()); // already while typing
    QTest::keyClick(editor<QLineEdit>("iterations"), Qt::Key_Tab);
    QVERIFY(!start->isEnabled());
    QVERIFY2(summary().startsWith(QLatin1String("1 error: ")), qPrintable(summary()));
    QVERIFY2(summary().contains(QLatin1String("iterations")) &&
                 summary().contains(QLatin1String("-5")),
             qPrintable(summary()));
    QVERIFY(start->toolTip().contains(QLatin1String("iterations")));
    QSignalSpy started(m_form.get(), &ConfigForm::startRequested);
    QTest::mouseClick(start, Qt::LeftButton);
    QCOMPARE(started.count(), 0);
    type("iterations", "5");
    QVERIFY(start->isEnabled());
    QTest::mouseClick(start, Qt::LeftButton);
    QCOMPARE(started.count(), 1);
}

void TestConfigForm::theSummaryJumpsToTheField()
{
    type("weight_20", "3");
    type("iterations", "-5");
    QVERIFY2(summary().startsWith(QLatin1String("2 errors: ")), qPrintable(summary()));
    part<QLineEdit>("configSearch")->setFocus();
    QTest::mouseClick(part("configSummary"), Qt::LeftButton);
    QVERIFY(editor<QLineEdit>("iterations")->hasFocus());
    QTest::mouseClick(part("configSummary"), Qt::LeftButton);
    QVERIFY(editor<QLineEdit>("weight_20")
                ->hasFocus()); // the next one, though it is an advanced setting
    QVERIFY(editor<QLineEdit>("weight_20")->isVisible());
}

/// What a form of a hundred settings does not make is time that the window does not stand still.
void TestConfigForm::aRowMakesOnlyWhatItShows()
{
    auto* combo = editor<QComboBox>("solver");
    QComboBox bare;
    bare.addItems({"one", "two"});
    bare.show();
    const auto hasList = [](const QComboBox& box) {
        return box.findChild<QAbstractItemView*>() != nullptr;
    };
    QCOMPARE(hasList(*combo), hasList(bare)); // some versions of Qt make it when it is opened
    const int six = 6 * combo->fontMetrics().horizontalAdvance(u'X');
    QVERIFY(combo->minimumSizeHint().width() > six);
    QVERIFY(combo->minimumSizeHint().width() < 3 * six);
    QVERIFY(row("iterations")->findChild<QLabel*>(QStringLiteral("fieldLock")) == nullptr);
}

void TestConfigForm::theWheelChangesNothingUnderThePointer()
{
    part<QComboBox>("configLevel")->setCurrentIndex(1);
    const std::string before = m_form->toml();
    part<QLineEdit>("configSearch")->setFocus();
    for (const Field& each : labFields()) {
        auto* input = editor<QWidget>(each.key.c_str());
        QWheelEvent wheel(QPointF(5, 5), input->mapToGlobal(QPointF(5, 5)), {}, QPoint(0, -120),
                          Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
        QSpontaneKeyEvent::setSpontaneous(&wheel); // as from a mouse
        qApp->notify(input, &wheel);
    }
    QCOMPARE(m_form->toml(), before);
    QVERIFY(m_form->findChild<QScrollArea*>()->verticalScrollBar()->value() >
            0); // the form scrolled instead

    auto* focused = editor<QLineEdit>("iterations");
    focused->setFocus();
    QWheelEvent wheel(QPointF(5, 5), focused->mapToGlobal(QPointF(5, 5)), {}, QPoint(0, 120),
                      Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(focused, &wheel);
    QCOMPARE(focused->text(), QStringLiteral("501"));
}

void TestConfigForm::scientificNumbersComeBackExactlyInToml()
{
    QLocale::setDefault(QLocale(QLocale::German, QLocale::Germany));
    type("learning_rate", "1.6e-5");
    type("iterations", "2^10");
    type("preview_every", "1k");
    QLocale::setDefault(QLocale::c());
    ConfigBuilder builder(labSchema());
    builder.addToml(m_form->toml(), "draft");
    const auto result = builder.build();
    QVERIFY(result.config.has_value());
    QVERIFY(result.config->get<double>("learning_rate") == 1.6e-5);
    QCOMPARE(result.config->get<std::int64_t>("iterations"), std::int64_t(1024));
    QCOMPARE(result.config->get<std::int64_t>("preview_every"), std::int64_t(1000));
    QCOMPARE(editor<QLineEdit>("preview_every")->text(), QStringLiteral("1000"));
}

void TestConfigForm::aCommaIsRefusedWithAHint()
{
    type("learning_rate", "0,5");
    QVERIFY2(summary().contains(QLatin1String("0.5")), qPrintable(summary()));
    auto* hint = row("learning_rate")->findChild<QLabel*>(QStringLiteral("fieldProblem"));
    QVERIFY(hint != nullptr && hint->isVisible() &&
            hint->text().contains(QLatin1String("point instead of the comma")));
    QCOMPARE(editor<QLineEdit>("learning_rate")->text(),
             QStringLiteral("0,5")); // what was typed stays
    ConfigBuilder builder(labSchema());
    builder.addToml(m_form->toml(), "draft");
    QVERIFY(builder.build().config->get<double>("learning_rate") == 1e-3);
    QVERIFY(hasErrors(m_form->issues()));
}

void TestConfigForm::escapeRestores()
{
    type("iterations", "77", false);
    QTest::keyClick(editor<QLineEdit>("iterations"), Qt::Key_Escape);
    QCOMPARE(editor<QLineEdit>("iterations")->text(), QStringLiteral("500"));
    QCOMPARE(dots(), 0);
    QCOMPARE(m_form->undoStack()->count(), 0);
}

void TestConfigForm::undoIsPerCommit()
{
    const std::string before = m_form->toml();
    type("iterations", "77");
    type("learning_rate", "0.5");
    QTest::mouseClick(editor<QCheckBox>("clip_gradients"), Qt::LeftButton, {}, QPoint(8, 8));
    m_form->applyPreset(QStringLiteral("demo"));
    const std::string after = m_form->toml();
    QCOMPARE(m_form->undoStack()->count(), 4);
    QVERIFY(m_form->undoStack()->undoText().contains(QLatin1String("Demo")));
    for (int i = 0; i < 4; ++i)
        QTest::keyClick(editor<QLineEdit>("iterations"), Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(m_form->toml(), before);
    QCOMPARE(editor<QLineEdit>("iterations")->text(), QStringLiteral("500"));
    for (int i = 0; i < 4; ++i)
        m_form->undoStack()->redo();
    QCOMPARE(m_form->toml(), after);
    QCOMPARE(m_form->presetName(), QStringLiteral("demo"));
}

void TestConfigForm::threeChangesAreThreeDotsAndThreeDifferences()
{
    type("iterations", "77");
    type("learning_rate", "1.6e-5");
    type("plane_distances", "100 200,300");
    QCOMPARE(dots(), 3);
    const std::string saved = m_form->toml();

    ConfigForm other;
    other.setSchema(labSchema(), {{"kept", "Kept", "", QString::fromStdString(saved), true}});
    other.applyPreset(QStringLiteral("kept"));
    const auto rows = other.differencesTo("");
    QCOMPARE(rows.size(), std::size_t(3));
    QCOMPARE(rows[0].key, std::string("iterations"));
    QCOMPARE(rows[0].a, std::string("77"));
    QCOMPARE(rows[1].a, std::string("1.6e-05"));
    QVERIFY(!other.isPresetModified());
    QVERIFY(other.flags().isEmpty());
    QVERIFY(other.loadToml(saved, "saved.toml").empty());
    ConfigForm again;
    again.setSchema(labSchema(), {});
    again.loadToml(saved, "saved.toml");
    QCOMPARE(again.toml(), saved);
}

void TestConfigForm::theDotResets()
{
    type("iterations", "77");
    auto* dot = row("iterations")->findChild<QToolButton*>(QStringLiteral("changedDot"));
    QVERIFY(dot->isVisible());
    QTest::mouseClick(dot, Qt::LeftButton);
    QVERIFY(!dot->isVisible());
    QCOMPARE(editor<QLineEdit>("iterations")->text(), QStringLiteral("500"));
}

void TestConfigForm::searchOpensSectionsAndClosesThem()
{
    auto* section = part<QToolButton>("configSection/optimiser");
    QTest::mouseClick(section, Qt::LeftButton);
    QVERIFY(!row("learning_rate")->isVisible());
    auto* search = part<QLineEdit>("configSearch");
    search->setText(QStringLiteral("LEARNING_r"));
    QVERIFY(row("learning_rate")->isVisible());
    QVERIFY(!row("iterations")->isVisible());
    QVERIFY(!row("scene")->isVisible());
    search->setText(QStringLiteral("epsilon does")); // in the help of an advanced setting
    QVERIFY(row("adam_epsilon")->isVisible());
    search->setText(QStringLiteral("lrr"));
    auto* clear = part<QToolButton>("configClearFilter");
    QVERIFY(clear->isVisible());
    QTest::mouseClick(clear, Qt::LeftButton);
    QVERIFY(search->text().isEmpty());
    QVERIFY(!row("learning_rate")->isVisible()); // folded as before
    QVERIFY(row("scene")->isVisible());
}

void TestConfigForm::narrowFormsKeepListsReadable()
{
    for (const int width : {290, 340, 420, 600}) {
        m_form->resize(width, 700);
        type("plane_distances", "26, 32, 38, 44, 52, 60");
        QCoreApplication::processEvents();
        auto* line = editor<QLineEdit>("plane_distances");
        QVERIFY2(line->fontMetrics().horizontalAdvance(line->text()) + 10 < line->width(),
                 qPrintable(QString::number(width)));
        auto* content = part<QScrollArea>("configScroll");
        QVERIFY(content->widget()->width() <= content->viewport()->width());
    }
}

void TestConfigForm::basicHidesAdvancedSettings()
{
    QVERIFY(!row("weight_2")->isVisible());
    QTest::mouseClick(part("configShowAll"), Qt::LeftButton);
    QVERIFY(row("weight_2")->isVisible());
    type("iterations", "5");
    part<QCheckBox>("configChangedOnly")->setChecked(true);
    QVERIFY(row("iterations")->isVisible());
    QVERIFY(!row("weight_2")->isVisible());
}

void TestConfigForm::conditionsHideRows()
{
    part<QComboBox>("configLevel")->setCurrentIndex(1);
    QVERIFY(row("adam_epsilon")->isVisible());
    QVERIFY(!row("momentum")->isVisible());
    QVERIFY(!row("clip_norm")->isVisible());
    auto* solver = editor<QComboBox>("solver");
    solver->setFocus();
    QTest::keyClick(solver, Qt::Key_End);
    QCOMPARE(solver->currentText(), QStringLiteral("sgd"));
    QVERIFY(!row("adam_epsilon")->isVisible());
    QVERIFY(row("momentum")->isVisible());
    QCOMPARE(m_form->undoStack()->count(), 1);
    QTest::mouseClick(editor<QCheckBox>("clip_gradients"), Qt::LeftButton, {}, QPoint(8, 8));
    QVERIFY(row("clip_norm")->isVisible());
}

void TestConfigForm::frozenLeavesLiveFieldsAlone()
{
    m_form->setFrozen(true, QStringLiteral("The run is going on."));
    QVERIFY(editor<QLineEdit>("iterations")->isReadOnly());
    QVERIFY(!editor<QComboBox>("solver")->isEnabled());
    auto* lock = row("iterations")->findChild<QLabel*>(QStringLiteral("fieldLock"));
    QVERIFY(lock->isVisible());
    QCOMPARE(lock->toolTip(), QStringLiteral("The run is going on."));
    QVERIFY(!row("preview_every")->findChild<QLabel*>(QStringLiteral("fieldLock"))->isVisible());
    QSignalSpy live(m_form.get(), &ConfigForm::liveChanged);
    type("preview_every", "20");
    QCOMPARE(live.count(), 1);
    QCOMPARE(live[0][0].toString(), QStringLiteral("preview_every"));
    QCOMPARE(live[0][1].toString(), QStringLiteral("20"));
    type("preview_every", "0"); // out of range: not sent
    QCOMPARE(live.count(), 1);
    auto* level = part<QComboBox>("configLevel");
    level->setCurrentText(QStringLiteral("Live"));
    QVERIFY(row("preview_every")->isVisible());
    QVERIFY(!row("iterations")->isVisible() && !row("solver")->isVisible());
    level->setCurrentText(QStringLiteral("Basic"));
    QVERIFY(row("iterations")->isVisible());
    m_form->setFrozen(false);
    QVERIFY(!editor<QLineEdit>("iterations")->isReadOnly());
}

void TestConfigForm::liveSettingsOfTheRunAreShown()
{
    QSignalSpy live(m_form.get(), &ConfigForm::liveChanged);
    m_form->setFrozen(true, QStringLiteral("The run is going on."));
    const int steps = m_form->undoStack()->count();
    const QString iterations = m_form->fieldText("iterations");
    m_form->showLive({{"preview_every", "30"}, {"iterations", "9"}, {"no_such_key", "1"}});
    QCOMPARE(editor<QLineEdit>("preview_every")->text(), QStringLiteral("30"));
    QCOMPARE(m_form->fieldText("iterations"), iterations); // it cannot change in a run
    QCOMPARE(m_form->undoStack()->count(), steps);
    QCOMPARE(live.count(), 0);
    m_form->showLive({{"preview_every", "[["}});
    QCOMPARE(editor<QLineEdit>("preview_every")->text(), QStringLiteral("30"));
    // Whoever is typing goes on.
    auto* line = editor<QLineEdit>("preview_every");
    line->setFocus();
    line->selectAll();
    QTest::keyClicks(line, QStringLiteral("4"));
    m_form->showLive({{"preview_every", "50"}});
    QCOMPARE(line->text(), QStringLiteral("4"));
    QTest::keyClick(line, Qt::Key_Return);
    QCOMPARE(live.count(), 1);
    QCOMPARE(live[0][1].toString(), QStringLiteral("4"));
}

void TestConfigForm::closedChoicesSayWhy()
{
    const QString reason = QStringLiteral("This processor has none.");
    m_form->setClosedChoices({{"solver", "adamw", reason.toStdString()},
                              {"clip_gradients", "true", reason.toStdString()},
                              {"no_such_key", "x", ""}});
    auto* solver = editor<QComboBox>("solver");
    const int closed = solver->findText(QStringLiteral("adamw"));
    const auto isOpen = [&](int at) {
        return solver->model()->flags(solver->model()->index(at, 0)).testFlag(Qt::ItemIsEnabled);
    };
    QVERIFY(!isOpen(closed) && isOpen(0));
    QCOMPARE(solver->itemData(closed, Qt::ToolTipRole).toString(), reason);
    solver->setFocus();
    QTest::keyClick(solver, Qt::Key_Down); // skips it
    QCOMPARE(solver->currentText(), QStringLiteral("sgd"));
    QVERIFY(!editor<QCheckBox>("clip_gradients")->isEnabled());
    QCOMPARE(row("clip_gradients")->findChild<QLabel*>(QStringLiteral("fieldLock"))->toolTip(),
             reason);
    m_form->setClosedChoices({});
    QVERIFY(isOpen(closed) && editor<QCheckBox>("clip_gradients")->isEnabled());
    QVERIFY(solver->itemData(closed, Qt::ToolTipRole).toString().isEmpty());
}

void TestConfigForm::wrongTomlChangesNothing_data()
{
    QTest::addColumn<QString>("toml");
    QTest::newRow("torn") << QStringLiteral("iterations = [1,\n");
    QTest::newRow("unknown key") << QStringLiteral("iterations = 60\nlearning_rat = 0.1\n");
    QTest::newRow("out of range") << QStringLiteral("iterations = 0\n");
}

void TestConfigForm::wrongTomlChangesNothing()
{
    QFETCH(QString, toml);
    type("iterations", "77");
    const int steps = m_form->undoStack()->count();
    QVERIFY(hasErrors(m_form->loadToml(toml.toStdString(), "old.toml")));
    QCOMPARE(editor<QLineEdit>("iterations")->text(), QStringLiteral("77"));
    QCOMPARE(m_form->undoStack()->count(), steps);
    QVERIFY2(m_form->issues().empty(), qPrintable(summary())); // of the draft, which is right
}

void TestConfigForm::externalIssuesBlockUntilTheirFieldIsEdited()
{
    ConfigIssue issue;
    issue.rule = "planes_match_sizes";
    issue.key = "plane_distances";
    issue.sentence = "plane_distances must have as many values as labels.";
    m_form->setExternalIssues({issue});
    QVERIFY(!part<QPushButton>("startButton")->isEnabled());
    QVERIFY(summary().contains(QLatin1String("as many values")));
    QCOMPARE(m_form->issues().size(), std::size_t(1));
    ConfigIssue second = issue; // two complaints of one rule about one field are two
    second.sentence = "plane_distances must grow.";
    m_form->setExternalIssues({issue, second});
    QCOMPARE(m_form->issues().size(), std::size_t(2));
    type("plane_distances", "100 200");
    QVERIFY(part<QPushButton>("startButton")->isEnabled());
}

void TestConfigForm::assignmentsAreOneStep()
{
    const QString before = m_form->fieldText("learning_rate");
    m_form->assign({"iterations=77", "learning_rate=0.5", "no_such_key=1"}, "Data");
    QCOMPARE(m_form->fieldText("iterations"), QString("77"));
    QCOMPARE(m_form->fieldText("learning_rate"), QString("0.5"));
    QCOMPARE(m_form->undoStack()->undoText(), QString("Data"));
    m_form->undoStack()->undo();
    QCOMPARE(m_form->fieldText("learning_rate"), before);
    m_form->assign({"iterations=many"}, "Data"); // as if it were typed: wrong, and said so
    QCOMPARE(m_form->fieldText("iterations"), QString("many"));
    QVERIFY(hasErrors(m_form->issues()));
    QVERIFY(m_form->fieldText("no_such_key").isEmpty());
}

void TestConfigForm::copyLeftTakesTheOtherValue()
{
    type("iterations", "77");
    type("learning_rate", "0.5");
    part<QToolButton>("presetMenu")
        ->findChild<QAction*>(QStringLiteral("compareDefault"))
        ->trigger();
    auto* dialog = m_form->findChild<QDialog*>(QStringLiteral("configDiff"));
    QVERIFY(dialog != nullptr);
    auto* table = dialog->findChild<QTableWidget*>();
    QCOMPARE(table->rowCount(), 2);
    table->selectRow(1);
    for (QPushButton* button : dialog->findChildren<QPushButton*>())
        if (button->text() == QLatin1String("Copy value left"))
            QTest::mouseClick(button, Qt::LeftButton);
    QCOMPARE(table->rowCount(), 1);
    QCOMPARE(editor<QLineEdit>("learning_rate")->text(), QStringLiteral("0.001"));
    m_form->undoStack()->undo();
    QCOMPARE(table->rowCount(), 2);
    dialog->close();
}

void TestConfigForm::keysStartAndQueue()
{
    QSignalSpy started(m_form.get(), &ConfigForm::startRequested),
        queued(m_form.get(), &ConfigForm::queueRequested);
    type("iterations", "88", false);
    QTest::keyClick(editor<QLineEdit>("iterations"), Qt::Key_R, Qt::ControlModifier);
    QCOMPARE(started.count(), 1);
    QCOMPARE(m_form->flags(),
             QStringList{QStringLiteral("iterations=88")}); // what was being typed is taken over
    QTest::keyClick(editor<QLineEdit>("iterations"), Qt::Key_R,
                    Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(queued.count(), 1);
    // A combo box would take a key with a letter for a search of its entries.
    QTest::keyClick(editor<QComboBox>("solver"), Qt::Key_R, Qt::ControlModifier);
    QCOMPARE(started.count(), 2);
}

void TestConfigForm::accentsCanBeRead()
{
    for (const QPalette& palette : {QPalette(QColor(239, 239, 239)), darkPalette()})
        for (const Accent accent : {Accent::Error, Accent::Warning, Accent::Changed})
            for (const QPalette::ColorRole back : {QPalette::Window, QPalette::Base})
                QVERIFY(contrast(accentColour(accent, palette), palette.color(back)) >= 4.5);
}

/// Writes pictures of the form where VERGENCE_PICTURES names a folder.
void TestConfigForm::pictures()
{
    const QString folder = qEnvironmentVariable("VERGENCE_PICTURES");
    if (folder.isEmpty())
        QSKIP("VERGENCE_PICTURES names no folder");
    const QPalette light = QApplication::palette();
    for (const bool isDark : {false, true}) {
        QApplication::setPalette(isDark ? darkPalette() : light);
        m_form->applyPreset(QStringLiteral("mine"));
        type("iterations", "-5");
        type("weight_1", "0,7");
        QCoreApplication::processEvents();
        m_form->findChild<QScrollArea*>()->verticalScrollBar()->setValue(0);
        QVERIFY(m_form->grab().save(folder + (isDark ? "/form_dark.png" : "/form_light.png")));
        m_form->setFrozen(true, QStringLiteral("The run is going on."));
        QVERIFY(m_form->grab().save(folder +
                                    (isDark ? "/form_frozen_dark.png" : "/form_frozen_light.png")));
        m_form->setFrozen(false);
    }
    m_form->resize(290, 700);
    m_form->setFrozen(false);
    for (const bool isDark : {false, true}) {
        QApplication::setPalette(isDark ? darkPalette() : light);
        for (int round = 0; round < 10; ++round)
            QCoreApplication::processEvents();
        QVERIFY(m_form->grab().save(folder +
                                    (isDark ? "/form_narrow_dark.png" : "/form_narrow_light.png")));
    }
    QApplication::setPalette(light);
}

VERGENCE_WINDOW_TEST(TestConfigForm)
#include "tst_config_form.moc"
