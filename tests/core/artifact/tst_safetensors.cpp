#include <cstring>
#include <limits>
#include <random>

#include <QtTest>

#include <fmt/format.h>

#include "core/artifact/safetensors.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using vergence::test::Scratch;

namespace {

std::string fileOf(const std::string& header, std::size_t dataBytes)
{
    std::string bytes(8, '\0');
    for (std::size_t i = 0; i < 8; ++i)
        bytes[i] = static_cast<char>(header.size() >> (8 * i) & 255);
    return bytes + header + std::string(dataBytes, '\7');
}

SafetensorsFile parse(const std::string& bytes)
{
    return parseSafetensors(std::as_bytes(std::span(bytes)), "x.safetensors");
}

} // namespace

class TestSafetensors : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyTypeAndShapeComesBack()
    {
        const Scratch scratch;
        const std::vector<float> f32{1.5f, -0.0f, 3e38f, 1e-45f, 5, 6};
        const std::vector<double> f64{1.0 / 3};
        const std::vector<std::uint8_t> u8{1, 2, 3};
        const std::vector<std::int64_t> i64{std::numeric_limits<std::int64_t>::min(), 7};
        std::vector<HostTensor> tensors{HostTensor::from<std::uint8_t>("bytes", {3}, u8),
                                        HostTensor::from<float>("weights é \"q\"", {2, 1, 3}, f32),
                                        HostTensor::from<double>("scalar", {}, f64),
                                        HostTensor::from<std::int64_t>("counters", {2}, i64),
                                        HostTensor::from<float>("none", {4, 0, 2}, {})};
        tensors.push_back({"half", DType::BF16, {1, 2}, std::vector<std::byte>(4, std::byte{9})});
        writeSafetensors(scratch / "a.safetensors", tensors, {{"format", "pt"}, {"note", "é"}});
        const SafetensorsFile read = readSafetensors(scratch / "a.safetensors");
        QCOMPARE(read.tensors.size(), tensors.size());
        for (const HostTensor& tensor : tensors) {
            const HostTensor* found = read.find(tensor.name);
            QVERIFY(found && found->dtype == tensor.dtype && found->shape == tensor.shape &&
                    found->bytes == tensor.bytes);
        }
        QCOMPARE(read.metadata.at("note"), std::string("é"));
        QCOMPARE(read.find("scalar")->as<double>()[0], 1.0 / 3);
        QVERIFY(!read.find("missing"));
        VERGENCE_THROWS(InputError, "`scalar` holds F64 where F32",
                        read.find("scalar")->as<float>());
        const std::string bytes = readFile(scratch / "a.safetensors");
        const SafetensorsFile parsed = parse(bytes);
        QCOMPARE(parsed.tensors.size(), tensors.size());
    }

    void dataAreAligned()
    {
        const Scratch scratch;
        for (int name = 1; name < 12; ++name) {
            const std::vector<std::uint8_t> odd{1};
            const std::vector<double> wide{2};
            writeSafetensors(scratch / "a",
                             {HostTensor::from<std::uint8_t>(
                                  std::string(static_cast<std::size_t>(name), 'a'), {1}, odd),
                              HostTensor::from<double>("z", {1}, wide)});
            const std::string bytes = readFile(scratch / "a");
            QCOMPARE(static_cast<unsigned char>(bytes[0]) % 8, 0);
            const SafetensorsFile read = readSafetensors(scratch / "a");
            QCOMPARE(read.tensors[0].name, std::string("z")); // larger elements first
        }
    }

    void emptyFileHasNoTensors()
    {
        const Scratch scratch;
        writeSafetensors(scratch / "a", {});
        QVERIFY(readSafetensors(scratch / "a").tensors.empty());
        QVERIFY(parse(fileOf("{}", 0)).tensors.empty());
        QVERIFY(parse(fileOf("{}      ", 0)).tensors.empty());
    }

    void whatCannotBeReadBackIsNotWritten()
    {
        const Scratch scratch;
        const auto write = [&](const std::vector<HostTensor>& tensors) {
            writeSafetensors(scratch / "a", tensors);
        };
        const std::vector<float> one{1};
        const HostTensor a = HostTensor::from<float>("a", {1}, one);
        VERGENCE_THROWS(ContractError, "two tensors are called a", write({a, a}));
        VERGENCE_THROWS(ContractError, "byte count of b",
                        write({HostTensor::from<float>("b", {2}, one)}));
        VERGENCE_THROWS(ContractError, "shape of b",
                        write({HostTensor::from<float>("b", {-1}, one)}));
        VERGENCE_THROWS(ContractError, "no usable name",
                        write({HostTensor::from<float>("__metadata__", {1}, one)}));
        VERGENCE_THROWS(OutputError, "nowhere", writeSafetensors(scratch / "nowhere/a", {a}));
        QVERIFY(vergence::test::contentOf(scratch.path()).empty());
    }

    void eachDamageHasItsOwnMessage_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("part");
        const auto add = [](const char* name, const std::string& bytes, const char* part) {
            QTest::newRow(name) << QByteArray(bytes.data(), static_cast<qsizetype>(bytes.size()))
                                << part;
        };
        const auto tensor = [](const std::string& members, std::size_t data) {
            return fileOf("{\"w\": {" + members + "}}", data);
        };
        add("empty", "", "0 bytes are too short");
        add("seven bytes", std::string(7, '\0'), "7 bytes are too short");
        add("header over the end", std::string("\x10\0\0\0\0\0\0\0{}", 10),
            "header is said to have 16 bytes but the file has 10");
        add("header length wild", std::string(16, '\xff'),
            "header is said to have 18446744073709551615 bytes");
        add("no header", fileOf("", 0), "does not start with `{`");
        add("space before", fileOf(" {}", 0), "does not start with `{`");
        add("torn JSON", fileOf("{\"w\": ", 0), "not valid JSON");
        add("not UTF-8", fileOf("{\"\xff\": {}}", 0), "not valid UTF-8");
        add("number out of range", fileOf("{\"w\": 1e999}", 0), "a number out of range");
        add("after the end", fileOf("{}x", 0), "not valid JSON");
        add("deep", fileOf("{\"w\": {\"shape\": [[[[[[1]]]]]]}}", 0), "nested too deeply");
        add("duplicate tensor",
            fileOf(
                R"({"w": {"dtype":"U8","shape":[0],"data_offsets":[0,0]}, "w": {"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                0),
            "has the key `w` twice");
        add("duplicate member",
            tensor(R"("dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0])", 0),
            "has the key `dtype` twice");
        add("no object", fileOf(R"({"w": 3})", 0), "`w` is not described by an object");
        add("unknown type", tensor(R"("dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1])", 1),
            "`w` has the unknown type \"F8_E4M3\"");
        add("type is a number", tensor(R"("dtype":3,"shape":[1],"data_offsets":[0,1])", 1),
            "unknown type 3");
        add("no type", tensor(R"("shape":[1],"data_offsets":[0,1])", 1), "`w` has no `dtype`");
        add("no shape", tensor(R"("dtype":"U8","data_offsets":[0,1])", 1), "`w` has no `shape`");
        add("no offsets", tensor(R"("dtype":"U8","shape":[1])", 1), "`w` has no `data_offsets`");
        add("shape is a text", tensor(R"("dtype":"U8","shape":"1","data_offsets":[0,1])", 1),
            "shape that is not an array");
        add("negative extent", tensor(R"("dtype":"U8","shape":[-1],"data_offsets":[0,1])", 1),
            "has a negative extent");
        add("broken extent", tensor(R"("dtype":"U8","shape":[1.5],"data_offsets":[0,1])", 1),
            "not a whole number");
        add("overflow",
            tensor(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,1])", 1),
            "overflows");
        add("overflow by size",
            tensor(R"("dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0])", 0),
            "overflows");
        add("huge extent",
            tensor(R"("dtype":"U8","shape":[18446744073709551615,0],"data_offsets":[0,0])", 0),
            "overflows");
        add("offsets short", tensor(R"("dtype":"U8","shape":[1],"data_offsets":[0])", 1),
            "not two whole numbers");
        add("offsets negative", tensor(R"("dtype":"U8","shape":[1],"data_offsets":[-1,0])", 1),
            "not two whole numbers");
        add("backwards", tensor(R"("dtype":"U8","shape":[1],"data_offsets":[1,0])", 1),
            "ends before it begins");
        add("over the end", tensor(R"("dtype":"U8","shape":[2],"data_offsets":[0,2])", 1),
            "reaches to byte 2 of 1");
        add("truncated data", tensor(R"("dtype":"F32","shape":[4],"data_offsets":[0,16])", 15),
            "reaches to byte 16 of 15");
        add("size mismatch", tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])", 4),
            "has 4 bytes where its shape and type need 8");
        add("data left over", tensor(R"("dtype":"U8","shape":[1],"data_offsets":[0,1])", 3),
            "2 bytes after the last tensor");
        const auto two = [](const char* first, const char* second, std::size_t data) {
            return fileOf(
                fmt::format(
                    R"({{"a":{{"dtype":"U8","shape":[2],"data_offsets":{}}},"b":{{"dtype":"U8","shape":[2],"data_offsets":{}}}}})",
                    first, second),
                data);
        };
        add("overlap", two("[0,2]", "[1,3]", 3), "`b` overlaps");
        add("same place", two("[0,2]", "[0,2]", 2), "overlaps");
        add("hole", two("[0,2]", "[3,5]", 5), "hole of 1 bytes before tensor `b`");
        add("hole in front", two("[3,5]", "[1,3]", 5), "hole of 1 bytes before tensor `b`");
        add("metadata", fileOf(R"({"__metadata__": {"a": 1}})", 0),
            "holds `a`, which is not a text");
        add("metadata kind", fileOf(R"({"__metadata__": []})", 0),
            "`__metadata__` is not an object");
    }
    void eachDamageHasItsOwnMessage()
    {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, part);
        const Scratch scratch;
        VERGENCE_THROWS(InputError, part.toUtf8().constData(), parse(bytes.toStdString()));
        writeFileAtomic(scratch / "a", bytes.toStdString());
        VERGENCE_THROWS(InputError, part.toUtf8().constData(), readSafetensors(scratch / "a"));
    }

    void truncationAnywhereIsNoticed()
    {
        const std::string whole =
            fileOf(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
        QCOMPARE(parse(whole).tensors.size(), std::size_t{1});
        for (std::size_t length = 0; length < whole.size(); ++length)
            VERGENCE_THROWS(InputError, "x.safetensors", parse(whole.substr(0, length)));
    }

    void randomDamageIsReadOrRefused()
    {
        const std::string whole =
            fileOf("{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                   "\"v\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[8,11]}}",
                   11);
        std::mt19937 random(11);
        int refused = 0;
        constexpr int kCases = 20'000;
        for (int i = 0; i < kCases; ++i) {
            std::string bytes = whole;
            for (unsigned changes = 1 + random() % 3; changes > 0; --changes)
                bytes[random() % bytes.size()] = static_cast<char>(random());
            try {
                parse(bytes);
            } catch (const InputError&) {
                ++refused;
            }
        }
        QVERIFY(refused > kCases / 2 && refused < kCases);
    }

    void missingFileIsNamed()
    {
        VERGENCE_THROWS(InputError, "/nowhere/a.safetensors: No such file",
                        readSafetensors("/nowhere/a.safetensors"));
    }

    void filesOfOtherWritersAreRead()
    {
        const std::filesystem::path golden =
            std::filesystem::path(VERGENCE_SOURCE_DIR).parent_path() / "shared/golden";
        if (!std::filesystem::exists(golden))
            QSKIP("no reference files here");
        int count = 0;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(golden)) {
            if (entry.path().extension() != ".safetensors")
                continue;
            const SafetensorsFile file = readSafetensors(entry.path());
            QVERIFY2(!file.tensors.empty(), entry.path().c_str());
            ++count;
        }
        qInfo("%d reference files", count);
        QVERIFY(count > 0);
    }
};

VERGENCE_TEST(TestSafetensors)
#include "tst_safetensors.moc"
