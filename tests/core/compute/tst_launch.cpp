#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include <QtTest>

#include "core/compute/backend.h"
#include "core/compute/rng.h"
#include "tests/core/compute/launch_kernels.h"
#include "tests/support/device_table.h"
#include "tests/support/environment.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;

namespace {

const std::vector<int> kSizes{0, 1, 31, 32, 33, 257, 2048, 2049, 5000};

std::vector<float> values(Index count)
{
    std::vector<float> numbers(static_cast<std::size_t>(count));
    const Rng rng(5);
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = rng.uniform(i) * 2 - 1;
    return numbers;
}

/// Everything the test kernels compute on one device, as bytes.
std::vector<float> allResults(const std::shared_ptr<Device>& device)
{
    const auto stream = device->createStream();
    const Tensor in = Tensor::fromHost<float>(*stream, device, {300'000}, values(300'000));
    Tensor out = Tensor::zeros(*stream, device, {300'000});
    scaleAndAdd(*stream, in, out);
    std::vector<float> results = out.toHost<float>(*stream);
    double total = 0;
    sum(*stream, in, total);
    float halves[2];
    std::memcpy(halves, &total, sizeof(total));
    results.insert(results.end(), halves, halves + 2);
    return results;
}

QString kernelsOf(const Device& device)
{
    return nameOf(static_cast<KernelVariant>(device.kernelVariant()));
}

bool sameBytes(const std::vector<float>& a, const std::vector<float>& b)
{
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

} // namespace

class TestLaunch : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyItemIsVisitedOnce_data() { addDeviceAndSizeRows(kSizes); }
    void everyItemIsVisitedOnce()
    {
        VERGENCE_ROW_DEVICE(device);
        QFETCH(int, size);
        const auto stream = device->createStream();
        const auto numbers = values(size);
        const Tensor in = Tensor::fromHost<float>(*stream, device, {size}, numbers);
        Tensor out = Tensor::zeros(*stream, device, {size});
        scaleAndAdd(*stream, in, out);
        const auto results = out.toHost<float>(*stream);
        for (std::size_t i = 0; i < results.size(); ++i) {
            const double exact = 3.0 * static_cast<double>(numbers[i]) + static_cast<double>(i);
            // Two roundings of float, or one where the device fuses them.
            const double tolerance = 1.2e-7 * (std::abs(exact) + 3);
            if (std::abs(static_cast<double>(results[i]) - exact) > tolerance)
                QFAIL(qPrintable(
                    QString("item %1: %2 of the tolerance")
                        .arg(i)
                        .arg(std::abs(static_cast<double>(results[i]) - exact) / tolerance)));
        }
    }

    void viewsOfTwoDimensionsAgree_data() { addDeviceAndSizeRows(kSizes); }
    void viewsOfTwoDimensionsAgree()
    {
        VERGENCE_ROW_DEVICE(device);
        QFETCH(int, size);
        const auto stream = device->createStream();
        const auto numbers = values(Index{size} * 3);
        const Tensor in = Tensor::fromHost<float>(*stream, device, {size, 3}, numbers);
        Tensor out = Tensor::zeros(*stream, device, {3, size});
        transpose(*stream, in, out);
        const auto results = out.toHost<float>(*stream);
        for (int y = 0; y < size; ++y) {
            for (int x = 0; x < 3; ++x)
                QCOMPARE(results[static_cast<std::size_t>(x * size + y)],
                         numbers[static_cast<std::size_t>(y * 3 + x)]);
        }
    }

    void randomNumbersAreTheSameEverywhere_data() { addDeviceAndSizeRows(kSizes); }
    void bytesAreCopiedAndFilledInEverySize()
    {
        const auto device = makeCpuDevice(2);
        const auto stream = device->createStream();
        for (const std::size_t count : {0u, 1u, 1000u, 1u << 18, (1u << 20) + 3}) {
            std::vector<std::uint8_t> source(count + 1), target(count + 1, 7);
            for (std::size_t i = 0; i < source.size(); ++i)
                source[i] = static_cast<std::uint8_t>(i * 131 >> 3);
            stream->copy(target.data(), source.data(), count);
            QVERIFY(std::equal(source.begin(), source.end() - 1, target.begin()));
            QCOMPARE(target.back(), std::uint8_t{7});
            std::vector<std::uint8_t> moved = source; // overlapping itself
            stream->copy(moved.data() + 1, moved.data(), count);
            QVERIFY(std::equal(source.begin(), source.end() - 1, moved.begin() + 1));
            stream->fillBytes(target.data(), 9, count);
            QCOMPARE(std::count(target.begin(), target.end(), 9),
                     static_cast<std::ptrdiff_t>(count));
        }
    }

    void randomNumbersAreTheSameEverywhere()
    {
        VERGENCE_ROW_DEVICE(device);
        QFETCH(int, size);
        const auto stream = device->createStream();
        Tensor out = Tensor::zeros(*stream, device, {size}, DType::I32);
        randomWords(*stream, 0x0123456789abcdefu, 3, out);
        const auto results = out.toHost<std::int32_t>(*stream);
        const Rng rng(0x0123456789abcdefu, 3);
        for (std::size_t i = 0; i < results.size(); ++i)
            QCOMPARE(static_cast<std::uint32_t>(results[i]), rng.bits(i));
    }

    void sumsAreRight_data() { addDeviceAndSizeRows(kSizes); }
    void sumsAreRight()
    {
        VERGENCE_ROW_DEVICE(device);
        QFETCH(int, size);
        const auto stream = device->createStream();
        std::vector<float> numbers(static_cast<std::size_t>(size));
        std::iota(numbers.begin(), numbers.end(), 1.0f);
        const Tensor in = Tensor::fromHost<float>(*stream, device, {size}, numbers);
        double total = -1;
        sum(*stream, in, total);
        QCOMPARE(total, size * (size + 1.0) / 2); // whole numbers: exact in every order
    }

    void largestIsFoundWhereverItLies_data() { addDeviceAndSizeRows(kSizes); }
    void largestIsFoundWhereverItLies()
    {
        VERGENCE_ROW_DEVICE(device);
        QFETCH(int, size);
        const auto stream = device->createStream();
        Tensor out = Tensor::zeros(*stream, device, {1});
        if (size == 0) {
            largest(*stream, Tensor::zeros(*stream, device, {0}), out);
            QCOMPARE(out.toHost<float>(*stream)[0], -1e30f);
            return;
        }
        for (const int at : {0, size / 2, size - 1}) {
            auto numbers = values(size);
            numbers[static_cast<std::size_t>(at)] = 7;
            largest(*stream, Tensor::fromHost<float>(*stream, device, {size}, numbers), out);
            QCOMPARE(out.toHost<float>(*stream)[0], 7.0f);
        }
    }

    void sumsOfManyPassesAreRight_data() { addDeviceRows(); }
    void sumsOfManyPassesAreRight()
    {
        VERGENCE_ROW_DEVICE(device);
        const auto stream = device->createStream();
        constexpr Index kCount = 2048 * 2048 + 5; // three passes
        const std::vector<float> ones(static_cast<std::size_t>(kCount), 1.0f);
        const Tensor in = Tensor::fromHost<float>(*stream, device, {kCount}, ones);
        double total = 0;
        sum(*stream, in, total);
        QCOMPARE(total, static_cast<double>(kCount));
    }

    void resultsRepeatBitForBit_data() { addDeviceRows(); }
    void resultsRepeatBitForBit()
    {
        VERGENCE_ROW_DEVICE(device);
        QVERIFY(sameBytes(allResults(device), allResults(device)));
    }

    void resultsDoNotDependOnThreads()
    {
        const auto reference = allResults(makeCpuDevice(1));
        for (const int threads : {2, 3, 8})
            QVERIFY(sameBytes(allResults(makeCpuDevice(threads)), reference));
    }

    void instructionSetsAgree_data()
    {
        QTest::addColumn<QString>("isa");
        for (const char* isa : instructionSets())
            QTest::newRow(isa) << isa;
    }
    void instructionSetsAgree()
    {
        QFETCH(QString, isa);
        const auto reference = allResults(makeCpuDevice());
        const ScopedVariable chosen("VERGENCE_ISA", isa.toLatin1());
        const auto device = makeCpuDevice();
        if (!kernelsOf(*device).endsWith(isa))
            QSKIP("this processor does not have these instructions");
        QVERIFY(sameBytes(allResults(device), reference));
    }

    void unknownInstructionSetIsRefused()
    {
        const ScopedVariable chosen("VERGENCE_ISA", "v9");
        const QString message = thrown<DeviceError>([] { makeCpuDevice(); });
        QVERIFY2(message.contains("VERGENCE_ISA is v9"), qPrintable(message));
        for (const char* isa : instructionSets())
            QVERIFY2(message.contains(isa), qPrintable(message));
        VERGENCE_THROWS(ContractError, "must not be negative", makeCpuDevice(-1));
    }

    void missingAndMismatchedBodiesAreNamed()
    {
        const auto device = makeCpuDevice(1);
        const auto stream = device->createStream();
        Tensor out = Tensor::zeros(*stream, device, {1});
        VERGENCE_THROWS(DeviceError, ("test.nobody has no " + kernelsOf(*device)).toUtf8(),
                        nobody(*stream, out));
        VERGENCE_THROWS(ContractError, "another signature", mismatched(*stream, out));
        std::string reason;
        QVERIFY(!loadKernelModule("/nowhere/libx.so", &reason));
        QVERIFY2(reason.find("/nowhere/libx.so") != std::string::npos, reason.c_str());
    }
};

QTEST_APPLESS_MAIN(TestLaunch)
#include "tst_launch.moc"
