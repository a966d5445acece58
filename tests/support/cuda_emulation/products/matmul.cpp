#include "tests/support/cuda_emulation/engine/streams.h"
#include "tests/support/cuda_emulation/products/handle.h"
#include "tests/support/cuda_emulation/products/product.h"
#include "tests/support/cuda_emulation/products/rules.h"

namespace vergence::emulation {

namespace {

/// What the descriptors of a call describe; C is as D where it has none.
Verdict readProblem(const Call& call, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
                    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                    Problem& problem)
{
    const auto described = operationOf(operation, call);
    if (!described)
        return missing(operation, "operation");
    problem.operation = *described;
    const struct {
        const char* name;
        cublasLtMatrixLayout_t layout;
        Matrix& matrix;
    } layouts[] = {
        {"A", a, problem.a}, {"B", b, problem.b}, {"C", c ? c : d, problem.c}, {"D", d, problem.d}};
    for (const auto& [name, layout, matrix] : layouts) {
        const auto found = matrixOf(layout, call);
        if (!found)
            return missing(layout, std::string("layout of ") + name);
        matrix = *found;
    }
    return verdictOn(problem);
}

Verdict findChoices(const Call& call, const Problem& problem, cublasLtMatmulPreference_t preference,
                    std::vector<Choice>& choices)
{
    const auto wishes = preferenceOf(preference, call);
    if (!wishes)
        return missing(preference, "preference");
    if (const Verdict verdict = verdictOn(*wishes))
        return verdict;
    choices = choicesFor(problem, *wishes);
    return choices.empty() ? Verdict(unsupported("no algorithm")) : Verdict();
}

/// The algorithm of a call; without one the library chooses for the memory it is given.
Verdict chooseFor(const Problem& problem, const Operands& operands,
                  const cublasLtMatmulAlgo_t* algorithm, std::optional<Choice>& choice)
{
    if (algorithm) {
        choice = unsealed(*algorithm);
        return choice ? Verdict() : Verdict(mistake("the algorithm comes from no heuristic"));
    }
    Preference wishes{};
    wishes.workspaceBytes = operands.workspaceBytes;
    wishes.reductionMask = CUBLASLT_REDUCTION_SCHEME_MASK;
    const void* const places[] = {operands.a, operands.b, operands.c, operands.d};
    for (std::size_t i = 0; i < 4; ++i) {
        const auto bits = reinterpret_cast<std::uintptr_t>(places[i]) | 256u;
        wishes.alignments[i] = static_cast<std::uint32_t>(bits & (~bits + 1));
    }
    const auto choices = choicesFor(problem, wishes);
    if (choices.empty())
        return unsupported("no algorithm");
    choice = choices.front();
    return {};
}

float wavesOf(const Problem& p)
{
    constexpr double tile = 128 * 128, processors = 132;
    return static_cast<float>(static_cast<double>(p.m() * p.n() * p.d.batches) /
                              (tile * processors));
}

Verdict queue(const Problem& problem, const Operands& operands,
              const cublasLtMatmulAlgo_t* algorithm, cudaStream_t stream)
{
    std::optional<Choice> choice;
    Verdict verdict = chooseFor(problem, operands, algorithm, choice);
    if (!verdict)
        verdict = verdictOn(problem, operands, *choice);
    if (verdict)
        return verdict;
    if (refusalOfLaunch(stream, "cublasLtMatmul") != 0)
        return Refusal{CUBLAS_STATUS_EXECUTION_FAILED, "the stream takes no work", false};
    Operands places = operands;
    places.alpha = places.beta = nullptr;
    const Product product{problem,
                          places,
                          scalarOf(problem, operands.alpha),
                          scalarOf(problem, operands.beta),
                          choice->algorithm,
                          choice->workspaceBytes};
    issue(streamOf(stream), [product] { compute(product); });
    return {};
}

} // namespace

} // namespace vergence::emulation

using namespace vergence::emulation;

extern "C" {

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle,
                                              cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* count)
{
    const Call call("cublasLtMatmulAlgoGetHeuristic");
    if (const auto failure = call.injected())
        return *failure;
    if (const Verdict verdict = verdictOn(handle, call))
        return call.end(verdict);
    if (wanted <= 0 || !results || !count)
        return call.end(mistake("nowhere to write algorithms"));
    *count = 0;
    Problem problem;
    std::vector<Choice> choices;
    Verdict verdict = readProblem(call, operation, a, b, c, d, problem);
    if (!verdict)
        verdict = findChoices(call, problem, preference, choices);
    for (const Choice& choice : choices) {
        if (*count == wanted)
            break;
        cublasLtMatmulHeuristicResult_t& result = results[(*count)++];
        result = {};
        result.algo = sealed(choice);
        result.workspaceSize = choice.workspaceBytes;
        result.state = CUBLAS_STATUS_SUCCESS;
        result.wavesCount = wavesOf(problem);
    }
    return call.end(verdict);
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result)
{
    const Call call("cublasLtMatmulAlgoCheck");
    if (const auto failure = call.injected())
        return *failure;
    if (const Verdict verdict = verdictOn(handle, call))
        return call.end(verdict);
    if (!algorithm || !result)
        return call.end(mistake("no algorithm, or nowhere to write what it needs"));
    Problem problem;
    if (const Verdict verdict = readProblem(call, operation, a, b, c, d, problem))
        return call.end(verdict);
    // What is no algorithm is what the question is about, and no mistake of the caller.
    const auto choice = unsealed(*algorithm);
    if (!choice || choice->fingerprint != fingerprintOf(problem))
        return CUBLAS_STATUS_INVALID_VALUE;
    *result = {};
    result->algo = *algorithm;
    result->workspaceSize = choice->workspaceBytes;
    result->state = CUBLAS_STATUS_SUCCESS;
    result->wavesCount = wavesOf(problem);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                              const void* alpha, const void* A, cublasLtMatrixLayout_t a,
                              const void* B, cublasLtMatrixLayout_t b, const void* beta,
                              const void* C, cublasLtMatrixLayout_t c, void* D,
                              cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t* algorithm,
                              void* workspace, size_t workspaceBytes, cudaStream_t stream)
{
    const Call call("cublasLtMatmul");
    if (const auto failure = call.injected())
        return *failure;
    Problem problem;
    Verdict verdict = verdictOn(handle, call);
    if (!verdict)
        verdict = readProblem(call, operation, a, b, c, d, problem);
    if (!verdict)
        verdict =
            queue(problem, {A, B, C, D, alpha, beta, workspace, workspaceBytes}, algorithm, stream);
    return call.end(verdict);
}
}
