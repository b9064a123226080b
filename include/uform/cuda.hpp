/// What a GPU adds for host code: `Vram`, `Executor<Vram>`, and arenas of it. Any host compiler; no CUDA to build with.
#ifndef UFORM_CUDA_HPP
#define UFORM_CUDA_HPP

#include "uform/arena.hpp"
#include "uform/cuda/executor.hpp"
#include "uform/cuda/vram.hpp"
#include "uform/placement.hpp"
#include "uform/tape.hpp"

#endif // UFORM_CUDA_HPP
