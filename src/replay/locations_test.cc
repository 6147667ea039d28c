#include "replay/locations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deadheat::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Numbers = std::vector<std::uint64_t>;

Numbers of(Locations& locations, std::uint64_t address, std::uint64_t size) {
  Numbers found;
  locations.visit(Address(address), size, /*all=*/true,
                  [&](ObjectId location, Address, unsigned) { found.push_back(location.value()); });
  return found;
}

Numbers known(Locations& locations, std::uint64_t address, std::uint64_t size) {
  Numbers found;
  locations.visit_known(Address(address), size,
                        [&](ObjectId location, Address, unsigned) { found.push_back(location.value()); });
  return found;
}

TEST(LocationsTest, BytesThatNoAccessTellsApartAreOneLocation) {
  Locations locations;
  locations.note(Address(0x1000), 8, ThreadId(1));
  locations.note(Address(0x1008), 4, ThreadId(1));
  EXPECT_EQ(of(locations, 0x1000, 8).size(), 1u);
  EXPECT_EQ(of(locations, 0x1008, 4).size(), 1u);
  EXPECT_EQ(of(locations, 0x1000, 8), of(locations, 0x1000, 8));
}

TEST(LocationsTest, NeighbouringBytesAreDifferentLocations) {
  Locations locations;
  locations.note(Address(0x1003), 1, ThreadId(1));
  locations.note(Address(0x1004), 1, ThreadId(1));
  locations.note(Address(0x1000), 8, ThreadId(1));
  const Numbers third = of(locations, 0x1003, 1), fourth = of(locations, 0x1004, 1);
  ASSERT_EQ(third.size(), 1u);
  ASSERT_EQ(fourth.size(), 1u);
  EXPECT_NE(third, fourth);
  EXPECT_EQ(of(locations, 0x1000, 8).size(), 4u);  // bytes 0 to 2, 3, 4, 5 to 7
}

TEST(LocationsTest, AnAccessAcrossGranulesHasALocationInEach) {
  Locations locations;
  locations.note(Address(0x1006), 4, ThreadId(1));
  const Numbers both = of(locations, 0x1006, 4);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(locations.address_of(ObjectId(both[0])), Address(0x1006));
  EXPECT_EQ(locations.address_of(ObjectId(both[1])), Address(0x1008));
}

TEST(LocationsTest, FreshMemoryHasNewLocations) {
  Locations locations;
  locations.note(Address(0x1000), 8, ThreadId(1));
  const Numbers before = of(locations, 0x1000, 8);
  EXPECT_EQ(known(locations, 0x1000, 8), before);
  locations.born(Address(0x1000), 16);
  EXPECT_THAT(known(locations, 0x1000, 8), IsEmpty());
  EXPECT_NE(of(locations, 0x1000, 8), before);
}

TEST(LocationsTest, APartOfAGranuleCanBeFresh) {
  Locations locations;
  locations.note(Address(0x1000), 4, ThreadId(1));
  locations.note(Address(0x1004), 4, ThreadId(1));
  const Numbers low = of(locations, 0x1000, 4), high = of(locations, 0x1004, 4);
  locations.born(Address(0x1004), 4);
  EXPECT_EQ(known(locations, 0x1000, 8), low);
  EXPECT_EQ(of(locations, 0x1000, 4), low);
  const Numbers again = of(locations, 0x1004, 4);
  EXPECT_NE(again, high);
  EXPECT_NE(again, low);
  EXPECT_EQ(of(locations, 0x1004, 4), again);
  EXPECT_EQ(locations.address_of(ObjectId(again[0])), Address(0x1004));
  // And as a whole, later: nothing of it is left for the next granule that is split.
  locations.born(Address(0x1000), 8);
  EXPECT_THAT(known(locations, 0x1000, 8), IsEmpty());
  EXPECT_NE(of(locations, 0x1000, 4), low);
  locations.born(Address(0x1000), 4);
  EXPECT_THAT(known(locations, 0x1000, 4), IsEmpty());
  EXPECT_EQ(known(locations, 0x1004, 4).size(), 1u);
}

TEST(LocationsTest, ARestartForgetsNumbersButNotBorders) {
  Locations locations;
  locations.note(Address(0x1004), 2, ThreadId(1));
  const Numbers first = of(locations, 0x1000, 8);
  locations.born(Address(0x1004), 2);
  of(locations, 0x1004, 2);
  locations.restart();
  EXPECT_EQ(locations.count(), 1u);  // location 0 is none
  EXPECT_EQ(of(locations, 0x1000, 8), first);
}

TEST(LocationsTest, FreshMemoryThatNobodyTouchedCostsNothing) {
  Locations locations;
  locations.born(Address(0x7f0000000000), std::uint64_t{1} << 40);
  EXPECT_EQ(locations.count(), 1u);
}

}  // namespace
}  // namespace deadheat::replay
