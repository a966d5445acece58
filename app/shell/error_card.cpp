#include "app/shell/error_card.h"

#include <QClipboard>
#include <QFontDatabase>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/style/icons.h"
#include "app/style/theme.h"

namespace vergence {

namespace {

QLabel* paragraph(const QString& text, QWidget* parent)
{
    auto* label = new QLabel(text, parent);
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

} // namespace

ErrorCard::ErrorCard(const CardContent& content, QWidget* parent)
    : QFrame(parent),
      m_content(content)
{
    setObjectName("errorCard");
    setAccessibleName(content.whatHappened);
    setFrameShape(QFrame::StyledPanel);
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    auto* head = new QHBoxLayout;
    auto* icon = new QLabel(this);
    icon->setPixmap(tintedIcon("problem", errorColour(palette())).pixmap(20, 20));
    icon->setAlignment(Qt::AlignTop);
    auto* title = paragraph(content.whatHappened, this);
    QFont bold = title->font();
    bold.setBold(true);
    title->setFont(bold);
    title->setObjectName("errorCardWhat");
    auto* close = new QToolButton(this);
    close->setIcon(tintedIcon("cross", palette()));
    close->setAutoRaise(true);
    close->setToolTip(tr("Hide this card; Problems keeps the entry"));
    close->setAccessibleName(tr("Hide this card"));
    head->addWidget(icon, 0, Qt::AlignTop);
    head->addWidget(title, 1);
    head->addWidget(close, 0, Qt::AlignTop);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(10, 8, 8, 8);
    column->addLayout(head);
    if (!content.why.isEmpty()) {
        auto* why = paragraph(content.why, this);
        why->setObjectName("errorCardWhy");
        column->addWidget(why);
    }
    column->addWidget(makeButtons());
    connect(close, &QToolButton::clicked, this, &ErrorCard::dismissed);
}

QWidget* ErrorCard::makeButtons()
{
    auto* box = new QWidget(this);
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 0, 0, 0);
    auto* row = new QHBoxLayout;
    for (const CardContent::Button& wanted : m_content.buttons) {
        auto* button = new QPushButton(wanted.text, box);
        button->setObjectName("card_" + wanted.action);
        row->addWidget(button);
        connect(button, &QPushButton::clicked, this,
                [this, action = wanted.action] { Q_EMIT actionRequested(action); });
    }
    row->addStretch();
    column->addLayout(row);
    if (m_content.details.isEmpty())
        return box;
    auto* toggle = new QToolButton(box);
    toggle->setText(tr("Details"));
    toggle->setCheckable(true);
    auto* copy = new QToolButton(box);
    copy->setText(tr("Copy"));
    copy->setToolTip(tr("Copy the card with its details"));
    row->addWidget(toggle);
    row->addWidget(copy);
    auto* details = new QPlainTextEdit(m_content.details, box);
    details->setReadOnly(true);
    details->setObjectName("errorCardDetails");
    details->setAccessibleName(tr("Details"));
    details->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    details->setFixedHeight(fontMetrics().height() * 7);
    details->hide();
    column->addWidget(details);
    connect(toggle, &QToolButton::toggled, details, &QWidget::setVisible);
    connect(copy, &QToolButton::clicked, this, [this] {
        QGuiApplication::clipboard()->setText(m_content.id + ": " + m_content.whatHappened + "\n" +
                                              m_content.why + "\n\n" + m_content.details);
    });
    return box;
}

} // namespace vergence
