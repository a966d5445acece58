#include <atomic>
#include <cstdlib>
#include <map>
#include <optional>

#include <sys/stat.h>
#include <unistd.h>

#include <QtTest>

#include <fmt/format.h>
#include <zip.h>

#include "core/artifact/artifact_store.h"
#include "core/artifact/bundle.h"
#include "core/artifact/checkpoint.h"
#include "core/artifact/manifest.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/support/environment.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using vergence::test::contentOf;
using vergence::test::ScopedVariable;
using vergence::test::Scratch;
namespace fs = std::filesystem;

namespace {

/// A small finished run with files of every kind, and paths in its texts.
RunFolder makeRun(const Scratch& scratch)
{
    const RunFolder folder =
        RunFolder::createAt(scratch / "Übung é/2026-03-02T10-15-07Z-sugar-7c1e");
    const std::string home = std::getenv("HOME");
    RunStatus status;
    status.state = "Completed";
    status.plugin = "sugar";
    status.pid = ::getpid();
    status.bootId = currentBootId();
    status.heartbeat = 1'700'000'000;
    status.exitCode = 0;
    status.socket = "vergence-worker-1";
    status.rings = {"/vergence-1-view-1"};
    writeStatus(folder, status);
    writeFileAtomic(folder.config(),
                    fmt::format("data = \"{}/photos/fox\"\nother = \"/usr/share/fox\"\n", home));
    writeFileAtomic(folder.configInput(), "seed = 1\n");
    writeFileAtomic(folder.metrics(), "step,wall_s,name,value\n0,0.5,train/loss,1.5\n");
    writeFileAtomic(folder.log(),
                    fmt::format("{{\"text\":\"reads {}/a.png\"}}\n", folder.root.string()));
    ArtifactStore store(folder);
    store.writePng("plane.png", makeImage(64, 64, 3, 9), "display-plane", "Plane");
    store.writeText("loss.csv", std::string(20'000, '1') + "\n", "loss");
    std::string noise(3u << 20, '\0'); // large enough to be read from the file while packing
    std::uint32_t random = 1;
    for (char& c : noise)
        c = static_cast<char>((random = random * 1664525 + 1013904223) >> 24);
    writeFileAtomic(store.pathFor("cloud.ply"), noise);
    store.add("cloud.ply", "splats");
    nlohmann::json manifest = makeManifest(folder);
    manifest["plugin"] = {{"id", "sugar"}};
    manifest["command"] = {"/usr/bin/vergence", "run", folder.config().string()};
    writeManifest(folder, manifest, store.list());
    Checkpoint checkpoint;
    checkpoint.step = 3;
    saveCheckpoint(folder, checkpoint);
    writeFileAtomic(folder.exports() / "old.zip", "x");
    writeFileAtomic(folder.artifacts() / ".hidden", "x");
    fs::create_symlink("/etc/passwd", folder.artifacts() / "link.txt");
    return folder;
}

struct ZipEntry {
    std::string text;
    int method = 0;
};

std::map<std::string, ZipEntry> readZip(const fs::path& path)
{
    std::map<std::string, ZipEntry> entries;
    zip_t* zip = zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, nullptr);
    for (zip_int64_t i = 0; zip && i < zip_get_num_entries(zip, 0); ++i) {
        zip_stat_t facts;
        zip_stat_index(zip, static_cast<zip_uint64_t>(i), 0, &facts);
        ZipEntry entry{std::string(facts.size, '\0'), facts.comp_method};
        zip_file_t* file = zip_fopen_index(zip, static_cast<zip_uint64_t>(i), 0);
        zip_fread(file, entry.text.data(), facts.size);
        zip_fclose(file);
        entries[facts.name] = std::move(entry);
    }
    if (zip)
        zip_discard(zip);
    return entries;
}

/// Writes a ZIP with these entries; a name that starts with "link:" becomes a symbolic link.
void writeZip(const fs::path& path, const std::vector<std::pair<std::string, std::string>>& entries)
{
    zip_t* zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
    for (const auto& [name, text] : entries) {
        const bool isLink = name.rfind("link:", 0) == 0;
        const std::string plain = isLink ? name.substr(5) : name;
        zip_source_t* source = zip_source_buffer(zip, text.data(), text.size(), 0);
        const auto index =
            static_cast<zip_uint64_t>(zip_file_add(zip, plain.c_str(), source, ZIP_FL_ENC_UTF_8));
        if (isLink)
            zip_file_set_external_attributes(zip, index, 0, ZIP_OPSYS_UNIX,
                                             (S_IFLNK | 0777u) << 16);
    }
    zip_close(zip);
}

const std::string kManifest =
    R"({"format": "vergence-manifest/1", "run": {"id": "run"}, "files": []})";

} // namespace

class TestBundle : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() { m_epoch.emplace("SOURCE_DATE_EPOCH", "1700000000"); }
    void cleanup() { m_epoch.reset(); }

