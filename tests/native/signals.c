/* A program that has signals of its own: what it blocks waits for it, and what it is not told of does not end it. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#include <visapult.h>

int main(void) {
  int64_t size[3] = {8, 8, 8};
  visapult_declaration *declaration = visapult_declare("signals", size);
  if (visapult_declare_field(declaration, "p", NULL, VISAPULT_FLOAT32) != 0) return 1;
  visapult_publisher *publisher = visapult_publish_listen(declaration, "127.0.0.1:0", NULL);
  visapult_declare_free(declaration);
  if (!publisher) return 1;
  printf("%s\n", visapult_url(publisher));
  fflush(stdout);
  /* Until a page is there: threads have been started for it, too. */
  if (getchar() == EOF) return 1;
  sigset_t warning;
  sigemptyset(&warning);
  sigaddset(&warning, SIGUSR1);
  sigprocmask(SIG_BLOCK, &warning, NULL);
  /* As a batch system does before the time is up. */
  kill(getpid(), SIGUSR1);
  struct timespec at_once = {0, 0};
  printf("%s\n", sigtimedwait(&warning, NULL, &at_once) == SIGUSR1 ? "it is for the program" : "it is lost");
  fflush(stdout);
  if (getchar() == EOF) return 1;
  return visapult_close(publisher);
}
