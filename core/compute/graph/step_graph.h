#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/compute/stream.h"

namespace vergence {

/// Runs a fixed step: the first three times eagerly, then recorded as one launch graph and
/// replayed. On the CPU, or where recording fails or is refused, always eagerly. The step must see
/// equal addresses and shapes each time (arena, device-side scalars) and must not wait for the
/// stream.
class StepGraph {
public:
    using Step = std::function<void(Stream&)>;
    explicit StepGraph(Step step, int eagerRuns = 3);

    void run(Stream& stream);
    /// Records anew after shapes or settings changed.
    void invalidate();

    bool isReplayed() const { return m_graph != nullptr; }
    std::uint64_t runs() const { return m_runs; }

private:
    void runEagerly(Stream& stream, const std::string& refusal);
    static std::unique_ptr<LaunchGraph> recorded(Stream& stream, const Step& step,
                                                 std::string& refusal);
    static void abandon(Stream& stream);

    Step m_step;
    int m_eagerRuns;
    int m_eagerLeft;
    std::uint64_t m_runs = 0;
    bool m_cannotRecord = false;
    std::unique_ptr<LaunchGraph> m_graph;
};

} // namespace vergence
