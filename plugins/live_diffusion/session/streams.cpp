#include "plugins/live_diffusion/session/streams.h"

namespace vergence::live {

const std::vector<StreamDecl>& streamDecls()
{
    static const std::vector<StreamDecl> decls{
        {"live", "Live", StreamKind::Image,
         "What goes in and what comes out: side by side, wiped, or as their difference.", ""},
        {"numbers", "Numbers", StreamKind::Diagram,
         "Frames per second, times, memory; pointing at a number says what it counts.", ""},
        {"timeline", "Latency", StreamKind::Diagram,
         "Where the time of the last 600 frames went, with the lines of 40 and 16 ms.", ""},
        {"histogram", "Histogram", StreamKind::Diagram, "How often which time occurred.", ""},
        {"training", "Training", StreamKind::Image,
         "A film that is not learnt from, over the training.", ""},
        {"ab", "A/B", StreamKind::Diagram, "What each optimisation takes off the time of a frame.",
         ""},
        {"ab_table", "A/B table", StreamKind::Diagram,
         "Every optimisation alone, added up, and left out: time, memory, error.", ""},
        {"claims", "Claims", StreamKind::Diagram,
         "Published statements beside what this computer measured.", ""},
        {"roofline", "Roofline", StreamKind::Diagram,
         "Every operation below what the device can do at most.", ""},
        {"layers", "Layers", StreamKind::Diagram, "Time of every operation, by block.", ""},
        {"memory", "Memory", StreamKind::Diagram,
         "What lives while each operation runs: weights, caches, activations.", ""},
        {"targets", "Targets", StreamKind::Diagram,
         "What the time budgets ask of this device and network.", ""},
        {"drift", "Drift", StreamKind::Diagram,
         "A stream that is fed its own output, beside the truth.", ""},
        {"ablation", "Ablation", StreamKind::Image,
         "Pictures of streams without history noise, memory or blend.", ""}};
    return decls;
}

const std::vector<MetricDecl>& metricDecls()
{
    using enum MetricDecl::Better;
    static const std::vector<MetricDecl> decls{
        // What a run is told by is the first of these that it has.
        {"ab_speedup", "Speed-up by all together", "", Higher, true},
        {"fps_mean", "Frames on the whole", "1/s", Higher, true},
        {"psnr_mean", "PSNR of the stream, mean", "dB", Higher, true},
        {"held_out_psnr", "PSNR of films not learnt from", "dB", Higher, true},
        {"drift_psnr", "PSNR of the closed loop", "dB", Higher, true},
        {"frame_ms", "Time of a frame", "ms", Lower},
        {"fps", "Frames", "1/s", Higher},
        {"psnr", "PSNR of the stream", "dB", Higher},
        {"loss", "Loss", "", Lower},
        {"loss_mean", "Loss, smoothed", "", Lower},
        {"loss_blend", "Loss of the blend", "", Lower},
        {"grad_norm", "Gradient norm", "", Neither},
        {"learning_rate", "Rate", "", Neither},
        {"loss_scale", "Loss scale", "", Neither},
        {"updates_per_s", "Updates", "1/s", Higher},
        {"distill_loss", "Loss of the distillation", "", Lower},
        {"distill_rate", "Rate of the distillation", "", Neither},
        {"distill_grad_norm", "Gradient norm of the distillation", "", Neither},
        {"ab_rows", "Rows of the A/B run", "", Neither},
        {"profile_total_ms", "Evaluation", "ms", Lower},
        {"profile_unaccounted", "Share not accounted for", "", Lower},
        {"drift_slope", "Slope of the closed loop", "dB/100 frames", Higher},
        {"onnx_ok", "ONNX verified", "", Higher}};
    return decls;
}

} // namespace vergence::live
