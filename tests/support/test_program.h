#pragma once

#include <QCoreApplication>
#include <QTest>
#if defined(QT_WIDGETS_LIB)
#include <QApplication>
#elif defined(QT_GUI_LIB)
#include <QGuiApplication>
#endif

// The tests of a folder are one program, which is linked once: `tests_core_run worker [FUNCTION…]`
// runs the class of tst_worker.cpp, with QtTest's own options behind the name. A file of tests ends
// with one of these macros, in place of QtTest's own, and the include of its moc file.

namespace vergence::test {

using TestMain = int (*)(int argc, char** argv);

/// Makes the class of tests in `file` known to the program.
class Registration {
public:
    Registration(const char* file, TestMain main);
};

} // namespace vergence::test

#define VERGENCE_REGISTER_TEST(Class, ...)                                                         \
    static const vergence::test::Registration registrationOf##Class(                               \
        __FILE__, [](int argc, char** argv) {                                                      \
            __VA_ARGS__;                                                                           \
            Class tests;                                                                           \
            return QTest::qExec(&tests, argc, argv);                                               \
        });

#define VERGENCE_TEST(Class) VERGENCE_REGISTER_TEST(Class, QCoreApplication application(argc, argv))
#if defined(QT_WIDGETS_LIB)
#define VERGENCE_WINDOW_TEST(Class)                                                                \
    VERGENCE_REGISTER_TEST(Class, QApplication application(argc, argv))
#elif defined(QT_GUI_LIB)
#define VERGENCE_WINDOW_TEST(Class)                                                                \
    VERGENCE_REGISTER_TEST(Class, QGuiApplication application(argc, argv))
#endif
