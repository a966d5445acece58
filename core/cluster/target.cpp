#include "core/cluster/target.h"

#include "core/cluster/target_rules.h"

namespace vergence {

namespace {

using TargetBuilder = SchemaBuilder<Target>;

constexpr const char* kOfSlurm = "scheduler=slurm";

void addPlace(TargetBuilder& schema)
{
    schema.group("place");
    schema.add("scheduler", &Target::scheduler)
        .title("Scheduler")
        .help("Who decides when a run works: the queue of Slurm, or the lanes of a computer that "
              "is reached by ssh.");
    schema.add("login", &Target::login)
        .title("Login")
        .help("Computer that starts runs, as ssh takes it, for instance user@login or a Host of "
              "~/.ssh/config: one with Slurm's commands, or the one with the lanes. It must be "
              "reached without a password. Empty: this computer.");
    schema.add("disk", &Target::disk)
        .title("Disk")
        .help("shared: run folders, data and program have the same path here and there. own: the "
              "target has a disk of its own; runs are copied there, and what is shown here follows "
              "them.");
    schema.add("folder", &Target::folder)
        .type(FieldType::Path)
        .title("Runs folder")
        .help("Where new run folders are made, as the target sees it. Empty: this computer's runs "
              "folder; with a disk of its own, `vergence/runs` of the home there.");
    schema.add("program", &Target::vergence)
        .type(FieldType::Path)
        .title("Program")
        .help("The command line program `vergence` there. Empty: the path that it has on this "
              "computer; with a disk of its own, what `vergence targets install` put there.");
    schema.add("lanes", &Target::lanes)
        .visibleIf("scheduler=lanes")
        .title("Lanes")
        .help("Device of each lane: a run works on each at a time, and further ones wait for "
              "their turn. cpu, cuda:0, or the UUID of a GPU; a device may have several. Empty: "
              "one lane, on the device that the lab takes. For the scheduler lanes.");
}

void addQueue(TargetBuilder& schema)
{
    schema.group("queue");
    schema.add("partition", &Target::partition)
        .visibleIf(kOfSlurm)
        .title("Partition")
        .help("Partition of the cluster, or several with commas between them. Empty: its default.");
    schema.add("account", &Target::account)
        .visibleIf(kOfSlurm)
        .title("Account")
        .help("Account that the time is charged to. Empty: your default.");
    schema.add("qos", &Target::qos)
        .visibleIf(kOfSlurm)
        .title("Quality of service")
        .help("Quality of service of the jobs. Empty: your default.")
        .advanced();
    schema.add("constraint", &Target::constraint)
        .visibleIf(kOfSlurm)
        .title("Constraint")
        .help("Features that the nodes must have, as --constraint of sbatch takes them. Empty: "
              "none.")
        .advanced();
    schema.add("time", &Target::time)
        .visibleIf(kOfSlurm)
        .title("Time")
        .help("Longest time of one job: minutes, or hours:minutes:seconds, like 4:00:00. A run "
              "that needs longer saves and goes back into the queue. Empty: the partition's "
              "default.");
    schema.add("grace", &Target::grace)
        .visibleIf(kOfSlurm)
        .range(5, 65535)
        .unit("s")
        .title("Grace")
        .help("How long before the end of its time a job saves and goes back into the queue.")
        .advanced();
    schema.add("at_once", &Target::atOnce)
        .visibleIf(kOfSlurm)
        .range(0, 10'000)
        .title("At once")
        .help("Runs of one submission that may work at a time. 0: as many as the cluster allows.");
}

void addResources(TargetBuilder& schema)
{
    schema.group("resources");
    schema.add("gpus", &Target::gpus)
        .visibleIf(kOfSlurm)
        .title("GPUs")
        .help("GPUs of one job, as --gres of sbatch takes them: gpu:1, or gpu:a100:1 for a model. "
              "Empty: none.");
    schema.add("cores", &Target::cores)
        .visibleIf(kOfSlurm)
        .range(0, 4096)
        .title("Cores")
        .help("CPU cores of one job. 0: the cluster's default.");
    schema.add("memory", &Target::memory)
        .visibleIf(kOfSlurm)
        .title("Memory")
        .help("Memory of one job, a number and its unit, like 16G. Empty: the cluster's default.");
    schema.add("extra", &Target::extra)
        .visibleIf(kOfSlurm)
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
