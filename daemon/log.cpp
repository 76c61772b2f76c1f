#include "daemon/log.hpp"

#include <fmt/core.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "lib/core/printable.hpp"
#include "lib/core/utf8.hpp"
#include "lib/linux/line_output.hpp"

namespace gar {
namespace {

// %*: the priority that the journal reads at the start of a line (syslog.h's numbers).
class journal_priority final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& line, const std::tm&,
              spdlog::memory_buf_t& into) override {
    const std::string_view text = priority(line.level);
    into.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return spdlog::details::make_unique<journal_priority>();
  }

 private:
  static std::string_view priority(spdlog::level::level_enum level) {
    if (level >= spdlog::level::err) return "<3>";
    if (level == spdlog::level::warn) return "<4>";
    return level == spdlog::level::info ? "<6>" : "<7>";
  }
};

// stderr, of which the reader may be slow, stopped or gone: its lines are lost then, and counted.
class stderr_lines final : public spdlog::sinks::base_sink<std::mutex> {
 private:
  void sink_it_(const spdlog::details::log_msg& line) override {
    if (dropped_ > 0) {
      const std::string told = fmt::format("{} log lines were dropped", dropped_);
      if (write({line.logger_name, spdlog::level::warn, told})) dropped_ = 0;
    }
    if (dropped_ > 0 || !write(line)) ++dropped_;
  }
  void flush_() override {}

  bool write(const spdlog::details::log_msg& line) {
    constexpr std::string_view cut = "...\n";
    spdlog::memory_buf_t text;
    formatter_->format(line, text);
    if (text.size() > line_bytes_max) {
      text.resize(utf8_prefix({text.data(), text.size()}, line_bytes_max - cut.size()).size());
      text.append(cut.data(), cut.data() + cut.size());
    }
    return write_line_now(STDERR_FILENO, {text.data(), text.size()});
  }

  uint64_t dropped_ = 0;
};

spdlog::level::level_enum spdlog_level(log_level level) {
  switch (level) {
    case log_level::debug:
      return spdlog::level::debug;
    case log_level::info:
      return spdlog::level::info;
    case log_level::warning:
      return spdlog::level::warn;
    case log_level::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::unique_ptr<spdlog::formatter> formatter_for(bool to_journal) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<journal_priority>('*').set_pattern(to_journal ? "%*%v"
                                                                    : "%Y-%m-%d %T.%e %l: %v");
  return formatter;
}

spdlog::logger& logger() {
  static spdlog::logger one = [] {
    spdlog::logger made("gard", std::make_shared<stderr_lines>());
    made.set_formatter(formatter_for(false));
    made.set_level(spdlog::level::info);
    return made;
  }();
  return one;
}

}  // namespace

void start_log(bool to_journal) {
  logger().set_formatter(formatter_for(to_journal));
}

void set_log_level(log_level level) {
  logger().set_level(spdlog_level(level));
}

bool logs(log_level level) {
  return logger().should_log(spdlog_level(level));
}

void log(log_level level, std::string_view text) {
  if (logs(level)) logger().log(spdlog_level(level), readable_text(text));
}

}  // namespace gar
