#include "instrument/wrapper/command_line.h"

#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace deadheat::instrument::wrapper {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Words = std::vector<std::string>;

// Response files of the test at hand.
std::map<std::string, std::string>& files() {
  static std::map<std::string, std::string> all;
  return all;
}

Environment environment(const std::string& program = "deadheat-cc") {
  Environment made;
  made.program = program;
  made.clang = "clang";
  made.library_folder = "/lib";
  made.file_exists = [](const std::string& path) { return path.find("monitor") == std::string::npos; };
  made.read_file = [](const std::string& path, std::string& contents) {
    const auto found = files().find(path);
    if (found == files().end()) return false;
    contents = found->second;
    return true;
  };
  made.lend_file = [](const std::string&) { return std::string(); };
  return made;
}

Words run(const Words& arguments, const Environment& with = environment()) {
  Result<Command> command = make_command(with, arguments);
  return command.ok() ? command->arguments : Words{"error: " + command.error().message};
}

MATCHER(LoadsPlugin, "") {
  return ::testing::Matches(Contains("-fpass-plugin=/lib/deadheat_plugin.so"))(arg);
}
MATCHER(LinksRuntime, "") { return ::testing::Matches(Contains("/lib/libdeadheat_watch.a"))(arg); }
MATCHER(LinksStaticRuntime, "") {
  return ::testing::Matches(Contains("/lib/libdeadheat_watch_static.a"))(arg);
}

std::string error_of(const Words& arguments, const Environment& with = environment()) {
  Result<Command> command = make_command(with, arguments);
  return command.ok() ? "" : command.error().message;
}

TEST(Wrapper, CompilingLoadsThePluginAndLinksNothing) {
  for (const Words& arguments : {Words{"-c", "a.c"},
                                 {"-S", "a.cc"},
                                 {"-E", "a.cpp"},
                                 {"-M", "a.c"},
                                 {"-MM", "a.c"},
                                 {"-fsyntax-only", "a.c"},
                                 {"--analyze", "a.c"},
                                 {"-c", "-x", "c", "-"},
                                 {"-emit-llvm", "-c", "a.ll"},
                                 {"-xc++", "-c", "anything"}})
    EXPECT_THAT(run(arguments), AllOf(LoadsPlugin(), Not(LinksRuntime())))
        << ::testing::PrintToString(arguments);
}

TEST(Wrapper, LinkingAnExecutableAddsTheRuntime) {
  for (const Words& arguments : {Words{"a.o"},
                                 {"a.o", "-o", "a", "-lm"},
                                 {"-pie", "a.o"},
                                 {"-Wl,-z,now", "a.o"},
                                 {"-shared-libgcc", "a.o"},
                                 {"-rdynamic", "a.o"},
                                 {"a.s"},
                                 {"-v", "a.o"},
                                 {"-###", "a.o"},
                                 {"-MD", "-MF", "a.d", "a.o"},
                                 {"-L", "-c", "a.o"}})
    EXPECT_THAT(run(arguments), AllOf(LinksRuntime(), Not(LoadsPlugin())))
        << ::testing::PrintToString(arguments);
}

TEST(Wrapper, CompilingAndLinkingInOneGoDoesBoth) {
  EXPECT_THAT(run({"a.c", "b.cc", "c.o", "-o", "a"}), AllOf(LoadsPlugin(), LinksRuntime()));
  EXPECT_THAT(run({"-x", "c", "a", "-x", "none", "b.o"}), AllOf(LoadsPlugin(), LinksRuntime()));
}

TEST(Wrapper, SharedAndRelocatableOutputsGetNoRuntime) {
  for (const Words& arguments : {Words{"-shared", "a.o"},
                                 {"--shared", "a.o"},
                                 {"-Wl,-shared", "a.o"},
                                 {"-Wl,-z,now,-shared", "a.o"},
                                 {"-Xlinker", "-shared", "a.o"},
                                 {"-r", "a.o"},
                                 {"-Wl,-r", "a.o"},
                                 {"-Wl,--relocatable", "a.o"}})
    EXPECT_THAT(run(arguments), Not(LinksRuntime())) << ::testing::PrintToString(arguments);
}

