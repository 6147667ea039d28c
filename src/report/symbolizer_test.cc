// Against real binaries: a small program is compiled in several ways and run; it prints its own addresses.
#include "report/symbolizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "report/raw.h"
#include "report/resolve.h"

namespace deadheat::report {
namespace {

using testing::HasSubstr;

const char kHeader[] = "inline __attribute__((always_inline)) void* inlined() { return here(); }\n";
const char kSource[] = R"(#include <link.h>
#include <cstdint>
#include <cstdio>
__attribute__((noinline)) void* here() { return __builtin_return_address(0); }
#include "part.h"
int counter;
struct Base { int id; };
struct Account : Base { long balance; struct { short x[2][3]; } in; bool open; double rate; };
namespace bank { Account accounts[4]; }
static float ratio;
int* pointer;
namespace {
__attribute__((noinline)) void* hidden() { return here(); }
}
__attribute__((noinline)) void* local(int) {
  static int calls;
  std::printf("calls %p\n", (void*)&calls);
  return inlined();
}
int main() {
  void* base = nullptr;
  dl_iterate_phdr([](dl_phdr_info* i, size_t, void* p) { *(uintptr_t*)p = i->dlpi_addr; return 1; }, &base);
  std::printf("base %p\nhidden %p\nlocal %p\n", base, hidden(), local(3));
  std::printf("counter %p\nbalance %p\nx %p\nrate %p\nopen %p\nratio %p\npointer %p\n", (void*)&counter,
              (void*)&bank::accounts[2].balance, (void*)&bank::accounts[1].in.x[1][2], (void*)&bank::accounts[0].rate,
              (void*)&bank::accounts[0].open, (void*)&ratio, (void*)&pointer);
}
)";

class SymbolizerTest : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/deadheat-test-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = std::filesystem::canonical(folder).string();
    std::filesystem::create_directories(folder_ + "/src");
    std::filesystem::create_directories(folder_ + "/build");
    std::ofstream(folder_ + "/src/app.cc") << kSource;
    std::ofstream(folder_ + "/src/part.h") << kHeader;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Compiles in a folder below ours, runs, remembers the printed addresses.
  void build(const std::string& where, const std::string& source, const std::string& flags) {
    module_ = folder_ + "/app";
    run("cd " + folder_ + "/" + where + " && " + DEADHEAT_TEST_CXX +
        " -std=c++20 -fuse-ld=lld-19 -O1 -fno-optimize-sibling-calls " + flags + " " + source + " -o " +
        module_);
    std::istringstream lines(run(module_));
    std::string name, address;
    std::map<std::string, std::uint64_t> found;
    while (lines >> name >> address) found[name] = address == "(nil)" ? 0 : std::stoull(address, nullptr, 16);
    std::uint64_t base = found["base"];
    for (auto [key, value] : found) addresses_[key] = value - base;
  }

  // Compiles NAME.cc; where `symbol` is, the file itself says.
  void build_quietly(const std::string& name, const std::string& symbol) {
    module_ = folder_ + "/" + name;
    run("cd " + folder_ + " && " + DEADHEAT_TEST_CXX + " -O2 -g -fuse-ld=lld-19 " + name + ".cc -o " + name);
    std::istringstream symbols(run("nm " + module_ + " | grep -w -e " + symbol + " -e _ZL[0-9]*" + symbol));
    std::string address;
    symbols >> address;
    addresses_[symbol] = std::stoull(address, nullptr, 16);
  }

