#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <regex>
#include <set>

#include <QProcess>

#include "core/base/file.h"
#include "plugins/mc_embedding/study/study_files.h"
#include "tests/plugins/mc_embedding/mc_run_bench.h"
#include "tests/support/mortal_disk.h"
#include "tests/support/scratch.h"

using namespace vergence;
using namespace vergence::mc_embedding;

namespace {

namespace fs = std::filesystem;

constexpr int kDeaths = 50, kDeathsOfARun = 4;
constexpr std::uint64_t kNever = std::uint64_t{1} << 60;

// Always the same place, so that even files that name their folder can be compared.
fs::path worldOf(const fs::path& scratch)
{
    return scratch / "world";
}
fs::path runOf(const fs::path& scratch)
{
    return worldOf(scratch) / "run0";
}
fs::path logOf(const fs::path& scratch)
{
    return scratch / "writes.txt";
}

/// A small study in this process, which ends after so many bytes.
int studyProcess(const fs::path& scratch, bool resumes, std::uint64_t bytes)
{
    RunBench bench(worldOf(scratch));
    bench.checkpointSteps = 1;
    const RunFolder folder = resumes ? RunFolder{runOf(scratch)} : bench.newFolder();
    const Config config =
        bench.configOf({"models=[\"tiny_clip\"]", "count=4", "trials=2", "passes=[4]"});
    testing::dieAfterBytes(worldOf(scratch), bytes, logOf(scratch));
    const RunOutcome outcome = bench.run(folder, config, resumes);
    std::fputs(outcome.problems().c_str(), stderr);
    return static_cast<int>(outcome.code);
}

/// One write of a run: how many bytes, and into which file.
struct Write {
    std::uint64_t bytes = 0;
    std::string path;
};

std::vector<Write> writesOf(const fs::path& log)
{
    std::vector<Write> writes;
    std::ifstream stream(log);
    for (Write write; stream >> write.bytes && std::getline(stream >> std::ws, write.path);)
        writes.push_back(write);
    return writes;
}

/// Times and work apart, all that a study says is the same whenever it is computed.
void dropTimes(nlohmann::json& value)
{
    if (value.is_object()) {
        for (const char* key : {"seconds", "leverage_seconds", "flop", "tflops"})
            value.erase(key);
    }
    if (value.is_structured()) {
        for (auto& part : value)
            dropTimes(part);
    }
}

/// Every file of the study by its name: arrays and tables as bytes, JSON without times.
std::map<std::string, std::string> studyFiles(const fs::path& run)
{
    const fs::path study = run / "artifacts/study";
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(study)) {
        if (!entry.is_regular_file() || entry.path().filename().string().starts_with('.'))
            continue; // what a death leaves half written stays hidden, and out of bundles
        std::string text = readFile(entry.path());
        if (entry.path().extension() == ".json") {
            auto json = nlohmann::json::parse(text);
            dropTimes(json);
            text = json.dump();
        }
        files[fs::relative(entry.path(), study).generic_string()] = text;
    }
    return files;
}

/// Names of the files that differ; empty where none does.
std::string differenceOf(const std::map<std::string, std::string>& a,
                         const std::map<std::string, std::string>& b)
{
    std::string names;
    for (const auto& [name, bytes] : a) {
        const auto found = b.find(name);
        if (found == b.end() || found->second != bytes)
            names += name + " ";
    }
    for (const auto& [name, bytes] : b) {
        if (!a.contains(name))
            names += name + " ";
    }
    return names;
}

/// The name that a file has when it is complete: "a/.b.npz.41-7.part" is to become "a/b.npz".
std::string finalName(const std::string& path)
{
    static const std::regex partial(R"((^|/)\.([^/]+)\.\d+(-\d+)?\.part[^/]*)");
    return std::regex_replace(path, partial, "$1$2");
}

/// Files with numbers apart, for a summary.
std::string kindOf(const std::string& path)
{
    static const std::regex number(R"([0-9a-f]*\d[0-9a-f-]*)");
    return std::regex_replace(finalName(path), number, "#");
}

} // namespace

/// V22: a run that was killed after any byte that it wrote goes on to the same bits.
class TestMcTornFiles : public QObject {
    Q_OBJECT

    const test::Scratch m_scratch;

