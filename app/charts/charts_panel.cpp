#include "app/charts/charts_panel.h"

#include <algorithm>
#include <iterator>
#include <map>

#include <QKeyEvent>
#include <QLabel>
#include <QScrollBar>
#include <QStackedWidget>
#include <QTableView>

#include "app/charts/card_order.h"
#include "app/charts/chart_colours.h"
#include "app/charts/chart_grid.h"
#include "app/charts/chart_table.h"
#include "app/charts/chart_toolbar.h"
#include "app/charts/panel_impl.h"
#include "app/charts/series_source.h"
#include "app/charts/table_source.h"
#include "core/base/error.h"

namespace vergence {
namespace {

/// "train/mean_loss" is titled "Mean loss" where the lab declares nothing; of several parts the
/// later ones are names of things and stay as they are: "icc/tiny_clip/T4" is "tiny_clip, T4".
QString titleFromName(const QString& series)
{
    QString title = series.section(u'/', 1);
    if (title.isEmpty())
        title = series;
    if (title.contains(u'/'))
        return title.replace(u'/', QLatin1String(", "));
    title.replace(u'_', u' ');
    if (!title.isEmpty())
        title[0] = title[0].toUpper();
    return title;
}

const MetricDecl* findIn(const std::vector<MetricDecl>& declarations, const std::string& name)
{
    const auto found = std::find_if(declarations.begin(), declarations.end(),
                                    [&](const MetricDecl& decl) { return decl.name == name; });
    return found == declarations.end() ? nullptr : &*found;
}

QString titleOf(const MetricDecl* declared)
{
    return declared == nullptr ? QString() : QString::fromStdString(declared->title);
}

constexpr int kNewCards = 8; ///< in one event; each takes a millisecond or two to make

QString tableCardId(const ChartTable& table)
{
    return QStringLiteral("table/") + table.id;
}

} // namespace

ChartsPanel::Impl::Impl(ChartsPanel* owner) : panel(owner)
{
    timer.setSingleShot(true);
    QObject::connect(&timer, &QTimer::timeout, panel, [this] { tick(); });
    build();
}

ChartsPanel::Impl::~Impl() = default;

ChartCard* ChartsPanel::Impl::cardFor(const QString& id)
{
    ChartCard*& card = cards[id];
    if (card == nullptr) {
        card = new ChartCard(id, grid->content());
        card->setDark(isDark);
        connectCard(card);
    }
    return card;
}

/// Of many new cards, the rest follows with the next redraws.
void ChartsPanel::Impl::syncSeries()
{
    std::map<QString, const ChartTable*> wanted; // null: a series
    for (const ChartedRun& run : runs)
        for (const std::string& name : run.store->names())
            wanted[QString::fromStdString(name)] = nullptr;
    for (const ChartTable& table : tables)
        wanted[tableCardId(table)] = &table;

    bool isChanged = false;
    for (auto at = cards.begin(); at != cards.end();) {
        if (wanted.contains(at->first)) {
            ++at;
            continue;
        }
        if (at->second == tableCard)
            hideTable();
        if (at->second == current)
            current = nullptr;
        zoomedCard = nullptr;
        at->second->takeSources();
        at->second->hide();
        at->second->deleteLater();
        at = cards.erase(at);
        isChanged = true;
    }
    int made = 0;
    for (const auto& [id, table] : wanted) {
        const bool isNew = !cards.contains(id);
        if (isNew && ++made > kNewCards)
            continue;
        isChanged = isChanged || isNew;
        ChartCard* card = cardFor(id);
        if (table == nullptr)
            fillCard(card, id);
        else if (isNew)
            fillTable(card, *table);
    }
    if (made > kNewCards) {
        hasNewPoints = true;
        schedule();
    }
    if (isChanged)
        arrange();
    empty->setText(runs.empty() ? tr("No run is charted. Tick one in the list of runs.")
                                : tr("The run has not reported a number yet."));
    if (tableCard == nullptr)
        pages->setCurrentWidget(cards.empty() ? static_cast<QWidget*>(empty) : grid);
}

/// What is declared for a series, or for a group of series ("icc" for "icc/…"): by the lab of the
/// first run that has it, or by any lab where that says nothing.
const MetricDecl* ChartsPanel::Impl::declaredFor(const std::string& name,
                                                 const std::vector<const ChartedRun*>& having) const
{
    for (const ChartedRun* run : having)
        if (const MetricDecl* own = findIn(run->metrics, name))
            return own;
    return findIn(declarations, name);
}

void ChartsPanel::Impl::fillCard(ChartCard* card, const QString& series)
{
    const std::string name = series.toStdString();
    std::vector<const ChartedRun*> having;
    for (const ChartedRun& run : runs)
        if (run.store->find(name) != nullptr)
            having.push_back(&run);

    const auto& present = card->sources();
    const bool isSame =
        std::equal(present.begin(), present.end(), having.begin(), having.end(),
                   [](const std::unique_ptr<CurveSource>& source, const ChartedRun* run) {
                       return source->id == run->id && source->name == run->name &&
                              source->colour == run->colour &&
                              static_cast<SeriesSource&>(*source).store() == run->store;
                   });
    const MetricDecl* declared = declaredFor(name, having);
    const QString known = titleOf(declared),
                  title = known.isEmpty() ? titleFromName(series) : known,
                  group = titleOf(declaredFor(name.substr(0, name.find('/')), having));
    const QString unit = declared != nullptr ? QString::fromStdString(declared->unit) : QString();
    const bool isDifference = !toolbar->settings().reference.isEmpty();
    const QString shown = isDifference ? tr("Δ %1").arg(title) : title;
    if (shown != card->title() || unit != card->unit() || group != card->group())
        card->setTitle(shown, unit, group);
    applyReference(*card);
    if (isSame)
        return;
    ChartCard::Sources kept = card->takeSources(); // with what they have already smoothed
    ChartCard::Sources sources;
    for (const ChartedRun* run : having) {
        const auto at =
            std::find_if(kept.begin(), kept.end(), [&](const std::unique_ptr<CurveSource>& source) {
                return source && source->id == run->id &&
                       static_cast<SeriesSource&>(*source).store() == run->store;
            });
        auto source =
            at != kept.end() ? std::move(*at) : std::make_unique<SeriesSource>(run->store, name);
        source->id = run->id;
        source->name = run->name;
        source->colour = run->colour;
        source->update();
        sources.push_back(std::move(source));
    }
    card->setSources(std::move(sources));
    applyReference(*card);
    if (card == tableCard)
        showTable(card);
}

void ChartsPanel::Impl::applyReference(ChartCard& card)
{
    const auto chosen = std::find_if(runs.begin(), runs.end(), [this](const ChartedRun& run) {
        return run.id == toolbar->settings().reference;
    });
    for (const auto& source : card.sources()) {
        auto& series = static_cast<SeriesSource&>(*source);
        if (series.setReference(chosen == runs.end() ? nullptr : chosen->store))
            card.markDirty();
    }
}

void ChartsPanel::Impl::fillTable(ChartCard* card, const ChartTable& table)
{
    ChartCard::Sources sources;
    for (qsizetype column = 1; column < table.columns.size(); ++column) {
        if (!hasCurve(table, static_cast<std::size_t>(column)))
            continue;
        auto source = std::make_unique<TableSource>(table, static_cast<std::size_t>(column));
        source->colour = columnColour(static_cast<int>(sources.size()));
        sources.push_back(std::move(source));
    }
    card->setTitle(tr("%1 over %2").arg(table.title, table.columns.value(0)), {});
    card->setSources(std::move(sources));
    if (card == tableCard)
        showTable(card);
}

void ChartsPanel::Impl::syncTables()
{
    for (const ChartTable& table : tables)
        if (const auto card = cards.find(tableCardId(table)); card != cards.end())
            fillTable(card->second, table);
}

void ChartsPanel::Impl::arrange()
{
    ordered.clear();
    for (const auto& [id, card] : cards)
        ordered.push_back(card);
    ordered = inOrder(std::move(ordered), declarations);
    grid->arrange(ordered, toolbar->settings().columns);
    markAllDirty();
}

ChartsPanel::ChartsPanel(QWidget* parent) : QWidget(parent), m_impl(std::make_unique<Impl>(this))
{
    setAccessibleName(tr("Charts"));
}

ChartsPanel::~ChartsPanel()
{
    QObject::disconnect(m_impl->grid->verticalScrollBar(), nullptr, this, nullptr);
    m_impl->tableModel->setSources({}, 0);
    for (const auto& [id, card] : m_impl->cards)
        delete card;
    m_impl->cards.clear();
}

void ChartsPanel::setDeclarations(const std::vector<MetricDecl>& metrics)
{
    m_impl->declarations = metrics;
    m_impl->syncSeries();
    m_impl->arrange();
}

void ChartsPanel::setRuns(const std::vector<ChartedRun>& runs)
{
    for (const ChartedRun& run : runs)
        expects(run.store != nullptr, "charts: a charted run needs a store");
    m_impl->runs = runs;
    std::vector<std::pair<QString, QString>> named;
    for (const ChartedRun& run : runs)
        named.emplace_back(run.id, run.name);
    m_impl->toolbar->setRuns(named);
    m_impl->syncSeries();
    m_impl->hasNewPoints = true;
    m_impl->markAllDirty();
}

void ChartsPanel::setTables(const std::vector<ChartTable>& tables)
{
    m_impl->tables.clear();
    std::copy_if(tables.begin(), tables.end(), std::back_inserter(m_impl->tables), hasAnyCurve);
    m_impl->syncSeries();
    m_impl->syncTables();
    m_impl->arrange();
}

void ChartsPanel::refresh()
{
    m_impl->hasNewPoints = true;
    m_impl->schedule();
}

void ChartsPanel::setDarkPalette(bool dark)
{
    m_impl->isDark = dark;
    for (const auto& [id, card] : m_impl->cards)
        card->setDark(dark);
}

int ChartsPanel::pointCount(const QString& series) const
{
    std::size_t count = 0;
    for (const ChartedRun& run : m_impl->runs)
        if (const Series* found = run.store->find(series.toStdString()))
            count += found->size();
    return static_cast<int>(count);
}

void ChartsPanel::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    m_impl->schedule();
}

