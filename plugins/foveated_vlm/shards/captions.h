#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plugins/foveated_vlm/clips/clip_source.h"

namespace vergence::fvlm {

/// Texts of files: lines of JSON objects {file, prompt, answer, source, chosen, rejected}, of which
/// all but `file` may be missing, or a .txt beside each file, whose text is the answer.
class Captions {
public:
    /// None known.
    Captions() = default;
    /// Throws InputError that names file and line for a line that is no such object or names a file
    /// for the second time.
    static Captions fromJsonLines(const std::filesystem::path& path);

    /// The text of a file: by its path relative to `folder`, by its name, else from the .txt beside
    /// it. Nothing where there is none or it is empty. Throws InputError for text that is no UTF-8.
    std::optional<ClipText> find(const std::filesystem::path& folder,
                                 const std::filesystem::path& file) const;
    std::size_t count() const { return m_texts.size(); }

private:
    std::map<std::string, ClipText, std::less<>> m_texts;
};

} // namespace vergence::fvlm