    void bundleHoldsTheRunAndItsHashes()
    {
        const Scratch scratch;
        const RunFolder folder = makeRun(scratch);
        const fs::path target = folder.exports() / "a.zip";
        QVERIFY(writeBundle(folder, target));
        const auto entries = readZip(target);
        std::vector<std::string> names;
        for (const auto& [name, entry] : entries)
            names.push_back(name);
        const std::vector<std::string> wanted{
            "README.txt",        "artifacts/cloud.ply", "artifacts/loss.csv", "artifacts/plane.png",
            "config.input.toml", "config.toml",         "log.jsonl",          "manifest.json",
            "metrics.csv",       "status.json"};
        QVERIFY(names == wanted);
        QCOMPARE(entries.at("artifacts/plane.png").method, int{ZIP_CM_STORE});
        QCOMPARE(entries.at("artifacts/loss.csv").method, int{ZIP_CM_DEFLATE});
        QCOMPARE(entries.at("artifacts/cloud.ply").text,
                 readFile(folder.artifacts() / "cloud.ply"));
        const auto manifest = nlohmann::json::parse(entries.at("manifest.json").text);
        QCOMPARE(manifest["files"].size(), std::size_t{9});
        for (const auto& file : manifest["files"])
            QCOMPARE(file["sha256"].get<std::string>(),
                     sha256Hex(entries.at(file["path"].get<std::string>()).text));
        QCOMPARE(manifest["artifacts"].size(), std::size_t{3});
        const VerifyResult result = verifyBundle(target);
        QVERIFY2(result.isGood(), result.problems.empty() ? "" : result.problems[0].c_str());
        QCOMPARE(result.filesChecked, std::size_t{9});
    }

    void nothingOfTheSendersProcessesIsTakenAlong_data()
    {
        QTest::addColumn<bool>("anonymises");
        QTest::newRow("anonymous") << true;
        QTest::newRow("with its paths") << false;
    }
    void nothingOfTheSendersProcessesIsTakenAlong()
    {
        QFETCH(bool, anonymises);
        const Scratch scratch;
        const RunFolder folder = makeRun(scratch);
        writeFileAtomic(folder.root / "explore.json",
                        std::string_view(R"({"pid": 77, "socket": "vergence-worker-77"})"));
        BundleOptions options;
        options.anonymisesPaths = anonymises;
        writeBundle(folder, scratch / "all.zip", options);
        options.files = {"explore.json", "artifacts/plane.png"};
        writeBundle(folder, scratch / "chosen.zip", options);
        for (const char* name : {"all.zip", "chosen.zip"}) {
            const auto entries = readZip(scratch / name);
            QVERIFY2(!entries.contains("explore.json"), name);
            const RunStatus status =
                RunStatus::fromJson(nlohmann::json::parse(entries.at("status.json").text));
            QCOMPARE(status.pid, 0);
            QVERIFY(status.socket.empty() && status.bootId.empty() && status.rings.empty());
        }
    }

    void equalRunsGiveEqualBytes()
    {
        const Scratch scratch;
        const RunFolder folder = makeRun(scratch);
        writeBundle(folder, scratch / "a.zip");
        {
            const ScopedVariable zone("TZ", "Pacific/Auckland");
            ::tzset();
            writeBundle(folder, scratch / "b.zip");
        }
        ::tzset();
        QVERIFY(readFile(scratch / "a.zip") == readFile(scratch / "b.zip"));
        zip_t* zip = zip_open((scratch / "a.zip").c_str(), ZIP_RDONLY, nullptr);
        QVERIFY(zip);
        for (zip_uint64_t i = 1; i < 10; ++i)
            QVERIFY(std::string(zip_get_name(zip, i - 1, 0)) < zip_get_name(zip, i, 0));
        zip_discard(zip);
    }

