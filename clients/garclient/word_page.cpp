#include "clients/garclient/word_page.hpp"

#include <string>
#include <utility>

#include "clients/garclient/kept.hpp"
#include "proto/limits.hpp"

namespace gar::owner {

result<std::shared_ptr<word_page>> word_page::make_own() {
  const size_t bytes = system_page_bytes();
  result<unique_fd> fd = make_memory_file("gar-words", bytes);
  if (!fd) return fd.error();
  result<mapping> map = mapping::of(fd->get(), bytes, map_access::read_write);
  if (!map) return map.error();
  std::shared_ptr<word_page> page(new word_page);
  page->own_ = std::move(*map);
  page->host_ = page->own_.data();
  page->bytes_ = bytes;
  return page;
}

result<std::shared_ptr<word_page>> word_page::of_gard(unique_fd fd, size_t bytes) {
  result<lines_page> lines = lines_page::receive(std::move(fd), bytes);
  if (!lines) return lines.error();
  std::shared_ptr<word_page> page(new word_page);
  page->of_gard_ = std::move(*lines);
  page->host_ = page->of_gard_->data();
  page->bytes_ = bytes;
  return page;
}

bool word_page::leak(const std::shared_ptr<word_page>& page) {
  if (page->leaked_.exchange(true)) return false;
  keep_for_ever(page);
  return true;
}

result<own_pages::place> own_pages::take() {
  std::lock_guard lock(mutex_);
  for (entry& e : pages_) {
    if (e.free.empty()) continue;
    const size_t index = e.free.back();
    e.free.pop_back();
    return place{e.page, index, e.base[index]};
  }
  if (pages_.size() == proto::pages_per_client_max) {
    const size_t words = pages_.size() * pages_.front().page->words();
    return error(errc::LimitStreams, {std::to_string(words)});
  }
  result<std::shared_ptr<word_page>> page = word_page::make_own();
  if (!page) return page.error();
  entry fresh{*page, {}, std::vector<uint64_t>((*page)->words())};
  fresh.free.reserve((*page)->words());  // giving back allocates nothing
  for (size_t i = (*page)->words(); i-- > 1;) fresh.free.push_back(i);
  pages_.push_back(std::move(fresh));
  return place{*page, 0, 0};
}

void own_pages::give_back(const place& where, uint64_t last) {
  std::lock_guard lock(mutex_);
  for (entry& e : pages_) {
    if (e.page != where.page) continue;
    e.base[where.word_index] = last;
    e.free.push_back(where.word_index);
  }
}

}  // namespace gar::owner
