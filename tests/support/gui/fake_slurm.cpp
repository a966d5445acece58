#include "tests/support/gui/fake_slurm.h"

#include <csignal>

#include <QDir>
#include <QFile>

namespace vergence::test {

namespace {

// Each begins in the folder of the fake: `queue/JOB` holds the state of a job, `ended/JOB` its end.

constexpr const char* kSbatch = R"sh(
script=$(cat)
if [ -e refusal ]; then cat refusal >&2; exit 1; fi
[ "$1" = --test-only ] && exit 0
array=$(sed -n 's/^#SBATCH --array=0-\([0-9]*\).*/\1/p' <<<"$script")
echo "$array" >> arrays
job=$(wc -l < arrays)
put() { # JOB STATE, at once
    printf '%s' $2 > processes/new-$1
    mv processes/new-$1 queue/$1
}
begin() { # NAME: of a job or a task
    put $1 PENDING
    (
        trap '' HUP
        while true; do
            until [ -e go ]; do sleep 0.05; [ -e queue/$1 ] || exit; done
            put $1 RUNNING
            bash -c "$script" bash >/dev/null 2>&1 &
            echo $! > processes/$1
            wait $!
            [ -e processes/again-$1 ] || break
            rm -f processes/again-$1 go
            put $1 PENDING
        done
        echo COMPLETED > ended/$1
        rm -f queue/$1
    ) >/dev/null 2>&1 &
}
export SLURM_JOB_ID=$job
if [ -z "$array" ]; then
    begin $job
else
    export SLURM_ARRAY_JOB_ID=$job SLURM_ARRAY_TASK_ID
    for SLURM_ARRAY_TASK_ID in $(seq 0 $array); do begin ${job}_$SLURM_ARRAY_TASK_ID; done
fi
echo $job
)sh";

constexpr const char* kSqueue = R"sh(
if [ -e silence ]; then
    echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2
    exit 1
fi
cd queue
for job in *; do
    state=$(cat $job 2>/dev/null) || continue
    case $state in
    PENDING) echo "$job|PENDING||$(cat ../reason)" ;;
    *) echo "$job|$state|n1|None" ;;
    esac
done
)sh";

constexpr const char* kScancel = R"sh(
for job in "$@"; do
    [ -e queue/$job ] || continue
    if [ "$(cat queue/$job)" = PENDING ]; then
        echo CANCELLED > ended/$job
        rm queue/$job
    else
        kill -TERM $(cat processes/$job)
    fi
done
)sh";

constexpr const char* kScontrol = R"sh(
if [ "$1" = requeue ]; then
    touch processes/again-$2
    exit
fi
for job in ended/${!#} ended/${!#}_*; do
    [ -e $job ] || continue
    name=${job#ended/}
    case $name in *_*) task=" ArrayJobId=${name%_*} ArrayTaskId=${name#*_}" ;; *) task= ;; esac
    echo "JobId=${name%_*}$task JobState=$(cat $job) Reason=None ExitCode=1:0 NodeList=(null)"
done
)sh";

constexpr const char* kSinfo = R"sh(
case "$*" in
*--version*) echo 'slurm 99.1.2' ;;
*'%P'*) echo 'all*|2|idle' ;;
*) echo all ;;
esac
)sh";

constexpr const char* kSrun = R"sh(
echo 'srun: error: Unable to allocate resources: no node is free' >&2
exit 1
)sh";

} // namespace

FakeSlurm::FakeSlurm()
    : m_path("PATH", QFile::encodeName(m_folder.filePath("bin")) + ':' + qgetenv("PATH"))
{
    for (const char* name : {"bin", "queue", "ended", "processes"})
        QDir(m_folder.path()).mkdir(name);
    setReason("Priority");
    const QByteArray head = "#!/bin/bash\ncd " + QFile::encodeName(m_folder.path()) + "\n";
    const std::pair<const char*, const char*> programs[] = {
        {"sbatch", kSbatch}, {"squeue", kSqueue}, {"scancel", kScancel}, {"scontrol", kScontrol},
        {"sinfo", kSinfo},   {"srun", kSrun},     {"sacct", "exit 1\n"}};
    for (const auto& [name, text] : programs) {
        const QString file = QString("bin/") + name;
        write(file, head + text);
        QFile::setPermissions(path(file), QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    }
}

FakeSlurm::~FakeSlurm()
{
    drop("*", "CANCELLED");
}

void FakeSlurm::letBegin() const
{
    write("go", {});
}

void FakeSlurm::hold() const
{
    QFile::remove(path("go"));
}

void FakeSlurm::setReason(const QByteArray& reason) const
{
    write("reason", reason);
}

void FakeSlurm::refuse(const QByteArray& words) const
{
    writeOrRemove("refusal", words);
}

void FakeSlurm::setSilent(bool silent) const
{
    writeOrRemove("silence", silent ? "1" : "");
}

void FakeSlurm::drop(const QString& job, const QByteArray& state) const
{
    for (const QString& name : QDir(path("queue")).entryList({job}, QDir::Files)) {
        write("ended/" + name, state);
        QFile::remove(path("queue/" + name));
    }
}

void FakeSlurm::endTime(const QString& job) const
{
    QFile file(path("processes/" + job));
    if (!file.open(QIODevice::ReadOnly))
        qFatal("The job %s does not run.", qPrintable(job));
    ::kill(file.readAll().trimmed().toInt(), SIGUSR1);
}

QStringList FakeSlurm::queued() const
{
    return QDir(path("queue")).entryList(QDir::Files);
}

QStringList FakeSlurm::arrays() const
{
    QFile file(path("arrays"));
    if (!file.open(QIODevice::ReadOnly))
        return {};
    QStringList lines = QString::fromUtf8(file.readAll()).split('\n');
    lines.removeLast();
    return lines;
}

void FakeSlurm::write(const QString& name, const QByteArray& text) const
{
    QFile file(path(name));
    if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size())
        qFatal("%s cannot be written.", qPrintable(file.fileName()));
}

void FakeSlurm::writeOrRemove(const QString& name, const QByteArray& text) const
{
    if (text.isEmpty())
        QFile::remove(path(name));
    else
        write(name, text);
}

} // namespace vergence::test