TEST(Wrapper, ExecutablesAndSharedLibrariesMayUseTheSanitizersInterface) {
  for (const Words& arguments : {Words{"a.o"}, {"-static", "a.o"}, {"-shared", "a.o"}})
    EXPECT_THAT(run(arguments), Contains("/lib/libdeadheat_watch_sanitizer.a"))
        << ::testing::PrintToString(arguments);
  for (const Words& arguments : {Words{"-c", "a.c"}, {"-r", "a.o"}, {"-Wl,-r", "a.o"}})
    EXPECT_THAT(run(arguments), Not(Contains("/lib/libdeadheat_watch_sanitizer.a")))
        << ::testing::PrintToString(arguments);
}

TEST(Wrapper, LibrariesThatMustBeCompleteMayLackTheHooks) {
  for (const Words& arguments : {Words{"-shared", "-Wl,--no-undefined", "a.o"},
                                 {"-Wl,-z,defs", "-shared", "a.o"},
                                 {"-shared", "-Xlinker", "--no-undefined", "a.o"},
                                 {"-shared", "-z", "defs", "a.o"}})
    EXPECT_THAT(run(arguments), Contains("undefs")) << ::testing::PrintToString(arguments);
  EXPECT_THAT(run({"-shared", "a.o"}), Not(Contains("undefs")));
  EXPECT_THAT(run({"-Wl,--no-undefined", "a.o"}), Not(Contains("undefs")));
}

TEST(Wrapper, StaticLinksGetTheStaticRuntimeAndItsWraps) {
  for (const char* option : {"-static", "-static-pie", "--static"}) {
    EXPECT_THAT(run({option, "a.o"}),
                AllOf(LinksStaticRuntime(), Not(LinksRuntime()), Contains("-Wl,@/lib/watch.wrap")));
    EXPECT_THAT(run({option, "-c", "a.c"}), Not(LinksStaticRuntime()));
  }
  EXPECT_THAT(run({"a.o"}), Contains("--dynamic-list=/lib/watch.dynlist"));
}

TEST(Wrapper, AStaticCxxLibraryIsWrappedInAnElseDynamicProgram) {
  EXPECT_THAT(
      run({"-static-libstdc++", "a.o"}),
      AllOf(Contains("/lib/libdeadheat_watch_static_cxx.a"), Not(LinksRuntime()),
            Contains("-Wl,@/lib/watch_static_cxx.wrap"), Contains("--dynamic-list=/lib/watch.dynlist")));
  EXPECT_THAT(run({"-static", "-static-libstdc++", "a.o"}),
              AllOf(LinksStaticRuntime(), Not(Contains("-Wl,@/lib/watch_static_cxx.wrap"))));
  EXPECT_THAT(run({"-static-libstdc++", "-shared", "a.o"}),
              Not(Contains("/lib/libdeadheat_watch_static_cxx.a")));
}

TEST(Wrapper, HeadersArePrecompiledNotLinked) {
  EXPECT_THAT(run({"a.h"}), Not(LinksRuntime()));
  EXPECT_THAT(run({"-x", "c++-header", "a.h", "-o", "a.pch"}), Not(LinksRuntime()));
}

TEST(Wrapper, QuestionsPassThroughUntouched) {
  for (const Words& arguments :
       {Words{"--version"}, {"-v"}, {"-dumpmachine"}, {"-print-search-dirs"}, {"--help"}, {"-V"}, {}}) {
    Words expected = arguments;
    expected.insert(expected.begin(), "clang");
    EXPECT_EQ(run(arguments), expected);
  }
  EXPECT_THAT(run({"-cc1", "-version"}, environment("deadheat-c++")),
              ElementsAre("clang", "-cc1", "-version"));
}

TEST(Wrapper, TheNameChoosesTheLanguage) {
  EXPECT_THAT(run({"a.o"}, environment("deadheat-c++")), Contains("--driver-mode=g++"));
  EXPECT_THAT(run({"a.o"}), Not(Contains("--driver-mode=g++")));
}

TEST(Wrapper, UsersFlagsComeAfterOursSoThatTheyWin) {
  const Words command = run({"-g0", "-c", "a.c"});
  const auto lines = std::find(command.begin(), command.end(), "-gline-tables-only");
  const auto none = std::find(command.begin(), command.end(), "-g0");
  ASSERT_NE(lines, command.end());
  EXPECT_LT(lines - command.begin(), none - command.begin());
}

