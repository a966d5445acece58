// How long attention takes, forward and with its gradient; rows and options as engine_rows.h says.
// Of each pair of query and key that the mask lets through, 4 · 64 operations forward, 10 · 64
// backward.

#include <memory>
#include <string>

#include <fmt/format.h>

#include "core/compute/ops/attention.h"
#include "tests/bench/engine_rows.h"

namespace {

using namespace vergence;
using bench::addRow;
using bench::filled;
using bench::stream;

/// Heads of 64 numbers.
struct Extents {
    Index batch, queries, keys, heads, keyHeads;
    bool causal;

    double pairs() const
    {
        const double masked = causal ? 0.5 * static_cast<double>(queries * (queries - 1)) : 0;
        return static_cast<double>(batch * heads) * (static_cast<double>(queries * keys) - masked);
    }
    std::string name() const
    {
        return fmt::format("B:{}/Sq:{}/Sk:{}/H:{}/Hkv:{}/causal:{}", batch, queries, keys, heads,
                           keyHeads, causal ? 1 : 0);
    }
};

struct Operands {
    Tensor q, k, v, o, logSumExp, gradO, gradQ, gradK, gradV, delta;
    AttentionArgs args;

    explicit Operands(const Extents& e)
    {
        const Shape query{e.batch, e.queries, e.heads, 64}, key{e.batch, e.keys, e.keyHeads, 64};
        const Shape row{e.batch, e.heads, e.queries};
        args.causal = e.causal;
        args.cacheOffset = e.keys - e.queries;
        q = filled(query), gradO = filled(query), o = filled(query), gradQ = filled(query);
        k = filled(key), v = filled(key), gradK = filled(key), gradV = filled(key);
        logSumExp = filled(row), delta = filled(row);
    }
    void forward() { attention(stream(), q, k, v, o, &logSumExp, args); }
    void backward()
    {
        attentionBackward(stream(), q, k, v, o, logSumExp, gradO, gradQ, gradK, gradV, delta, args);
    }
};

void addForward(const std::string& kind, const Extents& e)
{
    addRow(kind + e.name(), {4 * 64 * e.pairs()}, [e] {
        const auto operands = std::make_shared<Operands>(e);
        return [operands] { operands->forward(); };
    });
}

void addRows()
{
    for (const Extents& e :
         {Extents{8, 257, 257, 6, 6, false}, Extents{1, 512, 512, 9, 3, true},
          Extents{1, 1024, 1024, 8, 8, false}, Extents{1, 4096, 4096, 8, 8, false}}) {
        addForward("forward/", e);
        addRow("forwardBackward/" + e.name(), {14 * 64 * e.pairs()}, [e] {
            const auto operands = std::make_shared<Operands>(e);
            return [operands] {
                operands->forward();
                operands->backward();
            };
        });
    }
    addForward("decode/", {1, 1, 1024, 8, 8, false});
    addForward("decode/", {1, 1, 1024, 9, 3, false});
}

} // namespace

int main(int argc, char** argv)
{
    return bench::runRows(argc, argv, addRows);
}
