/* Calls that fail while a thread, and then the program, ends: each has its code, and says something. usage: ends */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <visapult.h>

static pthread_key_t key;

static void fail(void *where) {
  int code = visapult_begin(NULL, 0);
  printf("%s: %d %s\n", (const char *)where, code, visapult_last_error());
}

static void fail_at_exit(void) { fail("exit"); }

static void *work(void *where) {
  fail(where);
  pthread_setspecific(key, "end of a thread");
  return NULL;
}

int main(void) {
  pthread_t thread;
  if (atexit(fail_at_exit) || pthread_key_create(&key, fail)) return 1;
  if (pthread_create(&thread, NULL, work, "thread") || pthread_join(thread, NULL)) return 1;
  fail("main");
  return 0;
}
