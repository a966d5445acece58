#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <QTest>

#include "tests/support/test_program.h"

namespace {

namespace fs = std::filesystem;

/// Which project folders a folder may include, beside itself. The table of the house style.
const std::map<std::string, std::vector<std::string>>& allowedFolders()
{
    static const std::vector<std::string> core = {"core/base",    "core/compute", "core/config",
                                                  "core/metrics", "core/view",    "core/artifact",
                                                  "core/run",     "core/plugin",  "core/cluster"};
    static const auto upTo = [](std::size_t count) {
        return std::vector<std::string>(core.begin(), core.begin() + count);
    };
    static const auto with = [](std::vector<std::string> list, std::vector<std::string> more) {
        list.insert(list.end(), more.begin(), more.end());
        return list;
    };
    static const std::map<std::string, std::vector<std::string>> table = {
        {"core/base", {}},
        {"core/compute", upTo(1)},
        {"core/config", upTo(2)},
        {"core/metrics", upTo(3)},
        {"core/view", upTo(4)},
        {"core/artifact", upTo(5)},
        {"core/run", upTo(6)},
        {"core/plugin", upTo(7)},
        {"core/cluster", upTo(8)},
        {"cuda/backend", {"core/base", "core/compute", "cuda/primitives"}},
        {"cuda/primitives", {"core/base", "core/compute"}},
        {"cuda/interop", {"core/base", "core/view"}},
        {"app", with(core, {"app/shell", "app/style"})},
        {"app/style", {}},
        {"app/shell",
         with(core, {"app/style", "app/forms", "app/charts", "app/viewport", "app/export"})},
        {"app/forms", {"app/style", "core/base", "core/config"}},
        {"app/charts", {"app/style", "core/base", "core/metrics"}},
        {"app/viewport", {"app/style", "core/base", "core/view"}},
        {"app/export", {"app/style", "core/base", "core/metrics", "core/artifact"}},
        {"app/cli", core},
        {"plugins/*", core},
        {"plugins/*/compute", {"core/base", "core/compute", "cuda/primitives"}},
    };
    return table;
}

const std::set<std::string> kTopLevel = {
    "CMakeLists.txt", "CMakePresets.json", "app",   "plugins",   "core",
    "cuda",           "resources",         "tests", "packaging", "README.md",
    "LICENSE",        "CHANGELOG.md"};

fs::path root()
{
    return VERGENCE_SOURCE_DIR;
}

bool isSource(const fs::path& path)
{
    static const std::set<std::string> extensions = {".h", ".cpp", ".cu", ".cuh"};
    return extensions.contains(path.extension().string());
}

/// Folder of a file as the table names it: "plugins/light_field/compute" becomes
/// "plugins/*/compute".
std::string layerOf(const std::string& relative)
{
    std::vector<std::string> parts;
    for (const auto& part : fs::path(relative).parent_path())
        parts.push_back(part.string());
    if (parts.empty())
        return "";
    if (parts[0] == "plugins" && parts.size() >= 2)
        return parts.size() >= 3 && parts[2] == "compute" ? "plugins/*/compute" : "plugins/*";
    return parts.size() >= 2 ? parts[0] + "/" + parts[1] : parts[0];
}

std::string pluginOf(const std::string& relative)
{
    const auto first = relative.find('/');
    return relative.rfind("plugins/", 0) == 0
               ? relative.substr(first + 1, relative.find('/', first + 1) - first - 1)
               : "";
}

struct Include {
    std::string file;
    int line;
    std::string target;
    bool isSystem;
};

std::vector<Include> includesBelow(const std::string& folder)
{
    static const std::regex pattern("^\\s*#\\s*include\\s*([<\"])([^>\"]+)[>\"]");
    std::vector<Include> found;
    for (const auto& entry : fs::recursive_directory_iterator(root() / folder)) {
        if (!entry.is_regular_file() || !isSource(entry.path()))
            continue;
        std::ifstream stream(entry.path());
        std::string text;
        for (int line = 1; std::getline(stream, text); ++line) {
            std::smatch match;
            if (std::regex_search(text, match, pattern))
                found.push_back(
                    {fs::relative(entry.path(), root()).string(), line, match[2], match[1] == "<"});
        }
    }
    return found;
}

std::string at(const Include& include)
{
    return include.file + ":" + std::to_string(include.line) + " includes " + include.target;
}

/// Why this include breaks the house rules; empty where it does not.
std::string complaint(const Include& include)
{
    const std::string layer = layerOf(include.file);
    const std::string& target = include.target;
    const bool isQt = include.isSystem && (target[0] == 'Q' || target.rfind("Qt", 0) == 0) &&
                      target.find('.') == std::string::npos;
    const bool mayUseQt = layer == "core/run" || layer == "core/plugin" ||
                          layer == "core/cluster" || layer.rfind("app", 0) == 0 ||
                          layer == "plugins/*" || layer == "cuda/backend" ||
                          layer == "cuda/interop";
    if (isQt && !mayUseQt)
        return "Qt is not allowed in " + layer;
    if (include.isSystem) {
        const bool isCuda = target.rfind("cuda", 0) == 0 || target.rfind("cub/", 0) == 0;
        const bool isSeam =
            include.file == "core/compute/launch.h" || include.file == "core/compute/host_device.h";
        const bool isDeviceFile = include.file.ends_with(".cuh") || include.file.ends_with(".cu");
        return isCuda && layer.rfind("cuda/", 0) != 0 && !isSeam && !isDeviceFile
                   ? "CUDA headers belong to cuda/"
                   : "";
    }
    const std::string targetLayer = layerOf(target);
    if (target.find('/') == std::string::npos)
        return target.ends_with(".moc") ? "" : "project includes are written from the root";
    if (layer == targetLayer && pluginOf(include.file) == pluginOf(target))
        return "";
    if (layer == "plugins/*" && targetLayer == "plugins/*/compute" &&
        pluginOf(include.file) == pluginOf(target))
        return "";
    const auto row = allowedFolders().find(layer);
    if (row == allowedFolders().end())
        return "folder " + layer + " is not in the table";
    const auto& list = row->second;
    return std::find(list.begin(), list.end(), targetLayer) == list.end()
               ? layer + " may not include " + targetLayer
               : "";
}

/// "namespace::Name" of each type that a header defines.
std::vector<std::string> typesOf(const std::string& header)
{
    static const std::regex space("^namespace ([\\w:]+) \\{"),
        type("^(?:struct|class|enum class) (\\w+)(?: final)?(?: : .*)?(?: \\{.*|$)");
    std::vector<std::string> types;
    std::string line, inside;
    for (std::istringstream text(header); std::getline(text, line);) {
        std::smatch match;
        if (std::regex_search(line, match, space))
            inside = match[1].str() + "::";
        else if (std::regex_match(line, match, type))
            types.push_back(inside + match[1].str());
    }
    return types;
}

std::string textOf(const fs::path& file)
{
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

bool isTest(const fs::path& file)
{
    return file.extension() == ".cpp" && file.filename().string().starts_with("tst_");
}

/// Folders of tests; those of each are one program.
std::vector<fs::path> testFolders()
{
    std::set<fs::path> folders;
    for (const auto& entry : fs::recursive_directory_iterator(root() / "tests")) {
        if (isTest(entry.path()))
            folders.insert(entry.path().parent_path());
    }
    return {folders.begin(), folders.end()};
}

} // namespace

/// Reads every include line of the tree and fails on one that breaks the house style's table.
class TestLayering : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyIncludeRespectsTheTable()
    {
        std::vector<std::string> complaints;
        std::size_t seen = 0;
        for (const char* folder : {"app", "core", "cuda", "plugins"}) {
            for (const Include& include : includesBelow(folder)) {
                ++seen;
                const std::string text = complaint(include);
                if (!text.empty())
                    complaints.push_back(at(include) + ": " + text);
            }
        }
        for (const auto& text : complaints)
            qWarning("%s", text.c_str());
        QVERIFY(seen > 100);
        QCOMPARE(complaints.size(), std::size_t(0));
    }

