#include "map/profile.h"

#include <string.h>

void tp_profile_init_movingai(struct tp_profile *profile)
{
    memset(profile, 0, sizeof *profile);
    profile->weight['.'] = profile->weight['G'] = profile->weight['S'] = 1;
}

uint16_t tp_profile_least_weight(const struct tp_profile *profile)
{
    uint16_t least = 0;
    for (int i = 0; i < 256; i++)
        if (profile->weight[i] && (!least || profile->weight[i] < least))
            least = profile->weight[i];
    return least ? least : 1;
}

uint8_t tp_profile_least_class(const struct tp_profile *profile)
{
    uint16_t least = tp_profile_least_weight(profile);
    for (int i = 0; i < 256; i++)
        if (profile->weight[i] == least)
            return (uint8_t)i;
    return 0;
}

uint16_t tp_profile_largest_weight(const struct tp_profile *profile)
{
    uint16_t largest = 1;
    for (int i = 0; i < 256; i++)
        if (profile->weight[i] > largest)
            largest = profile->weight[i];
    return largest;
}

bool tp_profile_closes_all(const struct tp_profile *profile)
{
    for (int i = 0; i < 256; i++)
        if (profile->weight[i])
            return false;
    return true;
}
