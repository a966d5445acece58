#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <cstring>
#include <numeric>

#include <zlib.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/compute/rng.h"
#include "plugins/sugar/io/gaussian_parse.h"
#include "tests/plugins/sugar/text_bytes.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::sugar;
using fixtures::asBytes;
namespace fs = std::filesystem;

namespace {

GaussianCloud randomGaussians(std::size_t count, int degree, bool hasFilter)
{
    const Rng random(11);
    std::uint64_t next = 0;
    const auto fill = [&](std::vector<float>& values, std::size_t size, float low, float high) {
        for (std::size_t i = 0; i < size; ++i)
            values.push_back(low + (high - low) * random.uniform(next++));
    };
    GaussianCloud cloud;
    cloud.degree = degree;
    fill(cloud.position, 3 * count, -30, 30);
    fill(cloud.logScale, 3 * count, -8, 1);
    fill(cloud.rotation, 4 * count, -1, 1);
    fill(cloud.opacity, count, -5, 5);
    fill(cloud.shDc, 3 * count, -1.5, 1.5);
    fill(cloud.shRest, count * static_cast<std::size_t>(3 * restCoefficients(degree)), -.9F, .9F);
    if (hasFilter)
        fill(cloud.filter, count, 0, .1F);
    return cloud;
}

void compareBits(const GaussianCloud& a, const GaussianCloud& b)
{
    QCOMPARE(a.degree, b.degree);
    QVERIFY(a.position == b.position);
    QVERIFY(a.logScale == b.logScale);
    QVERIFY(a.rotation == b.rotation);
    QVERIFY(a.opacity == b.opacity);
    QVERIFY(a.shDc == b.shDc);
    QVERIFY(a.shRest == b.shRest);
    QVERIFY(a.filter == b.filter);
}

double worst(const std::vector<float>& a, const std::vector<float>& b)
{
    double result = a.size() == b.size() ? 0 : 1e300;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        result = std::max(result, std::abs(static_cast<double>(a[i]) - b[i]));
    return result;
}

/// 1 − |cos| between rotations.
double worstTurn(const std::vector<float>& a, const std::vector<float>& b)
{
    double result = 0;
    for (std::size_t i = 0; i + 3 < a.size(); i += 4) {
        double dot = 0, aa = 0, bb = 0;
        for (std::size_t k = i; k < i + 4; ++k) {
            dot += static_cast<double>(a[k]) * b[k];
            aa += static_cast<double>(a[k]) * a[k];
            bb += static_cast<double>(b[k]) * b[k];
        }
        result = std::max(result, 1 - std::abs(dot) / std::sqrt(aa * bb));
    }
    return result;
}

std::string gunzipped(const fs::path& path)
{
    std::string bytes(1 << 16, '\0');
    const gzFile file = gzopen(path.c_str(), "rb");
    const int size = gzread(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    bytes.resize(static_cast<std::size_t>(std::max(size, 0)));
    return bytes;
}

std::vector<float> probabilities(const std::vector<float>& logits)
{
    std::vector<float> result;
    for (const float value : logits)
        result.push_back(static_cast<float>(logistic(value)));
    return result;
}

} // namespace

class SugarGaussianFilesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void plyGivesSameBitsBack_data();
    void plyGivesSameBitsBack();
    void layoutIsThatOfTheInterchange();
    void permutedDoublesAreFoundByName();
    void bigEndianAndOtherElementsAreRead();
    void lowerDegreeKeepsTheFirstHarmonics();
    void bakedFilterKeepsTheIntegral();
    void rowsThatAreNotFiniteAreCounted();
    void brokenPlyIsRefused_data();
    void brokenPlyIsRefused();
    void everyTruncatedPlyIsRefused();
    void splatKeepsWhatItCan();
    void splatIsSortedByImportance();
    void spzKeepsWhatItCan_data();
    void spzKeepsWhatItCan();
    void spzBytesAreThoseOfTheFormat();
    void spzTurnsHarmonicsWithTheAxes();
    void farPositionsUseFewerFractionalBits();
    void brokenSpzIsRefused();
    void kindIsFoundByContent();
};

