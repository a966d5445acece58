#include <algorithm>
#include <filesystem>
#include <fstream>

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "core/base/file.h"
#include "core/plugin/plugin_registry.h"
#include "core/run/socket_folder.h"
#include "tests/support/test_program.h"

using namespace vergence;
namespace fs = std::filesystem;

namespace {

const fs::path kBad = fs::path(VERGENCE_BINARY_DIR) / "lib/vergence-bad-plugins";
const fs::path kGood =
    fs::path(VERGENCE_BINARY_DIR) / "lib/vergence-test-plugins/libvergence-plugin-heat.so";
const fs::path kExecutable = fs::path(VERGENCE_BINARY_DIR) / "bin/vergence";

void setFolder(const char* variable, const fs::path& folder)
{
    fs::create_directories(folder);
    qputenv(variable, QFile::encodeName(QString::fromStdString(folder.string())));
}

const PluginDescriptor* byFile(const std::vector<PluginDescriptor>& plugins,
                               const std::string& file)
{
    for (const PluginDescriptor& plugin : plugins) {
        if (plugin.path.filename() == file)
            return &plugin;
    }
    return nullptr;
}

} // namespace

class PluginTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void dubiousFileIsRefusedWithItsReason_data();
    void dubiousFileIsRefusedWithItsReason();
    void goodFileIsReadyAndKeepsItsDescriptor();
    void otherBuildTypeIsAllowedAndNoted();
    void descriptorSurvivesJson();
    void probeNamesTheCause_data();
    void probeNamesTheCause();
    void crashedFileIsNotOpenedAgain();
    void changedFileLeavesQuarantine();
    void probeDescribesAGoodPlugin();
    void probeAnswersFromItsCache();
    void onlyGoodPluginsOfADubiousFolderAreReady();
    void secondFileOfAnIdIsShadowed();
    void refusedFileShadowsNothing();
    void disabledPluginIsNeverOpened();
    void safeModeOpensNone();
    void searchOrderPutsExtraFoldersFirst();
    void loadTwiceGivesTheSamePlugin();
    void objectWithoutTheInterfaceIsRefused();
    void unknownPluginIsNamed();
    void presetsComeFromResourcesDemoFirst();
    void foldersFollowXdgVariables();
    void allModulesOfBodiesAreFound();

private:
    /// A folder with copies of the named files.
    fs::path folderWith(const std::vector<fs::path>& files);
    PluginRegistry scanned(const std::vector<fs::path>& folders, bool safeMode = false);

    std::unique_ptr<QTemporaryDir> m_home;
    fs::path m_root;
};

void PluginTest::init()
{
    m_home = std::make_unique<QTemporaryDir>();
    m_root = m_home->path().toStdString();
    setFolder("XDG_CONFIG_HOME", m_root / "config");
    setFolder("XDG_DATA_HOME", m_root / "data");
    setFolder("XDG_STATE_HOME", m_root / "state");
    setFolder("XDG_CACHE_HOME", m_root / "cache");
    setFolder("XDG_RUNTIME_DIR", m_root / "runtime");
    qunsetenv("VERGENCE_PLUGIN_PATH");
    qputenv("VERGENCE_TEST_MARKER",
            QFile::encodeName(QString::fromStdString((m_root / "marker").string())));
}

fs::path PluginTest::folderWith(const std::vector<fs::path>& files)
{
    const fs::path folder = m_root / "plugins";
    fs::create_directories(folder);
    for (const fs::path& file : files)
        fs::copy_file(file, folder / file.filename(), fs::copy_options::overwrite_existing);
    return folder;
}

PluginRegistry PluginTest::scanned(const std::vector<fs::path>& folders, bool safeMode)
{
    PluginSearch search;
    search.extraFolders = folders;
    search.safeMode = safeMode;
    PluginRegistry registry(search);
    registry.scan();
    return registry;
}

