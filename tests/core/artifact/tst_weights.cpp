#include <cstring>

#include <QtTest>

#include <fmt/format.h>

#include "core/artifact/safetensors.h"
#include "core/artifact/weights.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/compute/half.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using vergence::test::Scratch;

namespace {

std::vector<float> ramp(std::size_t count, float first)
{
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = first + 0.25f * static_cast<float>(i); // exact in 16 bits
    return values;
}

template <class T = float>
HostTensor tensorOf(const std::string& name, Shape shape, float first)
{
    std::vector<T> values;
    for (const float value : ramp(static_cast<std::size_t>(elementCount(shape)), first))
        values.push_back(T(value));
    return HostTensor::from<T>(name, std::move(shape), std::span<const T>(values));
}

/// A model with a fused projection, a bias, and a kernel of patches as a matrix.
struct Model {
    std::shared_ptr<Device> device = makeCpuDevice(1);
    std::unique_ptr<Stream> stream = device->createStream();
    ParameterSet set;

    explicit Model(DType master = DType::F32, DType compute = DType::F32)
        : set(device, master, compute)
    {
        set.addGroup({"all"});
        const int fused = set.add("block.qkv.weight", {6, 4});
        set.addWindow("block.query.weight", fused, 0, 2);
        set.addWindow("block.key.weight", fused, 2, 2);
        set.addWindow("block.value.weight", fused, 4, 2);
        set.add("norm.bias", {4});
        set.add("patch.weight", {2, 12});
        set.allocate(*stream);
    }
    std::vector<float> values(const std::string& name)
    {
        return set.named(name).toHost<float>(*stream);
    }
};

template <class T = float>
std::vector<HostTensor> fittingTensors()
{
    return {tensorOf<T>("block.query.weight", {2, 4}, 1),
            tensorOf<T>("block.key.weight", {2, 4}, 10),
            tensorOf<T>("block.value.weight", {2, 4}, 20), tensorOf<T>("norm.bias", {1, 1, 4}, -3),
            tensorOf<T>("patch.weight", {2, 3, 2, 2}, 7)};
}

void writeIndex(const std::filesystem::path& path, const std::string& map)
{
    writeFileAtomic(path, std::string_view("{\"metadata\": {}, \"weight_map\": {" + map + "}}"));
}

} // namespace