    void nothingTellsWhoAndWhere()
    {
        const Scratch scratch;
        const RunFolder folder = makeRun(scratch);
        writeBundle(folder, scratch / "a.zip");
        auto entries = readZip(scratch / "a.zip");
        const std::string parent = folder.root.parent_path().string();
        for (const auto& [name, entry] : entries) {
            QVERIFY2(entry.text.find(parent) == std::string::npos, name.c_str());
            QVERIFY2(entry.text.find(scratch.path().string()) == std::string::npos, name.c_str());
            QVERIFY2(entry.text.find(currentBootId()) == std::string::npos, name.c_str());
            QVERIFY2(entry.text.find("/usr/") == std::string::npos, name.c_str());
        }
        QCOMPARE(entries["config.toml"].text,
                 std::string("data = \"<home>/photos/fox\"\nother = \"<path>/fox\"\n"));
        QCOMPARE(entries["log.jsonl"].text,
                 fmt::format("{{\"text\":\"reads <project>/{}/a.png\"}}\n", folder.id()));
        QVERIFY(entries["manifest.json"].text.find("\"<path>/vergence\"") != std::string::npos);
        const RunStatus status =
            RunStatus::fromJson(nlohmann::json::parse(entries["status.json"].text));
        QVERIFY(status.pid == 0 && status.bootId.empty() && status.socket.empty() &&
                status.rings.empty());
        QCOMPARE(status.state, std::string("Completed"));
        QVERIFY(readFile(folder.config()).find("<home>") ==
                std::string::npos); // the run itself is left alone

        BundleOptions open;
        open.anonymisesPaths = false;
        writeBundle(folder, scratch / "b.zip", open);
        QCOMPARE(readZip(scratch / "b.zip")["config.toml"].text, readFile(folder.config()));
        QVERIFY(verifyBundle(scratch / "b.zip").isGood());
    }

    void userAndHostNamesLeaveButKeysStay()
    {
        const Scratch scratch;
        const RunFolder folder = makeRun(scratch);
        const ScopedVariable user("USER", "marie");
        char host[256] = {};
        QCOMPARE(::gethostname(host, sizeof(host) - 1), 0);
        writeFileAtomic(
            folder.log(),
            fmt::format("{{\"marie\":\"by marie on {} of mariette, /media/marie/disk\"}}\n", host));
        writeBundle(folder, scratch / "a.zip");
        const std::string text = readZip(scratch / "a.zip")["log.jsonl"].text;
        const bool telling = std::string(host).size() >= 3 && std::string(host) != "localhost";
        QCOMPARE(text, fmt::format("{{\"marie\":\"by <user> on {} of mariette, <path>/disk\"}}\n",
                                   telling ? "<host>" : host));
    }

    void choiceIsKeptAndCheckpointsAreAskedFor()
    {
        const Scratch scratch;
        const RunFolder folder = makeRun(scratch);
        BundleOptions options;
        options.files = {"artifacts/plane.png"};
        writeBundle(folder, scratch / "a.zip", options);
        const auto few = readZip(scratch / "a.zip");
        QCOMPARE(few.size(), std::size_t{5}); // with config, status, manifest, README
        QCOMPARE(nlohmann::json::parse(few.at("manifest.json").text)["artifacts"].size(),
                 std::size_t{1});
        QVERIFY(verifyBundle(scratch / "a.zip").isGood());
        options.files = {"artifacts/nothing.png"};
        VERGENCE_THROWS(InputError, "artifacts/nothing.png",
                        writeBundle(folder, scratch / "b.zip", options));
        options.files = {"../../secret"};
        VERGENCE_THROWS(InputError, "no such file",
                        writeBundle(folder, scratch / "b.zip", options));
        options.files = {"artifacts/link.txt"};
        VERGENCE_THROWS(InputError, "no such file",
                        writeBundle(folder, scratch / "b.zip", options));
        BundleOptions all;
        all.includesCheckpoints = true;
        writeBundle(folder, scratch / "c.zip", all);
        QVERIFY(
            readZip(scratch / "c.zip").contains("checkpoints/step-00000003/tensors.safetensors"));
    }

