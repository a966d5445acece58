// Small fixed cases for the counters of the emulated CUDA device; a tool, not a benchmark. Runs the
// cases that are named, each once, on the first CUDA device:
//     VERGENCE_EMULATED_COUNTERS=FILE cuda_counters column_sums layer_norm …

#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "core/compute/ops/norm.h"
#include "core/compute/ops/pointwise.h"
#include "plugins/light_field/compute/seed_operator.h"
#include "plugins/live_diffusion/engine/joined_norm_kernels.h"
#include "plugins/sugar/compute/rasteriser.h"
#include "tests/support/devices.h"

namespace {

using namespace vergence;

struct Bench {
    std::shared_ptr<Device> device = test::devices().select("cuda");
    std::unique_ptr<Stream> stream = device->createStream();

    Tensor filled(const Shape& shape) const
    {
        std::vector<float> values(static_cast<std::size_t>(elementCount(shape)));
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<float>(i * 7919 % 251) / 251.0F - 0.4F;
        return Tensor::fromHost<float>(*stream, device, shape, values);
    }
};

void columnSums(const Bench& b)
{
    addColumnSums(*b.stream, b.filled({2056, 384}), b.filled({384}));
    b.stream->synchronize();
}

void layerNormGradient(const Bench& b)
{
    const Shape shape{2056, 384};
    const Tensor x = b.filled(shape), g = b.filled(shape), weight = b.filled({384});
    const Tensor mean = b.filled({2056}), rstd = b.filled({2056}), gradX = b.filled(shape);
    const Tensor gradWeight = b.filled({384}), gradBias = b.filled({384});
    layerNormBackward(*b.stream, x, &weight, mean, rstd, g, gradX, false, &gradWeight, &gradBias);
    b.stream->synchronize();
}

/// The norm before a convolution of the live denoiser: 64² pixels of 64 and 64 channels.
void joinedNorm(const Bench& b)
{
    const Index pixels = 64 * 64, channels = 64;
    const Tensor one = b.filled({pixels, channels}), other = b.filled({pixels, channels});
    const Tensor y = b.filled({pixels, 2 * channels}), weight = b.filled({2 * channels});
    const Tensor room = b.filled({live::joinedNormRoom(1, pixels, 2 * channels)});
    live::JoinedNormArguments p;
    p.images = 1;
    p.pixels = pixels;
    p.channelsA = p.channelsB = channels;
    p.a = one.data();
    p.b = other.data();
    p.y = y.data();
    p.weight = p.bias = static_cast<const float*>(weight.data());
    p.groups = 32;
    p.silu = true;
    p.room = static_cast<float*>(room.data());
    live::joinedNorm(*b.stream, p);
    b.stream->synchronize();
}

/// 2,000 small splats and eight that cover the picture of 320 × 240, forth and back.
void splats(const Bench& b)
{
    using namespace sugar;
    std::mt19937 random(7);
    const auto unit = [&] { return static_cast<float>(random() % 2001) / 1000.0F - 1; };
    GaussianCloud cloud;
    cloud.degree = 0;
    for (int i = 0; i < 2008; ++i) {
        for (int k = 0; k < 3; ++k) {
            cloud.position.push_back(unit());
            cloud.logScale.push_back(i % 251 == 0 ? 0.0F : -4.5F);
            cloud.shDc.push_back(unit());
        }
        cloud.rotation.insert(cloud.rotation.end(), {1, 0, 0, 0});
        cloud.opacity.push_back(-1);
    }
    Gaussians gaussians = upload(*b.stream, b.device, cloud, 2008, 0);
    GaussianArrays gradients = GaussianArrays::zeros(*b.stream, b.device, 2008, 0);
    Rasteriser raster(b.device);
    const Camera camera = lookingAt({0, -3, 0.5}, {0, 0, 0}, {0, 0, 1}, 320, 320, 240);
    raster.render(*b.stream, gaussians, camera, {}, true);
    raster.backward(*b.stream, gaussians, {b.filled({3, 240, 320}), {}, {}, {}}, gradients,
                    nullptr);
    b.stream->synchronize();
    std::printf("entries of tiles: %td\n", static_cast<std::ptrdiff_t>(raster.counts().instances));
}

/// 64² pixels, one lane, every third row of them; the way back from those rows alone where
/// `masked`.
void seedPasses(const Bench& b, bool masked)
{
    using namespace light_field;
    Optics optics = seedOptics();
    optics.renderResolution = optics.panelResolution = 64;
    const SeedOperator op(*b.stream, b.device, optics, 30.0, 1);
    const Tensor x = b.filled({op.unknowns(), 1}), target = b.filled({op.measurements(), 1});
    Tensor images = b.filled({op.measurements(), 1}), residual = b.filled({op.measurements(), 1});
    Tensor gradient = b.filled({op.unknowns(), 1});
    const RowSubset third{3, 1};
    op.residual(*b.stream, x, target, {}, images, residual, third);
    TexelUpdate update;
    update.gradient = gradient.data();
    op.adjointUpdate(*b.stream, residual, 1, update, masked ? third : RowSubset{});
    b.stream->synchronize();
}

void seed(const Bench& b)
{
    seedPasses(b, false);
}

void seedSubset(const Bench& b)
{
    seedPasses(b, true);
}

struct Case {
    const char* name;
    std::function<void(const Bench&)> run;
};

} // namespace

int main(int argc, char** argv)
{
    const Case cases[] = {{"column_sums", columnSums},
                          {"layer_norm", layerNormGradient},
                          {"joined_norm", joinedNorm},
                          {"splats", splats},
                          {"seed", seed},
                          {"seed_subset", seedSubset}};
    const Bench bench;
    for (const Case& one : cases) {
        for (int i = 1; i < argc; ++i) {
            if (std::strcmp(argv[i], one.name) == 0)
                one.run(bench);
        }
    }
    return 0;
}
