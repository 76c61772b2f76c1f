// The page that opening a stream may probe with, as a client makes it.
#pragma once

#include <fcntl.h>

#include <memory>
#include <utility>

#include "lib/gpu/store_probe.hpp"
#include "lib/linux/lines_page.hpp"

namespace gar {

inline result<scratch_page> make_test_scratch() {
  struct both {
    lines_page reader, writer;
  };
  result<lines_page> reader = lines_page::make();
  if (!reader) return reader.error();
  result<lines_page> writer =
      lines_page::receive(unique_fd(fcntl(reader->fd(), F_DUPFD_CLOEXEC, 0)), reader->bytes());
  if (!writer) return writer.error();
  auto memory = std::make_shared<both>(both{std::move(*reader), std::move(*writer)});
  scratch_page page;
  page.writable = memory->writer.data();
  page.seen = &memory->reader.word(0);
  page.bytes = memory->writer.bytes();
  page.memory = std::move(memory);
  return page;
}

}  // namespace gar
