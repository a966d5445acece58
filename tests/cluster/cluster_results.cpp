#include "tests/cluster/cluster_results.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "core/artifact/checkpoint.h"
#include "core/base/file.h"
#include "tests/support/run_bench.h"
#include "tests/support/scratch.h"

namespace vergence::test {

namespace {

namespace fs = std::filesystem;

/// Bytes, or steps and bits of values, by what they belong to.
using Contents = std::map<QString, std::string>;

bool tellsOfTime(const std::string& series)
{
    return series.ends_with("_per_s") || series.ends_with("_ms") || series.starts_with("fps");
}

void addSeries(Contents& contents, const RunFolder& run)
{
    const MetricStore store = MetricStore::fromCsv(readFile(run.metrics()), "metrics.csv");
    for (const auto& [name, values] : timelessNumbers(run)) {
        if (tellsOfTime(name))
            continue;
        std::string& points = contents["series " + QString::fromStdString(name)];
        for (std::size_t i = 0; i < values.size(); ++i)
            points += std::to_string(store.find(name)->steps()[i]) + ' ' +
                      std::to_string(std::bit_cast<std::uint64_t>(values[i])) + '\n';
    }
}

void addTensors(Contents& contents, const RunFolder& run)
{
    const auto checkpoints = listCheckpoints(run);
    if (checkpoints.empty())
        return;
    for (const HostTensor& tensor : loadCheckpoint(checkpoints.back()).tensors)
        contents["tensor " + QString::fromStdString(tensor.name)] =
            std::string(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
}

void addArtifacts(Contents& contents, const RunFolder& run)
{
    for (const std::string& name : contentOf(run.artifacts())) {
        if (fs::is_regular_file(run.artifacts() / name))
            contents[QString::fromStdString(name)] = readFile(run.artifacts() / name);
    }
}

/// Nothing of a run that did not come so far.
Contents contentsOf(const RunFolder& run)
{
    Contents contents;
    if (!fs::exists(run.metrics()))
        return contents;
    addSeries(contents, run);
    addTensors(contents, run);
    addArtifacts(contents, run);
    return contents;
}

} // namespace

QString differences(const RunFolder& run, const RunFolder& twin, const QStringList& exceptions)
{
    Contents contents = contentsOf(run), others = contentsOf(twin);
    if (contents.empty() || others.empty())
        return "everything, for a run has no results";
    std::set<QString> names;
    for (const Contents* each : {&contents, &others}) {
        for (const auto& [name, content] : *each)
            names.insert(name);
    }
    QStringList different;
    for (const QString& name : names) {
        const bool mayDiffer = std::ranges::any_of(
            exceptions, [&name](const QString& exception) { return name.startsWith(exception); });
        const auto one = contents.find(name), other = others.find(name);
        const bool isSame = one != contents.end() && other != others.end() && *one == *other;
        if (!isSame && !mayDiffer)
            different << name;
    }
    return different.join(", ");
}

QString repeatedLines(const RunFolder& run)
{
    QStringList repeated;
    std::set<QString> seen;
    const QString text = QString::fromStdString(readFile(run.metrics()));
    for (const QString& line : text.split('\n', Qt::SkipEmptyParts)) { // step,wall_s,name,value
        const QString name = line.section(',', 2, 2);
        const bool isTimed = name.startsWith("system/");
        if (!isTimed && !seen.insert(line.section(',', 0, 0) + ' ' + name).second)
            repeated << line;
    }
    return repeated.join('\n');
}

} // namespace vergence::test
