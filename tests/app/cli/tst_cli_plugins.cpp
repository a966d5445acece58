#include "tests/app/cli/cli_bench.h"
#include "tests/support/test_program.h"

#include <algorithm>

using namespace vergence;
using namespace vergence::test;
using nlohmann::json;
namespace fs = std::filesystem;

/// Plugins and the state of the installation.
class CliPluginsTest : public CliBench {
    Q_OBJECT

private Q_SLOTS:
    void init() { makeHome(); }

    void pluginTableTellsEveryState();
    void describeIsJson();
    void disabledPluginIsRefused();
    void checkRepairsQuarantine();
    void doctorReportsDevicesAndFolders();
};

void CliPluginsTest::pluginTableTellsEveryState()
{
    qputenv("VERGENCE_PLUGIN_PATH",
            QFile::encodeName(kBuild + "/lib/vergence-test-plugins/libvergence-plugin-heat.so:" +
                              kBuild + "/lib/vergence-bad-plugins/libwrong_api.so"));
    const json plugins = vergence({"plugins", "list", "--json"}).parsed();
    QCOMPARE(plugins[0]["state"].get<std::string>(), std::string("Ready"));
    QCOMPARE(plugins[1]["state"].get<std::string>(), std::string("Refused"));

    const Outcome table = vergence({"plugins", "list"});
    QVERIFY2(table.out.contains("it needs plugin API 3, this version offers 1."),
             qPrintable(table.out));
    const Outcome safe = vergence({"plugins", "list", "--safe-mode"});
    QVERIFY2(safe.out.contains("Safe mode is on"), qPrintable(safe.out));
}

void CliPluginsTest::describeIsJson()
{
    const json described = vergence({"plugins", "describe", "heat", "--json"}).parsed();
    QCOMPARE(described["descriptor"]["id"].get<std::string>(), std::string("heat"));
    QCOMPARE(described["descriptor"]["demo"].get<std::string>(), std::string("demo"));
    QCOMPARE(described["presets"].size(), std::size_t{2});

    const Outcome refused = vergence(
        {"plugins", "describe", "--json", kBuild + "/lib/vergence-bad-plugins/libwrong_iid.so"});
    QCOMPARE(refused.code, 4);
    QVERIFY(refused.parsed()["refusal"]["reason"].get<std::string>().find("org.other.Thing/1") !=
            std::string::npos);
}

void CliPluginsTest::disabledPluginIsRefused()
{
    QCOMPARE(vergence({"plugins", "disable", "heat"}).code, 0);
    const Outcome outcome = vergence({"run", "heat"});
    QCOMPARE(outcome.code, 4);
    QVERIFY2(outcome.err.contains("is switched off"), qPrintable(outcome.err));
    QCOMPARE(vergence({"plugins", "enable", "heat"}).code, 0);
    QCOMPARE(vergence({"validate", "heat"}).code, 0);
}

void CliPluginsTest::checkRepairsQuarantine()
{
    const QString folder = kBuild + "/lib/vergence-bad-plugins";
    QCOMPARE(vergence({"plugins", "check", "heat"}).code, 0);
    const Outcome refused = vergence({"plugins", "check", folder + "/libmissing_symbol.so"});
    QCOMPARE(refused.code, 4);
    QVERIFY2(refused.out.contains("vergenceTestNowhere"), qPrintable(refused.out));
    QCOMPARE(vergence({"plugins", "check", "crashes", "--plugin-path", folder}).code, 4);
    const Outcome again =
        vergence({"plugins", "check", "crashes", "--plugin-path", folder, "--json"});
    QCOMPARE(again.parsed()[0]["state"].get<std::string>(), std::string("Quarantined"));
}

void CliPluginsTest::doctorReportsDevicesAndFolders()
{
    const Outcome outcome = vergence({"doctor", "--json"});
    QCOMPARE(outcome.code, 0);
    const json report = outcome.parsed();
    QCOMPARE(report["devices"]["list"][0]["kind"].get<std::string>(), std::string("cpu"));
    const json& cpu = report["devices"]["list"][0];
    QVERIFY(cpu["product_threads"].get<int>() >= 1);
    QVERIFY(report["devices"]["list"].size() > 1 ||
            !report["devices"]["why_no_cuda"].get<std::string>().empty());
    QCOMPARE(report["folders"].size(), std::size_t{6});
    for (const json& folder : report["folders"])
        QVERIFY2(folder["writable"].get<bool>(), folder.dump().c_str());
    const auto isHeat = [](const json& plugin) {
        return plugin["id"] == "heat" && plugin["state"] == "Ready";
    };
    QVERIFY(std::any_of(report["plugins"].begin(), report["plugins"].end(), isHeat));
    QVERIFY(vergence({"doctor"}).out.contains("Devices"));
}

VERGENCE_TEST(CliPluginsTest)
#include "tst_cli_plugins.moc"
