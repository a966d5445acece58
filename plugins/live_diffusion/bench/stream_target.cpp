#include "plugins/live_diffusion/bench/stream_target.h"

namespace vergence::live {

namespace {

constexpr std::array kComparedFrames = {0, 9, 99}; // the 1st, 10th and 100th

BenchSubject byTensorRt(BenchSubject subject)
{
    subject.build = [build = subject.buildTensorRt](const Switches&, int rows) {
        return build(rows);
    };
    return subject;
}

} // namespace

StreamTarget::StreamTarget(const BenchSubject& subject, LoopSettings loop,
                           std::vector<std::vector<float>> frames, const Protocol& protocol,
                           int streamFrames)
    : m_subject(subject),
      m_loop(std::move(loop)),
      m_frames(std::move(frames)),
      m_protocol(protocol)
{
    for (const int frame : kComparedFrames) {
        if (frame < streamFrames)
            m_compared.push_back(frame);
    }
}

AbMeasurement StreamTarget::measure(const AbSetting& setting)
{
    LoopSettings loop = m_loop;
    loop.steps = setting.steps;
    loop.isStreamBatch = setting.isStreamBatch;
    loop.filtersSimilar = false; // what is not computed is not measured
    DrivenNetwork driven(setting.usesTensorRt ? byTensorRt(m_subject) : m_subject, setting.switches,
                         loop, m_frames);
    AbMeasurement measurement;
    const std::vector<float> evaluation = driven.evaluation();
    const bool isBaseline = m_evaluation.empty();
    std::map<int, std::vector<float>> outputs;
    if (isBaseline)
        outputs = driven.outputs(m_compared);
    else
        compareOutputs(setting, driven, measurement);
    measurement.result = driven.measure("frames", m_protocol);
    if (isBaseline) { // whole, so that one that was stopped is measured again
        m_evaluation = evaluation;
        m_outputs = std::move(outputs);
        m_steps = setting.steps;
    }
    measurement.result.numeric = numericError(evaluation, m_evaluation);
    return measurement;
}

/// Another number of steps is another picture: nothing to compare.
void StreamTarget::compareOutputs(const AbSetting& setting, DrivenNetwork& driven,
                                  AbMeasurement& measurement)
{
    if (setting.steps != m_steps)
        return;
    for (const auto& [frame, values] : driven.outputs(m_compared)) {
        const auto reference = m_outputs.find(frame);
        if (reference == m_outputs.end())
            continue;
        const NumericError error = numericError(values, reference->second);
        for (std::size_t i = 0; i < kComparedFrames.size(); ++i) {
            if (kComparedFrames[i] == frame)
                measurement.streamPsnr[i] = error.psnr;
        }
        if (frame == 0)
            measurement.frameError = error;
    }
}

} // namespace vergence::live
