#pragma once

#include "plugins/sugar/compute/gaussians.h"
#include "tests/support/device_table.h"

namespace vergence::sugar::fixtures {

/// A table with one row per device and format of Adam's moments, columns `device` and `isCompact`.
inline void addDeviceAndMomentRows()
{
    QTest::addColumn<int>("device");
    QTest::addColumn<bool>("isCompact");
    test::forEachDevice([](const std::string& name, int device) {
        for (const bool isCompact : {false, true})
            QTest::addRow("%s, %s", name.c_str(), isCompact ? "compact" : "fp32")
                << device << isCompact;
    });
}

inline MomentFormat formatOf(bool isCompact)
{
    return isCompact ? MomentFormat::Compact : MomentFormat::F32;
}

} // namespace vergence::sugar::fixtures
