#include "app/shell/extension.h"

#include <algorithm>

#include "core/base/file.h"
#include "core/config/config.h"

namespace vergence {

namespace {

bool soundsLikeSteps(const std::string& key)
{
    const char* const names[] = {"iterations", "steps", "sweeps", "epochs"};
    return std::any_of(std::begin(names), std::end(names),
                       [&key](const char* name) { return key.find(name) != std::string::npos; });
}

} // namespace

QString stepsKey(const ConfigSchema& schema, const RunFolder& folder, std::int64_t total)
{
    ConfigBuilder builder(schema);
    builder.addToml(readFile(folder.config()), "config.toml");
    const auto config = builder.build().config;
    if (!config)
        return {};
    std::vector<std::string> fitting;
    for (const Field& field : schema.fields())
        if (field.type == FieldType::Int && config->get<std::int64_t>(field.key) == total)
            fitting.push_back(field.key);
    if (fitting.size() == 1)
        return QString::fromStdString(fitting.front());
    const auto named = std::find_if(fitting.begin(), fitting.end(), soundsLikeSteps);
    return named == fitting.end() ? QString() : QString::fromStdString(*named);
}

} // namespace vergence
