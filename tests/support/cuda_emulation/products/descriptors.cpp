#include "tests/support/cuda_emulation/products/descriptors.h"

#include <algorithm>
#include <initializer_list>

#include "tests/support/cuda_emulation/engine/handles.h"
#include "tests/support/cuda_emulation/products/attributes.h"

namespace vergence::emulation {

namespace {

constexpr AttributeKind kOperationKinds[] = {
    {CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, 4},
    {CUBLASLT_MATMUL_DESC_SCALE_TYPE, 4},
    {CUBLASLT_MATMUL_DESC_POINTER_MODE, 4},
    {CUBLASLT_MATMUL_DESC_TRANSA, 4},
    {CUBLASLT_MATMUL_DESC_TRANSB, 4},
    {CUBLASLT_MATMUL_DESC_TRANSC, 4},
    {CUBLASLT_MATMUL_DESC_FILL_MODE, 4, CUBLAS_FILL_MODE_FULL},
    {CUBLASLT_MATMUL_DESC_EPILOGUE, 4, CUBLASLT_EPILOGUE_DEFAULT},
    {CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8},
    {CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, 8},
    {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, 8},
    {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, 8},
    {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, 8},
    {CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, 8},
    {CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, 4},
    {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, 8},
    {CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, 8},
    {CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, 8},
    {CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, 8},
    {CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, 8},
    {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, 4, -1},
    {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, 8},
    {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, 8},
    {CUBLASLT_MATMUL_DESC_FAST_ACCUM, 1},
    {CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, 4, -1},
    {CUBLASLT_MATMUL_DESC_A_SCALE_MODE, 4},
    {CUBLASLT_MATMUL_DESC_B_SCALE_MODE, 4},
    {CUBLASLT_MATMUL_DESC_C_SCALE_MODE, 4},
    {CUBLASLT_MATMUL_DESC_D_SCALE_MODE, 4},
    {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE, 4},
    {CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, 8},
    {CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE, 4},
    {CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR, 8},
};

constexpr AttributeKind kLayoutKinds[] = {
    {CUBLASLT_MATRIX_LAYOUT_TYPE, 4},
    {CUBLASLT_MATRIX_LAYOUT_ORDER, 4, CUBLASLT_ORDER_COL},
    {CUBLASLT_MATRIX_LAYOUT_ROWS, 8},
    {CUBLASLT_MATRIX_LAYOUT_COLS, 8},
    {CUBLASLT_MATRIX_LAYOUT_LD, 8},
    {CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 4, 1},
    {CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 8},
    {CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, 8},
    {CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, 4, CUBLASLT_BATCH_MODE_STRIDED},
};

constexpr AttributeKind kPreferenceKinds[] = {
    {CUBLASLT_MATMUL_PREF_SEARCH_MODE, 4, CUBLASLT_SEARCH_BEST_FIT},
    {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 8},
    {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 4, CUBLASLT_REDUCTION_SCHEME_MASK},
    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 4, 256},
    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 4, 256},
    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 4, 256},
    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 4, 256},
    {CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, 4},
    {CUBLASLT_MATMUL_PREF_IMPL_MASK, 8, -1},
};

using Descriptors = Handles<Attributes>;

// Never taken down: static objects of the caller may destroy descriptors as the process ends.
Descriptors& layouts()
{
    static auto* all = new Descriptors(0xb2, "a layout of a matrix");
    return *all;
}
Descriptors& operations()
{
    static auto* all = new Descriptors(0xb3, "an operation");
    return *all;
}
Descriptors& preferences()
{
    static auto* all = new Descriptors(0xb4, "a preference");
    return *all;
}

template <class T>
T as(const Attributes& values, int id)
{
    if constexpr (std::is_pointer_v<T>)
        return reinterpret_cast<T>(values[id]);
    else
        return static_cast<T>(values[id]);
}

bool isAnySet(const Attributes& values, std::initializer_list<int> ids)
{
    return std::ranges::any_of(ids, [&](int id) { return values[id] != 0; });
}

template <class Handle>
cublasStatus_t create(const Call& call, Descriptors& objects, Handle* made,
                      const Attributes& values)
{
    if (const auto failure = call.injected())
        return *failure;
    if (!made)
        return call.end(mistake("nowhere to write the descriptor"));
    *made = static_cast<Handle>(objects.add(std::make_shared<Attributes>(values)));
    return CUBLAS_STATUS_SUCCESS;
}

/// Null is destroyed without complaint, as by the library.
template <class Handle>
cublasStatus_t destroy(const Call& call, Descriptors& objects, Handle handle)
{
    if (handle && !objects.find(handle, call.name()))
        return call.end(missing(handle, "descriptor"));
    objects.remove(handle);
    return CUBLAS_STATUS_SUCCESS;
}

template <class Handle>
cublasStatus_t set(const Call& call, Descriptors& objects, Handle handle, int id, const void* value,
                   std::size_t bytes)
{
    if (const auto failure = call.injected())
        return *failure;
    const auto values = objects.find(handle, call.name());
    return call.end(values ? values->set(id, value, bytes) : missing(handle, "descriptor"));
}

template <class Handle>
cublasStatus_t read(const Call& call, Descriptors& objects, Handle handle, int id, void* value,
                    std::size_t bytes, std::size_t* written)
{
    const auto values = objects.find(handle, call.name());
    return call.end(values ? values->read(id, value, bytes, written)
                           : missing(handle, "descriptor"));
}

} // namespace

