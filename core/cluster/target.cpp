#include "core/cluster/target.h"

#include "core/cluster/target_rules.h"

namespace vergence {

namespace {

using TargetBuilder = SchemaBuilder<Target>;

void addPlace(TargetBuilder& schema)
{
    schema.group("place");
    schema.add("login", &Target::login)
        .title("Login")
        .help("Computer with Slurm's commands, as ssh takes it, for instance user@login or a Host "
              "of ~/.ssh/config; it must be reached without a password. Empty: they are on this "
              "computer.");
    schema.add("folder", &Target::folder)
        .type(FieldType::Path)
        .title("Runs folder")
        .help("Where new run folders are made: on a disk that this computer and the nodes see "
              "under the same path. Empty: this computer's runs folder.");
    schema.add("program", &Target::vergence)
        .type(FieldType::Path)
        .title("Program")
        .help("The command line program `vergence` on the nodes. Empty: the path that it has on "
              "this computer.");
}

void addQueue(TargetBuilder& schema)
{
    schema.group("queue");
    schema.add("partition", &Target::partition)
        .title("Partition")
        .help("Partition of the cluster, or several with commas between them. Empty: its default.");
    schema.add("account", &Target::account)
        .title("Account")
        .help("Account that the time is charged to. Empty: your default.");
    schema.add("qos", &Target::qos)
        .title("Quality of service")
        .help("Quality of service of the jobs. Empty: your default.")
        .advanced();
    schema.add("constraint", &Target::constraint)
        .title("Constraint")
        .help("Features that the nodes must have, as --constraint of sbatch takes them. Empty: "
              "none.")
        .advanced();
    schema.add("time", &Target::time)
        .title("Time")
        .help("Longest time of one job: minutes, or hours:minutes:seconds, like 4:00:00. A run "
              "that needs longer saves and goes back into the queue. Empty: the partition's "
              "default.");
    schema.add("grace", &Target::grace)
        .range(5, 65535)
        .unit("s")
        .title("Grace")
        .help("How long before the end of its time a job saves and goes back into the queue.")
        .advanced();
    schema.add("at_once", &Target::atOnce)
        .range(0, 10'000)
        .title("At once")
        .help("Runs of one submission that may work at a time. 0: as many as the cluster allows.");
}

void addResources(TargetBuilder& schema)
{
    schema.group("resources");
    schema.add("gpus", &Target::gpus)
        .title("GPUs")
        .help("GPUs of one job, as --gres of sbatch takes them: gpu:1, or gpu:a100:1 for a model. "
              "Empty: none.");
    schema.add("cores", &Target::cores)
        .range(0, 4096)
        .title("Cores")
        .help("CPU cores of one job. 0: the cluster's default.");
    schema.add("memory", &Target::memory)
        .title("Memory")
        .help("Memory of one job, a number and its unit, like 16G. Empty: the cluster's default.");
    schema.add("extra", &Target::extra)
        .title("Further options")
        .help("Further options of sbatch, each as one text: \"--exclusive\", "
              "\"--mail-type=END\".")
        .advanced();
}

const TargetBuilder& builder()
{
    static const TargetBuilder schema = [] {
        TargetBuilder made("target");
        addPlace(made);
        addQueue(made);
        addResources(made);
        made.rule("slurm", &detail::targetIssues);
        return made;
    }();
    return schema;
}

} // namespace

const ConfigSchema& targetSchema()
{
    static const ConfigSchema schema = builder().build();
    return schema;
}

Target targetFrom(const std::string& name, const Config& config)
{
    Target target = builder().read(config);
    target.name = name;
    return target;
}

} // namespace vergence
