// What the program's globals start with, and what the functions and variables outside it are called.
//
// A recording knows the addresses of what the program's code refers to; initial contents are in the IR. Where
// an initialiser refers to a global that no code names (the texts of a table of strings), its address is not
// known: it gets one of the live world's own, until a load of the program shows the true one.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "replay/live/memory.h"

namespace llvm {
class Constant;
class GlobalValue;
class GlobalVariable;
}  // namespace llvm

namespace deadheat::replay {
class Program;
struct Instance;
}  // namespace deadheat::replay

namespace deadheat::replay::live {

class Globals {
 public:
  // REQUIRES: all modules are prepared.
  Globals(const Program& program, Memory& memory);

  // What is at an address, if it is a function or variable that the program refers to; empty if not.
  std::string_view name_at(Address address) const;
  // Where something is that the program refers to; 0 if it does not.
  Address address_of(std::string_view name) const;
  // The address of a module's global, as its code sees it.
  Address address_of(const Instance& instance, const llvm::GlobalValue& global);
  // Writes an initialiser to any place.
  void write(const Instance& instance, const llvm::Constant& constant, Address address);

  // Before a world goes live: addresses that loads have shown since.
  void learn();

 private:
  // A pointer of an initialiser that points to a made-up address.
  struct Slot {
    Address where;
    std::uint64_t made_up;
    std::uint64_t offset;
    const Instance* instance;
    const llvm::GlobalVariable* global;
  };

  bool evaluate(const Instance& instance, const llvm::Constant& constant, std::uint64_t& value,
                const llvm::GlobalVariable*& made_up, std::uint64_t& base);

  const Program& program_;
  Memory& memory_;
  std::unordered_map<std::uint64_t, std::string> names_;
  std::unordered_map<std::string, Address> addresses_;
  std::unordered_map<const llvm::GlobalValue*, Address> made_up_;
  std::vector<Slot> slots_;
};

}  // namespace deadheat::replay::live
