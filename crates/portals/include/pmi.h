/* PMI-1 as Netloom gives it to its ranks. */
#ifndef PMI_H
#define PMI_H

#ifdef __cplusplus
extern "C" {
#endif

#define PMI_SUCCESS 0
#define PMI_FAIL (-1)
#define PMI_ERR_INVALID_KEY 6
#define PMI_TRUE 1
#define PMI_FALSE 0
typedef int PMI_BOOL;

#define PMI_FUNCTION(name) extern __attribute__((weak)) int name

PMI_FUNCTION(PMI_Init)(int *spawned);
PMI_FUNCTION(PMI_Initialized)(PMI_BOOL *initialized);
PMI_FUNCTION(PMI_Finalize)(void);
PMI_FUNCTION(PMI_Get_rank)(int *rank);
PMI_FUNCTION(PMI_Get_size)(int *size);
PMI_FUNCTION(PMI_Get_universe_size)(int *size);
PMI_FUNCTION(PMI_Get_appnum)(int *appnum);
PMI_FUNCTION(PMI_Barrier)(void);
PMI_FUNCTION(PMI_Abort)(int exit_code, const char error_msg[]);
PMI_FUNCTION(PMI_KVS_Get_my_name)(char kvsname[], int length);
PMI_FUNCTION(PMI_KVS_Get_name_length_max)(int *length);
PMI_FUNCTION(PMI_KVS_Get_key_length_max)(int *length);
PMI_FUNCTION(PMI_KVS_Get_value_length_max)(int *length);
PMI_FUNCTION(PMI_KVS_Put)(const char kvsname[], const char key[], const char value[]);
PMI_FUNCTION(PMI_KVS_Commit)(const char kvsname[]);
PMI_FUNCTION(PMI_KVS_Get)(const char kvsname[], const char key[], char value[], int length);

#ifdef __cplusplus
}
#endif
#endif
