#include <QTest>

#include "core/base/error.h"
#include "core/compute/temporary.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;

namespace {

/// A device whose queued work fails: whoever waits for it is told.
class FailingStream final : public Stream {
public:
    explicit FailingStream(Device& device) : Stream(device) {}
    int waits = 0;

    void copy(void*, const void*, std::size_t) override {}
    void fillBytes(void*, int, std::size_t) override {}
    void synchronize() override
    {
        ++waits;
        throw DeviceError("an illegal memory access was encountered");
    }
    void parallelFor(Index, Index, RangeBody, const void*) override {}
    void* scratch(std::size_t) override { return nullptr; }
};

class CountingDevice final : public Device {
public:
    CountingDevice() : Device(DeviceInfo{}) {}
    std::size_t used = 0;

    void* allocate(std::size_t bytes) override
    {
        used += bytes;
        return this;
    }
    void deallocate(void*, std::size_t bytes) noexcept override { used -= bytes; }
    DeviceMemory memory() const override { return {}; }
    std::unique_ptr<Stream> createStream() override
    {
        return std::make_unique<FailingStream>(*this);
    }
    int kernelVariant() const override { return 0; }
};

} // namespace

/// Memory of a call on a stream whose work fails.
class TestTemporary : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aFaultOfTheDeviceEndsTheCallAndNotTheProcess()
    {
        CountingDevice device;
        FailingStream stream(device);
        VERGENCE_THROWS(DeviceError, "illegal memory access", {
            const Temporary memory(stream, 100, sizeof(double));
            QCOMPARE(device.used, std::size_t{800});
            stream.synchronize();
        });
        QCOMPARE(device.used, std::size_t{0});
    }

    void nobodyIsWaitedFor()
    {
        CountingDevice device;
        FailingStream stream(device);
        {
            const Temporary memory(stream, 0, sizeof(double));
            QVERIFY(memory.data() != nullptr);
            QCOMPARE(device.used, sizeof(double));
        }
        QCOMPARE(stream.waits, 0);
        QCOMPARE(device.used, std::size_t{0});
    }
};

VERGENCE_TEST(TestTemporary)
#include "tst_temporary.moc"
