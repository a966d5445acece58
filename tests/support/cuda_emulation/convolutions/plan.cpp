#include "tests/support/cuda_emulation/convolutions/plan.h"

#include "tests/support/cuda_emulation/convolutions/handle.h"

namespace vergence::emulation::convolutions {

namespace {

constexpr std::int64_t kMostTensors = 1000;

MeaningPointer interpretPlan(const Descriptor& d)
{
    auto made = std::make_shared<Plan>();
    const auto handle = d.one<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
    const auto configuration = d.meant<Configuration>(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    made->engine = configuration->engine;
    made->device = findHandle(handle, "cudnnBackendFinalize")->device;
    demand(made->device == made->engine->graph->device,
           "a plan has a handle of another device than its graph");
    return made;
}

MeaningPointer interpretVariantPack(const Descriptor& d)
{
    auto made = std::make_shared<VariantPack>();
    const auto names = d.all<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const auto addresses = d.all<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    made->workspace = d.one<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, nullptr);
    demand(names.size() == addresses.size(),
           "a variant pack has not as many addresses as unique ids");
    for (std::size_t i = 0; i < names.size(); ++i) {
        const bool isNew = made->addresses.try_emplace(names[i], addresses[i]).second;
        demand(isNew, CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES,
               "a variant pack has unique id " + std::to_string(names[i]) + " twice");
    }
    return made;
}

} // namespace

const Kind kPlanKind = {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
                        "a plan",
                        {{CUDNN_ATTR_EXECUTION_PLAN_HANDLE, "the handle", CUDNN_TYPE_HANDLE,
                          AttributeRule::Required, 1},
                         {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                          "the configuration",
                          CUDNN_TYPE_BACKEND_DESCRIPTOR,
                          AttributeRule::Required,
                          1,
                          {CUDNN_BACKEND_ENGINECFG_DESCRIPTOR}},
                         {CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, "the size of the workspace",
                          CUDNN_TYPE_INT64, AttributeRule::ReadOnly, 1}},
                        interpretPlan};

const Kind kVariantPackKind = {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
                               "a variant pack",
                               {{CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, "the unique ids",
                                 CUDNN_TYPE_INT64, AttributeRule::Required, kMostTensors},
                                {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, "the addresses",
                                 CUDNN_TYPE_VOID_PTR, AttributeRule::Required, kMostTensors},
                                {CUDNN_ATTR_VARIANT_PACK_WORKSPACE, "the workspace",
                                 CUDNN_TYPE_VOID_PTR, AttributeRule::Optional, 1}},
                               interpretVariantPack};

bool Plan::answer(cudnnBackendAttributeName_t name, Answer& answer) const
{
    if (name != CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)
        return false;
    answer.give(std::vector{workspaceBytes()});
    return true;
}

} // namespace vergence::emulation::convolutions
