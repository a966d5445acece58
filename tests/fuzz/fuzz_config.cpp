// Any TOML text or assignment against a schema with every kind of field: never an exception.
#include <cstdlib>

#include "core/config/config.h"
#include "tests/core/config/lab_config.h"

using namespace vergence;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string text(reinterpret_cast<const char*>(data), size);
    ConfigBuilder file(test::labSchema());
    file.addToml(text, "fuzz.toml");
    const auto read = file.build();
    if (!read.config && read.issues.empty())
        std::abort();
    ConfigBuilder assignment(test::labSchema());
    assignment.addAssignment(text);
    const auto set = assignment.build();
    if (!set.config && set.issues.empty())
        std::abort();
    return 0;
}
