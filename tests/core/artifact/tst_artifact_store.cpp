#include <cstring>
#include <thread>

#include <QtTest>

#include <fmt/format.h>

#include "core/artifact/artifact_store.h"
#include "core/artifact/manifest.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using vergence::test::Scratch;
namespace fs = std::filesystem;

class TestArtifactStore : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void hashesAreKnownAnswers()
    {
        // FIPS 180-2, appendix B.
        QCOMPARE(sha256Hex(""),
                 std::string("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
        QCOMPARE(sha256Hex("abc"),
                 std::string("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
        const std::string million(1'000'000, 'a');
        const std::string wanted =
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
        QCOMPARE(sha256Hex(million), wanted);
        const Scratch scratch;
        writeFileAtomic(scratch / "a", million);
        QCOMPARE(sha256OfFile(scratch / "a"), wanted);
        VERGENCE_THROWS(InputError, "No such file", sha256OfFile(scratch / "b"));
        VERGENCE_THROWS(InputError, "Cannot read", sha256OfFile(scratch.path()));
    }

    void writtenFilesAreListedAndAnnounced()
    {
        const Scratch scratch;
        ArtifactStore store(RunFolder{scratch.path()});
        std::vector<std::string> heard;
        store.setListener([&](const Artifact& artifact) {
            heard.push_back(artifact.path);
            store.list(); // the listener may ask
        });
        store.writeText("boards/n26/loss.csv", "step,loss\n0,1\n", "loss", "Loss");
        store.writePng("plane_00.png", makeImage(3, 2, 3), "display-plane");
        store.writeText("boards/n26/loss.csv", "step,loss\n0,2\n", "loss", "Loss again");
        const auto list = store.list();
        QCOMPARE(list.size(), std::size_t{2});
        QCOMPARE(list[0].path, std::string("artifacts/boards/n26/loss.csv"));
        QCOMPARE(list[0].title, std::string("Loss again"));
        QCOMPARE(list[0].bytes, std::uint64_t{14});
        QCOMPARE(list[0].sha256, sha256Hex("step,loss\n0,2\n"));
        QCOMPARE(list[1].role, std::string("display-plane"));
        QCOMPARE(heard.size(), std::size_t{3});
        QCOMPARE(readFile(scratch / "artifacts/boards/n26/loss.csv"),
                 std::string("step,loss\n0,2\n"));
    }

    void filesOfTheCallerAreAdded()
    {
        const Scratch scratch;
        ArtifactStore store(RunFolder{scratch.path()});
        writeFileAtomic(store.pathFor("mesh.obj"), "v 0 0 0\n");
        store.add("mesh.obj", "mesh");
        QCOMPARE(store.list().at(0).sha256, sha256Hex("v 0 0 0\n"));
        VERGENCE_THROWS(InputError, "missing.obj", store.add("missing.obj", "mesh"));
        QCOMPARE(store.list().size(), std::size_t{1});
    }

    void namesStayInsideTheFolder_data()
    {
        QTest::addColumn<QString>("name");
        for (const char* name :
             {"", "/etc/passwd", "../x", "a/../../x", "a//b", "a/", "./a", "a\\b", "a\nb"})
            QTest::newRow(
                QString(name).replace(QLatin1Char(10), QLatin1Char(32)).toUtf8().constData())
                << name;
    }
    void namesStayInsideTheFolder()
    {
        QFETCH(QString, name);
        const Scratch scratch;
        ArtifactStore store(RunFolder{scratch.path()});
        VERGENCE_THROWS(ContractError, "relative paths",
                        store.writeText(name.toStdString(), "x", "x"));
        QVERIFY(vergence::test::contentOf(scratch.path()).empty());
    }

    void npyIsWhatNumpyReads_data()
    {
        QTest::addColumn<QList<int>>("shape");
        QTest::addColumn<QString>("text");
        QTest::newRow("scalar") << QList<int>{} << "()";
        QTest::newRow("vector") << QList<int>{6} << "(6,)";
        QTest::newRow("matrix") << QList<int>{2, 3} << "(2, 3)";
        QTest::newRow("empty") << QList<int>{0, 3} << "(0, 3)";
    }
    void npyIsWhatNumpyReads()
    {
        QFETCH(QList<int>, shape);
        QFETCH(QString, text);
        const std::vector<std::int64_t> extents(shape.begin(), shape.end());
        std::size_t count = 1;
        for (const auto extent : extents)
            count *= static_cast<std::size_t>(extent);
        std::vector<float> values(count, 1.5f);
        const Scratch scratch;
        ArtifactStore store(RunFolder{scratch.path()});
        store.writeNpy("a.npy", values, extents, "tensor");
        const std::string bytes = readFile(scratch / "artifacts/a.npy");
        QCOMPARE(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
        const std::size_t length =
            static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
        QCOMPARE((10 + length) % 64, std::size_t{0});
        const std::string header = bytes.substr(10, length);
        QCOMPARE(header.back(), '\n');
        const std::string wanted = fmt::format(
            "{{'descr': '<f4', 'fortran_order': False, 'shape': {}, }}", text.toStdString());
        QVERIFY2(header.rfind(wanted, 0) == 0, header.c_str());
        QCOMPARE(bytes.size(), 10 + length + count * 4);
        for (std::size_t i = 0; i < count; ++i)
            QCOMPARE(std::memcmp(bytes.data() + 10 + length + i * 4, "\0\0\xc0\x3f", 4), 0);
        VERGENCE_THROWS(ContractError, "value count",
                        store.writeNpy("b.npy", values, {7, 7}, "tensor"));
    }

    void resumedRunsListWhatStillExists()
    {
        const Scratch scratch;
        const RunFolder folder{scratch.path()};
        {
            ArtifactStore store(folder);
            store.writeText("a.txt", "one", "x", "A");
            store.writeText("b.txt", "two", "x");
            writeManifest(folder, makeManifest(folder), store.list());
        }
        fs::remove(scratch / "artifacts/b.txt");
        writeFileAtomic(scratch / "artifacts/a.txt", "changed after the manifest");
        ArtifactStore store(folder);
        auto earlier = artifactsOf(readManifest(folder));
        earlier.push_back({"manifest.json", "x", "", 1, ""});
        earlier.push_back({"artifacts/../manifest.json", "x", "", 1, ""});
        store.restore(earlier);
        QCOMPARE(store.list().size(), std::size_t{1});
        QCOMPARE(store.list()[0].title, std::string("A"));
        QCOMPARE(store.list()[0].sha256, sha256Hex("changed after the manifest"));
    }

    void manifestTellsBuildAndArtifacts()
    {
        const Scratch scratch;
        const RunFolder folder{scratch / "2026-03-02T10-15-07Z-sugar-7c1e"};
        fs::create_directory(folder.root);
        nlohmann::json manifest = makeManifest(folder);
        manifest["plugin"] = {{"id", "sugar"}};
        manifest["files"] = {1, 2};
        writeManifest(folder, manifest,
                      {{"artifacts/b", "r", "00", 2, "B"}, {"artifacts/a", "r", "11", 1, "A"}});
        const nlohmann::json read = readManifest(folder);
        QCOMPARE(read["format"].get<std::string>(), std::string("vergence-manifest/1"));
        QCOMPARE(read["run"]["id"].get<std::string>(), folder.id());
        QVERIFY(!read["vergence"]["version"].get<std::string>().empty());
#if defined(__clang__)
        const std::string compiler = fmt::format("clang-{}.{}", __clang_major__, __clang_minor__);
#else
        const std::string compiler = fmt::format("gcc-{}.{}", __GNUC__, __GNUC_MINOR__);
#endif
        QCOMPARE(read["vergence"]["compiler"].get<std::string>(), compiler);
        QVERIFY(!read["environment"]["kernel"].get<std::string>().empty());
        QVERIFY(!read.contains("files"));
        QCOMPARE(read["artifacts"][0]["path"].get<std::string>(), std::string("artifacts/a"));
        QCOMPARE(artifactsOf(read).at(1).bytes, std::uint64_t{2});
        QVERIFY(
            artifactsOf(nlohmann::json::parse(R"({"artifacts": [1, {"path": "/etc/passwd"}, {}]})"))
                .empty());
        QVERIFY(artifactsOf(nlohmann::json::array()).empty());
    }

    void damagedManifestsAreRefused()
    {
        const Scratch scratch;
        const RunFolder folder{scratch.path()};
        VERGENCE_THROWS(InputError, "No such file", readManifest(folder));
        writeFileAtomic(folder.manifest(), "{");
        VERGENCE_THROWS(InputError, "not valid JSON", readManifest(folder));
        writeFileAtomic(folder.manifest(), "[]");
        VERGENCE_THROWS(InputError, "not a manifest", readManifest(folder));
        writeFileAtomic(folder.manifest(), R"({"format": "other/3"})");
        VERGENCE_THROWS(InputError, "vergence-manifest/1", readManifest(folder));
    }

    void threadsMayWriteAtOnce()
    {
        const Scratch scratch;
        ArtifactStore store(RunFolder{scratch.path()});
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&store, t] {
                for (int i = 0; i < 20; ++i)
                    store.writeText(fmt::format("{}/{}.txt", t, i), "x", "x");
            });
        }
        for (std::thread& thread : threads)
            thread.join();
        QCOMPARE(store.list().size(), std::size_t{80});
    }
};

VERGENCE_TEST(TestArtifactStore)
#include "tst_artifact_store.moc"
