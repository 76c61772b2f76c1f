// make_error_table FILE: puts the table of errors between the file's marks.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/proto/error_table.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_error_table FILE\n");
    return 64;
  }
  std::ifstream in(argv[1], std::ios::binary);
  const std::string document{std::istreambuf_iterator<char>(in), {}};
  const std::string made = gar::proto::test::with_error_table(document);
  if (made.empty()) {
    std::fprintf(stderr, "make_error_table: %s has no marks for the table\n", argv[1]);
    return 1;
  }
  std::ofstream out(argv[1], std::ios::binary | std::ios::trunc);
  out << made;
  return out.flush() ? 0 : 1;
}
