#pragma once

#include <filesystem>
#include <set>
#include <string>

#include <QTemporaryDir>

namespace vergence::test {

/// A folder for one test, removed at the end.
class Scratch {
public:
    Scratch() = default;
    /// Below `parent`, where that exists.
    explicit Scratch(const std::string& parent)
        : m_folder(QString::fromStdString((std::filesystem::exists(parent) ? parent : "/tmp") +
                                          "/vergence-test-XXXXXX"))
    {
    }

    std::filesystem::path path() const { return m_folder.path().toStdString(); }
    std::filesystem::path operator/(const std::string& name) const { return path() / name; }

private:
    QTemporaryDir m_folder;
};

/// Every file and folder below `root`, hidden ones too, relative with forward slashes.
inline std::set<std::string> contentOf(const std::filesystem::path& root)
{
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
        names.insert(entry.path().lexically_relative(root).generic_string());
    return names;
}

} // namespace vergence::test
