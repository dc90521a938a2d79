!> A program that publishes while it computes. usage: first [SECONDS]
program first
  use, intrinsic :: iso_c_binding, only: c_ptr, c_associated
  use, intrinsic :: iso_fortran_env, only: real32, real64
  use visapult
  implicit none
  integer, parameter :: nx = 48, ny = 40, nz = 32
  ! With a ghost layer, which is not published.
  real(real32) :: field(0:nx + 1, 0:ny + 1, 0:nz + 1)
  real(real64) :: seconds = 60
  type(c_ptr) :: declaration, publisher
  integer :: distance, step
  character(32) :: argument

  if (command_argument_count() > 0) then
    call get_command_argument(1, argument)
    read (argument, *) seconds
  end if

  declaration = visapult_declare('first', [nx, ny, nz])
  call need(c_associated(declaration))
  distance = visapult_declare_field(declaration, 'distance', 'm2', VISAPULT_FLOAT32)
  call need(distance >= 0)
  call need(visapult_declare_time_unit(declaration, 's') == VISAPULT_OK)
  publisher = visapult_publish_listen(declaration, '127.0.0.1:0')
  call need(c_associated(publisher))
  call visapult_declare_free(declaration)
  print '(a)', visapult_url(publisher)
  flush (6)

  step = 0
  do while (step * 0.02_real64 < seconds)
    call compute(step)
    call need(visapult_begin(publisher, step * 0.02_real64) == VISAPULT_OK)
    call need(visapult_put(publisher, distance, field(1:nx, 1:ny, 1:nz)) == VISAPULT_OK)
    call need(visapult_end(publisher) == VISAPULT_OK)
    call wait(20)
    step = step + 1
  end do
  step = visapult_close(publisher)

contains

  !> The simulation: squared distance from a point that wanders along x.
  subroutine compute(step)
    integer, intent(in) :: step
    integer :: x, y, z
    field = -1
    do concurrent (x = 1:nx, y = 1:ny, z = 1:nz)
      field(x, y, z) = (x - 1 - mod(step, nx))**2 + (y - 1 - ny / 2)**2 + (z - 1 - nz / 2)**2
    end do
  end subroutine

  subroutine need(good)
    logical, intent(in) :: good
    if (good) return
    print '(2a)', 'first: ', visapult_last_error()
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
