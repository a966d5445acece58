#include "plugins/mc_embedding/study/experiments/assignment.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"

namespace vergence::mc_embedding {

namespace {

/// Rows ≤ columns. Position 0 of columns is the free end of a path; rows and columns count from 1.
class Assignment {
public:
    explicit Assignment(const Matrix& costs)
        : m_costs(costs),
          m_rowPrice(costs.rows + 1, 0),
          m_columnPrice(costs.columns + 1, 0),
          m_rowOf(costs.columns + 1, 0),
          m_before(costs.columns + 1, 0)
    {
        for (std::size_t row = 1; row <= costs.rows; ++row)
            add(row);
    }

    std::vector<int> columns() const
    {
        std::vector<int> result(m_costs.rows, -1);
        for (std::size_t column = 1; column < m_rowOf.size(); ++column) {
            if (m_rowOf[column] > 0)
                result[m_rowOf[column] - 1] = static_cast<int>(column) - 1;
        }
        return result;
    }

private:
    /// Finds the shortest path of reduced costs from `row` to a free column and turns it over.
    void add(std::size_t row)
    {
        constexpr double kFar = std::numeric_limits<double>::infinity();
        std::vector<double> distance(m_rowOf.size(), kFar);
        std::vector<char> isDone(m_rowOf.size(), 0);
        std::size_t column = 0;
        m_rowOf[0] = row;
        while (m_rowOf[column] > 0) {
            isDone[column] = 1;
            const std::size_t from = m_rowOf[column];
            std::size_t next = 0;
            double step = kFar;
            for (std::size_t j = 1; j < m_rowOf.size(); ++j) {
                if (isDone[j])
                    continue;
                const double reduced =
                    m_costs(from - 1, j - 1) - m_rowPrice[from] - m_columnPrice[j];
                if (reduced < distance[j]) {
                    distance[j] = reduced;
                    m_before[j] = column;
                }
                if (distance[j] < step) {
                    step = distance[j];
                    next = j;
                }
            }
            for (std::size_t j = 0; j < m_rowOf.size(); ++j) {
                if (isDone[j]) {
                    m_rowPrice[m_rowOf[j]] += step;
                    m_columnPrice[j] -= step;
                } else {
                    distance[j] -= step;
                }
            }
            column = next;
        }
        for (; column != 0; column = m_before[column])
            m_rowOf[column] = m_rowOf[m_before[column]];
    }

    const Matrix& m_costs;
    std::vector<double> m_rowPrice, m_columnPrice;
    std::vector<std::size_t> m_rowOf, m_before; ///< per column
};

} // namespace

std::vector<int> optimalAssignment(const Matrix& costs)
{
    expects(std::all_of(costs.values.begin(), costs.values.end(),
                        [](double cost) { return std::isfinite(cost); }),
            "optimalAssignment: finite costs");
    if (costs.rows == 0 || costs.columns == 0)
        return std::vector<int>(costs.rows, -1);
    if (costs.rows <= costs.columns)
        return Assignment(costs).columns();
    Matrix turned(costs.columns, costs.rows);
    for (std::size_t r = 0; r < costs.rows; ++r) {
        for (std::size_t c = 0; c < costs.columns; ++c)
            turned(c, r) = costs(r, c);
    }
    const std::vector<int> rows = Assignment(turned).columns();
    std::vector<int> result(costs.rows, -1);
    for (std::size_t c = 0; c < rows.size(); ++c)
        result[static_cast<std::size_t>(rows[c])] = static_cast<int>(c);
    return result;
}

} // namespace vergence::mc_embedding