    void progressGrowsToTheTotal()
    {
        const Scratch scratch;
        const RunFolder folder = makeRun(scratch);
        std::uint64_t last = 0, whole = 0;
        int calls = 0;
        bool grows = true;
        BundleOptions options;
        options.progress = [&](std::uint64_t done, std::uint64_t total) {
            grows = grows && done >= last && done <= total;
            last = done;
            whole = total;
            ++calls;
        };
        QVERIFY(writeBundle(folder, scratch / "a.zip", options));
        QVERIFY(grows);
        QCOMPARE(last, whole);
        QVERIFY(whole > 3u << 20);
        QVERIFY(calls > 20);
    }

    void cancellingLeavesNothing_data()
    {
        QTest::addColumn<double>("at");
        QTest::newRow("at once") << 0.0;
        QTest::newRow("while hashing") << 0.1;
        QTest::newRow("half way") << 0.5;
        QTest::newRow("near the end") << 0.97;
    }
    void cancellingLeavesNothing()
    {
        QFETCH(double, at);
        const Scratch scratch;
        const RunFolder folder = makeRun(scratch);
        const auto before = contentOf(scratch.path());
        std::atomic<bool> cancelled{false};
        BundleOptions options;
        options.cancelled = &cancelled;
        options.progress = [&](std::uint64_t done, std::uint64_t total) {
            if (static_cast<double>(done) >= at * static_cast<double>(total))
                cancelled = true;
        };
        QVERIFY(!writeBundle(folder, scratch / "a.zip", options));
        QVERIFY(contentOf(scratch.path()) == before);
        cancelled = false;
        options.progress = {};
        QVERIFY(writeBundle(folder, scratch / "a.zip", options));
        QVERIFY(verifyBundle(scratch / "a.zip").isGood());
    }

    void cancellingKeepsTheEarlierExport()
    {
        const Scratch scratch;
        const RunFolder folder = makeRun(scratch);
        writeFileAtomic(scratch / "a.zip", "earlier");
        std::atomic<bool> cancelled{true};
        BundleOptions options;
        options.cancelled = &cancelled;
        QVERIFY(!writeBundle(folder, scratch / "a.zip", options));
        QCOMPARE(readFile(scratch / "a.zip"), std::string("earlier"));
        VERGENCE_THROWS(OutputError, "nowhere", writeBundle(folder, scratch / "nowhere/a.zip"));
    }

    void tamperingIsFound()
    {
        const Scratch scratch;
        const RunFolder folder = makeRun(scratch);
        QVERIFY(verifyRun(folder).isGood());
        QCOMPARE(verifyRun(folder).filesChecked, std::size_t{3});
        writeFileAtomic(folder.artifacts() / "loss.csv", "other");
        fs::remove(folder.artifacts() / "plane.png");
        const auto problems = verifyRun(folder).problems;
        QVERIFY((problems ==
                 std::vector<std::string>{"artifacts/loss.csv: hash differs from the manifest",
                                          "artifacts/plane.png: missing"}));
    }

    void tamperedBundlesAreFound()
    {
        const Scratch scratch;
        const std::string files = fmt::format(
            R"({{"files": [{{"path": "a", "sha256": "{}"}}, {{"path": "b", "sha256": "{}"}}, {{"path": "c"}}]}})",
            sha256Hex("right"), sha256Hex("b"));
        writeZip(scratch / "a.zip", {{"manifest.json", files}, {"a", "wrong"}, {"extra", "x"}});
        const auto problems = verifyBundle(scratch / "a.zip").problems;
        QVERIFY((problems ==
                 std::vector<std::string>{"manifest.json: an entry of `files` has no path or hash",
                                          "a: hash differs from the manifest", "b: missing",
                                          "extra: not in the manifest"}));
        writeZip(scratch / "b.zip", {{"a", "x"}});
        VERGENCE_THROWS(InputError, "it has no manifest.json", verifyBundle(scratch / "b.zip"));
        writeFileAtomic(scratch / "c.zip", "hello");
        VERGENCE_THROWS(InputError, "Not a zip archive", verifyBundle(scratch / "c.zip"));
    }

