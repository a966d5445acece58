#pragma once

#include <cmath>
#include <memory>
#include <set>
#include <vector>

#include "plugins/sugar/compute/learning/density_control.h"
#include "plugins/sugar/compute/learning/density_math.h"
#include "tests/plugins/sugar/learning_support.h"

namespace vergence::sugar::fixtures {

inline constexpr float kMarked = 7; ///< what moments are filled with

inline std::vector<float> logitsOf(const std::vector<double>& opacities)
{
    std::vector<float> logits;
    for (const double opacity : opacities)
        logits.push_back(static_cast<float>(logitOf(opacity)));
    return logits;
}

inline double opacityOf(float logit)
{
    return sigmoid(static_cast<double>(logit));
}

/// Gaussians in training whose moments are all 7 and whose dc colour holds the row.
struct DensityBed {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream = device->createStream();
    TrainedGaussians trained;

    DensityBed(const std::shared_ptr<Device>& on, GaussianCloud cloud, Index spare = 0) : device(on)
    {
        for (std::size_t i = 0; i < cloud.shDc.size(); ++i)
            cloud.shDc[i] = static_cast<float>(i / 3);
        trained = sugar::trained(
            *stream, upload(*stream, device, cloud, cloud.count() + spare, cloud.degree));
        for (const GaussianArrays* moments : {&trained.moment1, &trained.moment2}) {
            for (const Tensor& tensor : moments->groups()) {
                const std::vector<float> sevens(static_cast<std::size_t>(tensor.size()), kMarked);
                stream->copy(tensor.data(), sevens.data(), tensor.bytes());
            }
        }
    }

    static void set(Stream& stream, const Tensor& tensor, const std::vector<float>& values)
    {
        stream.copy(tensor.data(), values.data(), values.size() * sizeof(float));
    }
    void setStatistics(const std::vector<float>& mean, float visible = 4)
    {
        std::vector<float> sums;
        for (const float m : mean)
            sums.push_back(m * visible);
        set(*stream, trained.statistics.gradient, sums);
        set(*stream, trained.statistics.visible, std::vector<float>(mean.size(), visible));
    }
    GaussianCloud cloud() { return download(*stream, trained.gaussians); }

    /// The rows of the old arrays, as their colours tell.
    std::vector<int> sources()
    {
        const GaussianCloud now = cloud();
        std::vector<int> rows;
        for (std::size_t i = 0; i < now.shDc.size(); i += 3)
            rows.push_back(static_cast<int>(now.shDc[i]));
        return rows;
    }
    /// Whether all moments of a row are 0 (or all are still 7).
    std::vector<bool> fresh()
    {
        std::vector<bool> result;
        const auto first = columnsOf(downloaded(*stream, trained.moment1, trained.count()));
        const auto second = columnsOf(downloaded(*stream, trained.moment2, trained.count()));
        for (Index row = 0; row < trained.count(); ++row) {
            std::set<float> seen;
            for (const auto* columns : {&first, &second}) {
                for (const auto& column : *columns) {
                    const auto width = static_cast<Index>(column.size()) / trained.count();
                    seen.insert(column.begin() + row * width, column.begin() + (row + 1) * width);
                }
            }
            expects(seen.size() == 1, "moments of a row differ");
            result.push_back(*seen.begin() == 0);
        }
        return result;
    }
};

} // namespace vergence::sugar::fixtures
