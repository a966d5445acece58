#include <algorithm>

#include <fmt/format.h>

#include "core/compute/ops/linear_cross_entropy_kernels.h"
#include "core/compute/ops/loss.h"

namespace vergence {

namespace {

void expectTensor(const char* what, const Tensor& tensor, const Shape& shape, DType type)
{
    if (tensor.shape() != shape || tensor.dtype() != type)
        throw ContractError(fmt::format("linearCrossEntropy: {} is {} {}, not {} {}.", what,
                                        nameOf(tensor.dtype()), toString(tensor.shape()),
                                        nameOf(type), toString(shape)));
    expects(tensor.isContiguous(), fmt::format("linearCrossEntropy: {} is strided", what));
}

/// Everything linearCrossEntropy() was given, checked.
class ChunkedLoss {
public:
    ChunkedLoss(const Tensor& hidden, const Tensor& weight, const Tensor& labels,
                const Tensor& rowLoss, const Tensor& counted, const Tensor& loss,
                const Tensor& logits, const LinearCrossEntropyArgs& args)
        : m_hidden(hidden),
          m_weight(weight),
          m_labels(labels),
          m_rowLoss(rowLoss),
          m_counted(counted),
          m_loss(loss),
          m_logits(logits),
          m_args(args),
          m_wide(hidden.dtype() == DType::F64 ? DType::F64 : DType::F32)
    {
        if (hidden.rank() != 2 || weight.rank() != 2 || hidden.extent(1) != weight.extent(1))
            throw ContractError(fmt::format("linearCrossEntropy: hidden {} and weight {} do not "
                                            "fit as [rows, H] and [V, H].",
                                            toString(hidden.shape()), toString(weight.shape())));
        const Index rows = hidden.extent(0), classes = weight.extent(0);
        expects(classes > 0, "linearCrossEntropy: there is no class");
        expectTensor("hidden", hidden, hidden.shape(), hidden.dtype());
        expectTensor("weight", weight, weight.shape(), hidden.dtype());
        expectTensor("labels", labels, {rows}, DType::I32);
        expectTensor("rowLoss", rowLoss, {rows}, m_wide);
        expectTensor("counted", counted, {1}, DType::I32);
        expectTensor("loss", loss, {1}, m_wide);
        if (logits.rank() != 2 || logits.extent(0) < 1)
            throw ContractError(fmt::format("linearCrossEntropy: the scratch for logits {} is not "
                                            "[chunkRows, {}].",
                                            toString(logits.shape()), classes));
        expectTensor("logits", logits, {logits.extent(0), classes}, hidden.dtype());
        expectGradients();
    }

    void run(Stream& stream)
    {
        const Index rows = m_hidden.extent(0), chunkRows = m_logits.extent(0);
        const auto* labels = static_cast<const std::int32_t*>(m_labels.data());
        auto* counted = static_cast<std::int32_t*>(m_counted.data());
        countLabelsKernel(stream, labels, rows, counted);
        for (Index first = 0; first < rows; first += chunkRows)
            chunk(stream, first, std::min(chunkRows, rows - first));
        meanRowLossKernel(stream, m_wide, m_rowLoss.data(), rows, counted, m_loss.data());
    }

private:
    void expectGradients() const
    {
        if (m_args.gradLoss)
            expectTensor("gradLoss", *m_args.gradLoss, {1}, m_wide);
        if (m_args.gradHidden)
            expectTensor("gradHidden", *m_args.gradHidden, m_hidden.shape(), m_hidden.dtype());
        if (m_args.gradWeight)
            expectTensor("gradWeight", *m_args.gradWeight, m_weight.shape(), m_wide);
    }

    void chunk(Stream& stream, Index first, Index count) const
    {
        DenseMath& dense = stream.device().dense();
        const Tensor hidden = m_hidden.narrow(0, first, count);
        const Tensor logits = m_logits.narrow(0, 0, count);
        MatmulOptions transposed;
        transposed.transposeB = true;
        dense.matmul(stream, hidden, m_weight, logits, transposed);
        LogitRows rows;
        rows.type = m_hidden.dtype();
        rows.rows = count, rows.classes = m_weight.extent(0);
        rows.logits = logits.data();
        rows.labels = static_cast<const std::int32_t*>(m_labels.data()) + first;
        rows.rowLoss = m_rowLoss.narrow(0, first, count).data();
        rows.counted = static_cast<const std::int32_t*>(m_counted.data());
        rows.gradLoss = m_args.gradLoss ? m_args.gradLoss->data() : nullptr;
        rows.wantsGradient = m_args.gradHidden || m_args.gradWeight;
        logitRowsKernel(stream, rows);
        if (m_args.gradHidden)
            dense.matmul(stream, logits, m_weight, m_args.gradHidden->narrow(0, first, count));
        if (m_args.gradWeight) {
            MatmulOptions added;
            added.transposeA = true;
            added.beta = 1;
            dense.matmul(stream, logits, hidden, *m_args.gradWeight, added);
        }
    }

    const Tensor &m_hidden, &m_weight, &m_labels, &m_rowLoss, &m_counted, &m_loss, &m_logits;
    const LinearCrossEntropyArgs& m_args;
    DType m_wide;
};

} // namespace

void linearCrossEntropy(Stream& stream, const Tensor& hidden, const Tensor& weight,
                        const Tensor& labels, const Tensor& rowLoss, const Tensor& counted,
                        const Tensor& loss, const Tensor& logits,
                        const LinearCrossEntropyArgs& args)
{
    ChunkedLoss(hidden, weight, labels, rowLoss, counted, loss, logits, args).run(stream);
}

} // namespace vergence