void SugarGaussianFilesTest::plyGivesSameBitsBack_data()
{
    QTest::addColumn<int>("degree");
    QTest::addColumn<bool>("hasFilter");
    QTest::addColumn<bool>("ascii");
    for (int degree = 0; degree <= 3; ++degree) {
        for (const bool hasFilter : {false, true}) {
            for (const bool ascii : {false, true})
                QTest::addRow("degree %d%s%s", degree, hasFilter ? " filter" : "",
                              ascii ? " ascii" : "")
                    << degree << hasFilter << ascii;
        }
    }
}

void SugarGaussianFilesTest::plyGivesSameBitsBack()
{
    QFETCH(int, degree);
    QFETCH(bool, hasFilter);
    QFETCH(bool, ascii);
    const QTemporaryDir folder;
    const fs::path file = folder.filePath("a.ply").toStdString();
    for (const std::size_t count : {0u, 1u, 257u}) {
        const GaussianCloud cloud = randomGaussians(count, degree, hasFilter);
        writeGaussianPly(file, cloud, {.degree = 3, .ascii = ascii});
        Index dropped = -1;
        compareBits(readGaussianPly(file, &dropped), cloud);
        QCOMPARE(dropped, 0);
    }
}

void SugarGaussianFilesTest::layoutIsThatOfTheInterchange()
{
    const QTemporaryDir folder;
    const fs::path file = folder.filePath("a.ply").toStdString();
    const GaussianCloud cloud = randomGaussians(2, 3, false);
    writeGaussianPly(file, cloud);
    const std::string bytes = readFile(file);
    const std::size_t data = bytes.find("end_header\n") + 11;
    QCOMPARE(bytes.size() - data, 2u * 248);
    QVERIFY(bytes.starts_with("ply\nformat binary_little_endian 1.0\nelement vertex 2\n"
                              "property float x\nproperty float y\nproperty float z\n"
                              "property float nx\n"));
    QVERIFY(bytes.find("property float f_rest_44\nproperty float opacity\n"
                       "property float scale_0\n") != std::string::npos);
    std::array<float, 62> row;
    std::memcpy(row.data(), bytes.data() + data + 248, 248);
    QCOMPARE(row[0], cloud.position[3]);
    QCOMPARE(row[3], 0.0F);
    QCOMPARE(row[6], cloud.shDc[3]);
    QCOMPARE(row[9], cloud.shRest[45]);              // red, first coefficient
    QCOMPARE(row[9 + 15 + 2], cloud.shRest[45 + 7]); // green, third coefficient
    QCOMPARE(row[54], cloud.opacity[1]);
    QCOMPARE(row[58], cloud.rotation[4]); // w first
}

void SugarGaussianFilesTest::permutedDoublesAreFoundByName()
{
    const std::string file = "ply\r\nformat ascii 1.0\r\ncomment any order\r\nelement vertex 2\r\n"
                             "property uchar label\r\nproperty double rot_3\r\n"
                             "property double rot_1\r\nproperty double rot_2\r\n"
                             "property double rot_0\r\nproperty float opacity\r\n"
                             "property double z\r\nproperty double x\r\nproperty double y\r\n"
                             "property float f_dc_2\r\nproperty float f_dc_0\r\n"
                             "property float f_dc_1\r\nproperty float scale_2\r\n"
                             "property float scale_1\r\nproperty int scale_0\r\nend_header\r\n"
                             "7 3 1 2 0 .5 30 10 20 .2 .1 .15 -3 -2 -1\r\n"
                             "7 0 0 0 1 -.5 1e-3 -1 +2 0 0 0 0 0 0";
    const GaussianCloud cloud = parseGaussianPly(asBytes(file), "a.ply");
    QCOMPARE(cloud.count(), 2);
    QVERIFY(cloud.position == std::vector<float>({10, 20, 30, -1, 2, 1e-3F}));
    QVERIFY(cloud.rotation == std::vector<float>({0, 1, 2, 3, 1, 0, 0, 0}));
    QVERIFY(cloud.logScale == std::vector<float>({-1, -2, -3, 0, 0, 0}));
    QVERIFY(cloud.shDc == std::vector<float>({.1F, .15F, .2F, 0, 0, 0}));
    QVERIFY(cloud.opacity == std::vector<float>({.5F, -.5F}));
    QCOMPARE(cloud.degree, 0);
}

