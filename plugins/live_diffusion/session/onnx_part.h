#pragma once

#include "plugins/live_diffusion/session/part.h"

namespace vergence::live {

/// The denoiser and its memory encoder as ONNX files, read back and run against the tape: one step.
/// Networks that are slow to run are run once or checked by structure alone.
///
/// Files onnx/: see exportOnnx(); series onnx_ok (1 where everything holds).
class OnnxPart final : public Part {
public:
    explicit OnnxPart(Networks& networks) : m_networks(networks) {}

    void begin(RunContext& context) override;
    std::int64_t stepsLeft() const override { return m_isDone ? 0 : 1; }
    void finish(RunContext&) override {} // the step has written everything

private:
    bool advance(RunContext& context) override;

    Networks& m_networks;
    bool m_isDone = false;
};

} // namespace vergence::live
