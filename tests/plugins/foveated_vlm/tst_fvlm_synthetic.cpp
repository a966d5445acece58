#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <QtTest>

#include "core/base/error.h"
#include "plugins/foveated_vlm/clips/synthetic_clips.h"
#include "plugins/foveated_vlm/clips/synthetic_scene.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::fvlm;
using test::isClose;

namespace {

constexpr double kStillness = 1e-9;

/// What a viewer measures of the pixels of one colour in a frame.
struct Seen {
    double pixels = 0, x = 0, y = 0; ///< number and centroid, px
};

Seen measure(const std::vector<std::uint8_t>& frames, int size, int frame,
             std::array<std::uint8_t, 3> colour)
{
    Seen seen;
    const std::size_t area = std::size_t(size) * size;
    for (std::size_t i = 0; i < area; ++i) {
        bool isColour = true;
        for (std::size_t c = 0; c < 3; ++c)
            isColour &= std::abs(frames[(std::size_t(frame) * 3 + c) * area + i] - colour[c]) <= 2;
        if (isColour) {
            seen.pixels += 1;
            seen.x += double(i % std::size_t(size)) + 0.5;
            seen.y += double(i / std::size_t(size)) + 0.5;
        }
    }
    seen.x /= seen.pixels;
    seen.y /= seen.pixels;
    return seen;
}

SyntheticSettings withOneObject(SyntheticTask task)
{
    SyntheticSettings settings;
    settings.task = task;
    settings.size = 120;
    settings.frames = 5;
    settings.fewestObjects = settings.mostObjects = 1;
    settings.count = 300;
    return settings;
}

} // namespace

