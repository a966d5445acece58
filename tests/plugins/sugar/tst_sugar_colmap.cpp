#include <algorithm>

#include <QTemporaryDir>
#include <QTest>

#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/sugar/io/colmap.h"
#include "plugins/sugar/io/scene.h"
#include "plugins/sugar/io/scene_math.h"
#include "tests/plugins/sugar/text_bytes.h"
#include "tests/support/golden.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::sugar;
using fixtures::asBytes;
namespace fs = std::filesystem;

namespace {

/// One camera of each model, images without keypoints and with odd names, tracks of length 0 to 2.
ColmapModel fullModel()
{
    ColmapModel model;
    for (int number = 0; number < 11; ++number) {
        SourceCamera camera{number + 1, *cameraModel(number), 640, 480, {}};
        camera.parameters = {512.5, 511.25, 320.125, 240.0625};
        if (hasOneFocal(camera.model))
            camera.parameters.erase(camera.parameters.begin());
        while (static_cast<int>(camera.parameters.size()) < parameterCount(camera.model))
            camera.parameters.push_back(0.1 /
                                        (3.0 + static_cast<double>(camera.parameters.size())));
        model.cameras.push_back(camera);
    }
    const std::array<double, 4> q{0.5, -0.5, 0.5, 0.5};
    model.images = {{7, q, {1.0 / 3, -2e-9, 3e8}, 3, "a b.c/d.e f.jpg", {{1.5, 2.25, -1}}},
                    {2, q, {0, 0, 0}, 11, "no keypoints.png", {}},
                    {4294967295u, q, {1, 2, 3}, 1, "z.jpg", {{0.1, 0.2, 5}, {3, 4, 9000000000}}}};
    model.points = {{5, {0.1, 0.2, 0.3}, {0, 128, 255}, 0.7, {{7, 0}, {2, 1}}},
                    {9000000000u, {-1e-20, 1, 2}, {1, 2, 3}, 0, {}}};
    return model;
}

std::string bytesOf(const fs::path& file)
{
    return readFile(file);
}

void compareKeypoints(const ColmapImage& a, const ColmapImage& b)
{
    QCOMPARE(a.keypoints.size(), b.keypoints.size());
    for (std::size_t i = 0; i < a.keypoints.size(); ++i) {
        QCOMPARE(a.keypoints[i].x, b.keypoints[i].x);
        QCOMPARE(a.keypoints[i].y, b.keypoints[i].y);
        QCOMPARE(a.keypoints[i].point, b.keypoints[i].point);
    }
}

/// Doubles to the last bit: both forms hold them exactly.
void compareModels(const ColmapModel& a, const ColmapModel& b)
{
    QCOMPARE(a.cameras.size(), b.cameras.size());
    for (std::size_t i = 0; i < a.cameras.size(); ++i) {
        QCOMPARE(a.cameras[i].id, b.cameras[i].id);
        QCOMPARE(a.cameras[i].model, b.cameras[i].model);
        QCOMPARE(a.cameras[i].width, b.cameras[i].width);
        QCOMPARE(a.cameras[i].height, b.cameras[i].height);
        QVERIFY(a.cameras[i].parameters == b.cameras[i].parameters);
    }
    QCOMPARE(a.images.size(), b.images.size());
    for (std::size_t i = 0; i < a.images.size(); ++i) {
        QCOMPARE(a.images[i].id, b.images[i].id);
        QVERIFY(a.images[i].quaternion == b.images[i].quaternion);
        QVERIFY(a.images[i].translation == b.images[i].translation);
        QCOMPARE(a.images[i].camera, b.images[i].camera);
        QCOMPARE(a.images[i].name, b.images[i].name);
        compareKeypoints(a.images[i], b.images[i]);
    }
    QCOMPARE(a.points.size(), b.points.size());
    for (std::size_t i = 0; i < a.points.size(); ++i) {
        QCOMPARE(a.points[i].id, b.points[i].id);
        QVERIFY(a.points[i].position == b.points[i].position);
        QVERIFY(a.points[i].colour == b.points[i].colour);
        QCOMPARE(a.points[i].error, b.points[i].error);
        QCOMPARE(a.points[i].track.size(), b.points[i].track.size());
    }
}

ColmapModel sortedById(ColmapModel model)
{
    const auto byId = [](const auto& a, const auto& b) { return a.id < b.id; };
    std::sort(model.cameras.begin(), model.cameras.end(), byId);
    std::sort(model.images.begin(), model.images.end(), byId);
    std::sort(model.points.begin(), model.points.end(), byId);
    return model;
}

template <class Work>
QString complaintOf(Work work)
{
    try {
        work();
    } catch (const InputError& error) {
        return QString::fromStdString(error.what());
    }
    return {};
}

/// Mean distance in pixels between keypoints and the projections of their points.
double meanReprojection(const ColmapModel& model)
{
    std::map<std::uint64_t, const ColmapPoint*> points;
    for (const ColmapPoint& point : model.points)
        points[point.id] = &point;
    double sum = 0;
    int count = 0;
    for (const ColmapImage& image : model.images) {
        const SourceCamera& camera = model.cameras.at(image.camera - 1);
        for (const ColmapKeypoint& keypoint : image.keypoints) {
            if (keypoint.point < 0)
                continue;
            const auto& p = points.at(static_cast<std::uint64_t>(keypoint.point))->position;
            const Vector3 t = plus(times(rotationOf(image.quaternion), p), image.translation);
            const auto [u, v] = camera.distort(t[0] / t[2], t[1] / t[2]);
            sum += std::hypot(camera.fx() * u + camera.cx() - keypoint.x,
                              camera.fy() * v + camera.cy() - keypoint.y);
            ++count;
        }
    }
    return sum / count;
}

} // namespace

class SugarColmapTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void writingReadModelGivesSameBytes_data();
    void writingReadModelGivesSameBytes();
    void everyTruncationIsCleanError();
    void everyTruncatedTextIsReadOrRefused();
    void hugeCountsAreRefusedBeforeAllocation();
    void unknownModelIsNamed();
    void brokenNumbersAreNamed_data();
    void brokenNumbersAreNamed();
    void keypointLinesMayBeEmptyButNotMissing();
    void damagedLinesAreLeftOutOnRequest();
    void binaryEqualsTextOfColmap_data();
    void binaryEqualsTextOfColmap();
    void foxIsRead();
    void modelIsSearchedInOrder();
    void posesAreCheckedAndNormalised();
    void unknownCameraAndRepeatedNamesAreRefused();
    void emptyFoldersSayWhatIsMissing();
};

void SugarColmapTest::writingReadModelGivesSameBytes_data()
{
    QTest::addColumn<ColmapForm>("form");
    QTest::newRow("binary") << ColmapForm::Binary;
    QTest::newRow("text") << ColmapForm::Text;
}

void SugarColmapTest::writingReadModelGivesSameBytes()
{
    QFETCH(ColmapForm, form);
    const QTemporaryDir folder;
    const fs::path first = folder.filePath("first").toStdString(),
                   second = folder.filePath("second").toStdString();
    const ColmapModel model = fullModel();
    writeColmap(first, model, form);
    const ColmapModel read = readColmap(first, form);
    compareModels(read, model);
    writeColmap(second, read, form);
    for (const char* name : {"cameras", "images", "points3D"}) {
        const std::string file = std::string(name) + (form == ColmapForm::Binary ? ".bin" : ".txt");
        QVERIFY(bytesOf(first / file) == bytesOf(second / file));
    }
}