void ChartsPanel::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    m_impl->schedule();
}

bool ChartsPanel::event(QEvent* event)
{
    // These keys belong to the charts while they have the focus, whatever the window does with them
    // elsewhere.
    if (event->type() == QEvent::ShortcutOverride) {
        const auto* key = static_cast<QKeyEvent*>(event);
        const bool isZoomStep = key->modifiers() == Qt::AltModifier &&
                                (key->key() == Qt::Key_Left || key->key() == Qt::Key_Right);
        const bool isTableStep = m_impl->tableCard != nullptr && key->key() == Qt::Key_Escape;
        if (isZoomStep || isTableStep) {
            event->accept();
            return true;
        }
    }
    return QWidget::event(event);
}

void ChartsPanel::keyPressEvent(QKeyEvent* event)
{
    const bool isAlt = event->modifiers() == Qt::AltModifier;
    if (isAlt && event->key() == Qt::Key_Left) {
        Q_EMIT m_impl->toolbar->backRequested();
    } else if (isAlt && event->key() == Qt::Key_Right) {
        Q_EMIT m_impl->toolbar->forwardRequested();
    } else if (event->key() == Qt::Key_L && event->modifiers() == Qt::NoModifier) {
        m_impl->toolbar->toggleLogY();
    } else if (m_impl->tableCard != nullptr &&
               (event->key() == Qt::Key_Escape || event->key() == Qt::Key_T)) {
        m_impl->hideTable();
    } else {
        QWidget::keyPressEvent(event);
    }
}

} // namespace vergence
