#include "core/artifact/manifest.h"
#include "core/base/error.h"
#include "core/cluster/portable_studio.h"
#include "core/cluster/shell.h"
#include "core/cluster/studio_there.h"
#include "tests/support/fake_studio.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;

namespace fs = std::filesystem;

class PortableStudioTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup();

    void thisStudioNeedsOnlyTheCLibrary();
    void whatIsOpenedByNameGoesAlong_data();
    void whatIsOpenedByNameGoesAlong();
    void moduleThatDoesNotLoadStaysOut();
    void missingLibraryIsTold_data();
    void missingLibraryIsTold();
    void programWithoutRoomIsTold();
    void folderThatCannotBeWrittenIsTold();

    void studioIsInstalledOnce();
    void whatWasBegunIsDoneAgain();
    void loginMayGreet();
    void problemIsASentence_data();
    void problemIsASentence();
    void fullDiskIsTold();
    void otherFolderInItsPlaceIsTold();

private:
    void addComputer(const std::string& started, const std::string& before = {})
    {
        test::addComputer(*m_programs, m_home->path(), started, before);
    }
    std::string install()
    {
        return installStudio(m_target, m_studio->program(), "1.2.3",
                             [this](const std::string& step) { m_steps.push_back(step); });
    }
    fs::path installed() const
    {
        return m_home->path() / installFolder("1.2.3", m_studio->program().string());
    }
    /// The version as a program prints it.
    static constexpr const char* kSaysVersion = "echo 'vergence 1.2.3'";

    std::unique_ptr<FakePrograms> m_programs;
    std::unique_ptr<FakeStudio> m_studio;
    std::unique_ptr<Scratch> m_home; ///< of the other computer
    std::vector<std::string> m_steps;
    Target m_target;
};

namespace {

/// Files alone.
std::set<std::string> filesBelow(const fs::path& folder)
{
    std::set<std::string> names;
    for (const std::string& name : contentOf(folder))
        if (!fs::is_directory(folder / name))
            names.insert(name);
    return names;
}

/// What the loader takes for a file from outside of `folder`, but for glibc's own parts.
QStringList strangersOf(const fs::path& file, const fs::path& folder)
{
    const CommandResult result = Shell().run({"ldd", file.string()});
    QStringList strangers;
    for (const QString& line : QString::fromStdString(result.output).split('\n')) {
        static const QRegularExpression glibc(
            "lib(c|m|mvec|dl|rt|pthread|resolv|util)\\.so\\.[0-9]+ => ");
        const QStringList words = line.trimmed().split(" => ");
        if (words.size() == 2 && !line.contains(glibc) &&
            !QDir::cleanPath(words[1]).startsWith(QString::fromStdString(folder.string())))
            strangers << line.trimmed();
    }
    return strangers;
}

} // namespace

void PortableStudioTest::init()
{
    m_programs = std::make_unique<FakePrograms>();
    m_studio = std::make_unique<FakeStudio>(*m_programs);
    m_home = std::make_unique<Scratch>();
    m_steps.clear();
    m_target = {};
    m_target.name = "far";
    m_target.login = "me@n1";
    m_target.disk = Disk::Own;
    addComputer(kSaysVersion);
}

void PortableStudioTest::cleanup()
{
    m_studio.reset();
    m_programs.reset();
}

