#pragma once

#include "tests/cuda_emulation/product_bench.h"
#include "tests/support/cuda_emulation/engine/settings.h"

namespace vergence::test {

struct WrongCall {
    const char* name;
    cublasStatus_t status;
    bool isFinding;
    void (*spoil)(SmallProduct& x);
};

inline constexpr cublasStatus_t kInvalid = CUBLAS_STATUS_INVALID_VALUE;
inline constexpr cublasStatus_t kUnsupported = CUBLAS_STATUS_NOT_SUPPORTED;

/// Wrong when algorithms are asked for.
inline const WrongCall kWrongQuestions[] = {
    {"no handle", CUBLAS_STATUS_NOT_INITIALIZED, true,
     [](SmallProduct& x) {
         cublasLtDestroy(x.bench.handle);
         x.bench.handle = nullptr;
     }},
    {"stale handle", kInvalid, true, [](SmallProduct& x) { cublasLtDestroy(x.bench.handle); }},
    {"handle of another device", kInvalid, true, [](SmallProduct&) { cudaSetDevice(1); }},
    {"stale operation", kInvalid, true,
     [](SmallProduct& x) { cublasLtMatmulDescDestroy(x.bench.operation); }},
    {"stale layout", kInvalid, true,
     [](SmallProduct& x) { cublasLtMatrixLayoutDestroy(x.bench.layouts[1]); }},
    {"stale preference", kInvalid, true,
     [](SmallProduct& x) { cublasLtMatmulPreferenceDestroy(x.bench.preference); }},
    {"no algorithm wanted", kInvalid, true, [](SmallProduct& x) { x.bench.wanted = 0; }},
    {"narrow leading dimension", kInvalid, true,
     [](SmallProduct& x) {
         x.bench.set(x.bench.layouts[0], CUBLASLT_MATRIX_LAYOUT_LD, std::int64_t{15});
     }},
    {"no rows", kInvalid, true,
     [](SmallProduct& x) {
         x.bench.set(x.bench.layouts[0], CUBLASLT_MATRIX_LAYOUT_ROWS, std::uint64_t{0});
     }},
    {"other inner extent", kInvalid, true,
     [](SmallProduct& x) {
         x.bench.set(x.bench.layouts[0], CUBLASLT_MATRIX_LAYOUT_COLS, std::uint64_t{31});
     }},
    {"other extents of D", kInvalid, true,
     [](SmallProduct& x) {
         x.bench.set(x.bench.layouts[3], CUBLASLT_MATRIX_LAYOUT_COLS, std::uint64_t{7});
     }},
    {"empty batch", kInvalid, true,
     [](SmallProduct& x) {
         x.bench.set(x.bench.layouts[0], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{0});
     }},
    {"batches of different lengths", kInvalid, true,
     [](SmallProduct& x) {
         x.bench.set(x.bench.layouts[1], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{2});
     }},
    {"overlapping results", kInvalid, true,
     [](SmallProduct& x) {
         for (const auto layout : x.bench.layouts) {
             x.bench.set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{2});
             x.bench.set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, std::int64_t{127});
         }
     }},
    {"imaginary plane", kInvalid, true,
     [](SmallProduct& x) {
         x.bench.set(x.bench.layouts[0], CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, std::int64_t{512});
     }},
    {"unknown order", kInvalid, true,
     [](SmallProduct& x) {
         x.bench.set(x.bench.layouts[0], CUBLASLT_MATRIX_LAYOUT_ORDER, std::int32_t{9});
     }},
    {"by rows", kUnsupported, false,
     [](SmallProduct& x) {
         x.bench.set(x.bench.layouts[0], CUBLASLT_MATRIX_LAYOUT_ORDER,
                     std::int32_t{CUBLASLT_ORDER_ROW});
     }},
    {"unknown transposition", kInvalid, true,
     [](SmallProduct& x) { x.bench.set(CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t{7}); }},
    {"scalars on the device", kUnsupported, false,
     [](SmallProduct& x) {
         x.bench.set(CUBLASLT_MATMUL_DESC_POINTER_MODE, std::int32_t{CUBLASLT_POINTER_MODE_DEVICE});
     }},
    {"scaled F32", kInvalid, true,
     [](SmallProduct& x) { x.bench.set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, x.bench.placeA); }},
    {"operands of two types", kUnsupported, false,
     [](SmallProduct& x) {
         x.bench.set(x.bench.layouts[0], CUBLASLT_MATRIX_LAYOUT_TYPE, std::uint32_t{CUDA_R_16F});
     }},
    {"C and D of two types", kUnsupported, false,
     [](SmallProduct& x) {
         x.bench.set(x.bench.layouts[3], CUBLASLT_MATRIX_LAYOUT_TYPE, std::uint32_t{CUDA_R_64F});
     }},
    {"F32 to F16", kUnsupported, false,
     [](SmallProduct& x) {
         for (const std::size_t i : {2, 3})
             x.bench.set(x.bench.layouts[i], CUBLASLT_MATRIX_LAYOUT_TYPE,
                         std::uint32_t{CUDA_R_16F});
     }},
    {"scale of another type", kUnsupported, false,
     [](SmallProduct& x) {
         x.bench.set(CUBLASLT_MATMUL_DESC_SCALE_TYPE, std::int32_t{CUDA_R_64F});
     }},
    {"sums of another type", kUnsupported, false,
     [](SmallProduct& x) {
         x.bench.set(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, std::int32_t{CUBLAS_COMPUTE_64F});
     }},
    {"BF16 before Ampere", kUnsupported, false,
     [](SmallProduct& x) {
         emulation::settings().capability = 75;
         for (const auto layout : x.bench.layouts)
             x.bench.set(layout, CUBLASLT_MATRIX_LAYOUT_TYPE, std::uint32_t{CUDA_R_16BF});
     }},
    {"unknown epilogue", kInvalid, true,
     [](SmallProduct& x) { x.bench.set(CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{3}); }},
    {"bias of another type", kUnsupported, false,
     [](SmallProduct& x) {
         x.bench.setBias(CUBLASLT_EPILOGUE_BIAS, x.bias.at());
         x.bench.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, std::int32_t{CUDA_R_16F});
     }},
    {"bias aligned to 8 bytes", kUnsupported, false,
     [](SmallProduct& x) { x.bench.setBias(CUBLASLT_EPILOGUE_BIAS, x.bias.at(2)); }},
    {"no leading dimension of aux", kInvalid, true,
     [](SmallProduct& x) { x.bench.setAux(CUBLASLT_EPILOGUE_GELU_AUX, x.aux.at(), 0); }},
    {"aux not by eights", kInvalid, true,
     [](SmallProduct& x) { x.bench.setAux(CUBLASLT_EPILOGUE_GELU_AUX, x.aux.at(), 20); }},
    {"mask not by 128", kInvalid, true,
     [](SmallProduct& x) { x.bench.setAux(CUBLASLT_EPILOGUE_RELU_AUX, x.aux.at(), 64); }},
    {"alignment that is no power of two", kInvalid, true,
     [](SmallProduct& x) {
         x.bench.wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, std::uint32_t{24});
     }},
    {"alignment below an element", kUnsupported, false,
     [](SmallProduct& x) {
         x.bench.wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, std::uint32_t{2});
     }},
    {"search among one's own", kUnsupported, false,
     [](SmallProduct& x) {
         x.bench.wish(CUBLASLT_MATMUL_PREF_SEARCH_MODE,
                      std::uint32_t{CUBLASLT_SEARCH_LIMITED_BY_ALGO_ID});
     }},
};

