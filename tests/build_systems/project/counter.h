#pragma once
#ifdef __cplusplus
extern "C"
#endif
    void
    count_once(void);
extern int counter;
