// Stepwise answer: the text that answers one request, made a part at a time.
//
// A list of sixty thousand streams takes longer to write than a handshake may wait. So an answer is
// made in steps, between which the thread does other things.
//
//   begun --step ... step--> whole --take--> gone
//
// Threads: one. Blocking: a step takes as long as its function. Ownership: owns the function.
// Errors: none; a refusal is a text too.
#pragma once

#include <functional>
#include <string>
#include <utility>

namespace gar {

class stepwise_answer {
 public:
  // Adds to the text; true: it is whole.
  using step_function = std::function<bool(std::string& text)>;

  // NOLINTNEXTLINE(google-explicit-constructor): a text that is whole is an answer.
  stepwise_answer(std::string whole) : text_(std::move(whole)) {}
  explicit stepwise_answer(step_function step) : step_(std::move(step)) {}

  // true: it is whole.
  bool step() {
    if (step_ && step_(text_)) step_ = nullptr;
    return !step_;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  step_function step_;
};

}  // namespace gar