void PluginTest::allModulesOfBodiesAreFound()
{
    const fs::path folder = folderWith({});
    for (const char* name :
         {"lamp.so", "lamp_lens.so", "lamp_bulb.so", "lamps.so", "lamp_lens.txt"})
        std::ofstream(folder / (std::string("libvergence-kernels-") + name)) << "x";
    PluginDescriptor descriptor;
    descriptor.path = folder / "libvergence-plugin-lamp.so";
    descriptor.id = "lamp";
    std::vector<std::string> names;
    for (const fs::path& module : PluginRegistry::kernelModulesFor(descriptor))
        names.push_back(module.stem().string().substr(std::string("libvergence-kernels-").size()));
    QCOMPARE(names, (std::vector<std::string>{"lamp", "lamp_bulb", "lamp_lens"}));
    descriptor.id = "torch";
    QVERIFY(PluginRegistry::kernelModulesFor(descriptor).empty());
}

void PluginTest::dubiousFileIsRefusedWithItsReason_data()
{
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("reason");
    const auto row = [](const char* file, const char* reason) {
        QTest::newRow(file) << file << reason;
    };
    row("text.so", "it is a text file, not a shared library");
    row("truncated.so", "it is truncated (");
    row("stub.so", "it is truncated (10 bytes); copy it again");
    row("noise.so", "it is not a shared library");
    row("empty.so", "it is empty");
    row("folder.so", "it is not a plain file");
    row("nowhere.so", "there is no such file");
    row("libplain.so", "it is a plain library without plugin metadata");
    row("libwrong_iid.so",
        "its interface is `org.other.Thing/1`, this version offers `org.vergence.LabPlugin/1`");
    row("libmissing_keys.so", "its descriptor lacks `name`, `api.min`, `api.max`.");
    row("libwrong_api.so",
        "`libwrong_api.so` was refused: it needs plugin API 3, this version offers 1.");
    row("libnewer_qt.so", "it was built with Qt 6.99, this installation has 6.");
    row("libother_abi.so", "it was built with `clang14-libc++`, this version with `");
}

void PluginTest::dubiousFileIsRefusedWithItsReason()
{
    QFETCH(QString, file);
    QFETCH(QString, reason);
    const fs::path folder = m_root / "dubious";
    fs::create_directories(folder / "folder.so");
    const std::string whole = readFile(kGood);
    writeFileAtomic(folder / "text.so", "this is no library\n");
    writeFileAtomic(folder / "truncated.so", std::string_view(whole).substr(0, whole.size() / 2));
    writeFileAtomic(folder / "stub.so", std::string_view(whole).substr(0, 10));
    writeFileAtomic(folder / "noise.so", std::string_view("\x01\x02\x03\x04", 4));
    writeFileAtomic(folder / "empty.so", "");
    const fs::path base = file.startsWith("lib") ? kBad : folder;

    const PluginDescriptor descriptor = judgePlugin(base / file.toStdString());

    QCOMPARE(descriptor.state, PluginState::Refused);
    QVERIFY2(QString::fromStdString(descriptor.reason).contains(reason), descriptor.reason.c_str());
}

void PluginTest::goodFileIsReadyAndKeepsItsDescriptor()
{
    const PluginDescriptor descriptor = judgePlugin(kGood);

    QVERIFY2(descriptor.state == PluginState::Ready, descriptor.reason.c_str());
    QCOMPARE(descriptor.id, std::string("heat"));
    QCOMPARE(descriptor.name, std::string("Heat on a plate"));
    QCOMPARE(descriptor.apiMin, 1);
    QVERIFY(!descriptor.qt.empty() && !descriptor.abi.empty() && !descriptor.build.empty());
    QCOMPARE(descriptor.requirements, std::vector<std::string>{"cuda >=12.4 (optional)"});
    QVERIFY(!descriptor.needsCuda);
    QVERIFY(!fs::exists(m_root / "marker")); // no code of the plugin ran
}

void PluginTest::otherBuildTypeIsAllowedAndNoted()
{
    const PluginDescriptor descriptor = judgePlugin(kBad / "libdebug_build.so");

    QCOMPARE(descriptor.state, PluginState::Ready);
    QVERIFY2(descriptor.details.starts_with("Built as unoptimised, this version as"),
             descriptor.details.c_str());
}

