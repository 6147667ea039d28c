#include "report/symbolizer.h"

#include <llvm/DebugInfo/DIContext.h>
#include <llvm/DebugInfo/Symbolize/Symbolize.h>
#include <llvm/Object/BuildID.h>
#include <llvm/Object/ObjectFile.h>

#include <algorithm>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

namespace deadheat::report {
namespace {

std::string known(const std::string& text) {
  return text == llvm::DILineInfo::BadString || text == llvm::DILineInfo::Addr2LineBadString ? std::string()
                                                                                             : text;
}

std::string hex_of(llvm::ArrayRef<std::uint8_t> bytes) {
  std::string text;
  for (std::uint8_t byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

// Some functions exist in two versions (src/instrument/monitor_versions.h, private_versions.h).
std::string without_version(std::string function) {
  for (const std::string_view suffix : {" (.monitored", ".monitored", " (.dh_private", ".dh_private"})
    if (const size_t at = function.rfind(suffix); at != std::string::npos) function.resize(at);
  return function;
}

llvm::symbolize::LLVMSymbolizer::Options options() {
  llvm::symbolize::LLVMSymbolizer::Options options;
  // "As the compiler was given it": what the line table says relative to the compilation's directory, not
  // made absolute.
  options.PathStyle = llvm::DILineInfoSpecifier::FileLineInfoKind::RelativeFilePath;
  options.PrintFunctions = llvm::DILineInfoSpecifier::FunctionNameKind::LinkageName;
  options.UseSymbolTable = true;
  options.Demangle = true;
  return options;
}

}  // namespace

class Symbolizer::Impl {
 public:
  Impl() : llvm_(options()) {}

  const Stack& code(const std::string& module, std::uint64_t address, const std::string& build_id) {
    auto [it, is_new] = code_.try_emplace({module, address});
    if (!is_new) return it->second;
    Stack& stack = it->second;
    if (usable(module, build_id)) {
      auto frames =
          llvm_.symbolizeInlinedCode(module, {address, llvm::object::SectionedAddress::UndefSection});
      if (frames) {
        for (unsigned i = 0; i < frames->getNumberOfFrames(); i++)
          stack.push_back(location(frames->getFrame(i)));
      } else {
        llvm::consumeError(frames.takeError());
      }
    }
    name_as_given(stack, module, address);
    if (stack.empty()) stack.emplace_back();
    for (Location& location : stack) {
      count_from_named_function(location, module, address);
      location.module = module;
      location.offset = address;
    }
    return stack;
  }

  std::optional<DataSymbol> data(const std::string& module, std::uint64_t address,
                                 const std::string& build_id) {
    if (!usable(module, build_id)) return std::nullopt;
    auto global = llvm_.symbolizeData(module, {address, llvm::object::SectionedAddress::UndefSection});
    if (!global) {
      llvm::consumeError(global.takeError());
      return std::nullopt;
    }
    DataSymbol symbol;
    symbol.name = known(global->Name);
    // The symbol table answers with the nearest symbol below: not ours if it ends before the address.
    if (symbol.name.empty() || address < global->Start) return std::nullopt;
    if (global->Size != 0 && address >= global->Start + global->Size) return std::nullopt;
    symbol.start = global->Start;
    symbol.size = global->Size;
    symbol.declared.file = known(global->DeclFile);
    symbol.declared.line = static_cast<int>(global->DeclLine);
    if (symbol.declared.line == 0) symbol.declared.file.clear();
    add(debug_info(module).data(symbol.start, address), symbol);
    return symbol;
  }

  std::optional<DataSymbol> thread_local_data(const std::string& module, std::uint64_t offset,
                                              const std::string& build_id) {
    if (!usable(module, build_id)) return std::nullopt;
    DebugInfo& info = debug_info(module);
    auto found = info.thread_local_symbol(offset);
    if (!found) return std::nullopt;
    DataSymbol symbol;
    symbol.name = std::move(found->name);
    symbol.start = found->start;
    symbol.size = found->size;
    add(info.thread_local_data(symbol.start, offset), symbol);
    return symbol;
  }

  const std::vector<std::string>& notes() const { return notes_; }

 private:
  static void add(std::optional<DataDetails> details, DataSymbol& symbol) {
    if (!details) return;
    if (!details->declared.file.empty()) symbol.declared = details->declared;
    symbol.part = details->part;
    symbol.scalar = details->scalar;
    symbol.scalar_size = details->scalar_size;
    symbol.stored_as = details->stored_as;
  }

  static Location location(const llvm::DILineInfo& info) {
    Location location;
    location.function = without_version(known(info.FunctionName));
    location.function_line = static_cast<int>(info.StartLine);
    // Line 0 is the compiler saying that no line is right.
    if (info.Line != 0) {
      location.file = known(info.FileName);
      location.line = location.file.empty() ? 0 : static_cast<int>(info.Line);
      location.column = location.file.empty() ? 0 : static_cast<int>(info.Column);
    }
    return location;
  }

  // An unnamed function, such as a lambda, is part of the one it is written in: "main" of
  // "main::$_0::operator()() const".
  void count_from_named_function(Location& location, const std::string& module, std::uint64_t address) {
    if (location.function_line == 0) return;
    std::size_t const end = location.function.find("::$_");
    if (end == std::string::npos) return;
    auto line = debug_info(module).line_of_function(address, location.function.substr(0, end));
    if (line && *line <= location.function_line) location.function_line = *line;
  }

  DebugInfo& debug_info(const std::string& module) {
    std::unique_ptr<DebugInfo>& info = debug_info_[module];
    if (!info) info = std::make_unique<DebugInfo>(module);
    return *info;
  }

  // A source that was given with its full path, from inside its own folder, is stored as if it had been given
  // relative to it. What the unit is called is what the user wrote.
  void name_as_given(Stack& stack, const std::string& module, std::uint64_t address) {
    bool any_file =
        std::any_of(stack.begin(), stack.end(), [](const Location& l) { return !l.file.empty(); });
    if (!any_file) return;
    auto unit = debug_info(module).unit_of_code(address);
    if (!unit) return;
    for (Location& location : stack) {
      if (location.file.empty() || location.file[0] == '/') continue;
      location.directory = unit->directory;
      if (unit->file == unit->directory + "/" + location.file) location.file = unit->file;
    }
  }

  // Whether the file on disk is still what the program had loaded.
  bool usable(const std::string& module, const std::string& build_id) {
    if (module.empty() || module[0] == '[') return false;
    auto [it, is_new] = usable_.try_emplace(module, true);
    if (!is_new) return it->second;
    auto file = llvm::object::ObjectFile::createObjectFile(module);
    if (!file) {
      std::error_code const error = llvm::errorToErrorCode(file.takeError());
      if (error == std::errc::permission_denied)
        notes_.push_back(module + " cannot be read (permission denied): its code has no names and no lines");
      return it->second = false;
    }
    if (build_id.empty()) return true;
    std::string found = hex_of(llvm::object::getBuildID(file->getBinary()));
    return it->second = found.empty() || found == build_id;
  }

  llvm::symbolize::LLVMSymbolizer llvm_;
  std::map<std::pair<std::string, std::uint64_t>, Stack> code_;
  std::map<std::string, bool> usable_;
  std::vector<std::string> notes_;
  std::map<std::string, std::unique_ptr<DebugInfo>> debug_info_;
};

Symbolizer::Symbolizer() : impl_(std::make_unique<Impl>()) {}
Symbolizer::~Symbolizer() = default;

std::vector<std::string> Symbolizer::notes() const { return impl_->notes(); }

const Stack& Symbolizer::code(const std::string& module, std::uint64_t address, const std::string& build_id) {
  return impl_->code(module, address, build_id);
}

std::optional<DataSymbol> Symbolizer::data(const std::string& module, std::uint64_t address,
                                           const std::string& build_id) {
  return impl_->data(module, address, build_id);
}

std::optional<DataSymbol> Symbolizer::thread_local_data(const std::string& module, std::uint64_t offset,
                                                        const std::string& build_id) {
  return impl_->thread_local_data(module, offset, build_id);
}

}  // namespace deadheat::report
