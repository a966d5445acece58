#pragma once

#include <map>
#include <vector>

#include <QObject>
#include <QString>

class QAction;
class QDockWidget;
class QMainWindow;

namespace vergence {

/// The docks of the window and the named arrangements of them.
class DockLayout : public QObject {
    Q_OBJECT
public:
    explicit DockLayout(QMainWindow& window);

    QDockWidget* add(const QString& objectName, const QString& title, QWidget* content,
                     Qt::DockWidgetArea area);
    QDockWidget* dock(const QString& objectName) const;
    void setTitle(const QString& objectName, const QString& title);
    /// Shows the dock, raises it above its tabs and focuses its content.
    void reveal(const QString& objectName);

    /// "Setup", "Train", "Inspect", "Compare", "Present"; the docks return to their places.
    void apply(const QString& layout);
    QString current() const { return m_current; }
    static QStringList names();
    /// Restores what QMainWindow::saveState() gave; false where it does not fit, then `fallback` is
    /// applied.
    bool restore(const QByteArray& state, const QString& layout);
    QByteArray save() const;
    std::vector<QAction*> toggles() const;

Q_SIGNALS:
    void layoutApplied(const QString& layout);

private:
    void placeAll();

    QMainWindow& m_window;
    struct Placed {
        QString name;
        QDockWidget* dock;
        Qt::DockWidgetArea area;
    };
    std::vector<Placed> m_docks;
    QString m_current;
};

} // namespace vergence
