#include "app/shell/targets_dialog.h"

#include <algorithm>
#include <initializer_list>

#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QMessageBox>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

#include <nlohmann/json.hpp>

#include "app/forms/plain_form.h"
#include "app/style/icons.h"
#include "app/style/theme.h"
#include "app/shell/worker_commands.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/cluster/target.h"

namespace vergence {

namespace {

std::filesystem::path fileOf(const QString& target)
{
    return targetsFolder() / (target.toStdString() + ".toml");
}

bool exists(const QString& target)
{
    const auto names = targetNames();
    return std::ranges::find(names, target.toStdString()) != names.end();
}

/// "target", "target-2", …: one that is not taken.
QString freeName()
{
    const QString first = QStringLiteral("target");
    QString name = first;
    for (int number = 2; exists(name); ++number)
        name = QString("%1-%2").arg(first).arg(number);
    return name;
}

} // namespace

TargetsDialog::TargetsDialog(QString executable, const QString& chosen, QWidget* parent)
    : QDialog(parent),
      m_executable(std::move(executable))
{
    setObjectName("targetsDialog");
    setWindowTitle(tr("Targets"));
    resize(820, 600);
    auto* row = new QHBoxLayout;
    row->addWidget(makeNames());
    m_empty = new QLabel(tr("No targets yet. A target says where runs may work: in the queue of a "
                            "Slurm cluster, or on a computer that ssh reaches. “New” makes one."),
                         this);
    m_empty->setWordWrap(true);
    m_empty->setAlignment(Qt::AlignCenter);
    row->addWidget(m_empty, 1);
    m_settings = makeSettings();
    row->addWidget(m_settings, 1);
    auto* column = new QVBoxLayout(this);
    column->addLayout(row, 1);
    column->addWidget(makeButtons());
    fill(chosen);
}

TargetsDialog::~TargetsDialog()
{
    m_form->disconnect(this); // a line commits when it loses the focus
}

QWidget* TargetsDialog::makeNames()
{
    m_names = new QListWidget(this);
    m_names->setFixedWidth(210);
    m_names->setObjectName("targetNames");
    m_names->setAccessibleName(tr("Targets"));
    m_names->setEditTriggers(QAbstractItemView::EditKeyPressed | QAbstractItemView::DoubleClicked);
    connect(m_names, &QListWidget::currentItemChanged, this, &TargetsDialog::choose);
    connect(m_names, &QListWidget::itemChanged, this, [this](QListWidgetItem* item) {
        const QString wanted = item->text().trimmed(); // its editor is still open
        QMetaObject::invokeMethod(
            this, [this, wanted] { rename(wanted); }, Qt::QueuedConnection);
    });
    return m_names;
}

QWidget* TargetsDialog::makeSettings()
{
    auto* side = new QWidget(this);
    auto* column = new QVBoxLayout(side);
    column->setContentsMargins(0, 0, 0, 0);
    m_form = new PlainForm(targetSchema(), "target");
    auto* scroll = new QScrollArea(side);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->setWidget(m_form);
    column->addWidget(scroll, 1);
    m_lines = new QListWidget(side);
    m_lines->setObjectName("targetLines");
    m_lines->setAccessibleName(tr("What the try found, or the installation did"));
    m_lines->setWordWrap(true);
    m_lines->setIconSize({16, 16});
    m_lines->setSelectionMode(QAbstractItemView::NoSelection);
    m_lines->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_lines->setFixedHeight(8 * fontMetrics().lineSpacing());
    column->addWidget(m_lines);
    m_note = new QLabel(side);
    m_note->setObjectName("targetNote");
    m_note->setWordWrap(true);
    column->addWidget(m_note);
    connect(m_form, &PlainForm::edited, this, [this] {
        m_isChanged = true;
        refresh();
    });
    return side;
}

QWidget* TargetsDialog::makeButtons()
{
    auto* box = new QWidget(this);
    auto* row = new QHBoxLayout(box);
    row->setContentsMargins(0, 0, 0, 0);
    const auto add = [&](const QString& text, const char* name, auto slot) {
        auto* button = new QPushButton(text, box);
        button->setObjectName(name);
        button->setAutoDefault(false);
        row->addWidget(button);
        connect(button, &QPushButton::clicked, this, slot);
        return button;
    };
    add(tr("New"), "targetNew", &TargetsDialog::makeNew);
    m_rename =
        add(tr("Rename"), "targetRename", [this] { m_names->editItem(m_names->currentItem()); });
    m_remove = add(tr("Delete"), "targetDelete", &TargetsDialog::remove);
    row->addStretch();
    m_install = add(tr("Install"), "targetInstall", &TargetsDialog::install);
    m_install->setToolTip(tr("Put this studio, without its window, on the disk of the target"));
    m_try = add(tr("Try"), "targetTry", &TargetsDialog::tryOut);
    m_save = add(tr("Save"), "targetSave", &TargetsDialog::save);
    add(tr("Close"), "targetClose", &QDialog::accept);
    return box;
}

void TargetsDialog::fill(const QString& chosen)
{
    const QSignalBlocker quiet(m_names);
    m_names->clear();
    for (const std::string& name : targetNames()) {
        auto* item = new QListWidgetItem(QString::fromStdString(name), m_names);
        item->setFlags(item->flags() | Qt::ItemIsEditable);
        if (item->text() == chosen)
            m_names->setCurrentItem(item);
    }
    if (m_names->currentItem() == nullptr && m_names->count() > 0)
        m_names->setCurrentRow(0);
    load();
}

void TargetsDialog::choose(QListWidgetItem* item)
{
    if (item != nullptr && item->text() == m_name)
        return;
    if (leave())
        load();
    else
        fill(m_name);
}

void TargetsDialog::load()
{
    endTry();
    m_lines->clear();
    const QListWidgetItem* item = m_names->currentItem();
    m_name = item == nullptr ? QString() : item->text();
    m_isChanged = false;
    say({}, false);
    if (item != nullptr) {
        try {
            const auto issues =
                m_form->loadToml(readFile(fileOf(m_name)), fileOf(m_name).filename().string());
            if (hasErrors(issues))
                say(QString::fromStdString(issues.front().text()), true);
        } catch (const Error& error) {
            say(QString::fromUtf8(error.what()), true);
        }
    }
    refresh();
}

void TargetsDialog::refresh()
{
    const bool hasTarget = !m_name.isEmpty();
    const bool isRight = hasTarget && !hasErrors(m_form->issues());
    m_empty->setVisible(!hasTarget);
    for (QWidget* part : std::initializer_list<QWidget*>{m_settings, m_try, m_save})
        part->setVisible(hasTarget);
    m_rename->setEnabled(hasTarget);
    m_remove->setEnabled(hasTarget);
    m_save->setEnabled(isRight && m_isChanged);
    m_try->setEnabled(isRight && m_call == nullptr);
    m_try->setText(m_isChanged ? tr("Save and try") : tr("Try"));
    const bool hasOwnDisk = targetFrom({}, m_form->config()).disk == Disk::Own;
    m_form->setPathsElsewhere(hasOwnDisk);
    m_install->setVisible(hasTarget && hasOwnDisk);
    m_install->setEnabled(isRight && m_call == nullptr);
    m_install->setText(m_isChanged ? tr("Save and install") : tr("Install"));
    m_lines->setVisible(m_lines->count() > 0);
}

void TargetsDialog::makeNew()
{
    if (!leave())
        return;
    Target target;
    target.name = freeName().toStdString();
    try {
        saveTarget(target);
    } catch (const Error& error) {
        return say(QString::fromUtf8(error.what()), true);
    }
    fill(QString::fromStdString(target.name));
    Q_EMIT targetsChanged();
    m_names->editItem(m_names->currentItem());
}

void TargetsDialog::rename(const QString& wanted)
{
    const QString before = m_name;
    if (wanted == before)
        return;
    if (!leave())
        return fill(before);
    const std::string refusal =
        exists(wanted) ? tr("There is a target “%1” already.").arg(wanted).toStdString()
                       : refusedTargetName(wanted.toStdString());
    try {
        if (!refusal.empty())
            throw InputError(refusal);
        std::filesystem::rename(fileOf(before), fileOf(wanted));
    } catch (const std::exception& error) {
        fill(before);
        return say(QString::fromUtf8(error.what()), true);
    }
    fill(wanted);
    Q_EMIT targetRenamed(before, wanted);
}

void TargetsDialog::remove()
{
    const auto answer =
        QMessageBox::question(this, tr("Delete target"),
                              tr("Delete the target “%1”? Its runs stay as they are.").arg(m_name));
    if (answer != QMessageBox::Yes)
        return;
    try {
        removeTarget(m_name.toStdString());
    } catch (const Error& error) {
        return say(QString::fromUtf8(error.what()), true);
    }
    fill({});
    Q_EMIT targetsChanged();
}

bool TargetsDialog::save()
{
    m_form->commitPending();
    if (hasErrors(m_form->issues()))
        return false;
    try {
        saveTarget(targetFrom(m_name.toStdString(), m_form->config()));
    } catch (const Error& error) {
        say(QString::fromUtf8(error.what()), true);
        return false;
    }
    m_isChanged = false;
    say(tr("Saved."), false);
    refresh();
    Q_EMIT targetsChanged();
    return true;
}

bool TargetsDialog::leave()
{
    m_form->commitPending();
    if (!m_isChanged)
        return true;
    QMessageBox box(QMessageBox::Question, tr("Targets"),
                    tr("Save the changes of “%1”?").arg(m_name),
                    QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, this);
    box.button(QMessageBox::Save)->setEnabled(!hasErrors(m_form->issues()));
    const int answer = box.exec();
    if (answer == QMessageBox::Save)
        return save();
    if (answer == QMessageBox::Discard)
        m_isChanged = false;
    return answer == QMessageBox::Discard;
}

void TargetsDialog::done(int result)
{
    if (leave())
        QDialog::done(result);
}

bool TargetsDialog::begin(const QString& line)
{
    m_form->commitPending();
    if (m_isChanged && !save())
        return false;
    say({}, false);
    m_lines->clear();
    addLine("clock", mutedColour(palette()), line);
    m_call = std::make_unique<CommandCall>(m_executable);
    return true;
}

void TargetsDialog::tryOut()
{
    if (!begin(tr("Trying “%1”…").arg(m_name)))
        return;
    connect(m_call.get(), &CommandCall::answered, this, &TargetsDialog::takeCheck);
    m_call->start(checkTargetArguments(m_name));
    refresh();
}

void TargetsDialog::install()
{
    if (!begin(tr("Installing on “%1”…").arg(m_name)))
        return;
    connect(m_call.get(), &CommandCall::talked, this, [this](const QString& line) {
        if (!line.startsWith("vergence: ")) // the refusal, which comes with the answer
            addLine("clock", mutedColour(palette()), line);
    });
    connect(m_call.get(), &CommandCall::answered, this, &TargetsDialog::takeInstall);
    m_call->start(installArguments(m_name));
    refresh();
}

void TargetsDialog::takeInstall(const CommandAnswer& answer)
{
    const QString program = QString::fromUtf8(answer.output).trimmed();
    if (answer.isGood())
        addLine("tick", goodColour(palette()), tr("The studio there is %1.").arg(program));
    else
        addLine("cross", errorColour(palette()), answer.refusal);
    endTry();
    refresh();
}

void TargetsDialog::takeCheck(const CommandAnswer& answer)
{
    m_lines->clear();
    try {
        showLines(answer.output);
    } catch (const nlohmann::json::exception&) {
        addLine("cross", errorColour(palette()),
                answer.isGood() ? tr("The answer of `vergence targets check` is not understood.")
                                : answer.refusal);
    }
    endTry();
    refresh();
}

void TargetsDialog::showLines(const QByteArray& text)
{
    const auto json = nlohmann::json::parse(text.begin(), text.end());
    for (const auto& line : json.at("lines")) {
        const bool isGood = line.at("good").get<bool>();
        addLine(isGood ? "tick" : "cross", isGood ? goodColour(palette()) : errorColour(palette()),
                QString::fromStdString(line.at("text").get<std::string>()));
    }
}

void TargetsDialog::endTry()
{
    if (m_call != nullptr)
        m_call.release()->deleteLater(); // it may be the one that has just answered
}

void TargetsDialog::addLine(const QString& icon, const QColor& colour, const QString& text)
{
    auto* line = new QListWidgetItem(tintedIcon(icon, colour), text, m_lines);
    line->setToolTip(text);
    m_lines->scrollToItem(line);
}

void TargetsDialog::say(const QString& sentence, bool isError)
{
    QPalette coloured;
    if (isError)
        coloured.setColor(QPalette::WindowText, errorColour(palette()));
    m_note->setPalette(coloured);
    m_note->setText(sentence);
    m_note->setVisible(!sentence.isEmpty());
}

} // namespace vergence
