// Frame of the panel, zoom, table and export.

#include <algorithm>

#include <QBuffer>
#include <QClipboard>
#include <QFileDialog>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QScrollBar>
#include <QStackedWidget>
#include <QTableView>
#include <QToolButton>

#include "app/charts/chart_grid.h"
#include "app/charts/chart_table.h"
#include "app/charts/chart_toolbar.h"
#include "app/charts/panel_impl.h"
#include "app/charts/table_source.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence {
namespace {

constexpr qint64 kGestureMs = 700; // turns of the wheel closer than this are one zoom

} // namespace

void ChartsPanel::Impl::build()
{
    auto* column = new QVBoxLayout(panel);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    toolbar = new ChartToolbar(panel);
    pages = new QStackedWidget(panel);
    column->addWidget(toolbar);
    column->addWidget(pages, 1);
    empty = new QLabel(tr("No run is charted. Tick one in the list of runs."), pages);
    empty->setObjectName(QStringLiteral("chartsEmpty"));
    empty->setAlignment(Qt::AlignCenter);
    empty->setWordWrap(true);
    grid = new ChartGrid(pages);
    tablePage = makeTablePage();
    pages->addWidget(empty);
    pages->addWidget(grid);
    pages->addWidget(tablePage);
    QObject::connect(grid->verticalScrollBar(), &QScrollBar::valueChanged, panel,
                     [this] { schedule(); });
    connectToolbar();
}

QWidget* ChartsPanel::Impl::makeTablePage()
{
    auto* page = new QWidget(pages);
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(4, 2, 4, 4);
    auto* header = new QHBoxLayout;
    column->addLayout(header);
    tableTitle = new QLabel(page);
    auto* back = new QToolButton(page);
    back->setText(tr("Back to the charts"));
    back->setToolTip(tr("Back to the charts (T or Escape)"));
    back->setObjectName(QStringLiteral("chartTableBack"));
    auto* copy = new QToolButton(page);
    copy->setText(tr("Copy table"));
    header->addWidget(tableTitle);
    header->addStretch(1);
    header->addWidget(copy);
    header->addWidget(back);
    tableView = new QTableView(page);
    tableModel = new ChartTableModel(tableView);
    tableView->setObjectName(QStringLiteral("chartTable"));
    tableView->setModel(tableModel);
    tableView->setAlternatingRowColors(true);
    tableView->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    tableView->verticalHeader()->setDefaultSectionSize(tableView->fontMetrics().height() + 6);
    tableView->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
    column->addWidget(tableView, 1);
    QObject::connect(back, &QToolButton::clicked, panel, [this] { hideTable(); });
    QObject::connect(copy, &QToolButton::clicked, panel,
                     [this] { QGuiApplication::clipboard()->setText(tableModel->text()); });
    return page;
}

void ChartsPanel::Impl::connectToolbar()
{
    QObject::connect(toolbar, &ChartToolbar::settingsChanged, panel, [this] {
        syncSeries(); // another reference changes titles and curves
        if (tableCard != nullptr)
            showTable(tableCard);
        markAllDirty();
    });
    QObject::connect(toolbar, &ChartToolbar::columnsChanged, panel, [this] { arrange(); });
    QObject::connect(toolbar, &ChartToolbar::backRequested, panel, [this] {
        zooms.back();
        zoomChanged();
    });
    QObject::connect(toolbar, &ChartToolbar::forwardRequested, panel, [this] {
        zooms.forward();
        zoomChanged();
    });
    QObject::connect(toolbar, &ChartToolbar::fitRequested, panel, [this] {
        zooms.push({});
        zoomChanged();
    });
    QObject::connect(toolbar, &ChartToolbar::exportRequested, panel,
                     [this](const QString& format, bool ofAll) { exportAs(format, ofAll); });
}

void ChartsPanel::Impl::connectCard(ChartCard* card)
{
    QObject::connect(card, &ChartCard::zoomRequested, panel,
                     [this, card](std::optional<Range> x, std::optional<Range> y,
                                  bool isContinued) { zoom(*card, x, y, isContinued); });
    QObject::connect(card, &ChartCard::fitRequested, panel, [this] {
        zooms.push({});
        zoomChanged();
    });
    QObject::connect(card, &ChartCard::crossMoved, panel,
                     [this, card](std::optional<double> x) { moveCross(card, x); });
    QObject::connect(card, &ChartCard::tableRequested, panel, [this, card] { showTable(card); });
    QObject::connect(card, &ChartCard::pinToggled, panel, [this] { arrange(); });
    QObject::connect(card, &ChartCard::becameCurrent, panel, [this, card] { current = card; });
    QObject::connect(card, &ChartCard::redrawRequested, panel, [this] { schedule(); });
    QObject::connect(card, &ChartCard::pointClicked, panel, [this, card](int curve, int index) {
        const auto* source =
            static_cast<TableSource*>(card->sources()[static_cast<std::size_t>(curve)].get());
        const int row = static_cast<int>(source->rowOf(static_cast<std::size_t>(index)));
        Q_EMIT panel->tableRowActivated(card->id().section(u'/', 1), row);
    });
}

