#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/artifact/image.h"
#include "plugins/mc_embedding/report/charts.h"

namespace vergence::mc_embedding {

/// Orders of the gallery, for people; an order that the state has no data for shows nothing.
const std::vector<std::string>& galleryOrders();

/// Images of one order with what stands below their pictures.
struct GalleryEntry {
    std::size_t image = 0;
    std::string label;
};
/// All entries of an order: highest or lowest score, disagreement with another model,
/// uncertain although right, certain although wrong.
std::vector<GalleryEntry> galleryEntries(const StudyState& state, const Look& look,
                                         std::size_t other, std::size_t order);

/// RGB, shrunk until no side is longer than `side`; small ones are enlarged by whole factors.
Image fitted(const Image& picture, int side);
/// The same in the middle of a black square.
Image galleryTile(const Image& picture, int side);

} // namespace vergence::mc_embedding
