#pragma once

#include <filesystem>

#include <QTest>

#include "core/artifact/safetensors.h"
#include "core/artifact/weights.h"
#include "tests/support/golden.h"
#include "tests/support/numbers.h"

namespace vergence::test {

/// One reference: weights and expected numbers.
struct Golden {
    WeightFile model;
    SafetensorsFile expected;

    explicit Golden(const std::filesystem::path& folder)
        : model(WeightFile::open(folder)),
          expected(readSafetensors(folder / "expected.safetensors"))
    {
    }

    const HostTensor& tensor(const std::string& name) const
    {
        const HostTensor* found = expected.find(name);
        if (!found)
            throw InputError("The reference has no tensor " + name + ".");
        return *found;
    }
    /// In the type of the engine.
    template <class Real>
    Tensor onDevice(Stream& stream, const std::shared_ptr<Device>& device,
                    const std::string& name) const
    {
        const auto values = tensor(name).as<float>();
        const std::vector<Real> converted(values.begin(), values.end());
        return Tensor::fromHost<Real>(stream, device, tensor(name).shape, converted);
    }
    std::vector<std::int32_t> integers(const std::string& name) const
    {
        const auto values = tensor(name).as<std::int64_t>();
        std::vector<std::int32_t> result;
        for (const std::int64_t value : values)
            result.push_back(static_cast<std::int32_t>(value));
        return result;
    }
};

/// Empty where |got − want| ≤ tolerance · largest |want|: features and gradients are compared with
/// their own size, since entries near 0 are differences of larger numbers.
template <class A, class B>
std::string relativeDifference(const std::vector<A>& got, std::span<const B> want, double tolerance)
{
    double largest = 0;
    for (const B value : want)
        largest = std::max(largest, std::abs(static_cast<double>(value)));
    return difference(std::span<const A>(got), want, tolerance * largest, 0);
}

} // namespace vergence::test

/// Declares `name` as a reference, or skips the running row.
#define VERGENCE_GOLDEN_OR_SKIP(name, model)                                                       \
    VERGENCE_GOLDEN_FOLDER(name##Folder, model);                                                   \
    const vergence::test::Golden name(name##Folder);