void ChartsPanel::Impl::zoom(const ChartCard& card, std::optional<Range> x, std::optional<Range> y,
                             bool isContinued)
{
    if ((x && !(x->width() > 0)) || (y && !(y->width() > 0)))
        return; // zoomed in beyond what numbers can tell apart
    ZoomState state = zooms.current();
    if (x && card.isTable())
        state.cardX[card.id()] = *x;
    else if (x)
        state.x = x;
    if (y)
        state.cardY[card.id()] = *y;
    const bool isSameGesture = isContinued && zoomedCard == &card && sinceZoom.isValid() &&
                               sinceZoom.elapsed() < kGestureMs;
    zooms.push(std::move(state), isSameGesture);
    zoomedCard = isContinued ? const_cast<ChartCard*>(&card) : nullptr;
    sinceZoom.start();
    if (x)
        toolbar->setFollowing(false);
    zoomChanged();
}

void ChartsPanel::Impl::zoomChanged()
{
    toolbar->setZoomSteps(zooms.canGoBack(), zooms.canGoForward());
    markAllDirty();
}

void ChartsPanel::Impl::moveCross(ChartCard* card, std::optional<double> x)
{
    const bool isLinked = toolbar->settings().isLinked && !card->isTable();
    for (const auto& [id, other] : cards)
        if (other == card || (isLinked && !other->isTable() && !other->visibleRegion().isEmpty()))
            other->showCross(x);
}

void ChartsPanel::Impl::showTable(ChartCard* card)
{
    tableCard = card;
    std::vector<CurveSource*> sources;
    for (const auto& source : card->sources())
        sources.push_back(source.get());
    tableModel->setSources(std::move(sources), toolbar->settings().smoothing);
    tableTitle->setText(tr("Data of %1").arg(card->title()));
    tableView->setAccessibleName(tableTitle->text());
    if (pages->currentWidget() != tablePage) {
        pages->setCurrentWidget(tablePage);
        tableView->setFocus();
    }
}

void ChartsPanel::Impl::hideTable()
{
    ChartCard* card = std::exchange(tableCard, nullptr);
    tableModel->setSources({}, 0);
    pages->setCurrentWidget(cards.empty() ? static_cast<QWidget*>(empty) : grid);
    if (card != nullptr)
        card->setFocus();
    schedule();
}

ExportView ChartsPanel::Impl::exportView() const
{
    return {toolbar->settings(), shownX};
}

void ChartsPanel::Impl::exportAs(const QString& format, bool ofAll)
{
    ChartCard* card = ofAll ? nullptr : current;
    if (!ofAll && card == nullptr && !cards.empty())
        card = ordered.front();
    if (cards.empty())
        return;
    if (format == QLatin1String("copy")) {
        ChartTableModel model;
        std::vector<CurveSource*> sources;
        for (const auto& source : card->sources())
            sources.push_back(source.get());
        model.setSources(std::move(sources), toolbar->settings().smoothing);
        QGuiApplication::clipboard()->setText(model.text());
        return;
    }
    auto* dialog = new QFileDialog(panel, tr("Export charts"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(format);
    QString name = card == nullptr ? QStringLiteral("charts") : card->id();
    dialog->selectFile(name.replace(u'/', u'_') + u'.' + format);
    QObject::connect(
        dialog, &QFileDialog::fileSelected, panel,
        [this, format, id = card == nullptr ? QString() : card->id()](const QString& path) {
            const auto at = cards.find(id);
            write(format, at == cards.end() ? nullptr : at->second, path);
        });
    dialog->show();
}

void ChartsPanel::Impl::write(const QString& format, ChartCard* card, const QString& path)
{
    QByteArray bytes;
    const std::vector<ChartCard*> chosen = card == nullptr ? ordered : std::vector{card};
    if (format == QLatin1String("csv")) {
        bytes = chartsAsCsv(chosen, exportView());
    } else if (format == QLatin1String("json")) {
        bytes = chartsAsJson(chosen, exportView());
    } else if (format == QLatin1String("svg")) {
        bytes = chartAsSvg(*chosen.front(), exportView());
    } else {
        for (ChartCard* one : chosen) // also those that were never scrolled into view
            draw(*one);
        QBuffer buffer(&bytes);
        buffer.open(QIODevice::WriteOnly);
        QWidget& whole = card == nullptr ? *grid->content() : static_cast<QWidget&>(*card);
        chartsAsImage(whole, exportView()).save(&buffer, "PNG");
    }
    try {
        writeFileAtomic(
            path.toStdString(),
            std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())));
        Q_EMIT panel->exported(path);
    } catch (const Error& error) {
        Q_EMIT panel->exportFailed(QString::fromUtf8(error.what()));
    }
}

} // namespace vergence
