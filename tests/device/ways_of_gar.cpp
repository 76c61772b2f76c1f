// gard's ways of waiting: one plan each, on the calling thread or by gard.
#include "tests/device/gar_stream_on.hpp"
#include "tests/device/way.hpp"

namespace gar::device_check {
namespace {

// Longer than any work of the check: a wait that fails by it is a finding.
constexpr uint64_t timeout_ns = 20'000'000'000;

class gar_way : public way {
 public:
  gar_way(const card& on, const gar_way_options& options, size_t lanes, size_t first_word)
      : way(options.name, on, on.primary(), lanes, first_word),
        client_(connect(gar_client_name(options.plan_name), options.socket, options.plan)),
        sequences_(lanes) {
    wait_.struct_bytes = sizeof(wait_);
    wait_.timeout_ns = timeout_ns;
    wait_.flags = options.run_inline ? GAR_WAIT_INLINE : 0;
    enter();
    for (size_t i = 0; i < lanes; ++i) streams_.push_back(open_stream(client_.get(), stream(i)));
  }

 private:
  void mark(size_t lane) override {
    need(gar_record(streams_[lane].get(), &sequences_[lane]), "gar_record");
  }
  void await(size_t lane) override {
    gar_report report{};
    need(gar_wait(streams_[lane].get(), sequences_[lane], &wait_, &report), "gar_wait");
    wait_counts& counts = counts_of(lane);
    if (report.kind < counts.kinds.size()) ++counts.kinds[report.kind];
    counts.delegated += report.delegated;
  }

  owned_client client_;
  std::vector<owned_stream> streams_;  // go before their client
  std::vector<uint64_t> sequences_;
  gar_wait_options wait_{};
};

}  // namespace

std::unique_ptr<way> make_gar_way(card& on, const gar_way_options& options, size_t lanes,
                                  size_t first_word) {
  return std::make_unique<gar_way>(on, options, lanes, first_word);
}

}  // namespace gar::device_check
