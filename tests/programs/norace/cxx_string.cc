// rule: libraries
// claim: threads may look at one string in any way that is const, copy it, and change strings of their own
// flags: -std=c++17
// expect: nothing
#include <sstream>
#include <string>

#include "../order.h"

std::string const text("a text that is longer than a short one"), brief("brief");
std::wstring const wide(L"a wide text");

static void* body(void*) {
  for (int i = 0; i < 50; ++i) {
    std::string own(text, 2, 20);
    own += brief;
    own.insert(3, text);
    own.replace(1, 4, brief).erase(7, 2);
    own.resize(own.size() + 3, 'x');
    own.swap(*&own);
    std::wstring mine(wide);
    mine.push_back(L'x');
    mine.assign(wide, 3, 4);
    std::ostringstream out;
    out << text << own << std::to_string(i);
    std::string line;
    std::istringstream in(out.str());
    std::getline(in, line);
    in.str(brief);
    in >> line;
    use(static_cast<long>(text.find("long") + text.compare(brief) + line.rfind('x') + mine.find(L'x') +
                          brief.find_first_of(own)));
  }
  return nullptr;
}

int main() { run3(body, body, body); }
