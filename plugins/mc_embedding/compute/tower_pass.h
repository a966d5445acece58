#pragma once

#include "plugins/mc_embedding/compute/encoder.h"
#include "plugins/mc_embedding/compute/mask_kernels.h"
#include "plugins/mc_embedding/compute/row_kernels.h"
#include "plugins/mc_embedding/compute/site_plan.h"
#include "plugins/mc_embedding/compute/tower_weights.h"

namespace vergence::mc_embedding {

/// Some neighbouring sequences of a batch, evaluated together.
struct SequenceTile {
    Index first = 0;                   ///< in the batch
    Index count = 0;                   ///< at most TowerPass::sequences()
    Index images = 0;                  ///< sequence s shows image s % images
    const SequenceKey* keys = nullptr; ///< of the tile, on the device; null: all masks off
};

/// Rows that a tile has for itself.
inline RowSource ownRows(const Tensor& tensor, Index rowsEach)
{
    return {tensor.data(), rowsEach, 0, 0};
}

/// What the steps from one on need of those before, once per image.
struct PrefixState {
    int step = -1;               ///< whose product is kept; −1: nothing
    RowSource pending, residual; ///< that product; the stream that branches are added to
    Tensor pendingRows, residualRows;
};

/// Evaluates a tower for tiles of a fixed number of sequences. With options.fixedRows products
/// always have the tile's full number of rows, so that a row of a result is a function of its input
/// row alone and features do not depend on the batch; nor does the memory. Nothing is allocated
/// after construction but prefixes.
class TowerPass {
public:
    /// `sequences` of a tile; 0: as many as products take at once.
    TowerPass(Stream& stream, std::shared_ptr<Device> device, const TowerShape& tower,
              const TowerWeights& weights, const EncoderOptions& options, Index sequences = 0);

    Index sequences() const { return m_sequences; } ///< of a full tile
    Index rows() const { return m_main.rows; }      ///< of products over all tokens
    Index tailRows() const { return m_tail.rows; }  ///< of products over one token per sequence
    std::size_t bytes() const;

    /// What is perturbed from now on; `plan` must outlive its use.
    void use(const SitePlan& plan);

    /// Memory for what the steps from the plan's first on need of B images.
    PrefixState makePrefix(Index images) const;
    std::size_t prefixBytes(Index images) const;
    /// Deterministic features of a tile of images, [count, D] at `features`; keeps what `prefix`
    /// is for. These and the next ask `isStopped` before every product; false where it said yes.
    bool runImages(Stream& stream, const SequenceTile& tile, const Tensor& pixels,
                   PrefixState& prefix, float* features, const std::function<bool()>& isStopped);
    /// Features of a tile of sequences under the masks of the plan, from `prefix` on where it holds
    /// something, else from the pixels.
    bool runSequences(Stream& stream, const SequenceTile& tile, const Tensor& pixels,
                      const PrefixState& prefix, float* features,
                      const std::function<bool()>& isStopped);

    /// A sequence that goes the way of the first one up to a step, and is masked in its result.
    struct Branch {
        int step = 0;
        SitePlan plan; ///< that step's masks, among all sites of the tile's plan
    };
    /// How many sequences products have where a batch grows: a power of two, since rows of few or
    /// odd ones may be computed another way, by their place.
    static Index paddedBranches(const TowerShape& tower, Index count);
    /// Features of one image without masks and, below, of its branches, [1 + branches, D] at
    /// `features`; the tile has room for paddedBranches(1 + branches). Branches are in the order of
    /// their steps. `key` as of SequenceTile. `goesOn` is told before every product how many
    /// branches there are by then; false where it said no.
    bool runBranches(Stream& stream, const Tensor& pixels, std::span<const Branch> branches,
                     const SequenceKey* key, float* features,
                     const std::function<bool(std::size_t)>& goesOn);

    /// Whether a step works on one token per sequence.
    bool isTail(int step) const;

private:
    /// Buffers of a tile's rows: all tokens, or one per sequence.
    struct Rows {
        Index rows = 0, tokens = 1; ///< rows as products have them
        Tensor x, normed, context, branch, hidden;
    };
    /// Where values lie between two steps.
    struct Flow {
        SequenceTile tile;
        const Tensor* pixels = nullptr;
        RowSource pending, residual;
        float* features = nullptr; ///< of the tile

