#include "plugins/mc_embedding/compute/encoder.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "plugins/mc_embedding/compute/tower_pass.h"

namespace vergence::mc_embedding {

namespace {

constexpr Index kKeyBytes = sizeof(SequenceKey);

double number(Index value)
{
    return static_cast<double>(value);
}

double attentionFlop(const TowerShape& t, int block)
{
    const Index queries = block == t.layers ? 1 : t.tokens();
    return 4 * number(queries * t.tokens()) * number(t.width);
}

/// Work of a step's product for one sequence.
double productFlop(const TowerShape& t, int step, bool isTail)
{
    const double w = number(t.width), n = number(t.tokens()), rows = isTail ? 1 : n;
    const double pixels = 3.0 * t.patch * t.patch;
    if (step == steps::kEmbed)
        return 2 * number(t.patches()) * pixels *
               number(t.family == Family::ToyLinear ? t.feature : t.width);
    if (t.family == Family::Clip && step == steps::last(t))
        return 2 * w * number(t.feature);
    const bool isHead = steps::blockOf(step) == t.layers;
    switch (steps::partOf(step)) {
    case steps::kQkv:
        return (isHead ? 4 : 6) * n * w * w;
    case steps::kOutput:
        return 2 * rows * w * w;
    default:
        return 2 * rows * w * number(t.hidden);
    }
}

/// Whether attention follows the product of a step.
bool isAttention(const TowerShape& t, int step)
{
    return step != steps::kEmbed && steps::partOf(step) == steps::kQkv &&
           !(t.family == Family::Clip && step == steps::last(t));
}

} // namespace

struct Encoder::Impl {
    std::shared_ptr<Device> device;
    TowerShape tower;
    EncoderOptions options;
    TowerWeights weights;
    std::optional<TowerPass> pass; ///< none while sites are probed, which needs the memory
    bool isPacked = false;

    SitePlan wanted; ///< from the next begin() on
    SitePlan plan;   ///< of the chunk
    Tensor pixels;
    std::vector<std::uint32_t> maskIds;
    PrefixState prefix;
    Tensor deterministic, features, keys;
    std::vector<SequenceKey> hostKeys;

    Impl(Stream& stream, std::shared_ptr<Device> on, const TowerShape& shape,
         const EncoderOptions& given)
        : device(on),
          tower(shape),
          options(given),
          weights(stream, on, shape, given.compute),
          wanted(shape, {}, {})
    {
        makePass(stream);
        use(wanted);
    }

