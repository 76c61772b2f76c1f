// Fallback chain: a setting that says by itself what runs where it cannot.
//
// Asking for the best and running on any host are at odds, and code that decides between them is
// scattered ifs. Here the decision is data: a list of links, best first, each with what it needs.
// Resolving walks from the link asked for to the first one whose needs the host has.
//
//     constexpr fallback_chain<colour, 2> colours{{{colour::rgb, "rgb", {feature::display}},
//                                                  {colour::grey, "grey", {}}}};
//     resolved<colour, feature> r = resolve(colours, colour::rgb, table);
//
// `table[need]` gives something with `available` and `why` (capability.hpp has gard's own).
//
// Invariants: resolving never goes up the chain; the last link needs nothing (`ends_always`, which
// each chain asserts), so resolving always ends; when nothing is missing running == requested and
// `lacks` is empty.
// Threads: pure. Allocation: only where something is missing.
// Does not: warn or refuse. The caller knows whether a fallback is allowed (resolve.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/capability.hpp"
#include "lib/core/error.hpp"

namespace gar {

// What one link needs, at most four capabilities.
template <class Capability>
class needs_of {
 public:
  constexpr needs_of() = default;
  constexpr needs_of(std::initializer_list<Capability> needs) : count_(needs.size()) {
    std::copy(needs.begin(), needs.end(), need_.begin());
  }
  constexpr const Capability* begin() const { return need_.data(); }
  constexpr const Capability* end() const { return need_.data() + count_; }
  constexpr bool empty() const { return count_ == 0; }

 private:
  std::array<Capability, 4> need_{};
  size_t count_ = 0;
};

template <class Kind, class Capability = capability>
struct chain_link {
  Kind kind;
  std::string_view name;
  needs_of<Capability> needs;
};

template <class Kind, size_t N, class Capability = capability>
struct fallback_chain {
  std::array<chain_link<Kind, Capability>, N> links;

  constexpr bool ends_always() const { return links[N - 1].needs.empty(); }

  constexpr std::optional<Kind> find(std::string_view name) const {
    for (const auto& link : links) {
      if (link.name == name) return link.kind;
    }
    return std::nullopt;
  }
  // Empty where the chain has no such kind.
  constexpr std::string_view name_of(Kind kind) const {
    for (const auto& link : links) {
      if (link.kind == kind) return link.name;
    }
    return {};
  }
  // "io-uring, gpu-reactor, naive"
  std::string names() const {
    std::string all;
    for (const auto& link : links) {
      if (!all.empty()) all += ", ";
      all += link.name;
    }
    return all;
  }
};

template <class Capability>
struct lack {
  Capability missing;
  std::string why;
};

template <class Kind, class Capability = capability>
struct resolved {
  Kind requested;
  Kind running;
  // What the links that were passed over need and the host has not, each once, in their order.
  std::vector<lack<Capability>> lacks;

  bool fell_back() const { return !lacks.empty(); }
};

// `asked` is a kind of the chain, and the chain ends always: anything else is the caller's bug.
template <class Kind, size_t N, class Capability, class Table>
resolved<Kind, Capability> resolve(const fallback_chain<Kind, N, Capability>& chain, Kind asked,
                                   const Table& table) {
  resolved<Kind, Capability> r{asked, asked, {}};
  auto link = std::find_if(chain.links.begin(), chain.links.end(),
                           [&](const auto& l) { return l.kind == asked; });
  for (; link != chain.links.end(); ++link) {
    bool can_run = true;
    for (Capability need : link->needs) {
      if (table[need].available) continue;
      can_run = false;
      const bool known = std::any_of(r.lacks.begin(), r.lacks.end(),
                                     [&](const auto& l) { return l.missing == need; });
      if (!known) r.lacks.push_back({need, table[need].why});
    }
    if (!can_run) continue;
    r.running = link->kind;
    return r;
  }
  GAR_ASSERT(!"a chain has the kind that is asked for, and its last link needs nothing");
  return r;
}

}  // namespace gar
