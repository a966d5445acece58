#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/live_diffusion/quality/drift_meter.h"
#include "plugins/live_diffusion/scenes/scene.h"
#include "plugins/live_diffusion/session/part.h"
#include "plugins/live_diffusion/view/drift_charts.h"

namespace vergence::live {

/// How streams that are fed their own output go away from the truth: closed loops on a scene whose
/// targets are known, one frame a step. As configured; with `drift_grid` also without history
/// noise, without memory, without blend, fed the truth, and in a second precision beside the
/// first where the device has one.
///
/// Streams drift and ablation; files drift/drift.csv, drift.json, drift.png, drift.svg and
/// drift/ablation.png; series drift_psnr (as configured, over the frame's number) and drift_slope
/// (dB per 100 frames); the manifest's note drift_verdict.
class DriftPart final : public Part {
public:
    explicit DriftPart(Networks& networks);
    ~DriftPart() override;

    void begin(RunContext& context) override;
    std::int64_t stepsLeft() const override;
    void finish(RunContext& context) override;

private:
    bool advance(RunContext& context) override;

    /// One stream and what it is compared with.
    struct Variant {
        std::string name;
        LoopSettings loop;
        Switches switches;
        bool isTaught = false; ///< the truth takes the place of its outputs
        bool isTwin = false;   ///< another precision: compared with the first one as well
    };
    struct Running; ///< loop, meter, scene position of the variant at work

    std::vector<Variant> planned() const;
    void start();
    void frame();
    void teach(std::span<const float> truth);
    void end(RunContext& context);
    void show(RunContext& context);
    DriftStudy study() const;
    std::string csv() const;

    Networks& m_networks;
    std::unique_ptr<Scene> m_scene;
    std::shared_ptr<Device> m_drawingDevice;
    std::unique_ptr<Stream> m_drawing;
    std::vector<Variant> m_variants;
    std::shared_ptr<FrameNetwork> m_network; ///< with the configured switches
    std::unique_ptr<Running> m_running;      ///< null between variants
    DriftStudy m_done;                       ///< variants that are finished
    std::vector<double> m_divergence;        ///< PSNR between the two precisions, dB
    std::string m_divergenceName;            ///< "fp16 beside fp32"
    bool m_hasBegun = false;
    std::size_t m_variant = 0;
    std::int64_t m_frames = 0;
    double m_shown = 0; ///< steady clock
};

} // namespace vergence::live
