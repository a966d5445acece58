#include "core/compute/ops/attention_tiles.h"

#include <mutex>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "core/base/log.h"

namespace vergence {

namespace {

constexpr int kLeastMajor = 8; ///< 16-bit matrix instructions of the kernels, m16n8k16

bool hasInstructions(const AttentionTiles& tiles, const BlockOffer& offer)
{
    return sizeOf(tiles.type) != 2 || offer.capabilityMajor >= kLeastMajor;
}

/// True the first time.
bool isNews(const AttentionTiles& tiles)
{
    static std::mutex mutex;
    static std::set<std::tuple<std::string, DType, Index>> said;
    const std::lock_guard lock(mutex);
    return said.emplace(tiles.what, tiles.type, tiles.size).second;
}

} // namespace

bool suitsTiles(const AttentionTiles& tiles, const BlockOffer& offer)
{
    return hasInstructions(tiles, offer) && tiles.sharedBytes <= offer.sharedBytes;
}

std::string whySlow(const AttentionTiles& tiles, const BlockOffer& offer)
{
    const std::string subject =
        fmt::format("W-SLOW-ATTENTION: {} in {} with heads of {} numbers takes many times longer "
                    "on this GPU: ",
                    tiles.what, nameOf(tiles.type), tiles.size);
    if (!hasInstructions(tiles, offer))
        return subject + fmt::format("its matrix units (compute capability {}.x) lack what {}.0 "
                                     "has. Choose fp32 or another device.",
                                     offer.capabilityMajor, kLeastMajor);
    return subject + fmt::format("it wants {} KiB of shared memory and has {}. Choose smaller "
                                 "heads or another device.",
                                 (tiles.sharedBytes + 1023) / 1024, offer.sharedBytes / 1024);
}

bool usesTiles(const AttentionTiles& tiles, const BlockOffer& offer)
{
    const bool suits = suitsTiles(tiles, offer);
    if (!suits && isNews(tiles))
        log("compute").warn("{}", whySlow(tiles, offer));
    return suits;
}

} // namespace vergence
