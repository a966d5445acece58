#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <QTest>

#include "core/run/messages.h"
#include "core/run/protocol.h"
#include "tests/support/test_program.h"

using namespace vergence;
using nlohmann::json;

class TestProtocol : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void goodMessagesPass_data();
    void goodMessagesPass();
    void badMessagesAreRefusedWithTheMember_data();
    void badMessagesAreRefusedWithTheMember();
    void everyRemovedMemberIsMissed();
    void seededGarbageNeverThrows();
    void truncationsAndMutationsNeverThrow();
    void deepNestingIsRefused();
    void hugeNumbersAreHarmless();
    void overlongLinesAreRefused();
    void serialiseReplacesInvalidUtf8();
    void pointsKeepValuesThatAreNotFinite();
    void viewAndDeclarationsReadBack();
    void watchReadsBack();
    void splitterCutsAnywhere();
    void splitterDropsAnEndlessLineAndGoesOn();
};

namespace {

struct Sample {
    const char* text;
    Direction direction;
};

const std::vector<Sample>& samples()
{
    static const std::vector<Sample> list{
        {R"({"type":"hello","protocol":1,"run":"r","plugin":"p","pid":12,"state":"Running","step":3,"total":9,"metric_lines":4,"log_lines":2})",
         Direction::FromWorker},
        {R"({"type":"state","state":"Paused","step":3,"total":9})", Direction::FromWorker},
        {R"({"type":"phase","number":1,"count":3,"name":"loading"})", Direction::FromWorker},
        {R"({"type":"progress","step":3,"total":0,"wall_s":1.5})", Direction::FromWorker},
        {R"({"type":"metrics","first":7,"points":[[1,0.5,"a/b",2.5],[2,1,"a/b","nan"]]})",
         Direction::FromWorker},
        {R"({"type":"table","table":{"id":"t","columns":[],"rows":[]}})", Direction::FromWorker},
        {R"({"type":"histogram","name":"h","step":1,"edges":[0,1],"counts":[4]})",
         Direction::FromWorker},
        {R"({"type":"artifact","path":"a","role":"r","title":"","bytes":0})",
         Direction::FromWorker},
        {R"({"type":"checkpoint","step":40,"path":"checkpoints/step-00000040"})",
         Direction::FromWorker},
        {R"({"type":"frame","stream":"s","ring":"/r","sequence":1})", Direction::FromWorker},
        {R"({"type":"controls","controls":[{"id":"x"}]})", Direction::FromWorker},
        {R"({"type":"closed","choices":[{"key":"k","value":"v","reason":"r"},{"value":1}]})",
         Direction::FromWorker},
        {R"({"type":"live","values":{"rate":"2.0","mode":"\"a\""}})", Direction::FromWorker},
        {R"({"type":"streams","streams":[]})", Direction::FromWorker},
        {R"({"type":"log","time":"t","level":"info","area":"run","text":"x","index":0})",
         Direction::FromWorker},
        {R"({"type":"problem","id":"E-OOM","sentence":"x"})", Direction::FromWorker},
        {R"({"type":"heartbeat","step":1,"time":1.0})", Direction::FromWorker},
        {R"({"type":"done","state":"Completed","exit_code":0})", Direction::FromWorker},
        {R"({"type":"ack","id":1,"request":"stop","accepted":true})", Direction::FromWorker},
        {R"({"type":"pause","id":1})", Direction::ToWorker},
        {R"({"type":"resume","id":1})", Direction::ToWorker},
        {R"({"type":"stop","id":1})", Direction::ToWorker},
        {R"({"type":"kill_after","id":1,"seconds":10})", Direction::ToWorker},
        {R"({"type":"checkpoint","id":1})", Direction::ToWorker},
        {R"({"type":"set","id":1,"key":"rate","value":"2.0"})", Direction::ToWorker},
        {R"({"type":"view","id":1,"sequence":5,"values":{"eye":[1,2]},"texts":{"board":"n26"}})",
         Direction::ToWorker},
        {R"({"type":"watch","id":1,"watched":true})", Direction::ToWorker},
        {R"({"type":"ping","id":1})", Direction::ToWorker},
    };
    return list;
}

