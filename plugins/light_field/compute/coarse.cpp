#include "plugins/light_field/compute/coarse.h"

#include "core/base/error.h"
#include "plugins/light_field/compute/operator_storage.h"
#include "plugins/light_field/compute/vector_kernels.h"

namespace vergence::light_field {

Tensor coarsePlanes(Stream& stream, const TableOperator& op, const LaneScene& scene, int targetRays,
                    const SolverSettings& settings, const std::function<bool()>& isStopped)
{
    Optics half = op.optics();
    expects(half.panelResolution % 2 == 0 && half.renderResolution % 2 == 0,
            "coarsePlanes: panel and render resolution must be even");
    half.panelResolution /= 2;
    half.renderResolution /= 2;
    const auto small = std::make_shared<TableOperator>(stream, op.device(), half, op.eyeStates(),
                                                       op.raysPerPixel());
    const Targets targets = renderTargets(stream, op.device(), half, op.eyeStates(), targetRays,
                                          std::span(&scene, 1), isStopped);
    Solver solver(stream, small, targets, settings);
    while (!solver.isDone() && !isStopped())
        solver.iterate(stream);
    return enlarged(stream, solver.planes(stream));
}

Tensor enlarged(Stream& stream, const Tensor& planes)
{
    expects(planes.rank() == 4 && planes.extent(1) == planes.extent(2),
            "enlarged: the planes must be [K, R, R, L]");
    const Index side = planes.extent(1);
    const Tensor large =
        Tensor::empty(planes.device(), {planes.extent(0), 2 * side, 2 * side, planes.extent(3)});
    EnlargeArguments arguments;
    arguments.x = dataOf<const float>(planes);
    arguments.out = dataOf<float>(large);
    arguments.planes = planes.extent(0);
    arguments.side = static_cast<int>(side);
    arguments.lanes = static_cast<int>(planes.extent(3));
    enlargeKernel(stream, arguments);
    stream.synchronize();
    return large;
}

} // namespace vergence::light_field