    void damagedBytesAreFound()
    {
        const Scratch scratch;
        const RunFolder folder = makeRun(scratch);
        writeBundle(folder, scratch / "a.zip");
        std::string bytes = readFile(scratch / "a.zip");
        bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
        writeFileAtomic(scratch / "a.zip", bytes);
        const auto problems = verifyBundle(scratch / "a.zip").problems;
        QCOMPARE(problems.size(), std::size_t{1});
        QVERIFY2(problems[0].rfind("artifacts/cloud.ply: ", 0) == 0, problems[0].c_str());
        VERGENCE_THROWS(InputError, "artifacts/cloud.ply",
                        openBundle(scratch / "a.zip", scratch / "opened"));
        QVERIFY(contentOf(scratch / "opened").empty());
    }

    void openedBundleIsARunFolder()
    {
        const Scratch scratch;
        const RunFolder folder = makeRun(scratch);
        writeBundle(folder, scratch / "a.zip");
        const RunFolder opened = openBundle(scratch / "a.zip", scratch / "other/home");
        QCOMPARE(opened.id(), folder.id());
        QCOMPARE(readFile(opened.metrics()), readFile(folder.metrics()));
        QCOMPARE(readStatus(opened).state, std::string("Completed"));
        QVERIFY(fs::is_directory(opened.checkpoints()));
        const VerifyResult result = verifyRun(opened);
        QVERIFY2(result.isGood(), result.problems.empty() ? "" : result.problems[0].c_str());
        QCOMPARE(openBundle(scratch / "a.zip", scratch / "other/home").id(), folder.id() + "-2");
        QCOMPARE(listRuns(scratch / "other/home").size(), std::size_t{2});
    }

    void dangerousBundlesAreRefused_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("part");
        QTest::newRow("parent") << "../evil"
                                << "outside of the folder";
        QTest::newRow("parent inside") << "a/../../evil"
                                       << "outside of the folder";
        QTest::newRow("absolute") << "/tmp/evil"
                                  << "outside of the folder";
        QTest::newRow("backslash") << "..\\evil"
                                   << "outside of the folder";
        QTest::newRow("empty part") << "a//b"
                                    << "outside of the folder";
        QTest::newRow("link") << "link:artifacts/evil"
                              << "is a link";
    }
    void dangerousBundlesAreRefused()
    {
        QFETCH(QString, name);
        QFETCH(QString, part);
        const Scratch scratch;
        writeZip(scratch / "a.zip", {{"manifest.json", kManifest},
                                     {"status.json", R"({"state": "Completed"})"},
                                     {"config.toml", ""},
                                     {name.toStdString(), "x"}});
        VERGENCE_THROWS(InputError, part.toUtf8().constData(),
                        openBundle(scratch / "a.zip", scratch / "in"));
        QVERIFY(!fs::exists(scratch / "evil") && !fs::exists("/tmp/evil"));
        QVERIFY(!fs::exists(scratch / "in") || contentOf(scratch / "in").empty());
    }

    void bombsAreRefused()
    {
        const Scratch scratch;
        const std::string zeros(8u << 20, '\0');
        writeZip(scratch / "a.zip", {{"manifest.json", kManifest},
                                     {"status.json", R"({"state": "Completed"})"},
                                     {"config.toml", ""},
                                     {"a", zeros},
                                     {"b", zeros}});
        QVERIFY(fs::file_size(scratch / "a.zip") < 100'000);
        VERGENCE_THROWS(InputError, "more than 10 MiB",
                        openBundle(scratch / "a.zip", scratch / "in", 10u << 20));
        QVERIFY(!fs::exists(scratch / "in"));
        QCOMPARE(openBundle(scratch / "a.zip", scratch / "in", 17u << 20).id(), std::string("run"));
    }

    void bundlesThatAreNoRunAreRefused()
    {
        const Scratch scratch;
        writeZip(scratch / "a.zip", {{"manifest.json", kManifest}, {"config.toml", ""}});
        VERGENCE_THROWS(InputError, "status.json is missing",
                        openBundle(scratch / "a.zip", scratch / "in"));
        QVERIFY(contentOf(scratch / "in").empty());
        const std::string evil = R"({"run": {"id": "../../evil"}})";
        writeZip(scratch / "b.zip", {{"manifest.json", evil},
                                     {"status.json", R"({"state": "Completed"})"},
                                     {"config.toml", ""}});
        QCOMPARE(openBundle(scratch / "b.zip", scratch / "in").id(), std::string("b"));
    }

private:
    std::optional<ScopedVariable> m_epoch;
};

VERGENCE_TEST(TestBundle)
#include "tst_bundle.moc"
