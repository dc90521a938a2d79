!> A program whose viewers turn its parameters, pause it and stop it. usage: steered
program steered
  use, intrinsic :: iso_c_binding, only: c_ptr, c_associated
  use, intrinsic :: iso_fortran_env, only: int32, real32, real64
  use visapult
  implicit none
  integer, parameter :: n = 32
  real(real32) :: field(n, n, n)
  real(real64) :: phase = 0
  type(c_ptr) :: declaration, publisher
  integer(int32) :: height, speed, rings, said
  integer :: step

  declaration = visapult_declare('steered', [n, n, n])
  call need(c_associated(declaration))
  height = visapult_declare_field(declaration, 'height', 'm', VISAPULT_FLOAT32)
  speed = visapult_declare_parameter(declaration, 'speed', 'turns/s', VISAPULT_NUMBER, 0d0, 2d0, 0.5d0)
  rings = visapult_declare_parameter(declaration, 'rings', '', VISAPULT_INTEGER, 1d0, 8d0, 3d0)
  call need(height >= 0 .and. speed >= 0 .and. rings >= 0)
  publisher = visapult_publish_listen(declaration, '127.0.0.1:0')
  call need(c_associated(publisher))
  call visapult_declare_free(declaration)
  print '(a)', visapult_url(publisher)
  flush (6)

  step = 0
  do
    said = visapult_steer(publisher) ! waits while it is paused
    call need(said >= 0)
    if (said == VISAPULT_STOP) exit
    call compute(nint(visapult_parameter(publisher, rings)))
    call need(visapult_begin(publisher, step * 0.02_real64) == VISAPULT_OK)
    call need(visapult_put(publisher, height, field) == VISAPULT_OK)
    call need(visapult_end(publisher) == VISAPULT_OK)
    phase = phase + 0.02_real64 * visapult_parameter(publisher, speed)
    call wait(20)
    step = step + 1
  end do
  print '(a, f4.2, a, i0, a)', 'stopped with speed ', visapult_parameter(publisher, speed), ' and ', &
    nint(visapult_parameter(publisher, rings)), ' rings'
  said = visapult_close(publisher)

contains

  !> The simulation: rings around an axis, that run outwards.
  subroutine compute(rings)
    integer, intent(in) :: rings
    integer :: x, y
    do concurrent (x = 1:n, y = 1:n)
      field(x, y, :) = real(sin(6.28_real64 * (rings * hypot(x - 17._real64, y - 17._real64) / n - phase)), real32)
    end do
  end subroutine

  subroutine need(good)
    logical, intent(in) :: good
    if (good) return
    print '(2a)', 'steered: ', visapult_last_error()
    error stop 1
  end subroutine

  subroutine wait(ms)
    integer, intent(in) :: ms
    integer(selected_int_kind(18)) :: now, rate, start
    call system_clock(start, rate)
    do
      call system_clock(now)
      if ((now - start) * 1000 >= ms * rate) return
    end do
  end subroutine
end program
