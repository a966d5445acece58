#include "core/artifact/remote_run.h"

#include <nlohmann/json.hpp>

#include "core/artifact/run_lease.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/run/run_state.h"
#include "tests/support/scratch.h"
#include "tests/support/silent_run.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using nlohmann::json;
using vergence::test::contentOf;
using vergence::test::Scratch;

namespace {

RemoteRun someRemoteRun()
{
    return {"desk", "me@n1", "/opt/vergence", "/data/my runs/r1", "Running", "Running on n1",
            "",     12.5};
}

} // namespace

class RemoteRunTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void runIsReadAsItWasWritten();
    void runOfThisComputerIsNone();
    void damagedFileIsTold_data();
    void damagedFileIsTold();
    void copyIsNotWorkedOn();
    void otherSideSaysWhatGoesOn_data();
    void otherSideSaysWhatGoesOn();
};

void RemoteRunTest::runIsReadAsItWasWritten()
{
    const Scratch scratch;
    const RunFolder folder{scratch.path()};
    writeRemoteRun(folder, someRemoteRun());
    QVERIFY(isRemote(folder));
    QVERIFY(readRemoteRun(folder) == someRemoteRun());
    RemoteRun fresh{"desk", "n1", "/v", "/r", "", "", "", 0};
    writeRemoteRun(folder, fresh);
    QVERIFY(readRemoteRun(folder) == fresh);
}

void RemoteRunTest::runOfThisComputerIsNone()
{
    const Scratch scratch;
    QVERIFY(!isRemote({scratch.path()}));
    QVERIFY(!readRemoteRun({scratch.path()}));
}

void RemoteRunTest::damagedFileIsTold_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QByteArray>("part");
    const auto row = [](const char* name, const std::string& text, const char* part) {
        QTest::newRow(name) << QByteArray(text.c_str()) << QByteArray(part);
    };
    row("no JSON", "{", "not valid JSON");
    row("array", "[]", "it is not a JSON object");
    const Scratch scratch;
    writeRemoteRun({scratch.path()}, someRemoteRun());
    const json good = json::parse(readFile(remoteFile({scratch.path()})));
    const auto changed = [&](const char* key, const json& value) {
        json object = good;
        object[key] = value;
        return object.dump();
    };
    for (const char* key : {"target", "login", "program", "folder", "state", "text", "problem"}) {
        const std::string part = std::string("`") + key + "` must be a text";
        json without = good;
        without.erase(key);
        row((std::string("without ") + key).c_str(), without.dump(), part.c_str());
        row((std::string(key) + " is a number").c_str(), changed(key, 3), part.c_str());
    }
    json without = good;
    without.erase("unreached_since");
    row("without a time", without.dump(), "`unreached_since` must be a number");
    row("time is a text", changed("unreached_since", "now"), "must be a number");
    row("no login", changed("login", ""), "`login` must be a computer");
    row("login that is an option", changed("login", "-oX"), "`login` must be a computer");
    row("program that is none", changed("program", ""), "must be whole paths");
    row("program without a folder", changed("program", "vergence"), "must be whole paths");
    row("folder that is an option", changed("folder", "--delete"), "must be whole paths");
    row("folder without a name", changed("folder", "/"), "must be whole paths");
    row("folder that ends with a slash", changed("folder", "/data/"), "must be whole paths");
}

void RemoteRunTest::damagedFileIsTold()
{
    QFETCH(QByteArray, text);
    QFETCH(QByteArray, part);
    const Scratch scratch;
    const RunFolder folder{scratch.path()};
    writeFileAtomic(remoteFile(folder), text.toStdString());
    VERGENCE_THROWS(InputError, part, readRemoteRun(folder));
    VERGENCE_THROWS(InputError, "remote.json", readRemoteRun(folder));
    VERGENCE_THROWS(InputError, "remote.json", RunLease{folder});
}

void RemoteRunTest::copyIsNotWorkedOn()
{
    const Scratch scratch;
    const RunFolder folder{scratch / "my run"};
    std::filesystem::create_directories(folder.root);
    writeRemoteRun(folder, someRemoteRun());
    const std::string named = "'" + folder.root.string() + "'";
    VERGENCE_THROWS(RunTaken, "The run my run is on me@n1, and what is here is a copy",
                    RunLease{folder});
    VERGENCE_THROWS(RunTaken, ("`vergence submit " + named + " --target desk`").c_str(),
                    RunLease{folder});
    VERGENCE_THROWS(RunTaken, ("`vergence fetch " + named + " --home`").c_str(), RunLease{folder});
    QCOMPARE(contentOf(folder.root), (std::set<std::string>{"remote.json"}));
}

void RemoteRunTest::otherSideSaysWhatGoesOn_data()
{
    QTest::addColumn<QByteArray>("said");
    QTest::addColumn<QByteArray>("written"); ///< in the copy of status.json
    QTest::addColumn<bool>("goesOn");
    QTest::newRow("it works") << QByteArray("Running") << QByteArray("Starting") << true;
    QTest::newRow("lost") << QByteArray("Lost") << QByteArray("Running") << false;
    QTest::newRow("it has ended") << QByteArray("Completed") << QByteArray("Running") << false;
    QTest::newRow("nothing yet, works") << QByteArray() << QByteArray("Running") << true;
    QTest::newRow("nothing yet, ended") << QByteArray() << QByteArray("Stopped") << false;
}

/// However long ago the copy was written: clocks differ, and links break.
void RemoteRunTest::otherSideSaysWhatGoesOn()
{
    QFETCH(QByteArray, said);
    QFETCH(QByteArray, written);
    QFETCH(bool, goesOn);
    const Scratch scratch;
    const RunFolder folder{scratch.path()};
    RemoteRun remote = someRemoteRun();
    remote.state = said.toStdString();
    writeRemoteRun(folder, remote);
    RunStatus status;
    status.state = written.toStdString();
    status.pid = 7;
    status.host = "n1";
    status.bootId = "its boot";
    writeStatus(folder, status);
    vergence::test::silence(folder, 1000);
    QCOMPARE(isGoingOn(folder, status), goesOn);
}

VERGENCE_TEST(RemoteRunTest)
#include "tst_remote_run.moc"
