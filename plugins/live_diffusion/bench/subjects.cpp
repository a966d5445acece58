#include "plugins/live_diffusion/bench/subjects.h"

#include "core/artifact/digest.h"
#include "core/compute/device.h"
#include "plugins/live_diffusion/engine/replica_network.h"
#include "plugins/live_diffusion/engine/unet_network.h"
#include "plugins/live_diffusion/model/pixel_blocks.h"
#include "plugins/live_diffusion/model/replicas.h"
#include "plugins/live_diffusion/model/unet.h"
#include "plugins/live_diffusion/scenes/scene.h"
#include "plugins/live_diffusion/tensorrt/tensorrt_network.h"

namespace vergence::live {

namespace {

constexpr std::uint64_t kSeed = 1; // of bench weights

BenchSubject replicaSubject(const std::shared_ptr<Device>& device, std::string name,
                            Program program)
{
    BenchSubject subject;
    subject.model = std::move(name);
    subject.isStream = false;
    subject.program = std::move(program);
    subject.build = [device, program = subject.program](const Switches& switches, int rows) {
        return makeReplicaNetwork(device, program, kSeed, switches, rows);
    };
    return subject;
}

std::string_view bytesOf(const void* data, std::size_t bytes)
{
    return {static_cast<const char*>(data), bytes};
}

} // namespace

BenchSubject denoiserSubject(std::shared_ptr<Device> device, const UnetSettings& settings,
                             std::shared_ptr<const HostWeights> weights)
{
    BenchSubject subject;
    subject.model = titleOf(settings.size);
    subject.program = buildUnet(settings);
    subject.describe = [settings](Index grid) {
        UnetSettings other = settings;
        other.grid = grid;
        return buildUnet(other);
    };
    subject.whyNoTensorRt = [device] { return whyNoTensorRt(*device); };
    subject.buildTensorRt = [device, settings, weights](int rows) {
        return makeTensorRtNetwork(device, weights, settings, rows);
    };
    subject.build = [device = std::move(device), settings,
                     weights = std::move(weights)](const Switches& switches, int rows) {
        return std::make_shared<UnetNetwork>(device, weights,
                                             UnetNetworkSettings{settings, switches, rows});
    };
    return subject;
}

BenchSubject replicaA(std::shared_ptr<Device> device)
{
    return replicaSubject(device, "Replica-A", buildReplicaA());
}

BenchSubject replicaB(std::shared_ptr<Device> device, Index channels)
{
    return replicaSubject(device, "Replica-B", buildReplicaB(channels));
}

std::vector<std::vector<float>> benchFrames(const FrameShape& shape, int count, std::uint32_t seed)
{
    const auto scene = makeScene({.kind = SceneKind::Orbits,
                                  .height = shape.height(),
                                  .width = shape.width(),
                                  .seed = seed});
    const auto device = makeCpuDevice(1);
    const auto stream = device->createStream();
    std::vector<float> picture(static_cast<std::size_t>(scene->values()));
    std::vector<std::vector<float>> frames;
    for (int i = 0; i < count; ++i) {
        scene->draw(*stream, i, picture, {});
        std::vector<float>& values = frames.emplace_back(picture.size());
        pixelUnshuffle(picture, shape.height(), shape.patch, values);
    }
    return frames;
}

std::string weightsHash(const HostWeights& weights)
{
    Digest digest;
    for (const auto& [name, weight] : weights) {
        digest.add(name);
        for (const Index extent : weight.shape)
            digest.add(bytesOf(&extent, sizeof extent));
        const std::vector<float> numbers = weight.numbers();
        digest.add(bytesOf(numbers.data(), numbers.size() * sizeof(float)));
    }
    return digest.hex();
}

} // namespace vergence::live