void SugarGaussianFilesTest::bigEndianAndOtherElementsAreRead()
{
    std::string file = "ply\nformat binary_big_endian 1.0\nelement camera 2\nproperty short id\n"
                       "element vertex 1\n";
    for (const char* name : {"x", "y", "z", "f_dc_0", "f_dc_1", "f_dc_2", "opacity", "scale_0",
                             "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3"})
        file += std::string("property float ") + name + "\n";
    file += "element face 1\nproperty list uchar int vertex_indices\nend_header\n";
    file += std::string("\0\1\0\2", 4);
    for (int i = 1; i <= 14; ++i) {
        const auto value = static_cast<float>(i);
        std::array<char, 4> raw;
        std::memcpy(raw.data(), &value, 4);
        file.append(raw.rbegin(), raw.rend());
    }
    const GaussianCloud cloud = parseGaussianPly(asBytes(file), "a.ply");
    QVERIFY(cloud.position == std::vector<float>({1, 2, 3}));
    QVERIFY(cloud.rotation == std::vector<float>({11, 12, 13, 14}));
}

void SugarGaussianFilesTest::lowerDegreeKeepsTheFirstHarmonics()
{
    const QTemporaryDir folder;
    const fs::path file = folder.filePath("a.ply").toStdString();
    const GaussianCloud cloud = randomGaussians(5, 3, false);
    writeGaussianPly(file, cloud, {.degree = 1});
    const GaussianCloud read = readGaussianPly(file);
    QCOMPARE(read.degree, 1);
    for (std::size_t i = 0; i < 5; ++i) {
        for (std::size_t k = 0; k < 9; ++k)
            QCOMPARE(read.shRest[9 * i + k], cloud.shRest[45 * i + k]);
    }
}

void SugarGaussianFilesTest::bakedFilterKeepsTheIntegral()
{
    const QTemporaryDir folder;
    const fs::path file = folder.filePath("a.ply").toStdString();
    GaussianCloud cloud = randomGaussians(50, 0, true);
    for (float& scale : cloud.logScale)
        scale = scale / 4 - 2; // about the filter's size
    writeGaussianPly(file, cloud, {.bakeFilter = true});
    const GaussianCloud read = readGaussianPly(file);
    QVERIFY(read.filter.empty());
    for (std::size_t i = 0; i < 50; ++i) {
        double before = logistic(cloud.opacity[i]), after = logistic(read.opacity[i]);
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const double s = std::exp(cloud.logScale[3 * i + axis]);
            const double wide = std::exp(read.logScale[3 * i + axis]);
            QVERIFY(std::abs(wide / std::hypot(s, cloud.filter[i]) - 1) < 1e-5);
            before *= s;
            after *= wide;
        }
        QVERIFY(std::abs(after / before - 1) < 1e-5);
    }
}

void SugarGaussianFilesTest::rowsThatAreNotFiniteAreCounted()
{
    const QTemporaryDir folder;
    const fs::path file = folder.filePath("a.ply").toStdString();
    for (const bool ascii : {false, true}) {
        GaussianCloud cloud = randomGaussians(7, 1, true);
        cloud.position[4] = std::nanf("");
        cloud.shRest[9 * 3 + 2] = INFINITY;
        for (std::size_t k = 16; k < 20; ++k)
            cloud.rotation[k] = 0;
        writeGaussianPly(file, cloud, {.ascii = ascii});
        Index dropped = 0;
        const GaussianCloud read = readGaussianPly(file, &dropped);
        QCOMPARE(dropped, 3);
        readGaussians(file, &(dropped = 0));
        QCOMPARE(dropped, 3);
        QCOMPARE(read.count(), 4);
        QCOMPARE(read.opacity[1], cloud.opacity[2]);
        QCOMPARE(read.shRest.size(), 4u * 9);
    }
}

