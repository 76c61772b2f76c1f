/* Stands in for CUDA's own <cuda.h> where a machine has none, so that an example which uses it is
 * built and run there too, with the fake driver. It declares what clients/examples needs, in the
 * words of lib/gpu/cuda_abi.hpp, which is held against the real header where that is. */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_STUB_LIBRARY = 34,
  CUDA_ERROR_NO_DEVICE = 100,
} CUresult;
typedef int CUdevice;
typedef struct CUctx_st* CUcontext;
typedef struct CUstream_st* CUstream;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
enum { CU_STREAM_NON_BLOCKING = 1 };

CUresult cuInit(unsigned flags);
CUresult cuGetErrorName(CUresult of, const char** name);
CUresult cuDevicePrimaryCtxRetain(CUcontext* primary, CUdevice of);
CUresult cuCtxSetCurrent(CUcontext current);
CUresult cuStreamCreate(CUstream* created, unsigned flags);
CUresult cuModuleLoadData(CUmodule* loaded, const void* image);
CUresult cuModuleGetFunction(CUfunction* found, CUmodule in, const char* name);
CUresult cuLaunchKernel(CUfunction launched, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream on, void** parameters, void** extra);

#ifdef __cplusplus
}
#endif

#endif
