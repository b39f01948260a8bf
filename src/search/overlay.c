/* What an agent that does not know the map takes it for, as a block graph: what it was told, and over it what it saw (guide.h).
 *
 *     told (free, or the known map's) -> with some tiles as believed -> with more of them -> ...      all forgotten: told again
 *
 * Beliefs take note of the tiles in which the agent saw something else than it believed (node/belief.h). They are laid over only when a
 * way is to be looked for, some at a time, each time for a block graph of its own that shares all other tiles with the one before. What
 * that costs is paid in units first. Memory: the tables of a block graph, and the parts of the tiles that were seen to be otherwise; under
 * the session's cap, at which nothing more is laid over.
 */
#include "search/internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    TILES_AT_ONCE = 8,       /* laid over at once */
    UNITS_A_TILE = 16,       /* what that costs: each tile, */
    TABLE_TILES_A_UNIT = 64, /* and the tables of a block graph, by the tiles of the map */
};

static const struct tp_blocks *told_blocks(const struct tp_mind *session)
{
    const struct tp_session_params *params = &session->params;
    const struct tp_map *map = session->map;
    enum tp_blocks_links links = tp_blocks_links_of(params->neighbours, params->corners);
    bool is_known = params->knowledge == TP_KNOWLEDGE_MAP;
    const struct tp_blocks *blocks = is_known ? params->known->blocks : map->free_blocks;
    /* cells seen weigh what they weigh by the map's own profile */
    bool fits = !is_known || memcmp(&params->known->profile, &map->profile, sizeof map->profile) == 0;
    return blocks && blocks->links == links && fits ? blocks : NULL;
}

void tp__overlay_count(struct tp_mind *session)
{
    struct tp_overlay *overlay = &session->guide.overlay;
    uint64_t now = atomic_load_explicit(&overlay->held.bytes, memory_order_relaxed);
    session->bytes += now - overlay->counted;
    overlay->counted = now;
}

bool tp__overlay_open(struct tp_mind *session)
{
    struct tp_overlay *overlay = &session->guide.overlay;
    const struct tp_blocks *told = session->belief.full ? NULL : told_blocks(session);
    size_t words = tp_belief_news_words(session->map), bytes = words * sizeof overlay->news.tiles[0];
    if (!told || bytes > session->search.nodes.tiles.bytes_max)
        return true;
    overlay->news.tiles = calloc(1, bytes);
    if (!overlay->news.tiles)
        return false;
    overlay->told = tp_blocks_ref(told);
    overlay->now = tp_blocks_ref(told);
    atomic_init(&overlay->held.bytes, bytes);
    session->belief.news = &overlay->news;
    tp__overlay_count(session);
    return true;
}

void tp__overlay_close(struct tp_mind *session)
{
    struct tp_overlay *overlay = &session->guide.overlay;
    tp_blocks_unref(overlay->now);
    tp_blocks_unref(overlay->told);
    free(overlay->news.tiles);
    session->belief.news = NULL;
    session->bytes -= overlay->counted;
    *overlay = (struct tp_overlay){0};
}

const struct tp_blocks *tp__overlay_blocks(const struct tp_mind *session)
{
    return session->belief.full ? session->map->blocks : session->guide.overlay.now;
}

bool tp__overlay_is_behind(const struct tp_mind *session)
{
    const struct tp_belief_news *news = &session->guide.overlay.news;
    return news->count || news->forgot;
}

static void read_tile(const void *context, uint32_t number, struct tp_map_tile *tile)
{
    tp_belief_read_tile(context, number, tile);
}

/* Takes the next tiles of which there is news, TILES_AT_ONCE at most; returns how many. */
static uint32_t take_news(struct tp_belief_news *news, size_t words, uint32_t *tiles)
{
    uint32_t taken = 0;
    for (size_t i = 0; i < words && news->count && taken < TILES_AT_ONCE; i++)
        for (; news->tiles[i] && taken < TILES_AT_ONCE; news->tiles[i] &= news->tiles[i] - 1) {
            tiles[taken++] = (uint32_t)i * 64 + (uint32_t)__builtin_ctzll(news->tiles[i]);
            news->count--;
        }
    return taken;
}

static void replace(struct tp_overlay *overlay, const struct tp_blocks *blocks)
{
    tp_blocks_unref(overlay->now);
    overlay->now = blocks;
}

/* Lays some tiles over. Without memory, or at the session's cap, they stay as they were. */
static void lay(struct tp_mind *session)
{
    struct tp_overlay *overlay = &session->guide.overlay;
    uint32_t tiles[TILES_AT_ONCE],
        taken = take_news(&overlay->news, tp_belief_news_words(session->map), tiles);
    struct tp_blocks *next;
    if (tp_blocks_believe(&next, overlay->now, session->map, tiles, taken, read_tile, &session->belief,
                          &overlay->held))
        return;
    tp__overlay_count(session);
    if (session->bytes <= session->search.nodes.tiles.bytes_max)
        replace(overlay, next);
    else
        tp_blocks_unref(next);
    tp__overlay_count(session);
}

bool tp__overlay_catch_up(struct tp_mind *session, const struct tp_budget *budget, uint64_t *units)
{
    struct tp_overlay *overlay = &session->guide.overlay;
    const struct tp_map *map = session->map;
    if (overlay->news.forgot) {
        replace(overlay, tp_blocks_ref(overlay->told));
        overlay->news.forgot = false;
        overlay->paid = 0; /* for what was to be laid over then */
    }
    while (overlay->news.count) {
        uint64_t tiles = overlay->news.count < TILES_AT_ONCE ? overlay->news.count : TILES_AT_ONCE;
        uint64_t price = tiles * UNITS_A_TILE + (uint64_t)map->tiles_x * map->tiles_y / TABLE_TILES_A_UNIT;
        uint64_t some = price - overlay->paid < *units ? price - overlay->paid : *units;
        overlay->paid += some;
        *units -= some;
        if (overlay->paid < price || (budget->expired && budget->expired(budget->context)))
            return false;
        overlay->paid = 0;
        lay(session);
    }
    return true;
}
