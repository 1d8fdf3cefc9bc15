#include "analyzer/render/query_report.hpp"

#include <fmt/format.h>

#include <metatrain_timing/version.hpp>

namespace metatrain_timing::analyzer {
namespace {

std::string hexadecimal(const Blob& blob) {
    std::string text;
    for (const char byte : blob.bytes) {
        text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    }
    return text;
}

struct ToJson {
    Json operator()(std::monostate) const { return nullptr; }
    Json operator()(std::int64_t value) const { return value; }
    Json operator()(double value) const { return number(value); }
    Json operator()(const std::string& value) const { return value; }
    Json operator()(const Blob& value) const { return hexadecimal(value); }
};

struct ToText {
    const std::string& null;

    std::string operator()(std::monostate) const { return null; }
    std::string operator()(std::int64_t value) const {
        return fmt::format("{}", value);
    }
    std::string operator()(double value) const { return fmt::format("{}", value); }
    std::string operator()(const std::string& value) const { return value; }
    std::string operator()(const Blob& value) const {
        return "x'" + hexadecimal(value) + "'";
    }
};

bool is_number(const SqlValue& value) {
    return std::holds_alternative<std::int64_t>(value) ||
           std::holds_alternative<double>(value);
}

// A column of numbers and NULLs, at least one number.
bool holds_numbers(const QueryResult& result, std::size_t column) {
    bool any = false;
    for (const auto& row : result.rows) {
        if (is_number(row[column])) {
            any = true;
        } else if (!std::holds_alternative<std::monostate>(row[column])) {
            return false;
        }
    }
    return any;
}

}  // namespace

Json query_json(const QueryResult& result) {
    Json rows = Json::array();
    for (const auto& row : result.rows) {
        Json values = Json::array();
        for (const SqlValue& value : row) {
            values.push_back(std::visit(ToJson{}, value));
        }
        rows.push_back(std::move(values));
    }
    return {{"schema", "mt.sql/1"},
            {"tool", {{"version", kVersion}}},
            {"files", files_json(result.files)},
            {"columns", result.columns},
            {"rows", std::move(rows)},
            {"warnings", warnings_json(result.warnings)}};
}

Table query_table(const QueryResult& result, const std::string& null) {
    std::vector<Column> columns;
    for (std::size_t i = 0; i < result.columns.size(); ++i) {
        columns.push_back(
            {result.columns[i], holds_numbers(result, i) ? Align::right : Align::left});
    }
    Table table(std::move(columns));
    for (const auto& row : result.rows) {
        std::vector<std::string> cells;
        for (const SqlValue& value : row) {
            cells.push_back(std::visit(ToText{null}, value));
        }
        table.add_row(std::move(cells));
    }
    return table;
}

}  // namespace metatrain_timing::analyzer