/// Wrong when the product is called for, with a good algorithm.
inline const WrongCall kWrongCalls[] = {
    {"stale handle", kInvalid, true, [](SmallProduct& x) { cublasLtDestroy(x.bench.handle); }},
    {"stale operation", kInvalid, true,
     [](SmallProduct& x) { cublasLtMatmulDescDestroy(x.bench.operation); }},
    {"stale layout", kInvalid, true,
     [](SmallProduct& x) { cublasLtMatrixLayoutDestroy(x.bench.layouts[3]); }},
    {"no alpha", kInvalid, true, [](SmallProduct& x) { x.bench.hasAlpha = false; }},
    {"no beta", kInvalid, true, [](SmallProduct& x) { x.bench.hasBeta = false; }},
    {"no A", kInvalid, true, [](SmallProduct& x) { x.bench.placeA = nullptr; }},
    {"no D", kInvalid, true, [](SmallProduct& x) { x.bench.placeD = nullptr; }},
    {"no C to add", kInvalid, true,
     [](SmallProduct& x) {
         x.bench.placeC = nullptr;
         x.bench.beta = 1;
     }},
    {"A less aligned than promised", kInvalid, true,
     [](SmallProduct& x) { x.bench.placeA = x.numbers.a.at(4); }},
    {"algorithm of other layouts", kInvalid, true,
     [](SmallProduct& x) {
         x.bench.set(x.bench.layouts[0], CUBLASLT_MATRIX_LAYOUT_LD, std::int64_t{32});
     }},
    {"algorithm of another epilogue", kInvalid, true,
     [](SmallProduct& x) {
         x.bench.set(CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{CUBLASLT_EPILOGUE_RELU});
     }},
    {"algorithm of another precision", kInvalid, true,
     [](SmallProduct& x) {
         x.bench.set(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, std::int32_t{CUBLAS_COMPUTE_32F_FAST_TF32});
     }},
    {"algorithm of nobody", kInvalid, true, [](SmallProduct& x) { x.bench.found[0].algo = {}; }},
    {"changed algorithm", kInvalid, true,
     [](SmallProduct& x) { x.bench.found[0].algo.data[4] = 0; }},
    {"no workspace", kInvalid, true, [](SmallProduct& x) { x.bench.workspace = nullptr; }},
    {"small workspace", kInvalid, true,
     [](SmallProduct& x) { x.bench.workspaceBytes = x.bench.found[0].workspaceSize - 1; }},
    {"workspace aligned to 128 bytes", kInvalid, true,
     [](SmallProduct& x) {
         x.bench.workspace = x.bench.memory.at(128);
         x.bench.workspaceBytes -= 128;
     }},
    {"workspace over D", kInvalid, true,
     [](SmallProduct& x) { x.bench.placeC = x.bench.placeD = x.bench.memory.at(256); }},
    {"D over A", kInvalid, true,
     [](SmallProduct& x) { x.bench.placeC = x.bench.placeD = x.numbers.a.at(64); }},
    {"D over a part of C", kInvalid, true,
     [](SmallProduct& x) {
         x.bench.placeC = x.numbers.a.at();
         x.bench.placeD = x.numbers.a.at(64);
         x.bench.placeA = x.numbers.d.at();
         x.bench.beta = 1;
     }},
};

/// Wrong when a product with an epilogue is called for; algorithms were asked for with all it
/// needs.
inline const WrongCall kWrongEpilogues[] = {
    {"no bias", kInvalid, true,
     [](SmallProduct& x) { x.bench.setBias(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, nullptr); }},
    {"bias aligned to 4 bytes", kInvalid, true,
     [](SmallProduct& x) { x.bench.setBias(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, x.bias.at(1)); }},
    {"D over the bias", kInvalid, true,
     [](SmallProduct& x) { x.bench.setBias(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, x.numbers.d.at(64)); }},
    {"no aux", kInvalid, true,
     [](SmallProduct& x) { x.bench.setAux(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, nullptr, 16); }},
    {"misaligned aux", kInvalid, true,
     [](SmallProduct& x) { x.bench.setAux(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, x.aux.at(8), 16); }},
    {"aux over D", kInvalid, true,
     [](SmallProduct& x) {
         x.bench.setAux(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, x.numbers.d.at(), 16);
     }},
    {"other leading dimension of aux", kInvalid, true,
     [](SmallProduct& x) { x.bench.setAux(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, x.aux.at(), 24); }},
};

} // namespace vergence::test
