/* The live view over HTTP: its page, its streams, terrain and sessions.
 *
 *     /                          the page; what it is made of under /view/
 *     /view/maps                 the maps, JSON, as /stats has them
 *     /view/terrain?map=NAME[&x=&y=&w=&h=][&shrink=]   a part of the terrain (view_terrain.h)
 *     /view/stream?map=NAME[&fps=N]   server-sent events: map, gone, changes (view_terrain.h), key, frame (view_agents.h), numbers
 *     /view/session?id=ID[&x=&y=&w=&h=][&cursor=]   what a session holds, JSON (daemon/serve/dump.h)
 *
 * What it refuses: other paths (404), queries that make no sense (400), more than the view takes at once (503). Whether the asker may
 * look on is http.c's business, before. Who calls it: http.c, on the HTTP thread; the server puts the view and its connections together.
 */
#ifndef TP_DAEMON_VIEW_HTTP_H
#define TP_DAEMON_VIEW_HTTP_H

#include "daemon/view/view.h"

#include <microhttpd.h>

/* Of a struct tp_view_config, whose connections are libmicrohttpd's. Any thread. */
void tp_view_http_suspend(void *connection);
void tp_view_http_resume(void *connection);

/* Whether the path is one of the view's. */
bool tp_view_http_is_ours(const char *path);

/* Whether it is that of a stream, which lasts for as long as it is read. */
bool tp_view_http_is_stream(const char *path);

/* Answers. *state is NULL at first; it may be left set, and the request is then answered by a second call. */
enum MHD_Result tp_view_http_answer(struct tp_view *view, struct MHD_Connection *connection, const char *path, void **state);

/* The request is over, one way or another: frees what was left in its state. */
void tp_view_http_end(void *state);

#endif
