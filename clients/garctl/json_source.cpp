// Boost.JSON's own sources, compiled once for the programs that link the control link.
#include <boost/json/src.hpp>