/// Clips of moving shapes: what is drawn is what the texts say.
class TestFvlmSynthetic : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void pixelsShowTheAnswer()
    {
        const SyntheticClips clips(withOneObject(SyntheticTask::Ask));
        std::set<std::string> answers;
        for (Index clip = 0; clip < clips.count(); clip += 3) {
            const SyntheticObject object = clips.scene(clip).objects.front();
            const std::vector<std::uint8_t> frames = framesOf(clips, clip);
            const auto colour = syntheticColour(object.colour);
            const Seen first = measure(frames, 120, 0, colour),
                       last = measure(frames, 120, 4, colour);
            QVERIFY2(first.pixels > 60 && last.pixels > 60, "the object is in sight");
            const double dx = last.x - first.x, dy = last.y - first.y, way = std::hypot(dx, dy);
            if (object.motion == kSyntheticMotions - 1) {
                QVERIFY(way < kStillness);
            } else {
                QVERIFY2(way > 4 * 120 / 24.0 - 1 && way < 4 * 120 / 12.0 + 1,
                         qPrintable(QString::number(way)));
                const double angle = std::atan2(-dy, dx) / (M_PI / 4); // rows grow downwards
                const double off = std::remainder(angle - object.motion, 8);
                QVERIFY2(isClose(off, 0, 0.15), qPrintable(QString::number(off)));
            }
            const ClipInfo info = clips.info(clip);
            QCOMPARE(info.text.answer, syntheticAnswer(object));
            const std::string& shape = syntheticShapeNames()[std::size_t(object.shape)];
            QCOMPARE(info.text.prompt, "What does the " + shape + " do?");
            answers.insert(info.text.answer);
        }
        QVERIFY(answers.size() > 60);
    }

    void motionsAreNamedAsSeen_data()
    {
        QTest::addColumn<int>("motion");
        QTest::addColumn<double>("dx");
        QTest::addColumn<double>("dy"); // upwards
        const double s = std::sqrt(0.5);
        QTest::newRow("right") << 0 << 1.0 << 0.0;
        QTest::newRow("up right") << 1 << s << s;
        QTest::newRow("up") << 2 << 0.0 << 1.0;
        QTest::newRow("up left") << 3 << -s << s;
        QTest::newRow("left") << 4 << -1.0 << 0.0;
        QTest::newRow("down left") << 5 << -s << -s;
        QTest::newRow("down") << 6 << 0.0 << -1.0;
        QTest::newRow("down right") << 7 << s << -s;
        QTest::newRow("still") << 8 << 0.0 << 0.0;
    }
    void motionsAreNamedAsSeen()
    {
        QFETCH(int, motion);
        QFETCH(double, dx);
        QFETCH(double, dy);
        QCOMPARE(syntheticMotionNames()[std::size_t(motion)], std::string(QTest::currentDataTag()));
        const SyntheticClips clips(withOneObject(SyntheticTask::Next));
        int found = 0;
        for (Index clip = 0; clip < clips.count(); ++clip) {
            const SyntheticObject object = clips.scene(clip).objects.front();
            if (object.motion != motion)
                continue;
            ++found;
            const double speed = std::hypot(object.stepX, object.stepY);
            QVERIFY(isClose(object.stepX, speed * dx, 1e-4));
            QVERIFY(isClose(object.stepY, -speed * dy, 1e-4));
        }
        QVERIFY(found > 10);
    }

    void shapesHaveTheirAreas_data()
    {
        QTest::addColumn<int>("shape");
        QTest::addColumn<double>("area"); // in squared radii
        QTest::newRow("disc") << int(SyntheticShape::Disc) << M_PI;
        QTest::newRow("square") << int(SyntheticShape::Square) << 1.7 * 1.7;
        QTest::newRow("triangle") << int(SyntheticShape::Triangle) << 0.56 * 1.75 * 1.75;
        QTest::newRow("cross") << int(SyntheticShape::Cross) << 2 * 2 * 0.68 - 0.68 * 0.68;
    }
    void shapesHaveTheirAreas()
    {
        QFETCH(int, shape);
        QFETCH(double, area);
        SyntheticObject object;
        object.shape = static_cast<SyntheticShape>(shape);
        object.radius = 40.3F;
        object.x = 60.4F, object.y = 59.7F;
        const int size = 120;
        std::vector<float> picture(std::size_t(3) * size * size, 0.0F);
        object.colour = 5;
        paintObject(object, 0, size, picture);
        double covered = 0;
        for (int i = 0; i < size * size; ++i)
            covered += picture[std::size_t(i)] / syntheticColour(5)[0];
        QVERIFY2(isClose(covered / (40.3 * 40.3), area, 0.01 * area),
                 qPrintable(QString::number(covered / (40.3 * 40.3))));
    }

    void onlyTheTriangleIsWiderBelow()
    {
        for (int shape = 0; shape < kSyntheticShapes; ++shape) {
            SyntheticObject object;
            object.shape = static_cast<SyntheticShape>(shape);
            object.radius = 20;
            object.x = object.y = 32;
            std::vector<float> picture(std::size_t(3) * 64 * 64, 0.0F);
            paintObject(object, 0, 64, picture);
            double above = 0, below = 0;
            for (std::size_t y = 0; y < 64; ++y)
                for (std::size_t x = 0; x < 64; ++x)
                    (y < 32 ? above : below) += picture[y * 64 + x];
            if (object.shape == SyntheticShape::Triangle)
                QVERIFY(below > 1.5 * above);
            else
                QVERIFY(isClose(above, below, 0.001 * above));
        }
    }

    void laterObjectsAreInFront()
    {
        SyntheticObject behind, front;
        behind.shape = front.shape = SyntheticShape::Disc;
        behind.radius = front.radius = 10;
        behind.x = behind.y = front.x = front.y = 32;
        front.colour = 2;
        std::vector<float> picture(std::size_t(3) * 64 * 64, 0.0F);
        paintObject(behind, 0, 64, picture);
        paintObject(front, 0, 64, picture);
        QCOMPARE(picture[std::size_t(2) * 64 * 64 + 32 * 64 + 32], float(syntheticColour(2)[2]));
    }

    void clipsAreFunctionsOfSeedAndId()
    {
        SyntheticSettings settings;
        settings.count = 20;
        SyntheticSettings shifted = settings;
        shifted.firstId = 7;
        const SyntheticClips clips(settings), moved(shifted);
        QCOMPARE(framesOf(clips, 9), framesOf(moved, 2));
        QCOMPARE(clips.info(9).id, std::uint64_t(9));
        QCOMPARE(clips.info(9).text.answer, moved.info(2).text.answer);
        QVERIFY(framesOf(clips, 9) != framesOf(clips, 10));
        SyntheticSettings other = settings;
        other.seed = 43;
        QVERIFY(framesOf(SyntheticClips(other), 9) != framesOf(clips, 9));
        QVERIFY(SyntheticClips(other).digest() != clips.digest());
        QVERIFY(moved.digest() != clips.digest());
        QCOMPARE(SyntheticClips(settings).digest(), clips.digest());
    }

    void heldOutClipsAreOthers()
    {
        SyntheticSettings settings;
        settings.firstId = SyntheticClips::kValidationIds;
        settings.count = 4;
        const SyntheticClips held(settings);
        settings.firstId = 0;
        const SyntheticClips train(settings);
        QCOMPARE(held.info(3).id, (std::uint64_t(1) << 32) + 3);
        for (Index i = 0; i < 4; ++i)
            QVERIFY(framesOf(held, i) != framesOf(train, i));
    }

    void drawsAreUniform()
    {
        SyntheticSettings settings;
        settings.count = 6000;
        const SyntheticClips clips(settings);
        std::map<int, int> counts, colours, motions, shapes;
        for (Index clip = 0; clip < clips.count(); ++clip) {
            const SyntheticScene scene = clips.scene(clip);
            const SyntheticObject& subject = scene.objects[std::size_t(scene.subject)];
            ++counts[int(scene.objects.size())];
            ++colours[subject.colour];
            ++motions[subject.motion];
            ++shapes[int(subject.shape)];
            const auto named =
                std::ranges::count(scene.objects, subject.shape, &SyntheticObject::shape);
            QVERIFY2(named == 1, "the prompt names one object");
        }
        const auto isUniform = [&](const std::map<int, int>& seen, std::size_t kinds) {
            double chi = 0; // squared deviations in units of their variance
            const double expected = 6000.0 / double(kinds);
            for (const auto& [kind, n] : seen)
                chi += (n - expected) * (n - expected) / expected;
            return seen.size() == kinds && chi < double(kinds - 1) + 4 * std::sqrt(2.0 * kinds);
        };
        QVERIFY(isUniform(counts, 4));
        QVERIFY(isUniform(colours, kSyntheticColours));
        QVERIFY(isUniform(motions, kSyntheticMotions));
        QVERIFY(isUniform(shapes, kSyntheticShapes));
    }

    void onlyTheSubjectMovesInTell()
    {
        SyntheticSettings settings;
        settings.task = SyntheticTask::Tell;
        settings.count = 2000;
        const SyntheticClips clips(settings);
        std::map<std::string, int> answers;
        for (Index clip = 0; clip < clips.count(); ++clip) {
            const SyntheticScene scene = clips.scene(clip);
            for (std::size_t i = 0; i < scene.objects.size(); ++i)
                QCOMPARE(std::hypot(scene.objects[i].stepX, scene.objects[i].stepY) > 0,
                         int(i) == scene.subject);
            ++answers[clips.info(clip).text.answer];
        }
        QCOMPARE(answers.size(), std::size_t(4 * 6 * 8));
        QCOMPARE(clips.info(0).text.prompt, std::string("What moves?"));
    }

    void objectsStayInSight()
    {
        SyntheticSettings settings;
        settings.count = 500;
        const SyntheticClips clips(settings);
        int hidden = 0, subjects = 0;
        for (Index clip = 0; clip < clips.count(); ++clip) {
            const SyntheticScene scene = clips.scene(clip);
            for (const SyntheticObject& object : scene.objects) {
                QVERIFY(object.radius >= 6.4F && object.radius <= 10.7F);
                for (const int t : {0, settings.frames - 1}) {
                    const float x = object.x + float(t) * object.stepX;
                    const float y = object.y + float(t) * object.stepY;
                    QVERIFY(x >= object.radius - 0.01F && x <= 64.01F - object.radius);
                    QVERIFY(y >= object.radius - 0.01F && y <= 64.01F - object.radius);
                }
            }
            const SyntheticObject& subject = scene.objects[std::size_t(scene.subject)];
            for (std::size_t i = std::size_t(scene.subject) + 1; i < scene.objects.size(); ++i)
                hidden += std::hypot(scene.objects[i].x - subject.x,
                                     scene.objects[i].y - subject.y) < 0.5F * subject.radius;
            ++subjects;
        }
        QVERIFY2(hidden < subjects / 100, qPrintable(QString::number(hidden)));
    }

    void longPathsStayInside()
    {
        SyntheticSettings settings = withOneObject(SyntheticTask::Tell);
        settings.frames = 40;
        const SyntheticClips clips(settings);
        for (Index clip = 0; clip < 50; ++clip) {
            const SyntheticObject object = clips.scene(clip).objects.front();
            QVERIFY(std::hypot(object.stepX, object.stepY) > 1.5F);
            for (const float t : {0.0F, 39.0F})
                for (const float at : {object.x + t * object.stepX, object.y + t * object.stepY})
                    QVERIFY(at > object.radius - 0.01F && at < 120.01F - object.radius);
        }
        QVERIFY(framesOf(clips, 0).size() == std::size_t(40) * 3 * 120 * 120);
    }

    void wrongAnswersDifferInColourAlone()
    {
        SyntheticSettings settings;
        settings.count = 200;
        const SyntheticClips clips(settings);
        for (Index clip = 0; clip < clips.count(); ++clip) {
            const ClipText text = clips.info(clip).text;
            QCOMPARE(text.chosen, text.answer);
            QVERIFY(text.rejected != text.answer);
            QCOMPARE(text.rejected.substr(text.rejected.find(' ')),
                     text.answer.substr(text.answer.find(' ')));
        }
    }

    void nextHasNoText()
    {
        SyntheticSettings settings;
        settings.task = SyntheticTask::Next;
        const ClipText text = SyntheticClips(settings).info(3).text;
        QVERIFY(text.prompt.empty() && text.answer.empty() && text.chosen.empty());
    }

    void floorsAreClosedForms()
    {
        QVERIFY(isClose(blindNats(SyntheticTask::Ask), 3.988984, 1e-6));
        QVERIFY(isClose(blindNats(SyntheticTask::Tell), 5.257495, 1e-6));
        QCOMPARE(blindNats(SyntheticTask::Next), 0.0);
    }

    void timesFollowTheRate()
    {
        const ClipInfo info = SyntheticClips(SyntheticSettings{}).info(0);
        QCOMPARE(info.timestamps.size(), std::size_t(6));
        QVERIFY(isClose(info.timestamps[3], 3 / info.fps, 1e-6));
        QVERIFY(!info.isImage && !info.isShort);
    }

    void badSettingsAreRefused()
    {
        const auto refuses = [](auto change) {
            SyntheticSettings settings;
            change(settings);
            try {
                SyntheticClips clips(settings);
            } catch (const ContractError&) {
                return true;
            }
            return false;
        };
        QVERIFY(refuses([](auto& s) { s.size = 8; }));
        QVERIFY(refuses([](auto& s) { s.frames = 0; }));
        QVERIFY(refuses([](auto& s) { s.mostObjects = 6; }));
        QVERIFY(refuses([](auto& s) { s.fewestObjects = 6; }));
        QVERIFY(refuses([](auto& s) { s.count = -1; }));
        QVERIFY(!refuses([](auto&) {}));
        const SyntheticClips clips{SyntheticSettings{}};
        std::vector<std::uint8_t> small(10);
        QVERIFY_EXCEPTION_THROWN(clips.read(0, small), ContractError);
        QVERIFY_EXCEPTION_THROWN(clips.info(clips.count()), ContractError);
        QVERIFY_EXCEPTION_THROWN(clips.info(-1), ContractError);
        QVERIFY_EXCEPTION_THROWN(syntheticTaskFromName("look"), ContractError);
        QVERIFY(syntheticTaskFromName("tell") == SyntheticTask::Tell);
    }
};

VERGENCE_TEST(TestFvlmSynthetic)
#include "tst_fvlm_synthetic.moc"
