#pragma once

#include <string>
#include <vector>

namespace vergence::live {

/// A table of texts for people and for other programs.
struct TextTable {
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> rows; ///< each as long as `columns`

    std::string
    markdown() const;        ///< bars in cells are escaped; columns after the first to the right
    std::string csv() const; ///< RFC 4180, "\n" ends lines
};

/// "12.3", three significant digits, "–" for what is not finite.
std::string shortNumber(double value);
/// "11.2 MiB".
std::string byteNumber(double bytes);

} // namespace vergence::live
