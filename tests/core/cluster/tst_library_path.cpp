#include "core/base/error.h"
#include "core/base/file.h"
#include "core/cluster/library_path.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"
#include "tests/support/tiny_elf.h"

using namespace vergence;
using namespace vergence::test;

class LibraryPathTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void textIsReplacedInItsPlace();
    void bothKindsBecomeOne();
    void longerTextIsRefused();
    void fileThatSaysNothing();
    void otherFilesAreRefused_data();
    void otherFilesAreRefused();

private:
    /// What a file holds after the call.
    static std::string changed(const std::string& bytes, const std::string& folders, bool fits);
};

std::string LibraryPathTest::changed(const std::string& bytes, const std::string& folders,
                                     bool fits)
{
    const Scratch folder;
    writeFileAtomic(folder / "lib.so", bytes);
    [&] { QCOMPARE(detail::setLibraryPath(folder / "lib.so", folders), fits); }();
    return readFile(folder / "lib.so");
}

void LibraryPathTest::textIsReplacedInItsPlace()
{
    const std::string before = tinyElf({{DT_RUNPATH, "/build/of/somebody/lib:"}});
    const std::string rest(std::string("/build/of/somebody/lib:").size() - 14, '\0');
    QVERIFY(changed(before, "$ORIGIN/../lib", true) ==
            tinyElf({{DT_RPATH, "$ORIGIN/../lib" + rest}}));
    const std::string exact = tinyElf({{DT_RPATH, "$ORIGIN"}});
    QVERIFY(changed(tinyElf({{DT_RPATH, "/a/b/lib"}}), "$ORIGIN/", true) ==
            tinyElf({{DT_RPATH, "$ORIGIN/"}}));
    QVERIFY(changed(exact, "$ORIGIN", true) == exact);
    QVERIFY(changed(exact, "", true) == tinyElf({{DT_RPATH, std::string(7, '\0')}}));
}

void LibraryPathTest::bothKindsBecomeOne()
{
    QVERIFY(changed(tinyElf({{DT_RPATH, "/one/lib"}, {DT_RUNPATH, "/two/lib"}}), "$ORIGIN/",
                    true) == tinyElf({{DT_RPATH, "$ORIGIN/"}, {DT_RPATH, "$ORIGIN/"}}));
}

void LibraryPathTest::longerTextIsRefused()
{
    const std::string bytes = tinyElf({{DT_RPATH, "/long/enough/lib"}, {DT_RUNPATH, "/lib"}});
    QVERIFY(changed(bytes, "$ORIGIN", false) == bytes);
}

void LibraryPathTest::fileThatSaysNothing()
{
    const std::string bytes = tinyElf({});
    QVERIFY(changed(bytes, "$ORIGIN", false) == bytes);
    QVERIFY(changed(bytes, "", true) == bytes);
}

void LibraryPathTest::otherFilesAreRefused_data()
{
    QTest::addColumn<QByteArray>("bytes");
    const std::string good = tinyElf({{DT_RUNPATH, "/lib"}});
    const auto row = [](const char* name, const std::string& bytes) {
        QTest::newRow(name) << QByteArray(bytes.data(), static_cast<qsizetype>(bytes.size()));
    };
    const auto with = [&good](std::size_t at, char value) {
        std::string bytes = good;
        bytes[at] = value;
        return bytes;
    };
    row("empty", "");
    row("script", "#!/bin/sh\n" + std::string(100, ' '));
    row("32 bits", with(EI_CLASS, ELFCLASS32));
    row("cut in its header", good.substr(0, sizeof(Elf64_Ehdr) - 1));
    row("cut in its segments", good.substr(0, sizeof(Elf64_Ehdr) + 3));
    row("cut in its entries", good.substr(0, sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr) + 20));
    row("text without an end", good.substr(0, good.size() - 1));
    row("text behind the end", good.substr(0, good.size() - 5));
    row("texts at no address", with(sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_vaddr) + 3, 1));
}

void LibraryPathTest::otherFilesAreRefused()
{
    QFETCH(QByteArray, bytes);
    const Scratch folder;
    const std::string text(bytes.data(), static_cast<std::size_t>(bytes.size()));
    writeFileAtomic(folder / "lib.so", text);
    VERGENCE_THROWS(InputError, "lib.so is no program or library of this system.",
                    detail::setLibraryPath(folder / "lib.so", ""));
    QVERIFY(readFile(folder / "lib.so") == text);
    VERGENCE_THROWS(InputError, "none.so", detail::setLibraryPath(folder / "none.so", ""));
}

VERGENCE_TEST(LibraryPathTest)
#include "tst_library_path.moc"
