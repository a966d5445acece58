#include <QtTest>

#include "core/artifact/hf_config.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using vergence::test::Scratch;

namespace {

HfConfig configOf(const char* text)
{
    return {nlohmann::json::parse(text), "model/config.json"};
}

constexpr const char* kLlama = R"({"model_type": "llama", "hidden_size": 576,
    "intermediate_size": 1536, "num_hidden_layers": 30, "num_attention_heads": 9,
    "num_key_value_heads": 3, "vocab_size": 49152, "rms_norm_eps": 1e-05, "rope_theta": 100000,
    "tie_word_embeddings": true, "bos_token_id": 1, "eos_token_id": [2, 7], "pad_token_id": null})";

} // namespace

class TestHfConfig : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void llamaIsRead()
    {
        const HfLlama c = llamaConfig(configOf(kLlama));
        QCOMPARE(c.hiddenSize, 576);
        QCOMPARE(c.headSize, 64);
        QCOMPARE(c.keyHeads, 3);
        QCOMPARE(c.ropeTheta, 100000.0);
        QCOMPARE(c.epsilon, 1e-5);
        QVERIFY(c.tiesEmbeddings && c.beginToken == 1 && c.endToken == 2 && !c.padToken);
    }

    void dinoIsRead()
    {
        const HfDino c = dinoConfig(configOf(R"({"model_type": "dinov2_with_registers",
            "hidden_size": 384, "num_hidden_layers": 12, "num_attention_heads": 6, "mlp_ratio": 4,
            "image_size": 518, "patch_size": 14, "layer_norm_eps": 1e-06})"));
        QCOMPARE(c.mlpSize, 1536);
        QCOMPARE(c.registers, 4);
        QCOMPARE(c.imageSize, 518);
        QCOMPARE(c.layerScale, 1.0);
    }

    void clipFillsInWhatIsLeftOut()
    {
        const HfClip clip = clipConfig(
            configOf(R"({"model_type": "clip", "projection_dim": 512, "vision_config": {},
                         "text_config": {"eos_token_id": 49407}})"));
        QCOMPARE(clip.image.patchSize, 32);
        QCOMPARE(clip.image.activation, std::string("quick_gelu"));
        QCOMPARE(clip.text->longestText, 77);
        QCOMPARE(clip.text->heads, 8);
        QVERIFY(clip.text->endToken == 49407);
        const HfClip siglip =
            clipConfig(configOf(R"({"model_type": "siglip", "vision_config": {"hidden_size": 1152,
                         "num_attention_heads": 16, "image_size": 384, "patch_size": 14}})"));
        QVERIFY(siglip.isSiglip && !siglip.text);
        QCOMPARE(siglip.projectionSize, 1152);
        QCOMPARE(siglip.image.epsilon, 1e-6);
    }

    void faultsNameKeyAndValue_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("part");
        QTest::newRow("missing") << QByteArray(R"({"hidden_size": 64})") << "`intermediate_size`";
        QTest::newRow("text") << QByteArray(R"({"hidden_size": "64"})")
                              << "`hidden_size` is \"64\" instead of a whole number";
        QTest::newRow("negative") << QByteArray(R"({"hidden_size": -2})") << "`hidden_size` is -2";
        QTest::newRow("huge") << QByteArray(R"({"hidden_size": 18446744073709551615})")
                              << "`hidden_size` is 18446744073709551615";
        QTest::newRow("no object") << QByteArray("[1]") << "it holds no object";
    }
    void faultsNameKeyAndValue()
    {
        QFETCH(QByteArray, text);
        QFETCH(QString, part);
        VERGENCE_THROWS(InputError, part.toUtf8().constData(),
                        llamaConfig(configOf(text.constData())));
        VERGENCE_THROWS(InputError, "model/config.json", llamaConfig(configOf(text.constData())));
    }

    void whatIsNotSupportedIsRefused()
    {
        VERGENCE_THROWS(InputError, "use_swiglu_ffn",
                        dinoConfig(configOf(R"({"use_swiglu_ffn": true})")));
        nlohmann::json scaled = nlohmann::json::parse(kLlama);
        scaled["rope_scaling"] = {{"type", "linear"}};
        VERGENCE_THROWS(InputError, "rope_scaling", llamaConfig(HfConfig(scaled, "c")));
        nlohmann::json uneven = nlohmann::json::parse(kLlama);
        uneven["num_key_value_heads"] = 4;
        VERGENCE_THROWS(InputError, "multiple of 4", llamaConfig(HfConfig(uneven, "c")));
        VERGENCE_THROWS(InputError, "gpt2", clipConfig(configOf(R"({"model_type": "gpt2"})")));
        VERGENCE_THROWS(InputError, "vision_config: it holds no object",
                        clipConfig(configOf(R"({"model_type": "clip", "vision_config": 3})")));
    }

    void foldersAndDamagedFilesAreTold()
    {
        const Scratch scratch;
        writeFileAtomic(scratch / "config.json", std::string_view(kLlama));
        QCOMPARE(llamaConfig(HfConfig::read(scratch.path())).layers, 30);
        writeFileAtomic(scratch / "config.json", std::string_view("{\"hidden_size\": "));
        VERGENCE_THROWS(InputError, "config.json", HfConfig::read(scratch.path()));
        VERGENCE_THROWS(InputError, "nowhere.json", HfConfig::read(scratch / "nowhere.json"));
    }
};

VERGENCE_TEST(TestHfConfig)
#include "tst_hf_config.moc"
