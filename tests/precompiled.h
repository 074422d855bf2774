// Headers that most tests use and that never change; precompiled once for all test programs.
#pragma once
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <random>

#include "../cmake/precompiled.h"
