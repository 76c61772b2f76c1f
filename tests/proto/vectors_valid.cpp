#include <string>
#include <string_view>

#include "tests/proto/frame_writer.hpp"
#include "tests/proto/vectors.hpp"

namespace gar::proto::test {
namespace {

constexpr uint64_t u64_max = ~uint64_t{0};
constexpr uint32_t u32_max = ~uint32_t{0};

class collector {
 public:
  void add(const char* message, const char* name, const frame_writer& frame, const char* meaning) {
    vector_case one;
    one.file = std::string("valid/") + message + "/" + name + ".bin";
    one.message = message;
    one.bytes = frame.frame();
    one.fields = frame.fields();
    one.meaning = meaning;
    cases_.push_back(std::move(one));
  }
  std::vector<vector_case> take() { return std::move(cases_); }

 private:
  std::vector<vector_case> cases_;
};

// 63 bytes: 21 characters of three bytes each.
std::string longest_name() {
  std::string name;
  for (int i = 0; i < 21; ++i) name += "\xe5\xbe\x85";
  return name;
}

frame_writer hello(uint16_t drivers, uint16_t version_min, uint16_t version_max, uint32_t features,
                   std::string_view name) {
  return frame_writer(1, drivers)
      .u16("version_min", version_min)
      .u16("version_max", version_max)
      .u32("features", features)
      .field("client_name", name, 64);
}

void driver(frame_writer& frame, std::string_view name, bool available, std::string_view why) {
  frame.entry()
      .field("name", name, 16)
      .u8("available", available ? 1 : 0)
      .reserved(7)
      .field("why", why, 128);
}

void add_hello(collector& to) {
  to.add("hello", "smallest", hello(0, 1, 1, 0, "a"), "A name of one byte and no drivers.");
  frame_writer usual = hello(2, 1, 1, 0, "trainer");
  driver(usual, "vulkan", true, "");
  driver(usual, "cuda", false, "libcuda.so.1 is not installed");
  to.add("hello", "usual", usual, "Two drivers, one of them absent with a reason.");
  frame_writer largest = hello(8, 1, 65535, u32_max, longest_name());
  for (int i = 0; i < 8; ++i) {
    driver(largest, "driver-name-15" + std::to_string(i), i % 2 == 0, std::string(127, 'y'));
  }
  to.add("hello", "largest", largest,
         "Eight drivers, every field full; unknown features and later versions are no fault.");
}

frame_writer welcome(uint16_t scopes, uint64_t client_id, uint32_t page_bytes, uint32_t limit,
                     uint32_t pages_max, uint64_t generation, std::string_view word_wait,
                     std::string_view executor, uint32_t ring_entries = 0,
                     uint32_t request_flag = 0) {
  return frame_writer(2, 0)
      .u16("version", 1)
      .u16("plan_scopes", scopes)
      .u32("features", ring_entries == 0 ? 0 : 1)
      .u64("client_id", client_id)
      .u32("page_bytes", page_bytes)
      .u32("streams_max", limit)
      .u32("waits_max", limit)
      .u32("pages_max", pages_max)
      .u64("plan_generation", generation)
      .field("word_wait", word_wait, 16)
      .field("executor", executor, 16)
      .u32("ring_entries", ring_entries)
      .u32("request_flag", request_flag);
}

void add_welcome(collector& to) {
  to.add("welcome", "usual", welcome(1, 7, 4096, 1024, 16, 1, "software", "gpu-reactor"),
         "One plan follows; pages of 4096 bytes. Three descriptors come with it.");
  to.add("welcome", "largest",
         welcome(8192, u64_max, 65536, u32_max, 16, u64_max, "word-wait-of-15", "executor-of-15.",
                 4096, 3071),
         "Every field at its largest; pages of 64 KiB, and a ring.");
  to.add("welcome", "smallest", welcome(1, 0, 4096, 0, 1, 0, "w", "e"),
         "Every field at its smallest.");
  to.add("welcome", "ring", welcome(1, 8, 4096, 1024, 16, 1, "software", "gpu-reactor", 1024, 0),
         "With a ring of 1024 entries. Five descriptors come with it.");
}

frame_writer page(uint16_t index, uint32_t page_bytes) {
  return frame_writer(3, 0).u16("page_index", index).reserved(2).u32("page_bytes", page_bytes);
}

void add_page(collector& to) {
  to.add("page", "second", page(1, 4096), "The second page. One descriptor comes with it.");
  to.add("page", "last", page(15, 65536), "The sixteenth page, of 64 KiB.");
}

frame_writer open(uint64_t cookie, uint64_t base, uint8_t authority, std::string_view name) {
  return frame_writer(4, 0)
      .u64("cookie", cookie)
      .u64("base", base)
      .u8("authority", authority)
      .reserved(7)
      .field("stream_name", name, 64);
}

void add_open(collector& to) {
  to.add("open", "unnamed", open(1, 0, 0, ""), "A new stream with the owner as authority.");
  to.add("open", "word", open(2, 0, 1, "dpu"), "A stream whose word is its authority.");
  to.add("open", "largest", open(u64_max, u64_max, 1, longest_name()),
         "A base at the end of the range: the next number recorded is 0.");
}

frame_writer opened(uint64_t cookie, uint64_t base, uint32_t stream, uint32_t generation,
                    uint16_t page_index, uint16_t line_index, uint16_t slot) {
  return frame_writer(5, 0)
      .u64("cookie", cookie)
      .u64("base", base)
      .u32("stream", stream)
      .u32("stream_generation", generation)
      .u16("page_index", page_index)
      .u16("line_index", line_index)
      .u16("slot", slot)
      .reserved(2);
}

void add_opened(collector& to) {
  to.add("opened", "first", opened(1, 0, 0, 1, 0, 0, 0), "The first slot of the first page.");
  to.add("opened", "reused", opened(9, 4711, 3, 2, 0, 0, 3),
         "A slot used before: its base is the last value stored there.");
  to.add("opened", "largest", opened(u64_max, u64_max, u32_max, u32_max, 15, 65535, 7),
         "Every field at its largest.");
}

frame_writer close(uint64_t cookie, uint32_t stream, uint32_t generation, uint64_t last) {
  return frame_writer(6, 0)
      .u64("cookie", cookie)
      .u32("stream", stream)
      .u32("stream_generation", generation)
      .u64("last_sequence", last);
}

void add_close(collector& to) {
  to.add("close", "usual", close(10, 3, 2, 4800), "The last number recorded was 4800.");
  to.add("close", "largest", close(u64_max, u32_max, u32_max, u64_max),
         "Every field at its largest.");
  to.add("closed", "usual", frame_writer(7, 0).u64("cookie", 10), "The answer to a close.");
}

frame_writer plan(uint16_t text_bytes, uint64_t generation, uint16_t scope, uint16_t scope_index,
                  uint16_t scopes, std::string_view point_name) {
  return frame_writer(8, text_bytes)
      .u64("generation", generation)
      .u16("scope", scope)
      .u16("scope_index", scope_index)
      .u16("scopes", scopes)
      .reserved(2)
      .field("point_name", point_name, 64);
}

void add_plan(collector& to) {
  const std::string_view block = "block";
  to.add("plan", "default", plan(5, 1, 0, 0, 1, "").text("text", block),
         "The only scope of generation 1.");
  to.add("plan", "client", plan(4, 8, 1, 1, 4, "").text("text", "poll"),
         "The plan of this client's name, second of four scopes.");
  const std::string_view flag = "flag:park_us=100,backstop_us=10000";
  to.add("plan", "point",
         plan(static_cast<uint16_t>(flag.size()), 8, 2, 2, 4, "logits").text("text", flag),
         "The plan of a point, whoever the client is.");
  to.add("plan", "client_point", plan(5, 8, 3, 3, 4, longest_name()).text("text", block),
         "The plan of a point of this client.");
  // Four bands whose numbers are about as long as they may be: 512 bytes.
  const std::string longest =
      "flag:park_us=10000,backstop_us=1000000+predict:margin_us=1000000,min_sleep_us=10000000,"
      "max_sleep_us=10000000,window=16;rows>=1000000000:flag:park_us=10000,backstop_us=1000000"
      "+predict:margin_us=1000000,min_sleep_us=10000000,max_sleep_us=10000000,window=16;"
      "rows>=2000000000:flag:park_us=10000,backstop_us=1000000+predict:margin_us=1000000,"
      "min_sleep_us=10000000,max_sleep_us=10000000,window=16;rows>=4294967295:flag:park_us=10000,"
      "backstop_us=1000000+predict:margin_us=1000000,min_sleep_us=1,max_sleep_us=1,window=16";
  to.add(
      "plan", "longest",
      plan(static_cast<uint16_t>(longest.size()), u64_max, 0, 8191, 8192, "").text("text", longest),
      "A plan's text of 512 bytes, and every number at its largest.");
}

frame_writer point(uint32_t number, std::string_view name) {
  return frame_writer(9, 0).u32("point", number).reserved(4).field("point_name", name, 64);
}

void add_point(collector& to) {
  to.add("point", "first", point(1, "logits"), "Point 1 is called logits.");
  to.add("point", "last", point(256, longest_name()), "The highest number, the longest name.");
  to.add("point", "short", point(2, "p"), "A name of one byte.");
}

void wait(frame_writer& frame, uint64_t cookie, uint64_t target, uint64_t age_ns,
          uint64_t timeout_ns, uint64_t generation, uint32_t stream, uint32_t stream_generation,
          uint32_t point, uint32_t rows) {
  frame.entry()
      .u64("cookie", cookie)
      .u64("target", target)
      .u64("age_ns", age_ns)
      .u64("timeout_ns", timeout_ns)
      .u64("plan_generation", generation)
      .u32("stream", stream)
      .u32("stream_generation", stream_generation)
      .u32("point", point)
      .u32("rows", rows);
}

void add_wait(collector& to) {
  frame_writer usual(10, 1);
  wait(usual, 42, 4712, 1500, 0, 1, 3, 2, 1, 32);
  to.add("wait", "usual", usual, "No timeout, at point 1, in the band of 32 rows.");
  frame_writer smallest(10, 1);
  wait(smallest, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  to.add("wait", "smallest", smallest, "Every field 0.");
  frame_writer largest(10, 1);
  wait(largest, u64_max, u64_max, u64_max, u64_max, u64_max, u32_max, u32_max, 256, u32_max);
  to.add("wait", "largest", largest, "Every field at its largest; the age counts as 10 s.");
  frame_writer several(10, 3);
  for (uint32_t i = 0; i < 3; ++i) wait(several, 43 + i, 4712 + i, 0, 0, 1, 3, 2, 0, 0);
  to.add("wait", "several", several, "Three waits; each is taken or refused by itself.");
  frame_writer most(10, 73);
  for (uint32_t i = 0; i < 73; ++i) wait(most, 100 + i, 1 + i, 0, 0, 1, i, 1, 0, 0);
  to.add("wait", "most", most, "As many as fit.");
  to.add("cancel", "usual", frame_writer(11, 0).u64("cookie", 42), "Ends the wait with cookie 42.");
  to.add("kick", "usual", frame_writer(20, 0), "Wakes a reactor that no futex reaches.");
}

void completion(frame_writer& frame, uint64_t cookie, uint64_t wait_ns, uint64_t slept_ns,
                uint32_t parks, uint32_t backstop_queries, uint16_t code, uint8_t kind,
                uint8_t confirmed, int32_t status, std::string_view call) {
  frame.entry()
      .u64("cookie", cookie)
      .u64("wait_ns", wait_ns)
      .u64("slept_ns", slept_ns)
      .u32("parks", parks)
      .u32("backstop_queries", backstop_queries)
      .u16("code", code)
      .u8("kind", kind)
      .u8("confirmed", confirmed)
      .i32("status", status)
      .field("call", call, 48);
}

void add_completion(collector& to) {
  frame_writer one(12, 1);
  completion(one, 42, 1'900'000, 1'700'000, 2, 0, 0, 3, 0, 0, "");
  to.add("completion", "parked", one, "The word arrived; the owner asks its device once more.");
  frame_writer several(12, 5);
  completion(several, 1, 2'000'000, 0, 20, 1, 0, 3, 1, 0, "");
  completion(several, 2, 900'000, 750'000, 0, 0, 0, 2, 0, 0, "");
  completion(several, 3, 10'000'000, 0, 99, 1, 8, 3, 1, 719, "cuEventQuery");
  completion(several, 4, 5'000'000, 0, 50, 0, 13, 3, 0, 0, "");
  completion(several, 5, 0, 0, 0, 0, 0, 1, 0, 0, "");
  to.add("completion", "several", several,
         "Done by the owner's own answer, late, Backend with the vendor's call, TimedOut, "
         "immediate.");
  frame_writer most(12, 46);
  for (int i = 0; i < 46; ++i) {
    completion(most, u64_max, u64_max, u64_max, u32_max, u32_max, 65535, 3, 1, INT32_MIN,
               std::string(47, 'c'));
  }
  to.add("completion", "most", most, "As many as fit, every field at its largest.");
}

void probe(frame_writer& frame, uint64_t id, uint64_t sequence, uint32_t stream,
           uint32_t generation) {
  frame.entry()
      .u64("probe_id", id)
      .u64("sequence", sequence)
      .u32("stream", stream)
      .u32("stream_generation", generation);
}

void add_probe(collector& to) {
  frame_writer one(13, 1);
  probe(one, 1, 4712, 3, 2);
  to.add("probe", "one", one, "Is number 4712 of stream 3 done?");
  frame_writer most(13, 170);
  for (uint32_t i = 0; i < 170; ++i) probe(most, u64_max - i, u64_max, u32_max - i, u32_max);
  to.add("probe", "most", most, "As many as fit.");
}

void status(frame_writer& frame, uint64_t id, uint64_t sequence, uint32_t stream,
            uint32_t generation, uint8_t state, int32_t status, std::string_view call) {
  frame.entry()
      .u64("probe_id", id)
      .u64("sequence", sequence)
      .u32("stream", stream)
      .u32("stream_generation", generation)
      .u8("state", state)
      .reserved(3)
      .i32("status", status)
      .field("call", call, 48);
}

void add_status(collector& to) {
  frame_writer each(14, 3);
  status(each, 1, 4712, 3, 2, 0, 0, "");
  status(each, 2, 17, 0, 1, 1, 0, "");
  status(each, 3, 9, 1, 1, 2, -4, "vkGetSemaphoreCounterValue");
  to.add("status", "each", each, "Pending, done, and failed with the vendor's call.");
  frame_writer most(14, 51);
  for (int i = 0; i < 51; ++i) {
    status(most, u64_max, u64_max, u32_max, u32_max, 2, INT32_MAX, std::string(47, 'c'));
  }
  to.add("status", "most", most, "As many as fit, every field at its largest.");
}

void outcome(frame_writer& frame, uint64_t wait_ns, uint64_t slept_ns, uint64_t sample_ns,
             uint32_t stream, uint32_t generation, uint32_t point, uint32_t parks,
             uint32_t backstop_queries, uint32_t rows, uint16_t code, uint8_t what, uint8_t kind,
             uint8_t sample) {
  frame.entry()
      .u64("wait_ns", wait_ns)
      .u64("slept_ns", slept_ns)
      .u64("sample_ns", sample_ns)
      .u32("stream", stream)
      .u32("stream_generation", generation)
      .u32("point", point)
      .u32("parks", parks)
      .u32("backstop_queries", backstop_queries)
      .u32("rows", rows)
      .u16("code", code)
      .u8("what", what)
      .u8("kind", kind)
      .u8("sample", sample)
      .reserved(3);
}

void add_outcome(collector& to) {
  frame_writer each(15, 6);
  outcome(each, 3'000'000, 0, 0, 3, 2, 0, 0, 0, 8, 0, 0, 0, 0);
  outcome(each, 0, 0, 0, 3, 2, 1, 0, 0, 8, 0, 0, 1, 1);
  outcome(each, 900'000, 750'000, 450'000, 3, 2, 1, 0, 0, 8, 0, 0, 2, 2);
  outcome(each, 1'900'000, 750'000, 1'900'000, 3, 2, 1, 12, 1, 8, 0, 0, 3, 1);
  outcome(each, 0, 0, 0, 3, 2, 1, 0, 0, 8, 0, 1, 3, 0);
  outcome(each, 0, 0, 0, 3, 2, 0, 0, 0, 8, 27, 2, 1, 0);
  to.add(
      "outcome", "each", each,
      "Waits of each kind that ended at the owner, an early word, a wait refused by LimitWaits.");
  frame_writer most(15, 73);
  for (int i = 0; i < 73; ++i) {
    outcome(most, u64_max, u64_max, u64_max, u32_max, u32_max, 256, u32_max, u32_max, u32_max,
            65535, 2, 3, 2);
  }
  to.add("outcome", "most", most, "As many as fit, every field at its largest.");
}

frame_writer refusal(uint16_t text_bytes, uint64_t cookie, uint16_t code, uint16_t request_type,
                     uint8_t fatal) {
  return frame_writer(16, text_bytes)
      .u64("cookie", cookie)
      .u16("code", code)
      .u16("request_type", request_type)
      .u8("fatal", fatal)
      .reserved(3);
}

void add_error(collector& to) {
  const std::string_view limit = "4096 waits are pending, the most allowed";
  to.add("error", "refusal",
         refusal(static_cast<uint16_t>(limit.size()), 42, 0x1b, 10, 0).text("text", limit),
         "The wait with cookie 42 is refused by LimitWaits; the connection goes on.");
  const std::string_view twice = "hello is not allowed after welcome";
  to.add("error", "fatal",
         refusal(static_cast<uint16_t>(twice.size()), 0, 0x12, 1, 1).text("text", twice),
         "OutOfState: the connection is closed behind it.");
  to.add("error", "no_text", refusal(0, 0, 0x10, 0, 1), "The text may be missing.");
  to.add("error", "longest",
         refusal(1024, u64_max, 65535, 65535, 1).text("text", std::string(1024, 't')),
         "A number that the receiver does not know is no fault; the text is the longest.");
}

void add_bye(collector& to) {
  to.add("bye", "plain", frame_writer(17, 0).u16("code", 0).reserved(6), "Sent before closing.");
  to.add("bye", "shutting_down", frame_writer(17, 0).u16("code", 15).reserved(6),
         "gard is stopping; every pending wait was completed before.");
}

frame_writer ask(uint64_t cookie, std::string_view json) {
  return frame_writer(18, static_cast<uint16_t>(json.size()))
      .u64("cookie", cookie)
      .text("text", json);
}

void add_ask(collector& to) {
  to.add("ask", "status", ask(1, R"({"op":"status"})"), "A read-only request; needs no hello.");
  std::string longest = R"({"op":"version"})";
  longest.resize(3072, ' ');
  to.add("ask", "longest", ask(u64_max, longest), "3072 bytes of JSON, most of them blanks.");
}

frame_writer answer(uint64_t cookie, uint32_t offset, uint32_t total, std::string_view part) {
  return frame_writer(19, static_cast<uint16_t>(part.size()))
      .u64("cookie", cookie)
      .u32("offset_bytes", offset)
      .u32("total_bytes", total)
      .text("text", part);
}

void add_answer(collector& to) {
  const std::string_view version =
      R"({"ok":true,"result":{"version":"0.1.0","protocol_min":1,"protocol_max":1}})";
  to.add("answer", "whole", answer(1, 0, static_cast<uint32_t>(version.size()), version),
         "An answer in one frame.");
  to.add("answer", "first", answer(2, 0, 4073, "{" + std::string(4071, ' ')),
         "The first part of an answer of 4073 bytes: as much as fits.");
  to.add("answer", "second", answer(2, 4072, 4073, "}"), "Its second part.");
  to.add("answer", "end_of_largest", answer(3, (16u << 20) - 1, 16u << 20, "}"),
         "The last byte of the largest answer, 16 MiB.");
}

}  // namespace

std::vector<vector_case> valid_vectors() {
  collector to;
  add_hello(to);
  add_welcome(to);
  add_page(to);
  add_open(to);
  add_opened(to);
  add_close(to);
  add_plan(to);
  add_point(to);
  add_wait(to);
  add_completion(to);
  add_probe(to);
  add_status(to);
  add_outcome(to);
  add_error(to);
  add_bye(to);
  add_ask(to);
  add_answer(to);
  return to.take();
}

}  // namespace gar::proto::test
