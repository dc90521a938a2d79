#!/bin/sh
# The compiler as `cargo test` calls it. Tests themselves (Cargo says --test) are not optimised and have no line tables, which takes a quarter of the time: each is called once.
# What they call in other crates is what users get. Crates whose own tests compute for long are left as they are.
case " $* " in
  *" --crate-name visapult_render "* | *" --crate-name visapult_ripp "* | *" --crate-name visapult_volume "* | *" --crate-name visapult_volume_io "*) ;;
  # Without optimisation the compiler would assert what it asserts in debugging: tests are those of a release.
  *" --test "*) exec "$@" -C opt-level=0 -C debug-assertions=no -C debuginfo=0 ;;
esac
exec "$@"