void PluginTest::descriptorSurvivesJson()
{
    PluginDescriptor descriptor = judgePlugin(kGood);
    descriptor.capabilities = {"run", "view"};
    descriptor.literature = {"A paper"};
    descriptor.opens = {{"ply", "input.cloud", "view"}};
    descriptor.takes = {{{"sparse/0/cameras.bin", "*.mp4"}, "scene", "quick", {"source=images"}}};
    descriptor.needsCuda = true;

    QCOMPARE(toJson(descriptorFromJson(toJson(descriptor))).dump(), toJson(descriptor).dump());
    QCOMPARE(descriptorFromJson(toJson(descriptor)).opens.at(0).key, std::string("input.cloud"));
    QCOMPARE(descriptorFromJson(toJson(descriptor)).takes.at(0).markers.at(1),
             std::string("*.mp4"));
    const nlohmann::json damaged{{"opens", {{{"suffix", "ply"}}, 3, {{"key", "input.cloud"}}}},
                                 {"takes", {{{"key", "scene"}}, 3, {{"markers", {"*.mp4"}}}}}};
    QVERIFY(descriptorFromJson(damaged).opens.empty());
    QVERIFY(descriptorFromJson(damaged).takes.empty());
}

void PluginTest::probeNamesTheCause_data()
{
    QTest::addColumn<QString>("file");
    QTest::addColumn<int>("state");
    QTest::addColumn<QString>("reason");
    const auto row = [](const char* file, PluginState state, const char* reason) {
        QTest::newRow(file) << file << static_cast<int>(state) << reason;
    };
    row("libcrashes.so", PluginState::Quarantined, "it crashed while loading (signal 11).");
    row("libhangs.so", PluginState::Quarantined, "it did not load within 1.5 s.");
    row("libmissing_symbol.so", PluginState::Refused,
        "the symbol `vergenceTestNowhere` is missing");
    row("libmissing_library.so", PluginState::Refused,
        "it needs the library `libvergence-test-absent.so`, which is not installed.");
    row("libno_interface.so", PluginState::Refused,
        "its object does not implement `org.vergence.LabPlugin/1`");
}

void PluginTest::probeNamesTheCause()
{
    QFETCH(QString, file);
    QFETCH(int, state);
    QFETCH(QString, reason);
    PluginDescriptor descriptor = judgePlugin(kBad / file.toStdString());
    QVERIFY2(descriptor.state == PluginState::Ready, descriptor.reason.c_str());
    PluginRegistry registry({});

    QVERIFY(!registry.probe(descriptor, kExecutable, 1500));

    QCOMPARE(static_cast<int>(descriptor.state), state);
    QVERIFY2(QString::fromStdString(descriptor.reason).contains(reason), descriptor.reason.c_str());
}

void PluginTest::crashedFileIsNotOpenedAgain()
{
    const fs::path folder = folderWith({kBad / "libcrashes.so"});
    PluginRegistry registry = scanned({folder});
    PluginDescriptor descriptor = *byFile(registry.plugins(), "libcrashes.so");
    QVERIFY(!registry.probe(descriptor, kExecutable));

    PluginRegistry next = scanned({folder});
    const PluginDescriptor* found = byFile(next.plugins(), "libcrashes.so");
    QCOMPARE(found->state, PluginState::Quarantined);
    QCOMPARE(found->reason, descriptor.reason);
    QVERIFY_EXCEPTION_THROWN(next.load(found->id), Error);

    next.clearQuarantine(*found);
    QCOMPARE(byFile(next.plugins(), "libcrashes.so")->state, PluginState::Ready);
}

void PluginTest::changedFileLeavesQuarantine()
{
    const fs::path folder = folderWith({kGood});
    PluginRegistry registry = scanned({folder});
    registry.setQuarantined(*registry.find("heat"), "It misbehaved.");
    QCOMPARE(registry.find("heat")->state, PluginState::Quarantined);

    std::ofstream(folder / kGood.filename(), std::ios::app) << "a new build";

    registry.scan();
    QCOMPARE(registry.find("heat")->state, PluginState::Ready);
}

