// Products and convolutions of bench_engine_dense in F32 by oneDNN alone, which spreads them over
// its own threads: the fastest call in microseconds, plain and with weights in the library's order,
// and whether the result has the bits of one thread. Threads: OMP_NUM_THREADS.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <omp.h>

#include "core/base/crc32c.h"
#include "core/compute/dense/onednn.h"

namespace {

using dnnl::memory;
using vergence::onednn::product;
using Tag = memory::format_tag;

constexpr auto kMeasured = std::chrono::milliseconds(300);

memory::desc layout(const memory::dims& extents, Tag tag)
{
    return {extents, memory::data_type::f32, tag};
}

memory filled(const memory::desc& shape, const dnnl::engine& engine)
{
    memory made(shape, engine);
    auto* numbers = static_cast<float*>(made.get_data_handle());
    std::mt19937 generator(1);
    std::normal_distribution<float> normal;
    std::generate_n(numbers, shape.get_size() / sizeof(float), [&] { return normal(generator); });
    return made;
}

/// An operation with its operands.
struct Call {
    dnnl::stream stream;
    dnnl::primitive operation;
    std::unordered_map<int, memory> operands;

    void run()
    {
        operation.execute(stream, operands);
        stream.wait();
    }

    double microseconds()
    {
        run();
        double best = 1e30;
        const auto begin = std::chrono::steady_clock::now();
        for (auto now = begin; now - begin < kMeasured;) {
            run();
            const auto then = std::exchange(now, std::chrono::steady_clock::now());
            best = std::min(best, std::chrono::duration<double, std::micro>(now - then).count());
        }
        return best;
    }

    std::uint32_t bits()
    {
        run();
        const memory& y = operands.at(DNNL_ARG_DST);
        const auto* bytes = static_cast<const std::byte*>(y.get_data_handle());
        return vergence::crc32c({bytes, y.get_desc().get_size()});
    }
};

template <class Description>
Call callOf(const Description& description)
{
    using Operation = std::conditional_t<std::is_same_v<Description, dnnl::matmul::primitive_desc>,
                                         dnnl::matmul, dnnl::convolution_forward>;
    const dnnl::engine engine = description.get_engine();
    return {dnnl::stream(engine),
            Operation(description),
            {{DNNL_ARG_SRC, filled(description.src_desc(), engine)},
             {DNNL_ARG_WEIGHTS, filled(description.weights_desc(), engine)},
             {DNNL_ARG_DST, memory(description.dst_desc(), engine)}}};
}

/// `make(isPacked)` describes the operation for the number of threads that is set.
template <class Make>
void row(const std::string& name, const Make& make)
{
    const int threads = omp_get_max_threads();
    Call plain = callOf(make(false));
    const double time = plain.microseconds(), packed = callOf(make(true)).microseconds();
    const std::uint32_t bits = plain.bits();
    omp_set_num_threads(1);
    const bool isEqual = callOf(make(false)).bits() == bits;
    omp_set_num_threads(threads);
    fmt::print("| {} | {:.1f} | {:.1f} | {} |\n", name, time, packed, isEqual ? "same" : "other");
}

void productRow(memory::dim batch, memory::dim m, memory::dim n, memory::dim k, const char* order)
{
    row(fmt::format("matmul {}x{}x{}x{} {} f32", batch, m, n, k, order), [&](bool isPacked) {
        const Tag a = order[0] == 'T' ? Tag::acb : Tag::abc;
        const Tag b = order[1] == 'T' ? Tag::acb : Tag::abc;
        return product(layout({batch, m, k}, a), layout({batch, k, n}, isPacked ? Tag::any : b), {},
                       layout({batch, m, n}, Tag::abc), {});
    });
}

void convolutionRow(memory::dim from, memory::dim to, memory::dim side, memory::dim kernel,
                    memory::dim stride, memory::dim images)
{
    row(fmt::format("conv {}->{} {}x{} k{} s{} n{} nhwc f32", from, to, side, side, kernel, stride,
                    images),
        [&](bool) { // other weights than its own take the library's reference
            vergence::onednn::Convolution wanted{
                dnnl::algorithm::convolution_direct,
                layout({images, from, side, side}, Tag::nhwc),
                layout({to, from, kernel, kernel}, Tag::any),
                layout({images, to, side / stride, side / stride}, Tag::nhwc),
                {},
                {stride, stride},
                {kernel / 2, kernel / 2},
                {kernel / 2, kernel / 2}};
            return vergence::onednn::forward(wanted, dnnl::prop_kind::forward_inference);
        });
}

} // namespace

int main()
{
    const dnnl_version_t* version = dnnl_version();
    fmt::print("oneDNN {}.{}.{}, {} threads\n\n| row | plain, µs | packed, µs | bits of one thread "
               "|\n|---|---|---|---|\n",
               version->major, version->minor, version->patch, omp_get_max_threads());
    for (const auto& [batch, m, n, k, order] :
         std::vector<std::tuple<int, int, int, int, const char*>>{{1, 257, 1536, 384, "NT"},
                                                                  {1, 257, 384, 1536, "NT"},
                                                                  {1, 257, 384, 1536, "NN"},
                                                                  {1, 1536, 384, 257, "TN"},
                                                                  {1, 1024, 1024, 1024, "NN"},
                                                                  {1, 1024, 1024, 1024, "NT"},
                                                                  {1, 1024, 1024, 1024, "TN"},
                                                                  {1, 384, 1536, 2056, "TN"},
                                                                  {6, 257, 257, 64, "NT"},
                                                                  {6, 257, 64, 257, "NN"},
                                                                  {96, 50, 50, 32, "NT"},
                                                                  {1, 1, 1536, 384, "NT"},
                                                                  {1, 4, 1536, 384, "NT"},
                                                                  {1, 64, 64, 20000, "TN"}})
        productRow(batch, m, n, k, order);
    for (const auto& [from, to, side, kernel, stride, images] :
         std::vector<std::tuple<int, int, int, int, int, int>>{{32, 32, 64, 3, 1, 1},
                                                               {64, 64, 32, 3, 1, 1},
                                                               {128, 128, 16, 3, 1, 1},
                                                               {64, 64, 64, 3, 1, 1},
                                                               {128, 128, 32, 3, 1, 1},
                                                               {256, 256, 16, 3, 1, 1},
                                                               {256, 256, 8, 3, 1, 1},
                                                               {64, 64, 64, 3, 2, 1},
                                                               {256, 128, 16, 1, 1, 1},
                                                               {32, 64, 32, 3, 1, 8}})
        convolutionRow(from, to, side, kernel, stride, images);
}
