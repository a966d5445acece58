#pragma once

#include <map>
#include <vector>

#include "plugins/live_diffusion/bench/ab_run.h"
#include "plugins/live_diffusion/bench/driven_network.h"

namespace vergence::live {

/// Measures a subject for an A/B run: builds it anew for every setting, compares an evaluation, a
/// frame and a stream with those of the first setting, then times it.
class StreamTarget : public AbTarget {
public:
    /// `streamFrames`: how far streams are compared; 1, 10 and 100 as far as that goes.
    StreamTarget(const BenchSubject& subject, LoopSettings loop,
                 std::vector<std::vector<float>> frames, const Protocol& protocol,
                 int streamFrames = 100);

    AbMeasurement measure(const AbSetting& setting) override;

private:
    void compareOutputs(const AbSetting& setting, DrivenNetwork& driven,
                        AbMeasurement& measurement);

    const BenchSubject& m_subject;
    LoopSettings m_loop;
    std::vector<std::vector<float>> m_frames;
    Protocol m_protocol;
    std::vector<int> m_compared;     ///< numbers of frames
    std::vector<float> m_evaluation; ///< of the first setting
    std::map<int, std::vector<float>> m_outputs;
    int m_steps = 0; ///< of the first setting
};

} // namespace vergence::live
