// Boost.JSON is header-only here: its one translation unit of gar-bench.
#include <boost/json/src.hpp>
