#include "core/compute/ops/structure_kernels.h"

#include "core/compute/ops/loops.h"

namespace vergence {

namespace {

/// 16 bytes that move together.
struct alignas(16) Unit16 {
    std::uint64_t part[2];
};

template <class T>
struct CopyNumber {
    VERGENCE_HD void operator()(const T& source, T& target) const { target = source; }
};

template <class T>
struct AddNumber {
    VERGENCE_HD void operator()(const T& source, T& target) const
    {
        using Real = Accumulator<T>;
        target = static_cast<T>(static_cast<Real>(target) + static_cast<Real>(source));
    }
};

/// The dimension of at least `least` other than the last in which the source is dense, where the
/// last is not but the target's is; or −1.
int transposedDimension(const StridedArguments& a, Index least)
{
    const int last = a.rank - 1;
    if (last < 1 || a.sourceStrides[last] == 1 || a.targetStrides[last] != 1)
        return -1;
    for (int d = 0; d < last; ++d) {
        if (a.sourceStrides[d] == 1 && a.extents[d] >= least && a.extents[last] >= least)
            return d;
    }
    return -1;
}

#if defined(__CUDACC__)

/// One number per thread.
template <class T, class Combine>
struct StridedElement {
    StridedArguments a;

    VERGENCE_HD void operator()(Index i) const
    {
        Index from = 0, to = 0;
        for (int d = a.rank - 1; d >= 0; --d) {
            const Index at = i % a.extents[d];
            i /= a.extents[d];
            from += at * a.sourceStrides[d];
            to += at * a.targetStrides[d];
        }
        Combine{}(static_cast<const T*>(a.source)[from], static_cast<T*>(a.target)[to]);
    }
};

/// Tiles of 32 × 32 through shared memory, so that both sides are read and written in lines: the
/// last dimension is the target's neighbour, dimension `across` the source's.
template <class T>
__global__ void transposeTiles(StridedArguments a, int across, Index tilesDown, Index tilesAlong)
{
    __shared__ T tile[32][33];
    const int last = a.rank - 1;
    Index block = blockIdx.x;
    const Index along = block % tilesAlong * 32;
    block /= tilesAlong;
    const Index down = block % tilesDown * 32;
    block /= tilesDown;
    const T* source = static_cast<const T*>(a.source);
    T* target = static_cast<T*>(a.target);
    for (int d = last - 1; d >= 0; --d) {
        if (d == across)
            continue;
        source += block % a.extents[d] * a.sourceStrides[d];
        target += block % a.extents[d] * a.targetStrides[d];
        block /= a.extents[d];
    }
    for (int i = threadIdx.y; i < 32; i += 8) {
        if (along + i < a.extents[last] && down + threadIdx.x < a.extents[across])
            tile[i][threadIdx.x] = source[(along + i) * a.sourceStrides[last] + down + threadIdx.x];
    }
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8) {
        if (down + i < a.extents[across] && along + threadIdx.x < a.extents[last])
            target[(down + i) * a.targetStrides[across] + along + threadIdx.x] =
                tile[threadIdx.x][i];
    }
}

template <class T>
void copyAs(Stream& stream, const StridedArguments& a)
{
    const int across = transposedDimension(a, 8);
    if (across < 0)
        return forEach(stream, a.count, StridedElement<T, CopyNumber<T>>{a});
    const Index down = (a.extents[across] + 31) / 32, along = (a.extents[a.rank - 1] + 31) / 32;
    const Index others = a.count / (a.extents[across] * a.extents[a.rank - 1]);
    transposeTiles<T><<<static_cast<unsigned>(others * down * along), dim3(32, 8), 0,
                        static_cast<cudaStream_t>(stream.native())>>>(a, across, down, along);
    checkLaunch(stream, "copyStrided");
}

template <class T>
void addAs(Stream& stream, const StridedArguments& a)
{
    forEach(stream, a.count, StridedElement<T, AddNumber<T>>{a});
}

#else

/// `n` numbers, `from` and `to` apart.
template <class Combine, class T>
void combineRun(const T* source, Index from, T* target, Index to, Index n)
{
    if (from == 1 && to == 1 && std::is_same_v<Combine, CopyNumber<T>>) {
        std::memcpy(target, source, static_cast<std::size_t>(n) * sizeof(T));
    } else if (from == 1 && to == 1) {
#pragma GCC ivdep
        for (Index i = 0; i < n; ++i)
            Combine{}(source[i], target[i]);
    } else {
#pragma GCC ivdep
        for (Index i = 0; i < n; ++i)
            Combine{}(source[i * from], target[i * to]);
    }
}

/// A part of the one dimension there is.
template <class T, class Combine>
struct OneRun {
    StridedArguments a;

