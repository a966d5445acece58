#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/artifact/run_folder.h"

namespace vergence {

/// Takes out of texts what tells where and by whom a run was made: the folder above the run becomes
/// `<project>`, the home folder `<home>`, other absolute paths `<path>/last part`, user and host
/// name `<user>` and `<host>`.
class Anonymiser {
public:
    explicit Anonymiser(const RunFolder& folder);

    /// Whether files of this name are text that may hold paths.
    static bool isText(std::string_view path);
    /// Keys of JSON and TOML keep their spelling.
    std::string apply(std::string text) const;

private:
    struct Rule {
        std::string from, to;
    };
    std::vector<Rule> m_paths; ///< longest first
    std::vector<Rule> m_words;
    std::vector<std::string> m_roots; ///< names of the folders in "/"
};

} // namespace vergence