void SugarColmapTest::everyTruncationIsCleanError()
{
    const QTemporaryDir folder;
    const fs::path path = folder.path().toStdString();
    writeColmap(path, fullModel(), ColmapForm::Binary);
    for (const std::string name : {"cameras.bin", "images.bin", "points3D.bin"}) {
        const std::string whole = bytesOf(path / name);
        for (std::size_t size = 0; size < whole.size(); ++size) {
            const std::string part = whole.substr(0, size);
            const QString complaint = complaintOf([&] {
                if (name == "cameras.bin")
                    parseColmapCameras(asBytes(part), name);
                else if (name == "images.bin")
                    parseColmapImages(asBytes(part), name);
                else
                    parseColmapPoints(asBytes(part), name);
            });
            QVERIFY2(complaint.startsWith(QString::fromStdString(name + ", offset ")),
                     qPrintable(QString::number(size) + complaint));
            QVERIFY(complaint.endsWith("Export the model from COLMAP again or copy it anew."));
        }
        QVERIFY(complaintOf([&] {
                    parseColmapPoints(asBytes(std::string(8, '\0') + "x"), "points3D.bin");
                }).contains("1 bytes follow the last record"));
    }
}

void SugarColmapTest::everyTruncatedTextIsReadOrRefused()
{
    const QTemporaryDir folder;
    const fs::path path = folder.path().toStdString();
    writeColmap(path, fullModel(), ColmapForm::Text);
    int refused = 0;
    for (const std::string name : {"cameras.txt", "images.txt", "points3D.txt"}) {
        const std::string whole = bytesOf(path / name);
        for (std::size_t size = 0; size < whole.size(); ++size) {
            const std::string part = whole.substr(0, size);
            const QString complaint = complaintOf([&] {
                if (name == "cameras.txt")
                    parseColmapCameras(part, name);
                else if (name == "images.txt")
                    parseColmapImages(part, name);
                else
                    parseColmapPoints(part, name);
            });
            refused += complaint.isEmpty() ? 0 : 1;
            QVERIFY(complaint.isEmpty() ||
                    complaint.startsWith(QString::fromStdString(name + ":")));
        }
    }
    QVERIFY(refused > 100);
}

void SugarColmapTest::hugeCountsAreRefusedBeforeAllocation()
{
    std::string bytes(200, '\0');
    for (int i = 0; i < 8; ++i)
        bytes[static_cast<std::size_t>(i)] = '\x7f';
    const QString complaint = complaintOf([&] { parseColmapPoints(asBytes(bytes), "p.bin"); });
    QCOMPARE(complaint, "p.bin, offset 0: the number of points is 9187201950435737471, but the 192 "
                        "bytes that follow hold at most 3. Export the model from COLMAP again or "
                        "copy it anew.");
}

void SugarColmapTest::unknownModelIsNamed()
{
    std::string bytes(8 + 24 + 32, '\0');
    bytes[0] = 1;
    bytes[8] = 42;
    bytes[12] = 77;
    QVERIFY(complaintOf([&] {
                parseColmapCameras(asBytes(bytes), "cameras.bin");
            }).contains("camera 42 has the unknown camera model 77"));
    QVERIFY(complaintOf([&] {
                parseColmapCameras("1 PANORAMA 3 4 5\n", "cameras.txt");
            }).startsWith("cameras.txt:1: camera 1 has the unknown camera model PANORAMA."));
}

void SugarColmapTest::brokenNumbersAreNamed_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("complaint");
    QTest::newRow("size") << "# c\n1 PINHOLE 0 4 5 5 1 1"
                          << "cameras.txt:2: camera 1 has an "
                             "impossible picture size";
    QTest::newRow("nan") << "1 PINHOLE 3 4 5 nan 1 1"
                         << "parameter that is not finite";
    QTest::newRow("focal") << "1 PINHOLE 3 4 5 -5 1 1"
                           << "focal length that is not above 0";
    QTest::newRow("word") << "1 PINHOLE 3 4 5 five 1 1"
                          << "\"five\" is no number for the parameters";
    QTest::newRow("few") << "1 PINHOLE 3 4 5 5 1"
                         << "the line ends before the parameters";
    QTest::newRow("many") << "1 PINHOLE 3 4 5 5 1 1 1"
                          << "more than the 4 parameters of PINHOLE";
    QTest::newRow("tail") << "1 PINHOLE 3x 4 5 5 1 1"
                          << "\"3x\" is no number for a width";
}

