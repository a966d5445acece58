#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/artifact/image.h"
#include "core/base/error.h"
#include "plugins/mc_embedding/io/image_random.h"
#include "plugins/mc_embedding/io/image_set.h"

namespace vergence::mc_embedding {

namespace {

/// Share of the second colour at a place of the unit square; 0 to 1 after clamping.
using Pattern = std::function<double(double x, double y)>;

Pattern checker(Draws& draws, int fields)
{
    const int shift = static_cast<int>(draws.below(2));
    return [=](double x, double y) {
        return (static_cast<int>(x * fields) + static_cast<int>(y * fields) + shift) % 2;
    };
}

Pattern stripes(Draws& draws)
{
    constexpr double kTurn = 6.283185307179586;
    const double angle = draws.uniform() * kTurn, waves = 2 + 6 * draws.uniform(),
                 phase = draws.uniform() * kTurn;
    return [=](double x, double y) {
        const double along = x * std::cos(angle) + y * std::sin(angle);
        return std::sin(kTurn * waves * along + phase) > 0 ? 1.0 : 0.0;
    };
}

Pattern disc(Draws& draws)
{
    const double cx = 0.3 + 0.4 * draws.uniform(), cy = 0.3 + 0.4 * draws.uniform(),
                 radius = 0.15 + 0.25 * draws.uniform();
    return [=](double x, double y) { return std::hypot(x - cx, y - cy) < radius ? 1.0 : 0.0; };
}

Pattern radial(Draws& draws)
{
    const double cx = 0.25 + 0.5 * draws.uniform(), cy = 0.25 + 0.5 * draws.uniform(),
                 reach = 0.5 + 0.5 * draws.uniform();
    return [=](double x, double y) { return std::hypot(x - cx, y - cy) / reach; };
}

Pattern blobs(Draws& draws)
{
    struct Blob {
        double x, y, size;
    };
    std::array<Blob, 5> all{};
    for (Blob& blob : all) {
        blob.x = draws.uniform();
        blob.y = draws.uniform();
        blob.size = 0.06 + 0.12 * draws.uniform();
    }
    return [=](double x, double y) {
        double sum = 0;
        for (const Blob& blob : all) {
            const double dx = (x - blob.x) / blob.size, dy = (y - blob.y) / blob.size;
            sum += std::exp(-0.5 * (dx * dx + dy * dy));
        }
        return sum;
    };
}

/// Noise on a grid of `fields` per side, straight lines between.
Pattern softNoise(Draws& draws)
{
    constexpr int kFields = 6;
    std::array<double, (kFields + 1) * (kFields + 1)> grid{};
    for (double& value : grid)
        value = draws.uniform();
    return [=](double x, double y) {
        const double u = x * kFields, v = y * kFields;
        const int i = static_cast<int>(u), j = static_cast<int>(v);
        const double s = u - i, t = v - j;
        const auto at = [&](int a, int b) {
            return grid[static_cast<std::size_t>((j + b) * (kFields + 1) + i + a)];
        };
        return (1 - t) * ((1 - s) * at(0, 0) + s * at(1, 0)) +
               t * ((1 - s) * at(0, 1) + s * at(1, 1));
    };
}

struct DemoFamily {
    const char* name;
    Pattern (*make)(Draws&);
    double noise; ///< of every value, relative to the range
};

// The pattern of a noise family is what its noise is added to.
const std::array<DemoFamily, 12> kFamilies = {{
    {"solid", [](Draws&) -> Pattern { return [](double, double) { return 0.0; }; }, 0},
    {"horizontal", [](Draws&) -> Pattern { return [](double x, double) { return x; }; }, 0},
    {"vertical", [](Draws&) -> Pattern { return [](double, double y) { return y; }; }, 0},
    {"radial", radial, 0},
    {"checker4", [](Draws& draws) { return checker(draws, 4); }, 0},
    {"checker8", [](Draws& draws) { return checker(draws, 8); }, 0},
    {"stripes", stripes, 0},
    {"disc", disc, 0},
    {"blobs", blobs, 0},
    {"soft_noise", softNoise, 0},
    {"full_noise", [](Draws&) -> Pattern { return [](double, double) { return 0.5; }; }, 1},
    {"gradient_noise", [](Draws&) -> Pattern { return [](double x, double) { return x; }; }, 0.3},
}};

Image drawn(const DemoFamily& family, int side, std::uint64_t seed, std::size_t index)
{
    Draws draws(seed, Purpose::DemoImages, static_cast<std::uint32_t>(index));
    std::array<double, 3> first{}, second{};
    for (std::size_t c = 0; c < 3; ++c) {
        first[c] = 255 * draws.uniform();
        second[c] = 255 * draws.uniform();
    }
    const Pattern pattern = family.make(draws);
    Image image = makeImage(side, side, 3);
    for (int y = 0; y < side; ++y) {
        for (int x = 0; x < side; ++x) {
            const double share = std::clamp(pattern((x + 0.5) / side, (y + 0.5) / side), 0.0, 1.0);
            for (std::size_t c = 0; c < 3; ++c) {
                double value = first[c] + share * (second[c] - first[c]);
                if (family.noise > 0)
                    value += family.noise * 255 * (draws.uniform() - 0.5);
                image.row(y)[static_cast<std::size_t>(x) * 3 + c] =
                    static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0, 255.0)));
            }
        }
    }
    return image;
}

/// A picture below folder/group, unless it is there.
void writeOnce(const std::filesystem::path& folder, const std::string& group, std::size_t number,
               const std::function<Image()>& make)
{
    const std::filesystem::path place = folder / group;
    std::error_code code;
    std::filesystem::create_directories(place, code);
    if (code)
        throw OutputError(
            fmt::format("Cannot make the folder {}: {}.", place.string(), code.message()));
    const std::filesystem::path file = place / fmt::format("{}_{:03}.png", group, number);
    if (!std::filesystem::exists(file))
        writePng(file, make());
}

const DemoFamily& familyNamed(const std::string& name)
{
    return *std::find_if(kFamilies.begin(), kFamilies.end(),
                         [&](const DemoFamily& family) { return family.name == name; });
}

} // namespace

void writeDemoImages(const std::filesystem::path& folder, std::size_t count, std::uint64_t seed,
                     const std::function<bool()>& isStopped)
{
    constexpr int kSide = 32;
    for (std::size_t i = 0; i < count && !(isStopped && isStopped()); ++i) {
        const DemoFamily& family = kFamilies[i % kFamilies.size()];
        writeOnce(folder, family.name, i / kFamilies.size(),
                  [&] { return drawn(family, kSide, seed, i); });
    }
}

void writeSyntheticImages(const std::filesystem::path& folder, std::size_t count, int side,
                          std::uint64_t seed, const std::function<bool()>& isStopped)
{
    expects(side > 0, "writeSyntheticImages: a side of 1 px or more");
    const std::pair<std::string, std::vector<std::string>> groups[] = {
        {"solid", {"solid"}},
        {"gradient", {"horizontal", "vertical", "radial"}},
        {"noise", {"full_noise"}}};
    std::size_t owner = 1u << 20; // beyond the numbers of demo images
    for (const auto& [group, families] : groups) {
        for (std::size_t i = 0; i < count && !(isStopped && isStopped()); ++i, ++owner)
            writeOnce(folder, group, i, [&, &names = families] {
                return drawn(familyNamed(names[i % names.size()]), side, seed, owner);
            });
    }
}

} // namespace vergence::mc_embedding
