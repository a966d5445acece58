#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <QTest>

#include "tests/support/devices.h"

namespace vergence::test {

/// Calls `add` for the rows "cpu", "cuda:0", … of a data table that has the column `device` (int).
/// Without a CUDA device there is still a row "cuda", so that its absence is seen.
inline void forEachDevice(const std::function<void(const std::string& name, int device)>& add)
{
    const int count = static_cast<int>(devices().devices.size());
    add("cpu", 0);
    for (int i = 1; i < count; ++i)
        add("cuda:" + std::to_string(i - 1), i);
    if (count == 1)
        add("cuda", 1);
}

/// A table with one row per device.
inline void addDeviceRows()
{
    QTest::addColumn<int>("device");
    forEachDevice(
        [](const std::string& name, int device) { QTest::newRow(name.c_str()) << device; });
}

/// A table with a column `size` (int) and one row per device and size; one row alone for a device
/// that is missing.
inline void addDeviceAndSizeRows(const std::vector<int>& sizes)
{
    QTest::addColumn<int>("device");
    QTest::addColumn<int>("size");
    forEachDevice([&](const std::string& name, int device) {
        const bool isThere = static_cast<std::size_t>(device) < devices().devices.size();
        for (const int size : isThere ? sizes : std::vector<int>{0})
            QTest::addRow("%s, %d", name.c_str(), size) << device << size;
    });
}

/// A device of the table, or null after having skipped (or, with VERGENCE_REQUIRE_CUDA=1, failed)
/// the running row.
inline std::shared_ptr<Device> deviceOrSkip(int device)
{
    if (static_cast<std::size_t>(device) < devices().devices.size())
        return devices().devices[static_cast<std::size_t>(device)];
    const char* required = std::getenv("VERGENCE_REQUIRE_CUDA");
    if (required && required[0] == '1')
        QTest::qFail(("CUDA is required: " + devices().whyNoCuda).c_str(), __FILE__, __LINE__);
    else
        QTest::qSkip(("no CUDA device: " + devices().whyNoCuda).c_str(), __FILE__, __LINE__);
    return nullptr;
}

} // namespace vergence::test

/// Declares `name` as the device of the running row, or leaves the test.
#define VERGENCE_ROW_DEVICE(name)                                                                  \
    const auto name = vergence::test::deviceOrSkip(                                                \
        *static_cast<int*>(QTest::qData("device", qMetaTypeId<int>())));                           \
    if (!name)                                                                                     \
        return;
