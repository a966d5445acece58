#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include <QByteArray>
#include <QTest>

#include "core/artifact/artifact_store.h"
#include "core/artifact/exif.h"
#include "core/base/file.h"
#include "plugins/mc_embedding/io/image_set.h"
#include "plugins/mc_embedding/io/preprocess.h"
#include "plugins/mc_embedding/io/residency.h"
#include "tests/plugins/mc_embedding/pictures.h"
#include "tests/support/golden.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

namespace fs = std::filesystem;
using namespace vergence;
using namespace vergence::mc_embedding;
using vergence::test::crcOf;
using vergence::test::patternImage;
using vergence::test::Scratch;

namespace {

std::string fromBase64(const char* text)
{
    return QByteArray::fromBase64(text).toStdString();
}

void writeText(const fs::path& path, const std::string& text)
{
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
}

std::vector<std::string> pathsOf(const ImageSet& set)
{
    std::vector<std::string> paths;
    for (const StudyImage& image : set.images)
        paths.push_back(image.path);
    return paths;
}

SamplingOptions drawing(const std::string& sampling, std::size_t count, std::uint64_t seed = 42)
{
    SamplingOptions options;
    options.sampling = sampling;
    options.count = count;
    options.seed = seed;
    return options;
}

/// Classes a (5 files), b (3), c (1); their content does not matter here.
void writeClasses(const fs::path& folder, bool backwards = false)
{
    std::vector<std::string> names = {"a/0.jpg", "a/1.JPG", "a/2.jpeg", "a/3.png", "a/4.webp",
                                      "b/0.bmp", "b/1.png", "b/2.png",  "c/0.png"};
    if (backwards)
        std::reverse(names.begin(), names.end());
    for (const std::string& name : names)
        writeText(folder / name, name);
    writeText(folder / "a/notes.txt", "no picture");
    writeText(folder / "list.json", "{}");
}

// 8 × 8 px of four inks, written by Pillow 13 with Adobe's marker.
const char* const kInks =
    "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwACAQEBAQECAQEBAgICAgIEAwICAgIFBAQDBAYFBgYGBQYGBgcJCAYHCQcGBggL"
    "CAkKCgoKCgYICwwLCgwJCgoK/8AAFAgACAAIBEMRAE0RAFkRAEsRAP/EABUAAQEAAAAAAAAAAAAAAAAAAAcJ/8QAJBAA"
    "AQEECwAAAAAAAAAAAAAAAAkKGBolNENFUmVmg6KkweH/2gAOBEMATQBZAEsAAD8AWGiO3dTsWIiPPPJ9FhRFRGnT29WF"
    "cHtsT3n/2Q==";
// 4 × 2 px with 4 colours of which the second is transparent, 2 bits each.
const char* const kPalette =
    "iVBORw0KGgoAAAANSUhEUgAAAAQAAAACAgMAAAACxpXwAAAADFBMVEX/AAAA/wAAAP8JCAei0mLAAAAAAnRSTlP/AOW3"
    "MEoAAAAMSURBVHjaY5BmeAIAATkBAHuZQjcAAAAASUVORK5CYII=";
// 3 × 2 px, red 0 30 60 / 90 120 150, orientation 6.
const char* const kTurned =
    "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAGmVYSWZNTQAqAAAACAABARIAAwAAAAEABgAAAAAAANZn"
    "S2kAAAAXSURBVHicY2TgEpGTk5OTk2OJioqCsAAWvAKahy6zjAAAAABJRU5ErkJggg==";
// Orientation 8, grey.
const char* const kTurnedJpeg =
    "/9j/4AAQSkZJRgABAQAAAQABAAD/4QAiRXhpZgAATU0AKgAAAAgAAQESAAMAAAABAAgAAAAAAAD/2wBDAFA3PEY8MlBG"
    "QUZaVVBfeMiCeG5uePWvuZHI////////////////////////////////////////////////////wAALCAACAAMBAREA"
    "/8QAFAABAAAAAAAAAAAAAAAAAAAABP/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AE//Z";

} // namespace

class TestMcImages : public QObject {
    Q_OBJECT
private Q_SLOTS:
    // Sampling

