#pragma once

#include <string>
#include <vector>

#include "core/compute/view.h"

namespace vergence::sugar {

/// What a stage of training will hold at once.
struct MemoryQuestion {
    Index gaussians = 0;
    int degree = 3; ///< of spherical harmonics
    Index width = 0, height = 0;
    Index instances = 0;            ///< (Gaussian, tile) pairs; see expectedInstances()
    Index neighbours = 0;           ///< entries of the neighbour table per Gaussian, 0 for none
    bool geometry = false;          ///< depth and normals are trained too
    bool compact = false;           ///< 16-bit coefficients, moments and bucket states
    bool separateGradients = false; ///< parameter gradients are stored, not fused into Adam
    bool bucketBackward = false;    ///< per-Gaussian backward pass on the GPU
    Index bandRows = 0;             ///< rows of the bands an image is cut into, 0 for none
    Index photographs = 0;          ///< kept in host memory, of the size above
    double headroom = 1;            ///< rows kept for Gaussians over their number
    double hostRuntime = 0.1e9;     ///< bytes that the process holds before
};

/// One bar: "Gaussians", "Neighbours", "Pixels", "Instances", "Buckets", "Bands", "Runtime",
/// "Photographs", "Checkpoint".
struct MemoryPart {
    std::string name;
    double bytes = 0;
};

struct MemoryForecast {
    std::vector<MemoryPart> parts; ///< without those of 0 bytes

    double total() const;
    double bytesOf(const std::string& name) const; ///< 0 for a part that is absent
};

/// Bytes per Gaussian: values and moments, screen-space gradients, projected record.
double bytesPerGaussian(const MemoryQuestion& question);

/// Pairs that a scene of so many Gaussians is expected to make after the exact tile test:
/// a power of the number of pixels, between scenes of 2 and 6 million Gaussians at 1920×1244 pixels
/// (two pairs a Gaussian, also below) and at 5187×3361 (seven and five).
Index expectedInstances(Index gaussians, Index width, Index height);

/// Memory of the GPU while it trains.
MemoryForecast deviceMemory(const MemoryQuestion& question);

/// Host memory: photographs as bytes and, on a GPU, the staging copy of a checkpoint; on the CPU
/// also all that is trained. There no buckets are used, and a pair takes its place in the list, the
/// blocks of pixels that it reached and a record of gradients of 16 numbers.
MemoryForecast hostMemory(const MemoryQuestion& question, bool trainsOnCpu);

} // namespace vergence::sugar