  static std::string run(const std::string& command) {
    std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    std::string text;
    std::array<char, 4096> buffer{};
    while (std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
      text.append(buffer.data(), count);
    EXPECT_EQ(pclose(pipe), 0) << command << "\n" << text;
    return text;
  }

  const Stack& code(const std::string& name) { return symbolizer_.code(module_, addresses_.at(name) - 1); }
  DataSymbol data(const std::string& name) {
    auto symbol = symbolizer_.data(module_, addresses_.at(name));
    EXPECT_TRUE(symbol.has_value()) << name;
    return symbol.value_or(DataSymbol());
  }

  std::string folder_, module_;
  std::map<std::string, std::uint64_t> addresses_;
  Symbolizer symbolizer_;
};

TEST_F(SymbolizerTest, CodeHasInlinedFramesFilesAndLines) {
  build(".", "src/app.cc", "-g");
  const Stack& stack = code("local");
  ASSERT_EQ(stack.size(), 2u);
  EXPECT_EQ(stack[0].function, "inlined()");
  EXPECT_EQ(stack[0].file, "src/part.h");
  EXPECT_EQ(stack[0].line, 1);
  EXPECT_EQ(stack[1].function, "local(int)");
  EXPECT_EQ(stack[1].file, "src/app.cc");
  EXPECT_EQ(stack[1].line, 18);
  EXPECT_EQ(stack[1].function_line, 15);
  EXPECT_EQ(stack[1].directory, folder_);
  EXPECT_EQ(code("hidden")[0].function, "(anonymous namespace)::hidden()");
}

TEST_F(SymbolizerTest, FilesAreNamedAsTheCompilerWasGivenThem) {
  build("build", "../src/app.cc", "-g");
  EXPECT_EQ(code("hidden")[0].file, "../src/app.cc");
  EXPECT_EQ(code("hidden")[0].directory, folder_ + "/build");
}

TEST_F(SymbolizerTest, AFullPathStaysFullEvenFromItsOwnFolder) {
  build(".", folder_ + "/src/app.cc", "-g");
  EXPECT_EQ(code("hidden")[0].file, folder_ + "/src/app.cc");
}

TEST_F(SymbolizerTest, DataHasNamesDeclarationsAndParts) {
  build(".", "src/app.cc", "-g");
  DataSymbol counter = data("counter");
  EXPECT_EQ(counter.name, "counter");
  EXPECT_EQ(counter.part, "");
  EXPECT_EQ(counter.size, 4u);
  EXPECT_EQ(counter.declared.file, "src/app.cc");
  EXPECT_EQ(counter.declared.line, 6);
  EXPECT_EQ(counter.scalar, Scalar::kSigned);
  EXPECT_EQ(data("balance").name, "bank::accounts");
  EXPECT_EQ(data("balance").part, "[2].balance");
  EXPECT_EQ(data("x").part, "[1].in.x[1][2]");
  EXPECT_EQ(data("x").scalar_size, 2u);
  EXPECT_EQ(data("rate").scalar, Scalar::kFloat);
  EXPECT_EQ(data("open").scalar, Scalar::kBoolean);
  EXPECT_EQ(data("ratio").name, "ratio");
  EXPECT_EQ(data("pointer").scalar, Scalar::kPointer);
  EXPECT_EQ(data("calls").name, "local(int)::calls");
}

// The optimiser keeps such a flag as whether it has changed; its debug information is then a formula.
TEST_F(SymbolizerTest, AFlagThatTheOptimiserTurnedAroundHasADeclaration) {
  std::ofstream(folder_ + "/flag.cc") << R"(
    static bool going = true;
    __attribute__((noinline)) void stop() { going = false; }
    int main(int count, char**) {
      if (count > 1) stop();
      return going ? 0 : 1;
    })";
  build_quietly("flag", "going");
  EXPECT_EQ(data("going").name, "going");
  EXPECT_EQ(data("going").declared.file, "flag.cc");
  EXPECT_EQ(data("going").declared.line, 2);
  EXPECT_EQ(data("going").scalar, Scalar::kBoolean);
  EXPECT_EQ(data("going").stored_as, (StoredAs{{1, 0}}));
}

TEST_F(SymbolizerTest, ThreadLocalVariablesAreNamedByWhereTheyStandAmongThem) {
  std::ofstream(folder_ + "/locals.cc") << R"(
    thread_local int other = 1;
    struct Mine { short a; double b[2]; };
    thread_local Mine mine[2];
    int main() { return other + mine[1].a; })";
  build_quietly("locals", "mine");
  std::uint64_t const start = addresses_.at("mine");
  auto symbol = symbolizer_.thread_local_data(module_, start + 24 + 16);
  ASSERT_TRUE(symbol.has_value());
  EXPECT_EQ(symbol->name, "mine");
  EXPECT_EQ(symbol->part, "[1].b[1]");
  EXPECT_EQ(symbol->start, start);
  EXPECT_EQ(symbol->size, 48u);
  EXPECT_EQ(symbol->scalar, Scalar::kFloat);
  EXPECT_EQ(symbol->declared.line, 4);
  EXPECT_FALSE(symbolizer_.thread_local_data(module_, 1 << 20).has_value());
}

