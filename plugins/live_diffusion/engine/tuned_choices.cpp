#include "plugins/live_diffusion/engine/tuned_choices.h"

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"

namespace vergence::live {

namespace {

constexpr int kFormat = 1;

} // namespace

TunedChoices::TunedChoices(std::filesystem::path file)
    : m_file(std::move(file)),
      m_words(read(true))
{
}

TunedChoices::Words TunedChoices::read(bool tells) const
{
    std::error_code failure;
    if (m_file.empty() || !std::filesystem::exists(m_file, failure))
        return {};
    try {
        const auto json = nlohmann::json::parse(readFile(m_file));
        if (json.at("format") != kFormat)
            return {}; // of another version of the program
        return json.at("choices").get<Words>();
    } catch (const std::exception& error) { // a cache: whatever is wrong, it is made anew
        if (tells)
            log("live_diffusion")
                .warn("{} is left out, what is fastest will be timed again: {}", m_file.string(),
                      error.what());
        return {};
    }
}

std::optional<std::string> TunedChoices::find(const std::string& machine,
                                              const std::string& key) const
{
    const auto words = m_words.find(machine);
    if (words == m_words.end())
        return std::nullopt;
    const auto word = words->second.find(key);
    return word == words->second.end() ? std::nullopt : std::optional(word->second);
}

void TunedChoices::set(const std::string& machine, const std::string& key, const std::string& word)
{
    m_words[machine][key] = word;
    if (m_isKept)
        m_new[machine][key] = word;
}

void TunedChoices::save()
{
    if (m_file.empty() || m_new.empty())
        return;
    Words all = read(false); // others may have added theirs
    for (auto& [machine, words] : m_new)
        for (auto& [key, word] : words)
            all[machine][key] = word;
    m_new.clear();
    try {
        std::filesystem::create_directories(m_file.parent_path());
        writeFileAtomic(m_file,
                        nlohmann::json{{"format", kFormat}, {"choices", all}}.dump(1) + "\n");
    } catch (const std::exception& error) {
        log("live_diffusion")
            .warn("{} cannot be written, the next start will time again what is fastest: {}",
                  m_file.string(), error.what());
    }
}

} // namespace vergence::live
