#include <QTest>

#include "core/compute/rng.h"
#include "tests/plugins/foveated_vlm/t0_model.h"
#include "tests/support/test_program.h"

using namespace vergence;
using namespace vergence::fvlm;
using namespace vergence::test;

namespace {
struct Case {
    Variant variant = Variant::Captions;
    QueryMode mode = QueryMode::Deep;
    VisualNorm norm = VisualNorm::Scale;
    SequenceOrder order = SequenceOrder::FramesText;
    double coarse = 0.5, contrast = 0, entropyMargin = 0;
    int refinements = 1;
    bool weightsRefinements = false, hasImage = false, answersOnly = false, padded = false;
    double temperature = 1;
    int topK = 0;
    HeadKind head = HeadKind::Film;
    bool prefers = false; ///< DPO
    FirstQuery firstQuery = FirstQuery::Learned;
    int staticQueries = 1;
};

SampleTokens sample(int frames, std::vector<int> before, std::vector<int> after, bool answersOnly)
{
    SampleTokens result;
    result.frames = frames;
    result.beforeMask.assign(before.size(), answersOnly ? 0 : 1);
    result.afterMask.assign(after.size(), 1);
    result.before = std::move(before);
    result.after = std::move(after);
    return result;
}

std::vector<SampleTokens> samplesOf(const Case& c)
{
    std::vector<SampleTokens> samples{sample(3, {1, 4}, {7, 2, 5}, c.answersOnly),
                                      sample(2, {3}, {9, 2}, c.answersOnly)};
    samples[0].isImage = c.hasImage;
    if (c.prefers) {
        samples[0].others = {{{8, 8}, {1, 1}}};
        samples[1].others = {{{2, 6, 1, 4}, {0, 1, 1, 1}}};
    } else if (c.variant != Variant::Latents) {
        samples.push_back(sample(0, {}, {10, 0, 3}, false));
    }
    return samples;
}

class Problem {
public:
    explicit Problem(const Case& c)
        : m_case(c),
          m_t0(c.variant, DType::F64,
               [&](ModelSettings& settings) {
                   settings.query.mode = c.mode;
                   settings.query.temperature = c.temperature;
                   settings.query.topK = c.topK;
                   settings.norm = c.norm;
                   settings.order = c.order;
                   settings.firstQuery = c.firstQuery;
                   settings.staticQueries = c.staticQueries;
                   settings.head.kind = c.head;
                   if (c.head == HeadKind::CrossAttention)
                       settings.head.widths = {4, 6, 16};
               }),
          m_batch(m_t0, samplesOf(c), {0, 1, 0}, shape()),
          m_losses(t0Losses(m_t0, m_batch, c.coarse))
    {
        m_losses.contrast = c.contrast;
        m_losses.entropyMargin = c.entropyMargin;
        m_losses.refinements = c.refinements;
        m_losses.weightsRefinements = c.weightsRefinements;
        if (c.head != HeadKind::Film)
            m_t0.model.initialise(*m_t0.stream, 3);
        if (c.prefers) {
            m_preference.refinements = c.refinements;
            m_preference.beta = 0.7;
            m_preference.inversePairs = tensorOf(*m_t0.stream, m_t0.device, {1}, {0.5}, DType::F64);
            m_preference.reference =
                tensorOf(*m_t0.stream, m_t0.device, {2, 2}, {-6, -5, -4.5, -7}, DType::F64);
        }
    }

    double loss(bool goesBack)
    {
        if (!m_case.prefers)
            return t0Step(m_t0, m_batch, m_losses, goesBack).loss;
        Graph graph(*m_t0.stream, m_t0.device, {goesBack, DType::F64});
        const ForwardPass pass{graph, m_t0.parameters(), nullptr, false, {}};
        const Value value = preferenceLoss(pass, m_t0.model, m_batch.batch, m_preference).loss;
        const double loss = numbersOf(*m_t0.stream, graph.tensor(value)).front();
        if (goesBack) {
            m_t0.parameters().zeroGradients(*m_t0.stream);
            graph.backward(value);
        }
        return loss;
    }

