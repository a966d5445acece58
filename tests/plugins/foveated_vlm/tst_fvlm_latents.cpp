#include <QTest>

#include "core/artifact/weights.h"
#include "core/base/error.h"
#include "core/compute/half.h"
#include "plugins/foveated_vlm/clips/patch_basis.h"
#include "plugins/foveated_vlm/shards/latent_shards.h"
#include "plugins/foveated_vlm/shards/shard_clips.h"
#include "plugins/foveated_vlm/shards/vae_latents.h"
#include "tests/plugins/foveated_vlm/made_clips.h"
#include "tests/support/device_table.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

namespace fs = std::filesystem;
using namespace vergence;
using namespace vergence::fvlm;
using vergence::test::contentOf;
using vergence::test::MadeClips;
using vergence::test::Scratch;

namespace {

/// Latents that tell the mean byte of their frame; counts its calls.
class MeanProvider : public LatentProvider {
public:
    std::string name() const override { return "vae"; }
    std::array<Index, 3> shape(int height, int width) const override
    {
        return {4, height / 8, width / 8};
    }
    void encode(std::span<const std::uint8_t> frames, Index count, int height, int width,
                std::span<float> latents) override
    {
        ++calls;
        const std::size_t frame = frames.size() / static_cast<std::size_t>(count);
        const std::size_t latent = latents.size() / static_cast<std::size_t>(count);
        QCOMPARE(latent, static_cast<std::size_t>(4 * (height / 8) * (width / 8)));
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
            double sum = 0;
            for (std::size_t k = 0; k < frame; ++k)
                sum += frames[i * frame + k];
            for (std::size_t k = 0; k < latent; ++k)
                latents[i * latent + k] =
                    static_cast<float>(sum / static_cast<double>(frame)) + static_cast<float>(k);
        }
    }
    int calls = 0;
};

/// The clips as a shard, [frames, 3, 16, 24] each.
void writeClips(const fs::path& path, const ClipSource& source)
{
    ShardWriter writer(path, {0, 3, 16, 24, ShardType::U8});
    for (Index i = 0; i < source.count(); ++i) {
        ShardClip clip;
        clip.frames = static_cast<std::uint32_t>(source.info(i).frames);
        writer.add(clip, test::frameBytes(source, i));
    }
    writer.commit("{}");
}

std::vector<float> latentsOf(const LatentSource& latents, Index clip, int frames)
{
    const auto shape = latents.shape();
    std::vector<float> values(static_cast<std::size_t>(frames * shape[0] * shape[1] * shape[2]));
    latents.read(clip, values);
    return values;
}

} // namespace