/// Reading a message that was accepted must not throw either.
void readAccepted(const json& message)
{
    const std::string type = message.at("type").get<std::string>();
    if (type == "metrics")
        pointsFromJson(message.at("points"));
    else if (type == "controls")
        controlsFromJson(message.at("controls"));
    else if (type == "closed")
        choicesFromJson(message.at("choices"));
    else if (type == "streams")
        streamsFromJson(message.at("streams"));
    else if (type == "view")
        viewFromJson(message);
    else if (type == "watch")
        watchFromJson(message);
}

} // namespace

void TestProtocol::goodMessagesPass_data()
{
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < samples().size(); ++i)
        QTest::newRow(samples()[i].text) << static_cast<int>(i);
}

void TestProtocol::goodMessagesPass()
{
    QFETCH(int, index);
    const Sample& sample = samples()[static_cast<std::size_t>(index)];
    const ParsedMessage parsed = parseMessage(sample.text, sample.direction);
    QVERIFY2(parsed.isGood(), parsed.refusal.c_str());
    const ParsedMessage again = parseMessage(serialise(parsed.message), sample.direction);
    QVERIFY(again.isGood());
    QVERIFY(again.message == parsed.message);
}

void TestProtocol::badMessagesAreRefusedWithTheMember_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("refusal");
    QTest::newRow("empty") << ""
                           << "message: not JSON";
    QTest::newRow("not JSON") << "{"
                              << "message: not JSON";
    QTest::newRow("array") << "[1]"
                           << "message: must be an object";
    QTest::newRow("no type") << "{}"
                             << "message: member `type` must be a string";
    QTest::newRow("unknown type") << R"({"type":"dance"})"
                                  << "message: type `dance` is unknown";
    QTest::newRow("other direction") << R"({"type":"pause","id":1})"
                                     << "message: type `pause` is unknown";
    QTest::newRow("points")
        << R"({"type":"metrics","first":0,"points":{}})"
        << "metrics: member `points` must be an array of [step, wall seconds, name, value]";
    QTest::newRow("short point")
        << R"({"type":"metrics","first":0,"points":[[1,2,"a"]]})"
        << "metrics: member `points` must be an array of [step, wall seconds, name, value]";
    QTest::newRow("negative") << R"({"type":"frame","stream":"s","ring":"r","sequence":-1})"
                              << "frame: member `sequence` must be a whole number of at least 0";
    QTest::newRow("fraction") << R"({"type":"checkpoint","step":1.5,"path":""})"
                              << "checkpoint: member `step` must be a whole number";
    QTest::newRow("optional of wrong type")
        << R"({"type":"state","state":"Paused","step":3,"total":9,"exit_code":"x"})"
        << "state: member `exit_code` must be a whole number";
}

void TestProtocol::badMessagesAreRefusedWithTheMember()
{
    QFETCH(QString, text);
    QFETCH(QString, refusal);
    const ParsedMessage parsed = parseMessage(text.toStdString(), Direction::FromWorker);
    QVERIFY(!parsed.isGood());
    QCOMPARE(QString::fromStdString(parsed.refusal), refusal);
}

void TestProtocol::everyRemovedMemberIsMissed()
{
    for (const Sample& sample : samples()) {
        const json whole = json::parse(sample.text);
        for (const auto& [key, value] : whole.items()) {
            json less = whole;
            less.erase(key);
            const ParsedMessage parsed = parseMessage(less.dump(), sample.direction);
            QVERIFY2(!parsed.isGood(), less.dump().c_str());
            if (key != "type")
                QVERIFY2(parsed.refusal.find("`" + key + "` is missing") != std::string::npos,
                         parsed.refusal.c_str());
        }
    }
}