void PortableStudioTest::thisStudioNeedsOnlyTheCLibrary()
{
    m_programs.reset(); // the real `ldd`
    const Scratch folder;
    makePortableStudio(VERGENCE_BINARY_DIR "/bin/vergence", folder / "made");
    fs::rename(folder / "made", folder / "moved");
    const fs::path moved = folder / "moved";
    QCOMPARE(fs::read_symlink(moved / "vergence"), fs::path("bin/vergence"));
    for (const std::string& name : filesBelow(moved)) {
        const bool isOfStudio = name.find("vergence") != std::string::npos && name != "vergence";
        const QStringList strangers = isOfStudio ? strangersOf(moved / name, moved) : QStringList();
        QVERIFY2(strangers.isEmpty(),
                 qPrintable(QString::fromStdString(name) + ": " + strangers.join(", ")));
        QVERIFY2(name.find("vergence-studio") == std::string::npos &&
                     name.find("plugin-heat") == std::string::npos &&
                     name.find("tests_") == std::string::npos,
                 name.c_str());
    }
    QVERIFY(fs::exists(moved / "lib/libvergence_core.so"));
    const CommandResult result = Shell().run({(moved / "vergence").string(), "--version"});
    QCOMPARE(result.output, "vergence " + buildInfo().value("version", "") + "\n");
}

void PortableStudioTest::whatIsOpenedByNameGoesAlong_data()
{
    QTest::addColumn<QByteArray>("modules");
    QTest::newRow("build") << QByteArray("lib/");
    QTest::newRow("installation") << QByteArray("lib/vergence/");
}

void PortableStudioTest::whatIsOpenedByNameGoesAlong()
{
    QFETCH(QByteArray, modules);
    const std::string folder = modules.toStdString();
    for (const char* name :
         {"libvergence-cuda.so", "libvergence-kernels-compute.so", "libvergence-kernels-sugar.so",
          "libvergence-kernels-sugar_two.so", "libvergence-video.so", "vergence-sugar-poisson",
          // of the window and of tests
          "libvergence-cuda-interop.so", "libvergence-kernels-heat.so",
          "libvergence-kernels-sugarcane.so", "emulated/libvergence-cuda.so"})
        m_studio->add(folder + name);
    m_studio->add("bin/vergence-studio");
    m_studio->add("lib/vergence/plugins/api-1/libvergence-plugin-sugar.so");
    m_studio->add("lib/vergence-test-plugins/libvergence-plugin-heat.so");
    const Scratch made;
    makePortableStudio(m_studio->program(), made / "studio");
    QCOMPARE(
        filesBelow(made / "studio"),
        (std::set<std::string>{
            "bin/vergence", "lib/libthing.so.2", "lib/libvergence_compute.so",
            "lib/vergence/libvergence-cuda.so", "lib/vergence/libvergence-kernels-compute.so",
            "lib/vergence/libvergence-kernels-sugar.so",
            "lib/vergence/libvergence-kernels-sugar_two.so", "lib/vergence/libvergence-video.so",
            "lib/vergence/plugins/api-1/libvergence-plugin-sugar.so",
            "lib/vergence/vergence-sugar-poisson", "vergence"}));
    QVERIFY(!fs::is_symlink(made / "studio/lib/libthing.so.2"));
    const auto pathOf = [&made](const char* name) {
        const std::string bytes = readFile(made / ("studio/" + std::string(name)));
        return std::string(bytes.c_str() + bytes.find('$'));
    };
    QCOMPARE(pathOf("bin/vergence"), std::string("$ORIGIN/../lib"));
    QCOMPARE(pathOf("lib/libvergence_compute.so"), std::string("$ORIGIN"));
    QCOMPARE(pathOf("lib/vergence/vergence-sugar-poisson"), std::string("$ORIGIN/.."));
    QCOMPARE(pathOf("lib/vergence/plugins/api-1/libvergence-plugin-sugar.so"),
             std::string("$ORIGIN/../../.."));
}

void PortableStudioTest::moduleThatDoesNotLoadStaysOut()
{
    m_studio->add("lib/libvergence-video.so");
    m_studio->takeLibraryOf("lib/libvergence-video.so");
    const Scratch made;
    makePortableStudio(m_studio->program(), made / "studio");
    QCOMPARE(filesBelow(made / "studio"),
             (std::set<std::string>{"bin/vergence", "lib/libthing.so.2",
                                    "lib/libvergence_compute.so", "vergence"}));
}

