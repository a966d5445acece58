#include "plugins/mc_embedding/compute/row_kernels.h"

#include "core/compute/half.h"
#include "core/compute/ops/activation_math.h"
#include "plugins/mc_embedding/compute/row_masks.h"

namespace vergence::mc_embedding {

namespace {

template <class T>
struct MaskRows {
    MaskRowsArguments p;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const Index width = p.columns * p.segments;
        const T* in = static_cast<const T*>(p.x.data) + p.x.row(row, p.tokens) * width;
        T* out = static_cast<T*>(p.y) + row * width;
        for (int segment = 0; segment < p.segments; ++segment) {
            const RowMask first = p.mask[segment];
            const Index offset = segment * p.columns;
            if (!first.bits && !p.second.bits && in == out)
                continue;
            team.template each<T>(p.columns, [&](auto at) VERGENCE_INLINE {
                auto value = masked(first, row, p.columns, at, load<T>(in + offset, at));
                value = masked(p.second, row, p.columns, at, value);
                store(out + offset, at, value);
            });
        }
    }
};

template <class T, Activation kind>
struct ActivateRows {
    ActivateRowsArguments p;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const T* in = static_cast<const T*>(p.x.data) + p.x.row(row, p.tokens) * p.columns;
        T* out = static_cast<T*>(p.y) + row * p.columns;
        team.template each<T>(p.columns, [&](auto at) VERGENCE_INLINE {
            auto value = masked(p.before, row, p.columns, at, load<T>(in, at));
            value = activationValue<kind>(value);
            store(out, at, masked(p.after, row, p.columns, at, value));
        });
    }
};

/// T: of the normalised values.
template <class T>
struct AddRows {
    AddRowsArguments p;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const auto from = [&](const RowSource& source) {
            return static_cast<const float*>(source.data) + source.row(row, p.tokens) * p.columns;
        };
        const float* branch = from(p.branch);
        const float* residual = p.residual.data ? from(p.residual) : nullptr;
        float* x = p.x + row * p.columns;
        const float factor = branchFactor(row / p.tokens);
        team.template each<T>(p.columns, [&](auto at) VERGENCE_INLINE {
            auto value = masked(p.first, row, p.columns, at, loadAs<float>(branch, at));
            value = masked(p.second, row, p.columns, at, value) * factor;
            if (residual)
                value = loadAs<float>(residual, at) + value;
            store(x, at, masked(p.last, row, p.columns, at, value));
        });
        if (p.normed)
            normRow<T>(team, x, static_cast<T*>(p.normed) + row * p.columns, p.columns, p.norm);
    }

    VERGENCE_HD float branchFactor(Index sequence) const
    {
        if (p.coin.site < 0)
            return 1;
        const bool isGone = isDropped(p.coin.rate, p.coin.seed, p.coin.keys[sequence], p.coin.site,
                                      Purpose::StochasticDepth, 0);
        return isGone ? 0 : p.coin.rate.scale;
    }
};

template <class T>
struct EmbedRows {
    EmbedRowsArguments p;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const Index token = row % p.tokens, columns = p.columns;
        const float* position = p.positions + token * columns;
        float* x = p.x + row * columns;
        const Index before = p.classToken ? 1 : 0, patches = p.tokens - before;
        const bool isClass = token < before;
        const Index patchRow = row / p.tokens * patches + token - before;
        const float* in = isClass ? p.classToken
                                  : static_cast<const float*>(p.patches.data) +
                                        p.patches.row(patchRow, patches) * columns;
        const RowMask patchMask = isClass ? RowMask{} : p.patchMask;
        team.template each<T>(columns, [&](auto at) VERGENCE_INLINE {
            auto value = masked(patchMask, patchRow, columns, at, loadAs<float>(in, at));
            value = value + loadAs<float>(position, at);
            store(x, at, masked(p.positionMask, row, columns, at, value));
        });
        if (p.pre.weight)
            normRow<T>(team, x, x, columns, p.pre);
        if (p.normed)
            normRow<T>(team, x, static_cast<T*>(p.normed) + row * columns, columns, p.norm);
    }
};

template <class T>
struct NormRows {
    NormRowsArguments p;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const float* in = static_cast<const float*>(p.x.data) + p.x.row(row, p.tokens) * p.columns;
        normRow<T>(team, in, static_cast<T*>(p.normed) + row * p.columns, p.columns, p.norm);
    }
};