void TestProtocol::seededGarbageNeverThrows()
{
    std::mt19937 random(1);
    for (int i = 0; i < 20'000; ++i) {
        std::string bytes(random() % 200, '\0');
        for (char& c : bytes)
            c = static_cast<char>(random());
        QVERIFY(!parseMessage(bytes, i % 2 ? Direction::FromWorker : Direction::ToWorker).isGood());
    }
}

void TestProtocol::truncationsAndMutationsNeverThrow()
{
    std::mt19937 random(2);
    for (const Sample& sample : samples()) {
        const std::string whole = sample.text;
        for (std::size_t length = 0; length < whole.size(); ++length)
            QVERIFY(!parseMessage(whole.substr(0, length), sample.direction).isGood());
        for (int i = 0; i < 2000; ++i) {
            std::string changed = whole;
            for (unsigned edits = 1 + random() % 3; edits > 0; --edits)
                changed[random() % changed.size()] = "{}[]\",:0-9e.tfn\\\x80"[random() % 17];
            const ParsedMessage parsed = parseMessage(changed, sample.direction);
            if (parsed.isGood())
                readAccepted(parsed.message);
        }
    }
}

void TestProtocol::deepNestingIsRefused()
{
    const std::string deep = R"({"type":"table","table":)" + std::string(1'000'000, '[');
    QCOMPARE(QString::fromStdString(parseMessage(deep, Direction::FromWorker).refusal),
             QStringLiteral("message: nested deeper than 64 levels"));
    const std::string brackets =
        R"({"type":"problem","id":"x","sentence":")" + std::string(1000, '[') + "\"}";
    QVERIFY(parseMessage(brackets, Direction::FromWorker).isGood());
}

void TestProtocol::hugeNumbersAreHarmless()
{
    for (const char* number : {"1e999", "-1e999", "123456789012345678901234567890",
                               "18446744073709551615", "-9223372036854775808", "1e-999"}) {
        const std::string text =
            std::string(R"({"type":"heartbeat","time":0,"step":)") + number + "}";
        const ParsedMessage parsed = parseMessage(text, Direction::FromWorker);
        if (parsed.isGood())
            (void)parsed.message.at("step").get<std::int64_t>();
    }
}

void TestProtocol::overlongLinesAreRefused()
{
    QVERIFY(!parseMessage(std::string(kLongestMessage + 1, ' '), Direction::FromWorker).isGood());
}

void TestProtocol::serialiseReplacesInvalidUtf8()
{
    const std::string line = serialise({{"type", "problem"}, {"id", "x"}, {"sentence", "a\xff z"}});
    QVERIFY(line.ends_with('\n'));
    const ParsedMessage parsed = parseMessage(line, Direction::FromWorker);
    QVERIFY2(parsed.isGood(), parsed.refusal.c_str());
    QVERIFY(parsed.message.at("sentence") == "a\xef\xbf\xbd z");
}

void TestProtocol::pointsKeepValuesThatAreNotFinite()
{
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const std::vector<MetricPoint> points{{1, 0.25, "a", 0.1},
                                          {2, 0.5, "a", std::nan("")},
                                          {3, 0.75, "a", kInfinity},
                                          {4, 1, "b", -kInfinity}};
    const json sent = json::parse(pointsToJson(points.data(), points.size()).dump());
    const auto read = pointsFromJson(sent);
    QCOMPARE(read.size(), points.size());
    QCOMPARE(read[0].value, 0.1);
    QVERIFY(std::isnan(read[1].value));
    QCOMPARE(read[2].value, kInfinity);
    QCOMPARE(read[3].value, -kInfinity);
    QCOMPARE(read[3].name, std::string("b"));
    QCOMPARE(read[1].wallSeconds, 0.5);
}

