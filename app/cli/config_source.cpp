#include "app/cli/config_source.h"

#include <algorithm>
#include <iostream>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/text.h"
#include "core/artifact/run_folder.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence::cli {

namespace {

namespace fs = std::filesystem;

std::string readInput(const std::string& file)
{
    if (file == "-")
        return std::string(std::istreambuf_iterator<char>(std::cin), {});
    return readFile(file);
}

ConfigLayer fileLayer(const std::string& file)
{
    return {
        file == "-" ? "standard input" : fs::path(file).filename().string(), readInput(file), {}};
}

bool namesFile(const std::string& target)
{
    std::error_code code;
    return target == "-" || fs::is_regular_file(target, code) ||
           fs::path(target).extension() == ".toml";
}

/// Not a folder here that a plugin merely shares its name with, as that of its source does.
bool namesFolder(const std::string& target)
{
    std::error_code code;
    return fs::is_directory(target, code) &&
           (target.find('/') != std::string::npos || fs::exists(RunFolder{target}.status(), code));
}

/// Plugin that a file belongs to: `plugin = "heat"`, or what `schema = "org.vergence.heat/3"` says.
std::string pluginOf(const ConfigHeader& header)
{
    if (!header.plugin.empty())
        return header.plugin;
    const std::string schema = header.schema.substr(0, header.schema.find('/'));
    return schema.substr(schema.rfind('.') + 1);
}

/// What is known before the plugin is loaded.
struct Draft {
    std::string plugin, preset;
    bool presetIsFromFile = false;
    std::vector<ConfigLayer> files;
    std::vector<ConfigIssue> issues;
};

void readHeader(Draft& draft, const ConfigLayer& layer)
{
    const ConfigHeader header = readConfigHeader(layer.toml, layer.source);
    const std::string plugin = pluginOf(header);
    if (draft.plugin.empty()) {
        draft.plugin = plugin;
    } else if (!plugin.empty() && plugin != draft.plugin) {
        ConfigIssue issue;
        issue.rule = "other_plugin";
        issue.sentence =
            fmt::format("This is a configuration of `{}`, not of `{}`.", plugin, draft.plugin);
        issue.place.source = layer.source;
        draft.issues.push_back(issue);
    }
    if (draft.preset.empty() && !header.preset.empty()) {
        draft.preset = header.preset;
        draft.presetIsFromFile = true;
    }
}

Draft makeDraft(const ConfigRequest& request)
{
    Draft draft;
    draft.preset = request.preset;
    if (namesFolder(request.target)) {
        const RunFolder folder = RunFolder::open(request.target);
        draft.plugin = readStatus(folder).plugin;
        draft.files.push_back(fileLayer(folder.config().string()));
    } else if (namesFile(request.target)) {
        draft.files.push_back(fileLayer(request.target));
    } else if (request.target.find('/') != std::string::npos) {
        throw InputError(fmt::format("There is no run folder and no file {}.", request.target));
    } else {
        draft.plugin = request.target;
    }
    if (!request.file.empty())
        draft.files.push_back(fileLayer(request.file));
    for (const ConfigLayer& layer : draft.files)
        readHeader(draft, layer);
    return draft;
}

/// Throws for a file that does not say what it configures; its issues come first where it has some.
void requirePlugin(const Draft& draft)
{
    if (!draft.plugin.empty())
        return;
    for (const ConfigLayer& layer : draft.files) {
        for (const ConfigIssue& issue : readConfigHeader(layer.toml, layer.source).issues)
            std::cerr << issue.text() << '\n';
    }
    throw Error(fmt::format("{} does not say which plugin it configures; begin it with a line like "
                            "plugin = \"light_field\".",
                            draft.files.empty() ? "The configuration" : draft.files.front().source),
                ExitCode::ConfigInvalid);
}

std::string listOfPresets(const std::vector<std::string>& names)
{
    return names.empty() ? "It has none." : fmt::format("It has: {}.", fmt::join(names, ", "));
}

void addPreset(ConfigSource& source, const Draft& draft)
{
    if (draft.preset.empty())
        return;
    std::vector<std::string> names;
    for (const Preset& preset : source.lab->presets()) {
        names.push_back(preset.name);
        if (preset.name == draft.preset) {
            source.preset = preset.name;
            source.layers.push_back({"preset " + preset.name, preset.toml, {}});
            return;
        }
    }
    const std::string sentence =
        fmt::format("{} has no preset `{}`.{} {}", source.plugin.name, draft.preset,
                    suggestion(draft.preset, names), listOfPresets(names));
    if (!draft.presetIsFromFile)
        throw Error(sentence, ExitCode::Usage);
    ConfigIssue issue;
    issue.rule = "unknown_preset";
    issue.key = "preset";
    issue.sentence = sentence;
    issue.place.source = draft.files.front().source;
    issue.nearest = nearest(draft.preset, names);
    source.issues.push_back(issue);
}

/// The file as it was given, or what stands for one where all came from the command line.
std::string inputText(const ConfigRequest& request, const Draft& draft)
{
    if (!draft.files.empty())
        return draft.files.back().toml;
    std::string text = fmt::format("plugin = \"{}\"\n", draft.plugin);
    if (!draft.preset.empty())
        text += fmt::format("preset = \"{}\"\n", draft.preset);
    for (const std::string& assignment : request.assignments)
        text += fmt::format("# --set {}\n", assignment);
    return text;
}

ConfigBuilder::Result buildLayers(const ConfigSchema& schema, const ConfigSource& source,
                                  const std::vector<ConfigLayer>& layers)
{
    ConfigBuilder builder(schema);
    for (const ConfigIssue& issue : source.ownIssues)
        builder.addIssue(issue);
    for (const ConfigLayer& layer : layers) {
        if (!layer.toml.empty())
            builder.addToml(layer.toml, layer.source);
        for (const std::string& assignment : layer.assignments)
            builder.addAssignment(assignment, layer.source);
    }
    return builder.build();
}

/// The schema without what looks beyond one value: its rules, and where paths lead.
ConfigSchema withoutRules(const ConfigSchema& schema)
{
    std::vector<Field> fields = schema.fields();
    for (Field& field : fields)
        field.pathKind = PathKind::Any;
    return ConfigSchema(schema.id(), schema.version(), std::move(fields));
}

/// Whether a complaint may be about a path: some texts are names or folders.
bool isOfPath(const ConfigIssue& issue, const Config& config)
{
    const Field* field = config.schema().find(issue.key);
    if (field == nullptr || issue.severity != IssueSeverity::Error)
        return false;
    const auto* text = std::get_if<std::string>(&config.value(issue.key));
    return field->type == FieldType::Path ||
           (field->type == FieldType::String && text->find('/') != std::string::npos);
}

/// `layers` over each other. Where paths are those of another computer, rules that they break are
/// left to that one.
ConfigBuilder::Result judged(const ConfigSource& source, const std::vector<ConfigLayer>& layers)
{
    const ConfigSchema schema = source.lab->schema();
    auto result = buildLayers(schema, source, layers);
    if (result.config || !source.pathsAreElsewhere)
        return result;
    auto plain = buildLayers(withoutRules(schema), source, layers);
    if (!plain.config)
        return result;
    std::erase_if(result.issues,
                  [&](const ConfigIssue& issue) { return isOfPath(issue, *plain.config); });
    if (!hasErrors(result.issues))
        result.config = std::move(plain.config);
    return result;
}

} // namespace

