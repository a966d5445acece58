#include "plugins/light_field/light_field_plugin.h"

#include "plugins/light_field/light_field_run.h"

namespace vergence::light_field {

ConfigSchema LightFieldPlugin::schema() const
{
    return lightFieldSchema();
}

std::vector<MetricDecl> LightFieldPlugin::metrics() const
{
    using Better = MetricDecl::Better;
    return {{"train/loss", "Loss", "", Better::Lower, false},
            {"train/psnr", "Training PSNR, whole frame", "dB", Better::Higher, false},
            {"heldout/psnr_roi", "Held-out PSNR, ROI", "dB", Better::Higher, true},
            {"train/gradient_norm", "Gradient norm", "", Better::Neither, false},
            {"texels/at_zero", "Texels at 0", "", Better::Neither, false},
            {"texels/at_one", "Texels at 1", "", Better::Neither, false},
            {"time/forward_ms", "Forward", "ms", Better::Lower, false},
            {"time/adjoint_ms", "Adjoint and update", "ms", Better::Lower, false},
            {"time/rays_per_s", "Throughput", "rays/s", Better::Higher, false},
            {"sweep/psnr_roi", "Sweep: ROI PSNR, training", "dB", Better::Higher, false},
            {"sweep/psnr_heldout", "Sweep: ROI PSNR, held out", "dB", Better::Higher, false},
            {"sweep/ssim_heldout", "Sweep: SSIM, held out", "", Better::Higher, false},
            {"sweep/contrast_heldout", "Sweep: contrast, held out", "", Better::Higher, false}};
}

std::vector<StreamDecl> LightFieldPlugin::streams() const
{
    return Viewer::streams();
}

std::unique_ptr<Run> LightFieldPlugin::createRun(const Config& config) const
{
    return std::make_unique<LightFieldRun>(readLightFieldConfig(config), config);
}

} // namespace vergence::light_field
