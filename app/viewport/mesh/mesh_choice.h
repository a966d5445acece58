#pragma once

#include <filesystem>

#include <QString>

namespace vergence {

/// A mesh file that may be shown.
struct MeshChoice {
    std::filesystem::path path;
    QString title;
    QString version; ///< another text where the content has changed
    bool operator==(const MeshChoice&) const = default;
};

} // namespace vergence