class TestFvlmLatents : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void latentsComeBackRounded()
    {
        const Scratch scratch;
        const MadeClips source({2, 40, 1}, 16, 24);
        writeClips(scratch / "a.fvshard", source);
        const ShardClips clips(scratch / "a.fvshard");
        MeanProvider provider;
        QVERIFY(makeLatents(clips, provider, scratch / "l.fvshard"));
        const ShardLatents latents(scratch / "l.fvshard", clips);
        QCOMPARE(latents.provider(), std::string("vae"));
        QVERIFY((latents.shape() == std::array<Index, 3>{4, 2, 3}));
        for (Index clip = 0; clip < 3; ++clip) {
            const int frames = source.info(clip).frames;
            const auto pixels = framesOf(source, clip);
            std::vector<float> want(static_cast<std::size_t>(frames) * 24);
            provider.encode(pixels, frames, 16, 24, want);
            const auto got = latentsOf(latents, clip, frames);
            QCOMPARE(got.size(), want.size());
            for (std::size_t i = 0; i < got.size(); ++i)
                QCOMPARE(got[i], static_cast<float>(BFloat16(want[i])));
        }
        QVERIFY(Shard(scratch / "l.fvshard").facts().find(clips.set().framesDigest()) !=
                std::string::npos);
        VERGENCE_THROWS(InputError, "is it one of latents", ShardClips(scratch / "l.fvshard"));
        VERGENCE_THROWS(InputError, "no latents of four channels",
                        ShardLatents(scratch / "a.fvshard", clips));
    }

    void aStoppedCallGoesOn()
    {
        const Scratch scratch;
        const MadeClips source({1, 1, 1, 1, 1}, 16, 24);
        MeanProvider whole, provider;
        QVERIFY(makeLatents(source, whole, scratch / "whole.fvshard"));
        QCOMPARE(whole.calls, 5);
        std::stop_source stop;
        const auto stopsAtTwo = [&](Index done, Index total) {
            QCOMPARE(total, Index(5));
            if (done == 2)
                stop.request_stop();
        };
        QVERIFY(
            !makeLatents(source, provider, scratch / "l.fvshard", stopsAtTwo, stop.get_token()));
        QVERIFY(!fs::exists(scratch / "l.fvshard"));
        std::vector<Index> done;
        QVERIFY(makeLatents(source, provider, scratch / "l.fvshard",
                            [&](Index number, Index) { done.push_back(number); }));
        QVERIFY(done == (std::vector<Index>{3, 4, 5}));
        QCOMPARE(provider.calls, 5); // none of them twice
        QCOMPARE(Shard(scratch / "l.fvshard").digest(), Shard(scratch / "whole.fvshard").digest());
        QVERIFY(makeLatents(source, provider, scratch / "l.fvshard"));
        QCOMPARE(provider.calls, 5); // it is there
        QCOMPARE(contentOf(scratch.path()), (std::set<std::string>{"l.fvshard", "whole.fvshard"}));
    }

    void latentsOfOtherFramesAreRefused()
    {
        const Scratch scratch;
        const MadeClips source({2, 2}, 16, 24), more({2, 2, 2}, 16, 24);
        writeClips(scratch / "a.fvshard", source);
        writeClips(scratch / "more.fvshard", more);
        const ShardClips clips(scratch / "a.fvshard"), others(scratch / "more.fvshard");
        MeanProvider provider;
        makeLatents(clips, provider, scratch / "l.fvshard");
        VERGENCE_THROWS(InputError, "of 2 clips, but there are 3",
                        ShardLatents(scratch / "l.fvshard", others));
        MadeClips renamed({2, 2}, 16, 24); // as many, but another digest
        VERGENCE_THROWS(InputError, "made of other frames",
                        ShardLatents(scratch / "l.fvshard", renamed));
        ShardWriter writer(scratch / "nameless.fvshard", {2, 4, 2, 3, ShardType::F32});
        for (int i = 0; i < 2; ++i) {
            ShardClip clip;
            clip.frames = 2;
            writer.add(clip, std::vector<std::byte>(2 * 24 * 4));
        }
        writer.commit("[]");
        VERGENCE_THROWS(InputError, "made of other frames",
                        ShardLatents(scratch / "nameless.fvshard", clips));
    }

    /// What others made: any real type, statistics in the header.
    void foreignLatentsAreRead()
    {
        const Scratch scratch;
        const MadeClips source({1}, 16, 24);
        ShardWriter writer(scratch / "f.fvshard", {1, 4, 1, 2, ShardType::F32});
        const std::vector<float> values = {0, 1, -2, 3.5f, 4, 5, 6, 7.25f};
        ShardClip clip;
        clip.frames = 1;
        writer.add(clip, std::as_bytes(std::span(values)));
        writer.commit(R"({"frames_digest":"made","mean":[1,2,3,4],"deviation":[1,"x",1,1]})");
        const ShardLatents latents(scratch / "f.fvshard", source);
        QCOMPARE(latents.provider(), std::string("file"));
        QVERIFY(latentsOf(latents, 0, 1) == values);
        QCOMPARE(latents.statistics().mean[2], 3.f);
        QCOMPARE(latents.statistics().deviation[0], 1.f);
    }

    void theProjectionIsAProvider()
    {
        const Scratch scratch;
        const MadeClips source({2, 3}, 16, 24);
        PatchBasisProvider provider(source);
        QVERIFY(makeLatents(source, provider, scratch / "l.fvshard"));
        const ShardLatents stored(scratch / "l.fvshard", source);
        const PatchBasisLatents fresh(source);
        QCOMPARE(stored.provider(), fresh.provider());
        QVERIFY(stored.shape() == fresh.shape());
        QVERIFY(stored.statistics() == fresh.statistics());
        const auto got = latentsOf(stored, 1, 3), want = latentsOf(fresh, 1, 3);
        for (std::size_t i = 0; i < got.size(); ++i)
            QCOMPARE(got[i], static_cast<float>(BFloat16(want[i])));
    }

    /// A narrow encoder from a folder as Diffusers writes it.
    void theEncoderIsAProvider()
    {
        const auto device = test::devices().devices.front();
        const auto stream = device->createStream();
        VaeConfig config;
        config.widths = {4, 8, 8, 8};
        config.groups = 4;
        ParameterSet parameters(device);
        const int group = parameters.addGroup({"vae", 0, true});
        const VaeEncoder encoder(Declaration(parameters, {group, group, group}), config);
        parameters.allocate(*stream);
        parameters.initialise(*stream, 3);
        const Scratch scratch;
        fs::create_directories(scratch / "vae");
        saveWeights(*stream, parameters, scratch / "vae/diffusion_pytorch_model.safetensors",
                    DType::F32);
        const MadeClips source({2, 1}, 16, 24);
        VaeProvider provider(device, scratch / "vae", DType::F32, config);
        QVERIFY(makeLatents(source, provider, scratch / "l.fvshard"));
        const ShardLatents stored(scratch / "l.fvshard", source);
        QVERIFY((stored.shape() == std::array<Index, 3>{4, 2, 3}));

        const auto frames = framesOf(source, 0);
        std::vector<float> pixels;
        for (const std::uint8_t byte : frames)
            pixels.push_back(static_cast<float>(byte) / 127.5f - 1);
        Graph graph(*stream, device, {false, DType::F32});
        const ForwardPass pass{graph, parameters, nullptr, false, {}};
        const Value image =
            graph.constant(Tensor::fromHost<float>(*stream, device, {2, 3, 16, 24}, pixels));
        const auto want = graph.dense(encoder.latents(pass, image)).toHost<float>(*stream);
        const auto got = latentsOf(stored, 0, 2);
        QCOMPARE(got.size(), want.size());
        float largest = 0;
        for (std::size_t i = 0; i < got.size(); ++i) {
            QVERIFY(std::abs(got[i] - want[i]) <= std::abs(want[i]) / 200 + 1e-5f);
            largest = std::max(largest, std::abs(want[i]));
        }
        QVERIFY(largest > 1e-4f);
        VERGENCE_THROWS(InputError, "", VaeProvider(device, scratch / "vae"));
        VERGENCE_THROWS(InputError, "nowhere", VaeProvider(device, "/nowhere", DType::F32, config));
    }
};

VERGENCE_TEST(TestFvlmLatents)
#include "tst_fvlm_latents.moc"
