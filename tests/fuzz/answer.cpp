// What garctl reads from gard: whatever JSON comes, its pages hold nothing that a terminal would
// obey; an answer cut into frames is the same again when it is put together.
#include <boost/json/parse.hpp>
#include <string>

#include "clients/garctl/gard_link.hpp"
#include "clients/garctl/views.hpp"
#include "lib/core/utf8.hpp"
#include "lib/linux/control_request.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

namespace gar::fuzz {
namespace {

// Lines of plain text.
void check_page(std::string page) {
  must(page.empty() || page.back() == '\n');
  for (char& c : page) {
    if (c == '\n') c = ' ';
  }
  must(valid_plain_text(page));
}

void show_all(const boost::json::value& result) {
  const paint none(false);
  for (const auto page : {status_page, clients_page, streams_page, points_page, plans_page,
                          version_page, change_page, caps_page}) {
    check_page(page(result, none));
  }
}

void read(const std::string& text) {
  const std::optional<reply> got = read_answer(text);
  if (got && std::holds_alternative<boost::json::value>(*got)) {
    show_all(std::get<boost::json::value>(*got));
  }
  boost::json::error_code wrong;
  const boost::json::value any = boost::json::parse(text, wrong);
  if (!wrong) show_all(any);
}

void cut_and_join(std::string_view text) {
  if (text.empty() || !valid_utf8(text) || text.find('\0') != std::string_view::npos) return;
  std::string joined;
  for (const proto::answer& part : proto::split_answer(7, text)) {
    const auto frame = proto::encode(part);
    const result<proto::message> came = proto::decode(frame);
    must(came.has_value());
    const result<bool> whole = add_answer_part(*came, joined);
    must(whole && *whole == (joined.size() == text.size()));
  }
  must(joined == text);
}

// Parts as a gard might send them that is wrong.
void join_any(input from) {
  std::string joined;
  for (int i = 0; i < 16 && !from.empty(); ++i) {
    proto::answer part;
    part.offset_bytes = static_cast<uint32_t>(from.value());
    part.total_bytes = static_cast<uint32_t>(from.value());
    part.part = from.text(64);
    const size_t before = joined.size();
    const result<bool> whole = add_answer_part(part, joined);
    must(whole || joined.size() == before);
    must(joined.size() <= proto::answer_bytes_max);
    if (!whole || *whole) return;
  }
}

}  // namespace
}  // namespace gar::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace gar::fuzz;
  const std::string text(reinterpret_cast<const char*>(data), bytes);
  read(text);
  cut_and_join(text);
  join_any(input(data, bytes));
  return 0;
}