void TestProtocol::watchReadsBack()
{
    for (const WatchRequest& request :
         {WatchRequest{true, "GPU-1"}, WatchRequest{true, ""}, WatchRequest{}}) {
        json message = watchToJson(request);
        message["type"] = "watch";
        message["id"] = 1;
        const ParsedMessage parsed = parseMessage(serialise(message), Direction::ToWorker);
        QVERIFY2(parsed.isGood(), parsed.refusal.c_str());
        QVERIFY(watchFromJson(parsed.message) == request);
        message["shared_device"] = 7;
        QCOMPARE(
            QString::fromStdString(parseMessage(serialise(message), Direction::ToWorker).refusal),
            QStringLiteral("watch: member `shared_device` must be a string"));
    }
}

void TestProtocol::viewAndDeclarationsReadBack()
{
    ViewInput input;
    input.sequence = 9;
    input.values["eye"] = {1.5, -2};
    input.texts["board"] = "n26";
    json message = viewToJson(input);
    message["type"] = "view";
    message["id"] = 1;
    const ViewInput read =
        viewFromJson(parseMessage(serialise(message), Direction::ToWorker).message);
    QCOMPARE(read.sequence, input.sequence);
    QVERIFY(read.values == input.values && read.texts == input.texts);

    ViewControl control{"gaze", "Gaze", "px",     "Where you look", ViewControl::Kind::Pad,
                        {0, 0}, {1, 2}, {0.5, 1}, {"x", "y"},       {{{0.25, 0.5}, "training"}}};
    const auto controls = controlsFromJson(controlsToJson({control}));
    QCOMPARE(controls.size(), std::size_t{1});
    QVERIFY(controls[0].kind == ViewControl::Kind::Pad && controls[0].maximum == control.maximum);
    QCOMPARE(controls[0].marks.at(0).label, std::string("training"));
    const auto lines = controlsFromJson(controlsToJson(
        {{.id = "question", .kind = ViewControl::Kind::Text, .text = "row \"two\""}}));
    QVERIFY(lines.at(0).kind == ViewControl::Kind::Text && lines[0].text == "row \"two\"");
    const std::vector<ClosedChoice> closed{{"precision", "fp16", "This processor has none."}};
    QVERIFY(choicesFromJson(choicesToJson(closed)) == closed);
    QVERIFY(choicesFromJson(json::parse(R"([{"value":"x"}, 3])")).empty());
    const auto streams = streamsFromJson(
        streamsToJson({{"eye_view", "Eye view", StreamKind::ImageStack, "help", "eye"}}));
    QVERIFY(streams.at(0).kind == StreamKind::ImageStack && streams[0].compareGroup == "eye");
    QVERIFY(streamsFromJson(json::parse(R"([{"id":"x","kind":"hologram"}])")).empty());
}

void TestProtocol::splitterCutsAnywhere()
{
    const std::string text = "one\n\ntwo\nthree\nres";
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
        LineSplitter splitter;
        std::vector<std::string> lines;
        for (std::size_t i = 0; i < text.size(); i += piece)
            std::ranges::move(splitter.feed(std::string_view(text).substr(i, piece)),
                              std::back_inserter(lines));
        QVERIFY((lines == std::vector<std::string>{"one", "two", "three"}));
        QVERIFY(!splitter.overflowed());
    }
}

void TestProtocol::splitterDropsAnEndlessLineAndGoesOn()
{
    LineSplitter splitter;
    QVERIFY(splitter.feed("good\n").size() == 1);
    const std::string megabyte(1 << 20, 'x');
    for (int i = 0; i < 6; ++i)
        QVERIFY(splitter.feed(megabyte).empty());
    QVERIFY(splitter.overflowed());
    const auto lines = splitter.feed("tail\nnext\n");
    QVERIFY((lines == std::vector<std::string>{"next"}));
}

VERGENCE_TEST(TestProtocol)
#include "tst_protocol.moc"
