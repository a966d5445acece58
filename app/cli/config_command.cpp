#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command.h"
#include "app/cli/config_source.h"
#include "app/cli/json_schema.h"
#include "app/cli/text.h"
#include "core/base/error.h"

namespace vergence::cli {

namespace {

using nlohmann::json;

struct ConfigOptions {
    ConfigRequest request;
    std::string key, second;
    bool json = false;
};

int show(const ConfigOptions& options, const Session& session)
{
    const ConfigSource source = resolveConfig(options.request, session);
    const Config& config = requireConfig(source);
    if (!options.json) {
        std::cout << emitToml(config, source.preset);
        return 0;
    }
    json values = json::object();
    for (const Field& field : config.schema().fields())
        values[field.key] = toJson(config.value(field.key));
    std::cout
        << json{{"plugin", source.plugin.id}, {"preset", source.preset}, {"values", values}}.dump(2)
        << '\n';
    return 0;
}

int schema(const ConfigOptions& options, const Session& session)
{
    const ConfigSource source = resolveConfig(options.request, session);
    std::cout << jsonSchemaOf(source.lab->schema()).dump(2) << '\n';
    return 0;
}

/// One side of a comparison: a file, a run folder, a plugin, or `plugin:preset`.
ConfigSource sideOf(const ConfigRequest& base, const std::string& text, const Session& session)
{
    ConfigRequest request;
    request.plugins = base.plugins;
    request.target = text;
    std::error_code code;
    const auto colon = text.rfind(':');
    if (colon != std::string::npos && !std::filesystem::exists(text, code)) {
        request.target = text.substr(0, colon);
        request.preset = text.substr(colon + 1);
    }
    return resolveConfig(request, session);
}

int diff(const ConfigOptions& options, const Session& session)
{
    const ConfigSource a = sideOf(options.request, options.request.target, session);
    const ConfigSource b = sideOf(options.request, options.second, session);
    if (a.plugin.id != b.plugin.id) {
        throw Error(fmt::format("These are configurations of two plugins, {} and {}.", a.plugin.id,
                                b.plugin.id),
                    ExitCode::Usage);
    }
    const auto differences = difference(requireConfig(a), requireConfig(b));
    if (options.json) {
        auto rows = json::array();
        for (const ConfigDifference& row : differences)
            rows.push_back({{"key", row.key}, {"a", row.a}, {"b", row.b}});
        std::cout << rows.dump(2) << '\n';
    } else if (!differences.empty()) {
        std::vector<std::vector<std::string>> rows = {
            {"key", options.request.target, options.second}};
        for (const ConfigDifference& row : differences)
            rows.push_back({row.key, row.a, row.b});
        printTable(std::cout, rows);
    }
    return static_cast<int>(differences.empty() ? ExitCode::Success : ExitCode::VerificationFailed);
}

/// Value that one layer alone gives to a key, or nothing. Rules over several fields do not apply to
/// a single layer.
std::optional<std::string> valueIn(const ConfigLayer& layer, const ConfigSchema& full,
                                   const std::string& key)
{
    ConfigBuilder builder(ConfigSchema(full.id(), full.version(), full.fields()));
    if (!layer.toml.empty())
        builder.addToml(layer.toml, layer.source);
    for (const std::string& assignment : layer.assignments)
        builder.addAssignment(assignment, layer.source);
    const auto result = builder.build();
    if (!result.config || result.config->origin(key).source.empty())
        return std::nullopt;
    return toToml(result.config->value(key));
}

int explain(const ConfigOptions& options, const Session& session)
{
    const ConfigSource source = resolveConfig(options.request, session);
    const Config& config = requireConfig(source);
    const Field* field = config.schema().find(options.key);
    if (!field) {
        const std::string near = config.schema().nearestKey(options.key);
        throw Error(fmt::format("{} has no key `{}`.{}", source.plugin.name, options.key,
                                near.empty() ? "" : fmt::format(" Did you mean `{}`?", near)),
                    ExitCode::Usage);
    }
    json layers = json::array({{{"layer", "default"}, {"value", toToml(field->defaultValue)}}});
    for (const ConfigLayer& layer : source.layers) {
        if (const auto value = valueIn(layer, config.schema(), options.key))
            layers.push_back({{"layer", layer.source}, {"value", *value}});
    }
    const std::string winner = layers.back()["layer"].get<std::string>();
    const std::string value = toToml(config.value(options.key));
    if (options.json) {
        std::cout << json{{"key", options.key},
                          {"value", value},
                          {"winner", winner},
                          {"layers", layers}}
                         .dump(2)
                  << '\n';
        return 0;
    }
    const std::string place = config.origin(options.key).text();
    std::cout << fmt::format("{} = {}  from {}\n", options.key, value,
                             place.empty() ? winner : place);
    for (const json& layer : layers)
        std::cout << fmt::format("  {}: {}\n", layer["layer"].get<std::string>(),
                                 layer["value"].get<std::string>());
    return 0;
}

using Action = int (*)(const ConfigOptions&, const Session&);

std::shared_ptr<ConfigOptions> addAction(CLI::App* command, Session& session, Action action)
{
    auto options = std::make_shared<ConfigOptions>();
    command->callback([options, &session, action] {
        session.action = [options, &session, action] { return action(*options, session); };
    });
    return options;
}

} // namespace

void addConfigCommand(CLI::App& app, Session& session)
{
    CLI::App* config = addLevel(app, "config", "Show, compare and explain configurations.");
    config->require_subcommand(1);

    CLI::App* command = addLevel(*config, "show", "Print every value as TOML.");
    auto options = addAction(command, session, show);
    options->request.addTo(*command);
    command->add_flag("--json", options->json, "One JSON object instead.");

    command = addLevel(*config, "schema", "Print the JSON Schema of a plugin's configuration.");
    options = addAction(command, session, schema);
    options->request.addTo(*command);
    command->add_flag("--json", options->json, "Accepted for symmetry; the output is JSON.");

    command =
        addLevel(*config, "diff", "Compare two configurations; exit code 9 where they differ.");
    options = addAction(command, session, diff);
    command->add_option("a", options->request.target, "File, run folder, plugin or plugin:preset.")
        ->required();
    command->add_option("b", options->second, "File, run folder, plugin or plugin:preset.")
        ->required();
    command->add_flag("--json", options->json, "A JSON array instead.");
    options->request.plugins.addTo(*command);

    command = addLevel(*config, "explain", "Say where a value comes from.");
    options = addAction(command, session, explain);
    command->add_option("key", options->key, "Key to explain.")->required();
    options->request.addTo(*command);
    command->add_flag("--json", options->json, "One JSON object instead.");
}

} // namespace vergence::cli
