#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include <QTest>

#include "core/base/crc32c.h"
#include "core/metrics/event_file.h"
#include "tests/support/test_program.h"

using namespace vergence;

namespace {

/// Reads what protobuf calls a message: numbers and bytes by field. Fails the test on a torn one.
struct Message {
    std::map<unsigned, std::uint64_t> numbers; ///< varint, fixed64 and fixed32 fields
    std::vector<std::pair<unsigned, std::string>> bytes;

    explicit Message(std::string_view text)
    {
        while (!text.empty()) {
            const std::uint64_t key = varint(text);
            const auto field = static_cast<unsigned>(key >> 3);
            switch (key & 7) {
            case 0:
                numbers[field] = varint(text);
                break;
            case 1:
                numbers[field] = fixed<std::uint64_t>(text);
                break;
            case 2: {
                const std::uint64_t size = varint(text);
                QVERIFY(size <= text.size());
                bytes.emplace_back(field, text.substr(0, size));
                text.remove_prefix(size);
                break;
            }
            case 5:
                numbers[field] = fixed<std::uint32_t>(text);
                break;
            default:
                QFAIL("a kind of field that events do not have");
            }
        }
    }

    template <class Number>
    static Number fixed(std::string_view& text)
    {
        Number number{};
        std::memcpy(&number, text.data(), std::min(text.size(), sizeof(Number)));
        text.remove_prefix(std::min(text.size(), sizeof(Number)));
        return number;
    }
    static std::uint64_t varint(std::string_view& text)
    {
        std::uint64_t number = 0;
        for (int shift = 0; !text.empty() && shift < 64; shift += 7) {
            const auto byte = static_cast<unsigned char>(text.front());
            text.remove_prefix(1);
            number |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
            if (byte < 0x80)
                break;
        }
        return number;
    }
    std::string text(unsigned field) const
    {
        for (const auto& [number, content] : bytes)
            if (number == field)
                return content;
        return {};
    }
    double real(unsigned field) const
    {
        const std::uint64_t bits = numbers.at(field);
        double value = 0;
        std::memcpy(&value, &bits, sizeof(value));
        return value;
    }
    float single(unsigned field) const
    {
        const auto bits = static_cast<std::uint32_t>(numbers.at(field));
        float value = 0;
        std::memcpy(&value, &bits, sizeof(value));
        return value;
    }
};

std::uint32_t masked(std::string_view bytes)
{
    const std::uint32_t crc = crc32cPlain(std::as_bytes(std::span(bytes)));
    return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

/// The messages of a file whose lengths and checksums are right.
std::vector<Message> eventsOf(std::string_view file)
{
    std::vector<Message> events;
    while (!file.empty()) {
        const std::string_view lengthBytes = file.substr(0, 8);
        const auto length = Message::fixed<std::uint64_t>(file);
        if (Message::fixed<std::uint32_t>(file) != masked(lengthBytes) || length > file.size())
            return {};
        const std::string_view data = file.substr(0, length);
        file.remove_prefix(length);
        if (Message::fixed<std::uint32_t>(file) != masked(data))
            return {};
        events.emplace_back(data);
    }
    return events;
}

} // namespace

class TestEventFile : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void theFirstRecordIsThatOfTensorBoardsOwnWriter()
    {
        // The record that TensorBoard's EventFileWriter begins with, at the time 0.
        const std::string file = toEventFile({}, 0);
        QCOMPARE(file.size(), std::size_t{8 + 4 + 9 + 15 + 4});
        const auto bytes = QByteArray::fromStdString(file);
        QCOMPARE(bytes.first(8).toHex(), QByteArray("1800000000000000"));
        QCOMPARE(bytes.mid(8, 4).toHex(), QByteArray("a37f4b22")); // as in every such file
        QCOMPARE(bytes.mid(12, 24),
                 QByteArray::fromHex("0900000000000000001a0d") + "brain.Event:2");
    }
    void everyPointComesBack()
    {
        MetricStore store;
        const double nan = std::numeric_limits<double>::quiet_NaN();
        store.append({{0, 0.5, "train/loss", 0.25},
                      {0, 0.5, "train/psnr", 20},
                      {300, 1.5, "train/loss", nan},
                      {-1, 0.25, "früh", 1e-3},
                      {5'000'000'000, 2.5, "train/loss", -7}});
        const std::vector<Message> events = eventsOf(toEventFile(store, 1000));
        QCOMPARE(events.size(), std::size_t{5}); // two series share one
        QCOMPARE(events[0].text(3), std::string("brain.Event:2"));
        struct Row {
            std::int64_t step;
            double time;
            std::string tag;
            float value;
        };
        std::vector<Row> rows;
        for (const Message& event : events) {
            for (const auto& [field, value] : Message(event.text(5)).bytes) {
                QCOMPARE(field, 1u);
                const Message one(value);
                const auto step = event.numbers.find(2);
                rows.push_back(
                    {step == event.numbers.end() ? 0 : static_cast<std::int64_t>(step->second),
                     event.real(1), one.text(1), one.single(2)});
            }
        }
        QCOMPARE(rows.size(), std::size_t{5});
        const auto isRow = [&](std::size_t i, std::int64_t step, double time, const char* tag,
                               float value) {
            const Row& row = rows[i];
            return row.step == step && row.time == time && row.tag == tag &&
                   (row.value == value || (std::isnan(row.value) && std::isnan(value)));
        };
        QVERIFY(isRow(0, -1, 1000.25, "früh", 1e-3F));
        QVERIFY(isRow(1, 0, 1000.5, "train/loss", 0.25F));
        QVERIFY(isRow(2, 0, 1000.5, "train/psnr", 20));
        QVERIFY(isRow(3, 300, 1001.5, "train/loss", std::nanf("")));
        QVERIFY(isRow(4, 5'000'000'000, 1002.5, "train/loss", -7));
    }
    void manyPointsKeepTheirOrder()
    {
        MetricStore store;
        std::vector<MetricPoint> points;
        for (int i = 0; i < 257; ++i)
            points.push_back({i, 0.125 * i, "a", 2.0 * i});
        store.append(points);
        const std::vector<Message> events = eventsOf(toEventFile(store, 0));
        QCOMPARE(events.size(), std::size_t{258});
        for (int i = 1; i < 257; ++i) {
            const Message value(Message(events[i + 1].text(5)).text(1));
            QCOMPARE(events[i + 1].numbers.at(2), static_cast<std::uint64_t>(i));
            QCOMPARE(value.single(2), 2.0F * static_cast<float>(i));
        }
    }
    void timesOfManifestsAreRead()
    {
        QCOMPARE(secondsOf("1970-01-02T00:00:01.500Z"), 86401.5);
        QCOMPARE(secondsOf("2026-03-02T10:15:07Z"), 1772446507.0);
        QCOMPARE(secondsOf("yesterday"), 0.0);
        QCOMPARE(secondsOf(""), 0.0);
        QCOMPARE(eventFileName(1772446507.6, "run"),
                 std::string("events.out.tfevents.1772446508.run"));
    }
};

VERGENCE_TEST(TestEventFile)
#include "tst_event_file.moc"
