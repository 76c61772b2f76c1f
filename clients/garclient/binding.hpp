// Binding: where a stream's numbers are stored, and who watches the word there.
//
// A stream has one binding at a time; when it is opened on another gard it gets a new one, and the
// numbers recorded before stay with the old.
//
//     numbers above base, up to the next binding's base  ->  one word of one page
//
// Invariants: immutable once a stream has it; page, mappings and link live as long as it does.
// Threads: any may read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "clients/garclient/device_mapping.hpp"
#include "clients/garclient/word_page.hpp"

namespace gar::owner {

class link;

struct binding {
  std::shared_ptr<word_page> page;
  size_t word_index = 0;
  uint64_t base = 0;  // the last number before those that are stored here

  // Empty for a word stream: no device stores.
  device_mappings::share mapped;
  device_mappings::share bell_mapped;  // empty in-process

  // Of the gard that watches the word; null in-process.
  std::shared_ptr<link> via;
  uint32_t stream_id = 0;
  uint32_t stream_generation = 0;

  // Of the library's own page: the word to give back.
  std::optional<own_pages::place> own;

  uint64_t& word() const { return page->word(word_index); }
};

}  // namespace gar::owner
