#include <algorithm>
#include <set>

#include <QtTest>

#include "core/artifact/npz_archive.h"
#include "core/base/error.h"
#include "plugins/live_diffusion/onnx/onnx_export.h"
#include "plugins/live_diffusion/onnx/onnx_reader.h"
#include "plugins/live_diffusion/onnx/onnx_writer.h"
#include "plugins/live_diffusion/onnx/proto_writer.h"
#include "plugins/live_diffusion/onnx/shape_inference.h"
#include "tests/plugins/live_diffusion/onnx_checker.h"
#include "tests/plugins/live_diffusion/onnx_support.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::live;
using namespace vergence::live::testing;

/// The network as ONNX files.
class TestLiveOnnx : public QObject {
    Q_OBJECT

    BenchNetworks m_networks;

private Q_SLOTS:
    void messagesAreEncodedAsTheFormatSays()
    {
        ProtoWriter message;
        message.integer(1, 150);
        message.bytes(2, "testing");
        message.number(3, 1.0F);
        QCOMPARE(message.content(),
                 std::string("\x08\x96\x01\x12\x07testing\x1d\x00\x00\x80\x3f", 17));
        ProtoWriter negative;
        negative.integer(16, -1); // a field of two bytes, a number of ten
        QCOMPARE(negative.content(),
                 std::string("\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12));
    }

    void filesReadBackAsTheyWereWritten()
    {
        const test::Scratch scratch;
        OnnxModel model = nanoModel();
        model.metadata["weights"] = "random";
        model.description = "for a test";
        QCOMPARE(writeOnnx(model, scratch / "unet.onnx").size(), std::size_t(1));
        const OnnxModel read = readOnnx(scratch / "unet.onnx");
        QCOMPARE(read.irVersion, 8);
        QCOMPARE(read.opset, 17);
        QCOMPARE(read.producer, model.producer);
        QCOMPARE(read.description, model.description);
        QVERIFY(read.metadata == model.metadata);
        QVERIFY(read.inputs == model.inputs);
        QVERIFY(read.outputs == model.outputs);
        QCOMPARE(read.nodes.size(), model.nodes.size());
        for (std::size_t i = 0; i < read.nodes.size(); ++i) {
            const OnnxNode &a = read.nodes[i], &b = model.nodes[i];
            QVERIFY(a.op == b.op && a.name == b.name && a.inputs == b.inputs &&
                    a.outputs == b.outputs);
            QCOMPARE(a.attributes.size(), b.attributes.size());
            for (std::size_t k = 0; k < a.attributes.size(); ++k)
                QVERIFY(a.attributes[k].name == b.attributes[k].name &&
                        a.attributes[k].value == b.attributes[k].value);
        }
        QCOMPARE(read.initialisers.size(), model.initialisers.size());
        for (std::size_t i = 0; i < read.initialisers.size(); ++i) {
            QCOMPARE(read.initialisers[i].dims, model.initialisers[i].dims);
            QVERIFY(bytesOf(read.initialisers[i]) == bytesOf(model.initialisers[i]));
        }
    }

    void graphsAreSoundAndStatic_data()
    {
        QTest::addColumn<int>("size");
        QTest::addColumn<bool>("isNarrow");
        QTest::addColumn<int>("opset");
        QTest::addColumn<int>("batch");
        for (const Size size : {Size::Nano, Size::Pico, Size::S, Size::XL})
            for (const bool isNarrow : {false, true})
                for (const int opset : {17, 21})
                    QTest::addRow("%s %s opset %d", std::string(titleOf(size)).c_str(),
                                  isNarrow ? "fp16" : "fp32", opset)
                        << int(size) << isNarrow << opset << (size == Size::Pico ? 3 : 1);
    }
    void graphsAreSoundAndStatic()
    {
        QFETCH(int, size);
        QFETCH(bool, isNarrow);
        QFETCH(int, opset);
        QFETCH(int, batch);
        const UnetSettings settings =
            unetSettings(Size(size), 2 * layoutOf(Size(size)).nativeGrid); // patch 2
        const OnnxType type = isNarrow ? OnnxType::Float16 : OnnxType::Float;
        const Program unet = buildUnet(settings), encoder = buildMemoryEncoder(settings);
        const OnnxModel model = exportProgram(unet, madeWeight, {type, opset, batch});
        QCOMPARE(inferShapes(model).problems, std::vector<std::string>());
        const std::int64_t g = settings.grid, d = settings.memoryWidth(), b = batch;
        const std::vector<OnnxValue> inputs{
            {"x", type, {b, 12, g, g}},  {"u", type, {b, 12, g, g}},  {"h", type, {b, 12, g, g}},
            {"t", OnnxType::Float, {b}}, {"b", OnnxType::Float, {b}}, {"mem", type, {264, d}},
            {"mem_bias", type, {264}}};
        QVERIFY(model.inputs == inputs);
        const std::vector<OnnxValue> outputs{{"pred", type, {b, 12, g, g}},
                                             {"blend", type, {b, 1, g, g}}};
        QVERIFY(model.outputs == outputs);
        QCOMPARE(model.irVersion, opset == 21 ? 10 : 8);

        const OnnxModel memory = exportProgram(encoder, madeWeight, {type, opset, batch});
        QCOMPARE(inferShapes(memory).problems, std::vector<std::string>());
        QVERIFY(memory.inputs == (std::vector<OnnxValue>{{"frame", type, {b, 12, g, g}}}));
        QVERIFY(memory.outputs ==
                (std::vector<OnnxValue>{{"tokens", type, {b, 16, d}}, {"null", type, {1, d}}}));

        // Every weight is in its file, once, under its name and with as many numbers.
        for (const auto& [program, file] : {std::pair{&unet, &model}, {&encoder, &memory}}) {
            std::map<std::string, std::int64_t> sizes;
            for (const OnnxTensor& tensor : file->initialisers)
                sizes[tensor.name] = elementCount(tensor.dims);
            for (const ProgramWeight& weight : program->weights)
                QCOMPARE(sizes[weight.name], weight.size());
        }
        const std::set<std::string> known = specifiedOperations(opset);
        for (const OnnxNode& node : model.nodes)
            QVERIFY2(known.contains(node.op), node.op.c_str());
        const bool hasCast = std::ranges::any_of(
            model.nodes, [](const OnnxNode& node) { return node.op == "Cast"; });
        QCOMPARE(hasCast, isNarrow);
    }

    void variantsOfTheNetworkAreSoundToo()
    {
        UnetSettings settings = unetSettings(Size::S, 128);
        settings.isMisaligned = true;
        settings.hasAttentionAtLevel0 = true;
        settings.hasWindowAttention = true;
        settings.channelRounding = 1;
        QCOMPARE(inferShapes(exportProgram(buildUnet(settings), madeWeight)).problems,
                 std::vector<std::string>());
        settings = unetSettings(Size::Pico, 64);
        settings.grid = 48; // the encoder's pool is uneven
        QCOMPARE(inferShapes(exportProgram(buildMemoryEncoder(settings), madeWeight)).problems,
                 std::vector<std::string>());
    }

    void optionsThatAreNotOfferedAreRefused()
    {
        VERGENCE_THROWS(ContractError, "operator set", nanoModel({OnnxType::Float, 18, 1}));
        VERGENCE_THROWS(ContractError, "16 or 32 bits", nanoModel({OnnxType::Int64, 17, 1}));
        VERGENCE_THROWS(ContractError, "one row", nanoModel({OnnxType::Float, 17, 0}));
        ProgramBuilder build("tanh");
        build.beginBlock("a");
        build.output(build.unary(OpKind::Tanh, "t", build.input("x", 1, 1, 1)), "y");
        VERGENCE_THROWS(ContractError, "a.t (Tanh)", exportProgram(build.finish(), madeWeight));
    }

    void groupNormIsTheGivenOne_data()
    {
        QTest::addColumn<int>("opset");
        QTest::newRow("InstanceNormalization") << 17;
        QTest::newRow("GroupNormalization") << 21;
    }
    void groupNormIsTheGivenOne()
    {
        QFETCH(int, opset);
        ProgramBuilder build("norm");
        const int x = build.input("x", 4, 1, 2);
        build.beginBlock("a");
        build.output(build.groupNorm("n", x, 2), "y");
        const OnnxArray y = runProgram(build.finish(), givenWeights({{"weight", {1, 1, 1, 1}}}),
                                       {{"x", {{1, 4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}}}},
                                       {OnnxType::Float, opset, 1});
        const std::vector<float> expected{-1.34163542F, -0.44721181F, 0.44721181F, 1.34163542F};
        for (std::size_t i = 0; i < 8; ++i)
            QVERIFY(std::abs(y.values[i] - expected[i % 4]) < 1e-6F);
    }

    void convolutionsCountTheirNeighbours()
    {
        ProgramBuilder build("conv");
        const int x = build.input("x", 1, 3, 3);
        build.beginBlock("a");
        build.output(build.convolution("c", x, {.channels = 1}), "y");
        const Program program = build.finish();
        const WeightSource ones = givenWeights({{"weight", std::vector<float>(9, 1)}});
        const OnnxArray y =
            runProgram(program, ones, {{"x", {{1, 1, 3, 3}, std::vector<float>(9, 1)}}});
        QCOMPARE(y.values, (std::vector<float>{4, 6, 4, 6, 9, 6, 4, 6, 4}));
        // The kernel's order: a single tap moves the picture.
        std::vector<float> tap(9, 0);
        tap[5] = 1; // row 1, column 2
        const OnnxArray moved = runProgram(program, givenWeights({{"weight", tap}}),
                                           {{"x", {{1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}}}});
        QCOMPARE(moved.values, (std::vector<float>{2, 3, 0, 5, 6, 0, 8, 9, 0}));
    }

    void stridesStepOverPixels()
    {
        ProgramBuilder build("conv");
        const int x = build.input("x", 2, 4, 6);
        build.beginBlock("a");
        build.output(build.convolution("c", x, {.channels = 3, .stride = 2}), "y");
        const Program program = build.finish();
        const OnnxArray in = madeArray("x", {1, 2, 4, 6});
        const OnnxArray y = runProgram(program, madeWeight, {{"x", in}});
        QCOMPARE(y.dims, (OnnxDims{1, 3, 2, 3}));
        const std::vector<float> weight =
                                     madeWeight(program.weight(program.findWeight("a.c.weight"))),
                                 bias = madeWeight(program.weight(program.findWeight("a.c.bias")));
        for (int k = 0; k < 3; ++k)
            for (int row = 0; row < 2; ++row)
                for (int column = 0; column < 3; ++column) {
                    double sum = bias[std::size_t(k)];
                    for (int c = 0; c < 2; ++c)
                        for (int r = 0; r < 3; ++r)
                            for (int s = 0; s < 3; ++s) {
                                const int v = 2 * row + r - 1, u = 2 * column + s - 1;
                                if (v >= 0 && v < 4 && u >= 0 && u < 6)
                                    sum +=
                                        double(weight[std::size_t(((k * 3 + r) * 3 + s) * 2 + c)]) *
                                        in.values[std::size_t((c * 4 + v) * 6 + u)];
                            }
                    QVERIFY(std::abs(y.values[std::size_t((k * 2 + row) * 3 + column)] - sum) <
                            1e-5);
                }
    }

    void attentionIsTheGivenOne()
    {
        ProgramBuilder build("attention");
        const int qkv = build.input("x", 6, 1, 2);
        build.beginBlock("a");
        build.output(build.selfAttention("s", qkv, 1), "y");
        // Channels first: q = k = identity, v = (1, 2), (3, 4).
        const OnnxArray y =
            runProgram(build.finish(), madeWeight,
                       {{"x", {{1, 6, 1, 2}, {1, 0, 0, 1, 1, 0, 0, 1, 1, 3, 2, 4}}}});
        QCOMPARE(y.dims, (OnnxDims{1, 2, 2})); // tokens
        const double expected[] = {1.6604769013, 2.6604769013, 2.3395230987, 3.3395230987};
        for (std::size_t i = 0; i < 4; ++i)
            QVERIFY(std::abs(y.values[i] - expected[i]) < 1e-6);
    }

    void olderKeysWeighLess()
    {
        ProgramBuilder build("cross");
        const int q = build.input("q", 1, 1, 1), kv = build.input("kv", 2, 3, 1, true),
                  bias = build.input("bias", 1, 3, 1, true);
        build.beginBlock("a");
        build.output(build.crossAttention("c", build.concat("q", {q}), kv, bias, 1), "y");
        const OnnxArray y = runProgram(build.finish(), madeWeight,
                                       {{"q", {{1}, {0}}},
                                        {"kv", {{3, 2}, {0, 1, 0, 2, 0, 4}}},
                                        {"bias", {{3}, {0, -0.5F, -1}}}});
        QVERIFY(std::abs(y.values[0] - 1.8661670554) < 1e-6);
    }

    void windowsSeeThemselvesAlone()
    {
        const auto attention = [](Index side, Index window) {
            ProgramBuilder build("attention");
            const int qkv = build.input("x", 12, side, side);
            build.beginBlock("a");
            build.output(build.selfAttention("s", qkv, 2, window), "y");
            return build.finish();
        };
        const OnnxArray x = madeArray("x", {1, 12, 16, 16});
        const OnnxArray y = runProgram(attention(16, 8), madeWeight, {{"x", x}});
        for (std::size_t top : {0, 8})
            for (std::size_t left : {0, 8}) {
                OnnxArray part{{1, 12, 8, 8}, {}};
                for (std::size_t c = 0; c < 12; ++c)
                    for (std::size_t i = 0; i < 64; ++i)
                        part.values.push_back(x.values[(c * 16 + top + i / 8) * 16 + left + i % 8]);
                const OnnxArray alone = runProgram(attention(8, 0), madeWeight, {{"x", part}});
                for (std::size_t i = 0; i < 64; ++i)
                    for (std::size_t c = 0; c < 4; ++c)
                        QVERIFY(std::abs(y.values[((top + i / 8) * 16 + left + i % 8) * 4 + c] -
                                         alone.values[i * 4 + c]) < 1e-6F);
            }
    }

    void smallOperationsDoWhatTheySay()
    {
        // Sinusoid of 7 in width 8.
        ProgramBuilder embed("sinusoid");
        embed.beginBlock("a");
        embed.output(embed.sinusoid("e", embed.input("t", 1, 1, 1), 8, 1), "y");
        const OnnxArray e = runProgram(embed.finish(), madeWeight, {{"t", {{1}, {7}}}});
        const double expected[] = {0.75390225, 0.76484219, 0.99755100, 0.99997550,
                                   0.65698660, 0.64421769, 0.06994285, 0.00699994};
        for (std::size_t i = 0; i < 8; ++i)
            QVERIFY(std::abs(e.values[i] - expected[i]) < 2e-7);
        // Concatenation pads with zeros, slices take channels, nearest neighbours repeat.
        ProgramBuilder build("parts");
        const int x = build.input("x", 1, 1, 2), u = build.input("u", 1, 1, 2);
        build.beginBlock("a");
        int y = build.concat("c", {x, u}, 4);
        y = build.slice("s", y, 1, 3);
        y = build.unary(OpKind::UpsampleNearest2, "up", y);
        build.output(build.unary(OpKind::Silu, "silu", y), "y");
        const OnnxArray parts =
            runProgram(build.finish(), madeWeight,
                       {{"x", {{1, 1, 1, 2}, {9, 9}}}, {"u", {{1, 1, 1, 2}, {1, -1}}}});
        QCOMPARE(parts.dims, (OnnxDims{1, 3, 2, 4}));
        const float one = 0.7310585786F, minus = -0.2689414214F;
        const float row[] = {one, one, minus, minus, one, one, minus, minus};
        for (std::size_t i = 0; i < 24; ++i)
            QVERIFY(std::abs(parts.values[i] - (i < 8 ? row[i] : 0)) < 1e-6F);
        // Gated GELU and layer norm over tokens.
        ProgramBuilder gate("gate");
        const int g = gate.input("x", 2, 1, 3);
        gate.beginBlock("a");
        gate.output(gate.unary(OpKind::GatedGelu, "g", g), "y");
        const OnnxArray gated =
            runProgram(gate.finish(), madeWeight, {{"x", {{1, 2, 1, 3}, {1, 2, 3, 1, -1, 0.5F}}}});
        const double values[] = {0.8413447461, 2 * -0.1586552539, 3 * 0.3457312307};
        for (std::size_t i = 0; i < 3; ++i)
            QVERIFY(std::abs(gated.values[i] - values[i]) < 1e-6);
        // Means over parts that overlap where they do not come out even.
        ProgramBuilder pool("pool");
        const int p = pool.input("x", 1, 3, 3);
        pool.beginBlock("a");
        pool.output(pool.meanPool("p", p, 2), "y");
        const OnnxArray pooled = runProgram(pool.finish(), madeWeight,
                                            {{"x", {{1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}}}});
        QCOMPARE(pooled.values, (std::vector<float>{3, 4, 6, 7}));
    }

    void largeWeightsLieInASecondFile()
    {
        const test::Scratch scratch;
        const OnnxModel model = nanoModel();
        const auto files = writeOnnx(model, scratch / "unet.onnx", {100'000, 1024});
        QCOMPARE(files.size(), std::size_t(2));
        QCOMPARE(files[1].filename().string(), std::string("unet.onnx.data"));
        QVERIFY(std::filesystem::file_size(files[0]) < 300'000);
        // Every tensor's number stands at a place that is a multiple of 4096.
        const std::string text = contentOfFile(files[0]);
        int places = 0;
        for (std::size_t at = text.find("offset"); at != std::string::npos;
             at = text.find("offset", at + 1), ++places) {
            const auto length = static_cast<std::size_t>(text[at + 7]);
            QCOMPARE(std::stoull(text.substr(at + 8, length)) % 4096, 0ULL);
        }
        const auto large = std::ranges::count_if(
            model.initialisers, [](const OnnxTensor& tensor) { return tensor.bytes() >= 1024; });
        QCOMPARE(std::int64_t(places), std::int64_t(large));
        const OnnxModel read = readOnnx(files[0]);
        QCOMPARE(inferShapes(read).problems, std::vector<std::string>());
        for (std::size_t i = 0; i < read.initialisers.size(); ++i)
            QVERIFY(bytesOf(read.initialisers[i]) == bytesOf(model.initialisers[i]));
        std::filesystem::resize_file(files[1], 100'000);
        VERGENCE_THROWS(InputError, "beyond the end of unet.onnx.data", readOnnx(files[0]));
    }

    void damagedFilesAreRefused()
    {
        const test::Scratch scratch;
        const auto path = scratch / "unet.onnx";
        writeOnnx(exportProgram(buildMemoryEncoder(unetSettings(Size::Nano, 16)), madeWeight),
                  path);
        const std::string whole = contentOfFile(path);
        const auto reading = [&] { readOnnx(path); };
        for (const std::size_t length : {std::size_t(0), std::size_t(1), whole.size() / 3,
                                         whole.size() / 2, whole.size() - 1}) {
            putFile(path, whole.substr(0, length));
            VERGENCE_THROWS(InputError, "unet.onnx", reading());
        }
        // No byte makes the reader do more than complain.
        for (std::size_t at = 0; at < whole.size(); at += 1 + whole.size() / 400) {
            std::string torn = whole;
            torn[at] = static_cast<char>(torn[at] ^ 0x5b);
            putFile(path, torn);
            try {
                inferShapes(readOnnx(path));
            } catch (const InputError&) {
            }
        }
        putFile(path, whole + "\x0b");
        VERGENCE_THROWS(InputError, "a field of kind 3", reading());
    }

    void unsoundGraphsAreNamed()
    {
        const auto problems = [](const OnnxModel& model) {
            QStringList list;
            for (const std::string& problem : inferShapes(model).problems)
                list << QString::fromStdString(problem);
            return list.join(' ');
        };
        OnnxModel model = singleNode({"Sigmoid", "s", {"x"}, {"y"}, {}}, {1, 4}, {1, 4});
        QCOMPARE(problems(model), QString());
        model.outputs[0].dims = {1, 5};
        QVERIFY(problems(model).contains("The output y is float [1, 4], not float [1, 5]"));
        model.nodes[0].inputs = {"z"};
        QVERIFY(
            problems(model).contains("s (Sigmoid) has an input z that nothing before it makes"));
        model.nodes[0] = {"Mystery", "m", {"x"}, {"y"}, {}};
        QVERIFY(problems(model).contains("an operation that this lab does not write"));
        // Operands that do not fit.
        const auto ofTwo = [&](const char* op, const OnnxDims& second, const OnnxDims& result) {
            OnnxModel two = singleNode({op, "n", {"x", "z"}, {"y"}, {}}, {2, 3, 4, 4}, result);
            two.inputs.push_back({"z", OnnxType::Float, second});
            return problems(two);
        };
        QCOMPARE(ofTwo("Add", {4, 1}, {2, 3, 4, 4}), QString());
        QVERIFY(ofTwo("Add", {3, 4}, {2, 3, 4, 4}).contains("operands of [2, 3, 4, 4] and [3, 4]"));
        QVERIFY(ofTwo("MatMul", {5, 4}, {2, 3, 4, 4}).contains("[2, 3, 4, 4] by [5, 4]"));
        QVERIFY(ofTwo("Conv", {8, 2, 3, 3}, {2, 8, 2, 2}).contains("[8, 2, 3, 3] for"));
        QVERIFY(ofTwo("Concat", {2, 3, 4, 5}, {4, 3, 4, 4}).contains("different extents"));
        QVERIFY(ofTwo("Reshape", {2}, {96}).contains("no constant"));
        model = singleNode({"Add", "a", {"x", "x"}, {"x"}, {}}, {1, 0}, {1, 0});
        QVERIFY(problems(model).contains("there twice"));
        QVERIFY(problems(model).contains("has the extents [1, 0]"));
        VERGENCE_THROWS(InputError, "extents", runOnnx(model, {}));
        model = singleNode({"Sigmoid", "s", {"x"}, {"y"}, {}}, {1, 4}, {1, 4});
        VERGENCE_THROWS(ContractError, "x [1, 4] as input", runOnnx(model, {}));
    }

    void bothOperatorSetsAgree()
    {
        const OnnxModel old = nanoModel(), modern = nanoModel({OnnxType::Float, 21, 1});
        const auto a = runOnnx(old, madeInputs(old, "s")),
                   b = runOnnx(modern, madeInputs(old, "s"));
        const std::vector<float>& reference = a.at("pred").values;
        const double most =
            std::abs(std::ranges::max(reference, {}, [](float value) { return std::abs(value); }));
        QVERIFY(most > 0.1);
        QVERIFY(largestDifference(reference, b.at("pred").values) < 1e-5 * most);
    }

    void rowsDoNotSeeEachOther()
    {
        const OnnxModel single = nanoModel(), pair = nanoModel({OnnxType::Float, 17, 2});
        const auto first = madeInputs(single, "a"), second = madeInputs(single, "b");
        std::map<std::string, OnnxArray> both = first;
        for (const OnnxValue& input : pair.inputs)
            if (!input.name.starts_with("mem")) {
                OnnxArray& array = both[input.name];
                array.dims = input.dims;
                const std::vector<float>& more = second.at(input.name).values;
                array.values.insert(array.values.end(), more.begin(), more.end());
            }
        auto otherRow = second;
        otherRow["mem"] = first.at("mem");
        const std::vector<float> together = runOnnx(pair, both).at("pred").values,
                                 a = runOnnx(single, first).at("pred").values,
                                 b = runOnnx(single, otherRow).at("pred").values;
        const auto half = std::ptrdiff_t(a.size());
        QVERIFY(largestDifference(a, {together.begin(), together.begin() + half}) < 1e-5);
        QVERIFY(largestDifference(b, {together.begin() + half, together.end()}) < 1e-5);
        QVERIFY(largestDifference(a, b) > 0.1);
    }

    void sixteenBitsStayNear()
    {
        const OnnxModel wide = nanoModel(), narrow = nanoModel({OnnxType::Float16, 17, 1});
        const auto inputs = madeInputs(wide, "s");
        const auto a = runOnnx(wide, inputs), b = runOnnx(narrow, inputs);
        const double psnr = psnrOf(a.at("pred").values, b.at("pred").values);
        QVERIFY2(psnr >= 50, qPrintable(QString::number(psnr)));
        QVERIFY(largestDifference(a.at("pred").values, b.at("pred").values) >
                0); // they are rounded
        const test::Scratch scratch;
        writeOnnx(narrow, scratch / "half.onnx");
        writeOnnx(wide, scratch / "full.onnx");
        const double share = double(std::filesystem::file_size(scratch / "half.onnx")) /
                             double(std::filesystem::file_size(scratch / "full.onnx"));
        QVERIFY2(share < 0.75, qPrintable(QString::number(share)));
    }

    void theNetworkAndItsFilesAgree_data()
    {
        QTest::addColumn<int>("size");
        QTest::addColumn<bool>("isNarrow");
        QTest::addColumn<int>("opset");
        QTest::addColumn<int>("batch");
        QTest::newRow("Nano") << int(Size::Nano) << false << 17 << 2;
        QTest::newRow("Nano, opset 21") << int(Size::Nano) << false << 21 << 1;
        QTest::newRow("Nano, fp16") << int(Size::Nano) << true << 17 << 1;
        QTest::newRow("Pico") << int(Size::Pico) << false << 17 << 1;
    }
    void theNetworkAndItsFilesAgree()
    {
        QFETCH(int, size);
        QFETCH(bool, isNarrow);
        QFETCH(int, opset);
        QFETCH(int, batch);
        const test::Scratch scratch;
        const TapeNetwork& network = m_networks.of(Size(size));
        OnnxExportSettings settings;
        settings.options = {isNarrow ? OnnxType::Float16 : OnnxType::Float, opset, batch};
        const OnnxExport result =
            exportOnnx(m_networks.stream(), network, scratch.path(), settings);
        for (const OnnxVerification& part : result.verifications) {
            QVERIFY2(part.holds(), part.toJson().dump(1).c_str());
            QCOMPARE(part.comparisons.size(), std::size_t(6)); // three runs of two outputs
            qInfo("%s", part.sentence().c_str());
        }
        QCOMPARE(result.verifications.size(), std::size_t(2));
        QVERIFY(result.holds());
        // The report, and what others need to repeat the first run.
        const auto report = nlohmann::json::parse(contentOfFile(scratch / "onnx_check.json"));
        QCOMPARE(report.size(), std::size_t(2));
        QCOMPARE(report[0]["file"], "unet.onnx");
        QVERIFY(report[0]["holds"] == true);
        QCOMPARE(report[0]["opset"], opset);
        QCOMPARE(int(report[0]["runs"].size()), 6);
        const NpzArchive check(scratch / "onnx_check.npz");
        const std::int64_t b = batch, g = network.settings().grid;
        QCOMPARE(check.shape("ref_pred"),
                 (std::vector<std::int64_t>{b, network.settings().frameChannels(), g, g}));
        QVERIFY(check.has("mem_bias") && check.has("ref_blend") && check.has("t"));
        const std::string recipe = contentOfFile(scratch / "onnx_check.txt");
        QCOMPARE(std::ranges::count(recipe, '\n'), 4);
        // Weights of its own make a file miss.
        const OnnxModel other =
            exportProgram(network.unet(), madeWeight, {OnnxType::Float, opset, batch});
        writeOnnx(other, scratch / "other.onnx");
        const OnnxVerification miss =
            verifyOnnx(scratch / "other.onnx", unetReference(m_networks.stream(), network), 1);
        QVERIFY(miss.problems.empty());
        QVERIFY(!miss.holds());
        QVERIFY(miss.sentence().find("misses") != std::string::npos);
    }

    void exportsStopWhereTheyAreAsked()
    {
        const test::Scratch scratch;
        OnnxExportSettings settings;
        int asked = 0;
        settings.isStopped = [&] { return ++asked > 1; };
        const OnnxExport result =
            exportOnnx(m_networks.stream(), m_networks.of(Size::Nano), scratch.path(), settings);
        QCOMPARE(result.files.size(), std::size_t(1));
        QVERIFY(result.verifications.empty());
        QVERIFY(!std::filesystem::exists(scratch / "onnx_check.json"));
    }

    void theOnnxLibraryAgrees_data()
    {
        QTest::addColumn<int>("size");
        QTest::addColumn<bool>("isNarrow");
        for (const Size size : {Size::Nano, Size::Pico, Size::S})
            for (const bool isNarrow : {false, true})
                QTest::addRow("%s %s", std::string(titleOf(size)).c_str(),
                              isNarrow ? "fp16" : "fp32")
                    << int(size) << isNarrow;
    }
    void theOnnxLibraryAgrees()
    {
        QFETCH(int, size);
        QFETCH(bool, isNarrow);
        const test::Scratch scratch;
        const UnetSettings settings = unetSettings(Size(size), layoutOf(Size(size)).nativeGrid);
        const OnnxOptions options{isNarrow ? OnnxType::Float16 : OnnxType::Float, 17, 1};
        // Of S only a second file of zeros: what counts is the graph.
        const WeightSource zeros = [](const ProgramWeight& weight) {
            return std::vector<float>(static_cast<std::size_t>(weight.size()), 0);
        };
        const OnnxWriting writing{Size(size) == Size::S ? 1000U : 1'500'000'000U, 1024};
        for (const auto& [name, program] : {std::pair{"unet.onnx", buildUnet(settings)},
                                            {"mem_encoder.onnx", buildMemoryEncoder(settings)}}) {
            writeOnnx(exportProgram(program, zeros, options), scratch / name, writing);
            const auto complaint = onnxComplaint(scratch / name);
            if (!complaint)
                QSKIP("libonnx-dev was not there when the tests were built");
            QCOMPARE(QString::fromStdString(*complaint), QString());
        }
        // The library does look: a graph without its first node is refused.
        OnnxModel torn = exportProgram(buildMemoryEncoder(settings), zeros, options);
        torn.nodes.erase(torn.nodes.begin());
        writeOnnx(torn, scratch / "torn.onnx");
        QVERIFY(!onnxComplaint(scratch / "torn.onnx")->empty());
    }
};

VERGENCE_TEST(TestLiveOnnx)
#include "tst_live_onnx.moc"
