/* libFuzzer entry for what stores keep: `make fuzz`. */
#include "tests/fuzz/stored_property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    stored_check(data, size);
    return 0;
}