TEST_F(SymbolizerTest, AVariableOfTwoValuesIsNotWhatIsStored) {
  std::ofstream(folder_ + "/changes.cc") << R"(
    static int mode = 7;
    __attribute__((noinline)) void change() { mode = -12; }
    int main(int argc, char**) {
      if (argc > 1) change();
      return mode; })";
  build_quietly("changes", "mode");
  DataSymbol const mode = data("mode");
  EXPECT_EQ(mode.scalar, Scalar::kSigned);
  EXPECT_EQ(mode.scalar_size, 4u);
  ASSERT_TRUE(mode.stored_as.has_value());
  EXPECT_EQ(static_cast<std::int32_t>((*mode.stored_as)[0]), 7);
  EXPECT_EQ(static_cast<std::int32_t>((*mode.stored_as)[1]), -12);
  build(".", "src/app.cc", "-g");
  EXPECT_FALSE(data("counter").stored_as.has_value());
}

TEST_F(SymbolizerTest, WithoutDebugInformationTheFunctionRemains) {
  build(".", "src/app.cc", "-g0");
  EXPECT_EQ(code("local")[0].function, "local(int)");
  EXPECT_EQ(code("local")[0].file, "");
  EXPECT_EQ(code("local")[0].offset, addresses_.at("local") - 1);
  EXPECT_EQ(data("counter").name, "counter");
  EXPECT_EQ(data("balance").part, "");
}

TEST_F(SymbolizerTest, AStrippedBinaryHasModuleAndOffset) {
  build(".", "src/app.cc", "-g0 -s");
  const Stack& stack = code("local");
  ASSERT_EQ(stack.size(), 1u);
  EXPECT_EQ(stack[0].function, "");
  EXPECT_EQ(stack[0].module, module_);
  EXPECT_EQ(stack[0].offset, addresses_.at("local") - 1);
  EXPECT_FALSE(symbolizer_.data(module_, addresses_.at("counter")).has_value());
}

TEST_F(SymbolizerTest, AnotherBuildOfTheModuleIsNotAsked) {
  build(".", "src/app.cc", "-g -Wl,--build-id=0x12345678");
  EXPECT_EQ(symbolizer_.code(module_, addresses_.at("local") - 1, "abcd")[0].function, "");
  Symbolizer another;
  EXPECT_EQ(another.code(module_, addresses_.at("local") - 1, "12345678")[0].function, "inlined()");
}

TEST_F(SymbolizerTest, MissingAndDamagedModulesHaveModuleAndOffset) {
  EXPECT_EQ(symbolizer_.code("/no/such/file", 16)[0].offset, 16u);
  EXPECT_EQ(symbolizer_.code("[vdso]", 16)[0].module, "[vdso]");
  std::ofstream(folder_ + "/junk") << "\177ELF but not really";
  EXPECT_EQ(symbolizer_.code(folder_ + "/junk", 16)[0].function, "");
  EXPECT_FALSE(symbolizer_.data(folder_ + "/junk", 16).has_value());
}

TEST_F(SymbolizerTest, ValuesAreWrittenAsTheirTypeReadsThem) {
  build(".", "src/app.cc", "-g");
  RawLog log;
  constexpr std::uint64_t kBias = 0x10000000;
  log.modules.push_back({0, module_, kBias, kBias, kBias + 0x100000, ""});
  auto value = [&](const char* variable, std::uint32_t size, const char* bits) {
    RawRace race;
    race.address = addresses_.at(variable) + kBias;
    race.variable.kind = VariableKind::kGlobal;
    race.accesses.resize(2);
    race.accesses[0].address = race.address;
    race.accesses[0].size = size;
    race.accesses[0].value = bits;
    return *resolve(log, race, symbolizer_).accesses[0].value;
  };
  EXPECT_EQ(value("counter", 4, "0xffffffff"), "-1");
  EXPECT_EQ(value("counter", 2, "0xffff"), "0xffff") << "half a number has no meaning";
  EXPECT_EQ(value("open", 1, "0x1"), "true");
  EXPECT_EQ(value("ratio", 4, "0x3fc00000"), "1.5");
  EXPECT_EQ(value("pointer", 8, "0x0"), "null");
  EXPECT_EQ(value("pointer", 8, "0x7fff00000000"), "0x7fff00000000");
}

}  // namespace
}  // namespace deadheat::report