void PortableStudioTest::missingLibraryIsTold_data()
{
    QTest::addColumn<QByteArray>("file");
    QTest::addColumn<QByteArray>("sentence");
    QTest::newRow("program") << QByteArray("bin/vergence")
                             << QByteArray("bin/vergence needs the library liblost.so.1, which is "
                                           "not on this computer.");
    QTest::newRow("plugin") << QByteArray("lib/vergence/plugins/api-1/libvergence-plugin-sugar.so")
                            << QByteArray("libvergence-plugin-sugar.so needs the library "
                                          "liblost.so.1,");
    QTest::newRow("other program") << QByteArray()
                                   << QByteArray("is no whole program of the studio: its library "
                                                 "libvergence_compute.so is not found.");
    QTest::newRow("no `ldd`") << QByteArray() << QByteArray("does not tell which libraries");
}

void PortableStudioTest::missingLibraryIsTold()
{
    QFETCH(QByteArray, file);
    QFETCH(QByteArray, sentence);
    m_studio->add("lib/vergence/plugins/api-1/libvergence-plugin-sugar.so");
    if (!file.isEmpty())
        m_studio->takeLibraryOf(file.toStdString());
    else if (sentence.contains("compute"))
        m_programs->add("ldd", "echo '\tlibvergence_compute.so => not found'");
    else
        m_programs->add("ldd", "echo 'not a dynamic executable'; exit 1");
    const Scratch made;
    VERGENCE_THROWS(InputError, sentence, makePortableStudio(m_studio->program(), made / "studio"));
}

void PortableStudioTest::programWithoutRoomIsTold()
{
    m_studio->add("bin/vergence", "/lib");
    m_studio->add("lib/libvergence_compute.so", "/lib"); // the program's path counts for it
    const Scratch made;
    VERGENCE_THROWS(InputError, "bin/vergence has no room for the path of its libraries",
                    makePortableStudio(m_studio->program(), made / "studio"));
    m_studio->add("bin/vergence");
    makePortableStudio(m_studio->program(), made / "other");
    QVERIFY(readFile(made / "other/lib/libvergence_compute.so").find("/lib") == std::string::npos);
}

void PortableStudioTest::folderThatCannotBeWrittenIsTold()
{
    VERGENCE_THROWS(OutputError, "cannot be copied to /proc/sys/studio/bin/vergence",
                    makePortableStudio(m_studio->program(), "/proc/sys/studio"));
}

void PortableStudioTest::studioIsInstalledOnce()
{
    const std::string program = install();
    QCOMPARE(program, (installed() / "vergence").string());
    QCOMPARE(m_steps.size(), std::size_t{2});
    QCOMPARE(m_steps[0], std::string("Gathering the program and its libraries."));
    QVERIFY2(m_steps[1].starts_with("Sending 1 MB to me@n1."), m_steps[1].c_str());
    QCOMPARE(filesBelow(installed()),
             (std::set<std::string>{"bin/vergence", "lib/libthing.so.2",
                                    "lib/libvergence_compute.so", "vergence"}));
    QCOMPARE(fs::read_symlink(installed() / "vergence"), fs::path("bin/vergence"));
    QVERIFY(!fs::exists(installed().string() + ".part"));

    m_steps.clear();
    m_programs->add("ldd", "exit 1"); // nothing is gathered
    QCOMPARE(install(), program);
    QCOMPARE(m_steps, (std::vector<std::string>{"me@n1 has this studio already."}));
}

void PortableStudioTest::whatWasBegunIsDoneAgain()
{
    const fs::path part = installed().string() + ".part";
    fs::create_directories(part / "lib");
    writeFileAtomic(part / "lib/libthing.so.2", "half");
    writeFileAtomic(part / "lib/old.so", "of an earlier build");
    QCOMPARE(install(), (installed() / "vergence").string());
    QCOMPARE(filesBelow(installed()),
             (std::set<std::string>{"bin/vergence", "lib/libthing.so.2",
                                    "lib/libvergence_compute.so", "vergence"}));
    QVERIFY(readFile(installed() / "lib/libthing.so.2") == tinyElf({}));
    QVERIFY(!fs::exists(part));
}

