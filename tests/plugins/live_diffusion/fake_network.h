#pragma once

#include <algorithm>
#include <vector>

#include "core/base/clock.h"
#include "plugins/live_diffusion/engine/frame_network.h"

namespace vergence::test {

/// A network that answers with its input and takes the time it is told to take, busily.
class FakeNetwork : public live::FrameNetwork {
public:
    explicit FakeNetwork(double seconds = 0, int rows = 1) : m_seconds(seconds), m_rows(rows)
    {
        m_shape.gridHeight = m_shape.gridWidth = 8;
        for (const char* name : {"a", "b", "c"}) {
            live::OpRecord op;
            op.name = name;
            op.block = "block";
            op.kind = "convolution";
            op.flop = op.work = 1'000'000;
            op.bytes = 10'000;
            m_ops.push_back(op);
        }
    }

    const live::FrameShape& shape() const override { return m_shape; }
    int maxRows() const override { return m_rows; }
    void evaluate(const live::EvalInput& input, const live::EvalOutput& output) override
    {
        for (std::size_t op = 0; op < m_ops.size(); ++op) {
            if (m_observer)
                m_observer->began(op);
            wait(m_seconds / 3);
            if (m_observer)
                m_observer->ended(op);
        }
        const auto values = static_cast<std::size_t>(m_shape.values());
        for (std::size_t row = 0; row < input.rows.size(); ++row)
            std::copy(input.rows[row].x.begin(), input.rows[row].x.end(),
                      output.prediction.begin() + static_cast<std::ptrdiff_t>(row * values));
        std::fill(output.blendLogits.begin(), output.blendLogits.end(), 4.0f);
        ++evaluations;
    }
    void prepareSteps(std::span<const int>, int) override {}
    void writeMemory(std::span<const float>) override { ++m_writes; }
    void resetMemory() override { m_writes = 0; }
    int memoryWrites() const override { return m_writes; }
    const live::Switches& switches() const override { return m_switches; }
    void setSwitches(const live::Switches& switches) override { m_switches = switches; }
    live::FrameCost cost() const override
    {
        live::FrameCost cost;
        cost.weightBytes = 1000;
        cost.arenaBytes = 500;
        cost.tuningPeakBytes = 100'000;
        cost.kernelsPerEval = 3;
        cost.launchSeconds = 1e-5;
        cost.flopPerRow = cost.workPerRow = 3'000'000;
        return cost;
    }
    std::span<const live::OpRecord> operations() const override { return m_ops; }
    void setObserver(live::OpObserver* observer) override { m_observer = observer; }
    double replay(std::size_t op, int) override { return 1e-5 * static_cast<double>(op + 1); }

    bool isObserved() const { return m_observer != nullptr; }
    int evaluations = 0;

private:
    static void wait(double seconds)
    {
        for (const double until = steadySeconds() + seconds; steadySeconds() < until;) {
        }
    }

    live::FrameShape m_shape;
    double m_seconds;
    int m_rows, m_writes = 0;
    live::Switches m_switches;
    std::vector<live::OpRecord> m_ops;
    live::OpObserver* m_observer = nullptr;
};

} // namespace vergence::test