    void operator()(Index first, Index last) const
    {
        const Index from = a.sourceStrides[0], to = a.targetStrides[0];
        combineRun<Combine>(static_cast<const T*>(a.source) + first * from, from,
                            static_cast<T*>(a.target) + first * to, to, last - first);
    }
};

/// Runs of the last dimension, one after another.
template <class T, class Combine>
struct ManyRuns {
    StridedArguments a;

    /// From run `first` up to `last`: the place in the other dimensions is counted on, not divided.
    void operator()(Index first, Index last) const
    {
        const int inner = a.rank - 1;
        const T* source = static_cast<const T*>(a.source);
        T* target = static_cast<T*>(a.target);
        Index at[6];
        Index outer = first;
        for (int d = inner - 1; d >= 0; --d) {
            at[d] = outer % a.extents[d];
            outer /= a.extents[d];
            source += at[d] * a.sourceStrides[d];
            target += at[d] * a.targetStrides[d];
        }
        for (Index run = first; run < last; ++run) {
            combineRun<Combine>(source, a.sourceStrides[inner], target, a.targetStrides[inner],
                                a.extents[inner]);
            for (int d = inner - 1; d >= 0; --d) {
                source += a.sourceStrides[d];
                target += a.targetStrides[d];
                if (++at[d] < a.extents[d])
                    break;
                at[d] = 0;
                source -= a.extents[d] * a.sourceStrides[d];
                target -= a.extents[d] * a.targetStrides[d];
            }
        }
    }
};

/// body(first, last) for parts of [0, n).
template <class Body>
void forEachPart(Stream& stream, Index n, Index grain, const Body& body)
{
    stream.parallelFor(
        n, grain,
        [](const void* context, Index first, Index last) {
            (*static_cast<const Body*>(context))(first, last);
        },
        &body);
}

/// The last two dimensions of `a`: the last is the target's neighbour, the one before it the
/// source's. One item is a band of kSquare rows.
template <class T>
struct TransposedBand {
    StridedArguments a;

    static constexpr Index kSquare = 16;

    VERGENCE_HD void operator()(Index band) const
    {
        const int last = a.rank - 1, across = last - 1;
        const T* source = static_cast<const T*>(a.source);
        T* target = static_cast<T*>(a.target);
        const Index bands = (a.extents[across] + kSquare - 1) / kSquare;
        const Index first = band % bands * kSquare;
        Index outer = band / bands;
        for (int d = across - 1; d >= 0; --d) {
            source += outer % a.extents[d] * a.sourceStrides[d];
            target += outer % a.extents[d] * a.targetStrides[d];
            outer /= a.extents[d];
        }
        source += first;
        target += first * a.targetStrides[across];
        const Index left = a.extents[across] - first, n = a.extents[last];
        const Index high = left < kSquare ? left : kSquare;
        Index i = 0;
        for (; high == kSquare && i + kSquare <= n; i += kSquare)
            square(source + i * a.sourceStrides[last], target + i);
        for (Index j = 0; j < high; ++j) {
            for (Index k = i; k < n; ++k)
                target[j * a.targetStrides[across] + k] = source[k * a.sourceStrides[last] + j];
        }
    }

private:
    VERGENCE_HD void square(const T* source, T* target) const
    {
        const Index from = a.sourceStrides[a.rank - 1], to = a.targetStrides[a.rank - 2];
        T tile[kSquare][kSquare];
        for (Index i = 0; i < kSquare; ++i)
            std::memcpy(tile[i], source + i * from, sizeof(tile[i]));
        for (Index j = 0; j < kSquare; ++j) {
            T line[kSquare];
            for (Index i = 0; i < kSquare; ++i)
                line[i] = tile[i][j];
            std::memcpy(target + j * to, line, sizeof(line));
        }
    }
};

/// The same with dimension `d` moved to the last but one.
StridedArguments movedToLastButOne(const StridedArguments& a, int d)
{
    StridedArguments moved = a;
    const int place = a.rank - 2;
    for (int k = d; k <= place; ++k) {
        const int from = k < place ? k + 1 : d;
        moved.extents[k] = a.extents[from];
        moved.sourceStrides[k] = a.sourceStrides[from];
        moved.targetStrides[k] = a.targetStrides[from];
    }
    return moved;
}

template <class T, class Combine>
void runsAs(Stream& stream, const StridedArguments& a)
{
    if (a.rank == 0)
        return Combine{}(*static_cast<const T*>(a.source), *static_cast<T*>(a.target));
    if (a.rank == 1)
        return forEachPart(stream, a.count, kElementGrain, OneRun<T, Combine>{a});
    const Index n = a.extents[a.rank - 1];
    forEachPart(stream, a.count / n, kElementGrain / n + 1, ManyRuns<T, Combine>{a});
}

template <class T>
void copyAs(Stream& stream, const StridedArguments& a)
{
    const int dense = transposedDimension(a, 1);
    if (dense < 0)
        return runsAs<T, CopyNumber<T>>(stream, a);
    const Index n = a.extents[a.rank - 1], across = a.extents[dense];
    const Index bands = (across + TransposedBand<T>::kSquare - 1) / TransposedBand<T>::kSquare;
    forEach(stream, a.count / (n * across) * bands, TransposedBand<T>{movedToLastButOne(a, dense)},
            kElementGrain / (n * TransposedBand<T>::kSquare) + 1);
}

template <class T>
void addAs(Stream& stream, const StridedArguments& a)
{
    runsAs<T, AddNumber<T>>(stream, a);
}

#endif

void copyBody(Stream& stream, const StridedArguments& a)
{
    switch (a.elementBytes) {
    case 1:
        return copyAs<std::uint8_t>(stream, a);
    case 2:
        return copyAs<std::uint16_t>(stream, a);
    case 4:
        return copyAs<std::uint32_t>(stream, a);
    case 8:
        return copyAs<std::uint64_t>(stream, a);
    default:
        return copyAs<Unit16>(stream, a);
    }
}

void addBody(Stream& stream, const StridedArguments& a)
{
    withFloatType(a.type, [&](auto tag) { addAs<typename decltype(tag)::Type>(stream, a); });
}

template <class T>
struct GatherRow {
    RowsArguments a;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index row) const
    {
        const std::int32_t id = a.ids[row];
        const bool isThere = id >= 0 && id < a.tableRows;
        const T* from = static_cast<const T*>(a.from) + (isThere ? id * a.columns : 0);
        T* to = static_cast<T*>(a.to) + row * a.columns;
        team.template each<T>(a.columns, [&](auto at) VERGENCE_INLINE {
            using P = decltype(load<T>(from, at));
            store(to, at, isThere ? load<T>(from, at) : P{});
        });
    }
};

