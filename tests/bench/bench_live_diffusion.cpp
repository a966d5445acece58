// Evaluations and frames of the live denoiser, on the CPU unless bench_device.h is told otherwise,
// with weights that are random ("speed only"). Rows have the names of torch_live.py; best_ms and
// median_ms are of single calls, cpu_ms is the least processor time of one.
// --threads=N caps the threads, --precision=fp16 sets that; a name or a part of it as --benchmark_filter selects rows.
// --layers=Pico prints the operations of one size instead, fastest of 20 calls each.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "plugins/live_diffusion/engine/unet_network.h"
#include "plugins/live_diffusion/model/counts.h"
#include "plugins/live_diffusion/stream/frame_loop.h"
#include "tests/bench/bench_device.h"

namespace {

using namespace vergence;
using namespace vergence::live;
using Clock = std::chrono::steady_clock;

int threads = 2;
Precision precision = Precision::Fp32;

struct Case {
    Size size;
    int frame; ///< pixels a side
};
constexpr Case kCases[] = {{Size::Pico, 64}, {Size::S, 64}};

std::string nameOfCase(const Case& of, const UnetSettings& unet)
{
    return fmt::format("{} {} px p{}", titleOf(of.size), of.frame, unet.patch);
}

UnetSettings settingsOf(const Case& of)
{
    return unetSettings(of.size, of.frame);
}

Switches bestSwitches()
{
    Switches switches;
    switches.graph = std::getenv("VERGENCE_BENCH_DEVICE") != nullptr; // none on the CPU
    switches.threads = threads;
    switches.precision = precision;
    return switches;
}

std::shared_ptr<UnetNetwork> networkOf(const Case& of, const Switches& switches)
{
    const UnetSettings unet = settingsOf(of);
    return std::make_shared<UnetNetwork>(bench::benchDevice(threads), benchWeights(unet, 1),
                                         UnetNetworkSettings{unet, switches, 1});
}

std::vector<float> pictureOf(const FrameShape& shape)
{
    std::vector<float> values(static_cast<std::size_t>(shape.values()));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i * 7919 % 251) / 251.0f - 0.5f;
    return values;
}

/// Of all threads of the process: what counts where the machine is shared.
double processorSeconds()
{
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// What is called for one network.
using Work = std::function<std::function<void()>(std::shared_ptr<UnetNetwork>)>;

std::function<void()> evaluation(std::shared_ptr<UnetNetwork> network)
{
    const auto x = pictureOf(network->shape());
    std::vector<float> prediction(x.size());
    std::vector<float> blend(static_cast<std::size_t>(network->shape().cells()));
    return [=]() mutable {
        const EvalRow rows[] = {{x, x, x, 599, 1, true}};
        network->evaluate({rows}, {prediction, blend});
    };
}

std::function<void()> frameOfTwoSteps(std::shared_ptr<UnetNetwork> network)
{
    auto loop = std::make_shared<FrameLoop>(network, LoopSettings{});
    const auto picture = pictureOf(network->shape());
    return [=] { loop->process(picture); };
}

void measure(benchmark::State& state, const Case& of, const Switches& switches, const Work& work)
{
    const auto network = networkOf(of, switches);
    const auto call = work(network);
    call();
    call();
    std::vector<double> seconds;
    double leastCpu = 1e9;
    for (auto _ : state) {
        const double cpu = processorSeconds();
        const auto start = Clock::now();
        call();
        leastCpu = std::min(leastCpu, processorSeconds() - cpu);
        seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
        state.SetIterationTime(seconds.back());
    }
    std::sort(seconds.begin(), seconds.end());
    const FrameCost cost = network->cost();
    state.counters["best_ms"] = seconds.front() * 1e3;
    state.counters["median_ms"] = seconds[seconds.size() / 2] * 1e3;
    state.counters["cpu_ms"] = leastCpu * 1e3;
    state.counters["GFLOP/s"] = static_cast<double>(cost.flopPerRow) / seconds.front() * 1e-9;
    state.counters["kernels"] = cost.kernelsPerEval;
    state.counters["weights_MB"] = static_cast<double>(cost.weightBytes) * 1e-6;
    state.counters["arena_MB"] = static_cast<double>(cost.arenaBytes) * 1e-6;
}

void add(const Case& of, const std::string& what, const Switches& switches, Work work)
{
    const std::string name = nameOfCase(of, settingsOf(of)) + ' ' + what;
    benchmark::RegisterBenchmark(
        name.c_str(), [=](benchmark::State& state) { measure(state, of, switches, work); })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond)
        ->MinTime(of.size == Size::Pico ? 0.5 : 1.5);
}

