#include "app/forms/form_section.h"

#include <QToolButton>
#include <QVBoxLayout>

#include "app/forms/field_row.h"

namespace vergence {
namespace {

/// "learning_rates" is shown as "Learning rates".
QString groupTitle(const QString& group)
{
    if (group.isEmpty())
        return FormSection::tr("General");
    QString title = group;
    title.replace(u'_', u' ');
    title[0] = title[0].toUpper();
    return title;
}

} // namespace

FormSection::FormSection(const QString& group, QWidget* parent)
    : QWidget(parent),
      m_title(groupTitle(group)),
      m_header(new QToolButton(this)),
      m_body(new QWidget(this)),
      m_column(new QVBoxLayout(m_body))
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_header);
    column->addWidget(m_body);
    m_column->setContentsMargins(0, 0, 0, 4);
    m_column->setSpacing(0);

    QFont bold = m_header->font();
    bold.setBold(true);
    m_header->setFont(bold);
    m_header->setAutoRaise(true);
    m_header->setFocusPolicy(Qt::TabFocus);
    m_header->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_header->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    m_header->setText(m_title);
    m_header->setObjectName(QStringLiteral("configSection/") + group);
    connect(m_header, &QToolButton::clicked, this, [this] {
        const bool isShown = m_isOpen || m_isForced;
        m_isForced = false;
        setOpen(!isShown);
    });
    refresh();
}

void FormSection::addRow(FieldRow* row)
{
    m_column->addWidget(row);
    m_rows.push_back(row);
}

void FormSection::setOpen(bool open)
{
    m_isOpen = open;
    refresh();
}

void FormSection::setForcedOpen(bool forced)
{
    m_isForced = forced;
    refresh();
}

void FormSection::setHits(int shown)
{
    setVisible(shown > 0);
    m_header->setAccessibleName(tr("%1, %n setting(s)", nullptr, shown).arg(m_title));
}

void FormSection::refresh()
{
    const bool isShown = m_isOpen || m_isForced;
    m_header->setArrowType(isShown ? Qt::DownArrow : Qt::RightArrow);
    m_header->setAccessibleDescription(isShown ? tr("Open; press to fold")
                                               : tr("Folded; press to open"));
    m_body->setVisible(isShown);
}

} // namespace vergence
