/* libFuzzer entry for the parsers of graphs and tracks: `make fuzz`. */
#include "tests/fuzz/spaces_property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    spaces_check(data, size);
    return 0;
}
