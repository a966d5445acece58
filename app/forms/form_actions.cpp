// What the menu beside the preset does.

#include <QClipboard>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QFontDatabase>
#include <QGuiApplication>
#include <QInputDialog>
#include <QPlainTextEdit>
#include <QVBoxLayout>

#include "app/forms/diff_dialog.h"
#include "app/forms/form_impl.h"
#include "app/forms/preset_bar.h"
#include "core/base/file.h"
#include "core/base/shell_word.h"

namespace vergence {
namespace {

ConfigIssue fileIssue(const std::string& rule, const std::string& sentence)
{
    ConfigIssue issue;
    issue.rule = rule;
    issue.severity = IssueSeverity::Warning;
    issue.sentence = sentence;
    return issue;
}

QFileDialog* openDialog(ConfigForm* form, const QString& title)
{
    auto* dialog = new QFileDialog(form, title);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setNameFilters({ConfigForm::tr("TOML (*.toml)"), ConfigForm::tr("All files (*)")});
    dialog->setDefaultSuffix(QStringLiteral("toml"));
    return dialog;
}

QString quoted(const QString& word)
{
    return QString::fromStdString(shellWord(word.toStdString()));
}

} // namespace

void ConfigForm::Impl::connectPresetBar()
{
    QObject::connect(bar, &PresetBar::chosen, form, [this](const QString& name) {
        form->applyPreset(name);
        Q_EMIT form->presetChosen(name);
    });
    QObject::connect(bar, &PresetBar::resetRequested, form, [this] { form->applyPreset(preset); });
    QObject::connect(bar, &PresetBar::saveRequested, form, [this] { savePreset(); });
    QObject::connect(bar, &PresetBar::compareWithPresetRequested, form, [this] {
        if (presetConfig)
            compare(*presetConfig, bar->titleOf(preset));
    });
    QObject::connect(bar, &PresetBar::compareWithDefaultRequested, form, [this] {
        if (const auto defaults = draft.read({}, {}).config)
            compare(*defaults, tr("Defaults"));
    });
    QObject::connect(bar, &PresetBar::compareWithRunRequested, form, &ConfigForm::compareRequested);
    QObject::connect(bar, &PresetBar::importRequested, form, [this] { importToml(); });
    QObject::connect(bar, &PresetBar::exportRequested, form, [this] { exportToml(); });
    QObject::connect(bar, &PresetBar::copyCommandRequested, form, [this] { copyCommand(); });
    QObject::connect(bar, &PresetBar::showTomlRequested, form, [this] { showToml(); });
}

void ConfigForm::Impl::savePreset()
{
    commitFocused();
    auto* dialog = new QInputDialog(form);
    dialog->setObjectName(QStringLiteral("savePresetDialog"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Save preset"));
    dialog->setLabelText(tr("Name of the preset:"));
    dialog->setTextValue(isShipped() ? ownPresetName(preset) : preset);
    QObject::connect(dialog, &QInputDialog::textValueSelected, form, [this](const QString& name) {
        if (!name.trimmed().isEmpty())
            Q_EMIT form->savePresetRequested(name.trimmed(), QString::fromStdString(form->toml()));
    });
    dialog->show();
}

void ConfigForm::Impl::compare(const Config& other, const QString& title)
{
    commitFocused();
    auto* dialog = new DiffDialog(tr("This draft"), title, form);
    const auto fill = [this, other](DiffDialog* target) {
        target->setRows(difference(draft.config(), other));
    };
    fill(dialog);
    QObject::connect(form, &ConfigForm::edited, dialog, [dialog, fill] { fill(dialog); });
    QObject::connect(dialog, &DiffDialog::copyLeftRequested, form,
                     [this, other, title](const QStringList& keys) {
                         DraftChange after{{}, preset};
                         for (const QString& key : keys) {
                             const Field* field = draft.schema().find(key.toStdString());
                             if (field != nullptr && !(isFrozen && !field->isLive))
                                 after.fields[field->key] = {other.value(field->key), {}, {}};
                         }
                         if (!after.fields.empty())
                             change(tr("Copy from %1").arg(title), std::move(after));
                     });
    dialog->show();
}

void ConfigForm::Impl::importToml()
{
    QFileDialog* dialog = openDialog(form, tr("Import TOML"));
    dialog->setFileMode(QFileDialog::ExistingFile);
    QObject::connect(dialog, &QFileDialog::fileSelected, form, &ConfigForm::importRequested);
    dialog->show();
}

void ConfigForm::Impl::exportToml()
{
    commitFocused();
    QFileDialog* dialog = openDialog(form, tr("Export TOML"));
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    QObject::connect(dialog, &QFileDialog::fileSelected, form, [this](const QString& path) {
        try {
            writeFileAtomic(path.toStdString(), std::string_view(form->toml()));
        } catch (const Error& error) {
            loadIssues = {fileIssue("export", error.what())};
            refreshIssues();
        }
    });
    dialog->show();
}

void ConfigForm::Impl::copyCommand()
{
    commitFocused();
    const FormPreset* found = findPreset(preset);
    const bool isFile = found != nullptr && !found->file.isEmpty();
    QString line = QStringLiteral("vergence run ") +
                   quoted(isFile ? found->file : QString::fromStdString(draft.schema().id()));
    if (isShipped())
        line += QStringLiteral(" --preset ") + quoted(preset);
    const auto defaults = draft.read({}, {}).config;
    const bool isBare = !isFile && !isShipped() && defaults; // a preset that nobody else knows
    for (const QString& flag : isBare ? flagsAgainst(*defaults) : form->flags())
        line += QStringLiteral(" --set ") + quoted(flag);
    QGuiApplication::clipboard()->setText(line);
}

void ConfigForm::Impl::showToml()
{
    commitFocused();
    auto* dialog = new QDialog(form);
    dialog->setObjectName(QStringLiteral("configToml"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Configuration as TOML"));
    dialog->resize(560, 600);
    auto* column = new QVBoxLayout(dialog);
    auto* text = new QPlainTextEdit(QString::fromStdString(form->toml()), dialog);
    text->setReadOnly(true);
    text->setAccessibleName(dialog->windowTitle());
    text->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    text->setLineWrapMode(QPlainTextEdit::NoWrap);
    column->addWidget(text);
    dialog->show();
}

} // namespace vergence