void SugarGaussianFilesTest::brokenPlyIsRefused_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("complaint");
    const QString start = "ply\nformat ascii 1.0\n";
    QTest::newRow("other") << "OFF\n"
                           << "no PLY file";
    QTest::newRow("empty") << ""
                           << "no PLY file";
    QTest::newRow("end") << start + "element vertex 1\n"
                         << "header has no end";
    QTest::newRow("format")
        << "ply\nformat utf8 1.0\nelement vertex 0\nproperty float x\nend_header\n"
        << "format \"utf8\" is unknown";
    QTest::newRow("none") << start + "end_header\n"
                          << "no element \"vertex\"";
    QTest::newRow("type") << start + "element vertex 1\nproperty half x\nend_header\n"
                          << "a.ply:4: \"half\" is no type";
    QTest::newRow("list") << start +
                                 "element vertex 1\nproperty list uchar int x\nproperty float y\n"
                                 "end_header\n"
                          << "a list stands in";
    QTest::newRow("count") << start + "element vertex 18446744073709551615\nproperty float x\n"
                                      "end_header\n1\n"
                           << "promises 18446744073709551615 rows of \"vertex\"";
    QTest::newRow("missing") << start + "element vertex 1\nproperty float x\nend_header\n1\n"
                             << "no property \"y\"";
    QTest::newRow("word") << start + "elephant\nend_header\n"
                          << "a.ply:3: \"elephant\" is unknown";
}

void SugarGaussianFilesTest::brokenPlyIsRefused()
{
    QFETCH(QString, text);
    QFETCH(QString, complaint);
    const std::string bytes = text.toStdString();
    const QString found =
        test::thrown<InputError>([&] { parseGaussianPly(asBytes(bytes), "a.ply"); });
    QVERIFY2(found.contains(complaint), qPrintable(found));
}

void SugarGaussianFilesTest::everyTruncatedPlyIsRefused()
{
    const QTemporaryDir folder;
    const fs::path file = folder.filePath("a.ply").toStdString();
    writeGaussianPly(file, randomGaussians(3, 1, true));
    const std::string whole = readFile(file);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const std::string part = whole.substr(0, size);
        QVERIFY_THROWS_EXCEPTION(InputError, parseGaussianPly(asBytes(part), "a.ply"));
    }
}

void SugarGaussianFilesTest::splatKeepsWhatItCan()
{
    const QTemporaryDir folder;
    const fs::path file = folder.filePath("a.splat").toStdString();
    GaussianCloud cloud = randomGaussians(1, 2, false);
    cloud.shDc = {-.5F, 0, .7F};
    writeSplat(file, cloud);
    QCOMPARE(fs::file_size(file), 32u);
    const GaussianCloud read = readSplat(file);
    QCOMPARE(read.degree, 0);
    QVERIFY(read.position == cloud.position);
    QVERIFY(worst(read.logScale, cloud.logScale) < 1e-5);
    QVERIFY(worst(read.shDc, cloud.shDc) <= 0.5 / 255 / 0.28209 + 1e-6);
    QVERIFY(worst(probabilities(read.opacity), probabilities(cloud.opacity)) <= 0.5 / 255 + 1e-6);
    // Components to 1/256 of a unit quaternion: at most twice that as an angle's half.
    QVERIFY(worstTurn(read.rotation, cloud.rotation) < 2 * std::pow(1.0 / 128, 2));
    writeFileAtomic(file, std::string_view("short"));
    VERGENCE_THROWS(InputError, "no multiple of 32", readSplat(file));
    const std::string raw(32, '\xff');
    VERGENCE_THROWS(InputError, "offset 0", parseSplat(asBytes(raw), "a.splat"));
}

