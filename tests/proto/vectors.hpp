// The test vectors: every message as bytes, right and wrong, with what must come of it.
//
// The files under proto/vectors are these, written by make_vectors; a test compares them. They are
// for both ends of the protocol and for clients in other languages.
//
// Threads: pure functions. Allocation: freely.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gar::proto::test {

struct vector_case {
  std::string file;     // "valid/wait/longest.bin", under proto/vectors
  std::string message;  // the message's name, or "" where the frame has no known one
  std::string bytes;
  std::string meaning;  // a sentence
  std::string fields;   // of a valid message: its fields as a JSON object
  uint16_t error = 0;   // 0: none
  std::string state;    // out_of_state: "new" (before hello) or "ready" (after welcome)
  bool fatal = false;   // is the connection closed after the error?
};

// Every message, in its usual form and at its limits. A receiver takes each.
std::vector<vector_case> valid_vectors();
// Refused by whoever receives them, in any state.
std::vector<vector_case> invalid_vectors();
// Right as bytes; refused by gard in the state they name.
std::vector<vector_case> out_of_state_vectors();

std::vector<vector_case> all_vectors();
// The manifest, as JSON: {"version": 1, "vectors": [{...}, ...]}.
std::string vectors_manifest();

}  // namespace gar::proto::test
