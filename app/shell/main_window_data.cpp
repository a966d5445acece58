// Folders of data that are dropped or opened: a lab is set up with them, nothing is started.

#include <QCursor>
#include <QDir>
#include <QDropEvent>
#include <QMenu>
#include <QMimeData>

#include "app/shell/error_catalogue.h"
#include "app/shell/main_window.h"

namespace vergence {

void MainWindow::dragEnterEvent(QDragEnterEvent* event)
{
    if (event->mimeData()->hasUrls())
        event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event)
{
    for (const QUrl& url : event->mimeData()->urls())
        if (url.isLocalFile())
            openPath(url.toLocalFile());
    event->acceptProposedAction();
}

/// A dock that floats is a window of its own; what is dropped there is dropped here.
bool MainWindow::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::DragEnter || event->type() == QEvent::Drop)
        return this->event(event);
    return QMainWindow::eventFilter(watched, event);
}

void MainWindow::takeFolder(const QString& path)
{
    const QString name = QDir(path).dirName();
    if (!m_catalog.isComplete()) {
        m_options.files << path;
        return say(tr("%1 is looked at as soon as the plugins are known.").arg(name));
    }
    const std::vector<FolderTaker> takers = m_catalog.taking(path);
    if (takers.empty())
        return refuse(cardForRefusal(
            "E-DATA", tr("%1 is neither a run nor a folder of data that a lab reads.").arg(name)));
    if (takers.size() == 1)
        return setUpWith(takers.front(), path);
    auto* menu = new QMenu(this);
    menu->setObjectName("dropMenu");
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->addSection(tr("Use %1 in").arg(name));
    for (const FolderTaker& taker : takers)
        menu->addAction(m_catalog.find(taker.plugin)->title(), this,
                        [this, taker, path] { setUpWith(taker, path); });
    menu->popup(QCursor::pos());
}

void MainWindow::setUpWith(const FolderTaker& taker, const QString& path)
{
    const QDir folder(QDir(path).absolutePath());
    releaseForm();
    m_docks->reveal("setupDock");
    if (m_setup->holds(taker, folder.path())) {
        validateDraft(); // its files may have been mended meanwhile
        return say(tr("%1 is already the data of this setup.").arg(folder.dirName()));
    }
    m_setup->take(taker, folder.path());
    say(tr("%1 is now the data of the %2; nothing was started.")
            .arg(folder.dirName(), m_catalog.find(taker.plugin)->title()));
}

} // namespace vergence
