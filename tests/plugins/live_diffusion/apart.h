#pragma once

#include <QString>

#include "tests/support/numbers.h"

namespace vergence::live {

/// What test::difference says, for QtTest's messages.
template <class... Arguments>
QString apart(const Arguments&... arguments)
{
    return QString::fromStdString(test::difference(arguments...));
}

} // namespace vergence::live
