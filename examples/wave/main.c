/* An MPI program that publishes: the wave equation on a cube of air, with sources that move. */
#define _POSIX_C_SOURCE 199309L
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <time.h>

#include "options.h"
#include "patience.h"
#include "publish.h"
#include "solver.h"
#include "sources.h"

typedef struct {
  long steps;      /* published */
  double wall;     /* s */
  double waited;   /* s, for the next step to be due, and for viewers who have paused it */
  double own_cpu;  /* s of processor time of the thread that solves and publishes */
  double all_cpu;  /* s of this process's: the library's threads encrypt and send */
} run;

static void wait_until(double due) {
  double left = due - MPI_Wtime();
  if (left <= 0) return;
  struct timespec pause = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
  nanosleep(&pause, NULL);
}

static double cpu(clockid_t of) {
  struct timespec time;
  clock_gettime(of, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Rank 0's clock decides for all. */
static int is_over(const options *o, const run *done, double began, MPI_Comm ranks) {
  if (o->steps && done->steps >= o->steps) return 1;
  int over = o->seconds > 0 && MPI_Wtime() - began >= o->seconds;
  if (o->seconds > 0) {
    MPI_Request told;
    MPI_Ibcast(&over, 1, MPI_INT, 0, ranks, &told);
    await(1, &told);
  }
  return over;
}

/* Takes over what viewers want. 1 to go on, 0 to end in order, less on failure. */
static int tune(double settings[SETTINGS], solver *s, sources *all, visapult_publisher *publisher) {
  int said = publish_steer(publisher, settings);
  if (said == 1) {
    solver_tune(s, settings[COURANT], settings[RANGE]);
    sources_tune(all, (int)settings[SOURCES], settings[STRENGTH], settings[FREQUENCY]);
  }
  return said;
}

static int simulate(options *o, solver *s, visapult_publisher *publisher, run *done) {
  double began = MPI_Wtime(), due = began;
  double own_cpu = cpu(CLOCK_THREAD_CPUTIME_ID), all_cpu = cpu(CLOCK_PROCESS_CPUTIME_ID);
  sources all = {0};
  sources_tune(&all, (int)o->settings[SOURCES], o->settings[STRENGTH], o->settings[FREQUENCY]);
  sources_start(&all, s);
  while (!is_over(o, done, began, s->ranks)) {
    double asked = MPI_Wtime();
    int said = tune(o->settings, s, &all, publisher);
    if (said < 0) return 0;
    if (said == 0) break;
    done->waited += MPI_Wtime() - asked;
    if (!publish_step(publisher, s, s->travelled * EDGE_M / SOUND_M_S)) return 0;
    for (int i = 0; i < o->every; i++) {
      solver_step(s);
      sources_push(&all, s);
    }
    done->steps++;
    /* Time that is lost is not caught up. */
    double now = MPI_Wtime();
    due = o->rate > 0 && due + 1 / o->rate > now ? due + 1 / o->rate : now;
    done->waited += due - now;
    wait_until(due);
  }
  done->wall = MPI_Wtime() - began;
  done->own_cpu = cpu(CLOCK_THREAD_CPUTIME_ID) - own_cpu;
  done->all_cpu = cpu(CLOCK_PROCESS_CPUTIME_ID) - all_cpu;
  return 1;
}

/* Sum of squares of the field over all ranks: the same however the cube is split. Every rank calls. */
static double energy(const solver *s) {
  double own = 0, all = 0;
  for (int z = 0; z < s->size[2]; z++)
    for (int y = 0; y < s->size[1]; y++)
      for (int x = 0; x < s->size[0]; x++) {
        float u = s->now[place_of(s, x, y, z)];
        own += u * u;
      }
  MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, s->ranks);
  return all;
}

static void report(const options *o, const solver *s, const run *done, visapult_publisher *publisher) {
  int rank;
  visapult_counts counts;
  if (visapult_statistics(publisher, &counts)) return;
  double spent = counts.seconds;
  unsigned long long own[2] = {counts.sent, counts.missed}, all[2];
  MPI_Reduce(&spent, &counts.seconds, 1, MPI_DOUBLE, MPI_MAX, 0, s->ranks);
  MPI_Reduce(own, all, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, s->ranks);
  double squares = energy(s);
  MPI_Comm_rank(s->ranks, &rank);
  if (rank != 0) return;
  double solved = done->wall - done->waited;
  printf("%ld steps in %.2f s: %.1f steps/s; the solver made %.1f of its own steps per second of work; energy %.6e\n", done->steps,
         done->wall, (double)done->steps / done->wall, (double)(done->steps * o->every) / solved, squares);
  printf("rank 0 used %.3f s of processor time itself, its other threads %.3f s\n", done->own_cpu,
         fmax(done->all_cpu - done->own_cpu, 0));
  if (visapult_is_on(publisher))
    printf("publishing took %.3f ms per step, %.2f %% of the solver's time (the slowest rank's calls); %llu pieces of steps sent, %llu missed\n",
           1e3 * counts.seconds / fmax((double)done->steps, 1), 100 * counts.seconds / solved, all[0], all[1]);
  else
    printf("nothing was published: neither --url, VISAPULT_URL nor --listen says where to\n");
}

int main(int count, char **arguments) {
  MPI_Init(&count, &arguments);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  options options;
  solver solver = {0};
  run done = {0};
  int good = read_options(&options, count, arguments, rank == 0);
  if (good && !solver_start(&solver, options.n, options.settings[COURANT], options.settings[RANGE])) {
    fprintf(stderr, "wave: rank %d has no memory, or there are more ranks than %d samples can be split over\n", rank, options.n);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  visapult_publisher *publisher = good ? publish_open(&options, &solver) : NULL;
  if (!publisher) MPI_Abort(MPI_COMM_WORLD, 2);
  publish_tell(publisher, solver.ranks);
  if (!simulate(&options, &solver, publisher, &done)) MPI_Abort(MPI_COMM_WORLD, 3);
  report(&options, &solver, &done, publisher);
  visapult_close(publisher);
  solver_end(&solver);
  MPI_Finalize();
  return 0;
}