        bool isMasked() const { return tile.keys != nullptr; }
    };
    /// A value that noise is added to.
    struct NoisyRows {
        DType type = DType::F32;
        void* data = nullptr;
        Index tokens = 1, columns = 0, rowStride = 0;
    };

    void allocate(Stream& stream);
    /// The same buffers without those of the first sequences.
    TowerPass after(Index sequences) const;
    /// The stream of the first sequence for another one, where a step leaves it as it is.
    void takeStream(Stream& stream, int step, const RowSource& residual, Index sequence) const;
    /// Attention with masks on its probabilities is another kernel, which each branch calls itself.
    bool attendsTogether(int step) const;
    Rows makeRows(Stream& stream, Index rows, Index tokens) const;
    const Rows& rowsOf(int step) const { return isTail(step) ? m_tail : m_main; }
    bool isHead(int block) const { return block == m_tower.layers; }
    Index pendingRowsEach(int step) const;
    Index pendingColumns(int step) const;
    DType pendingType(int step) const;
    Index residualRowsEach(int step) const;
    void keep(Stream& stream, const Flow& flow, const PrefixState& prefix) const;

    Tensor filled(const Tensor& matrix, Index rowsEach, const Flow& flow) const;
    void product(Stream& stream, int step, Flow& flow);
    void embedProduct(Stream& stream, Flow& flow);
    void outputProduct(Stream& stream, int block, Flow& flow);

    void finish(Stream& stream, int step, Flow& flow);
    void finishEmbed(Stream& stream, Flow& flow);
    void finishQkv(Stream& stream, int block, Flow& flow);
    void maskQkv(Stream& stream, int block, Flow& flow);
    void drawHeadQuery(Stream& stream, int block, const Flow& flow);
    void finishOutput(Stream& stream, int block, Flow& flow);
    void finishFc1(Stream& stream, int block, Flow& flow);
    void finishFc2(Stream& stream, int block, Flow& flow);
    /// x += branch, then the next norm.
    void addBranch(Stream& stream, int step, Flow& flow, AddRowsArguments args, int lastSite);
    void finishFeature(Stream& stream, const RowSource& source, const Flow& flow,
                       std::initializer_list<int> sites);
    /// The norm after a branch was added, and where its result goes.
    NormRowsArguments nextNorm(int step) const;
    void attend(Stream& stream, int block, const Flow& flow);
    void attendMasked(Stream& stream, int block, const Flow& flow);

    /// Bits of the live ones among `sites`; maskOf() gives them until the next call.
    void drawMasks(Stream& stream, const Flow& flow, int step, std::initializer_list<int> sites);
    RowMask maskOf(int site) const;
    BranchCoin coinOf(const Flow& flow, int site) const;
    bool isNoisy(const Flow& flow, std::initializer_list<int> sites) const;
    /// Copies a value that passes share into the tile's own memory.
    void own(Stream& stream, const Flow& flow, RowSource& value, const NoisyRows& rows) const;
    /// At the live ones among `sites`, in place.
    void addNoise(Stream& stream, const Flow& flow, const NoisyRows& rows,
                  std::initializer_list<int> sites) const;

    std::shared_ptr<Device> m_device;
    TowerShape m_tower;
    const TowerWeights& m_weights;
    EncoderOptions m_options;
    const SitePlan* m_plan = nullptr;
    bool m_classTokenOnly = false;
    Index m_sequences = 1;
    Rows m_main, m_tail;
    Tensor m_patches;         ///< [sequences · patches, 3 · patch²]
    Tensor m_qkv, m_headKv;   ///< [rows, 3w]; [rows, 2w] in the same memory
    Tensor m_query;           ///< [sequences, w], of the head
    Tensor m_last, m_feature; ///< F32 [tail rows, w], [tail rows, D]
    Tensor m_bits, m_spread;
    std::vector<MaskSite> m_drawn; ///< what m_bits holds
};

} // namespace vergence::mc_embedding
