#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <QTest>

#include "core/compute/tensor.h"
#include "tests/support/device_table.h"
#include "tests/support/environment.h"
#include "tests/support/numbers.h"
#include "tests/support/thrown.h"

namespace vergence::test {

using Numbers = std::vector<double>;

/// Element types that every operation takes, with the relative accuracy that their results have.
struct TypeCase {
    DType type;
    const char* name;
    double accuracy;
};
inline const std::vector<TypeCase> kTypeCases{{DType::F32, "F32", 4e-6},
                                              {DType::F64, "F64", 1e-13},
                                              {DType::F16, "F16", 1.5e-3},
                                              {DType::BF16, "BF16", 1.2e-2}};
inline const std::vector<int> kSizes{0, 1, 31, 32, 33, 257};

/// Places where operations run: the devices of this computer, and its CPU held to older
/// instruction sets (−2 and −3).
inline void forEachPlace(const std::function<void(const std::string&, int)>& add)
{
#if defined(__x86_64__)
    add("cpu v2", -2);
    add("cpu v3", -3);
#endif
    forEachDevice(add);
}

inline std::shared_ptr<Device> placeOrSkip(int place)
{
    if (place >= 0)
        return deviceOrSkip(place);
    const ScopedVariable isa("VERGENCE_ISA", place == -2 ? "v2" : "v3");
    return makeCpuDevice(2);
}

/// Columns `place` and `type` (index into kTypeCases).
inline void addPlaceAndTypeRows()
{
    QTest::addColumn<int>("place");
    QTest::addColumn<int>("type");
    forEachPlace([](const std::string& name, int place) {
        for (int type = 0; type < static_cast<int>(kTypeCases.size()); ++type)
            QTest::addRow("%s, %s", name.c_str(), kTypeCases[static_cast<std::size_t>(type)].name)
                << place << type;
    });
}

/// Numbers in [low, high], the same for equal seeds.
inline Numbers randomNumbers(Index count, unsigned seed, double low = -2, double high = 2)
{
    std::mt19937_64 generator(seed);
    std::uniform_real_distribution<double> pick(low, high);
    Numbers numbers(static_cast<std::size_t>(count));
    for (double& number : numbers)
        number = pick(generator);
    return numbers;
}

template <class T>
std::vector<T> convertedTo(const Numbers& numbers)
{
    std::vector<T> result;
    result.reserve(numbers.size());
    for (const double number : numbers) {
        if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>)
            result.push_back(T(static_cast<float>(number)));
        else
            result.push_back(static_cast<T>(number));
    }
    return result;
}

/// Runs body with a value of the C++ type that `type` names.
template <class Body>
auto withType(DType type, const Body& body)
{
    switch (type) {
    case DType::F64:
        return body(double{});
    case DType::F16:
        return body(Float16{});
    case DType::BF16:
        return body(BFloat16{});
    case DType::I32:
        return body(std::int32_t{});
    case DType::I64:
        return body(std::int64_t{});
    case DType::U8:
        return body(std::uint8_t{});
    case DType::U16:
        return body(std::uint16_t{});
    default:
        return body(float{});
    }
}

/// What a tensor of `type` holds after `numbers` were written to it.
inline Numbers roundedTo(DType type, const Numbers& numbers)
{
    return withType(type, [&](auto kind) {
        Numbers result;
        for (const auto value : convertedTo<decltype(kind)>(numbers))
            result.push_back(static_cast<double>(value));
        return result;
    });
}

/// One device, its stream and tensors of one element type on it.
class Bench {
public:
    Bench(std::shared_ptr<Device> device, DType type = DType::F32)
        : m_device(std::move(device)),
          m_stream(m_device->createStream()),
          m_type(type)
    {
    }

    Stream& stream() const { return *m_stream; }
    DType type() const { return m_type; }
    DType sumType() const { return m_type == DType::F64 ? DType::F64 : DType::F32; }

    /// Starts one number beyond an aligned place where `between`.
    Tensor tensor(const Shape& shape, const Numbers& numbers, DType type,
                  bool between = false) const
    {
        Tensor result = empty(shape, type, between);
        withType(type, [&](auto kind) {
            const auto values = convertedTo<decltype(kind)>(numbers);
            expects(static_cast<Index>(values.size()) == result.size(), "test: count of numbers");
            m_stream->copy(result.data(), values.data(), result.bytes());
        });
        return result;
    }
    Tensor tensor(const Shape& shape, const Numbers& numbers) const
    {
        return tensor(shape, numbers, m_type, misaligned);
    }
    /// Filled with a number that no result has.
    Tensor result(const Shape& shape) const { return result(shape, m_type); }
    Tensor result(const Shape& shape, DType type) const
    {
        return tensor(shape, Numbers(static_cast<std::size_t>(elementCount(shape)), 77), type,
                      misaligned);
    }
    Tensor zeros(const Shape& shape, DType type) const
    {
        return tensor(shape, Numbers(static_cast<std::size_t>(elementCount(shape)), 0), type,
                      misaligned);
    }
    Tensor integers(const std::vector<int>& values) const
    {
        return tensor({static_cast<Index>(values.size())}, Numbers(values.begin(), values.end()),
                      DType::I32);
    }

    Numbers numbers(const Tensor& tensor) const
    {
        return withType(tensor.dtype(), [&](auto kind) {
            Numbers result;
            for (const auto value : tensor.toHost<decltype(kind)>(*m_stream))
                result.push_back(static_cast<double>(value));
            return result;
        });
    }

    bool misaligned = false; ///< tensors made from now on start between aligned places

private:
    Tensor empty(const Shape& shape, DType type, bool between) const
    {
        if (!between)
            return Tensor::empty(m_device, shape, type);
        const Index count = elementCount(shape);
        return Tensor::empty(m_device, {count + 1}, type).narrow(0, 1, count).reshaped(shape);
    }

    std::shared_ptr<Device> m_device;
    std::unique_ptr<Stream> m_stream;
    DType m_type;
};

/// The bench of a row of addPlaceAndTypeRows(); without device where the row is skipped.
struct RowBench {
    std::shared_ptr<Device> device;
    TypeCase kind;
};
inline RowBench rowBench()
{
    const int place = *static_cast<int*>(QTest::qData("place", qMetaTypeId<int>()));
    const int type = *static_cast<int*>(QTest::qData("type", qMetaTypeId<int>()));
    return {placeOrSkip(place), kTypeCases[static_cast<std::size_t>(type)]};
}

/// f applied to every number.
template <class F>
Numbers mapped(const Numbers& x, const F& f)
{
    Numbers y;
    y.reserve(x.size());
    for (const double number : x)
        y.push_back(f(number));
    return y;
}

inline double dot(const Numbers& a, const Numbers& b)
{
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        sum += a[i] * b[i];
    return sum;
}

} // namespace vergence::test

/// Declares `bench` and `kind` for the running row, or leaves the test.
#define VERGENCE_ROW_BENCH(bench, kind)                                                            \
    const vergence::test::RowBench vergenceRow = vergence::test::rowBench();                       \
    if (!vergenceRow.device)                                                                       \
        return;                                                                                    \
    const vergence::test::TypeCase kind = vergenceRow.kind;                                        \
    vergence::test::Bench bench(vergenceRow.device, kind.type)
