#pragma once

#include <vector>

namespace vergence::sugar {

/// A rectangle, and where it came to lie.
struct PackedBox {
    int width = 0, height = 0, x = 0, y = 0, page = 0;
};

/// Places boxes, tall ones first, each as low as the skyline of those before it lets it. Returns
/// false where they need more than `side` × `side`.
bool packUnderSkyline(std::vector<PackedBox>& boxes, int side);
/// The same on as many pages as are needed, each box on the first with room. Returns their number;
/// 0 where a box is larger than a page or more than `most` would be needed.
int packOnPages(std::vector<PackedBox>& boxes, int side, int most);

} // namespace vergence::sugar