TEST(Wrapper, StringsAreCompiledIntoTheProgram) {
  EXPECT_THAT(run({"-c", "a.cc"}), Contains("/lib/libstdc++"));
  EXPECT_THAT(run({"a.o"}), Not(Contains("/lib/libstdc++")));
  EXPECT_THAT(run({"--deadheat-mode=record", "-c", "a.cc"}), Not(Contains("/lib/libstdc++")));
}

TEST(Wrapper, ArgumentsKeepTheirOrder) {
  const Words command = run({"a.o", "-Wl,--start-group", "-lx", "-Wl,--end-group", "b.o"});
  Words users;
  for (const std::string& word : command)
    if (word == "a.o" || word == "b.o" || word == "-lx" || word.starts_with("-Wl,--")) users.push_back(word);
  EXPECT_THAT(users, ElementsAre("a.o", "-Wl,--start-group", "-lx", "-Wl,--end-group", "b.o"));
}

TEST(Wrapper, ValuesOfOptionsAreNotInputs) {
  EXPECT_THAT(run({"-o", "a.c"}), ElementsAre("clang", "-o", "a.c"));
  EXPECT_THAT(run({"-include", "a.h", "-MF", "x.c", "--version"}), Not(LoadsPlugin()));
}

TEST(Wrapper, ResponseFilesAreReadAndHandedOnAsTheyAre) {
  files() = {{"args", "-c 'my file.c' @more"}, {"more", "-o \"x y.o\"\n"}, {"link", "a.o\nb.o\n-static\n"}};
  EXPECT_THAT(run({"@args"}),
              AllOf(LoadsPlugin(), Not(LinksRuntime()), Contains("@args"), Not(Contains("my file.c"))));
  EXPECT_THAT(run({"@link", "-o", "a"}), LinksStaticRuntime());
  EXPECT_THAT(run({"@missing", "a.o"}), LinksRuntime());
  files() = {{"loop", "@loop a.o"}};
  EXPECT_THAT(run({"@loop"}), LinksRuntime());
}

TEST(Wrapper, ModeOffIsPlainClang) {
  EXPECT_THAT(run({"--deadheat-mode=off", "a.c", "-fsanitize=thread"}),
              ElementsAre("clang", "a.c", "-fsanitize=thread"));
  Environment off = environment();
  off.mode_variable = "off";
  EXPECT_THAT(run({"a.c"}, off), ElementsAre("clang", "a.c"));
  EXPECT_THAT(run({"--deadheat-mode=watch", "a.c"}, off),
              LinksRuntime());  // the flag is nearer than the variable
}

TEST(Wrapper, WrongUsageIsOneClearLine) {
  EXPECT_THAT(error_of({"--deadheat-mode=fast", "a.c"}), HasSubstr("unknown mode 'fast': expected watch"));
  EXPECT_THAT(error_of({"--deadheat-opt=-speed", "a.c"}), HasSubstr("unknown optimisation 'speed'"));
  EXPECT_THAT(error_of({"--deadheat-opt=dominated", "a.c"}), HasSubstr("expected +name or -name"));
  EXPECT_THAT(error_of({"--deadheat-nothing", "a.c"}), HasSubstr("unknown option"));
  EXPECT_THAT(error_of({"--deadheat-mode=monitor", "a.o"}),
              HasSubstr("expected the runtime /lib/libdeadheat_monitor.a"));
  EXPECT_THAT(error_of({"-m32", "a.c"}), HasSubstr("expected a 64-bit target"));
}

