#include <QTest>

#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/foveated_vlm/shards/captions.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::fvlm;
using vergence::test::Scratch;

namespace {

void write(const std::filesystem::path& path, std::string_view text)
{
    std::filesystem::create_directories(path.parent_path());
    writeFileAtomic(path, text);
}

} // namespace

class TestFvlmCaptions : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void linesNameFiles()
    {
        const Scratch scratch;
        write(scratch / "c.jsonl",
              R"({"file":"deep/./a.mp4","prompt":"What?","answer":"A cat.","source":"made"})"
              "\n\n"
              R"({"file":"b.mp4","answer":"Übung","chosen":"x","rejected":"y"})"
              "\r\n"
              R"({"file":"none.mp4"})");
        const Captions captions = Captions::fromJsonLines(scratch / "c.jsonl");
        QCOMPARE(captions.count(), std::size_t(3));
        const auto a = captions.find(scratch.path(), scratch / "deep/a.mp4");
        QVERIFY(a.has_value());
        QCOMPARE(a->prompt, std::string("What?"));
        QCOMPARE(a->answer, std::string("A cat."));
        QCOMPARE(a->source, std::string("made"));
        const auto b = captions.find(scratch.path(), scratch / "elsewhere/b.mp4"); // by its name
        QVERIFY(b.has_value());
        QCOMPARE(b->answer, std::string("Übung"));
        QCOMPARE(b->chosen, std::string("x"));
        QCOMPARE(b->rejected, std::string("y"));
        QVERIFY(!captions.find(scratch.path(), scratch / "none.mp4").has_value());
        QVERIFY(!captions.find(scratch.path(), scratch / "unknown.mp4").has_value());
    }

    void textsLieBesideTheirFiles()
    {
        const Scratch scratch;
        write(scratch / "a.txt", "  A dog.\r\n");
        write(scratch / "empty.txt", " \n");
        write(scratch / "latin.txt", "\xc4\xe4");
        const Captions captions;
        QCOMPARE(captions.find(scratch.path(), scratch / "a.mp4")->answer, std::string("A dog."));
        QVERIFY(!captions.find(scratch.path(), scratch / "empty.mp4").has_value());
        QVERIFY(!captions.find(scratch.path(), scratch / "b.mp4").has_value());
        VERGENCE_THROWS(InputError, "latin.txt is no UTF-8",
                        captions.find(scratch.path(), scratch / "latin.mp4"));
    }

    void linesThatAreNoneAreNamed_data()
    {
        QTest::addColumn<QByteArray>("line");
        QTest::addColumn<QString>("message");
        QTest::newRow("no JSON") << QByteArray("a cat") << "line 2";
        QTest::newRow("no object") << QByteArray("[1]") << "line 2";
        QTest::newRow("no file") << QByteArray(R"({"answer":"x"})")
                                 << "line 2: `file` names no file";
        QTest::newRow("a number") << QByteArray(R"({"file":3})") << "line 2: `file` names no file";
        QTest::newRow("no text") << QByteArray(R"({"file":"b","prompt":[]})")
                                 << "line 2: `prompt` is no text";
        QTest::newRow("twice") << QByteArray(R"({"file":"./a.mp4"})")
                               << "line 2: a.mp4 is named for the second time";
        QTest::newRow("no UTF-8") << QByteArray("{\"file\":\"\xc4\"}") << "line 2";
    }
    void linesThatAreNoneAreNamed()
    {
        QFETCH(QByteArray, line);
        QFETCH(QString, message);
        const Scratch scratch;
        write(scratch / "c.jsonl", "{\"file\":\"a.mp4\",\"answer\":\"x\"}\n" + line.toStdString());
        const QString said =
            test::thrown<InputError>([&] { Captions::fromJsonLines(scratch / "c.jsonl"); });
        QVERIFY2(said.contains(message) && said.contains("c.jsonl"), qPrintable(said));
    }
};

VERGENCE_TEST(TestFvlmCaptions)
#include "tst_fvlm_captions.moc"
