!> Texts as Fortran keeps them, with blanks at their ends, and a rank that passes a section without values.
program blanks
  use, intrinsic :: iso_c_binding, only: c_ptr, c_associated
  use, intrinsic :: iso_fortran_env, only: real64
  use visapult
  implicit none
  character(40) :: name = 'run', field = 'density', unit = 'kg/m3', time = 's', at = '127.0.0.1:0', host = '127.0.0.1'
  real(real64) :: values(8, 6, 4)
  type(c_ptr) :: declaration, publisher
  integer :: number

  values = 1
  declaration = visapult_declare(name, [8, 6, 4])
  number = visapult_declare_field(declaration, field, unit, VISAPULT_FLOAT64)
  if (visapult_declare_grid(declaration, [1.0_real64, 1.0_real64, 1.0_real64], [0.0_real64, 0.0_real64, 0.0_real64], &
    unit) /= VISAPULT_OK .or. visapult_declare_time_unit(declaration, time) /= VISAPULT_OK) error stop 1
  if (visapult_declare_centering(declaration, VISAPULT_CELL) /= VISAPULT_OK) error stop 1
  publisher = visapult_publish_listen(declaration, at, host)
  if (.not. c_associated(publisher)) then
    print '(a)', visapult_last_error()
    error stop 1
  end if
  if (visapult_begin(publisher, 0.0_real64) /= VISAPULT_OK) error stop 1
  if (visapult_put(publisher, number, values(1:0, :, :)) == VISAPULT_OK) error stop 1
  print '(a)', visapult_last_error()
  if (visapult_put(publisher, number, values(8:1:-1, :, :)) /= VISAPULT_OK) error stop 1
  if (visapult_end(publisher) /= VISAPULT_OK) error stop 1
  print '(a)', visapult_url(publisher)
  flush (6)
  ! Until whoever has started it has seen enough.
  read *
end program