    void samplesDoNotDependOnTheOrderOfTheFolder()
    {
        const Scratch one, two;
        writeClasses(one.path());
        writeClasses(two.path(), true);
        for (const char* sampling : {"stratified", "uniform", "manifest"}) {
            const auto paths = pathsOf(sampleFolder(one.path(), drawing(sampling, 500)));
            QCOMPARE(paths.size(), std::size_t{9});
            QVERIFY(paths == pathsOf(sampleFolder(two.path(), drawing(sampling, 500))));
        }
        QVERIFY(pathsOf(sampleFolder(one.path(), drawing("uniform", 9))) !=
                pathsOf(sampleFolder(one.path(), drawing("uniform", 9, 43))));
    }

    void aSmallDrawIsTheBeginningOfALargeOne()
    {
        const Scratch scratch;
        writeClasses(scratch.path());
        for (const char* sampling : {"stratified", "uniform", "manifest"}) {
            const auto all = pathsOf(sampleFolder(scratch.path(), drawing(sampling, 9)));
            for (std::size_t count = 1; count < 9; ++count) {
                const auto some = pathsOf(sampleFolder(scratch.path(), drawing(sampling, count)));
                QVERIFY(std::equal(some.begin(), some.end(), all.begin(),
                                   all.begin() + static_cast<std::ptrdiff_t>(count)));
            }
        }
    }

    void classesTakeTurns()
    {
        const Scratch scratch;
        writeClasses(scratch.path());
        const ImageSet set = sampleFolder(scratch.path(), drawing("stratified", 500));
        std::string turns;
        for (const StudyImage& image : set.images)
            turns += image.label;
        const std::string first = turns.substr(0, 3);
        QCOMPARE(std::set<char>(first.begin(), first.end()).size(), std::size_t{3});
        std::map<char, int> half; // the next two rounds have a and b only
        for (const char c : turns.substr(3, 4))
            ++half[c];
        QVERIFY(half['a'] == 2 && half['b'] == 2);
        QCOMPARE(turns.substr(7), std::string("aa"));
        QCOMPARE(set.labels().size(), std::size_t{3});
    }

    void uniformDrawsAreUniform()
    {
        const Scratch scratch;
        writeClasses(scratch.path());
        std::map<std::string, int> firsts;
        constexpr int kDraws = 900;
        for (int seed = 0; seed < kDraws; ++seed) {
            const auto options = drawing("uniform", 1, static_cast<std::uint64_t>(seed));
            ++firsts[sampleFolder(scratch.path(), options).images[0].path];
        }
        double chiSquare = 0;
        for (const auto& [path, count] : firsts)
            chiSquare += (count - 100.0) * (count - 100.0) / 100;
        QCOMPARE(firsts.size(), std::size_t{9});
        QVERIFY(chiSquare < 26.1); // 8 degrees of freedom, 0.1 %
    }

    void idsFromTheIndexAreKnownAtOnce()
    {
        const Scratch scratch;
        writeClasses(scratch.path());
        SamplingOptions options = drawing("uniform", 4);
        options.idsFromIndex = true;
        const ImageSet set = sampleFolder(scratch.path(), options);
        QVERIFY(set.idsFromIndex);
        for (std::uint32_t i = 0; i < 4; ++i)
            QCOMPARE(set.images[i].maskId, i);
        QCOMPARE(maskIdOf("78563412" + std::string(56, '0')), 0x12345678u);
    }

    void linkedFoldersAreFollowedOnce()
    {
        const Scratch scratch;
        writeText(scratch / "real/x/0.png", "");
        fs::create_directories(scratch / "set");
        fs::create_directory_symlink(scratch / "real/x", scratch / "set/x");
        fs::create_directory_symlink(scratch / "set", scratch / "set/again");
        const auto paths = pathsOf(sampleFolder(scratch / "set", drawing("manifest", 9)));
        QVERIFY(paths == std::vector<std::string>{"x/0.png"});
    }

