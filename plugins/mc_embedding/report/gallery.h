#pragma once

#include <cstddef>
#include <functional>
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
/// Which images of an order are kept.
struct GalleryFilter {
    std::string label; ///< class; empty: all
    int quartile = 0;  ///< of the score, 1 the lowest to 4 the highest; 0: all
};
/// All entries of an order: highest or lowest score, disagreement with another model,
/// uncertain although right, certain although wrong.
std::vector<GalleryEntry> galleryEntries(const StudyState& state, const Look& look,
                                         std::size_t other, std::size_t order,
                                         const GalleryFilter& filter = {});

/// Small pictures with their texts, for a page; every picture is a JPEG within the text.
std::string galleryHtml(const std::vector<GalleryEntry>& entries,
                        const std::function<Image(std::size_t)>& thumbnail);

/// RGB, shrunk until no side is longer than `side`; small ones are enlarged by whole factors.
Image fitted(const Image& picture, int side);
/// The same in the middle of a black square.
Image galleryTile(const Image& picture, int side);

} // namespace vergence::mc_embedding
