/// Everything that a program on the host needs: models, arenas, executors, tapes.
#ifndef UFORM_UFORM_HPP
#define UFORM_UFORM_HPP

#include "uform/config.hpp" // first: it refuses older standards by name

#include "uform/arena.hpp"
#include "uform/deferred.hpp"
#include "uform/encoded.hpp"
#include "uform/executor.hpp"
#include "uform/model.hpp"
#include "uform/options.hpp"
#include "uform/outputs.hpp"
#include "uform/residency.hpp"
#include "uform/scalar.hpp"
#include "uform/status.hpp"
#include "uform/tape.hpp"
#include "uform/version.hpp"
#include "uform/view.hpp"

#endif // UFORM_UFORM_HPP
