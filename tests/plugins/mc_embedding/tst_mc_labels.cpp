#include <QTest>

#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/mc_embedding/study/labels.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::mc_embedding;
using namespace vergence::test;

namespace {

ImageSet setOf(const std::vector<std::string>& labels)
{
    ImageSet set;
    for (const std::string& label : labels)
        set.images.push_back({label + "/x.png", label, {}, 0});
    return set;
}

const ClassMap kFishes{{"n01440764", "tench"}, {"n01443537", "goldfish"}, {"n01484850", "shark"}};

} // namespace

class TestMcLabels : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyFormOfAMapGivesTheSame_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("JSON") << "m.json" << QByteArray(R"({"n01440764": "tench",
            "n01443537": " gold  fish ", "n01484850": "shark"})");
        QTest::newRow("Keras") << "m.json" << QByteArray(R"({"0": ["n01440764", "tench"],
            "1": ["n01443537", "gold_fish"], "2": ["n01484850", "shark"]})");
        QTest::newRow("TSV") << "m.tsv"
                             << QByteArray("# classes\r\nn01440764\ttench\r\n\n"
                                           "n01443537\tgold fish\nn01484850\tshark");
        QTest::newRow("synsets") << "m.txt"
                                 << QByteArray("n01440764 tench, Tinca tinca\n"
                                               "n01443537 gold fish, Carassius\n"
                                               "n01484850 shark\n");
    }
    void everyFormOfAMapGivesTheSame()
    {
        QFETCH(QString, name);
        QFETCH(QByteArray, text);
        const Scratch folder;
        const auto path = folder / name.toStdString();
        writeFileAtomic(path,
                        std::string_view(text.constData(), static_cast<std::size_t>(text.size())));
        ClassMap wanted = kFishes;
        wanted["n01443537"] = "gold fish";
        QVERIFY(readClassMap(path) == wanted);
    }

    void faultsOfAMapAreNamed_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("expected");
        const auto row = [](const char* title, const char* name, const char* text,
                            const char* part) {
            QTest::newRow(title) << QString(name) << QByteArray(text) << QByteArray(part);
        };
        row("no JSON", "m.json", "{", "m.json");
        row("list", "m.json", "[1]", "object of labels");
        row("number", "m.json", R"({"a": 3})", "\"a\"");
        row("no tab", "m.tsv", "a\tb\nc d\n", "line 2");
        row("no name", "m.tsv", "a\t \n", "line 1");
        row("twice", "m.tsv", "a\tb\na\tc\n", "there twice");
        row("ids as names", "m.tsv", "a\tn01440764\n", "WordNet id n01440764");
        row("empty", "m.tsv", "# nothing\n", "names no class");
    }
    void faultsOfAMapAreNamed()
    {
        QFETCH(QString, name);
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, expected);
        const Scratch folder;
        const auto path = folder / name.toStdString();
        writeFileAtomic(path,
                        std::string_view(text.constData(), static_cast<std::size_t>(text.size())));
        VERGENCE_THROWS(InputError, expected, readClassMap(path));
    }

    void foldersThatAreWordsNeedNoMap()
    {
        const StudyClasses classes =
            studyClasses(setOf({"golden_retriever", "tench", "", "golden_retriever"}));
        QCOMPARE(classes.names, (std::vector<std::string>{"golden retriever", "tench"}));
        QCOMPARE(classes.truth, (std::vector<int>{0, 1, -1, 0}));
        QCOMPARE(classes.notes.size(), std::size_t{1});
        QVERIFY(classes.notes[0].find("1 of 4 images") != std::string::npos);
    }

    void wordNetIdsNeedAMap()
    {
        const ImageSet set = setOf({"n01443537", "n01440764", "n01443537"});
        VERGENCE_THROWS(InputError, "labels.class_map", studyClasses(set));
        VERGENCE_THROWS(InputError, "n01443537", studyClasses(set));
        // Nine characters alone make no id.
        QCOMPARE(studyClasses(setOf({"nightjars", "n1", "n0144353x"})).names.size(),
                 std::size_t{3});
        const StudyClasses classes = studyClasses(set, kFishes);
        QCOMPARE(classes.names, (std::vector<std::string>{"tench", "goldfish", "shark"})); // all
        QCOMPARE(classes.truth, (std::vector<int>{1, 0, 1}));
        QVERIFY(classes.notes.empty());
    }

    void mapsOfOtherImagesAreRefused()
    {
        VERGENCE_THROWS(InputError, "none of the 2 folders",
                        studyClasses(setOf({"a", "b"}), kFishes));
        const StudyClasses some = studyClasses(setOf({"n01440764", "elsewhere"}), kFishes);
        QCOMPARE(some.truth, (std::vector<int>{0, -1}));
        QCOMPARE(some.notes.size(), std::size_t{1});
        // Images without folders may still be judged among the classes of a map.
        QCOMPARE(studyClasses(setOf({"", ""}), kFishes).truth, (std::vector<int>{-1, -1}));
        VERGENCE_THROWS(InputError, "at least two classes, there are 1",
                        studyClasses(setOf({"a"})));
        VERGENCE_THROWS(InputError, "there are 0", studyClasses(setOf({""})));
    }

    void equalNamesAreNoted()
    {
        const StudyClasses classes =
            studyClasses(setOf({"n1"}), {{"n1", "crane"}, {"n2", "crane"}, {"n3", "tench"}});
        QCOMPARE(classes.names.size(), std::size_t{3});
        QCOMPARE(classes.notes.size(), std::size_t{1});
        QVERIFY(classes.notes[0].find("\"crane\"") != std::string::npos);
    }
};

VERGENCE_TEST(TestMcLabels)
#include "tst_mc_labels.moc"
