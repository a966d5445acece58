#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

#include "app/forms/plain_form.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

struct Place {
    std::string login;
    int cores = 0, time = 0;
};

ConfigSchema placeSchema()
{
    SchemaBuilder<Place> schema("place");
    schema.group("place").add("login", &Place::login).title("Login");
    schema.group("job").add("cores", &Place::cores).range(0, 64).title("Cores");
    schema.group("queue").add("time", &Place::time).range(0, 9).visibleIf("login=uni");
    return schema.build();
}

} // namespace

/// Settings that are no run's: what is typed is checked and can be had as a configuration.
class TestPlainForm : public QObject {
    Q_OBJECT

    static void type(QWidget& form, const QString& name, const QString& text)
    {
        auto* line = form.findChild<QLineEdit*>(name);
        QVERIFY(line != nullptr);
        line->selectAll();
        QTest::keyClicks(line, text);
        QTest::keyClick(line, Qt::Key_Return);
    }

private Q_SLOTS:
    void whatIsTypedIsInTheConfiguration()
    {
        PlainForm form(placeSchema(), "place");
        form.show();
        const QSignalSpy edited(&form, &PlainForm::edited);
        type(form, "place/login", "ada@uni");
        QVERIFY(!edited.isEmpty());
        QCOMPARE(form.config().value("login"), ConfigValue(std::string("ada@uni")));
        QVERIFY(form.issues().empty());
    }
    void whatIsWrongIsSaidBeneathIt()
    {
        PlainForm form(placeSchema(), "place");
        form.show();
        type(form, "place/cores", "65");
        QVERIFY(hasErrors(form.issues()));
        auto* problem = form.findChild<QLabel*>("fieldProblem");
        QVERIFY(problem != nullptr && problem->isVisible() && problem->text().contains("64"));
        type(form, "place/cores", "8");
        QVERIFY(form.issues().empty() && !problem->isVisible());
    }
    void aFileIsShownAndIsNoEdit()
    {
        PlainForm form(placeSchema(), "place");
        form.show();
        const QSignalSpy edited(&form, &PlainForm::edited);
        const auto issues = form.loadToml("[job]\ncores = 4\nnodes = 2\n", "uni.toml");
        QCOMPARE(issues.size(), std::size_t{1});
        QCOMPARE(form.findChild<QLineEdit*>("place/cores")->text(), QString("4"));
        QVERIFY(edited.isEmpty());
        auto* dot = form.findChild<QWidget*>("configRow/cores")->findChild<QToolButton*>();
        QVERIFY(dot->isVisible());
        QTest::mouseClick(dot, Qt::LeftButton); // back to the default
        QCOMPARE(form.config().value("cores"), ConfigValue(std::int64_t{0}));
        QVERIFY(!edited.isEmpty());
    }
    void whatOtherValuesMakeVoidIsHidden()
    {
        PlainForm form(placeSchema(), "place");
        form.show();
        auto* time = form.findChild<QLineEdit*>("place/time");
        auto* title = form.findChild<QToolButton*>("configSection/queue");
        QVERIFY(!time->isVisible() && !title->isVisible());
        type(form, "place/login", "uni");
        QVERIFY(time->isVisible() && title->isVisible());
        type(form, "place/time", "12");
        type(form, "place/login", "home");
        QVERIFY(time->isVisible()); // it is wrong
        type(form, "place/time", "3");
        QVERIFY(!time->isVisible());
        QCOMPARE(form.config().value("time"), ConfigValue(std::int64_t{3})); // and kept
    }
};

VERGENCE_WINDOW_TEST(TestPlainForm)
#include "tst_plain_form.moc"
