#include <thread>

#include <sys/stat.h>
#include <unistd.h>

#include <QtTest>

#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using vergence::test::contentOf;
using vergence::test::Scratch;
namespace fs = std::filesystem;

class TestFile : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void bytesComeBackAndNothingElseIsLeft_data()
    {
        QTest::addColumn<int>("size");
        for (const int size : {0, 1, 4095, 4096, 3'000'000})
            QTest::addRow("%d bytes", size) << size;
    }
    void bytesComeBackAndNothingElseIsLeft()
    {
        QFETCH(int, size);
        const Scratch scratch;
        std::string bytes(static_cast<std::size_t>(size), '\0');
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes[i] = static_cast<char>(i * 31);
        writeFileAtomic(scratch / "Übung é 空 (1)", bytes);
        QVERIFY(readFile(scratch / "Übung é 空 (1)") == bytes);
        writeFileAtomic(scratch / "Übung é 空 (1)", std::as_bytes(std::span(bytes)));
        QVERIFY(readFile(scratch / "Übung é 空 (1)") == bytes);
        QCOMPARE(contentOf(scratch.path()).size(), std::size_t{1});
    }

    void unreadableFilesAreNamed()
    {
        const Scratch scratch;
        VERGENCE_THROWS(InputError, "nowhere: No such file", readFile(scratch / "nowhere"));
        VERGENCE_THROWS(InputError, "it is a folder", readFile(scratch.path()));
    }

    void unwritablePlacesAreNamedAndLeftAlone()
    {
        const Scratch scratch;
        VERGENCE_THROWS(OutputError, "nowhere/a: No such file",
                        writeFileAtomic(scratch / "nowhere/a", "x"));
        fs::create_directories(scratch / "folder/inside");
        VERGENCE_THROWS(OutputError, "rename into place", writeFileAtomic(scratch / "folder", "x"));
        QVERIFY((contentOf(scratch.path()) == std::set<std::string>{"folder", "folder/inside"}));
        VERGENCE_THROWS(OutputError, "/nowhere/a", AppendFile("/nowhere/a"));
    }

    void readersSeeOldOrNewNeverHalf()
    {
        const Scratch scratch;
        const fs::path path = scratch / "status";
        writeFileAtomic(path, std::string(10'000, 'a'));
        std::thread writer([&] {
            for (int i = 0; i < 300; ++i)
                writeFileAtomic(path, std::string(i % 2 ? 10'000 : 20'000, i % 2 ? 'a' : 'b'));
            writeFileAtomic(path, "end");
        });
        int torn = 0;
        for (std::string bytes; bytes != "end";) {
            bytes = readFile(path);
            torn += bytes != "end" && bytes != std::string(10'000, 'a') &&
                    bytes != std::string(20'000, 'b');
        }
        writer.join();
        QCOMPARE(torn, 0);
    }

    void writersOfOneFileDoNotDisturbEachOther()
    {
        const Scratch scratch;
        const fs::path path = scratch / "status";
        std::vector<std::thread> writers;
        for (int w = 0; w < 4; ++w) {
            writers.emplace_back([&path, w] {
                for (int i = 0; i < 100; ++i)
                    writeFileAtomic(path, std::string(5'000, static_cast<char>('a' + w)));
            });
        }
        for (std::thread& writer : writers)
            writer.join();
        const std::string bytes = readFile(path);
        QCOMPARE(bytes, std::string(5'000, bytes[0]));
        QCOMPARE(contentOf(scratch.path()).size(), std::size_t{1});
    }

    void uncommittedFilesDisappear()
    {
        const Scratch scratch;
        writeFileAtomic(scratch / "a", "old");
        {
            AtomicFile file(scratch / "a");
            writeFileAtomic(file.temporaryPath(), "new");
            QCOMPARE(file.temporaryPath().parent_path(), scratch.path());
        }
        QCOMPARE(readFile(scratch / "a"), std::string("old"));
        {
            AtomicFile file(scratch / "a");
            writeFileAtomic(file.temporaryPath(), "new");
            file.commit();
        }
        QCOMPARE(readFile(scratch / "a"), std::string("new"));
        {
            AtomicFile file(scratch / "b");
            VERGENCE_THROWS(OutputError, "finish", file.commit());
        }
        QCOMPARE(contentOf(scratch.path()).size(), std::size_t{1});
    }

    void appendingGoesOnAtTheEnd()
    {
        const Scratch scratch;
        {
            AppendFile file(scratch / "log");
            file.append("one\n");
            file.append("");
            QCOMPARE(readFile(scratch / "log"), std::string("one\n"));
            AppendFile other(scratch / "log");
            other.append("two\n");
            file.append("three\n");
        }
        AppendFile(scratch / "log").append("four\n");
        QCOMPARE(readFile(scratch / "log"), std::string("one\ntwo\nthree\nfour\n"));
    }

    void freeSpaceIsKnown()
    {
        QVERIFY(freeBytes("/tmp") > 0);
        QCOMPARE(freeBytes("/nowhere/at/all"), std::uintmax_t{0});
    }
};

VERGENCE_TEST(TestFile)
#include "tst_file.moc"
