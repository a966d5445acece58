#include <map>

#include <QTest>

#include "core/artifact/safetensors.h"
#include "core/base/error.h"
#include "plugins/mc_embedding/models/text_tower.h"
#include "plugins/mc_embedding/study/ambiguity.h"
#include "plugins/mc_embedding/study/prompts.h"
#include "tests/support/device_table.h"
#include "tests/support/golden.h"
#include "tests/support/numbers.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::mc_embedding;
using namespace vergence::test;

namespace {

/// Features of prompts as the test says.
class KnownText final : public TextModel {
public:
    std::map<std::string, std::vector<double>> features;
    double scale = 1, bias = 0;

    std::string describe() const override { return "known text"; }
    double logitScale() const override { return scale; }
    double logitBias() const override { return bias; }
    Matrix encode(Stream&, const std::vector<std::string>& prompts, const std::string&) override
    {
        Matrix all(prompts.size(), features.begin()->second.size());
        for (std::size_t i = 0; i < prompts.size(); ++i) {
            const auto& feature = features.at(prompts[i]);
            std::copy(feature.begin(), feature.end(), &all(i, 0));
        }
        return all;
    }
};

struct AmbiguitySetup {
    std::shared_ptr<Device> device = devices().devices.front();
    std::unique_ptr<Stream> stream = device->createStream();
    KnownText text;
    StudyClasses classes{{"a", "b", "c"}, {1, -1}, {}};
    AmbiguityOptions options{{"{}"}, "canonicalize"};

    /// Texts are the axes, so cosines are the entries of a normalised image feature.
    AmbiguitySetup() { text.features = {{"a", {1, 0, 0}}, {"b", {0, 5, 0}}, {"c", {0, 0, 0.1}}}; }
    Ambiguity judge(const std::vector<double>& images)
    {
        Matrix features(images.size() / 3, 3);
        features.values = images;
        return computeAmbiguity(*stream, text, features, classes, options);
    }
};

} // namespace