/// Where it is asked, that is; rsync takes no greeting.
void PortableStudioTest::loginMayGreet()
{
    addComputer(kSaysVersion, "case \"$*\" in *rsync*) ;; *) echo 'machine Other room 1';; esac");
    QCOMPARE(install(), (installed() / "vergence").string());
}

void PortableStudioTest::problemIsASentence_data()
{
    QTest::addColumn<QByteArray>("started");
    QTest::addColumn<QByteArray>("sentence");
    QTest::newRow("processor")
        << QByteArray("echo 'sh: 1: /h/vergence: Exec format error' >&2; exit 126")
        << QByteArray("me@n1 has another processor than this computer. Build the studio there, and "
                      "set `program` to it.");
    QTest::newRow("older C library")
        << QByteArray("echo \"/h/vergence: /lib/libc.so.6: version \\`GLIBC_2.36' not found "
                      "(required by /h/vergence)\" >&2; exit 1")
        << QByteArray("me@n1 has an older C library than this computer (/h/vergence: "
                      "/lib/libc.so.6: version `GLIBC_2.36' not found (required by /h/vergence)). "
                      "Build the studio there");
    QTest::newRow("other C library")
        << QByteArray("echo 'sh: /h/vergence: not found' >&2; exit 127")
        << QByteArray("me@n1 cannot run programs of this computer: it lacks the GNU C library");
    QTest::newRow("no programs on that disk")
        << QByteArray("echo 'sh: 1: /h/vergence: Permission denied' >&2; exit 126")
        << QByteArray("/vergence does not start on me@n1 (sh: 1: /h/vergence: Permission denied). "
                      "Look whether programs may be started from that disk.");
    QTest::newRow("other version") << QByteArray("echo 'vergence 0.0.1'")
                                   << QByteArray("says that it is vergence 0.0.1, not vergence "
                                                 "1.2.3. Remove its folder, then install it "
                                                 "again.");
}

/// Nothing that does not start gets the name by which it would be found.
void PortableStudioTest::problemIsASentence()
{
    QFETCH(QByteArray, started);
    QFETCH(QByteArray, sentence);
    addComputer(started.toStdString());
    VERGENCE_THROWS(InputError, sentence, install());
    QVERIFY(!fs::exists(installed()));
}

void PortableStudioTest::fullDiskIsTold()
{
    m_programs->add("df", "echo 'Filesystem 1024-blocks Used Available Capacity Mounted'\n"
                          "echo '/dev/x 100 99 0 100% /home'");
    m_programs->add("du", "echo \"0 $2\"");
    VERGENCE_THROWS(InputError, "me@n1 has room for 0 MB at ", install());
    QVERIFY(m_programs->arguments("rsync").empty());
    m_programs->add("df", "exit 1"); // does not tell
    QCOMPARE(install(), (installed() / "vergence").string());
}

void PortableStudioTest::otherFolderInItsPlaceIsTold()
{
    fs::create_directories(installed());
    VERGENCE_THROWS(InputError,
                    "there is another folder of this name. Remove that folder, then install",
                    install());
    fs::remove(installed());
    // The other computer is asked before anything is sent.
    m_programs->add("uname", "echo Other");
    VERGENCE_THROWS(InputError, "me@n1 has another system or processor (Other Other) than this",
                    install());
    m_programs->add("ssh", "echo 'me@n1: Permission denied (publickey).' >&2; exit 255");
    VERGENCE_THROWS(InputError, "me@n1 lets nobody in without a password.", install());
}

VERGENCE_TEST(PortableStudioTest)
#include "tst_portable_studio.moc"
