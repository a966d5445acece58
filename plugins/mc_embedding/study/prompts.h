#pragma once

#include <string>
#include <vector>

namespace vergence::mc_embedding {

/// Throws InputError unless there are templates and each has a place "{}" for the class.
void checkTemplates(const std::vector<std::string>& templates);
/// Every "{}" of the template replaced.
std::string promptOf(const std::string& promptTemplate, const std::string& className);

} // namespace vergence::mc_embedding
