#pragma once

#include <functional>
#include <vector>

#include <QDialog>

class QLineEdit;
class QListWidget;

namespace vergence {

/// Something the palette can do.
struct PaletteEntry {
    QString text;   ///< "Run: Start"
    QString detail; ///< shortcut or explanation
    std::function<void()> run;
};

/// Rank of `text` for what was typed; 0 means no match. All words must occur; beginnings of words
/// count more.
int paletteScore(const QString& text, const QString& typed);

/// Search over actions, presets, settings and runs (`commandPalette`). Enter runs the chosen entry.
class CommandPalette : public QDialog {
    Q_OBJECT
public:
    CommandPalette(std::vector<PaletteEntry> entries, QWidget* parent);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void filter(const QString& typed);
    void choose();

    std::vector<PaletteEntry> m_entries;
    QLineEdit* m_input;
    QListWidget* m_list;
};

} // namespace vergence
