/* The assembler takes the files in (paths from the top folder, where make runs); daemon/view/view.mk has the object made anew when
 * one of them changes. */
#include "daemon/view/view_assets.h"

#include <string.h>

#define FILE_TAKEN(name, file)                                                                                         \
    __asm__(".pushsection .rodata\n" #name ":\n.incbin \"daemon/view/page/" file "\"\n" #name "_end:\n.byte 0\n.popsection\n"); \
    extern const char name[], name##_end[];

FILE_TAKEN(tp__view_page_html, "page.html")
FILE_TAKEN(tp__view_page_css, "page.css")
FILE_TAKEN(tp__view_icon_svg, "icon.svg")
FILE_TAKEN(tp__view_page_js, "page.js")
FILE_TAKEN(tp__view_wire_js, "wire.js")
FILE_TAKEN(tp__view_stage_js, "stage.js")
FILE_TAKEN(tp__view_charts_js, "charts.js")
FILE_TAKEN(tp__view_daemon_js, "daemon.js")

#define ASSET(path_text, type_text, name) {path_text, type_text, name, name##_end}
static const char javascript[] = "text/javascript; charset=utf-8";
static const struct tp_view_asset assets[] = {
    ASSET("/", "text/html; charset=utf-8", tp__view_page_html),
    ASSET("/view/page.css", "text/css; charset=utf-8", tp__view_page_css),
    ASSET("/view/icon.svg", "image/svg+xml", tp__view_icon_svg),
    ASSET("/view/page.js", javascript, tp__view_page_js),
    ASSET("/view/wire.js", javascript, tp__view_wire_js),
    ASSET("/view/stage.js", javascript, tp__view_stage_js),
    ASSET("/view/charts.js", javascript, tp__view_charts_js),
    ASSET("/view/daemon.js", javascript, tp__view_daemon_js),
};

const struct tp_view_asset *tp_view_asset_find(const char *path)
{
    for (size_t i = 0; i < sizeof assets / sizeof assets[0]; i++)
        if (strcmp(assets[i].path, path) == 0)
            return &assets[i];
    return NULL;
}