void SugarColmapTest::brokenNumbersAreNamed()
{
    QFETCH(QString, text);
    QFETCH(QString, complaint);
    const QString found =
        complaintOf([&] { parseColmapCameras(text.toStdString(), "cameras.txt"); });
    QVERIFY2(found.contains(complaint), qPrintable(found));
}

void SugarColmapTest::keypointLinesMayBeEmptyButNotMissing()
{
    const auto images = parseColmapImages(std::string_view("# header\r\n"
                                                           "1 1 0 0 0 0 0 0 1 first picture.jpg\r\n"
                                                           "\r\n"
                                                           "2 1 0 0 0 0 0 0 1 b.c.jpg\r\n"
                                                           "1 2 -1 3 4 5\r\n"
                                                           "\r\n"
                                                           "3 1 0 0 0 0 0 0 1 last"),
                                          "images.txt");
    QCOMPARE(images.size(), 3u);
    QCOMPARE(images[0].name, "first picture.jpg");
    QVERIFY(images[0].keypoints.empty());
    QCOMPARE(images[1].keypoints.size(), 2u);
    QCOMPARE(images[1].keypoints[1].point, 5);
    QCOMPARE(images[2].name, "last");
    const QString complaint = complaintOf([&] {
        parseColmapImages(std::string_view("1 1 0 0 0 0 0 0 1 a.jpg\n2 1 0 0 0 0 0 0 1 b.jpg\n"),
                          "images.txt");
    });
    QVERIFY2(complaint.startsWith("images.txt:2: "), qPrintable(complaint));
    QVERIFY(complaint.contains("two lines"));
}

void SugarColmapTest::damagedLinesAreLeftOutOnRequest()
{
    std::vector<DamagedLine> damaged;
    const auto images = parseColmapImages(std::string_view("# header\n"
                                                           "1 1 0 0 0 0 0 0 1 a.jpg\n"
                                                           "1 oops -1\n"
                                                           "2 1 0 0 zero 0 0 0 1 b.jpg\n"
                                                           "1 2 -1\n"
                                                           "3 1 0 0 0 0 0 0 1 c.jpg\n"
                                                           "1 2 -1\n"),
                                          "images.txt", &damaged);
    QCOMPARE(images.size(), 2u);
    QCOMPARE(images[0].name, "a.jpg");
    QVERIFY(images[0].keypoints.empty());
    QCOMPARE(images[1].name, "c.jpg");
    QCOMPARE(images[1].keypoints.size(), 1u);
    QCOMPARE(damaged.size(), 2u);
    QCOMPARE(damaged[0].number, 3);
    QVERIFY(!damaged[0].isPhotograph);
    QCOMPARE(damaged[1].file, "images.txt");
    QCOMPARE(damaged[1].number, 4);
    QVERIFY(damaged[1].isPhotograph);
    QVERIFY(damaged[1].fault.find("\"zero\" is no number") != std::string::npos);

    const auto points = parseColmapPoints(
        std::string_view("1 0 0 0 1 2 3 0.5\n2 0 0 0 1 2\n3 0 0 0 1 2 3 0.5 1 0\n"), "points3D.txt",
        &damaged);
    QCOMPARE(points.size(), 2u);
    QCOMPARE(points[1].track.size(), 1u);
    QCOMPARE(damaged.size(), 3u);
    QCOMPARE(damaged[2].number, 2);
}