TEST(Wrapper, AnExecutableWithoutTheCLibraryIsRefused) {
  for (const Words& arguments : {Words{"-nostdlib", "-ffreestanding", "-static", "a.c"},
                                 {"-nodefaultlibs", "a.o", "-lm"},
                                 {"-nolibc", "-static-pie", "a.o"}})
    EXPECT_THAT(error_of(arguments), AllOf(HasSubstr(arguments[0]), HasSubstr("expected -lc")))
        << ::testing::PrintToString(arguments);
  // What is no executable needs none, and there are many ways to name it.
  for (const Words& arguments : {Words{"-nostdlib", "-shared", "a.o"},
                                 {"-nostdlib", "-r", "a.o"},
                                 {"-nostdlib", "-c", "a.c"},
                                 {"-nostartfiles", "a.o"},
                                 {"-nodefaultlibs", "a.o", "-lc"},
                                 {"-nodefaultlibs", "a.o", "-l", "c"},
                                 {"-nodefaultlibs", "a.o", "-Wl,--start-group,-lc,-lgcc,--end-group"},
                                 {"-nodefaultlibs", "a.o", "-Xlinker", "-lc"},
                                 {"-nostdlib", "a.o", "-l:libc.so.6"},
                                 {"-nostdlib", "a.o", "/opt/lib/libc.a"}})
    EXPECT_EQ(error_of(arguments), "") << ::testing::PrintToString(arguments);
}

TEST(Wrapper, EmulatedThreadLocalStorageIsRefused) {
  EXPECT_THAT(error_of({"-femulated-tls", "-c", "a.c"}), HasSubstr("-femulated-tls: cannot be combined"));
  EXPECT_EQ(error_of({"-femulated-tls", "-fno-emulated-tls", "-c", "a.c"}), "");
}

TEST(Wrapper, SanitizersWithARuntimeAreRefused) {
  EXPECT_THAT(error_of({"-fsanitize=thread", "a.c"}), HasSubstr("-fsanitize=thread: cannot be combined"));
  EXPECT_THAT(error_of({"-fsanitize=undefined,address", "a.c"}), HasSubstr("-fsanitize=address"));
  EXPECT_EQ(error_of({"-fsanitize=undefined", "a.c"}), "");
  EXPECT_EQ(error_of({"-fsanitize=thread", "-fno-sanitize=thread", "a.c"}), "");
  EXPECT_EQ(error_of({"-fsanitize=address", "-fno-sanitize=all", "a.c"}), "");
}

TEST(Wrapper, LinkTimeOptimisationGetsTheLinkerThatCan) {
  EXPECT_THAT(run({"-flto", "a.o"}), Contains("-fuse-ld=lld"));
  EXPECT_THAT(run({"-flto=thin", "a.c"}), Contains("-fuse-ld=lld"));
  EXPECT_THAT(run({"-flto", "-shared", "a.o"}), Contains("-fuse-ld=lld"));
  EXPECT_THAT(run({"-flto", "-fuse-ld=gold", "a.o"}), Not(Contains("-fuse-ld=lld")));
  EXPECT_THAT(run({"-flto", "-fno-lto", "a.o"}), Not(Contains("-fuse-ld=lld")));
  EXPECT_THAT(run({"-flto", "-c", "a.c"}), Not(Contains("-fuse-ld=lld")));
}

TEST(Wrapper, SwitchesReachThePlugin) {
  Result<Command> command =
      make_command(environment(), {"--deadheat-opt=-dominated,-loops", "--deadheat-stats", "-c", "a.c"});
  ASSERT_TRUE(command.ok());
  EXPECT_EQ(command->plugin_options, "mode=watch,stats,marked,-dominated,-loops");
  Result<Options> options = parse_options(command->plugin_options);
  ASSERT_TRUE(options.ok());
  EXPECT_FALSE(options->is_on(Optimisation::kDominated));
  EXPECT_TRUE(options->is_on(Optimisation::kEscape));
  EXPECT_TRUE(options->statistics);
  for (const std::string& word : command->arguments) EXPECT_FALSE(word.starts_with("--deadheat"));
}

TEST(Wrapper, IrIsNotMarkedByAnyFrontEnd) {
  for (const Words& arguments : {Words{"-c", "a.ll"}, {"-c", "a.bc"}, {"-c", "-x", "ir", "a"}}) {
    Result<Command> command = make_command(environment(), arguments);
    ASSERT_TRUE(command.ok());
    EXPECT_THAT(command->plugin_options, Not(HasSubstr("marked")));
    EXPECT_THAT(command->arguments, Not(Contains("-fsanitize=thread")));
  }
}

}  // namespace
}  // namespace deadheat::instrument::wrapper
