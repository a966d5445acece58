#pragma once

#include <map>
#include <vector>

#include <QObject>
#include <QString>

class QAction;
class QDockWidget;
class QMainWindow;
class QWidget;

namespace vergence {

/// Gives the focus to the first control inside `pane` that takes it and can be seen.
void focusInto(QWidget& pane);

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
    /// Where F6 goes: the names of the docks that can be seen, "" for the centre, in reading order.
    QStringList visiblePanes() const;
    /// Name of the dock that holds the widget; "" for the centre and for nothing.
    QString paneOf(const QWidget* widget) const;

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
