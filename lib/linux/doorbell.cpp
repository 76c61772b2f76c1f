#include "lib/linux/doorbell.hpp"

namespace gar {

result<doorbell> doorbell::make() {
  const size_t bytes = system_page_bytes();
  result<unique_fd> fd = make_memory_file("gar-doorbell", bytes);
  if (!fd) return fd.error();
  result<void> sealed = seal(fd->get(), sealing::fixed_size);
  if (!sealed) return sealed.error();
  result<mapping> map = mapping::of(fd->get(), bytes, map_access::read_write);
  if (!map) return map.error();
  doorbell made(std::move(*fd), std::move(*map));
  proto::store_word(made.page().canary, proto::doorbell_canary);
  return made;
}

result<doorbell> doorbell::receive(unique_fd fd, size_t bytes) {
  if (bytes < sizeof(proto::doorbell_page)) {
    return error(errc::MalformedMessage,
                 {"a doorbell page of " + std::to_string(bytes) + " bytes"});
  }
  result<void> checked = check_memory_file(fd.get(), bytes, sealing::fixed_size, "the doorbell");
  if (!checked) return checked.error();
  result<mapping> map = mapping::of(fd.get(), bytes, map_access::read_write);
  if (!map) return map.error();
  return doorbell(std::move(fd), std::move(*map));
}

}  // namespace gar