/// One row of pixels of one patch and channel.
template <class T>
struct PatchRows {
    PatchRowsArguments p;

    VERGENCE_HD void operator()(Index item) const
    {
        const Index patch = p.patch, side = p.side, grid = side / patch;
        const Index y = item % patch, c = item / patch % 3,
                    place = item / patch / 3 % (grid * grid);
        const Index sequence = item / patch / 3 / (grid * grid);
        const Index image =
            p.pixels.images > 0 ? (p.pixels.first + sequence) % p.pixels.images : sequence;
        const Index top = place / grid * patch + y, left = place % grid * patch;
        T* out = static_cast<T*>(p.y) + item * patch;
        const Index normalised = ((image * 3 + c) * side + top) * side + left;
        if (p.pixelType == DType::F32) {
            const auto* in = static_cast<const float*>(p.pixels.data) + normalised;
            for (Index x = 0; x < patch; ++x)
                out[x] = static_cast<T>(in[x]);
        } else if (p.pixelType == DType::F16) {
            const auto* in = static_cast<const Float16*>(p.pixels.data) + normalised;
            for (Index x = 0; x < patch; ++x)
                out[x] = static_cast<T>(static_cast<float>(in[x]));
        } else {
            const auto* in = static_cast<const std::uint8_t*>(p.pixels.data) +
                             ((image * side + top) * side + left) * 3 + c;
            for (Index x = 0; x < patch; ++x)
                out[x] = static_cast<T>((static_cast<float>(in[3 * x]) / 255.0f - p.mean[c]) /
                                        p.deviation[c]);
        }
    }
};

template <template <class> class Rows, class Arguments>
void runRows(Stream& stream, DType type, Index rows, Index columns, const Arguments& arguments)
{
    withFloatType(type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        if constexpr (!std::is_same_v<T, double>)
            forEachRow<T>(stream, rows, columns, Rows<T>{arguments});
    });
}

void maskRowsBody(Stream& stream, const MaskRowsArguments& p)
{
    runRows<MaskRows>(stream, p.type, p.rows, p.columns * p.segments, p);
}

template <class T>
void activateRowsOf(Stream& stream, const ActivateRowsArguments& p)
{
    switch (p.activation) {
    case Activation::GeluErf:
        return forEachRow<T>(stream, p.rows, p.columns, ActivateRows<T, Activation::GeluErf>{p});
    case Activation::GeluTanh:
        return forEachRow<T>(stream, p.rows, p.columns, ActivateRows<T, Activation::GeluTanh>{p});
    default:
        return forEachRow<T>(stream, p.rows, p.columns, ActivateRows<T, Activation::QuickGelu>{p});
    }
}

void activateRowsBody(Stream& stream, const ActivateRowsArguments& p)
{
    withFloatType(p.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        if constexpr (!std::is_same_v<T, double>)
            activateRowsOf<T>(stream, p);
    });
}

void addRowsBody(Stream& stream, const AddRowsArguments& p)
{
    runRows<AddRows>(stream, p.normedType, p.rows, p.columns, p);
}

void embedRowsBody(Stream& stream, const EmbedRowsArguments& p)
{
    runRows<EmbedRows>(stream, p.normedType, p.sequences * p.tokens, p.columns, p);
}

void normRowsBody(Stream& stream, const NormRowsArguments& p)
{
    runRows<NormRows>(stream, p.normedType, p.rows, p.columns, p);
}

void patchRowsBody(Stream& stream, const PatchRowsArguments& p)
{
    const Index grid = p.side / p.patch;
    const Index items = p.sequences * grid * grid * 3 * p.patch;
    withFloatType(p.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        if constexpr (!std::is_same_v<T, double>)
            forEach(stream, items, PatchRows<T>{p}, 256);
    });
}

} // namespace

VERGENCE_REGISTER_KERNEL(maskRows, maskRowsBody)
VERGENCE_REGISTER_KERNEL(activateRows, activateRowsBody)
VERGENCE_REGISTER_KERNEL(addRows, addRowsBody)
VERGENCE_REGISTER_KERNEL(embedRows, embedRowsBody)
VERGENCE_REGISTER_KERNEL(normRows, normRowsBody)
VERGENCE_REGISTER_KERNEL(patchRows, patchRowsBody)

} // namespace vergence::mc_embedding
