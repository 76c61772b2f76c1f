// The registry of errors as the table that PROTOCOL.md shows.
#pragma once

#include <string>

namespace gar::proto::test {

// The lines between the marks, ended by a newline.
std::string error_table();

// `document` with the table in place of what is between its marks; "" where it has none.
std::string with_error_table(const std::string& document);

}  // namespace gar::proto::test
