#include <QTest>

#include "core/artifact/npy.h"
#include "core/artifact/tokenizer/tokenizer.h"
#include "core/base/error.h"
#include "plugins/mc_embedding/models/text_model.h"
#include "plugins/mc_embedding/models/text_tower.h"
#include "tests/plugins/mc_embedding/text_support.h"
#include "tests/support/numbers.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::mc_embedding;
using vergence::mc_embedding::fixtures::SmallText;
using namespace vergence::test;

namespace {

const std::vector<std::string> kPrompts{"a cat", "A_Cat!", "phone", "a cat"};

struct TextSetup {
    std::shared_ptr<Device> device = devices().devices.front();
    std::unique_ptr<Stream> stream = device->createStream();
    Scratch folder, cache;

    explicit TextSetup(const SmallText& model = {}) { model.write(folder.path()); }
    std::unique_ptr<TextModel> load(bool caches = true)
    {
        return loadTextModel(*stream, device, "small", folder.path(),
                             caches ? cache.path() : std::filesystem::path());
    }
    std::filesystem::path cacheFile() const
    {
        const auto files = contentOf(cache.path());
        return files.size() == 1 ? cache.path() / *files.begin() : std::filesystem::path();
    }
};

/// Says yes from the given question on, and counts them.
struct Asked {
    int yesFrom = 1 << 30;
    int questions = 0;

    std::function<bool()> hook()
    {
        return [this] { return ++questions >= yesFrom; };
    }
};

std::vector<double> rowOf(const Matrix& matrix, std::size_t row)
{
    const auto first = matrix.values.begin() + static_cast<std::ptrdiff_t>(row * matrix.columns);
    return {first, first + static_cast<std::ptrdiff_t>(matrix.columns)};
}

void writeArray(const std::filesystem::path& path, const std::vector<std::int64_t>& shape,
                const std::vector<float>& values)
{
    std::string bytes = npyHeader(shape);
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    writeFileAtomic(path, bytes);
}

} // namespace

