#pragma once

#include <cmath>
#include <memory>
#include <set>
#include <vector>

#include "plugins/sugar/compute/learning/density_control.h"
#include "plugins/sugar/compute/learning/density_math.h"
#include "tests/plugins/sugar/learning_support.h"

namespace vergence::sugar::fixtures {

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

/// Gaussians in training whose dc colour holds the row and whose moments, as stored, one more, as 0
/// stands for new.
struct DensityBed {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream = device->createStream();
    TrainedGaussians trained;

    DensityBed(const std::shared_ptr<Device>& on, GaussianCloud cloud, Index spare = 0,
               MomentFormat format = MomentFormat::F32)
        : device(on)
    {
        for (std::size_t i = 0; i < cloud.shDc.size(); ++i)
            cloud.shDc[i] = static_cast<float>(i / 3);
        trained = sugar::trained(
            *stream, upload(*stream, device, cloud, cloud.count() + spare, cloud.degree), format);
        for (const GaussianArrays* moments : {&trained.moment1, &trained.moment2}) {
            for (const Tensor& tensor : moments->groups())
                mark(tensor);
        }
    }

    /// Every number becomes that of its row and 1, as far as its type holds it.
    void mark(const Tensor& tensor)
    {
        if (tensor.isEmpty())
            return;
        const auto fill = [&](auto type) {
            std::vector<decltype(type)> values(static_cast<std::size_t>(tensor.size()));
            const auto width = static_cast<std::size_t>(tensor.size() / tensor.extent(0));
            for (std::size_t i = 0; i < values.size(); ++i)
                values[i] = decltype(type)(static_cast<float>(i / width % 255 + 1));
            stream->copy(tensor.data(), values.data(), tensor.bytes());
            stream->synchronize();
        };
        if (tensor.dtype() == DType::BF16)
            fill(BFloat16());
        else if (tensor.dtype() == DType::U8)
            fill(std::uint8_t());
        else
            fill(float());
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
    /// Whether all moments of a row are 0; others are all that of the row's source.
    std::vector<bool> fresh()
    {
        std::vector<bool> result;
        const auto first = columnsOf(*stream, trained.moment1, trained.count());
        const auto second = columnsOf(*stream, trained.moment2, trained.count());
        const std::vector<int> origin = sources();
        for (Index row = 0; row < trained.count(); ++row) {
            std::set<float> seen;
            for (const auto* columns : {&first, &second}) {
                for (const auto& column : *columns) {
                    const auto width = static_cast<Index>(column.size()) / trained.count();
                    seen.insert(column.begin() + row * width, column.begin() + (row + 1) * width);
                }
            }
            expects(seen.size() == 1, "moments of a row differ");
            const float wanted =
                static_cast<float>(origin[static_cast<std::size_t>(row)] % 255 + 1);
            expects(*seen.begin() == 0 || *seen.begin() == wanted, "moments of another row");
            result.push_back(*seen.begin() == 0);
        }
        return result;
    }
};

} // namespace vergence::sugar::fixtures
