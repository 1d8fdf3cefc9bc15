#include "analyzer/render/table.hpp"

#include <algorithm>
#include <utility>

namespace metatrain_timing::analyzer {
namespace {

constexpr std::size_t kGap = 2;

std::string trimmed(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

std::string padded(const std::string& cell, std::size_t width, Align align) {
    const std::size_t taken = display_width(cell);
    const std::string space(width > taken ? width - taken : 0, ' ');
    return align == Align::left ? cell + space : space + cell;
}

// The text form of one table: which columns it shows and how wide each is.
class Layout {
  public:
    Layout(const std::vector<Column>& columns,
           const std::vector<std::vector<std::string>>& rows, const TextStyle& style,
           std::size_t indent)
        : columns_(columns), indent_(indent) {
        for (std::size_t i = 0; i < columns.size(); ++i) {
            std::size_t width = display_width(printable(columns[i].title, style.utf8));
            for (const auto& row : rows) {
                width = std::max(width, display_width(row[i]));
            }
            widths_.push_back(width);
            shown_.push_back(i);
        }
        drop_until_fits(style.width);
        narrow_first_until_fits(style.width);
    }

    std::string row(const std::vector<std::string>& cells) const {
        std::string line(indent_, ' ');
        std::string before;
        for (const std::size_t i : shown_) {
            std::string cell = cells[i];
            if (i == shown_.front() && display_width(cell) > widths_[i]) {
                before = trimmed(line + cell) + "\n";
                cell.clear();
            }
            line +=
                padded(cell, widths_[i], columns_[i].align) + std::string(kGap, ' ');
        }
        return before + trimmed(line) + "\n";
    }

    std::string rule() const {
        return std::string(indent_, ' ') + std::string(total() - indent_, '-') + "\n";
    }

  private:
    std::size_t total() const {
        std::size_t sum = indent_ + kGap * (shown_.empty() ? 0 : shown_.size() - 1);
        for (const std::size_t i : shown_) {
            sum += widths_[i];
        }
        return sum;
    }

    void drop_until_fits(std::size_t width) {
        while (total() > width) {
            const auto last = std::max_element(
                shown_.begin(), shown_.end(),
                [&](auto a, auto b) { return columns_[a].drop < columns_[b].drop; });
            if (last == shown_.end() || columns_[*last].drop == 0) {
                return;
            }
            shown_.erase(last);
        }
    }

    void narrow_first_until_fits(std::size_t width) {
        if (shown_.size() < 2 || total() <= width) {
            return;
        }
        std::size_t& first = widths_[shown_.front()];
        const std::size_t excess = total() - width;
        const std::size_t least = display_width(columns_[shown_.front()].title);
        first = std::max(least, first > excess ? first - excess : 0);
    }

    const std::vector<Column>& columns_;
    std::size_t indent_;
    std::vector<std::size_t> widths_;
    std::vector<std::size_t> shown_;
};

std::string markdown_cell(std::string_view cell) {
    std::string shown;
    for (const char c : printable(cell)) {
        switch (c) {
            case '<':
                shown += "&lt;";
                break;
            case '&':
                shown += "&amp;";
                break;
            case '|':
            case '\\':
            case '`':
            case '*':
            case '_':
            case '[':
            case ']':
                shown += '\\';
                [[fallthrough]];
            default:
                shown += c;
        }
    }
    return shown;
}

std::string csv_cell(std::string_view cell) {
    std::string shown;
    bool quoted = false;
    while (!cell.empty()) {
        const std::size_t plain = cell.find_first_of("\n\r\",");
        shown += printable(cell.substr(0, plain));
        if (plain == std::string_view::npos) {
            break;
        }
        quoted = true;
        shown += cell[plain];
        if (cell[plain] == '"') {
            shown += '"';
        }
        cell.remove_prefix(plain + 1);
    }
    return quoted ? '"' + shown + '"' : shown;
}

template <typename Cell>
std::string joined(const std::vector<std::string>& cells, std::string_view separator,
                   Cell cell) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        line += (i == 0 ? "" : separator);
        line += cell(cells[i]);
    }
    return line;
}

std::vector<std::string> titles_of(const std::vector<Column>& columns) {
    std::vector<std::string> titles;
    for (const Column& column : columns) {
        titles.push_back(column.title);
    }
    return titles;
}

}  // namespace

void Table::add_row(std::vector<std::string> cells) {
    cells.resize(columns_.size());
    rows_.push_back(std::move(cells));
}

std::string Table::text(const TextStyle& style, std::size_t indent) const {
    auto rows = rows_;
    for (auto& row : rows) {
        for (std::string& cell : row) {
            cell = printable(cell, style.utf8);
        }
    }
    std::vector<std::string> titles = titles_of(columns_);
    for (std::string& title : titles) {
        title = printable(title, style.utf8);
    }
    const Layout layout(columns_, rows, style, indent);
    std::string text = layout.row(titles) + layout.rule();
    for (std::size_t i = 0; i <= rows.size(); ++i) {
        if (std::find(rules_.begin(), rules_.end(), i) != rules_.end()) {
            text += layout.rule();
        }
        if (i < rows.size()) {
            text += layout.row(rows[i]);
        }
    }
    return text;
}

std::string Table::markdown() const {
    std::string text =
        "| " + joined(titles_of(columns_), " | ", markdown_cell) + " |\n|";
    for (const Column& column : columns_) {
        text += column.align == Align::left ? " --- |" : " ---: |";
    }
    text += '\n';
    for (const auto& row : rows_) {
        text += "| " + joined(row, " | ", markdown_cell) + " |\n";
    }
    return text;
}

std::string Table::csv() const {
    std::string text = joined(titles_of(columns_), ",", csv_cell) + "\n";
    for (const auto& row : rows_) {
        text += joined(row, ",", csv_cell) + "\n";
    }
    return text;
}

std::string Table::tsv() const {
    const auto cell = [](const std::string& raw) { return printable(raw); };
    std::string text = joined(titles_of(columns_), "\t", cell) + "\n";
    for (const auto& row : rows_) {
        text += joined(row, "\t", cell) + "\n";
    }
    return text;
}

}  // namespace metatrain_timing::analyzer
