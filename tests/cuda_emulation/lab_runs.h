#pragma once

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <QTest>

namespace vergence::test {

/// A run of a lab that touches all that it computes on a device, in seconds.
struct LabRun {
    std::string lab;
    double tolerance; ///< of each series beside the CPU's, relative to its largest value
    std::vector<std::string> settings;
};

inline const std::vector<LabRun>& labRuns()
{
    static const std::vector<LabRun> runs{
        {"light_field",
         1e-6,
         {"boards=[26,40]", "render_res=32", "panel_res=64", "planes=4", "headroom=4",
          "rays_per_pixel=4", "eval_rays=16", "iterations=6", "heldout_every=3", "tolerance=0"}},
        {"sugar",
         1e-4,
         {"goal=gaussians", "built_in_width=64", "built_in_height=48", "iterations=30",
          "sh_degree=1", "sh_every=10", "densify=none", "reset_every=0", "eval_every=10",
          "cap=4000", "turntable_frames=2", "turntable_size=64", "milestones=[20]"}},
        {"foveated_vlm",
         1e-5,
         {"vit=tiny", "llm=tiny", "query_dim=16", "frames=3", "size=32", "batch=2", "grad_accum=3",
          "micro_steps=9", "samples=0", "eval_every=6", "eval_samples=4", "log_every=1",
          "caption_clips=1", "gaze_clips=1", "caption_tokens=4", "gaze_size=32", "precision=fp32"}},
        {"mc_embedding",
         1e-5,
         {"models=[\"tiny_clip\"]", "experiment=[\"exp0\"]", "p=0.05", "count=4", "batch_images=2",
          "trials=2", "passes=[4]", "precision=fp32"}},
        {"live_diffusion",
         1e-5,
         {"parts=[\"train\", \"stream\"]", "model_size=nano", "frame_size=16", "weights=trained",
          "tuned=false", "precision=fp32", "train_updates=4", "warmup=2", "train_clips=2",
          "sample_every=2", "stream_frames=2", "paced=false", "steps=2"}}};
    return runs;
}

/// Series that depend on time, or count what lies near a threshold.
inline const std::set<std::string> kOtherwise{
    "it_per_s", "clips_per_s", "data_wait_ms", "gflop_per_s",       "updates_per_s",
    "frame_ms", "fps",         "fps_mean",     "gaussians/visible", "gaussians/instances"};

/// Column `index`: one row for each lab.
inline void addLabRows()
{
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < labRuns().size(); ++i)
        QTest::newRow(labRuns()[i].lab.c_str()) << static_cast<int>(i);
}

inline const LabRun& labOfRow()
{
    QFETCH(int, index);
    return labRuns()[static_cast<std::size_t>(index)];
}

/// The largest difference of a series, as a share of its largest value.
inline double relativeDifference(const std::vector<double>& a, const std::vector<double>& b)
{
    double largest = 0, apart = 0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        if (std::isnan(a[i]) != std::isnan(b[i]))
            return INFINITY;
        if (std::isnan(a[i]))
            continue;
        largest = std::max(largest, std::abs(a[i]));
        apart = std::max(apart, std::abs(a[i] - b[i]));
    }
    return apart > 0 ? apart / largest : 0;
}

} // namespace vergence::test
