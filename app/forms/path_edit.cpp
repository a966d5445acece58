#include "app/forms/path_edit.h"

#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QMimeData>
#include <QToolButton>

#include "app/forms/accents.h"
#include "app/forms/commit_edit.h"

namespace vergence {

PathEdit::PathEdit(const QString& title, QWidget* parent)
    : QWidget(parent),
      m_title(title),
      m_line(new CommitEdit(this)),
      m_mark(new QLabel(this)),
      m_browse(new QToolButton(this))
{
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(3);
    row->addWidget(m_line, 1);
    row->addWidget(m_mark);
    row->addWidget(m_browse);
    m_mark->setFixedWidth(16);
    m_browse->setText(QStringLiteral("…"));
    m_browse->setFocusPolicy(Qt::StrongFocus);
    m_browse->setToolTip(tr("Choose a file or folder"));
    m_browse->setAccessibleName(tr("Choose %1").arg(title));
    setAcceptDrops(true);
    setFocusProxy(m_line);
    connect(m_browse, &QToolButton::clicked, this, &PathEdit::browse);
    connect(m_line, &QLineEdit::textChanged, this, &PathEdit::refreshMark);
}

void PathEdit::setLocked(bool locked)
{
    m_line->setReadOnly(locked);
    m_browse->setEnabled(!locked);
    setAcceptDrops(!locked);
}

void PathEdit::setElsewhere(bool elsewhere)
{
    m_mark->setVisible(!elsewhere);
    m_browse->setVisible(!elsewhere);
    setAcceptDrops(!elsewhere);
}

void PathEdit::dragEnterEvent(QDragEnterEvent* event)
{
    const auto urls = event->mimeData()->urls();
    if (urls.size() == 1 && urls.front().isLocalFile())
        event->acceptProposedAction();
}

void PathEdit::dropEvent(QDropEvent* event)
{
    put(event->mimeData()->urls().value(0).toLocalFile());
    event->acceptProposedAction();
}

void PathEdit::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::PaletteChange)
        refreshMark();
    QWidget::changeEvent(event);
}

void PathEdit::browse()
{
    const QFileInfo present(m_line->text());
    auto* dialog = new QFileDialog(this, tr("Choose %1").arg(m_title), present.absolutePath());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    const bool wantsFolder = present.isDir() || m_line->text().isEmpty();
    dialog->setFileMode(wantsFolder ? QFileDialog::Directory : QFileDialog::AnyFile);
    connect(dialog, &QFileDialog::fileSelected, this, &PathEdit::put);
    dialog->show();
}

void PathEdit::put(const QString& path)
{
    if (path.isEmpty())
        return;
    m_line->setText(path);
    m_line->commit();
}

void PathEdit::refreshMark()
{
    const QString path = m_line->text().trimmed();
    if (path.isEmpty()) {
        m_mark->clear();
        m_mark->setToolTip({});
        return;
    }
    const bool exists = QFileInfo::exists(path);
    const QColor colour =
        exists ? palette().color(QPalette::WindowText) : accentColour(Accent::Warning, palette());
    m_mark->setPixmap(signIcon(exists ? Sign::Exists : Sign::Missing, colour).pixmap(16, 16));
    m_mark->setToolTip(exists ? tr("Exists")
                              : tr("Nothing is there: %1").arg(QFileInfo(path).absoluteFilePath()));
    m_mark->setAccessibleName(m_mark->toolTip());
}

} // namespace vergence
