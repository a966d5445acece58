#pragma once

#include <QString>

namespace vergence {

/// One word for a POSIX shell: in single quotes where it holds anything but plain characters.
QString shellQuoted(const QString& word);

} // namespace vergence