void ConfigRequest::addTo(CLI::App& app, bool requiresTarget)
{
    app.add_option("lab", target, "Plugin, configuration file or run folder.")
        ->required(requiresTarget)
        ->type_name("PLUGIN|FILE|RUNDIR");
    addLayersTo(app);
}

void ConfigRequest::addLayersTo(CLI::App& app)
{
    app.add_option("--preset", preset, "Preset of the plugin to start from.")->type_name("NAME");
    app.add_option("--config", file, "TOML file laid over the preset; - reads standard input.")
        ->type_name("FILE");
    addRepeatable(app, "--set", assignments, "One value, strongest of all (repeatable).")
        ->type_name("KEY=VALUE");
    plugins.addTo(app);
}

ConfigSource resolveConfig(const ConfigRequest& request, const Session& session)
{
    const Draft draft = makeDraft(request);
    requirePlugin(draft);
    ConfigSource source(request.plugins.search());
    source.registry.scan();
    source.plugin =
        choosePlugin(source.registry, draft.plugin, session.executable, !request.isForElsewhere);
    source.lab = &source.registry.load(source.plugin);
    source.issues = draft.issues;
    addPreset(source, draft);
    source.layers.insert(source.layers.end(), draft.files.begin(), draft.files.end());
    if (!request.assignments.empty())
        source.layers.push_back({"--set", "", request.assignments});
    source.input = inputText(request, draft);
    source.hasFile = !draft.files.empty();
    source.ownIssues = source.issues;
    source.pathsAreElsewhere = request.pathsAreElsewhere;
    auto result = judged(source, source.layers);
    source.issues = std::move(result.issues);
    source.config = std::move(result.config);
    return source;
}

ConfigVariant variantOf(const ConfigSource& source, const std::vector<std::string>& assignments,
                        const std::string& name)
{
    std::vector<ConfigLayer> layers = source.layers;
    layers.push_back({name, "", assignments});
    ConfigVariant variant;
    variant.input = source.input;
    for (const std::string& assignment : assignments) {
        if (!source.hasFile)
            variant.input += fmt::format("# {} {}\n", name, assignment);
    }
    auto result = judged(source, layers);
    variant.issues = std::move(result.issues);
    variant.config = std::move(result.config);
    return variant;
}

const Config& requireConfig(const ConfigSource& source)
{
    for (const ConfigIssue& issue : source.issues)
        std::cerr << issue.text() << '\n';
    if (!source.config) {
        const auto errors =
            std::count_if(source.issues.begin(), source.issues.end(), [](const ConfigIssue& issue) {
                return issue.severity == IssueSeverity::Error;
            });
        throw Error(
            fmt::format("The configuration has {} error{}.", errors, errors == 1 ? "" : "s"),
            ExitCode::ConfigInvalid);
    }
    return *source.config;
}

} // namespace vergence::cli
