#include "tests/support/cuda_emulation/products/algorithms.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>

namespace vergence::emulation {

namespace {

constexpr Algorithm kAlgorithms[] = {
    {SumOrder::EvenThenOdd, 1, CUBLASLT_REDUCTION_SCHEME_NONE, 16, 64 << 10},
    {SumOrder::Descending, 1, CUBLASLT_REDUCTION_SCHEME_NONE, 1, 8 << 10},
    {SumOrder::Ascending, 2, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 1, 0},
    {SumOrder::Ascending, 1, CUBLASLT_REDUCTION_SCHEME_NONE, 1, 0},
    {SumOrder::Ascending, 4, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE, 1, 0},
    {SumOrder::Descending, 3, CUBLASLT_REDUCTION_SCHEME_INPLACE, 1, 1 << 10},
};

constexpr std::uint64_t kStart = 14695981039346656037ull;

/// FNV-1a over whole words, with a mix so that low bits depend on high ones.
std::uint64_t hashOf(std::initializer_list<std::uint64_t> words, std::uint64_t hash = kStart)
{
    for (const std::uint64_t word : words) {
        hash = (hash ^ word) * 1099511628211ull;
        hash ^= hash >> 29;
    }
    return hash;
}

std::uint64_t hashOf(const Matrix& m, std::uint64_t hash)
{
    const auto word = [](auto value) { return static_cast<std::uint64_t>(value); };
    return hashOf({word(m.type), word(m.order), word(m.rows), word(m.columns), word(m.stride),
                   word(m.batches), word(m.distance)},
                  hash);
}

std::uint64_t partBytes(const Algorithm& algorithm, const Problem& p)
{
    const bool areSums = algorithm.reduction == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    if (!areSums && algorithm.reduction != CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE)
        return 0;
    const std::uint64_t element = areSums ? (p.isDouble() ? 8 : 4) : sizeOf(p.d.type);
    const std::uint64_t bytes = static_cast<std::uint64_t>(algorithm.parts) * element *
                                static_cast<std::uint64_t>(p.m() * p.n() * p.d.batches);
    return (bytes + 255) / 256 * 256;
}

/// Whether all columns begin at multiples of `bytes`, if the matrix begins at one of `alignment`.
bool isAligned(const Matrix& m, std::uint32_t alignment, std::uint32_t bytes)
{
    const auto isMultiple = [&](std::int64_t elements) {
        return static_cast<std::uint64_t>(elements) * sizeOf(m.type) % bytes == 0;
    };
    return alignment % bytes == 0 && (m.columns == 1 || isMultiple(m.stride)) &&
           (m.batches == 1 || isMultiple(m.distance));
}

bool fits(const Algorithm& algorithm, const Problem& p, const Preference& preference)
{
    const Matrix* const matrices[] = {&p.a, &p.b, &p.c, &p.d};
    for (std::size_t i = 0; i < 4; ++i) {
        const Matrix& m = *matrices[i];
        const auto bytes = std::max<std::uint32_t>(algorithm.vectorBytes,
                                                   static_cast<std::uint32_t>(sizeOf(m.type)));
        if (!isAligned(m, preference.alignments[i], bytes))
            return false;
    }
    const bool mayReduce = algorithm.reduction == CUBLASLT_REDUCTION_SCHEME_NONE ||
                           (algorithm.reduction & preference.reductionMask) != 0;
    return mayReduce && p.k() >= algorithm.parts;
}

/// Last word of a sealed algorithm.
std::uint64_t sealOf(const cublasLtMatmulAlgo_t& a)
{
    return hashOf({a.data[0], a.data[1], a.data[2], a.data[3], a.data[4]});
}

} // namespace

std::uint64_t fingerprintOf(const Problem& p)
{
    const auto word = [](auto value) { return static_cast<std::uint64_t>(value); };
    const Operation& o = p.operation;
    std::uint64_t hash = hashOf({word(o.compute), word(o.scale), word(o.pointerMode),
                                 word(o.transposeA), word(o.transposeB), word(o.epilogue)});
    for (const Matrix* m : {&p.a, &p.b, &p.c, &p.d})
        hash = hashOf(*m, hash);
    const EpilogueParts parts = partsOf(o.epilogue);
    if (parts.usesBias())
        hash = hashOf({word(p.biasType()), word(p.d.batches > 1 ? o.biasDistance : 0)}, hash);
    return parts.hasAux ? hashOf(auxOf(p), hash) : hash;
}

std::vector<Choice> choicesFor(const Problem& p, const Preference& preference)
{
    std::vector<Choice> choices;
    if (!isEpilogueAligned(p))
        return choices;
    for (const Algorithm& algorithm : kAlgorithms) {
        const std::uint64_t bytes = algorithm.workspaceBytes + partBytes(algorithm, p);
        if (fits(algorithm, p, preference) && bytes <= preference.workspaceBytes)
            choices.push_back({&algorithm, fingerprintOf(p), preference.alignments, bytes});
    }
    return choices;
}

cublasLtMatmulAlgo_t sealed(const Choice& choice)
{
    const auto& at = choice.alignments;
    cublasLtMatmulAlgo_t a{};
    a.data[0] = static_cast<std::uint64_t>(choice.algorithm - kAlgorithms);
    a.data[1] = choice.fingerprint;
    a.data[2] = std::uint64_t{at[0]} << 32 | at[1];
    a.data[3] = std::uint64_t{at[2]} << 32 | at[3];
    a.data[4] = choice.workspaceBytes;
    a.data[5] = sealOf(a);
    return a;
}

std::optional<Choice> unsealed(const cublasLtMatmulAlgo_t& a)
{
    if (a.data[5] != sealOf(a))
        return std::nullopt;
    const auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); };
    const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
    return Choice{&kAlgorithms[a.data[0]],
                  a.data[1],
                  {high(a.data[2]), low(a.data[2]), high(a.data[3]), low(a.data[3])},
                  a.data[4]};
}

} // namespace vergence::emulation