void SugarColmapTest::binaryEqualsTextOfColmap_data()
{
    QTest::addColumn<QString>("model");
    QTest::addColumn<int>("parameters");
    QTest::newRow("SIMPLE_PINHOLE") << "SIMPLE_PINHOLE" << 3;
    QTest::newRow("PINHOLE") << "PINHOLE" << 4;
    QTest::newRow("SIMPLE_RADIAL") << "SIMPLE_RADIAL" << 4;
    QTest::newRow("RADIAL") << "RADIAL" << 5;
    QTest::newRow("OPENCV") << "OPENCV" << 8;
    QTest::newRow("SIMPLE_RADIAL_FISHEYE") << "SIMPLE_RADIAL_FISHEYE" << 4;
}

void SugarColmapTest::binaryEqualsTextOfColmap()
{
    QFETCH(QString, model);
    QFETCH(int, parameters);
    VERGENCE_GOLDEN_FOLDER(golden, "colmap_models");
    const fs::path folder = golden / model.toStdString();
    const ColmapModel binary = readColmap(folder / "bin", ColmapForm::Binary);
    const ColmapModel text = readColmap(folder / "txt", ColmapForm::Text);
    compareModels(sortedById(binary), sortedById(text));
    QCOMPARE(nameOf(binary.cameras.at(0).model), model.toStdString());
    QCOMPARE(static_cast<int>(binary.cameras.at(0).parameters.size()), parameters);
    QCOMPARE(binary.images.size(), 6u);

    // COLMAP's own bytes come back.
    const QTemporaryDir written;
    writeColmap(written.path().toStdString(), binary, ColmapForm::Binary);
    for (const char* name : {"cameras.bin", "images.bin", "points3D.bin"})
        QVERIFY(bytesOf(fs::path(written.path().toStdString()) / name) ==
                bytesOf(folder / "bin" / name));

    // Every lens of COLMAP is the lens here: the errors are those that bundle adjustment left.
    double expected = 0;
    for (const ColmapPoint& point : binary.points)
        expected += point.error * static_cast<double>(point.track.size());
    std::size_t observations = 0;
    for (const ColmapPoint& point : binary.points)
        observations += point.track.size();
    expected /= static_cast<double>(observations);
    QVERIFY(std::abs(meanReprojection(binary) - expected) < 1e-4);
}