void addRows()
{
    for (const Case& of : kCases) {
        const Switches best = bestSwitches();
        add(of, "eval", best, evaluation);
        add(of, "frame of 2 steps", best, frameOfTwoSteps);
        Switches baseline = baselineSwitches();
        baseline.threads = threads;
        add(of, "eval, baseline", baseline, evaluation);
        Switches without = best;
        without.tuned = false;
        add(of, "eval, not tuned", without, evaluation);
        without = best;
        without.fusion = false;
        add(of, "eval, not fused", without, evaluation);
        without = best;
        without.layout = Layout::Nchw;
        add(of, "eval, NCHW", without, evaluation);
        without = best;
        without.attention = AttentionKind::Naive;
        add(of, "eval, naive attention", without, evaluation);
    }
}

/// Fastest time of each operation.
class Fastest : public OpObserver {
public:
    explicit Fastest(std::size_t count) : seconds(count, 1e9) {}
    void began(std::size_t) override { m_start = Clock::now(); }
    void ended(std::size_t op) override
    {
        const double time = std::chrono::duration<double>(Clock::now() - m_start).count();
        seconds[op] = std::min(seconds[op], time);
    }
    std::vector<double> seconds;

private:
    Clock::time_point m_start;
};

void printLayers(const Case& of)
{
    const auto network = networkOf(of, bestSwitches());
    const auto call = evaluation(network);
    Fastest fastest(network->operations().size());
    network->setObserver(&fastest);
    constexpr int kCalls = 20;
    for (int i = 0; i < kCalls; ++i)
        call();
    network->setObserver(nullptr);
    for (std::size_t i = 0; i < fastest.seconds.size(); ++i) {
        const OpRecord& op = network->operations()[i];
        fmt::print("{:9.1f} us {:7.1f} GFLOP/s  {:16} {:22} {:16} {}\n", fastest.seconds[i] * 1e6,
                   static_cast<double>(op.flop) / fastest.seconds[i] * 1e-9, op.name, op.kind,
                   op.plan, op.shape);
    }
}

} // namespace

int main(int argc, char** argv)
{
    int kept = 1;
    const char* layers = nullptr;
    for (int i = 1; i < argc; ++i) {
        if (std::strncmp(argv[i], "--threads=", 10) == 0)
            threads = std::max(1, std::atoi(argv[i] + 10));
        else if (std::strncmp(argv[i], "--precision=", 12) == 0)
            precision = enumOf<Precision>(argv[i] + 12).value();
        else if (std::strncmp(argv[i], "--layers=", 9) == 0)
            layers = argv[i] + 9;
        else
            argv[kept++] = argv[i];
    }
    argc = kept;
    for (const Case& of : kCases) {
        const auto counts = countModel(settingsOf(of));
        fmt::print("{}: {} parameters, {} FLOP per evaluation\n", nameOfCase(of, settingsOf(of)),
                   counts.parameters, counts.flopPerEvaluation);
        if (layers && titleOf(of.size) == layers) {
            printLayers(of);
            return 0;
        }
    }
    benchmark::Initialize(&argc, argv);
    addRows();
    benchmark::RunSpecifiedBenchmarks();
}
