// A device of the test's own, through the C struct of verbs: it runs nothing, and a record's store
// lands when the test says so.
//
// Threads: any; what is set by hand, before streams use it.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "lib/port/gar_device.h"

namespace gar::test {

struct own_device {
  std::mutex mutex;
  std::map<void*, int> mapped;  // by page
  std::atomic<int> maps = 0;
  std::atomic<int> unmaps = 0;
  bool map_fails = false;
  bool settle_fails = false;
  uint64_t armed = 0;
  uint64_t done = 0;
  std::vector<std::pair<uint64_t*, uint64_t>> stores;  // not landed

  void run_all() {
    std::lock_guard lock(mutex);
    for (auto& [word, value] : stores) __atomic_store_n(word, value, __ATOMIC_RELEASE);
    stores.clear();
    done = armed;
  }

  static own_device& of(void* p) { return *static_cast<own_device*>(p); }
  static gar_device_ops ops() {
    gar_device_ops o{};
    o.struct_bytes = sizeof(o);
    o.name = "own";
    o.map = [](void* d, void* host, size_t, void** mapping, gar_device_failure* f) {
      std::lock_guard lock(of(d).mutex);
      if (of(d).map_fails) {
        f->status = 12;
        strcpy(f->call, "own_map");
        return GAR_FAILED;
      }
      ++of(d).maps;
      EXPECT_EQ(++of(d).mapped[host], 1) << "a page was mapped twice";
      *mapping = host;
      return 0;
    };
    o.unmap = [](void* d, void* mapping) {
      std::lock_guard lock(of(d).mutex);
      ++of(d).unmaps;
      EXPECT_EQ(--of(d).mapped[mapping], 0);
      for (auto& [word, value] : of(d).stores) {
        const auto at = reinterpret_cast<char*>(word) - static_cast<char*>(mapping);
        EXPECT_FALSE(at >= 0 && at < 4096) << "a page was unmapped under a pending store";
      }
      return 0;
    };
    o.arm = [](void* s, uint64_t sequence, const gar_device_store* word,
               const gar_device_store* bell, gar_device_failure*) {
      std::lock_guard lock(of(s).mutex);
      EXPECT_GT(sequence, of(s).armed);
      of(s).armed = sequence;
      for (const gar_device_store* store : {word, bell}) {
        if (!store) continue;
        char* host = static_cast<char*>(store->page->host) + store->offset_bytes;
        of(s).stores.emplace_back(reinterpret_cast<uint64_t*>(host), store->value);
      }
      return 0;
    };
    o.query = [](void* s, uint64_t sequence, gar_device_failure*) {
      std::lock_guard lock(of(s).mutex);
      return of(s).done >= sequence ? GAR_DONE : GAR_PENDING;
    };
    o.settle = [](void* s, gar_device_failure* f) {
      if (of(s).settle_fails) {
        f->status = 700;
        strcpy(f->call, "own_settle");
        return GAR_FAILED;
      }
      of(s).run_all();
      return 0;
    };
    return o;
  }
};

}  // namespace gar::test
