#include <memory>

#include <QApplication>
#include <QLabel>
#include <QtTest>

#include "app/style/design.h"
#include "app/style/icons.h"
#include "app/style/theme.h"
#include "tests/support/test_program.h"

using namespace vergence;
using design::Type;

class TestDesign : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void stepsGrow();
    void labelsTakeTheTextSize();
    void captionsAreMuted();
    void iconsComeWithTheFolder();
};

void TestDesign::stepsGrow()
{
    const Type steps[] = {Type::Caption, Type::Body, Type::Title, Type::Page};
    for (int i = 1; i < 4; ++i)
        QVERIFY(design::font(steps[i - 1]).pointSizeF() < design::font(steps[i]).pointSizeF());
    QVERIFY(design::font(Type::Section).weight() > design::font(Type::Body).weight());
}

void TestDesign::labelsTakeTheTextSize()
{
    Theme theme(*qApp);
    theme.apply("light", 100);
    const double body = design::font(Type::Body).pointSizeF();
    theme.apply("light", 150);
    const std::unique_ptr<QLabel> title(design::label("Title", Type::Page));
    theme.apply("light", 100);
    QCOMPARE(title->font().pointSizeF(), 1.5 * 1.7 * body);
}

void TestDesign::captionsAreMuted()
{
    Theme theme(*qApp);
    theme.apply("dark", 100);
    const std::unique_ptr<QLabel> caption(design::label("Caption", Type::Caption));
    QCOMPARE(caption->palette().color(QPalette::WindowText), mutedColour(Theme::darkPalette()));
    const std::unique_ptr<QLabel> body(design::label("Text", Type::Body));
    QVERIFY(body->palette().color(QPalette::WindowText) != mutedColour(Theme::darkPalette()));
}

void TestDesign::iconsComeWithTheFolder()
{
    QVERIFY(!tintedIcon("start", QApplication::palette()).isNull());
    QVERIFY(tintedIcon("no such icon", QApplication::palette()).isNull());
}

VERGENCE_WINDOW_TEST(TestDesign)
#include "tst_design.moc"
