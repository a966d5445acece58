#include "core/artifact/anonymiser.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <system_error>

#include <pwd.h>
#include <unistd.h>

namespace vergence {

namespace {

namespace fs = std::filesystem;

/// Shorter names and these are common words: taking them out would destroy text and hide nothing.
constexpr std::size_t kShortestName = 3;
constexpr std::array<std::string_view, 5> kCommonNames{"root", "user", "admin", "localhost",
                                                       "vergence"};

bool isWordCharacter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || static_cast<signed char>(c) < 0;
}

bool endsPath(char c)
{
    return c == '"' || c == '\'' || c == ',' || c == ';' || c == ':' || c == ')' || c == ']' ||
           c == '}' || c == '<' || c == '>' || c == '|' || static_cast<unsigned char>(c) <= ' ';
}

/// `"name":` and `name =` are keys.
bool isKeyEnd(std::string_view rest)
{
    if (!rest.empty() && rest.front() == '"')
        rest.remove_prefix(1);
    while (!rest.empty() && rest.front() == ' ')
        rest.remove_prefix(1);
    return !rest.empty() && (rest.front() == ':' || rest.front() == '=');
}

/// Replaces `from` where it is not part of a longer word or path; with `sparesKeys` also not where
/// it is a key.
std::string replaceAll(const std::string& text, const std::string& from, const std::string& to,
                       bool sparesKeys)
{
    std::string result;
    std::size_t copied = 0;
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1)) {
        const std::size_t end = at + from.size();
        const bool goesOn = end < text.size() && isWordCharacter(text[end]);
        const bool cameFrom = at > 0 && isWordCharacter(text[at - 1]);
        const std::string_view rest = std::string_view(text).substr(end);
        if (at < copied || goesOn || cameFrom || (sparesKeys && isKeyEnd(rest)))
            continue;
        result.append(text, copied, at - copied).append(to);
        copied = end;
    }
    return result.append(text, copied);
}

/// Absolute paths that are left: a slash at the start of a word, then a folder of this computer's
/// root, then more.
std::string replaceAbsolutePaths(const std::string& text, const std::vector<std::string>& roots)
{
    std::string result;
    std::size_t copied = 0;
    for (std::size_t at = text.find('/'); at != std::string::npos; at = text.find('/', at + 1)) {
        const char before = at > 0 ? text[at - 1] : ' ';
        if (at < copied || isWordCharacter(before) || before == '/' || before == '.' ||
            before == '>')
            continue;
        const std::size_t second = text.find('/', at + 1);
        if (second == std::string::npos)
            break;
        if (std::find(roots.begin(), roots.end(), text.substr(at + 1, second - at - 1)) ==
            roots.end())
            continue;
        std::size_t end = second;
        while (end < text.size() && !endsPath(text[end]))
            ++end;
        std::size_t last = text.rfind('/', end - 1);
        result.append(text, copied, at - copied).append("<path>").append(text, last, end - last);
        copied = end;
    }
    return result.append(text, copied);
}

bool isTelling(const std::string& name)
{
    return name.size() >= kShortestName &&
           std::find(kCommonNames.begin(), kCommonNames.end(), name) == kCommonNames.end();
}

} // namespace

Anonymiser::Anonymiser(const RunFolder& folder)
{
    const auto addPath = [&](const fs::path& path, const char* to) {
        if (path.is_absolute() && path != path.root_path())
            m_paths.push_back({path.string(), to});
    };
    std::error_code code;
    const fs::path parent = fs::absolute(folder.root).lexically_normal().parent_path();
    addPath(parent, "<project>");
    addPath(fs::canonical(parent, code), "<project>");
    if (const char* home = std::getenv("HOME"))
        addPath(fs::path(home).lexically_normal(), "<home>");
    if (const struct passwd* entry = ::getpwuid(::geteuid())) {
        addPath(entry->pw_dir, "<home>");
        if (isTelling(entry->pw_name))
            m_words.push_back({entry->pw_name, "<user>"});
    }
    for (const char* variable : {"USER", "LOGNAME"}) {
        const char* name = std::getenv(variable);
        if (name && isTelling(name))
            m_words.push_back({name, "<user>"});
    }
    char host[256] = {};
    if (::gethostname(host, sizeof(host) - 1) == 0 && isTelling(host))
        m_words.push_back({host, "<host>"});
    std::sort(m_paths.begin(), m_paths.end(),
              [](const Rule& a, const Rule& b) { return a.from.size() > b.from.size(); });
    for (const auto& entry : fs::directory_iterator("/", code))
        m_roots.push_back(entry.path().filename().string());
}

bool Anonymiser::isText(std::string_view path)
{
    for (const std::string_view suffix :
         {".toml", ".json", ".jsonl", ".csv", ".txt", ".md", ".log"}) {
        if (path.ends_with(suffix))
            return true;
    }
    return false;
}

std::string Anonymiser::apply(std::string text) const
{
    for (const Rule& rule : m_paths)
        text = replaceAll(text, rule.from, rule.to, false);
    text = replaceAbsolutePaths(text, m_roots);
    for (const Rule& rule : m_words)
        text = replaceAll(text, rule.from, rule.to, true);
    return text;
}

} // namespace vergence
