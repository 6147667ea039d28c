// rule: libraries
// claim: strings of the old kind may share their characters among threads that each have a copy
// flags: -std=c++17 -D_GLIBCXX_USE_CXX11_ABI=0
// expect: nothing
#include <string>

#include "../order.h"

static std::string const text("a text that many copies share"), nothing;

static void* body(void*) {
  for (int i = 0; i < 100; ++i) {
    std::string copy(text), none(nothing), another(copy);
    use(static_cast<long>(copy.size() + none.size()));
    another += copy;
    copy[0] = 'x';
    none.append("x");
    none.clear();
    std::string const last(none);
    use(static_cast<long>(last.find('x')));
  }
  return nullptr;
}

int main() { run3(body, body, body); }