    struct Ending {
        bool isKilled = false;
        int code = -1;
        std::string problems;
    };
    Ending study(const char* how, std::uint64_t bytes) const
    {
        QProcess process;
        process.start(
            QCoreApplication::applicationFilePath(),
            {how, QString::fromStdString(m_scratch.path().string()), QString::number(bytes)});
        process.waitForFinished(60'000);
        Ending ending;
        ending.isKilled = process.exitStatus() == QProcess::CrashExit;
        ending.code = process.exitCode();
        ending.problems = process.readAllStandardError().toStdString();
        return ending;
    }
    void clear() const
    {
        fs::remove_all(worldOf(m_scratch.path()));
        fs::create_directories(worldOf(m_scratch.path()));
    }

    /// One point in four is a byte of all. The others are bytes of writes before the report, which
    /// is nine tenths of what is written: of each kind of file in turn.
    static std::uint64_t drawPoint(const std::vector<Write>& writes, int death,
                                   std::mt19937_64& random)
    {
        struct Span {
            std::uint64_t first, bytes;
        };
        std::map<std::string, std::vector<Span>> kinds;
        std::uint64_t sum = 0;
        bool isReport = false;
        for (const Write& write : writes) {
            isReport = isReport || write.path.find("/report/") != std::string::npos;
            if (!isReport)
                kinds[kindOf(write.path)].push_back({sum, write.bytes});
            sum += write.bytes;
        }
        if (death % 4 == 3)
            return 1 + random() % sum;
        const auto kind =
            std::next(kinds.begin(),
                      static_cast<std::ptrdiff_t>(static_cast<std::size_t>(death) % kinds.size()));
        const Span chosen = kind->second[random() % kind->second.size()];
        return chosen.first + 1 + random() % std::max<std::uint64_t>(1, chosen.bytes);
    }

private Q_SLOTS:
    /// 50 deaths, up to four in one run: in its first process, and in those that already go on.
    void killedAfterAnyByteGoesOnToTheSameBits()
    {
        const fs::path scratch = m_scratch.path(), run = runOf(scratch);
        clear();
        const Ending whole = study("run", kNever);
        QVERIFY2(whole.code == 0 && !whole.isKilled, whole.problems.c_str());
        const auto expected = studyFiles(run);
        QVERIFY(expected.contains("state.json") && expected.size() > 5);
        const std::vector<Write> writes = writesOf(logOf(scratch));
        expectEveryWriterIsCounted(writes);

        std::mt19937_64 random(22);
        std::map<std::string, int> kinds;
        std::string story;
        int deaths = 0, deathsHere = 0, runs = 0;
        for (bool resumes = false; deaths < kDeaths || resumes;) {
            if (!resumes) {
                clear();
                story.clear();
                deathsHere = 0;
                ++runs;
            }
            const bool dies = deaths < kDeaths && deathsHere < kDeathsOfARun;
            // What goes on has less to write.
            const std::uint64_t share = static_cast<std::uint64_t>(1 + 2 * deathsHere);
            const std::uint64_t bytes =
                dies ? 1 + drawPoint(writes, deaths, random) / share : kNever;
            const Ending ending = study(resumes ? "resume" : "run", bytes);
            resumes = ending.isKilled;
            if (ending.isKilled) {
                const std::string torn = writesOf(logOf(scratch)).back().path;
                story += "killed after byte " + std::to_string(bytes) + " in " + torn + "; ";
                ++kinds[kindOf(torn)];
                ++deaths;
                ++deathsHere;
                continue;
            }
            QVERIFY2(ending.code == 0, (story + ending.problems).c_str());
            for (const auto& entry : fs::recursive_directory_iterator(run / "artifacts/study"))
                QVERIFY2(entry.path().extension() != ".part", entry.path().c_str());
            const std::string difference = differenceOf(expected, studyFiles(run));
            QVERIFY2(difference.empty(), (difference + "differ; " + story).c_str());
        }
        for (const auto& [kind, count] : kinds)
            qInfo("%2d deaths in %s", count, kind.c_str());
        qInfo("%d deaths in %d runs", deaths, runs);
        // How often journals are written depends on the clock, so a byte is not always in the file
        // that it was drawn for.
        QVERIFY(kinds.size() > 5);
    }

private:
    /// What lies there has been seen on its way, or a writer escapes this test.
    void expectEveryWriterIsCounted(const std::vector<Write>& writes) const
    {
        std::set<std::string> counted;
        for (const Write& write : writes)
            counted.insert(finalName(write.path));
        int files = 0;
        for (const auto& entry : fs::recursive_directory_iterator(worldOf(m_scratch.path()))) {
            if (!entry.is_regular_file() || entry.file_size() == 0)
                continue;
            const std::string name =
                fs::relative(entry.path(), worldOf(m_scratch.path())).generic_string();
            QVERIFY2(counted.contains(name), name.c_str());
            ++files;
        }
        qInfo("%d files in %zu writes", files, writes.size());
    }
};

int main(int argc, char** argv)
{
    QCoreApplication application(argc, argv);
    if (argc == 4 && (std::string(argv[1]) == "run" || std::string(argv[1]) == "resume"))
        return studyProcess(argv[2], std::string(argv[1]) == "resume", std::stoull(argv[3]));
    TestMcTornFiles tests;
    return QTest::qExec(&tests, argc, argv);
}

#include "tst_mc_torn_files.moc"