std::optional<Matrix> matrixOf(cublasLtMatrixLayout_t layout, const Call& call)
{
    const auto v = layouts().find(layout, call.name());
    if (!v)
        return std::nullopt;
    Matrix m;
    m.type = as<cudaDataType_t>(*v, CUBLASLT_MATRIX_LAYOUT_TYPE);
    m.order = as<int>(*v, CUBLASLT_MATRIX_LAYOUT_ORDER);
    m.rows = (*v)[CUBLASLT_MATRIX_LAYOUT_ROWS];
    m.columns = (*v)[CUBLASLT_MATRIX_LAYOUT_COLS];
    m.stride = (*v)[CUBLASLT_MATRIX_LAYOUT_LD];
    m.batches = as<int>(*v, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
    m.distance = m.batches == 1 ? 0 : (*v)[CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET];
    m.planeOffset = (*v)[CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET];
    m.batchMode = as<int>(*v, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE);
    return m;
}

std::optional<Operation> operationOf(cublasLtMatmulDesc_t operation, const Call& call)
{
    const auto v = operations().find(operation, call.name());
    if (!v)
        return std::nullopt;
    Operation o;
    o.compute = as<cublasComputeType_t>(*v, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE);
    o.scale = as<cudaDataType_t>(*v, CUBLASLT_MATMUL_DESC_SCALE_TYPE);
    o.pointerMode = as<int>(*v, CUBLASLT_MATMUL_DESC_POINTER_MODE);
    o.transposeA = as<int>(*v, CUBLASLT_MATMUL_DESC_TRANSA);
    o.transposeB = as<int>(*v, CUBLASLT_MATMUL_DESC_TRANSB);
    o.transposeC = as<int>(*v, CUBLASLT_MATMUL_DESC_TRANSC);
    o.fillMode = as<int>(*v, CUBLASLT_MATMUL_DESC_FILL_MODE);
    o.epilogue = as<std::uint32_t>(*v, CUBLASLT_MATMUL_DESC_EPILOGUE);
    o.bias = as<const void*>(*v, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
    o.biasDistance = (*v)[CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE];
    o.biasType = as<int>(*v, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
    o.aux = as<void*>(*v, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
    o.auxStride = (*v)[CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD];
    o.auxDistance = (*v)[CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE];
    o.auxType = as<int>(*v, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE);
    o.scalesOrMeasures = isAnySet(
        *v,
        {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
         CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER,
         CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER,
         CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER});
    o.hasRareWishes = isAnySet(
        *v, {CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, CUBLASLT_MATMUL_DESC_FAST_ACCUM,
             CUBLASLT_MATMUL_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_DESC_B_SCALE_MODE,
             CUBLASLT_MATMUL_DESC_C_SCALE_MODE, CUBLASLT_MATMUL_DESC_D_SCALE_MODE,
             CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE, CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE,
             CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET});
    return o;
}

std::optional<Preference> preferenceOf(cublasLtMatmulPreference_t preference, const Call& call)
{
    const auto v = preferences().find(preference, call.name());
    if (!v)
        return std::nullopt;
    Preference p;
    p.searchMode = as<int>(*v, CUBLASLT_MATMUL_PREF_SEARCH_MODE);
    p.workspaceBytes = as<std::uint64_t>(*v, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
    p.reductionMask = as<std::uint32_t>(*v, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
    p.alignments = {as<std::uint32_t>(*v, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES),
                    as<std::uint32_t>(*v, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES),
                    as<std::uint32_t>(*v, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES),
                    as<std::uint32_t>(*v, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES)};
    p.hasRareWishes = isAnySet(*v, {CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT}) ||
                      (*v)[CUBLASLT_MATMUL_PREF_IMPL_MASK] != -1;
    return p;
}

} // namespace vergence::emulation

using namespace vergence::emulation;

extern "C" {

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    const Call call("cublasLtMatmulDescCreate");
    Attributes values(kOperationKinds);
    values[CUBLASLT_MATMUL_DESC_COMPUTE_TYPE] = compute;
    values[CUBLASLT_MATMUL_DESC_SCALE_TYPE] = scale;
    return create(call, operations(), made, values);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation)
{
    return destroy(Call("cublasLtMatmulDescDestroy"), operations(), operation);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes)
{
    return set(Call("cublasLtMatmulDescSetAttribute"), operations(), operation, attribute, value,
               bytes);
}

cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t attribute, void* value,
                                              size_t bytes, size_t* written)
{
    return read(Call("cublasLtMatmulDescGetAttribute"), operations(), operation, attribute, value,
                bytes, written);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t stride)
{
    const Call call("cublasLtMatrixLayoutCreate");
    Attributes values(kLayoutKinds);
    values[CUBLASLT_MATRIX_LAYOUT_TYPE] = type;
    values[CUBLASLT_MATRIX_LAYOUT_ROWS] = static_cast<std::int64_t>(rows);
    values[CUBLASLT_MATRIX_LAYOUT_COLS] = static_cast<std::int64_t>(columns);
    values[CUBLASLT_MATRIX_LAYOUT_LD] = stride;
    return create(call, layouts(), made, values);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    return destroy(Call("cublasLtMatrixLayoutDestroy"), layouts(), layout);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, size_t bytes)
{
    return set(Call("cublasLtMatrixLayoutSetAttribute"), layouts(), layout, attribute, value,
               bytes);
}

cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                void* value, size_t bytes, size_t* written)
{
    return read(Call("cublasLtMatrixLayoutGetAttribute"), layouts(), layout, attribute, value,
                bytes, written);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made)
{
    return create(Call("cublasLtMatmulPreferenceCreate"), preferences(), made,
                  Attributes(kPreferenceKinds));
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    return destroy(Call("cublasLtMatmulPreferenceDestroy"), preferences(), preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes)
{
    return set(Call("cublasLtMatmulPreferenceSetAttribute"), preferences(), preference, attribute,
               value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    void* value, size_t bytes, size_t* written)
{
    return read(Call("cublasLtMatmulPreferenceGetAttribute"), preferences(), preference, attribute,
                value, bytes, written);
}
}
