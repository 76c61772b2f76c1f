#include "lib/linux/lines_page.hpp"

namespace gar {

result<lines_page> lines_page::make(size_t system_pages) {
  const size_t bytes = system_pages * system_page_bytes();
  result<unique_fd> fd = make_memory_file("gar-lines", bytes);
  if (!fd) return fd.error();
  result<void> sealed = seal(fd->get(), sealing::fixed_size);
  if (!sealed) return sealed.error();
  result<mapping> map = mapping::of(fd->get(), bytes, map_access::read_only);
  if (!map) return map.error();
  return lines_page(std::move(*fd), std::move(*map), map_access::read_only);
}

result<lines_page> lines_page::receive(unique_fd fd, size_t bytes) {
  result<void> checked = check_memory_file(fd.get(), bytes, sealing::fixed_size, "a lines page");
  if (!checked) return checked.error();
  result<mapping> map = mapping::of(fd.get(), bytes, map_access::read_write);
  if (!map) return map.error();
  return lines_page(std::move(fd), std::move(*map), map_access::read_write);
}

}  // namespace gar
