// Result<T>: a value, or one line that says what is wrong, where, what was expected and what was found.
//
// Libraries return it; only cli/ prints it and chooses an exit code.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace deadheat {

struct Error {
  std::string message;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }

  // REQUIRES: ok().
  T& value() {
    DEADHEAT_CHECK(ok());
    return std::get<T>(state_);
  }
  const T& value() const {
    DEADHEAT_CHECK(ok());
    return std::get<T>(state_);
  }
  T& operator*() { return value(); }
  T* operator->() { return &value(); }

  // REQUIRES: !ok().
  const Error& error() const {
    DEADHEAT_CHECK(!ok());
    return std::get<Error>(state_);
  }

 private:
  std::variant<T, Error> state_;
};

struct Nothing {};
using Status = Result<Nothing>;

}  // namespace deadheat
