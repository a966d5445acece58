#include "plugins/mc_embedding/study/prompts.h"

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence::mc_embedding {

void checkTemplates(const std::vector<std::string>& templates)
{
    if (templates.empty())
        throw InputError("labels.templates is empty; one such as \"a photo of a {}\" is needed.");
    for (const std::string& one : templates) {
        if (one.find("{}") == std::string::npos)
            throw InputError(fmt::format(
                "The template \"{}\" has no {{}} where the class name goes; add it.", one));
    }
}

std::string promptOf(const std::string& promptTemplate, const std::string& className)
{
    std::string prompt;
    std::size_t done = 0;
    for (std::size_t at; (at = promptTemplate.find("{}", done)) != std::string::npos; done = at + 2)
        prompt.append(promptTemplate, done, at - done).append(className);
    return prompt.append(promptTemplate, done);
}

} // namespace vergence::mc_embedding