/// Adds, in the order of the ids, the rows that belong to one place.
template <class T, class Table>
struct ScatterRow {
    RowsArguments a;

#if defined(__CUDACC__)
    /// One team per row of the table looks through all ids.
    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index place) const
    {
#if defined(__CUDA_ARCH__)
        const int lane = team.lane % 32;
        for (Index i = 0; i < a.count; i += 32) {
            const bool isMine = i + lane < a.count && a.ids[i + lane] == place;
            for (unsigned left = __ballot_sync(0xffffffffu, isMine); left; left &= left - 1)
                addRow(team, i + __ffs(left) - 1, place, 0, a.columns);
        }
#endif
    }
#else
    static constexpr Index kColumns = 256;

    /// One task per 256 columns walks over all ids.
    VERGENCE_HD void operator()(Index band) const
    {
        const Index first = band * kColumns, left = a.columns - first;
        for (Index i = 0; i < a.count; ++i) {
            const std::int32_t id = a.ids[i];
            if (id >= 0 && id < a.tableRows)
                addRow(Team{}, i, id, first, left < kColumns ? left : kColumns);
        }
    }
#endif

private:
    template <class Group>
    VERGENCE_HD void addRow(const Group& team, Index i, Index place, Index first, Index n) const
    {
        using Real = Accumulator<T>;
        const T* from = static_cast<const T*>(a.from) + i * a.columns + first;
        Table* to = static_cast<Table*>(a.to) + place * a.columns + first;
        team.template each<T>(n, [&](auto at) VERGENCE_INLINE {
            store(to, at, loadAs<Real>(to, at) + load<T>(from, at));
        });
    }
};

void gatherBody(Stream& stream, const RowsArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        forEachRow<T>(stream, a.count, a.columns, GatherRow<T>{a});
    });
}

template <class T, class Table>
void scatterAs(Stream& stream, const RowsArguments& a)
{
#if defined(__CUDACC__)
    forEachRow<T>(stream, a.tableRows, a.columns, ScatterRow<T, Table>{a});
#else
    constexpr Index kColumns = ScatterRow<T, Table>::kColumns;
    forEach(stream, (a.columns + kColumns - 1) / kColumns, ScatterRow<T, Table>{a},
            kElementGrain / (kColumns * a.count) + 1);
#endif
}

void scatterBody(Stream& stream, const RowsArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        if (a.tableType == a.type)
            scatterAs<T, T>(stream, a);
        else
            scatterAs<T, Accumulator<T>>(stream, a);
    });
}

} // namespace

VERGENCE_REGISTER_KERNEL(copyStridedKernel, copyBody)
VERGENCE_REGISTER_KERNEL(addStridedKernel, addBody)
VERGENCE_REGISTER_KERNEL(gatherRowsKernel, gatherBody)
VERGENCE_REGISTER_KERNEL(scatterAddRowsKernel, scatterBody)

} // namespace vergence
