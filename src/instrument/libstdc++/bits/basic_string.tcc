// Stands before libstdc++'s own header of this name (the wrappers put this folder before the system's), which
// it includes.
//
// Up to C++17 libstdc++ has the members of std::string and std::wstring compiled, and says so to every program
// (`extern template class basic_string<char>`). They are not instrumented there: nothing that push_back, erase
// or compare do to a string would be seen. With the library's own switch at -1 they are compiled into the
// program instead, from the same templates: what every program gets in C++20, and with -D_GLIBCXX_ASSERTIONS in
// any standard. The empty string of the old strings that share their characters remains the library's, which
// the header sees to.
//
// The switch is set for this header only. At 0 it would do the same to streams and locales, whose facets keep
// caches that the library fills under locks of its own and reads without; and a definition of the macro on the
// command line does not outlive <bits/c++config.h>. The alternatives: reporting what the compiled members do
// around calls of them, seventy of each kind, would repeat each member's reasoning about lengths; the pass
// cannot instrument a body that is not there.
//
// Memory order, layout and what a program can observe of a string stay what they are. A program's code gets
// larger by the members that it uses.
#pragma push_macro("_GLIBCXX_EXTERN_TEMPLATE")
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE -1
#include_next <bits/basic_string.tcc>
#pragma pop_macro("_GLIBCXX_EXTERN_TEMPLATE")