    void makePass(Stream& stream)
    {
        if (pass)
            return;
        pass.emplace(stream, device, tower, weights, options);
        pass->use(plan);
    }
    /// For the images of the chunk; what had another size goes first, as memory may be short.
    void makeRoom()
    {
        if (deterministic.isEmpty() || deterministic.extent(0) != images()) {
            prefix = {};
            features = keys = {};
            deterministic = Tensor::empty(device, {images(), tower.feature});
        }
        const bool fits = prefix.step == plan.firstStep() && prefix.pending.images == images();
        if (!options.sharesPrefix || !fits)
            prefix = {};
        if (options.sharesPrefix && !fits)
            prefix = pass->makePrefix(images());
    }
    Index images() const { return static_cast<Index>(maskIds.size()); }
    void use(const SitePlan& next)
    {
        plan = next;
        pass->use(plan);
    }
    void pack(Stream& stream, const std::function<bool()>& isStopped)
    {
        isPacked = weights.pack(stream, pass->rows(), pass->tailRows(), isStopped);
    }
    void checkPixels(const Tensor& given, std::span<const std::uint32_t> ids) const;
    std::vector<Site> probed(Stream& stream, const Tensor& whole, const std::vector<Site>& live,
                             std::uint64_t seed, const ProbeProgress& progress) const;
    /// Calls run(tile, row of the features) for `count` sequences, tile after tile, until it says
    /// no.
    template <class Run>
    void forTiles(Index count, const Run& run)
    {
        for (Index first = 0; first < count; first += pass->sequences()) {
            SequenceTile tile;
            tile.first = first;
            tile.count = std::min(pass->sequences(), count - first);
            tile.images = images();
            if (!run(tile, first * tower.feature))
                return;
        }
    }
    /// From the result of the product of step `first` on; −1: of everything.
    double flopAfter(int first) const
    {
        double sum = 0;
        for (int step = std::max(first, 0); step <= steps::last(tower); ++step) {
            if (step > first)
                sum += productFlop(tower, step, pass->isTail(step));
            if (isAttention(tower, step))
                sum += attentionFlop(tower, steps::blockOf(step));
        }
        return sum;
    }
};

void Encoder::Impl::checkPixels(const Tensor& given, std::span<const std::uint32_t> ids) const
{
    const Index side = tower.imageSize, count = static_cast<Index>(ids.size());
    const bool isNormalised = given.dtype() == DType::F32 || given.dtype() == DType::F16;
    const Shape fitting = isNormalised ? Shape{count, 3, side, side} : Shape{count, side, side, 3};
    if ((given.dtype() != DType::U8 && !isNormalised) || given.shape() != fitting || count == 0)
        throw ContractError(fmt::format("Encoder: pixels are {} {} but {} wants U8 [images, {}, "
                                        "{}, 3] and one mask id per image, at least one",
                                        nameOf(given.dtype()), toString(given.shape()), tower.key,
                                        side, side));
    expects(given.isContiguous(), "Encoder: pixels must be dense");
}

Encoder::Encoder(Stream& stream, std::shared_ptr<Device> device, const TowerShape& tower,
                 const EncoderOptions& options)
{
    expects(options.compute == DType::F32 || options.compute == DType::F16 ||
                options.compute == DType::BF16,
            "Encoder: products are computed in F32, F16 or BF16");
    expects(tower.width % kMaskBlock == 0 && tower.hidden % kMaskBlock == 0 &&
                tower.feature % kMaskBlock == 0 && tower.feature > 0,
            fmt::format("Encoder: the extents {}, {} and {} of {} must be multiples of 16",
                        tower.width, tower.hidden, tower.feature, tower.key));
    m_impl = std::make_unique<Impl>(stream, std::move(device), tower, options);
}

Encoder::~Encoder() = default;

const TowerShape& Encoder::tower() const
{
    return m_impl->tower;
}

ParameterSet& Encoder::parameters()
{
    return m_impl->weights.parameters();
}

void Encoder::refreshWeights(Stream& stream, const std::function<bool()>& isStopped)
{
    parameters().refreshShadows(stream);
    m_impl->pack(stream, isStopped);
}

void Encoder::setPerturbation(std::vector<Site> sites, const Perturbation& perturbation)
{
    m_impl->wanted = SitePlan(m_impl->tower, std::move(sites), perturbation);
}

const std::vector<Site>& Encoder::sites() const
{
    return m_impl->wanted.sites();
}

const Perturbation& Encoder::perturbation() const
{
    return m_impl->wanted.perturbation();
}

Index Encoder::sequencesPerTile() const
{
    return m_impl->pass->sequences();
}

void Encoder::begin(Stream& stream, const Tensor& pixels, std::span<const std::uint32_t> maskIds,
                    const std::function<bool()>& isStopped)
{
    Impl& own = *m_impl;
    own.checkPixels(pixels, maskIds);
    own.makePass(stream);
    if (!own.isPacked)
        own.pack(stream, isStopped);
    own.pixels = pixels;
    own.maskIds.assign(maskIds.begin(), maskIds.end());
    own.use(own.wanted);
    own.makeRoom();
    auto* features = static_cast<float*>(own.deterministic.data());
    own.forTiles(own.images(), [&](const SequenceTile& tile, Index at) {
        return own.pass->runImages(stream, tile, own.pixels, own.prefix, features + at, isStopped);
    });
}

const Tensor& Encoder::deterministic() const
{
    return m_impl->deterministic;
}

const Tensor& Encoder::run(Stream& stream, std::span<const PassId> passes,
                           const std::function<bool()>& isStopped)
{
    Impl& own = *m_impl;
    expects(own.images() > 0, "Encoder: run() before begin()");
    expects(!passes.empty(), "Encoder: run() wants at least one pass");
    const auto count = static_cast<Index>(passes.size()), sequences = count * own.images();
    if (own.features.isEmpty() || own.features.extent(0) != count ||
        own.features.extent(1) != own.images()) {
        own.features = own.keys = {};
        own.features = Tensor::empty(own.device, {count, own.images(), own.tower.feature});
        own.keys = Tensor::empty(own.device, {sequences, kKeyBytes}, DType::U8);
    }
    own.hostKeys.clear();
    for (const PassId pass : passes) {
        for (const std::uint32_t image : own.maskIds)
            own.hostKeys.push_back(sequenceKey(image, pass));
    }
    stream.copy(own.keys.data(), own.hostKeys.data(), own.keys.bytes());
    auto* features = static_cast<float*>(own.features.data());
    own.forTiles(sequences, [&](SequenceTile tile, Index at) {
        tile.keys = static_cast<const SequenceKey*>(own.keys.data()) + tile.first;
        return own.pass->runSequences(stream, tile, own.pixels, own.prefix, features + at,
                                      isStopped);
    });
    return own.features;
}

std::size_t Encoder::weightBytes() const
{
    const ParameterSet& all = m_impl->weights.parameters();
    return all.values().bytes() + all.shadows().bytes();
}

std::size_t Encoder::workspaceBytes(Index images, Index passes) const
{
    const Index features = images * (passes + 1) * m_impl->tower.feature;
    return m_impl->pass->bytes() + m_impl->pass->prefixBytes(images) +
           static_cast<std::size_t>(features) * sizeof(float) +
           static_cast<std::size_t>(images * passes * kKeyBytes);
}

double Encoder::prefixFlop() const
{
    return m_impl->flopAfter(-1);
}

double Encoder::passFlop() const
{
    return m_impl->flopAfter(m_impl->options.sharesPrefix ? m_impl->wanted.firstStep() : -1);
}

namespace {

/// The same tower on four patches; toy_linear has but one.
TowerShape probeTower(TowerShape tower)
{
    tower.imageSize = std::min(2, tower.grid()) * tower.patch;
    return tower;
}

/// A square from the middle of one picture, [1, ..] of any type of pixels.
Tensor middle(Stream& stream, const Tensor& pixels, Index side)
{
    const bool isBytes = pixels.dtype() == DType::U8; // channels innermost
    const Index whole = pixels.extent(2), planes = isBytes ? 1 : 3, first = (whole - side) / 2;
    const auto each = static_cast<std::size_t>(isBytes ? 3 : 1) * sizeOf(pixels.dtype());
    const Tensor part =
        Tensor::empty(pixels.device(), isBytes ? Shape{1, side, side, 3} : Shape{1, 3, side, side},
                      pixels.dtype());
    for (Index plane = 0; plane < planes; ++plane) {
        for (Index y = 0; y < side; ++y) {
            const auto from = static_cast<std::size_t>((plane * whole + first + y) * whole + first),
                       to = static_cast<std::size_t>((plane * side + y) * side);
            stream.copy(static_cast<std::byte*>(part.data()) + to * each,
                        static_cast<const std::byte*>(pixels.data()) + from * each,
                        static_cast<std::size_t>(side) * each);
        }
    }
    return part;
}

/// One branch for every one of `tried`, masked there alone with p = 0.5. All sites are in every
/// plan, so that all sequences go through the same kernels.
std::vector<TowerPass::Branch> probeBranches(const TowerShape& tower, const std::vector<Site>& all,
                                             const std::vector<Site>& tried, std::uint64_t seed)
{
    std::vector<TowerPass::Branch> branches;
    for (const Site& site : tried) {
        Perturbation probe;
        probe.p = 0;
        probe.rates = {{site.number, 0.5}};
        probe.seed = seed;
        branches.push_back({steps::ofSite(tower, site.number), SitePlan(tower, all, probe)});
    }
    return branches;
}

/// Those of `sites` whose numbers are among `wanted`.
std::vector<Site> chosenSites(std::vector<Site> sites, const std::vector<Site>& wanted)
{
    std::erase_if(sites, [&](const Site& site) {
        return std::ranges::find(wanted, site.number, &Site::number) == wanted.end();
    });
    return sites;
}

/// The live sites of an encoder on the tower of a probe, in the order of their steps.
std::vector<Site> probeSites(const TowerShape& tower, const std::vector<Site>& live)
{
    std::vector<Site> sites = chosenSites(allSites(tower), live);
    std::ranges::stable_sort(sites, {},
                             [&](const Site& site) { return steps::ofSite(tower, site.number); });
    return sites;
}

/// The tried sites whose features, one row each, are those of the row before all.
std::vector<Site> unchanged(const std::vector<Site>& tried, const std::vector<float>& features,
                            std::size_t size)
{
    std::vector<Site> same;
    for (std::size_t i = 0; i < tried.size(); ++i) {
        const auto row = features.begin() + static_cast<std::ptrdiff_t>((i + 1) * size);
        if (std::equal(row, row + static_cast<std::ptrdiff_t>(size), features.begin()))
            same.push_back(tried[i]);
    }
    return same;
}

} // namespace

/// The sites among `live` that change nothing. The tile of the study is not there meanwhile.
std::vector<Site> Encoder::Impl::probed(Stream& stream, const Tensor& whole,
                                        const std::vector<Site>& live, std::uint64_t seed,
                                        const ProbeProgress& progress) const
{
    const TowerShape small = probeTower(tower);
    const std::vector<Site> all = probeSites(small, live);
    const auto count = static_cast<Index>(all.size());
    EncoderOptions chosen = options;
    chosen.fixedRows = false; // branches come one after another
    TowerPass probe(stream, device, small, weights, chosen,
                    TowerPass::paddedBranches(small, count + 1));
    const SitePlan unmasked(small, all, Perturbation{.p = 0, .rates = {}, .seed = seed});
    probe.use(unmasked);
    const Tensor part = middle(stream, whole, small.imageSize),
                 rows = Tensor::empty(device, {count + 1, small.feature}),
                 drawn = Tensor::empty(device, {1, kKeyBytes}, DType::U8);
    std::vector<Site> dead = all;
    for (std::uint16_t t = 0; t < 2 && !dead.empty(); ++t) { // the second for what seems dead
        const SequenceKey key = sequenceKey(0, {0, t});
        stream.copy(drawn.data(), &key, drawn.bytes());
        const auto branches = probeBranches(small, all, dead, seed);
        const bool isWhole = probe.runBranches(
            stream, part, branches, static_cast<const SequenceKey*>(drawn.data()),
            static_cast<float*>(rows.data()), [&](std::size_t reached) {
                return !progress || progress(reached + all.size() - dead.size(), all.size());
            });
        if (!isWhole)
            return {};
        dead = unchanged(dead, rows.toHost<float>(stream), static_cast<std::size_t>(small.feature));
    }
    return dead;
}

std::vector<Site> deadSites(Stream& stream, Encoder& encoder, const Tensor& pixels,
                            const ProbeProgress& progress)
{
    Encoder::Impl& own = *encoder.m_impl;
    const std::uint32_t firstImage[] = {0};
    own.checkPixels(pixels, firstImage);
    own.makePass(stream);
    if (!own.isPacked)
        own.pack(stream, {});
    own.pass.reset();
    const std::vector<Site> sites = encoder.sites();
    const auto dead = own.probed(stream, pixels, sites, encoder.perturbation().seed, progress);
    own.makePass(stream);
    return chosenSites(sites, dead);
}

} // namespace vergence::mc_embedding
