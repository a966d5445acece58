#pragma once

#include <string>

#include "core/compute/device.h"
#include "plugins/mc_embedding/io/residency.h"
#include "plugins/mc_embedding/study/plan.h"

namespace vergence::mc_embedding {

/// What one model takes of a device while it measures. Specification, sections 10.1 to 10.4.
struct ModelMemory {
    TowerShape tower; ///< with the side of its pictures
    std::size_t images = 0;
    PixelType pixels = PixelType::U8;
    DType compute = DType::F16;
    BatchSize batch;
};
/// Weights, their 16-bit copies where products have 16 bits, and what the CPU reorders.
std::size_t weightBytes(const TowerShape& tower, DType compute, bool isCpu);
/// Buffers of a tile, what is shared by the passes of a chunk, its features; about.
std::size_t workspaceBytes(const TowerShape& tower, DType compute, const BatchSize& batch,
                           bool isCpu);
/// Sums over passes of a chunk.
std::size_t accumulatorBytes(const TowerShape& tower, const BatchSize& batch);
MemoryNeed memoryNeed(const ModelMemory& model, bool isCpu);

/// "75.3 MB of pixels, 527 MB of weights, 61 MB of work space, 0.4 MB of sums"
std::string needText(const MemoryNeed& need);
/// Bytes of host memory that programs may take without pushing others out.
std::size_t freeHostBytes();
/// The same of a device; that of the CPU is the host's.
std::size_t freeBytesOf(const Device& device);

/// Where the pixels of every model of a plan will be on the GPUs of deviceProfiles(), and whether
/// all models fit at once: "tiny_clip 3.1 MB, clip_b32 0.7 GB: resident on …".
std::string memoryForecast(const StudyPlan& plan, const McEmbeddingConfig& config);

/// How much `store_features` will write; 0 where nothing is kept.
std::size_t featureStoreBytes(const StudyPlan& plan);

} // namespace vergence::mc_embedding
