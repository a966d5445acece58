#pragma once

#include <cstdlib>
#include <memory>

#include <QTest>

#include "tests/support/devices.h"

namespace vergence::test {

/// The first CUDA device, or null after having skipped (or, with VERGENCE_REQUIRE_CUDA=1, failed)
/// the running test.
inline std::shared_ptr<Device> cudaDeviceOrSkip()
{
    const DeviceList& list = devices();
    if (list.devices.size() > 1)
        return list.devices[1];
    const char* required = std::getenv("VERGENCE_REQUIRE_CUDA");
    if (required && required[0] == '1')
        QTest::qFail(("CUDA is required: " + list.whyNoCuda).c_str(), __FILE__, __LINE__);
    else
        QTest::qSkip(("no CUDA device: " + list.whyNoCuda).c_str(), __FILE__, __LINE__);
    return nullptr;
}

} // namespace vergence::test

/// Declares `device` or leaves the test.
#define VERGENCE_CUDA_DEVICE(device)                                                               \
    const auto device = vergence::test::cudaDeviceOrSkip();                                        \
    if (!device)                                                                                   \
        return;
