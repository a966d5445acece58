#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>
#include <QToolButton>
#include <QtTest>

#include "app/forms/config_form.h"
#include "tests/app/forms/lab_schema.h"
#include "tests/support/test_program.h"

using namespace vergence;

/// Presets in the form: shipped ones, which every program knows, and those of the user.
class TestFormPresets : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init()
    {
        m_form = std::make_unique<ConfigForm>();
        m_form->setSchema(labSchema(), labPresets());
        m_form->resize(420, 700);
        m_form->show();
        QVERIFY(QTest::qWaitForWindowActive(m_form.get()));
    }
    void cleanup() { m_form.reset(); }
    void presetsAreMarkedWhenModified()
    {
        QSignalSpy chosen(m_form.get(), &ConfigForm::presetChosen);
        auto* combo = part<QComboBox>("presetCombo");
        combo->setFocus();
        QTest::keyClick(combo, Qt::Key_Down);
        QCOMPARE(chosen.count(), 1);
        QCOMPARE(m_form->presetName(), QStringLiteral("demo"));
        QVERIFY(!part("presetModified")->isVisible());
        type("iterations", "51");
        QVERIFY(part("presetModified")->isVisible());
        QVERIFY(m_form->isPresetModified());
        type("iterations", "50");
        QVERIFY(!m_form->isPresetModified());
    }
    void flagsAreWhatDiffersFromThePreset()
    {
        m_form->applyPreset(QStringLiteral("mine"));
        type("iterations", "200");
        QCOMPARE(m_form->flags(), QStringList{QStringLiteral("iterations=200")});
    }
    void commandLineIsCopied()
    {
        m_form->applyPreset(QStringLiteral("demo"));
        type("note", "two words");
        part<QToolButton>("presetMenu")
            ->findChild<QAction*>(QStringLiteral("copyCommand"))
            ->trigger();
        QCOMPARE(
            QGuiApplication::clipboard()->text(),
            QStringLiteral("vergence run light_field --preset demo --set 'note=\"two words\"'"));
    }
    /// Only this program knows them by name.
    void userPresetsAreNamedByTheirFile()
    {
        m_form->applyPreset(QStringLiteral("mine"));
        QVERIFY(readConfigHeader(m_form->toml(), "draft").preset.empty());
        auto* copy =
            part<QToolButton>("presetMenu")->findChild<QAction*>(QStringLiteral("copyCommand"));
        copy->trigger();
        QCOMPARE(QGuiApplication::clipboard()->text(),
                 QStringLiteral("vergence run light_field --set iterations=60"
                                " --set learning_rate=1.6e-05"));
        auto presets = labPresets();
        presets[1].file = QStringLiteral("/home/me/my own.toml");
        m_form->setPresets(presets, QStringLiteral("mine"));
        type("iterations", "70");
        copy->trigger();
        QCOMPARE(QGuiApplication::clipboard()->text(),
                 QStringLiteral("vergence run '/home/me/my own.toml' --set iterations=70"));
        m_form->applyPreset(QStringLiteral("demo"));
        QCOMPARE(readConfigHeader(m_form->toml(), "draft").preset, std::string("demo"));
    }
    void resetDropsWhatIsTyped()
    {
        m_form->applyPreset(QStringLiteral("demo"));
        type("iterations", "70", false);
        part<QToolButton>("presetMenu")
            ->findChild<QAction*>(QStringLiteral("resetToPreset"))
            ->trigger();
        m_form->commitPending();
        QCOMPARE(m_form->fieldText("iterations"), QStringLiteral("50"));
        QVERIFY(!m_form->isPresetModified());
    }

private:
    template <class T = QWidget>
    T* part(const char* name) const
    {
        return m_form->findChild<T*>(QLatin1String(name));
    }
    void type(const char* key, const char* text, bool isCommitted = true) const
    {
        auto* line = part<QLineEdit>((std::string("configForm/") + key).c_str());
        line->setFocus();
        line->selectAll();
        QTest::keyClicks(line, QLatin1String(text));
        if (isCommitted)
            QTest::keyClick(line, Qt::Key_Return);
    }

    std::unique_ptr<ConfigForm> m_form;
};

VERGENCE_WINDOW_TEST(TestFormPresets)
#include "tst_form_presets.moc"
