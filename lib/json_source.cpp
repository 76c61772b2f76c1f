// Boost.JSON's own sources, compiled once for all programs.
#include <boost/json/src.hpp>
