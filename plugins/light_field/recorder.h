#pragma once

#include <functional>
#include <future>
#include <string>
#include <vector>

#include "core/artifact/artifact_store.h"
#include "plugins/light_field/problem.h"
#include "plugins/light_field/result.h"

namespace vergence::light_field {

/// Writes the results of a run: per item loss curves, planes and pictures, and the files of the
/// sweep. What needs the device is read on the calling thread; the rest is made, encoded and
/// written on others; at most one item is being written.
class Recorder {
public:
    explicit Recorder(ArtifactStore& artifacts) : m_artifacts(artifacts) {}
    ~Recorder();

    /// `planes` [K, R, R, L]; `views` are the images of the training states through the display. A
    /// partial result goes without sweeps of eye and focus, which take long.
    void writeItem(Stream& stream, const std::shared_ptr<Device>& device, const SweepItem& item,
                   const Geometry& geometry, const ItemTargets& targets, const Tensor& planes,
                   const Tensor& views, const ItemResult& result);
    /// sweep.csv and, unless stopped, sweep.gif from what has been written so far. Waits for the
    /// writer; rethrows its failure.
    void writeSweep(const std::vector<SweepItem>& items, const std::vector<ItemResult>& results,
                    const std::function<bool()>& isStopped);
    void wait();

    /// "boards/n26", "scenes/basic", "values/planes-4", "image".
    static std::string folderOf(const SweepItem& item);
    /// Name of the lossless planes: NPY, or NPZ for the seed profile, whose planes are almost all
    /// zeros.
    static std::string planesName(const SweepItem& item);

private:
    ArtifactStore& m_artifacts;
    std::future<void> m_writing;
};

/// Training state shown as the nominal eye view: centred eye, middle accommodation.
int nominalState(const std::vector<EyeState>& states);

} // namespace vergence::light_field
