#include "app/shell/target_choice.h"

#include "core/cluster/target.h"

namespace vergence {

namespace {

constexpr int kLeastCharacters = 9;

} // namespace

TargetChoice::TargetChoice(QWidget* parent) : FormCombo(parent)
{
    setObjectName("targetChoice");
    setAccessibleName(tr("Where the run works"));
    setLeastCharacters(kLeastCharacters);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(this, &QComboBox::activated, this, &TargetChoice::take);
    fill();
}

void TargetChoice::choose(const QString& target)
{
    const QString before = m_target;
    m_target = target;
    fill();
    if (m_target != before)
        Q_EMIT targetChosen(m_target);
}

void TargetChoice::reload()
{
    choose(m_target);
}

void TargetChoice::fill()
{
    const QSignalBlocker quiet(this);
    clear();
    addItem(tr("This computer"), QString());
    for (const std::string& name : targetNames())
        addItem(QString::fromStdString(name), QString::fromStdString(name));
    insertSeparator(count());
    addItem(tr("Targets…"));
    const int index = m_target.isEmpty() ? 0 : findData(m_target);
    if (index < 0)
        m_target.clear();
    setCurrentIndex(std::max(0, index));
    setToolTip(m_target.isEmpty()
                   ? tr("Where the run works: here, in the queue of a cluster, or on a computer "
                        "that ssh reaches")
                   : tr("Runs go to the target “%1”.").arg(m_target));
}

void TargetChoice::showPopup()
{
    reload();
    FormCombo::showPopup();
}

void TargetChoice::take(int index)
{
    const bool isTarget = itemData(index).isValid();
    if (!isTarget)
        Q_EMIT targetsRequested();
    choose(isTarget ? itemData(index).toString() : m_target);
}

} // namespace vergence
