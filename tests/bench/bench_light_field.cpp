// How long the light-field lab's passes take. Rows named Reference run the plain drivers on one
// thread, in the same process, so that a busy machine slows both alike; read medians
// (--benchmark_repetitions=5 --benchmark_report_aggregates_only).

#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/compute/device.h"
#include "plugins/light_field/compute/eye_view.h"
#include "plugins/light_field/compute/ground_truth.h"
#include "plugins/light_field/compute/seed_operator.h"
#include "plugins/light_field/compute/solver.h"
#include "tests/bench/bench_device.h"

namespace vergence::light_field {

namespace {

constexpr int kRays = 16;

/// A device with its stream; one thread for references.
struct Machine {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream;

    explicit Machine(bool reference)
        : device(reference ? makeCpuDevice(1) : bench::benchDevice(0)),
          stream(device->createStream())
    {
    }
};

Optics display(int resolution, int panel)
{
    Optics optics;
    optics.focalLengths = focalLengthsUniformInVergence(optics, 8, 140, 220);
    optics.renderResolution = resolution;
    optics.panelResolution = panel;
    return optics;
}

/// Demo (W 256, R 512) or standard (W 512, R 1024) with three states; tensors for one pass.
struct Passes {
    Machine machine;
    std::shared_ptr<TableOperator> op;
    Tensor x, target, images, residual, gradient;
    int lanes;

    Passes(int resolution, int laneCount, bool reference) : machine(reference), lanes(laneCount)
    {
        op = std::make_shared<TableOperator>(*machine.stream, machine.device,
                                             display(resolution, 2 * resolution),
                                             trainingStates({}), kRays);
        op->usePlainDrivers(reference);
        x = Tensor::zeros(*machine.stream, machine.device, {op->unknowns(), lanes});
        target = Tensor::zeros(*machine.stream, machine.device, {op->measurements(), lanes});
        images = Tensor::zeros(*machine.stream, machine.device, {op->measurements(), lanes});
        residual = Tensor::zeros(*machine.stream, machine.device, {op->measurements(), lanes});
        gradient = Tensor::zeros(*machine.stream, machine.device, {op->unknowns(), lanes});
        op->adjoint(*machine.stream, residual, gradient); // makes the lists
    }

    void report(benchmark::State& state) const
    {
        state.counters["rays/s"] = benchmark::Counter(
            op->raysPerPass() * lanes, benchmark::Counter::kIsIterationInvariantRate);
    }
};

void forward(benchmark::State& state, int resolution, bool reference)
{
    Passes p(resolution, static_cast<int>(state.range(0)), reference);
    bench::turns(state, *p.machine.stream, [&] {
        p.op->residual(*p.machine.stream, p.x, p.target, {}, p.images, p.residual);
    });
    p.report(state);
}

void adjoint(benchmark::State& state, int resolution, bool reference)
{
    Passes p(resolution, static_cast<int>(state.range(0)), reference);
    bench::turns(state, *p.machine.stream,
                 [&] { p.op->adjoint(*p.machine.stream, p.residual, p.gradient); });
    p.report(state);
}

std::vector<LaneScene> boards(int lanes)
{
    if (lanes == 4)
        return {{checkerboardScene({}), 3}};
    std::vector<LaneScene> scenes;
    for (int i = 0; i < lanes; ++i)
        scenes.push_back({checkerboardScene({.n = 26 + 2 * i}), 1});
    return scenes;
}

void iteration(benchmark::State& state, int resolution, bool reference)
{
    const Machine machine(reference);
    const Optics optics = display(resolution, 2 * resolution);
    const auto states = trainingStates({});
    const auto op =
        std::make_shared<TableOperator>(*machine.stream, machine.device, optics, states, kRays);
    op->usePlainDrivers(reference);
    SolverSettings settings;
    settings.tolerance = 0;
    const Targets targets = renderTargets(*machine.stream, machine.device, optics, states, kRays,
                                          boards(static_cast<int>(state.range(0))));
    Solver solver(*machine.stream, op, targets, settings);
    bench::turns(state, *machine.stream, [&] { solver.iterate(*machine.stream); });
}

void seedIteration(benchmark::State& state, bool reference)
{
    const Machine machine(reference);
    const auto op =
        std::make_shared<SeedOperator>(*machine.stream, machine.device, seedOptics(), 30.0, 1);
    SolverSettings settings;
    settings.kind = SolverKind::AdamW;
    settings.weightDecay = 0.01;
    settings.epsilon = 1e-8;
    const Targets targets = renderSeedTargets(*machine.stream, machine.device, seedOptics(), 30.0,
                                              1, boards(static_cast<int>(state.range(0))));
    Solver solver(*machine.stream, op, targets, settings);
    bench::turns(state, *machine.stream, [&] { solver.iterate(*machine.stream); });
}

void eyeView(benchmark::State& state, bool reference)
{
    const Machine machine(reference);
    const int lanes = static_cast<int>(state.range(0));
    EyeRenderer renderer(*machine.stream, machine.device, display(256, 512), kRays);
    const Tensor planes = Tensor::zeros(*machine.stream, machine.device, {8, 512, 512, lanes});
    double accommodation = 5;
    bench::turns(state, *machine.stream, [&] {
        accommodation += 1e-4; // a slider in motion: tables are rebuilt for every view
        benchmark::DoNotOptimize(renderer.render(*machine.stream, planes, {0, 0, accommodation}));
    });
}

void groundTruth(benchmark::State& state, bool reference)
{
    const Machine machine(reference);
    const auto scenes = boards(static_cast<int>(state.range(0)));
    const auto states = trainingStates({});
    bench::turns(state, *machine.stream, [&] {
        benchmark::DoNotOptimize(renderTargets(*machine.stream, machine.device, display(256, 512),
                                               states, kRays, scenes));
    });
}

using benchmark::kMillisecond;

BENCHMARK_CAPTURE(forward, demo, 256, false)
    ->Arg(1)
    ->Arg(4)
    ->Arg(16)
    ->Unit(kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(forward, demoReference, 256, true)->Arg(1)->Unit(kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(forward, standard, 512, false)->Arg(1)->Arg(4)->Unit(kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(adjoint, demo, 256, false)
    ->Arg(1)
    ->Arg(4)
    ->Arg(16)
    ->Unit(kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(adjoint, demoReference, 256, true)->Arg(1)->Unit(kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(adjoint, standard, 512, false)->Arg(1)->Arg(4)->Unit(kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(iteration, demo, 256, false)
    ->Arg(1)
    ->Arg(4)
    ->Arg(16)
    ->Unit(kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(iteration, demoReference, 256, true)->Arg(1)->Unit(kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(iteration, standard, 512, false)
    ->Arg(1)
    ->Arg(4)
    ->Unit(kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(seedIteration, seed, false)
    ->Arg(1)
    ->Arg(4)
    ->Arg(16)
    ->Unit(kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(seedIteration, seedReference, true)->Arg(1)->Unit(kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(eyeView, moving, false)->Arg(1)->Arg(4)->Unit(kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(eyeView, movingReference, true)->Arg(1)->Unit(kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(groundTruth, boards, false)->Arg(1)->Arg(16)->Unit(kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(groundTruth, boardsReference, true)->Arg(1)->Unit(kMillisecond)->UseRealTime();

} // namespace

} // namespace vergence::light_field

BENCHMARK_MAIN();
