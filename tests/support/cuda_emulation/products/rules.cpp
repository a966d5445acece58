#include "tests/support/cuda_emulation/products/rules.h"

#include <bit>
#include <limits>

#include "tests/support/cuda_emulation/engine/settings.h"
#include "tests/support/cuda_emulation/products/overlaps.h"

namespace vergence::emulation {

namespace {

constexpr std::uintptr_t kWorkspaceAlignment = 256;

std::string numbered(const std::string& before, std::int64_t number, const std::string& after = "")
{
    return before + std::to_string(number) + after;
}

bool isMultiple(const void* pointer, std::uintptr_t of)
{
    return reinterpret_cast<std::uintptr_t>(pointer) % of == 0;
}

// --- descriptors
// -----------------------------------------------------------------------------------

Verdict verdictOnMatrix(const std::string& name, const Matrix& m, bool mayBroadcast)
{
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (m.order < CUBLASLT_ORDER_COL || m.order > CUBLASLT_ORDER_COL32_2R_4R4)
        return mistake(numbered(name + " has an unknown order, ", m.order));
    if (m.batchMode < CUBLASLT_BATCH_MODE_STRIDED ||
        m.batchMode > CUBLASLT_BATCH_MODE_POINTER_ARRAY)
        return mistake(numbered(name + " has an unknown batch mode, ", m.batchMode));
    if (m.planeOffset != 0)
        return mistake(name + " is real but has a plane of imaginary parts");
    if (m.rows <= 0 || m.columns <= 0)
        return mistake(
            numbered(numbered(name + " has ", m.rows, " rows and "), m.columns, " columns"));
    if (m.batches <= 0)
        return mistake(numbered(name + " is a batch of ", m.batches));
    const bool isBroadcast = mayBroadcast && m.stride == 0;
    if (m.stride < m.rows && !isBroadcast)
        return mistake(numbered(numbered(name + " has a leading dimension of ", m.stride, " for "),
                                m.rows, " rows"));
    if (sizeOf(m.type) < 2)
        return unsupported(numbered(name + " is of type ", m.type));
    if (m.order != CUBLASLT_ORDER_COL || m.batchMode != CUBLASLT_BATCH_MODE_STRIDED)
        return unsupported(name + " is not by columns, at equal distances");
    if (m.rows > most || m.columns > most)
        return unsupported(name + " is larger than 32 bits tell");
    if (m.batches > 1 && m.distance < 0)
        return unsupported(name + " has matrices at falling addresses");
    return {};
}

Verdict verdictOnExtents(const Problem& p)
{
    const Operation& o = p.operation;
    const std::int64_t m = o.transposeA ? p.a.columns : p.a.rows;
    const std::int64_t n = o.transposeB ? p.b.rows : p.b.columns;
    const std::int64_t k = o.transposeB ? p.b.columns : p.b.rows;
    if (k != p.k())
        return mistake(numbered(numbered("op(A) has ", p.k(), " columns but op(B) "), k, " rows"));
    for (const Matrix* result : {&p.c, &p.d}) {
        if (result->rows != m || result->columns != n)
            return mistake(std::string(result == &p.c ? "C" : "D") +
                           " has not the extents of op(A) op(B)");
    }
    for (const Matrix* matrix : {&p.a, &p.b, &p.c}) {
        if (matrix->batches != p.d.batches)
            return mistake("A, B, C and D are batches of different lengths");
    }
    if (overlapsItself(p.d))
        return mistake(numbered("matrices of D overlap: one begins ", p.d.distance,
                                " elements behind another"));
    return {};
}

Verdict verdictOnOperation(const Operation& o)
{
    for (const int transpose : {o.transposeA, o.transposeB, o.transposeC}) {
        if (transpose < CUBLAS_OP_N || transpose > CUBLAS_OP_CONJG)
            return mistake(numbered("unknown transposition ", transpose));
    }
    if (o.pointerMode < CUBLASLT_POINTER_MODE_HOST ||
        o.pointerMode > CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST)
        return mistake(numbered("unknown pointer mode ", o.pointerMode));
    if (o.fillMode < CUBLAS_FILL_MODE_LOWER || o.fillMode > CUBLAS_FILL_MODE_FULL)
        return mistake(numbered("unknown fill mode ", o.fillMode));
    if (o.scalesOrMeasures)
        return mistake("scales and largest values are for numbers of 8 bits");
    if (o.transposeA == CUBLAS_OP_CONJG || o.transposeB == CUBLAS_OP_CONJG || o.transposeC ||
        o.pointerMode != CUBLASLT_POINTER_MODE_HOST || o.fillMode != CUBLAS_FILL_MODE_FULL ||
        o.hasRareWishes)
        return unsupported("a rare attribute of the operation");
    return {};
}

/// The rows of the table "A, B, C, D types" that the emulation knows.
bool areSupportedTypes(const Problem& p)
{
    const auto type = p.a.type;
    if (p.b.type != type || p.c.type != p.d.type)
        return false;
    switch (p.operation.compute) {
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
        return p.operation.scale == CUDA_R_64F && type == CUDA_R_64F && p.d.type == CUDA_R_64F;
    case CUBLAS_COMPUTE_32F_FAST_TF32:
        return p.operation.scale == CUDA_R_32F && type == CUDA_R_32F && p.d.type == CUDA_R_32F;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
        return p.operation.scale == CUDA_R_32F && type != CUDA_R_64F &&
               (p.d.type == type || p.d.type == CUDA_R_32F);
    default:
        return false;
    }
}

Verdict verdictOnTypes(const Problem& p)
{
    if (!areSupportedTypes(p))
        return unsupported("no product of these types");
    if (p.a.type == CUDA_R_16BF && settings().capability < 80)
        return unsupported("the device has no products of bfloat16");
    return {};
}

// --- epilogues
// -------------------------------------------------------------------------------------

Verdict verdictOnBias(const Problem& p, const EpilogueParts& parts)
{
    const Operation& o = p.operation;
    if (p.biasType() != p.d.type)
        return unsupported("the bias is not of the result's type");
    if (p.d.batches == 1)
        return {};
    if (o.biasDistance < 0)
        return mistake(numbered("biases are ", o.biasDistance, " elements apart"));
    if (parts.writesBias() && o.biasDistance == 0)
        return unsupported("one gradient of the bias for a batch");
    if (parts.writesBias() && o.biasDistance < parts.biasLength(p))
        return mistake("gradients of biases overlap");
    return {};
}

Verdict verdictOnAux(const Problem& p, const EpilogueParts& parts)
{
    const Operation& o = p.operation;
    const std::int64_t unit = parts.hasMask() ? 128 : 8;
    if (o.auxStride < p.m() || o.auxStride % unit != 0)
        return mistake(numbered(numbered("a leading dimension of ", o.auxStride,
                                         " for the auxiliary matrix, which wants a multiple of "),
                                unit));
    if (p.d.batches > 1) {
        if (o.auxDistance % unit != 0)
            return mistake(numbered("auxiliary matrices are ", o.auxDistance, " elements apart"));
        if (!parts.isGradient() && overlapsItself(auxOf(p)))
            return mistake("auxiliary matrices overlap");
    }
    if (o.auxType >= 0 && (parts.hasMask() || o.auxType != static_cast<int>(p.d.type)))
        return unsupported("the auxiliary matrix is of another type");
    return {};
}

Verdict verdictOnEpilogue(const Problem& p)
{
    const EpilogueParts parts = partsOf(p.operation.epilogue);
    if (!parts.isKnown)
        return mistake(numbered("unknown epilogue ", p.operation.epilogue));
    if (p.isDouble() && (parts.hasAux || parts.writesBias()))
        return unsupported("no gradients of double precision");
    Verdict verdict;
    if (parts.usesBias())
        verdict = verdictOnBias(p, parts);
    if (!verdict && parts.hasAux)
        verdict = verdictOnAux(p, parts);
    return verdict;
}

// --- memory
// ----------------------------------------------------------------------------------------

Verdict verdictOnPlaces(const Operands& x, double beta, const Choice& choice)
{
    const void* const places[] = {x.a, x.b, x.c, x.d};
    for (std::size_t i = 0; i < 4; ++i) {
        const bool isUnread = i == 2 && beta == 0;
        const std::string name(1, "ABCD"[i]);
        if (!places[i] && !isUnread)
            return mistake(name + " is nowhere");
        if (!isMultiple(places[i], choice.alignments[i]))
            return mistake(numbered(name + " is not aligned to the ", choice.alignments[i],
                                    " bytes that the preference promised"));
    }
    return {};
}

Verdict verdictOnWorkspace(const Operands& x, const Choice& choice)
{
    const auto needed = static_cast<std::int64_t>(choice.workspaceBytes);
    if (x.workspaceBytes < choice.workspaceBytes)
        return mistake(numbered(
            numbered("a workspace of ", static_cast<std::int64_t>(x.workspaceBytes), " of "),
            needed, " bytes"));
    if (!x.workspace && needed > 0)
        return mistake(numbered("no workspace for ", needed, " bytes"));
    if (!isMultiple(x.workspace, kWorkspaceAlignment))
        return mistake("the workspace is not aligned to 256 bytes");
    return {};
}

Verdict verdictOnEpilogueMemory(const Problem& p)
{
    const EpilogueParts parts = partsOf(p.operation.epilogue);
    if (parts.usesBias() && !p.operation.bias)
        return mistake("the epilogue has no bias");
    if (parts.hasAux && !p.operation.aux)
        return mistake("the epilogue has no auxiliary matrix");
    if (!isEpilogueAligned(p))
        return mistake("bias or auxiliary matrix are aligned to less than their widest loads");
    return {};
}

/// Whether what is written is apart from all else.
Verdict verdictOnSharing(const Problem& p, const Operands& x, double beta)
{
    const EpilogueParts parts = partsOf(p.operation.epilogue);
    if (overlap(p.d, x.d, p.a, x.a) || overlap(p.d, x.d, p.b, x.b))
        return mistake("D overlaps an operand");
    if (x.c == x.d && p.c != p.d)
        return mistake("D is C in another layout");
    if (x.c != x.d && beta != 0 && overlap(p.d, x.d, p.c, x.c))
        return mistake("D overlaps C, which begins elsewhere");
    if (parts.usesBias() &&
        overlap(p.d, x.d,
                vectorOf(p.biasType(), parts.biasLength(p), p.d.batches, p.operation.biasDistance),
                p.operation.bias))
        return mistake("D overlaps the bias");
    if (parts.hasAux && overlap(p.d, x.d, auxOf(p), p.operation.aux))
        return mistake("D overlaps the auxiliary matrix");
    if (!x.workspace || x.workspaceBytes == 0)
        return {};
    const Matrix workspace = vectorOf(CUDA_R_8U, static_cast<std::int64_t>(x.workspaceBytes));
    const bool touches = overlap(workspace, x.workspace, p.a, x.a) ||
                         overlap(workspace, x.workspace, p.b, x.b) ||
                         overlap(workspace, x.workspace, p.d, x.d) ||
                         (beta != 0 && overlap(workspace, x.workspace, p.c, x.c));
    return touches ? Verdict(mistake("the workspace overlaps a matrix")) : Verdict();
}

} // namespace

Verdict verdictOn(const Problem& p)
{
    Verdict verdict = verdictOnOperation(p.operation);
    const struct {
        const char* name;
        const Matrix& matrix;
    } matrices[] = {{"A", p.a}, {"B", p.b}, {"C", p.c}, {"D", p.d}};
    for (const auto& [name, matrix] : matrices) {
        if (!verdict)
            verdict = verdictOnMatrix(name, matrix, &matrix == &p.c);
    }
    for (const auto rule : {verdictOnExtents, verdictOnTypes, verdictOnEpilogue}) {
        if (!verdict)
            verdict = rule(p);
    }
    return verdict;
}

Verdict verdictOn(const Preference& preference)
{
    for (const std::uint32_t alignment : preference.alignments) {
        if (!std::has_single_bit(alignment))
            return mistake(numbered("an alignment of ", alignment, " bytes"));
    }
    if (preference.reductionMask & ~std::uint32_t{CUBLASLT_REDUCTION_SCHEME_MASK})
        return mistake("an unknown reduction scheme");
    if (preference.searchMode != CUBLASLT_SEARCH_BEST_FIT || preference.hasRareWishes)
        return unsupported("a rare wish");
    return {};
}

Verdict verdictOn(const Problem& p, const Operands& x, const Choice& choice)
{
    if (choice.fingerprint != fingerprintOf(p))
        return mistake("the algorithm was chosen for another problem");
    if (!x.alpha || !x.beta)
        return mistake("no alpha or no beta");
    const double beta = scalarOf(p, x.beta);
    Verdict verdict = verdictOnPlaces(x, beta, choice);
    if (!verdict)
        verdict = verdictOnWorkspace(x, choice);
    if (!verdict)
        verdict = verdictOnEpilogueMemory(p);
    return verdict ? verdict : verdictOnSharing(p, x, beta);
}

} // namespace vergence::emulation
