#include <cmath>
#include <map>
#include <optional>
#include <set>

#include <QtTest>

#include <nlohmann/json.hpp>

#include "core/view/diagram.h"
#include "plugins/mc_embedding/report/study_views.h"
#include "tests/plugins/mc_embedding/lent_context.h"
#include "tests/plugins/mc_embedding/synthetic_study.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::mc_embedding;

namespace {

/// Streams that were published since the last call.
class Published {
public:
    explicit Published(test::LentContext& context) : m_context(context) {}
    std::set<std::string> streams()
    {
        std::set<std::string> news;
        for (const StreamDecl& stream : StudyViews::streams()) {
            const std::uint64_t sequence = m_context.frames().newest(stream.id).info.sequence;
            if (sequence != m_seen[stream.id])
                news.insert(stream.id);
            m_seen[stream.id] = sequence;
        }
        return news;
    }

private:
    test::LentContext& m_context;
    std::map<std::string, std::uint64_t> m_seen;
};

std::string textsOf(const Frame& frame)
{
    std::string all;
    for (const Diagram::Text& text : Diagram::fromJson(frame.info.meta).texts)
        all += text.text + "\n";
    return all;
}

ViewInput inputOf(const std::string& id, std::vector<double> value)
{
    ViewInput input;
    input.values[id] = std::move(value);
    return input;
}

} // namespace

class StudyViewsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init()
    {
        m_asked = 0;
        m_context.emplace();
        m_views.emplace([this](std::size_t) {
            ++m_asked;
            return makeImage(40, 30, 3, 90);
        });
        m_published.emplace(*m_context);
    }

    void aFinishedStudyFillsEveryStream()
    {
        const StudyState state = test::makeStudy();
        m_views->publish(*m_context, state);
        QCOMPARE(m_published->streams().size(), StudyViews::streams().size());
        QCOMPARE(m_context->declarations, 1);
        m_views->publish(*m_context, state);
        QVERIFY(m_published->streams().empty());
        QCOMPARE(m_context->declarations, 1);
    }

    void aRunningStudyIsDrawnByAndBy()
    {
        test::SyntheticStudy wanted;
        wanted.done = 50;
        const StudyState state = test::makeStudy(wanted);
        std::set<std::string> all;
        int calls = 0;
        for (; all.size() < StudyViews::streams().size() && calls < 20; ++calls) {
            m_views->publish(*m_context, state);
            const auto news = m_published->streams();
            QVERIFY2(news.size() <= 4, qPrintable(QString::number(news.size())));
            all.insert(news.begin(), news.end());
        }
        QVERIFY(calls < 10);
    }

    void whatIsMissingIsSaid()
    {
        StudyState state = test::makeStudy();
        state.models.resize(1);
        state.models.front().ambiguity.reset();
        m_views->publish(*m_context, state);
        QVERIFY(textsOf(m_context->frames().newest("cross_model")).find("two models") !=
                std::string::npos);
        QVERIFY(textsOf(m_context->frames().newest("roc")).find("exp5") != std::string::npos);
        m_views->publish(*m_context, StudyState());
        QVERIFY(textsOf(m_context->frames().newest("gates")).find("two trials") !=
                std::string::npos);
    }

    void waysOfOneModelHaveNamesOfTheirOwn()
    {
        StudyState state = test::makeStudy();
        state.models.resize(1, state.models.front());
        QCOMPARE(modelName(state, 0), state.models[0].tower.key);
        for (const char* ending : {"-p0.1", "-exp5"}) { // of one placement
            state.models.push_back(state.models.front());
            state.models.back().label += ending;
        }
        std::set<std::string> names;
        for (std::size_t m = 0; m < 3; ++m)
            names.insert(modelName(state, m));
        QCOMPARE(names.size(), std::size_t(3));
        QVERIFY(names.contains(state.models.front().tower.key + "-exp5"));
    }

    void withoutPassesViewsSayWhy_data()
    {
        QTest::addColumn<QString>("stream");
        for (const char* stream : {"spectrum", "offdiag", "cloud", "cloud_3d"})
            QTest::newRow(stream) << QString(stream);
    }
    void withoutPassesViewsSayWhy()
    {
        QFETCH(QString, stream);
        const auto text = [&](const StudyState& state) {
            m_views->publish(*m_context, state);
            return textsOf(m_context->frames().newest(stream.toStdString()));
        };
        StudyState state = test::makeStudy();
        state.models.resize(1);
        state.models.front().clouds.clear();
        state.models.front().scores.erase("offdiag_l1_ratio");
        state.models.front().scores.erase("offdiag_fro_ratio");
        const std::string taken = text(state);
        QVERIFY2(taken.find("took over") != std::string::npos, taken.c_str());
        QVERIFY2(taken.find("exp0b") == std::string::npos, taken.c_str());
        const std::string early = text(StudyState());
        QVERIFY2(early.find("No image of this model") != std::string::npos, early.c_str());
    }

    void aControlRedrawsOnlyWhatItChanges()
    {
        const StudyState state = test::makeStudy();
        m_views->publish(*m_context, state);
        m_published->streams();
        const auto changedBy = [&](const std::string& id, double value) {
            m_views->apply(inputOf(id, {value}), state);
            m_views->publish(*m_context, state);
            return m_published->streams();
        };
        QCOMPARE(changedBy("cloud/azimuth", 77), (std::set<std::string>{"cloud_3d"}));
        QCOMPARE(changedBy("cloud/elevation", 5), (std::set<std::string>{"cloud_3d"}));
        QCOMPARE(changedBy("cloud/passes", 5), (std::set<std::string>{"cloud", "cloud_3d"}));
        QCOMPARE(changedBy("gallery/order", 1), (std::set<std::string>{"gallery"}));
        const auto byModel = changedBy("model", 1);
        QVERIFY(byModel.contains("scaling") && byModel.contains("cloud"));
        QVERIFY(!byModel.contains("comparison") && !byModel.contains("gates"));
        QVERIFY(textsOf(m_context->frames().newest("scaling")).find("siglip2_b16") !=
                std::string::npos);
    }

    void theGalleryFallsByScore()
    {
        const StudyState state = test::makeStudy();
        m_views->publish(*m_context, state);
        const Frame frame = m_context->frames().newest("gallery");
        QCOMPARE(frame.info.layers, 24u);
        QCOMPARE(m_asked, 24);
        const auto labels = nlohmann::json::parse(frame.info.meta).at("labels");
        double last = INFINITY;
        for (const auto& label : labels) {
            const auto text = QString::fromStdString(label.get<std::string>());
            QVERIFY2(text.contains(" ± "), qPrintable(text));
            const double score = text.split(' ').front().toDouble();
            QVERIFY(score > 0 && score <= last);
            last = score;
        }
        m_views->apply(inputOf("gallery/page", {4}), state);
        m_views->publish(*m_context, state);
        QVERIFY(m_context->frames().newest("gallery").info.sequence > frame.info.sequence);
    }

    void theGalleryKeepsAClassAndAQuarter()
    {
        const StudyState state = test::makeStudy();
        const auto labelsAfter = [&](const std::string& id, double value) {
            m_views->apply(inputOf(id, {value}), state);
            m_views->publish(*m_context, state);
            const Frame frame = m_context->frames().newest("gallery");
            const auto meta = nlohmann::json::parse(frame.info.meta);
            return meta.at("labels").get<std::vector<std::string>>();
        };
        labelsAfter("model", 1); // whose labels are those of the images
        QCOMPARE(labelsAfter("gallery/quartile", 4).size(), std::size_t{24});
        QCOMPARE(labelsAfter("gallery/page", 1).size(), std::size_t{30 - 24});
        const double least = std::stod(labelsAfter("gallery/page", 1).back());
        QVERIFY(std::stod(labelsAfter("gallery/quartile", 3).front()) <= least);
        labelsAfter("gallery/quartile", 0);
        const auto ofClass = labelsAfter("gallery/class", 3);
        QCOMPARE(ofClass.size(), std::size_t{10}); // from the first page again
        for (const std::string& label : ofClass)
            QVERIFY2(label.ends_with(" · class 3"), label.c_str());
        labelsAfter("gallery/order", 3); // uncertain but right: this model judged nothing
        QCOMPARE(labelsAfter("gallery/order", 3),
                 std::vector<std::string>{"no picture is of this kind"});
    }

    void aClickOnAPictureShowsItsCloud()
    {
        StudyState state = test::makeStudy();
        // The picture with the highest score is the one whose passes were kept second.
        for (Matrix& scores : state.models[0].scores["trace_pre"])
            for (std::size_t k = 0; k < scores.rows; ++k)
                scores(k, state.models[0].clouds[1].image) = 1;
        m_views->publish(*m_context, state);
        m_published->streams();
        ViewInput input = inputOf("pick", {10, 10, 0, 1});
        input.texts["pick_stream"] = "gallery";
        m_views->apply(input, state);
        m_views->publish(*m_context, state);
        QCOMPARE(m_published->streams(), (std::set<std::string>{"cloud", "cloud_3d"}));
        input.values["cloud/image"] = {0};
        m_views->apply(input, state);
        m_views->publish(*m_context, state);
        QVERIFY(m_published->streams().contains("cloud")); // the selector was moved later
        m_views->apply(input, state);
        m_views->publish(*m_context, state);
        QVERIFY(m_published->streams().empty()); // the old click is not answered again
    }

    void controlsOfferWhatThereIs()
    {
        const StudyState state = test::makeStudy();
        std::map<std::string, ViewControl> controls;
        for (const ViewControl& control : m_views->controls(state))
            controls[control.id] = control;
        QCOMPARE(controls.at("model").labels,
                 (std::vector<std::string>{"clip_b32", "siglip2_b16"}));
        QCOMPARE(controls.at("passes").value, std::vector<double>{2});
        QCOMPARE(controls.at("cloud/image").labels.size(), std::size_t{4});
        QCOMPARE(controls.at("cloud/passes").maximum, std::vector<double>{64});
        QCOMPARE(controls.at("metric").labels.front(), std::string("trace, pre-norm"));
        QCOMPARE(controls.at("gallery/class").labels.size(), std::size_t{1 + 12});
        QVERIFY(!m_views->controls(StudyState()).empty());
    }

private:
    int m_asked = 0;
    std::optional<test::LentContext> m_context;
    std::optional<StudyViews> m_views;
    std::optional<Published> m_published;
};

VERGENCE_TEST(StudyViewsTest)
#include "tst_mc_views.moc"
