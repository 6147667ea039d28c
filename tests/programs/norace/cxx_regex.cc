// rule: libraries
// claim: the tables in which libstdc++ remembers narrowed and widened characters are not the program's business
// expect: nothing
#include <regex>
#include <sstream>

#include "../order.h"

static void* body(void*) {
  std::regex expression("([a-z]+)[0-9]{2,}", std::regex::icase);
  use(std::regex_match("abc123", expression));
  std::ostringstream stream;
  stream << std::endl << 3.5 << stream.widen('x');
  use(static_cast<long>(stream.str().size()));
  return nullptr;
}

int main() { run3(body, body, body); }