    void theTableRefusesForbiddenIncludes_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("target");
        QTest::addColumn<bool>("isSystem");
        QTest::addColumn<bool>("isAllowed");
        QTest::newRow("core must not know the app") << "core/run/a.cpp"
                                                    << "app/shell/b.h" << false << false;
        QTest::newRow("core has an order") << "core/base/a.cpp"
                                           << "core/run/b.h" << false << false;
        QTest::newRow("plugins show nothing") << "plugins/x/a.cpp"
                                              << "app/forms/b.h" << false << false;
        QTest::newRow("plugins do not meet") << "plugins/x/a.cpp"
                                             << "plugins/y/b.h" << false << false;
        QTest::newRow("mathematics knows no configuration") << "plugins/x/compute/a.cpp"
                                                            << "core/config/b.h" << false << false;
        QTest::newRow("no Qt early in core") << "core/artifact/a.cpp"
                                             << "QString" << true << false;
        QTest::newRow("no CUDA in plugins") << "plugins/x/a.cpp"
                                            << "cuda_runtime.h" << true << false;
        QTest::newRow("plugin uses core") << "plugins/x/a.cpp"
                                          << "core/run/run.h" << false << true;
        QTest::newRow("plugin uses its mathematics") << "plugins/x/a.cpp"
                                                     << "plugins/x/compute/b.h" << false << true;
    }
    void theTableRefusesForbiddenIncludes()
    {
        QFETCH(QString, file);
        QFETCH(QString, target);
        QFETCH(bool, isSystem);
        QFETCH(bool, isAllowed);
        QCOMPARE(complaint({file.toStdString(), 1, target.toStdString(), isSystem}).empty(),
                 isAllowed);
    }

    /// The linker takes two types of one name for one, and says nothing.
    void headersOfAProgramNameTypesOnce()
    {
        std::size_t seen = 0;
        for (const fs::path& folder : testFolders()) {
            std::map<std::string, std::string> owners;
            for (const fs::path& from : {folder, root() / "tests/support"}) {
                for (const auto& entry : fs::directory_iterator(from)) {
                    if (entry.path().extension() != ".h")
                        continue;
                    const std::string header = fs::relative(entry.path(), root()).string();
                    for (const std::string& name : typesOf(textOf(entry.path()))) {
                        const std::string& owner = owners.emplace(name, header).first->second;
                        QVERIFY2(owner == header,
                                 (name + " is in " + owner + " and in " + header).c_str());
                        ++seen;
                    }
                }
            }
        }
        QVERIFY(seen > 100);
    }

    void typesAreFoundWhereTheyAreDefined()
    {
        const std::vector<std::string> types = typesOf(
            "struct Free {\nnamespace a::b {\nclass Later;\nclass Final final : public Free {\n"
            "    struct Inner {\nenum class Choice { One };\nclass Long final\n");
        QCOMPARE(types,
                 (std::vector<std::string>{"Free", "a::b::Final", "a::b::Choice", "a::b::Long"}));
    }

    /// QtTest reads the environment on a thread of its own, see tests/support/environment.h.
    void testsChangeTheEnvironmentThroughQt()
    {
        const std::regex call(R"(\b((un)?setenv|putenv|clearenv)\([^)])");
        std::size_t seen = 0;
        for (const auto& entry : fs::recursive_directory_iterator(root() / "tests")) {
            const auto extension = entry.path().extension();
            if (extension != ".cpp" && extension != ".h")
                continue;
            QVERIFY2(!std::regex_search(textOf(entry.path()), call), entry.path().c_str());
            ++seen;
        }
        QVERIFY(seen > 300);
    }

    void topLevelHoldsOnlyTheLayout()
    {
        for (const auto& entry : fs::directory_iterator(root())) {
            const std::string name = entry.path().filename().string();
            if (name[0] == '.' || name.rfind("build", 0) == 0 || name == "runs")
                continue;
            QVERIFY2(kTopLevel.contains(name), name.c_str());
        }
    }
};

VERGENCE_TEST(TestLayering)
#include "tst_layering.moc"
