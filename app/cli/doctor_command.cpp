#include <iostream>
#include <memory>

#include <unistd.h>

#include <QtGlobal>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command.h"
#include "app/cli/plugin_access.h"
#include "app/cli/text.h"
#include "core/artifact/manifest.h"
#include "core/artifact/run_folder.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/compute/backend.h"
#include "core/compute/cpu_threads.h"
#include "core/run/socket_folder.h"

namespace vergence::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct DoctorOptions {
    PluginOptions plugins;
    bool json = false;
};

json describeDevices()
{
    const DeviceList list = openDevices();
    auto devices = json::array();
    for (const auto& device : list.devices) {
        const DeviceInfo& info = device->info();
        json row = {{"kind", device->isCpu() ? "cpu" : "cuda"},
                    {"name", info.name},
                    {"uuid", info.uuid},
                    {"product_threads", productThreads(*device)},
                    {"compute_capability", info.computeCapability},
                    {"driver", info.driver}};
        try {
            const DeviceMemory memory = device->memory();
            row["total_bytes"] = memory.total;
            row["free_bytes"] = memory.free;
        } catch (const DeviceError& error) {
            row["problem"] = error.what();
        }
        devices.push_back(std::move(row));
    }
    return {{"list", devices}, {"why_no_cuda", list.whyNoCuda}};
}

/// A folder of the studio with what this user may do there.
json describeFolder(const char* name, fs::path (*folder)())
{
    json row = {{"name", name}};
    try {
        const fs::path path = folder();
        row["path"] = path.string();
        fs::path existing = fs::absolute(path);
        std::error_code code;
        while (!fs::exists(existing, code) && existing.has_relative_path())
            existing = existing.parent_path();
        row["writable"] = ::access(existing.c_str(), W_OK | X_OK) == 0;
        row["free_bytes"] = freeBytes(existing);
    } catch (const IoError& error) {
        row["path"] = "";
        row["writable"] = false;
        row["problem"] = error.what();
    }
    return row;
}

json describeFolders()
{
    return json::array({describeFolder("settings", configHome), describeFolder("data", dataHome),
                        describeFolder("state", stateHome), describeFolder("cache", cacheHome),
                        describeFolder("runtime", socketFolder),
                        describeFolder("runs", defaultRunsFolder)});
}

void print(const json& report, const std::vector<PluginDescriptor>& plugins)
{
    std::cout << versionText() << "\n\nDevices\n";
    for (const json& device : report["devices"]["list"]) {
        if (device.contains("problem")) {
            std::cout << fmt::format("  {}: {} – {}\n", device["kind"].get<std::string>(),
                                     device["name"].get<std::string>(),
                                     device["problem"].get<std::string>());
            continue;
        }
        const int count = device["product_threads"].get<int>();
        std::cout << fmt::format("  {}: {}{}, {} of {} free\n", device["kind"].get<std::string>(),
                                 device["name"].get<std::string>(),
                                 count > 0 ? fmt::format(", matrix products on {}", count) : "",
                                 bytesText(device["free_bytes"].get<std::uint64_t>()),
                                 bytesText(device["total_bytes"].get<std::uint64_t>()));
    }
    if (const auto reason = report["devices"]["why_no_cuda"].get<std::string>(); !reason.empty())
        std::cout << "  No CUDA: " << reason << '\n';
    std::cout << "\nPlugins\n";
    if (plugins.empty())
        std::cout << "  none found\n";
    for (const PluginDescriptor& plugin : plugins) {
        std::cout << fmt::format("  {}: {}{}{}\n", plugin.path.filename().string(),
                                 nameOf(plugin.state), plugin.reason.empty() ? "" : " – ",
                                 plugin.reason);
    }
    std::cout << "\nFolders\n";
    std::vector<std::vector<std::string>> rows;
    for (const json& folder : report["folders"]) {
        const bool isWritable = folder["writable"].get<bool>();
        rows.push_back({"  " + folder["name"].get<std::string>(),
                        isWritable ? "writable" : "NOT WRITABLE",
                        folder.contains("free_bytes")
                            ? bytesText(folder["free_bytes"].get<std::uint64_t>()) + " free"
                            : "",
                        folder.value("problem", folder["path"].get<std::string>())});
    }
    printTable(std::cout, rows);
}

int examine(const DoctorOptions& options, const Session& session)
{
    const auto plugins = probedPlugins(options.plugins, session.executable);
    auto table = json::array();
    for (const PluginDescriptor& plugin : plugins)
        table.push_back(toJson(plugin));
    const json report = {{"build", buildInfo()},
                         {"qt", qVersion()},
                         {"devices", describeDevices()},
                         {"plugins", table},
                         {"folders", describeFolders()}};
    if (options.json)
        std::cout << report.dump(2) << '\n';
    else
        print(report, plugins);
    return 0;
}

} // namespace

void addDoctorCommand(CLI::App& app, Session& session)
{
    CLI::App* command =
        addLevel(app, "doctor", "Say what this installation and this computer offer.");
    auto options = std::make_shared<DoctorOptions>();
    command->add_flag("--json", options->json, "One JSON object instead.");
    options->plugins.addTo(*command);
    command->callback([options, &session] {
        session.action = [options, &session] { return examine(*options, session); };
    });
}

} // namespace vergence::cli
