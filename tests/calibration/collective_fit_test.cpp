#include "calibration/fit/collective_fit.hpp"

#include "tests/catch.hpp"