class TestMcTextModel : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void promptsBecomeFeaturesOfTheTower_data()
    {
        QTest::addColumn<bool>("isSiglip");
        QTest::newRow("CLIP") << false;
        QTest::newRow("SigLIP") << true;
    }
    void promptsBecomeFeaturesOfTheTower()
    {
        QFETCH(bool, isSiglip);
        TextSetup setup(SmallText{isSiglip});
        const auto prompts = setup.load(false);
        QVERIFY(std::abs(prompts->logitScale() - 50) < 1e-4);
        QCOMPARE(prompts->logitBias(), isSiglip ? -10.0 : 0.0);
        QVERIFY(prompts->describe().find("small") != std::string::npos);
        const Matrix got = prompts->encode(*setup.stream, kPrompts);
        QCOMPARE(got.rows, kPrompts.size());
        QCOMPARE(got.columns, std::size_t{12});
        // ids by hand: start 516, "a" at the end of a word 353, cat</w> 513, end 517
        const std::vector<int> ids = isSiglip ? std::vector<int>{261, 289, 1, 0, 0, 0, 0, 0}
                                              : std::vector<int>{516, 353, 513, 517, 0, 0, 0, 0};
        const WeightFile file = openTextWeights(setup.folder.path());
        const TextTower tower(*setup.stream, setup.device, file,
                              readTextSource(file, setup.folder.path(), "small"));
        const Matrix wanted = tower.features(*setup.stream, {ids});
        VERGENCE_AGREES(difference(rowOf(got, 0), wanted.values, 1e-5, 0));
        QVERIFY(rowOf(got, 0) == rowOf(got, 3));
        QVERIFY(rowOf(got, 0) != rowOf(got, 2));
        // CLIP lower-cases and keeps punctuation, SigLIP's cleaning drops it
        QCOMPARE(rowOf(got, 0) == rowOf(got, 1), isSiglip);
        const Matrix lower = prompts->encode(*setup.stream, kPrompts, "lower");
        QVERIFY(rowOf(lower, 0) != rowOf(lower, 1));
        QVERIFY(rowOf(lower, 0) == rowOf(got, 0));
        VERGENCE_THROWS(ContractError, "canonicalize or lower",
                        prompts->encode(*setup.stream, kPrompts, "upper"));
        QCOMPARE(prompts->encode(*setup.stream, {}).rows, std::size_t{0});
    }

    void featuresAreKeptByTextAndModel()
    {
        TextSetup setup;
        const Matrix first = setup.load()->encode(*setup.stream, kPrompts);
        QVERIFY(!setup.cacheFile().empty());
        SafetensorsFile file = readSafetensors(setup.cacheFile());
        QCOMPARE(file.tensors.size(), std::size_t{3}); // four prompts, two alike
        QVERIFY(setup.load()->encode(*setup.stream, kPrompts).values == first.values);
        // What lies in the file is used: a changed number comes back.
        for (HostTensor& tensor : file.tensors)
            tensor = HostTensor::from<float>(tensor.name, {12}, std::vector<float>(12, 7.0f));
        writeSafetensors(setup.cacheFile(), file.tensors, file.metadata);
        const Matrix kept = setup.load()->encode(*setup.stream, {"a cat", "new"});
        QVERIFY(rowOf(kept, 0) == std::vector<double>(12, 7.0));
        QVERIFY(rowOf(kept, 1) != rowOf(kept, 0));
        QCOMPARE(readSafetensors(setup.cacheFile()).tensors.size(), std::size_t{4});
        // Other weights have a file of their own.
        SmallText{false, 0.9}.write(setup.folder.path());
        const Matrix other = setup.load()->encode(*setup.stream, {"a cat"});
        QVERIFY(rowOf(other, 0) != rowOf(kept, 0) && rowOf(other, 0) != rowOf(first, 0));
        QCOMPARE(contentOf(setup.cache.path()).size(), std::size_t{2});
    }

    void tokenizersThatDoNotFitAreRefused()
    {
        TextSetup setup(SmallText{true});
        const Scratch clip;
        SmallText{}.write(clip.path());
        std::filesystem::rename(setup.folder / "tokenizer.json", setup.folder / "tokenizer.model");
        VERGENCE_THROWS(InputError, "SentencePiece", setup.load());
        std::filesystem::copy(clip / "vocab.json", setup.folder / "vocab.json");
        std::filesystem::copy(clip / "merges.txt", setup.folder / "merges.txt");
        VERGENCE_THROWS(InputError, "belongs to another model", setup.load());
    }

    void demoFeaturesAreAFunctionOfTheText()
    {
        TextSetup setup;
        const auto prompts = demoTextModel("tiny_clip", 5, 42);
        const Matrix a = prompts->encode(*setup.stream, {"a photo of a cat", "a dog"});
        // By an independent Philox: key 42, counter (block, ba792b3f, f0f684da, 06000000), words of
        // the text's SHA-256, Box–Muller.
        VERGENCE_AGREES(difference(rowOf(a, 0),
                                   std::vector<double>{1.6044395377601963, 0.8555873981769209,
                                                       0.5181258562020038, 0.45196369618970816,
                                                       -1.2937533273374606},
                                   1e-14, 0));
        QVERIFY(rowOf(prompts->encode(*setup.stream, {"a dog"}), 0) == rowOf(a, 1));
        QVERIFY(rowOf(demoTextModel("tiny_clip", 5, 43)->encode(*setup.stream, {"a dog"}), 0) !=
                rowOf(a, 1));
        QCOMPARE(prompts->logitScale(), 100.0);
        const Matrix many = demoTextModel("x", 4000, 1)->encode(*setup.stream, {"a dog"});
        double sum = 0, squares = 0;
        for (const double value : many.values) {
            sum += value;
            squares += value * value;
        }
        QVERIFY(std::abs(sum / 4000) < 4 / std::sqrt(4000.0)); // 4 σ
        QVERIFY(std::abs(squares / 4000 - 1) < 4 * std::sqrt(2 / 4000.0));
    }

    void weightsAndPromptsOfATextTowerAreReadPieceByPiece()
    {
        TextSetup setup;
        const auto load = [&](Asked& asked) {
            return loadTextModel(*setup.stream, setup.device, "small", setup.folder.path(), {},
                                 asked.hook());
        };
        // More than one batch of prompts.
        std::vector<std::string> prompts;
        for (int i = 0; i < 2000; ++i)
            prompts.push_back("a " + std::to_string(i));
        Asked never;
        const auto model = load(never);
        const int afterOpening = never.questions;
        QVERIFY(afterOpening > 20); // tensors of the hash
        const Matrix whole = model->encode(*setup.stream, prompts);
        const int all = never.questions;
        QVERIFY(all > afterOpening + 20); // tensors of the tower, and batches
        for (const int yes : {afterOpening + 1, afterOpening + 10, all - 2}) {
            Asked asked{yes};
            const auto stopped = load(asked);
            const Matrix part = stopped->encode(*setup.stream, prompts);
            QCOMPARE(part.rows, whole.rows);
            QVERIFY(asked.questions <= yes + 3);
            for (const double value : part.values)
                QCOMPARE(value, 0.0); // nothing that is half done
            asked.yesFrom = 1 << 30;
            QVERIFY(stopped->encode(*setup.stream, prompts).values == whole.values);
        }
    }

    void halfATextTowerIsNotKeptForMasks()
    {
        TextSetup setup;
        Perturbation dropout;
        dropout.p = 0.2;
        const PassId passes[] = {{0, 0}, {0, 1}};
        Asked asked;
        const auto model = loadTextModel(*setup.stream, setup.device, "small", setup.folder.path(),
                                         {}, asked.hook());
        asked.yesFrom = asked.questions + 5;
        const Matrix part =
            model->encodeMasked(*setup.stream, {"a cat"}, "canonicalize", dropout, passes);
        QVERIFY(part.values == std::vector<double>(part.rows * part.columns, 0.0));
        // Half a tower is not kept: it is read anew, though one of this size has no masks.
        asked.yesFrom = 1 << 30;
        asked.questions = 0;
        VERGENCE_THROWS(
            ContractError, "multiples of 16",
            model->encodeMasked(*setup.stream, {"a cat"}, "canonicalize", dropout, passes));
        QVERIFY(asked.questions > 10);
    }

    void importedFeaturesAreFoundByPrompt()
    {
        TextSetup setup;
        const auto array = setup.folder / "features.npy";
        writeArray(array, {2, 3}, {1, 2, 3, 4, 5, 6});
        writeFileAtomic(setup.folder / "features.txt", std::string_view("a cat\r\nA dog.\n"));
        const auto prompts = importedTextModel(array);
        const Matrix got = prompts->encode(*setup.stream, {"A dog.", "a cat", "a dog"});
        QCOMPARE(rowOf(got, 0), (std::vector<double>{4, 5, 6}));
        QCOMPARE(rowOf(got, 1), (std::vector<double>{1, 2, 3}));
        QCOMPARE(rowOf(got, 2), rowOf(got, 0)); // alike after cleaning
        QCOMPARE(prompts->logitScale(), 100.0);
        QCOMPARE(prompts->notes().size(), std::size_t{1});
        VERGENCE_THROWS(InputError, "no feature of the prompt \"a bird\"",
                        prompts->encode(*setup.stream, {"a bird"}));

        const auto tensors = setup.folder / "features.safetensors";
        const auto one = [](const char* name, float value) {
            return HostTensor::from<float>(name, {1}, std::vector<float>{value});
        };
        writeSafetensors(tensors, {one("a cat", 2), one("a dog", -3), one("logit_scale", 2),
                                   one("logit_bias", -9)});
        const auto siglip = importedTextModel(tensors);
        QVERIFY(std::abs(siglip->logitScale() - std::exp(2.0)) < 1e-12);
        QCOMPARE(siglip->logitBias(), -9.0);
        QVERIFY(siglip->notes().empty());
        QCOMPARE(siglip->encode(*setup.stream, {"a dog"}).values, (std::vector<double>{-3}));
    }

    void importedFilesWithFaultsAreRefused()
    {
        TextSetup setup;
        const auto array = setup.folder / "features.npy";
        writeArray(array, {2, 1}, {1, 2});
        VERGENCE_THROWS(InputError, "features.txt", importedTextModel(array));
        writeFileAtomic(setup.folder / "features.txt", std::string_view("a cat\n"));
        VERGENCE_THROWS(InputError, "1 lines", importedTextModel(array));
        writeFileAtomic(setup.folder / "features.txt", std::string_view("a cat\na cat\n"));
        VERGENCE_THROWS(InputError, "there twice", importedTextModel(array));
        writeFileAtomic(setup.folder / "features.txt", std::string_view("a cat\na dog\n"));
        writeArray(array, {2, 1}, {1, NAN});
        VERGENCE_THROWS(InputError, "not finite", importedTextModel(array));
        writeArray(array, {2}, {1, 2});
        VERGENCE_THROWS(InputError, "prompts by dimensions", importedTextModel(array));
        VERGENCE_THROWS(InputError, ".safetensors",
                        importedTextModel(setup.folder / "config.json"));
        const auto tensors = setup.folder / "features.safetensors";
        writeSafetensors(tensors, {HostTensor::from<float>("a", {1}, std::vector<float>{1}),
                                   HostTensor::from<float>("b", {2}, std::vector<float>{1, 2})});
        VERGENCE_THROWS(InputError, "has 2 numbers, others have 1", importedTextModel(tensors));
    }
};

VERGENCE_TEST(TestMcTextModel)
#include "tst_mc_text_model.moc"