void PluginTest::probeDescribesAGoodPlugin()
{
    PluginDescriptor descriptor = judgePlugin(kGood);
    PluginRegistry registry({});

    const auto described = registry.probe(descriptor, kExecutable);

    QVERIFY2(described.has_value(), (descriptor.reason + descriptor.details).c_str());
    QCOMPARE(descriptorFromJson(described->at("descriptor")).id, std::string("heat"));
    const ConfigSchema schema = ConfigSchema::fromJson(described->at("schema"));
    QVERIFY(schema.find("sweeps"));
    QCOMPARE(described->at("presets").at(0).at("name").get<std::string>(), std::string("demo"));
    QCOMPARE(described->at("metrics").at(0).at("name").get<std::string>(),
             std::string("heat/residual"));
    QCOMPARE(described->at("streams").at(0).at("id").get<std::string>(),
             std::string("temperature"));
}

void PluginTest::probeAnswersFromItsCache()
{
    PluginDescriptor descriptor = judgePlugin(kGood);
    PluginRegistry registry({});
    const auto first = registry.probe(descriptor, kExecutable);
    QVERIFY(first.has_value());

    const auto second = registry.probe(descriptor, "/nowhere/vergence");

    QVERIFY(second.has_value());
    QCOMPARE(second->dump(), first->dump());
}

void PluginTest::onlyGoodPluginsOfADubiousFolderAreReady()
{
    const fs::path folder = folderWith({kGood});
    PluginRegistry registry = scanned({folder, kBad});
    std::vector<std::string> ready, reasons;
    for (PluginDescriptor plugin : registry.plugins()) {
        if (plugin.path.parent_path() != folder && plugin.path.parent_path() != kBad)
            continue; // the labs of the build tree
        registry.probe(plugin, kExecutable, 1500);
        if (plugin.state == PluginState::Ready)
            ready.push_back(plugin.id);
        else
            reasons.push_back(plugin.reason);
    }

    QCOMPARE(ready, (std::vector<std::string>{"heat", "debug_build"}));
    QCOMPARE(reasons.size(), std::size_t{11});
    std::sort(reasons.begin(), reasons.end());
    QVERIFY(std::adjacent_find(reasons.begin(), reasons.end()) == reasons.end());
}

void PluginTest::secondFileOfAnIdIsShadowed()
{
    const fs::path folder = folderWith({kGood});
    fs::copy_file(kGood, folder / "zz_copy.so");
    PluginRegistry registry = scanned({folder});

    QCOMPARE(registry.find("heat")->path.filename(), kGood.filename());
    const PluginDescriptor* copy = byFile(registry.plugins(), "zz_copy.so");
    QCOMPARE(copy->state, PluginState::Shadowed);
    QVERIFY2(copy->reason.find(kGood.filename().string()) != std::string::npos,
             copy->reason.c_str());
}

void PluginTest::refusedFileShadowsNothing()
{
    const fs::path folder = folderWith({kGood});
    const std::string whole = readFile(kGood);
    writeFileAtomic(folder / "aa_torn.so", std::string_view(whole).substr(0, whole.size() / 2));
    PluginRegistry registry = scanned({folder});

    QCOMPARE(byFile(registry.plugins(), "aa_torn.so")->state, PluginState::Refused);
    QCOMPARE(registry.find("heat")->state, PluginState::Ready);
}

void PluginTest::disabledPluginIsNeverOpened()
{
    const fs::path folder = folderWith({kGood});
    PluginRegistry registry = scanned({folder});
    registry.setEnabled("heat", false);
    PluginDescriptor descriptor = *registry.find("heat");

    QCOMPARE(descriptor.state, PluginState::Disabled);
    QVERIFY(!registry.probe(descriptor, kExecutable));
    QVERIFY_EXCEPTION_THROWN(registry.load("heat"), Error);
    QVERIFY(!fs::exists(m_root / "marker"));

    registry.setEnabled("heat", true);
    QCOMPARE(registry.find("heat")->state, PluginState::Ready);
}

