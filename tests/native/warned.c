/* A program that a batch system warns before it ends it: it keeps what it has computed, and ends. With -DRANKS one of several.
   usage: warned [blocked], which asks between two steps for signals that it has blocked */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <visapult.h>
#ifdef RANKS
#include <mpi.h>
#endif

enum { N = 16 };
static float field[N * N * N];
static volatile sig_atomic_t noted;
static sigset_t warning;

static void note(int signal) { noted = signal != SIGALRM; }

static int is_warned(int asks) {
  struct timespec at_once = {0, 0};
  int warned = asks ? sigtimedwait(&warning, NULL, &at_once) > 0 : noted;
#ifdef RANKS
  MPI_Allreduce(MPI_IN_PLACE, &warned, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
#endif
  return warned;
}

int main(int count, char **arguments) {
  int rank = 0, ranks = 1, asks = count > 1 && strcmp(arguments[1], "blocked") == 0;
#ifdef RANKS
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#endif
  sigemptyset(&warning);
  sigaddset(&warning, SIGTERM);
  sigaddset(&warning, SIGUSR1);
  struct sigaction noting = {.sa_handler = note, .sa_flags = SA_RESTART};
  sigaction(SIGTERM, &noting, NULL);
  sigaction(SIGUSR1, &noting, NULL);
  sigaction(SIGALRM, &noting, NULL);
  if (asks) sigprocmask(SIG_BLOCK, &warning, NULL);

  int64_t size[3] = {N, N, N * ranks}, offset[3] = {0, 0, N * rank}, own[3] = {N, N, N};
  visapult_declaration *declaration = visapult_declare("warned", size);
  if (visapult_declare_rank(declaration, rank, ranks) || visapult_declare_box(declaration, offset, own) ||
      visapult_declare_field(declaration, "p", NULL, VISAPULT_FLOAT32) != 0 ||
      visapult_declare_parameter(declaration, "speed", NULL, VISAPULT_NUMBER, 0, 1, 0) != 0)
    return 1;
  visapult_publisher *publisher = visapult_publish_dial(declaration, NULL);
  visapult_declare_free(declaration);
  if (!publisher) return 1;
  printf("rank %d is process %d\n", rank, (int)getpid());
  fflush(stdout);
  int step = 0;
  for (; !is_warned(asks); step++) {
    if (visapult_steer(publisher) != VISAPULT_OK) return 1;
    if (visapult_begin(publisher, step) || visapult_put(publisher, 0, field, NULL) || visapult_end(publisher)) return 1;
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  }
  if (rank == 0) printf("kept %d steps\n", step);
  int status = visapult_close(publisher);
#ifdef RANKS
  MPI_Finalize();
#endif
  return status;
}