    /// Worst disagreement over `probes` weights of a group, relative to its largest gradient.
    std::string disagreement(int group, int probes)
    {
        struct Place {
            double* value;
            double gradient;
            std::string name;
        };
        std::vector<Place> places;
        double largest = 1e-3;
        for (int i = 0; i < m_t0.parameters().count(); ++i) {
            const Parameter& parameter = m_t0.parameters()[i];
            if (parameter.group != group)
                continue;
            auto* values = static_cast<double*>(parameter.value.data());
            const auto* gradients = static_cast<const double*>(parameter.gradient.data());
            for (Index k = 0; k < parameter.value.size(); ++k) {
                places.push_back({values + k, gradients[k], parameter.name});
                largest = std::max(largest, std::abs(gradients[k]));
            }
        }
        const Rng random(7, static_cast<std::uint64_t>(group));
        for (int probe = 0; probe < probes; ++probe) {
            const auto at =
                static_cast<std::size_t>(random.uniform(static_cast<std::uint64_t>(probe)) *
                                         static_cast<float>(places.size()));
            const Place& place = places[std::min(at, places.size() - 1)];
            const double kept = *place.value, step = 6e-6 * std::max(1.0, std::abs(kept));
            *place.value = kept + step;
            const double above = loss(false);
            *place.value = kept - step;
            const double below = loss(false);
            *place.value = kept;
            const double numeric = (above - below) / (2 * step);
            if (!(std::abs(numeric - place.gradient) <= 1e-6 * largest))
                return fmt::format("{}: derivative {} but central difference {} (largest {})",
                                   place.name, place.gradient, numeric, largest);
        }
        return {};
    }

private:
    std::optional<SequenceShape> shape() const
    {
        if (!m_case.padded)
            return {};
        SequenceShape padded = shapeOf(samplesOf(m_case), m_t0.model.settings());
        for (Index* extent : {&padded.frames, &padded.slots, &padded.text, &padded.length,
                              &padded.shortLength, &padded.counted})
            *extent += 2;
        return padded;
    }

    Case m_case;
    T0 m_t0;
    T0Batch m_batch;
    LossSettings m_losses;
    PreferenceSettings m_preference;
};
} // namespace

Q_DECLARE_METATYPE(Case)

/// Central differences of the whole step on T0, in F64.
class TestFvlmGradients : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void stepAgreesWithDifferences_data();
    void stepAgreesWithDifferences();
};

void TestFvlmGradients::stepAgreesWithDifferences_data()
{
    QTest::addColumn<Case>("problem");
    QTest::addColumn<int>("probes");
    const auto add = [](const char* name, int probes, auto change) {
        Case c;
        change(c);
        QTest::newRow(name) << c << probes;
    };
    add("captions", 64, [](Case&) {});
    add("latents", 64, [](Case& c) { c.variant = Variant::Latents; });
    add("joint", 64, [](Case& c) { c.variant = Variant::Joint; });
    add("preference", 64, [](Case& c) { c.prefers = true; });
    add("two refinements, weighted", 64, [](Case& c) {
        c.variant = Variant::Joint;
        c.refinements = 2;
        c.weightsRefinements = true;
    });
    add("answers alone, prompt first, padded", 32, [](Case& c) {
        c.order = SequenceOrder::PromptFramesAnswer;
        c.answersOnly = true;
        c.padded = true;
        c.coarse = 0;
        c.refinements = 2;
    });
    add("first query from the prompt, padded", 32, [](Case& c) {
        c.order = SequenceOrder::PromptFramesAnswer;
        c.firstQuery = FirstQuery::Prompt;
        c.padded = true;
    });
    add("first query from the prompt, refined, short passes", 32, [](Case& c) {
        c.order = SequenceOrder::PromptFramesAnswer;
        c.firstQuery = FirstQuery::Prompt;
        c.coarse = 0;
        c.refinements = 2;
    });
    add("two static queries, image", 32, [](Case& c) {
        c.staticQueries = 2;
        c.hasImage = true;
    });
    add("two static queries, entropy", 16, [](Case& c) {
        c.staticQueries = 2;
        c.entropyMargin = 2;
    });
    add("image, contrast, norm by token", 16, [](Case& c) {
        c.hasImage = true;
        c.contrast = 0.3;
        c.norm = VisualNorm::TokenRms;
    });
    add("preference, prompt first, refined", 16, [](Case& c) {
        c.prefers = true;
        c.order = SequenceOrder::PromptFramesAnswer;
        c.refinements = 2;
    });
    add("norm by deviation, temperature, three largest", 16, [](Case& c) {
        c.norm = VisualNorm::BatchStd;
        c.temperature = 0.7;
        c.topK = 3;
    });
    add("entropy", 32, [](Case& c) {
        c.entropyMargin = 2; // above ln 5: no slot is at the kink
        c.coarse = 0;
    });
    add("entropy, images, padded", 16, [](Case& c) {
        c.entropyMargin = 2;
        c.hasImage = c.padded = true;
        c.refinements = 2;
    });
    add("average", 16, [](Case& c) { c.mode = QueryMode::ShallowAverage; });
    add("last block", 16, [](Case& c) { c.mode = QueryMode::ShallowLast; });
    add("perceptron head", 8, [](Case& c) {
        c.variant = Variant::Latents;
        c.head = HeadKind::Mlp;
    });
    add("attending head", 8, [](Case& c) {
        c.variant = Variant::Latents;
        c.head = HeadKind::CrossAttention;
    });
}

void TestFvlmGradients::stepAgreesWithDifferences()
{
    QFETCH(Case, problem);
    QFETCH(int, probes);
    Problem run(problem);
    QVERIFY(std::isfinite(run.loss(true)));
    for (int group = 0; group < FoveatedModel::kGroups; ++group)
        VERGENCE_AGREES(run.disagreement(group, probes));
}

VERGENCE_TEST(TestFvlmGradients)
#include "tst_fvlm_gradients.moc"
