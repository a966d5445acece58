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

/// The text that a value without a name of its own has: what the lab is left to choose.
inline constexpr std::string_view kAuto = "auto";

template <NamedEnum E>
std::vector<std::string> choicesOf()
{
    std::vector<std::string> choices;
    for (const auto& [value, name] : namesOf(E{}))
        choices.emplace_back(name);
    return choices;
}

template <NamedEnum E>
struct FieldTraits<E> {
    static constexpr FieldType type = FieldType::Enum;
    static std::vector<std::string> choices() { return choicesOf<E>(); }
    static ConfigValue toValue(E member) { return std::string(nameOf(member)); }
    static E fromConfig(const Config& config, const std::string& key)
    {
        return *enumOf<E>(config.get<std::string>(key));
    }
};
template <NamedEnum E>
struct FieldTraits<std::optional<E>> {
    static constexpr FieldType type = FieldType::Enum;
    static std::vector<std::string> choices()
    {
        std::vector<std::string> choices = choicesOf<E>();
        choices.emplace(choices.begin(), kAuto);
        return choices;
    }
    static ConfigValue toValue(std::optional<E> member)
    {
        return std::string(member ? nameOf(*member) : kAuto);
    }
    static std::optional<E> fromConfig(const Config& config, const std::string& key)
    {
        return enumOf<E>(config.get<std::string>(key));
    }
};
template <NamedEnum E>
struct FieldTraits<std::vector<E>> {
    static constexpr FieldType type = FieldType::StringList;
    static std::vector<std::string> choices() { return choicesOf<E>(); }
    static ConfigValue toValue(const std::vector<E>& member)
    {
        std::vector<std::string> names;
        for (const E value : member)
            names.emplace_back(nameOf(value));
        return names;
    }
    static std::vector<E> fromConfig(const Config& config, const std::string& key)
    {
        std::vector<E> values;
        for (const std::string& name : config.get<std::vector<std::string>>(key))
            values.push_back(*enumOf<E>(name));
        return values;
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

    /// The default is what a default-constructed C holds. Members of members have a path:
    /// add("eta", &C::sampler, &Sampler::eta).
    template <class... Members>
    FieldBuilder add(std::string key, Members... path)
    {
        const C defaults{};
        using Traits = detail::FieldTraits<std::remove_cvref_t<decltype((defaults.*....*path))>>;
        Field& field = m_fields.emplace_back();
        field.key = key;
        field.group = m_group;
        field.type = Traits::type;
        field.defaultValue = Traits::toValue((defaults.*....*path));
        if constexpr (requires { Traits::choices(); })
            field.choices = Traits::choices();
        if constexpr (requires {
                          Traits::isNarrow;
                      }) { // the member must hold what the field admits
            field.minimum = std::numeric_limits<int>::min();
            field.maximum = std::numeric_limits<int>::max();
        }
        m_readers.push_back([key, path...](const Config& config, C& target) {
            (target.*....*path) = Traits::fromConfig(config, key);
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