    void foldersWithoutImagesAreNamed()
    {
        const Scratch scratch;
        VERGENCE_THROWS(InputError, "holds no images", sampleFolder(scratch.path(), {}));
        VERGENCE_THROWS(InputError, "nowhere", sampleFolder(scratch / "nowhere", {}));
        writeText(scratch / "a.png", "");
        VERGENCE_THROWS(ContractError, "stratified, uniform or manifest",
                        sampleFolder(scratch.path(), drawing("sorted", 1)));
    }

    // Lists

    void manifestsAreReadInTheirOrder()
    {
        const Scratch scratch;
        writeText(scratch / "m.json", R"({"paths": ["b/2.png", "/data/a/1.png"], "count": 2})");
        writeText(scratch / "m.txt", "b/2.png\r\n\n/data/a/1.png");
        writeText(scratch / "m.tsv", "b/2.png\tsecond\n/data/a/1.png\tfirst class\n");
        for (const char* name : {"m.json", "m.txt", "m.tsv"}) {
            const ImageSet set = readImageManifest(scratch / name, {}, drawing("manifest", 500));
            QVERIFY((pathsOf(set) == std::vector<std::string>{"b/2.png", "/data/a/1.png"}));
            QCOMPARE(set.folder, scratch.path());
            const bool isTable = std::string(name) == "m.tsv";
            QCOMPARE(set.images[0].label, std::string(isTable ? "second" : "b"));
            QCOMPARE(set.images[1].label, std::string(isTable ? "first class" : "a"));
        }
        QCOMPARE(readImageManifest(scratch / "m.txt", "/pictures", drawing("manifest", 1)).folder,
                 fs::path("/pictures"));
    }

    void aWrittenManifestReadsBack()
    {
        const Scratch scratch;
        writeClasses(scratch.path());
        ImageSet set = sampleFolder(scratch.path(), drawing("stratified", 5));
        set.images[2].label = "tench, Tinca tinca";
        writeImageManifest(scratch / "set.json", set);
        const ImageSet read =
            readImageManifest(scratch / "set.json", scratch.path(), drawing("manifest", 500));
        QVERIFY(pathsOf(read) == pathsOf(set));
        QCOMPARE(read.images[2].label, set.images[2].label);
        QCOMPARE(read.digest(), set.digest());
    }

