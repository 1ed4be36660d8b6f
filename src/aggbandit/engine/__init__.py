"""The compiled engine: `kernels` is what Numba compiles, `bridge` what stands between it and a learner."""
