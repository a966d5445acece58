#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <vector>

#include "plugins/live_diffusion/diffusion/schedule.h"
#include "plugins/live_diffusion/engine/frame_network.h"

namespace vergence::live {

/// A network by hand: its estimate of the finished picture is linear in what it sees, so that loops
/// can be followed on paper. Predicts v of the cosine schedule.
class LinearNetwork final : public FrameNetwork {
public:
    struct Gains {
        float input = 1, history = 0, noisy = 0;
        float memory = 0; ///< of the mean of all that was written
        float logit = 30; ///< of every cell
    };
    /// What a row asked for.
    struct Seen {
        int timestep = 0, bucket = 0;
        bool hasInput = false, hasHistory = false, seesMemory = false;
        float firstX = 0, firstHistory = 0;
    };

    explicit LinearNetwork(FrameShape shape, int maxRows = 16) : m_shape(shape), m_maxRows(maxRows)
    {
    }

    Gains gains;
    std::set<int> badCalls; ///< evaluations whose result is not a number, from 0
    std::function<void()> onEvaluate;
    std::vector<Seen> seen;
    std::vector<float> written; ///< first value of each frame that went into the memory
    bool keepsRecords = true;
    int calls = 0, resets = 0;

    const FrameShape& shape() const override { return m_shape; }
    int maxRows() const override { return m_maxRows; }

    void evaluate(const EvalInput& input, const EvalOutput& output) override
    {
        if (onEvaluate)
            onEvaluate();
        const bool isBad = badCalls.contains(calls++);
        const auto values = static_cast<std::size_t>(m_shape.values());
        for (std::size_t i = 0; i < input.rows.size(); ++i) {
            const EvalRow& row = input.rows[i];
            if (keepsRecords)
                seen.push_back({row.timestep, row.historyBucket, !row.input.empty(),
                                !row.history.empty(), row.seesMemory, row.x[0],
                                row.history.empty() ? 0 : row.history[0]});
            const auto alpha = static_cast<float>(m_schedule.alpha(row.timestep));
            const auto sigma = static_cast<float>(m_schedule.sigma(row.timestep));
            for (std::size_t k = 0; k < values; ++k) {
                float clean = gains.noisy * row.x[k];
                if (!row.input.empty())
                    clean += gains.input * row.input[k];
                if (!row.history.empty())
                    clean += gains.history * row.history[k];
                if (row.seesMemory && m_writes > 0)
                    clean += gains.memory * m_memory / static_cast<float>(m_writes);
                output.prediction[i * values + k] = isBad ? std::numeric_limits<float>::quiet_NaN()
                                                          : (alpha * row.x[k] - clean) / sigma;
            }
        }
        for (float& logit : output.blendLogits)
            logit = gains.logit;
    }
    void prepareSteps(std::span<const int>, int) override {}
    void writeMemory(std::span<const float> frame) override
    {
        if (keepsRecords)
            written.push_back(frame[0]);
        m_memory += frame[0];
        ++m_writes;
    }
    void resetMemory() override
    {
        ++resets;
        m_writes = 0;
        m_memory = 0;
    }
    int memoryWrites() const override { return m_writes; }
    const Switches& switches() const override { return m_switches; }
    void setSwitches(const Switches& switches) override { m_switches = switches; }
    FrameCost cost() const override { return {}; }
    std::span<const OpRecord> operations() const override { return {}; }
    void setObserver(OpObserver*) override {}
    double replay(std::size_t, int) override { return 0; }

private:
    FrameShape m_shape;
    int m_maxRows, m_writes = 0;
    float m_memory = 0;
    Switches m_switches;
    NoiseSchedule m_schedule;
};

} // namespace vergence::live
