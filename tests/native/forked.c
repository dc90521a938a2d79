/* A program that is forked while it publishes: the copy is told that the publisher is not its own, and ends. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include <visapult.h>

int main(void) {
  int64_t size[3] = {8, 8, 8};
  visapult_declaration *declaration = visapult_declare("forked", size);
  if (visapult_declare_field(declaration, "p", NULL, VISAPULT_FLOAT32) != 0) return 1;
  visapult_publisher *publisher = visapult_publish_listen(declaration, "127.0.0.1:0", NULL);
  visapult_declare_free(declaration);
  if (!publisher) return 1;
  pid_t copy = fork();
  if (copy == 0) {
    int said = visapult_begin(publisher, 0);
    printf("%d %s\n", said, visapult_last_error());
    return visapult_close(publisher);
  }
  int status = 1;
  waitpid(copy, &status, 0);
  if (status != 0 || visapult_begin(publisher, 0) || visapult_end(publisher)) return 1;
  return visapult_close(publisher);
}