    void brokenManifestsSayWhere_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("part");
        QTest::newRow("empty") << QByteArray("") << QByteArray("lists no images");
        QTest::newRow("no paths") << QByteArray("{}") << QByteArray("\"paths\"");
        QTest::newRow("no list") << QByteArray(R"({"paths": 3})") << QByteArray("\"paths\"");
        QTest::newRow("number") << QByteArray(R"({"paths": ["a", 3]})") << QByteArray("paths[1]");
        QTest::newRow("labels") << QByteArray(R"({"paths": ["a"], "labels": ["b", "c"]})")
                                << QByteArray("as long as");
        QTest::newRow("torn") << QByteArray(R"({"paths": ["a")") << QByteArray("m.json");
    }

    void brokenManifestsSayWhere()
    {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, part);
        const Scratch scratch;
        writeText(scratch / "m.json", text.toStdString());
        VERGENCE_THROWS(InputError, part.constData(),
                        readImageManifest(scratch / "m.json", {}, {}));
    }

    // Decoding

    void alphaIsDroppedWithoutCompositing()
    {
        const Scratch scratch;
        Image image = makeImage(2, 1, 4);
        image.pixels = {10, 20, 30, 0, 200, 100, 50, 255};
        writePng(scratch / "a.png", image);
        QVERIFY((decodeRgb(scratch / "a.png").pixels ==
                 std::vector<std::uint8_t>{10, 20, 30, 200, 100, 50}));
        image = makeImage(2, 1, 2);
        image.pixels = {10, 0, 200, 255};
        writePng(scratch / "b.png", image);
        QVERIFY((decodeRgb(scratch / "b.png").pixels ==
                 std::vector<std::uint8_t>{10, 10, 10, 200, 200, 200}));
    }

    void palettesAreExpanded()
    {
        const Image image = decodeRgb(fromBase64(kPalette), "palette.png", false);
        QVERIFY((image.pixels == std::vector<std::uint8_t>{255, 0,   0, 0,   255, 0,   0, 0,
                                                           255, 9,   8, 7,   9,   8,   7, 0,
                                                           0,   255, 0, 255, 0,   255, 0, 0}));
    }

    void sixteenBitsLoseTheirLowerHalf()
    {
        const Scratch scratch;
        writePng16(scratch / "a.png", Image16{3, 1, 1, {255, 256, 65535}});
        QVERIFY((decodeRgb(scratch / "a.png").pixels ==
                 std::vector<std::uint8_t>{0, 0, 0, 1, 1, 1, 255, 255, 255}));
    }

    void inksAreInvertedAndConvertedAsByPillow()
    {
        const Image image = decodeRgb(fromBase64(kInks), "inks.jpg", false);
        QCOMPARE(crcOf(image), QStringLiteral("c9f316c3"));
        // Without Adobe's marker the same numbers are inks.
        std::string plain = fromBase64(kInks);
        plain.erase(2, 16);
        const Image other = decodeRgb(plain, "inks.jpg", false);
        QVERIFY(image.pixels[0] == 255 && other.pixels[0] == 0);
    }

    void photographsDecodeAsInPillow()
    {
        VERGENCE_DATA_FOLDER(fox, "fox/images");
        QCOMPARE(crcOf(decodeRgb(fox / "0001.jpg")), QStringLiteral("ed9c8900"));
        QCOMPARE(crcOf(decodeRgb(fox / "0042.jpg")), QStringLiteral("9cc8b8ce"));
        QCOMPARE(crcOf(decodeRgb(fox / "0076.jpg")), QStringLiteral("82cebc6d"));
        const Image image = decodeRgb(fox / "0001.jpg");
        Preprocess how;
        QCOMPARE(crcOf(preprocessed(image, how)), QStringLiteral("bc8b0c64"));
        // Pillow 9 and 11 go along rows first, as here. Pillow 13 goes along columns first where
        // that is cheaper, and differs by one level in a seventh of these bytes.
        how.stretches = true;
        how.filter = Filter::Bilinear;
        QCOMPARE(crcOf(preprocessed(image, how)), QStringLiteral("d5967df9"));
    }

    void picturesAreTurnedOnlyWhereAsked()
    {
        const std::string file = fromBase64(kTurned);
        QCOMPARE(decodeRgb(file, "turned.png", false).width, 3);
        const Image turned = decodeRgb(file, "turned.png", true);
        QCOMPARE(turned.width, 2);
        std::vector<int> red;
        for (std::size_t i = 0; i < 6; ++i)
            red.push_back(turned.pixels[3 * i]);
        QVERIFY((red == std::vector<int>{90, 0, 120, 30, 150, 60}));
        QCOMPARE(exifOrientation(fromBase64(kTurnedJpeg)), 8);
        QCOMPARE(exifOrientation(fromBase64(kPalette)), 1);
    }

    void allOrientationsAreThoseOfPillow_data()
    {
        QTest::addColumn<QList<int>>("expected");
        const QList<QList<int>> all = {{0, 1, 2, 3, 4, 5}, {2, 1, 0, 5, 4, 3}, {5, 4, 3, 2, 1, 0},
                                       {3, 4, 5, 0, 1, 2}, {0, 3, 1, 4, 2, 5}, {3, 0, 4, 1, 5, 2},
                                       {5, 2, 4, 1, 3, 0}, {2, 5, 1, 4, 0, 3}};
        for (int i = 0; i < 8; ++i)
            QTest::addRow("%d", i + 1) << all[i];
    }

    void allOrientationsAreThoseOfPillow()
    {
        QFETCH(QList<int>, expected);
        Image image = makeImage(3, 2, 1);
        image.pixels = {0, 1, 2, 3, 4, 5};
        const Image got = upright(image, QString::fromLatin1(QTest::currentDataTag()).toInt());
        QVERIFY(std::equal(expected.begin(), expected.end(), got.pixels.begin(), got.pixels.end()));
    }

    void damagedExifIsNoExif()
    {
        const std::string file = fromBase64(kTurnedJpeg);
        for (std::size_t length = 0; length < file.size(); ++length)
            exifOrientation(file.substr(0, length)); // sanitizers see what is read
        for (std::size_t at = 20; at < 58; ++at) {
            std::string torn = file;
            torn[at] = '\xff';
            const int orientation = exifOrientation(torn);
            QVERIFY(orientation >= 1 && orientation <= 8);
        }
    }

    void unreadableFilesSayWhy_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QByteArray>("part");
        QTest::newRow("bmp") << QByteArray("BM\x36\x00", 4) << QByteArray("BMP");
        QTest::newRow("webp") << QByteArray("RIFF....WEBPVP8 ") << QByteArray("WebP");
        QTest::newRow("empty") << QByteArray() << QByteArray("empty");
        QTest::newRow("text") << QByteArray("hello") << QByteArray("neither a PNG nor a JPEG");
        QTest::newRow("torn png") << QByteArray::fromBase64(kTurned).left(60) << QByteArray("PNG");
        QTest::newRow("torn jpeg")
            << QByteArray::fromBase64(kTurnedJpeg).left(180) << QByteArray("Premature end");
    }

    void unreadableFilesSayWhy()
    {
        QFETCH(QByteArray, bytes);
        QFETCH(QByteArray, part);
        VERGENCE_THROWS(InputError, part.constData(),
                        decodeRgb(bytes.toStdString(), "picture", false));
        VERGENCE_THROWS(InputError, "picture", decodeRgb(bytes.toStdString(), "picture", false));
    }

    void modelsHaveTheirPreprocessing()
    {
        TowerShape tower;
        tower.imageSize = 384;
        tower.family = Family::Siglip;
        const Preprocess siglip = defaultPreprocess(tower);
        QVERIFY(siglip.size == 384 && siglip.stretches && siglip.filter == Filter::Bilinear &&
                siglip.mean[1] == 0.5f && siglip.deviation[2] == 0.5f);
        tower.family = Family::Clip;
        const Preprocess clip = defaultPreprocess(tower);
        QVERIFY(!clip.stretches && clip.filter == Filter::Bicubic && !clip.rotatesByExif &&
                clip.mean[0] == 0.48145466f && clip.deviation[2] == 0.27577711f);
    }

    // Degradations

    void degradationsOfAPhotographAreThoseOfPillow()
    {
        VERGENCE_DATA_FOLDER(fox, "fox/images");
        const Image image = decodeRgb(fox / "0001.jpg");
        const std::pair<const char*, const char*> known[] = {
            {"jpeg80", "6be1039c"}, {"jpeg60", "ddacc025"}, {"jpeg40", "3658b899"},
            {"jpeg20", "09691948"}, {"down4", "83ebe83b"},  {"down8", "58111911"},
            {"blur1", "a65a1191"},  {"blur2", "54d85b6b"},  {"blur4", "1730ddc4"},
            {"blur5", "cbccefb7"},  {"blur15", "7f8bc360"}};
        for (const auto& [name, crc] : known) {
            QVERIFY2(crcOf(degraded(image, name, 42, 0)) == QLatin1String(crc), name);
        }
        QVERIFY(degraded(image, "none", 42, 0).pixels == image.pixels);
    }

    void occlusionsHaveTheirShareAndPlace()
    {
        for (const QSize size : {QSize(100, 80), QSize(400, 20), QSize(9, 300)}) {
            const Image image = makeImage(size.width(), size.height(), 3, 7);
            std::set<QString> places;
            for (std::uint32_t id = 0; id < 8; ++id) {
                const Image covered = occluded(image, 0.25, 42, id);
                const auto grey =
                    std::count(covered.pixels.begin(), covered.pixels.end(), 128) / 3.0;
                const double wanted = 0.25 * size.width() * size.height();
                QVERIFY(std::abs(grey - wanted) <= 0.02 * wanted + size.width() + size.height());
                QVERIFY(covered.pixels == occluded(image, 0.25, 42, id).pixels);
                places.insert(crcOf(covered));
            }
            QVERIFY(places.size() > 4);
        }
        QVERIFY(occluded(makeImage(5, 4, 3), 1, 1, 1).pixels == makeImage(5, 4, 3, 128).pixels);
    }

    void namesOfDegradationsAreChecked()
    {
        for (const char* name : {"none", "blur5", "blur0.5", "down4", "jpeg40", "occlude0.1"})
            QVERIFY2(isDegradation(name), name);
        for (const char* name : {"", "blur", "blur-1", "blur5px", "down1", "down2.5", "jpeg0",
                                 "jpeg101", "occlude0", "occlude1.5", "blurnan", "fog3"})
            QVERIFY2(!isDegradation(name), name);
        VERGENCE_THROWS(ContractError, "fog3", degraded(makeImage(2, 2, 3), "fog3", 1, 1));
    }

    void tinyPicturesSurviveDegradation()
    {
        const Image dot = patternImage(1, 1);
        for (const char* name : {"blur15", "down8", "jpeg20", "occlude0.1"}) {
            const Image got = degraded(dot, name, 42, 0);
            QCOMPARE(QSize(got.width, got.height), QSize(1, 1));
        }
        QVERIFY(degraded(dot, "blur15", 42, 0).pixels == dot.pixels);
    }

    // Demo

    void demoImagesAreTwelveFamiliesOfEight()
    {
        const Scratch scratch;
        writeDemoImages(scratch.path(), 96, 42);
        ImageSet set = sampleFolder(scratch.path(), drawing("stratified", 500));
        QCOMPARE(set.images.size(), std::size_t{96});
        std::map<std::string, int> families;
        std::set<QString> contents;
        for (const StudyImage& image : set.images) {
            ++families[image.label];
            const Image read = decodeRgb(set.folder / image.path);
            QCOMPARE(QSize(read.width, read.height), QSize(32, 32));
            contents.insert(crcOf(read));
        }
        QCOMPARE(families.size(), std::size_t{12});
        for (const auto& [family, count] : families)
            QCOMPARE(count, 8);
        QCOMPARE(contents.size(), std::size_t{96});
    }

    void demoImagesAreAFunctionOfTheSeed()
    {
        const Scratch one, two, other;
        writeDemoImages(one.path(), 14, 42);
        writeDemoImages(two.path(), 96, 42);
        writeDemoImages(other.path(), 14, 43);
        const auto set = sampleFolder(one.path(), drawing("manifest", 500));
        QCOMPARE(set.images.size(), std::size_t{14});
        for (const StudyImage& image : set.images) {
            QCOMPARE(sha256OfFile(one / image.path), sha256OfFile(two / image.path));
            QVERIFY(sha256OfFile(one / image.path) != sha256OfFile(other / image.path));
        }
    }

    void demoImagesThatExistAreKept()
    {
        const Scratch scratch;
        writeDemoImages(scratch.path(), 1, 42);
        writeText(scratch / "solid/solid_000.png", "mine");
        writeDemoImages(scratch.path(), 2, 42);
        QCOMPARE(readFile(scratch / "solid/solid_000.png"), std::string("mine"));
        QVERIFY(fs::exists(scratch / "horizontal/horizontal_000.png"));
        writeText(scratch / "file", "");
        VERGENCE_THROWS(OutputError, "file", writeDemoImages(scratch / "file", 1, 42));
    }

    void syntheticImagesAreThreeGroups()
    {
        const Scratch scratch;
        writeSyntheticImages(scratch.path(), 10, 48, 42);
        const ImageSet set = sampleFolder(scratch.path(), drawing("manifest", 500));
        QCOMPARE(set.images.size(), std::size_t{30});
        std::map<std::string, std::set<QString>> groups;
        std::map<std::string, std::size_t> distinct; // values in the red of a row
        for (const StudyImage& image : set.images) {
            const Image read = decodeRgb(set.folder / image.path);
            QCOMPARE(QSize(read.width, read.height), QSize(48, 48));
            groups[image.label].insert(crcOf(read));
            std::set<std::uint8_t> red;
            for (std::size_t i = 0; i < read.pixels.size(); i += 3)
                red.insert(read.pixels[i]);
            distinct[image.label] = std::max(distinct[image.label], red.size());
        }
        QVERIFY(groups["solid"].size() == 10 && groups["gradient"].size() == 10 &&
                groups["noise"].size() == 10);
        QVERIFY(distinct["solid"] == 1 && distinct["gradient"] > 10);
        QVERIFY(distinct["noise"] > distinct["gradient"]);
    }

    // Memory

    void pixelsLiveWhereTheTableSays_data()
    {
        QTest::addColumn<qulonglong>("images");
        QTest::addColumn<int>("side");
        QTest::addColumn<int>("type");
        QTest::addColumn<double>("gigabytes");
        QTest::addColumn<int>("outcome");
        const int u8 = static_cast<int>(PixelType::U8), f16 = static_cast<int>(PixelType::F16),
                  f32 = static_cast<int>(PixelType::F32);
        const int resident = static_cast<int>(Residency::Resident),
                  pinned = static_cast<int>(Residency::Pinned);
        QTest::newRow("500 of 224, fp32") << 500ull << 224 << f32 << 0.301 << resident;
        QTest::newRow("500 of 224, fp16") << 500ull << 224 << f16 << 0.151 << resident;
        QTest::newRow("500 of 224, u8") << 500ull << 224 << u8 << 0.075 << resident;
        QTest::newRow("500 of 384, fp32") << 500ull << 384 << f32 << 0.885 << resident;
        QTest::newRow("500 of 384, u8") << 500ull << 384 << u8 << 0.221 << resident;
        QTest::newRow("5000 of 224, fp32") << 5000ull << 224 << f32 << 3.01 << resident;
        QTest::newRow("5000 of 384, fp16") << 5000ull << 384 << f16 << 4.42 << resident;
        QTest::newRow("5000 of 384, u8") << 5000ull << 384 << u8 << 2.21 << resident;
        QTest::newRow("10000 of 384, fp32") << 10000ull << 384 << f32 << 17.7 << pinned;
        QTest::newRow("10000 of 384, u8") << 10000ull << 384 << u8 << 4.42 << resident;
    }

    void pixelsLiveWhereTheTableSays()
    {
        QFETCH(qulonglong, images);
        QFETCH(int, side);
        QFETCH(int, type);
        QFETCH(double, gigabytes);
        QFETCH(int, outcome);
        MemoryNeed need;
        need.pixels = pixelBytes(images, side, static_cast<PixelType>(type));
        QVERIFY(std::abs(static_cast<double>(need.pixels) / 1e9 - gigabytes) <= 0.005 * gigabytes);
        need.weights = 856'000'000;     // so400m
        need.workspace = 1'600'000'000; // 96 sequences, section 10.4
        need.accumulators = 2 * 16 * 1152 * 8;
        // 16 GB of which a desktop holds some, and 64 GB of host memory.
        QCOMPARE(static_cast<int>(chooseResidency(need, 15'000'000'000, 50'000'000'000)), outcome);
    }

    void theBoundsOfResidencyBelongToTheNearerPlace()
    {
        QCOMPARE(chooseResidency({85, 0, 0, 0}, 100, 0), Residency::Resident);
        QCOMPARE(chooseResidency({80, 2, 2, 2}, 100, 1000), Residency::Pinned);
        QCOMPARE(chooseResidency({60, 90, 0, 0}, 100, 100), Residency::Pinned);
        QCOMPARE(chooseResidency({61, 90, 0, 0}, 100, 100), Residency::Mapped);
    }

    void outOfMemoryMakesLighterUntilNothingIsLeft()
    {
        std::optional<Occupation> now = Occupation{3, 4, Residency::Resident};
        std::vector<std::string> steps;
        while (now) {
            steps.push_back(std::to_string(now->images) + "x" + std::to_string(now->passes) + "@" +
                            std::to_string(static_cast<int>(now->residency)));
            now = lighter(*now);
        }
        QVERIFY((steps ==
                 std::vector<std::string>{"3x4@0", "3x2@0", "3x1@0", "1x1@0", "1x1@1", "1x1@2"}));
    }
};

VERGENCE_TEST(TestMcImages)
#include "tst_mc_images.moc"
