#pragma once

#include <cstdint>

#include "plugins/mc_embedding/study/experiments/association.h"
#include "plugins/mc_embedding/study/experiments/mean_convergence.h"

namespace vergence::mc_embedding {

/// Frames of a tracker that never was, to show Exp 9 without a recording: every image is an object
/// on a random walk in the unit square; its track looks like its deterministic feature, its
/// detection differs from that by eight times what one of its passes under masks does, so that
/// appearance misleads as often as it does where objects turn and hide. Motion cost: distance with
/// noise; appearance cost: 1 − cosine. `uncertainty` and `laplace` (may be empty) are of the
/// clouds' images.
std::vector<TrackingFrame> demoTrackingFrames(std::span<const PassCloud> clouds,
                                              std::span<const double> uncertainty,
                                              std::span<const double> laplace, std::size_t frames,
                                              std::uint64_t seed);

} // namespace vergence::mc_embedding
