/* libFuzzer entry for the MovingAI parsers: `make fuzz`. */
#include "tests/fuzz/movingai_property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    movingai_check(data, size);
    return 0;
}
