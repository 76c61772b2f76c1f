// Boost.JSON's own sources, compiled once for gard.
#include <boost/json/src.hpp>
