#include "app/forms/preset_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QToolButton>

#include "app/forms/form_combo.h"

namespace vergence {

PresetBar::PresetBar(QWidget* parent)
    : QWidget(parent),
      m_combo(new FormCombo(this)),
      m_modified(new QLabel(tr("modified"), this)),
      m_menu(new QToolButton(this))
{
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    auto* label = new QLabel(tr("Preset"), this);
    label->setBuddy(m_combo);
    row->addWidget(label);
    row->addWidget(m_combo, 1);
    row->addWidget(m_modified);
    row->addWidget(m_menu);

    m_combo->setObjectName(QStringLiteral("presetCombo"));
    m_combo->setAccessibleName(tr("Preset"));
    m_combo->setFocusPolicy(Qt::StrongFocus);
    m_combo->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_combo->setMinimumContentsLength(10);
    m_modified->setObjectName(QStringLiteral("presetModified"));
    m_modified->setToolTip(tr("Settings differ from the preset"));
    m_modified->hide();
    m_menu->setObjectName(QStringLiteral("presetMenu"));
    m_menu->setText(tr("More"));
    m_menu->setAccessibleName(tr("More about this configuration"));
    m_menu->setFocusPolicy(Qt::StrongFocus);
    m_menu->setPopupMode(QToolButton::InstantPopup);
    connect(m_combo, &QComboBox::activated, this,
            [this](int index) { Q_EMIT chosen(m_combo->itemData(index).toString()); });
    makeMenu();
}

void PresetBar::makeMenu()
{
    auto* menu = new QMenu(m_menu);
    m_menu->setMenu(menu);
    const auto add = [&](const char* name, const QString& text, void (PresetBar::*signal)()) {
        QAction* action = menu->addAction(text, this, signal);
        action->setObjectName(QString::fromLatin1(name));
        return action;
    };
    add("savePreset", tr("Save preset as…"), &PresetBar::saveRequested);
    m_changing.push_back(
        add("resetToPreset", tr("Back to the preset"), &PresetBar::resetRequested));
    menu->addSeparator();
    add("comparePreset", tr("Compare with the preset…"), &PresetBar::compareWithPresetRequested);
    add("compareDefault", tr("Compare with the defaults…"),
        &PresetBar::compareWithDefaultRequested);
    add("compareRun", tr("Compare with a run…"), &PresetBar::compareWithRunRequested);
    menu->addSeparator();
    m_changing.push_back(add("importToml", tr("Import TOML…"), &PresetBar::importRequested));
    add("exportToml", tr("Export TOML…"), &PresetBar::exportRequested);
    add("copyCommand", tr("Copy as command line"), &PresetBar::copyCommandRequested);
    add("showToml", tr("Show as TOML…"), &PresetBar::showTomlRequested);
}

void PresetBar::setPresets(const std::vector<FormPreset>& presets)
{
    const QSignalBlocker quiet(m_combo);
    m_combo->clear();
    m_combo->addItem(tr("Defaults"), QString());
    m_combo->setItemData(0, tr("Every setting as the lab ships it"), Qt::ToolTipRole);
    bool hasUserPart = false;
    for (const FormPreset& preset : presets) {
        if (preset.isUserPreset && !hasUserPart)
            m_combo->insertSeparator(m_combo->count());
        hasUserPart = hasUserPart || preset.isUserPreset;
        m_combo->addItem(preset.title.isEmpty() ? preset.name : preset.title, preset.name);
        m_combo->setItemData(m_combo->count() - 1, preset.summary, Qt::ToolTipRole);
    }
}

void PresetBar::setCurrent(const QString& name, bool isModified)
{
    const QSignalBlocker quiet(m_combo);
    const int index = m_combo->findData(name);
    m_combo->setCurrentIndex(index < 0 ? 0 : index);
    m_combo->setToolTip(m_combo->currentData(Qt::ToolTipRole).toString());
    m_modified->setVisible(isModified);
}

void PresetBar::setFrozen(bool frozen)
{
    m_combo->setEnabled(!frozen);
    for (QAction* action : m_changing)
        action->setEnabled(!frozen);
}

QString PresetBar::titleOf(const QString& name) const
{
    const int index = m_combo->findData(name);
    return index < 0 ? name : m_combo->itemText(index);
}

} // namespace vergence