void PluginTest::safeModeOpensNone()
{
    PluginRegistry registry = scanned({folderWith({kGood}), kBad}, true);

    for (PluginDescriptor plugin : registry.plugins()) {
        QVERIFY(plugin.state != PluginState::Ready);
        QVERIFY(!registry.probe(plugin, kExecutable));
    }
    QVERIFY_EXCEPTION_THROWN(registry.load("heat"), Error);
    QVERIFY(!fs::exists(m_root / "marker"));
}

void PluginTest::searchOrderPutsExtraFoldersFirst()
{
    qputenv("VERGENCE_PLUGIN_PATH", "/from/environment:/second");
    PluginSearch search;
    search.extraFolders = {"/extra"};
    const auto folders = search.folders();

    QCOMPARE(folders.size(), std::size_t{5});
    QCOMPARE(folders[0], fs::path("/extra"));
    QCOMPARE(folders[1], fs::path("/from/environment"));
    QCOMPARE(folders[2], fs::path("/second"));
    QCOMPARE(folders[3], m_root / "data/vergence/plugins/api-1");
    QCOMPARE(folders[4], fs::path(VERGENCE_BINARY_DIR) / "lib/vergence/plugins/api-1");
}

void PluginTest::loadTwiceGivesTheSamePlugin()
{
    PluginRegistry registry = scanned({kGood});

    LabPlugin& plugin = registry.load("heat");

    QCOMPARE(&registry.load("heat"), &plugin);
    QCOMPARE(plugin.schema().id(), std::string("heat"));
    QVERIFY(fs::exists(m_root / "marker"));
}

void PluginTest::objectWithoutTheInterfaceIsRefused()
{
    PluginRegistry registry = scanned({kBad / "libno_interface.so"});
    try {
        registry.load("no_interface");
        QFAIL("loaded");
    } catch (const PluginRefusal& refusal) {
        QCOMPARE(refusal.exitCode(), ExitCode::PluginUnavailable);
        QVERIFY(std::string(refusal.what()).find("Q_INTERFACES") != std::string::npos);
    }
}

void PluginTest::unknownPluginIsNamed()
{
    PluginRegistry registry = scanned({});
    try {
        registry.load("nothing_of_this_name");
        QFAIL("loaded");
    } catch (const Error& error) {
        QCOMPARE(error.exitCode(), ExitCode::PluginUnavailable);
        QVERIFY(std::string(error.what()).find("nothing_of_this_name") != std::string::npos);
    }
}

void PluginTest::presetsComeFromResourcesDemoFirst()
{
    PluginRegistry registry = scanned({kGood});
    const auto presets = registry.load("heat").presets();

    QCOMPARE(presets.size(), std::size_t{2});
    QCOMPARE(presets[0].name, std::string("demo"));
    QCOMPARE(presets[0].title, std::string("Quick demo"));
    QCOMPARE(presets[0].summary, std::string("Twenty sweeps on a small plate."));
    QCOMPARE(presets[1].name, std::string("coarse"));
}

void PluginTest::foldersFollowXdgVariables()
{
    QCOMPARE(configHome(), m_root / "config/vergence");
    QCOMPARE(stateHome(), m_root / "state/vergence");
    QCOMPARE(cacheHome(), m_root / "cache/vergence");
    QCOMPARE(socketFolder(), m_root / "runtime/vergence");
    QCOMPARE(fs::status(socketFolder()).permissions(), fs::perms::owner_all);

    qputenv("XDG_CONFIG_HOME", "relative/is/ignored");
    qputenv("HOME", QFile::encodeName(QString::fromStdString((m_root / "home").string())));
    QCOMPARE(configHome(), m_root / "home/.config/vergence");
}

VERGENCE_TEST(PluginTest)
#include "tst_plugin.moc"
