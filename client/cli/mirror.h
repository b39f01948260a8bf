/* The map as a client knows it: the versions that its own changes made, side by side with the server's.
 *
 * What it is: holds the last TP_CLI_MIRROR_VERSIONS versions under the server's numbers, so that a move can
 * be checked against the version the server names; answers whether a goal is in reach in the newest one. A vehicle gets
 * where cells touch, however it drives: it can brake, or be stopped by a wall, and then go on to any free cell beside its
 * own. What it refuses: versions made by others; they are unknown here. Who calls it: `tickpath run`.
 */
#ifndef TP_CLI_MIRROR_H
#define TP_CLI_MIRROR_H

#include "client/cli/search_options.h"
#include "map/layer.h"
#include "map/walk.h"

enum { TP_CLI_MIRROR_VERSIONS = 4 };

struct tp_cli_mirror {
    const struct tp_map *versions[TP_CLI_MIRROR_VERSIONS]; /* newest first; NULL for none */
    const struct tp_map *bases[TP_CLI_MIRROR_VERSIONS]; /* with a layer: the map's, `versions` the layer's */
    struct tp_layer_kind kind;
    uint64_t newest; /* the server's number of versions[0] */
    enum tp_neighbours neighbours;
    enum tp_corners corners;
    bool drives;      /* the agents are vehicles */
    uint32_t *labels; /* by cell: its component in version `labelled`; 0 for impassable cells */
    uint64_t labelled;
    uint32_t *stack; /* for labelling */
};

/* Begins with a map that the server calls `version`, for agents that move as these options say; takes a reference of its
 * own. With `kind` (NULL: none) the versions are those of its layer, as the agents meet them. TP_ERR_NO_MEMORY, and those of
 * tp_layer_build. */
int tp_cli_mirror_init(struct tp_cli_mirror *mirror, const struct tp_map *map, const struct tp_layer_kind *kind,
                       uint64_t version, const struct tp_cli_search *search) TP_MUST_CHECK;
void tp_cli_mirror_fini(struct tp_cli_mirror *mirror);

/* Applies a batch that the server took and called `version`. TP_ERR_VERSION_MISMATCH if that is not the next
 * number (somebody else changes the map too), else as tp_map_apply. */
int tp_cli_mirror_apply(struct tp_cli_mirror *mirror, const struct tp_change *changes, size_t count,
                        uint64_t version) TP_MUST_CHECK;

/* The newest version is put anew on another server, which calls it `version`; the older ones are gone. */
void tp_cli_mirror_move(struct tp_cli_mirror *mirror, uint64_t version);

/* The map's newest version, without its layer. Borrowed. */
const struct tp_map *tp_cli_mirror_base(const struct tp_cli_mirror *mirror);

/* The version of that number; NULL if it was never made here or is too old. Borrowed. */
const struct tp_map *tp_cli_mirror_at(const struct tp_cli_mirror *mirror, uint64_t version);

/* Whether a way leads from one passable cell, or node, to another in the newest version. Cost: O(cells) once a version;
 * of a graph O(edges) each time. */
bool tp_cli_mirror_connected(struct tp_cli_mirror *mirror, uint32_t a, uint32_t b);

/* The nodes of a graph that can be reached from one of them, itself first; returns how many. Borrowed until the next call.
 * Cost: O(edges). */
uint32_t tp_cli_mirror_reach(struct tp_cli_mirror *mirror, uint32_t from, const uint32_t **nodes);

/* The label of the largest component of a grid's newest version, and how many cells it has. */
uint32_t tp_cli_mirror_largest(struct tp_cli_mirror *mirror, uint32_t *cells);

#endif
