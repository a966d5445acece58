#pragma once

// Included by config.h; see there.

#include <array>
#include <charconv>
#include <deque>
#include <filesystem>
#include <limits>

namespace vergence {

namespace detail {
template <class T>
struct FieldTraits;

template <class T, class Stored, FieldType Type>
struct ScalarTraits {
    static constexpr FieldType type = Type;
    static ConfigValue toValue(const T& member) { return static_cast<Stored>(member); }
    static T fromConfig(const Config& config, const std::string& key)
    {
        return static_cast<T>(config.get<Stored>(key));
    }
};
template <>
struct FieldTraits<bool> : ScalarTraits<bool, bool, FieldType::Bool> {
};
template <>
struct FieldTraits<int> : ScalarTraits<int, std::int64_t, FieldType::Int> {
    static constexpr bool isNarrow = true;
};
template <>
struct FieldTraits<std::int64_t> : ScalarTraits<std::int64_t, std::int64_t, FieldType::Int> {
};
template <>
struct FieldTraits<std::uint64_t> : ScalarTraits<std::uint64_t, std::int64_t, FieldType::Seed> {
};
template <>
struct FieldTraits<float> {
    static constexpr FieldType type = FieldType::Float;
    // By way of its shortest spelling: 1e-4f is shown as 1e-04, not as 9.99999974737875e-05, and
    // reads back as the same float.
    static ConfigValue toValue(float member)
    {
        std::array<char, 32> buffer{};
        const char* end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), member).ptr;
        double value = 0;
        std::from_chars(buffer.data(), end, value);
        return value;
    }
    static float fromConfig(const Config& config, const std::string& key)
    {
        return static_cast<float>(config.get<double>(key));
    }
};
template <>
struct FieldTraits<double> : ScalarTraits<double, double, FieldType::Float> {
};
template <>
struct FieldTraits<std::string> : ScalarTraits<std::string, std::string, FieldType::String> {
};

template <>
struct FieldTraits<std::filesystem::path> {
    static constexpr FieldType type = FieldType::Path;
    static ConfigValue toValue(const std::filesystem::path& member) { return member.string(); }
    static std::filesystem::path fromConfig(const Config& config, const std::string& key)
    {
        return config.get<std::string>(key);
    }
};

template <class T, class Stored, FieldType Type>
struct ListTraits {
    static constexpr FieldType type = Type;
    static ConfigValue toValue(const std::vector<T>& member)
    {
        return std::vector<Stored>(member.begin(), member.end());
    }
    static std::vector<T> fromConfig(const Config& config, const std::string& key)
    {
        const auto& stored = config.get<std::vector<Stored>>(key);
        return std::vector<T>(stored.begin(), stored.end());
    }
};
template <>
struct FieldTraits<std::vector<int>> : ListTraits<int, std::int64_t, FieldType::IntList> {
    static constexpr bool isNarrow = true;
};
template <>
struct FieldTraits<std::vector<std::int64_t>>
    : ListTraits<std::int64_t, std::int64_t, FieldType::IntList> {
};
template <>
struct FieldTraits<std::vector<double>> : ListTraits<double, double, FieldType::FloatList> {
};
template <>
struct FieldTraits<std::vector<std::string>>
    : ListTraits<std::string, std::string, FieldType::StringList> {
};
} // namespace detail

template <class C>
class SchemaBuilder {
public:
    explicit SchemaBuilder(std::string id, int version = 1)
        : m_id(std::move(id)),
          m_version(version)
    {
    }

    /// Fields added from here on belong to this group.
    SchemaBuilder& group(std::string name)
    {
        m_group = std::move(name);
        return *this;
    }

    /// The default is what a default-constructed C holds.
    template <class T>
    FieldBuilder add(std::string key, T C::*member)
    {
        using Traits = detail::FieldTraits<T>;
        Field& field = m_fields.emplace_back();
        field.key = key;
        field.group = m_group;
        field.type = Traits::type;
        field.defaultValue = Traits::toValue(C{}.*member);
        if constexpr (requires {
                          Traits::isNarrow;
                      }) { // the member must hold what the field admits
            field.minimum = std::numeric_limits<int>::min();
            field.maximum = std::numeric_limits<int>::max();
        }
        m_readers.push_back([key, member](const Config& config, C& target) {
            target.*member = Traits::fromConfig(config, key);
        });
        return FieldBuilder(field);
    }

    /// A check over several fields, on the filled struct.
    SchemaBuilder& rule(std::string id, std::function<std::vector<ConfigIssue>(const C&)> check)
    {
        m_rules.push_back({std::move(id), std::move(check)});
        return *this;
    }

    ConfigSchema build() const
    {
        std::vector<Rule> rules;
        for (const auto& [id, check] : m_rules) {
            rules.push_back({id, [readers = m_readers, check](const Config& config) {
                                 C filled{};
                                 for (const auto& reader : readers)
                                     reader(config, filled);
                                 return check(filled);
                             }});
        }
        return ConfigSchema(m_id, m_version, std::vector<Field>(m_fields.begin(), m_fields.end()),
                            std::move(rules));
    }

    C read(const Config& config) const
    {
        C filled{};
        for (const auto& reader : m_readers)
            reader(config, filled);
        return filled;
    }

private:
    std::string m_id, m_group;
    int m_version;
    std::deque<Field> m_fields; // addresses must stay valid while FieldBuilders are alive
    std::vector<std::function<void(const Config&, C&)>> m_readers;
    std::vector<std::pair<std::string, std::function<std::vector<ConfigIssue>(const C&)>>> m_rules;
};

} // namespace vergence