void SugarColmapTest::foxIsRead()
{
    VERGENCE_DATA_FOLDER(fox, "fox");
    const Scene scene = readScene(fox);
    QCOMPARE(scene.kind, "COLMAP binary");
    QCOMPARE(scene.views.size(), 50u);
    QCOMPARE(scene.points.size(), 11'969u);
    QCOMPARE(scene.cameras.size(), 1u);
    QCOMPARE(scene.cameras[0].width, 533);
    QVERIFY(scene.cameras[0].isPinhole());
    QCOMPARE(scene.views.front().name, "0001.jpg");
    QVERIFY(fs::exists(scene.views.front().image));
    QVERIFY(std::is_sorted(scene.views.begin(), scene.views.end(),
                           [](const auto& a, const auto& b) { return a.name < b.name; }));
    double track = 0, error = 0;
    for (const ScenePoint& point : scene.points) {
        track += point.trackLength;
        error += point.error;
    }
    QVERIFY(std::abs(track / 11'969 - 6.7) < 0.05);
    QVERIFY(std::abs(error / 11'969 - 0.59) < 0.01);
    QVERIFY(scene.findings.empty());
}

void SugarColmapTest::modelIsSearchedInOrder()
{
    const QTemporaryDir folder;
    const fs::path root = folder.path().toStdString();
    const auto withName = [](const std::string& name) {
        ColmapModel model = fullModel();
        model.images = {{1, {1, 0, 0, 0}, {}, 2, name, {}}};
        return model;
    };
    const auto found = [&] { return readScene(root).views.at(0).name; };
    writeColmap(root / "colmap/sparse/0", withName("fourth"), ColmapForm::Text);
    QCOMPARE(found(), "fourth");
    writeColmap(root, withName("third"), ColmapForm::Text);
    QCOMPARE(found(), "third");
    writeColmap(root / "sparse", withName("second"), ColmapForm::Text);
    QCOMPARE(found(), "second");
    writeColmap(root / "sparse/0", withName("text"), ColmapForm::Text);
    QCOMPARE(found(), "text");
    writeColmap(root / "sparse/0", withName("binary"), ColmapForm::Binary);
    QCOMPARE(found(), "binary");
    QCOMPARE(readScene(root).views.at(0).image, root / "binary");
    fs::create_directory(root / "images");
    QCOMPARE(readScene(root).views.at(0).image, root / "images/binary");
    QCOMPARE(readScene(root, root / "other").views.at(0).image, root / "other/binary");
    writeFileAtomic(root / "sparse/0/rigs.bin", std::string_view("x"));
    const Scene scene = readScene(root);
    QVERIFY(std::any_of(scene.findings.begin(), scene.findings.end(), [](const SceneFinding& f) {
        return f.sentence.find("rigs.bin is not used") != std::string::npos;
    }));
}

void SugarColmapTest::posesAreCheckedAndNormalised()
{
    const QTemporaryDir folder;
    const fs::path root = folder.path().toStdString();
    ColmapModel model = fullModel();
    model.cameras[1].parameters = {30, 30, 320, 240}; // 30 px for 640: below a tenth
    model.images = {{1, {0, 1.0005, 0, 0}, {1, 2, 3}, 2, "a.jpg", {}}};
    model.points.push_back({11, {std::nan(""), 0, 0}, {}, 0, {}});
    writeColmap(root, model, ColmapForm::Binary);
    const Scene scene = readScene(root);
    const Matrix3 half{1, 0, 0, 0, -1, 0, 0, 0, -1};
    QVERIFY(scene.views[0].rotation == half);
    QCOMPARE(scene.points.size(), 2u);
    std::string sentences;
    for (const SceneFinding& finding : scene.findings)
        sentences += finding.sentence;
    QVERIFY(sentences.find("1 points of") != std::string::npos);
    QVERIFY(sentences.find("Camera 2 has a focal length of 30 pixels") != std::string::npos);

    model.images[0].quaternion = {0, 1.002, 0, 0};
    writeColmap(root, model, ColmapForm::Binary);
    const QString complaint = complaintOf([&] { readScene(root); });
    QVERIFY2(complaint.contains("image 1 (a.jpg)") && complaint.contains("1.002"),
             qPrintable(complaint));
}

void SugarColmapTest::unknownCameraAndRepeatedNamesAreRefused()
{
    const QTemporaryDir folder;
    const fs::path root = folder.path().toStdString();
    ColmapModel model = fullModel();
    model.images[1].camera = 99;
    writeColmap(root, model, ColmapForm::Binary);
    QVERIFY(complaintOf([&] { readScene(root); }).contains("refers to camera 99"));
    model.images[1].camera = 1;
    model.images[1].name = model.images[0].name;
    writeColmap(root, model, ColmapForm::Binary);
    QVERIFY(complaintOf([&] { readScene(root); }).contains("a b.c/d.e f.jpg twice"));
    model.images.clear();
    writeColmap(root, model, ColmapForm::Binary);
    QVERIFY(complaintOf([&] { readScene(root); }).contains("no registered image"));
}

void SugarColmapTest::emptyFoldersSayWhatIsMissing()
{
    const QTemporaryDir folder;
    const fs::path root = folder.path().toStdString();
    QVERIFY(complaintOf([&] { readScene(root); }).contains("holds no scene"));
    QVERIFY(complaintOf([&] { readScene(root / "nowhere"); }).contains("There is no folder"));
}

VERGENCE_TEST(SugarColmapTest)
#include "tst_sugar_colmap.moc"
