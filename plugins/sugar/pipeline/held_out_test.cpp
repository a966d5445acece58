#include "plugins/sugar/pipeline/held_out_test.h"

#include "core/base/log.h"
#include "plugins/sugar/pipeline/step_metrics.h"

namespace vergence::sugar {

namespace {

bool hasTests(const Workspace& workspace)
{
    for (std::size_t i = 0; i < workspace.isTest.size(); ++i) {
        if (workspace.isTest[i] && !workspace.pictures->isLeftOut(i))
            return true;
    }
    return false;
}

} // namespace

bool isTestDue(const Workspace& workspace, std::int64_t step, bool isStageEnd)
{
    const auto& done = workspace.evaluations;
    if (!hasTests(workspace) || step == 0 || (!done.empty() && done.back().step == step))
        return false;
    const int every = workspace.config.evalEvery;
    return isStageEnd || (every > 0 && step % every == 0);
}

bool testHeldOut(RunContext& context, Workspace& workspace, const Gaussians& gaussians,
                 const RasterSettings& settings, std::int64_t step)
{
    Evaluator evaluator(context.device(), workspace.pictures);
    EvaluationResult result;
    result.step = step;
    result.gaussians = gaussians.count;
    for (std::size_t i = 0; i < workspace.isTest.size(); ++i) {
        if (!workspace.isTest[i])
            continue;
        if (context.stopRequested())
            return false;
        if (auto measured = evaluator.measure(context.stream(), gaussians, settings, i))
            result.pictures.push_back(std::move(*measured));
    }
    if (result.pictures.empty()) // none could be read
        return true;
    recordTest(context, result);
    log("sugar").info("Step {}: held-out PSNR {:.2f} dB, SSIM {:.4f}, {} Gaussians.", result.step,
                      result.meanPsnr(), result.meanSsim(), result.gaussians);
    workspace.evaluations.push_back(std::move(result));
    return true;
}

} // namespace vergence::sugar
