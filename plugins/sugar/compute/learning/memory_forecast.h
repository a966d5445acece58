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
    bool compactMoments = false;    ///< see MomentFormat
    bool filter = true;             ///< mip filters
    bool separateGradients = false; ///< those of terms beside the picture are stored
    Index samples = 0;              ///< of the density, a step
    Index bandRows = 0;             ///< rows of the bands an image is cut into, 0 for none
    double photographs = 0;         ///< bytes of those that are kept decoded in host memory
    double hostRuntime = 0.1e9;     ///< bytes that the process holds before
    // Of the GPU's forecast alone:
    double residentPhotographs = 0; ///< bytes of those that stay on it
    bool rearranges = false;        ///< rows are added, dropped or sorted
    bool halfGeometry = false;      ///< depth and normals are rendered by themselves, at half size
    bool tests = false;             ///< held-out pictures are rendered meanwhile
    // Of the CPU's forecast alone:
    bool keepsEarlier = false; ///< the Gaussians of the stage before stay on the host
    Index kept = 0;            ///< Gaussians left in rows that were for more; 0: all
};

/// One bar: "Gaussians", "Neighbours", "Pixels", "Instances", "Bands", "Half size", "Samples",
/// "Earlier Gaussians", "Photographs", "Checkpoint" or "Passing", "Runtime".
struct MemoryPart {
    std::string name;
    double bytes = 0;
};

struct MemoryForecast {
    std::vector<MemoryPart> parts; ///< without those of 0 bytes

    double total() const;
    double bytesOf(const std::string& name) const; ///< 0 for a part that is absent
};

/// Bytes per Gaussian on a GPU: values and moments, filter, statistics, what a pass projects and
/// sorts by, gradients that are stored.
double bytesPerGaussian(const MemoryQuestion& question);
/// The same on the CPU.
double hostBytesPerGaussian(const MemoryQuestion& question);

/// Bytes per Gaussian of what a pass projects and sorts by on the CPU.
double projectedBytes();

/// (Gaussian, tile) pairs that a picture of so many Gaussians is expected to make after the exact
/// tile test. A splat of radius r px meets 1 + 4r/16 + πr²/256 tiles of 16² on average, and splats
/// are as large as it takes to cover each pixel with as many of them as trained scenes do. Not
/// below what the specification assumes: a power of the number of pixels, between scenes of 2 and 6
/// million Gaussians at 1920×1244 pixels (two pairs a Gaussian) and at 5187×3361 (seven and five).
Index expectedInstances(Index gaussians, Index width, Index height);

/// Memory of the GPU while it trains: what is allocated there, a twentieth for the pool's size
/// classes and the driver's own.
MemoryForecast deviceMemory(const MemoryQuestion& question);

/// What learning allocates on the CPU as a device: the parts that Trainer::allocatedBytes() and
/// Aligner::allocatedBytes() count. A pair takes its place in the list, the blocks of pixels that
/// it reached and a record of gradients of 16 numbers.
MemoryForecast learnerMemory(const MemoryQuestion& question);

/// Host memory: photographs as bytes and the copies of a checkpoint or result; on the CPU also what
/// the learner holds and the Gaussians of the stage before.
MemoryForecast hostMemory(const MemoryQuestion& question, bool trainsOnCpu);

} // namespace vergence::sugar
