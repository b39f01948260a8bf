/* The commands of the tool, as cli/main.c's table calls them: argv[0] is the command's own word; each gives
 * the exit code (enum tp_cli_exit). `map generate` and `draw` have headers of their own. */
#ifndef TP_CLI_COMMANDS_H
#define TP_CLI_COMMANDS_H

int tp_cli_bench(int argc, char **argv);
int tp_cli_trace(int argc, char **argv);
int tp_cli_run(int argc, char **argv);
int tp_cli_load(int argc, char **argv);
int tp_cli_inspect(int argc, char **argv);
int tp_cli_list(int argc, char **argv);
int tp_cli_watch(int argc, char **argv);
int tp_cli_health(int argc, char **argv);
int tp_cli_report(int argc, char **argv);
int tp_cli_algorithms(int argc, char **argv);

#endif
