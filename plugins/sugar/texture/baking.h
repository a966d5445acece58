#pragma once

#include <functional>
#include <memory>

#include "plugins/sugar/compute/camera.h"
#include "plugins/sugar/texture/square_packing.h"

namespace vergence::sugar {

struct BakeSettings {
    double extent = 1;        ///< world units
    double near = 0.02;       ///< world units
    bool isRobust = true;     ///< a second sweep trusts colours near the first mean more
    double colourSigma = 0.1; ///< of that trust, colours 0 to 1
    int fade = 16;            ///< px; views count less towards their border
    int dilation = 8;         ///< texels around triangles that are filled in
    std::array<float, 3> unseen{0.5F, 0.5F, 0.5F};    ///< of triangles that nothing tells about
    std::size_t budgetBytes = std::size_t{256} << 20; ///< for sums; more makes fewer sweeps
};

/// A picture that colours come from.
struct BakeView {
    Camera camera; ///< of the picture's size
    Image image;   ///< [H, W, 3] sRGB
    /// [H·W], 0 where the picture says nothing; empty where it does everywhere.
    std::vector<std::uint8_t> mask = {};
};

/// Paints one page of a mesh from pictures: each texel gathers Σ w c / Σ w over the views that see
/// it, with w = max(0, ⟨n, v⟩)² / z² faded towards the border of the view. Hidden is what lies more
/// than 0.5 % + 10⁻⁴ extent behind the mesh's own depth in a pixel that the colour is taken from.
/// One view of one part of the texture at a time, so that a run can stop in between; results do not
/// depend on threads.
class TextureBaker {
public:
    /// `view(i)` is called for 0 ≤ i < views in rising order, once for each part and sweep. The
    /// mesh must outlive the baker. Triangles without coordinates hide others, but get no colour.
    /// Throws ContractError for an atlas of another mesh or of several pages.
    TextureBaker(const TriangleMesh& mesh, TextureAtlas atlas, BakeSettings settings,
                 std::size_t views, std::function<BakeView(std::size_t)> view);
    ~TextureBaker();
    TextureBaker(TextureBaker&&) noexcept;
    TextureBaker& operator=(TextureBaker&&) noexcept;

    std::size_t stepsDone() const;
    std::size_t steps() const; ///< views × sweeps × parts
    bool isDone() const { return stepsDone() == steps(); }
    /// Gathers from the next view.
    void step();
    /// The painted mesh, once done. Texels that no view saw take the colour of seen ones beside
    /// them in the same triangle, further ones the mean of the triangle; triangles without any the
    /// area-weighted mean of their neighbours. No texel stays empty, so that smaller copies of the
    /// picture mix no strange colour into a triangle. To be called once.
    TexturedMesh finish();

    /// Share of triangles' texels that some view saw; of what is done.
    double seenShare() const;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace vergence::sugar
