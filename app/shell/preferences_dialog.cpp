#include "app/shell/preferences_dialog.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

namespace vergence {

namespace {

QComboBox* choice(const char* name, std::initializer_list<std::pair<QString, QString>> entries,
                  const QString& current, QWidget* parent)
{
    auto* box = new QComboBox(parent);
    box->setObjectName(name);
    for (const auto& [value, text] : entries)
        box->addItem(text, value);
    box->setCurrentIndex(std::max(0, box->findData(current)));
    return box;
}

} // namespace

PreferencesDialog::PreferencesDialog(StudioSettings& settings, QWidget* parent)
    : QDialog(parent),
      m_settings(settings)
{
    setObjectName("preferencesDialog");
    setWindowTitle(tr("Preferences"));
    setMinimumWidth(520);
    auto* column = new QVBoxLayout(this);
    auto* form = new QFormLayout;
    addAppearance(*form);
    addRuns(*form);
    addViewport(*form);
    column->addLayout(form);
    auto* note = new QLabel(
        tr("Changes apply at once. Settings are kept in %1.").arg(settings.folder()), this);
    note->setWordWrap(true);
    column->addWidget(note);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    column->addWidget(buttons);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::accept);
}

void PreferencesDialog::addAppearance(QFormLayout& form)
{
    auto* theme =
        choice("prefTheme",
               {{"system", tr("Follow the desktop")}, {"light", tr("Light")}, {"dark", tr("Dark")}},
               m_settings.theme(), this);
    auto* text = new QSpinBox(this);
    text->setObjectName("prefTextSize");
    text->setRange(90, 150);
    text->setSingleStep(10);
    text->setSuffix(tr(" %"));
    text->setValue(m_settings.textPercent());
    form.addRow(tr("&Theme"), theme);
    form.addRow(tr("Text &size"), text);
    connect(theme, &QComboBox::currentIndexChanged, this, [this, theme] {
        m_settings.setTheme(theme->currentData().toString());
        Q_EMIT appearanceChanged();
    });
    connect(text, &QSpinBox::valueChanged, this, [this](int percent) {
        m_settings.setTextPercent(percent);
        Q_EMIT appearanceChanged();
    });
}

void PreferencesDialog::addRuns(QFormLayout& form)
{
    auto* folder = new QLineEdit(m_settings.runsFolder(), this);
    folder->setObjectName("prefRunsFolder");
    auto* browse = new QPushButton(tr("Choose…"), this);
    browse->setAutoDefault(false);
    auto* row = new QHBoxLayout;
    row->addWidget(folder, 1);
    row->addWidget(browse);
    auto* seconds = new QSpinBox(this);
    seconds->setObjectName("prefCheckpoint");
    seconds->setRange(1, 86400);
    seconds->setSuffix(tr(" s"));
    seconds->setValue(m_settings.checkpointSeconds());
    seconds->setToolTip(tr("For runs that start from now on"));
    auto* label = new QLabel(tr("&Runs folder"), this);
    label->setBuddy(folder);
    form.addRow(label, row);
    form.addRow(tr("&Checkpoint every"), seconds);
    const auto apply = [this](const QString& path) {
        if (path.isEmpty() || path == m_settings.runsFolder())
            return;
        m_settings.setRunsFolder(path);
        Q_EMIT runsFolderChanged(path);
    };
    connect(folder, &QLineEdit::editingFinished, this,
            [folder, apply] { apply(folder->text().trimmed()); });
    connect(browse, &QPushButton::clicked, this, [this, folder, apply] {
        const QString path =
            QFileDialog::getExistingDirectory(this, tr("Folder for runs"), folder->text());
        if (path.isEmpty())
            return;
        folder->setText(path);
        apply(path);
    });
    connect(seconds, &QSpinBox::valueChanged, this,
            [this](int value) { m_settings.setCheckpointSeconds(value); });
}

void PreferencesDialog::addViewport(QFormLayout& form)
{
    auto* path = choice("prefPreview", {{"auto", tr("Automatic")}, {"shm", tr("Shared memory")}},
                        m_settings.previewPath(), this);
    path->setToolTip(tr("For views that are opened from now on. ") +
                     tr("How pictures come from the run into the view. Automatic uses GPU interop "
                        "where its probe succeeds."));
    form.addRow(tr("&Preview path"), path);
    connect(path, &QComboBox::currentIndexChanged, this, [this, path] {
        m_settings.setPreviewPath(path->currentData().toString());
        Q_EMIT previewPathChanged();
    });
}

} // namespace vergence