void SugarGaussianFilesTest::splatIsSortedByImportance()
{
    const QTemporaryDir folder;
    const fs::path file = folder.filePath("a.splat").toStdString();
    GaussianCloud cloud = randomGaussians(300, 0, false);
    for (float& opacity : cloud.opacity)
        opacity = opacity / 2; // above 1/14, which 8 bits hold to 3 %
    writeSplat(file, cloud);
    const GaussianCloud read = readSplat(file);
    QCOMPARE(read.count(), 300);
    double last = 1e300;
    for (std::size_t i = 0; i < 300; ++i) {
        const double importance = std::exp(static_cast<double>(read.logScale[3 * i]) +
                                           read.logScale[3 * i + 1] + read.logScale[3 * i + 2]) *
                                  logistic(read.opacity[i]);
        QVERIFY(importance <= last * 1.06);
        last = importance;
    }
}

void SugarGaussianFilesTest::spzKeepsWhatItCan_data()
{
    QTest::addColumn<int>("degree");
    for (int degree = 0; degree <= 3; ++degree)
        QTest::addRow("degree %d", degree) << degree;
}

void SugarGaussianFilesTest::spzKeepsWhatItCan()
{
    QFETCH(int, degree);
    const QTemporaryDir folder;
    const fs::path file = folder.filePath("a.spz").toStdString();
    for (const std::size_t count : {0u, 1u, 500u}) {
        const GaussianCloud cloud = randomGaussians(count, degree, false);
        writeSpz(file, cloud);
        const GaussianCloud read = readSpz(file);
        QCOMPARE(read.degree, degree);
        QCOMPARE(read.count(), static_cast<Index>(count));
        QVERIFY(worst(read.position, cloud.position) <= 0.5 / 4096 + 2e-6);
        QVERIFY(worst(read.logScale, cloud.logScale) <= 1.0 / 32 + 1e-6);
        QVERIFY(worst(read.shDc, cloud.shDc) <= 0.5 / 255 / 0.15 + 1e-6);
        QVERIFY(worst(read.shRest, cloud.shRest) <= 0.5 / 128 + 1e-6);
        QVERIFY(worst(probabilities(read.opacity), probabilities(cloud.opacity)) <=
                0.5 / 255 + 1e-6);
        // x y z to 1/255, w from them: where w is near 0 its error is the root of theirs.
        QVERIFY(worstTurn(read.rotation, cloud.rotation) < 0.02);
    }
}

