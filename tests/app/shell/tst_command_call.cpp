#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "app/shell/command_call.h"
#include "tests/support/patience.h"
#include "tests/support/test_program.h"

using namespace vergence;

/// What the window makes of the answers of `vergence`.
class TestCommandCall : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    /// A program with this text.
    QString program(const QByteArray& script) const
    {
        const QString path = m_folder.filePath("program");
        QFile file(path);
        if (!file.open(QIODevice::WriteOnly) || file.write("#!/bin/sh\n" + script) < 0)
            qFatal("The program cannot be written.");
        file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        return path;
    }
    static CommandAnswer answerOf(const QString& program)
    {
        CommandCall call(program);
        CommandAnswer answer;
        bool hasAnswered = false;
        connect(&call, &CommandCall::answered, [&](const CommandAnswer& told) {
            answer = told;
            hasAnswered = true;
        });
        call.start({"submit"});
        static_cast<void>(test::waitFor([&] { return hasAnswered; }));
        return answer;
    }

private Q_SLOTS:
    void whatItSaysIsTheAnswer()
    {
        const CommandAnswer answer = answerOf(program("echo chatter >&2; echo \"{$1}\""));
        QVERIFY2(answer.isGood(), qPrintable(answer.refusal));
        QCOMPARE(answer.output, QByteArray("{submit}\n"));
    }
    void aRefusalIsASentence_data()
    {
        QTest::addColumn<QByteArray>("script");
        QTest::addColumn<QString>("refusal");
        QTest::newRow("after chatter")
            << QByteArray("echo chatter >&2; echo 'vergence: No such target.' >&2; exit 6")
            << "No such target.";
        QTest::newRow("alone") << QByteArray("echo 'vergence: No.' >&2; exit 2") << "No.";
        QTest::newRow("of several lines")
            << QByteArray("printf 'vergence: No.\\nRun vergence --help.\\n' >&2; exit 2")
            << "No.\nRun vergence --help.";
        QTest::newRow("a configuration")
            << QByteArray("printf 'steps is 0.\\nvergence: It has errors.\\n' >&2; exit 3")
            << "It has errors. steps is 0.";
        QTest::newRow("of another program")
            << QByteArray("echo 'sh: no shell' >&2; exit 1") << "sh: no shell";
        QTest::newRow("silent") << QByteArray("exit 4") << "`vergence submit` ended with code 4.";
    }
    void aRefusalIsASentence()
    {
        QFETCH(QByteArray, script);
        QFETCH(QString, refusal);
        QCOMPARE(answerOf(program(script)).refusal, refusal);
    }
    void aMissingProgramIsNamed()
    {
        const QString missing = m_folder.filePath("nothing");
        const CommandAnswer answer = answerOf(missing);
        QVERIFY2(answer.refusal.contains(missing), qPrintable(answer.refusal));
    }
    void whatItSaysMeanwhileComesLineByLine()
    {
        const QString goes = m_folder.filePath("goes");
        CommandCall call(
            program("echo one >&2; while ! [ -e '" + QFile::encodeName(goes) +
                    "' ]; do sleep 0.05; done; printf 'two\nvergence: No.' >&2; exit 1"));
        QSignalSpy talk(&call, &CommandCall::talked);
        QString refusal;
        connect(&call, &CommandCall::answered,
                [&](const CommandAnswer& answer) { refusal = answer.refusal; });
        call.start({"targets"});
        QTRY_COMPARE(talk.size(), 1); // it has not ended
        QFile file(goes);
        QVERIFY(file.open(QIODevice::WriteOnly));
        QTRY_COMPARE(refusal, QString("No."));
        QCOMPARE(talk.size(), 2);
        QCOMPARE(talk.back().front().toString(), QString("two"));
    }
    void itCanBeWaitedFor()
    {
        const QString done = m_folder.filePath("done");
        CommandCall call(program("sleep 0.2; touch " + QFile::encodeName(done)));
        call.start({});
        call.finish(test::kGuardMilliseconds);
        QVERIFY(QFile::exists(done));
    }
};

VERGENCE_WINDOW_TEST(TestCommandCall)
#include "tst_command_call.moc"
