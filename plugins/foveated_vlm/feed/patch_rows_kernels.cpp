#include "core/compute/ops/loops.h"
#include "plugins/foveated_vlm/feed/patch_rows.h"

namespace vergence::fvlm {

namespace {

#if defined(__CUDACC__)

/// One number of a row, so that neighbouring threads write neighbouring numbers.
template <class T>
struct PatchNumber {
    PatchRowsArguments a;

    VERGENCE_HD void operator()(Index i) const
    {
        const Index patchesAcross = a.width / a.patch;
        const Index perFrame = a.height / a.patch * patchesAcross * a.columns;
        const Index frame = i / perFrame;
        const auto within = static_cast<std::uint32_t>(i - frame * perFrame);
        const auto columns = static_cast<std::uint32_t>(a.columns);
        const auto patch = static_cast<std::uint32_t>(a.patch);
        const std::uint32_t place = within / columns, column = within % columns;
        const std::uint32_t channel = column / (patch * patch);
        T* to = static_cast<T*>(a.rows) + i;
        if (channel >= 3) {
            *to = static_cast<T>(0.0f);
            return;
        }
        const std::uint32_t inside = column % (patch * patch);
        const auto across = static_cast<std::uint32_t>(patchesAcross);
        const Index y = place / across * patch + inside / patch;
        const Index x = place % across * patch + inside % patch;
        const Index plane = a.numbers[frame] * 3 + channel;
        const std::uint8_t byte = a.pixels[(plane * a.height + y) * a.width + x];
        *to = static_cast<const T*>(a.values)[channel * 256 + byte];
    }
};

#else

/// One row of patches of a frame.
template <class T>
struct PatchBand {
    PatchRowsArguments a;

    void operator()(Index item) const
    {
        const Index down = a.height / a.patch, across = a.width / a.patch;
        const Index frame = item / down, band = item % down;
        const Index plane = a.height * a.width;
        const std::uint8_t* from =
            a.pixels + a.numbers[frame] * 3 * plane + band * a.patch * a.width;
        T* to = static_cast<T*>(a.rows) + item * across * a.columns;
        for (Index i = 0; i < across; ++i) {
            for (Index channel = 0; channel < 3; ++channel)
                to = patch(from + channel * plane + i * a.patch, channel, to);
            for (Index column = 3 * a.patch * a.patch; column < a.columns; ++column)
                *to++ = static_cast<T>(0.0f);
        }
    }

    /// One channel of a patch; returns where the next begins.
    T* patch(const std::uint8_t* from, Index channel, T* to) const
    {
        const T* values = static_cast<const T*>(a.values) + channel * 256;
        for (Index y = 0; y < a.patch; ++y, from += a.width) {
            for (Index x = 0; x < a.patch; ++x)
                *to++ = values[from[x]];
        }
        return to;
    }
};

#endif

void patchRowsBody(Stream& stream, const PatchRowsArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        const Index down = a.height / a.patch;
#if defined(__CUDACC__)
        forEach(stream, a.frames * down * (a.width / a.patch) * a.columns, PatchNumber<T>{a});
#else
        forEach(stream, a.frames * down, PatchBand<T>{a}, 1);
#endif
    });
}

struct GatherRow {
    GatherRowsArguments a;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const float* from = a.x + a.numbers[row] * a.width;
        float* to = a.y + row * a.width;
        team.eachItem(a.width, [&](Index i) { to[i] = from[i]; });
    }
};

void gatherRowsBody(Stream& stream, const GatherRowsArguments& a)
{
    forEachRow<float>(stream, a.count, a.width, GatherRow{a});
}

} // namespace

VERGENCE_REGISTER_KERNEL(patchRowsKernel, patchRowsBody)
VERGENCE_REGISTER_KERNEL(gatherRowsKernel, gatherRowsBody)

} // namespace vergence::fvlm
