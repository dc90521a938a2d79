!> An atmosphere from the top down and from north to south.
program levels
  use, intrinsic :: iso_c_binding, only: c_ptr, c_associated
  use, intrinsic :: iso_fortran_env, only: real64
  use visapult
  implicit none
  integer, parameter :: nx = 12, ny = 6, nz = 4
  real(real64) :: values(nx, ny, nz), lon(nx), plev(2, nz)
  type(c_ptr) :: declaration, publisher
  integer :: field, x, y, z

  do concurrent (x = 1:nx, y = 1:ny, z = 1:nz)
    values(x, y, z) = (x - 1) + 10 * (y - 1) + 100 * (z - 1)
  end do
  lon = [(30.0_real64 * (x - 1), x = 1, nx)]
  plev(1, :) = [100.0_real64, 300.0_real64, 700.0_real64, 1000.0_real64]
  plev(2, :) = 0
  declaration = visapult_declare('levels', [nx, ny, nz])
  call need(visapult_declare_coordinates(declaration, VISAPULT_Z, plev(1, 2:)) == VISAPULT_WRONG_CALL)
  print '(a)', visapult_last_error()
  call visapult_declare_free(declaration)

  declaration = visapult_declare('levels', [nx, ny, nz])
  field = visapult_declare_field(declaration, 'ta', 'K', VISAPULT_FLOAT64)
  call need(visapult_declare_coordinates(declaration, VISAPULT_X, lon, 'degrees_east', 'lon ') == VISAPULT_OK)
  call need(visapult_declare_coordinates(declaration, VISAPULT_Y, &
    [60.0_real64, 50.0_real64, 30.0_real64, 0.0_real64, -30.0_real64, -60.0_real64], name='lat') == VISAPULT_OK)
  call need(visapult_declare_coordinates(declaration, VISAPULT_Z, plev(1, :), 'hPa', 'plev', 'down') == VISAPULT_OK)
  call need(visapult_declare_grid(declaration, [1.0_real64, 1.0_real64, 1.0_real64], &
    [0.0_real64, 0.0_real64, 0.0_real64], 'degrees_north') == VISAPULT_OK)
  call need(visapult_declare_time_unit(declaration, 'hours since 2001-01-01') == VISAPULT_OK)
  call need(visapult_declare_calendar(declaration, 'noleap ') == VISAPULT_OK)
  publisher = visapult_publish_listen(declaration, '127.0.0.1:0')
  call need(c_associated(publisher))
  call need(visapult_begin(publisher, 6.0_real64) == VISAPULT_OK)
  call need(visapult_put(publisher, field, values) == VISAPULT_OK)
  call need(visapult_end(publisher) == VISAPULT_OK)
  print '(a)', visapult_url(publisher)
  flush (6)
  ! Until whoever has started it has seen enough.
  read *

contains

  subroutine need(good)
    logical, intent(in) :: good
    if (good) return
    print '(a)', visapult_last_error()
    error stop 1
  end subroutine
end program
