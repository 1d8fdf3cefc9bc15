#pragma once

// The model is public: programs that load runs with the library use it too.
#include <metatrain_timing/analyzer/run.hpp>