class TestWeights : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void entriesPointIntoTheFile()
    {
        const Scratch scratch;
        const std::vector<std::int64_t> ids{3, -4};
        writeSafetensors(scratch / "m.safetensors",
                         {tensorOf("b", {2, 2}, 1), tensorOf<double>("a", {3}, 2),
                          tensorOf<Float16>("h", {1}, 3), tensorOf<BFloat16>("g", {1}, 4),
                          HostTensor::from<std::int64_t>("ids", {2}, ids)},
                         {{"who", "tests"}});
        WeightFile file = WeightFile::open(scratch / "m.safetensors");
        QCOMPARE(file.entries().size(), std::size_t{5});
        QCOMPARE(file.entries()[0].name, std::string("a"));
        QCOMPARE(file.metadata().at("who"), std::string("tests"));
        const WeightEntry* b = file.find("b");
        QVERIFY(b && b->shape == (Shape{2, 2}) && b->dtype == DType::F32);
        float last = 0;
        std::memcpy(&last, b->bytes.data() + 12, 4);
        QCOMPARE(last, 1.75f);
        QVERIFY(file.find("ids")->dtype == DType::I64 && !file.find("c"));
        const WeightFile moved = std::move(file); // the mapping stays
        std::memcpy(&last, moved.find("b")->bytes.data(), 4);
        QCOMPARE(last, 1.0f);
    }

    void shardsAreOneModel()
    {
        const Scratch scratch;
        writeSafetensors(scratch / "one.safetensors", {tensorOf("a", {2}, 1)});
        writeSafetensors(scratch / "two.safetensors",
                         {tensorOf("b", {2}, 2), tensorOf("c", {1}, 3)});
        writeIndex(scratch / "model.safetensors.index.json",
                   R"("a": "one.safetensors", "b": "two.safetensors", "c": "two.safetensors")");
        const WeightFile file = WeightFile::open(scratch.path());
        QCOMPARE(file.entries().size(), std::size_t{3});
        float value = 0;
        std::memcpy(&value, file.find("c")->bytes.data(), 4);
        QCOMPARE(value, 3.0f);
    }

    void eachDamageOfAnIndexHasItsOwnMessage()
    {
        const Scratch scratch;
        const auto index = scratch / "model.safetensors.index.json";
        writeSafetensors(scratch / "one.safetensors", {tensorOf("a", {2}, 1)});
        writeSafetensors(scratch / "two.safetensors",
                         {tensorOf("a", {2}, 1), tensorOf("b", {1}, 1)});
        writeFileAtomic(index, std::string_view("[]"));
        VERGENCE_THROWS(InputError, "no `weight_map`", WeightFile::open(index));
        writeFileAtomic(index, std::string_view("{\"weight_map\": 3}"));
        VERGENCE_THROWS(InputError, "no `weight_map`", WeightFile::open(index));
        writeIndex(index, R"("a": "../one.safetensors")");
        VERGENCE_THROWS(InputError, "`a` lies in no file of the same folder",
                        WeightFile::open(index));
        writeIndex(index, R"("a": 5)");
        VERGENCE_THROWS(InputError, "`a` lies in no file of the same folder",
                        WeightFile::open(index));
        writeIndex(index, R"("z": "one.safetensors")");
        VERGENCE_THROWS(InputError, "`z` lies in one.safetensors, which does not hold it",
                        WeightFile::open(index));
        writeIndex(index, R"("a": "one.safetensors", "b": "two.safetensors")");
        VERGENCE_THROWS(InputError, "Two files", WeightFile::open(index));
        writeIndex(index, R"("a": "three.safetensors")");
        VERGENCE_THROWS(InputError, "three.safetensors", WeightFile::open(index));
    }

    void foreignFilesAreRefused()
    {
        const Scratch scratch;
        VERGENCE_THROWS(InputError, "neither model.safetensors", WeightFile::open(scratch.path()));
        writeFileAtomic(scratch / "a.bin", std::string_view("PK\3\4 a pickled archive"));
        VERGENCE_THROWS(InputError, "Convert it to safetensors",
                        WeightFile::open(scratch / "a.bin"));
        writeFileAtomic(scratch / "b.pt", std::string_view("\x80\2}q\0 a pickle", 14));
        VERGENCE_THROWS(InputError, "Convert it to safetensors",
                        WeightFile::open(scratch / "b.pt"));
        writeFileAtomic(scratch / "empty.safetensors", std::string_view());
        VERGENCE_THROWS(InputError, "0 bytes are too short",
                        WeightFile::open(scratch / "empty.safetensors"));
        writeFileAtomic(scratch / "torn.safetensors", std::string_view("\x10\0\0\0\0\0\0\0{}", 10));
        VERGENCE_THROWS(InputError, "said to have 16 bytes",
                        WeightFile::open(scratch / "torn.safetensors"));
        VERGENCE_THROWS(InputError, "nowhere", WeightFile::open(scratch / "nowhere.safetensors"));
    }

    void everyTypeIsConverted_data()
    {
        QTest::addColumn<int>("type");
        QTest::newRow("F32") << 0;
        QTest::newRow("F64") << 1;
        QTest::newRow("F16") << 2;
        QTest::newRow("BF16") << 3;
    }
    void everyTypeIsConverted()
    {
        QFETCH(int, type);
        const Scratch scratch;
        const auto path = scratch / "model.safetensors";
        writeSafetensors(path, type == 0   ? fittingTensors<float>()
                               : type == 1 ? fittingTensors<double>()
                               : type == 2 ? fittingTensors<Float16>()
                                           : fittingTensors<BFloat16>());
        Model model(DType::F32, DType::BF16);
        const WeightReport report =
            loadWeights(*model.stream, model.set, WeightFile::open(scratch.path()));
        QCOMPARE(report.loaded.size(), std::size_t{5});
        QVERIFY(report.missing.empty() && report.unexpected.empty() && report.mismatched.empty());
        QCOMPARE(model.values("block.key.weight"), ramp(8, 10));
        QCOMPARE(model.values("block.qkv.weight")[16], 20.0f); // rows query, key, value
        QCOMPARE(model.values("norm.bias"), ramp(4, -3));
        QCOMPARE(model.values("patch.weight"), ramp(24, 7));
        const auto shadows = model.set[1].shadow.toHost<BFloat16>(*model.stream);
        QCOMPARE(static_cast<float>(shadows[3]), -2.25f);
    }

    void savedParametersComeBackUnderFileNames()
    {
        const Scratch scratch;
        writeSafetensors(scratch / "in.safetensors", fittingTensors());
        Model model;
        loadWeights(*model.stream, model.set, WeightFile::open(scratch / "in.safetensors"));
        for (const DType type : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
            const auto path = scratch / "out.safetensors";
            saveWeights(*model.stream, model.set, path, type, "", {{"step", "7"}});
            const WeightFile saved = WeightFile::open(path);
            QCOMPARE(saved.entries().size(), std::size_t{5});
            QCOMPARE(saved.metadata().at("step"), std::string("7"));
            QVERIFY(saved.find("block.value.weight")->shape == (Shape{2, 4}));
            QVERIFY(saved.find("norm.bias")->dtype == type && !saved.find("block.qkv.weight"));
            Model again;
            loadWeights(*again.stream, again.set, saved);
            for (const char* name : {"block.qkv.weight", "norm.bias", "patch.weight"})
                QCOMPARE(again.values(name), model.values(name));
        }
        saveWeights(*model.stream, model.set, scratch / "part.safetensors", DType::F32, "block.");
        const WeightFile part = WeightFile::open(scratch / "part.safetensors");
        QCOMPARE(part.entries().size(), std::size_t{3});
        QVERIFY(part.find("query.weight") != nullptr);
    }

    void otherNamesAreUnderstood()
    {
        const Scratch scratch;
        auto tensors = fittingTensors();
        for (HostTensor& tensor : tensors)
            tensor.name = "_orig_mod.vision." + tensor.name;
        tensors[0].name = "_orig_mod.vision.block.q_proj.weight";
        tensors[3].name = "_orig_mod.vision.norm.beta";
        tensors.push_back(tensorOf("_orig_mod.vision.position_ids", {4}, 0));
        tensors.push_back(tensorOf("_orig_mod.text.weight", {4}, 0));
        writeSafetensors(scratch / "m.safetensors", tensors);
        NameMap names;
        names.dropPrefix("_orig_mod.").only("vision.").ignore("position_ids");
        names.replace("vision.", "").replace("q_proj", "query").replace(".beta", ".bias");
        Model model;
        const WeightReport report = loadWeights(*model.stream, model.set,
                                                WeightFile::open(scratch / "m.safetensors"), names);
        QCOMPARE(report.loaded.size(), std::size_t{5});
        QVERIFY(report.unexpected.empty());
        QCOMPARE(model.values("block.query.weight"), ramp(8, 1));
    }

    void aFileMayFillAPartOfTheModel()
    {
        const Scratch scratch;
        writeSafetensors(scratch / "m.safetensors", {tensorOf("bias", {4}, 5)});
        Model model;
        NameMap names;
        names.under("norm.");
        const WeightReport report = loadWeights(*model.stream, model.set,
                                                WeightFile::open(scratch / "m.safetensors"), names);
        QVERIFY(report.missing.empty() && report.loaded.size() == 1);
        QCOMPARE(model.values("norm.bias"), ramp(4, 5));
    }

    void transposedMatricesAreTurned()
    {
        const Scratch scratch;
        auto tensors = fittingTensors();
        tensors[1] = tensorOf("block.key.weight", {4, 2}, 0);
        writeSafetensors(scratch / "m.safetensors", tensors);
        Model model;
        NameMap names;
        names.transposed("block.key.weight");
        loadWeights(*model.stream, model.set, WeightFile::open(scratch / "m.safetensors"), names);
        const std::vector<float> want{0, 0.5f, 1, 1.5f, 0.25f, 0.75f, 1.25f, 1.75f};
        QCOMPARE(model.values("block.key.weight"), want);
    }

    void whatDoesNotFitIsListedBeforeAnythingIsWritten()
    {
        const Scratch scratch;
        const auto path = scratch / "m.safetensors";
        auto tensors = fittingTensors();
        tensors[0] = tensorOf("block.query.weight", {4, 2}, 1); // transposed
        tensors.erase(tensors.begin() + 2);                     // no value
        tensors.push_back(tensorOf("head.weight", {3}, 0));
        writeSafetensors(path, tensors);
        Model model;
        const WeightFile file = WeightFile::open(path);
        const auto load = [&](const std::vector<std::string>& initialised = {}) {
            return loadWeights(*model.stream, model.set, file, {}, initialised);
        };
        VERGENCE_THROWS(InputError, "`block.value.weight` is missing", load());
        VERGENCE_THROWS(InputError, "`block.query.weight` is [4, 2] in the file and [2, 4]",
                        load());
        VERGENCE_THROWS(InputError, "m.safetensors", load());
        QCOMPARE(model.values("norm.bias"), std::vector<float>(4, 0.0f));
        VERGENCE_THROWS(InputError, "`block.value.weight` is missing", load({"block.query"}));
        const WeightReport report = load({"block.query", "block.value"});
        QCOMPARE(report.loaded.size(), std::size_t{3});
        QCOMPARE(report.missing, std::vector<std::string>{"block.value.weight"});
        QCOMPARE(report.unexpected, std::vector<std::string>{"head.weight"});
        QCOMPARE(report.mismatched.size(), std::size_t{1});
        QCOMPARE(model.values("block.value.weight"), std::vector<float>(8, 0.0f));
        QCOMPARE(model.values("norm.bias"), ramp(4, -3));
    }

    void typesThatAreNoNumbersAreMismatches()
    {
        const Scratch scratch;
        auto tensors = fittingTensors();
        const std::vector<std::int64_t> ids(4, 1);
        tensors[3] = HostTensor::from<std::int64_t>("norm.bias", {4}, ids);
        writeSafetensors(scratch / "m.safetensors", tensors);
        Model model;
        const WeightFile file = WeightFile::open(scratch / "m.safetensors");
        VERGENCE_THROWS(InputError, "`norm.bias` holds I64 in the file where F32 is needed",
                        loadWeights(*model.stream, model.set, file));
    }

    void twoEntriesForOneParameterAreRefused()
    {
        const Scratch scratch;
        auto tensors = fittingTensors();
        tensors.push_back(tensorOf("norm.beta", {4}, 0));
        writeSafetensors(scratch / "m.safetensors", tensors);
        Model model;
        NameMap names;
        names.replace("beta", "bias");
        const WeightFile file = WeightFile::open(scratch / "m.safetensors");
        VERGENCE_THROWS(InputError, "both `norm.beta` and `norm.bias`",
                        loadWeights(*model.stream, model.set, file, names));
    }
};

VERGENCE_TEST(TestWeights)
#include "tst_weights.moc"