void SugarGaussianFilesTest::spzBytesAreThoseOfTheFormat()
{
    // One Gaussian by hand: x = 1, y up = 2, z backward = −0.5 in 1/4096; half a turn about x.
    const QTemporaryDir folder;
    const fs::path file = folder.filePath("a.spz").toStdString();
    GaussianCloud cloud;
    cloud.degree = 1;
    cloud.position = {1, -2, 0.5F};
    cloud.logScale = {-10, -9.9375F, 0};
    cloud.rotation = {0, 2, 0, 0};
    cloud.opacity = {0};
    cloud.shDc = {0, 1, -1};
    cloud.shRest = {.5F, .25F, 0, 0, 0, .5F, .125F, 0, 0};
    writeSpz(file, cloud);
    const std::vector<int> expected{
        0x4e, 0x47, 0x53, 0x50, 2,    0,  0,   0,    1,    0,   0, 0, 1, 12, 0, 0, // header
        0,    0x10, 0,    0,    0x20, 0,  0,   0xf8, 0xff,                         // position
        128,  128,  166,  89,   0,    1,  160, 255,  128,  128, // opacity … rotation
        64,   96,   128,  128,  128,  64, 144, 128,  128};      // harmonics
    const std::string found = gunzipped(file);
    QCOMPARE(found.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
        QCOMPARE(static_cast<int>(static_cast<std::uint8_t>(found[i])), expected[i]);
    const GaussianCloud read = readSpz(file);
    QVERIFY(read.position == cloud.position);
    QVERIFY(read.logScale == cloud.logScale);
    QVERIFY(read.shRest == cloud.shRest);
}

void SugarGaussianFilesTest::spzTurnsHarmonicsWithTheAxes()
{
    // A function of the direction keeps its values: h Y(x, y, z) = h' Y(x, −y, −z).
    const auto harmonics = [](double x, double y, double z) {
        return std::array<double, 15>{y,
                                      z,
                                      x,
                                      x * y,
                                      y * z,
                                      2 * z * z - x * x - y * y,
                                      x * z,
                                      x * x - y * y,
                                      y * (3 * x * x - y * y),
                                      x * y * z,
                                      y * (4 * z * z - x * x - y * y),
                                      z * (2 * z * z - 3 * x * x - 3 * y * y),
                                      x * (4 * z * z - x * x - y * y),
                                      z * (x * x - y * y),
                                      x * (x * x - 3 * y * y)};
    };
    const auto here = harmonics(.3, .5, .8), there = harmonics(.3, -.5, -.8);
    const QTemporaryDir folder;
    const fs::path file = folder.filePath("a.spz").toStdString();
    GaussianCloud cloud = randomGaussians(1, 3, false);
    std::fill(cloud.shRest.begin(), cloud.shRest.end(), 0.5F);
    writeSpz(file, cloud);
    const std::string bytes = gunzipped(file);
    for (std::size_t k = 0; k < 15; ++k) {
        const int value = static_cast<std::uint8_t>(bytes[bytes.size() - 45 + 3 * k]);
        QCOMPARE(value, here[k] * there[k] > 0 ? 192 : 64);
    }
}

void SugarGaussianFilesTest::farPositionsUseFewerFractionalBits()
{
    const QTemporaryDir folder;
    const fs::path file = folder.filePath("a.spz").toStdString();
    GaussianCloud cloud = randomGaussians(3, 0, false);
    cloud.position = {100'000, 0, -99'999, 1, 2, 3, 4, 5, 6};
    writeSpz(file, cloud);
    QVERIFY(worst(readSpz(file).position, cloud.position) <= 1.0 / 128 + 1e-3); // 6 bits
}

void SugarGaussianFilesTest::brokenSpzIsRefused()
{
    const QTemporaryDir folder;
    const fs::path file = folder.filePath("a.spz").toStdString();
    writeSpz(file, randomGaussians(20, 1, false));
    const std::string whole = readFile(file);
    for (std::size_t size = 0; size + 16 < whole.size(); ++size) { // the end is a check sum
        const std::string part = whole.substr(0, size);
        QVERIFY_THROWS_EXCEPTION(InputError, parseSpz(asBytes(part), "a.spz"));
    }
    std::string damaged = whole;
    damaged[40] = static_cast<char>(damaged[40] ^ 0x55);
    try {
        parseSpz(asBytes(damaged), "a.spz"); // other numbers may still be numbers
    } catch (const InputError&) {
    }
    const std::string other = "\x1f\x8bjust text";
    VERGENCE_THROWS(InputError, "no whole SPZ file", parseSpz(asBytes(other), "a.spz"));
}

void SugarGaussianFilesTest::kindIsFoundByContent()
{
    const QTemporaryDir folder;
    const fs::path base = folder.path().toStdString();
    const GaussianCloud cloud = randomGaussians(4, 0, false);
    writeGaussianPly(base / "a", cloud);
    writeSpz(base / "b", cloud);
    writeSplat(base / "c.splat", cloud);
    writeFileAtomic(base / "d", std::string_view("something else"));
    QCOMPARE(readGaussians(base / "a").count(), 4);
    QCOMPARE(readGaussians(base / "b").count(), 4);
    QCOMPARE(readGaussians(base / "c.splat").count(), 4);
    VERGENCE_THROWS(InputError, "holds no Gaussians", readGaussians(base / "d"));
    VERGENCE_THROWS(InputError, "Cannot read", readGaussians(base / "e"));
}

VERGENCE_TEST(SugarGaussianFilesTest)
#include "tst_sugar_gaussian_files.moc"
