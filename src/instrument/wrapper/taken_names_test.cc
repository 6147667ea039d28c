// What needs files of other compilers and linkers is in wrappers_test.py.
#include "instrument/wrapper/taken_names.h"

#include <elf.h>

#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace deadheat::instrument::wrapper {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TakenNames, PosixNamesAreLeftToPrograms) {
  EXPECT_THAT(names_left_to_programs("index\nlink\nregcomp\nsend\n"),
              ElementsAre("index", "link", "regcomp", "send"));
}

TEST(TakenNames, WhatMeansTheSameWhoeverDefinesItStaysInterposed) {
  EXPECT_THAT(
      names_left_to_programs("malloc\nposix_memalign\nstrtok_r\nmemmem\nwcsdup\nfopen\npthread_mutex_lock\n"
                             "_ZdlPv\n__memcpy_chk\nthrd_create\nomp_set_lock\nAnnotateNoOp\nsigaction\n"),
      IsEmpty());
}

// An archive of one object that defines `defined`, weakly, and `other`.
std::string archive_with(const std::string& defined, const std::string& other) {
  const std::string names =
      std::string(1, '\0').append(defined).append(1, '\0').append(other).append(1, '\0');
  const Elf64_Sym symbols[] = {{},
                               {1, ELF64_ST_INFO(STB_WEAK, STT_FUNC), STV_DEFAULT, 1, 16, 32},
                               {static_cast<Elf64_Word>(2 + defined.size()),
                                ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), STV_DEFAULT, 1, 48, 8}};
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shnum = 2;
  header.e_shoff = sizeof header;
  Elf64_Shdr sections[2] = {};
  sections[0].sh_type = SHT_SYMTAB;
  sections[0].sh_link = 1;
  sections[0].sh_offset = sizeof header + sizeof sections;
  sections[0].sh_size = sizeof symbols;
  sections[1].sh_type = SHT_STRTAB;
  sections[1].sh_offset = sections[0].sh_offset + sizeof symbols;
  sections[1].sh_size = names.size();
  std::string object;
  object.append(reinterpret_cast<const char*>(&header), sizeof header);
  object.append(reinterpret_cast<const char*>(sections), sizeof sections);
  object.append(reinterpret_cast<const char*>(symbols), sizeof symbols);
  object += names;
  std::string size = std::to_string(object.size());
  size.resize(10, ' ');
  return "!<arch>\n" + std::string(48, ' ') + size + "`\n" + object;
}

Elf64_Sym symbol_of(const std::string& archive, unsigned i) {
  Elf64_Sym symbol;
  std::memcpy(&symbol, &archive[8 + 60 + sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Shdr) + i * sizeof symbol],
              sizeof symbol);
  return symbol;
}

TEST(TakenNames, ADefinitionBecomesAWeakReferenceAndNothingElseChanges) {
  const std::string before = archive_with("send", "sender");
  std::string archive = before;
  undefine(archive, {"link"});
  EXPECT_EQ(archive, before);
  undefine(archive, {"send"});
  EXPECT_EQ(archive.size(), before.size());
  EXPECT_EQ(symbol_of(archive, 1).st_shndx, SHN_UNDEF);
  EXPECT_EQ(ELF64_ST_BIND(symbol_of(archive, 1).st_info), STB_WEAK);
  EXPECT_EQ(symbol_of(archive, 2).st_shndx, 1);
}

TEST(TakenNames, WhatIsNoArchiveOrCutShortIsLeftAlone) {
  for (std::string text :
       {std::string("not an archive"), std::string("!<arch>\n"), archive_with("send", "x").substr(0, 200),
        archive_with("send", "x").substr(0, 70)}) {
    const std::string before = text;
    undefine(text, {"send"});
    EXPECT_EQ(text, before);
  }
}

TEST(TakenNames, WhatIsNoLibraryDefinesNothing) {
  EXPECT_THAT(defined_by("/nonexistent/libx.so", {"send"}), IsEmpty());
  EXPECT_THAT(find_libraries({{"/nonexistent/libx.so", true}, {"no-such-library"}, {"c"}, {"stdc++"}}, {}),
              IsEmpty());
}

}  // namespace
}  // namespace deadheat::instrument::wrapper