class TestMcAmbiguity : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void logitsGiveMarginEntropyAndPrediction()
    {
        AmbiguitySetup setup; // V13: logits 2, 1, 0.5 and, of the second image, 0.5, 2, 1
        setup.text.scale = std::sqrt(4 + 1 + 0.25);
        const Ambiguity got = setup.judge({2, 1, 0.5, 50, 200, 100});
        VERGENCE_AGREES(
            difference(got.logits.values, std::vector<double>{2, 1, 0.5, 0.5, 2, 1}, 1e-14, 0));
        VERGENCE_AGREES(difference(got.margin, std::vector<double>{1, 1}, 1e-14, 0));
        VERGENCE_AGREES(difference(got.entropy, std::vector<double>{0.905959, 0.905959}, 5e-7, 0));
        QCOMPARE(got.predicted, (std::vector<int>{0, 1}));
        QCOMPARE(got.truth, (std::vector<int>{1, -1}));
        QCOMPARE(got.classes, setup.classes.names);
        QVERIFY(std::isnan(got.promptSensitivity[0])); // one template
    }

    void biasShiftsLogitsAlone()
    {
        AmbiguitySetup setup;
        setup.text.scale = 10;
        const Ambiguity plain = setup.judge({2, 1, 0.5, 3, 1, 1});
        setup.text.bias = -7;
        const Ambiguity shifted = setup.judge({2, 1, 0.5, 3, 1, 1});
        QVERIFY(std::abs(shifted.logits(0, 0) - plain.logits(0, 0) + 7) < 1e-13);
        VERGENCE_AGREES(difference(shifted.entropy, plain.entropy, 1e-13, 0));
        VERGENCE_AGREES(difference(shifted.margin, plain.margin, 1e-13, 0));
    }

    void promptSensitivityIsTheVarianceOfTheLargestProbability()
    {
        AmbiguitySetup setup; // V13: largest probabilities 0.6, 0.55, 0.7 of two classes
        setup.classes = {{"a", "b"}, {0}, {}};
        setup.options.templates = {"{} 1", "{} 2", "{} 3"};
        setup.text.features.clear();
        const double wanted[] = {0.6, 0.55, 0.7};
        for (int t = 0; t < 3; ++t) {
            const double x = std::log(wanted[t] / (1 - wanted[t]));
            const std::string end = " " + std::to_string(t + 1);
            setup.text.features["a" + end] = {x, std::sqrt(1 - x * x), 0};
            setup.text.features["b" + end] = {0, 0, 1};
        }
        const Ambiguity got = setup.judge({1, 0, 0});
        QVERIFY(std::abs(got.promptSensitivity[0] - 0.00583333) < 5e-9);
        QVERIFY(std::abs(got.margin[0] - std::log(1.5)) < 1e-14); // of the first template
    }

    void orderOfClassesDoesNotMatter()
    {
        AmbiguitySetup setup;
        setup.text.scale = 4;
        const Ambiguity one = setup.judge({2, 1, 0.5, 1, 1, 3});
        setup.classes = {{"c", "a", "b"}, {2, -1}, {}};
        const Ambiguity other = setup.judge({2, 1, 0.5, 1, 1, 3});
        VERGENCE_AGREES(difference(other.entropy, one.entropy, 1e-14, 0));
        VERGENCE_AGREES(difference(other.margin, one.margin, 1e-14, 0));
        QCOMPARE(one.predicted, (std::vector<int>{0, 2}));
        QCOMPARE(other.predicted, (std::vector<int>{1, 0}));
    }

    void featuresThatDoNotFitAreRefused()
    {
        AmbiguitySetup setup;
        VERGENCE_THROWS(NumericsError, "row 1", setup.judge({1, 2, 3, 4, NAN, 6}));
        setup.text.features = {{"a", {1, 0}}, {"b", {0, 1}}, {"c", {1, 1}}};
        VERGENCE_THROWS(InputError, "Text features have 2 dimensions, image features 3",
                        setup.judge({1, 2, 3, 4, 5, 6}));
        setup.options.templates = {"a photo of a {}", "a photo"};
        VERGENCE_THROWS(InputError, "\"a photo\" has no {}", setup.judge({1, 2, 3, 4, 5, 6}));
        setup.options.templates.clear();
        VERGENCE_THROWS(InputError, "labels.templates", setup.judge({1, 2, 3, 4, 5, 6}));
    }

    void everyPlaceOfATemplateIsFilled()
    {
        QCOMPARE(promptOf("a {} and a {}.", "cat"), std::string("a cat and a cat."));
        QCOMPARE(promptOf("{}", "{}"), std::string("{}"));
        QCOMPARE(promptOf("none", "cat"), std::string("none"));
    }

    void logitsOfTheReferenceAreReproduced()
    {
        VERGENCE_GOLDEN_FOLDER(folder, "clip_tiny");
        const auto device = devices().devices.front();
        const auto stream = device->createStream();
        const SafetensorsFile expected = readSafetensors(folder / "expected.safetensors");
        const auto matrixOf = [&](const char* name) {
            const auto values = expected.find(name)->as<float>();
            const auto rows = static_cast<std::size_t>(expected.find(name)->shape[0]);
            Matrix matrix(rows, values.size() / rows);
            matrix.values.assign(values.begin(), values.end());
            return matrix;
        };
        const WeightFile file = openTextWeights(folder);
        const TextSource source = readTextSource(file, folder, "tiny_clip");
        const auto ids = expected.find("input_ids")->as<std::int64_t>();
        std::vector<std::vector<int>> contexts;
        for (std::size_t i = 0; i < ids.size(); i += 16)
            contexts.emplace_back(ids.begin() + static_cast<std::ptrdiff_t>(i),
                                  ids.begin() + static_cast<std::ptrdiff_t>(i + 16));
        const Matrix texts = TextTower(*stream, device, file, source).features(*stream, contexts);
        const Matrix logits =
            zeroShotLogits(matrixOf("image_features"), texts, source.logitScale, source.logitBias);
        // Single precision of the reference: cosines to 1e-6, times the scale.
        VERGENCE_AGREES(difference(logits.values, matrixOf("logits_per_image").values,
                                   2e-6 * source.logitScale, 0));
    }
};

VERGENCE_TEST(TestMcAmbiguity)
#include "tst_mc_ambiguity.moc"
