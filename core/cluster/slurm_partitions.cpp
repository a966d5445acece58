#include "core/cluster/slurm_partitions.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "core/cluster/slurm_command.h"

namespace vergence::detail {

namespace {

struct Partitions {
    std::map<std::string, Partition> byName;
    std::string standard; ///< name of the default one; empty where there is none
};

/// From lines "all*|2|idle|64|1:00:00", one per kind of node; the star marks the default partition.
Partitions readPartitions(const std::string& output)
{
    Partitions partitions;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::string name, count, state, cores, time;
        for (std::string* field : {&name, &count, &state, &cores, &time})
            std::getline(fields, *field, '|');
        if (name.ends_with('*')) {
            name.pop_back();
            partitions.standard = name;
        }
        Partition& partition = partitions.byName[name];
        const int nodes = std::atoi(count.c_str());
        partition.name = name;
        partition.nodes += nodes;
        if (state == "idle")
            partition.idle += nodes;
        partition.cores = std::max(partition.cores, std::atoi(cores.c_str()));
        partition.time = time;
    }
    return partitions;
}

} // namespace

std::vector<Partition> partitionsOf(const Target& target)
{
    const Partitions all = readPartitions(
        askSlurm(target.login, {"sinfo", "-h", "-e", "-o", "%P|%D|%T|%c|%l"}).output);
    std::vector<Partition> wanted;
    std::istringstream names(target.partition.empty() ? all.standard : target.partition);
    for (std::string name; std::getline(names, name, ',');) {
        const auto found = all.byName.find(name);
        if (found != all.byName.end()) // sbatch names the known ones
            wanted.push_back(found->second);
    }
    return wanted;
}

} // namespace vergence::detail
