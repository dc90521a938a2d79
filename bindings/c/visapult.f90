!> Visapult for Fortran: a running simulation publishes its fields. visapult.h says what each call does; names and numbers are the same.
!>
!> Compile it with the program and link with -lvisapult. Blanks at the end of texts do not count. Arrays are of rank 3, (x, y, z), of kind
!> real32, real64 or int32; sections without ghost layers, as in pressure(1:nx, 1:ny, 1:nz), are taken from where they are.
module visapult
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, real32, real64
  implicit none
  private

  integer(c_int32_t), parameter, public :: VISAPULT_OK = 0, VISAPULT_WRONG_CALL = -1, VISAPULT_UNAVAILABLE = -2, &
    VISAPULT_BROKEN = -3
  integer(c_int32_t), parameter, public :: VISAPULT_FLOAT32 = 0, VISAPULT_FLOAT64 = 1, VISAPULT_INT32 = 6
  integer(c_int32_t), parameter, public :: VISAPULT_NUMBER = 0, VISAPULT_INTEGER = 1, VISAPULT_STOP = 1
  integer(c_int32_t), parameter, public :: VISAPULT_NEWEST = 0, VISAPULT_EVERY = 1, VISAPULT_EVERY_FROM_FIRST = 2
  integer(c_int32_t), parameter, public :: VISAPULT_POINT = 0, VISAPULT_CELL = 1
  integer(c_int32_t), parameter, public :: VISAPULT_X = 0, VISAPULT_Y = 1, VISAPULT_Z = 2

  type, bind(c), public :: visapult_counts
    integer(c_int64_t) :: steps = 0, sent = 0, missed = 0, attached = 0
    real(c_double) :: seconds = 0
  end type

  public :: visapult_last_error, visapult_declare, visapult_declare_rank, visapult_declare_box, visapult_declare_grid, &
    visapult_declare_time_unit, visapult_declare_field, visapult_declare_range, visapult_declare_free, &
    visapult_publish_listen, visapult_publish_dial, visapult_url, visapult_is_on, visapult_begin, visapult_begin_at, &
    visapult_put, visapult_end, visapult_statistics, visapult_close, visapult_declare_parameter, visapult_steer, &
    visapult_parameter, visapult_declare_delivery, visapult_declare_centering, visapult_declare_coordinates, &
    visapult_declare_calendar

  !> visapult_put(publisher, field, values): the values of a field of this rank's box.
  interface visapult_put
    module procedure put_real32, put_real64, put_int32
  end interface

  interface
    integer(c_int32_t) function visapult_declare_rank(declaration, rank, ranks) bind(c)
      import; type(c_ptr), value :: declaration; integer(c_int32_t), value :: rank, ranks
    end function
    integer(c_int32_t) function visapult_declare_range(declaration, field, least, greatest) bind(c)
      import; type(c_ptr), value :: declaration; integer(c_int32_t), value :: field; real(c_float), value :: least, greatest
    end function
    integer(c_int32_t) function visapult_declare_delivery(declaration, delivery) bind(c)
      import; type(c_ptr), value :: declaration; integer(c_int32_t), value :: delivery
    end function
    integer(c_int32_t) function visapult_declare_centering(declaration, centering) bind(c)
      import; type(c_ptr), value :: declaration; integer(c_int32_t), value :: centering
    end function
    subroutine visapult_declare_free(declaration) bind(c)
      import; type(c_ptr), value :: declaration
    end subroutine
    integer(c_int32_t) function visapult_is_on(publisher) bind(c)
      import; type(c_ptr), value :: publisher
    end function
    integer(c_int32_t) function visapult_begin(publisher, time) bind(c)
      import; type(c_ptr), value :: publisher; real(c_double), value :: time
    end function
    integer(c_int32_t) function visapult_begin_at(publisher, step, time) bind(c)
      import; type(c_ptr), value :: publisher; integer(c_int64_t), value :: step; real(c_double), value :: time
    end function
    integer(c_int32_t) function visapult_end(publisher) bind(c)
      import; type(c_ptr), value :: publisher
    end function
    integer(c_int32_t) function visapult_statistics(publisher, counts) bind(c)
      import; type(c_ptr), value :: publisher; type(visapult_counts), intent(out) :: counts
    end function
    integer(c_int32_t) function visapult_close(publisher) bind(c)
      import; type(c_ptr), value :: publisher
    end function
    integer(c_int32_t) function visapult_steer(publisher) bind(c)
      import; type(c_ptr), value :: publisher
    end function
    real(c_double) function visapult_parameter(publisher, parameter) bind(c)
      import; type(c_ptr), value :: publisher; integer(c_int32_t), value :: parameter
    end function

    type(c_ptr) function c_last_error() bind(c, name="visapult_last_error")
      import
    end function
    type(c_ptr) function c_declare(name, size) bind(c, name="visapult_declare")
      import; character(kind=c_char), intent(in) :: name(*); integer(c_int64_t), intent(in) :: size(3)
    end function
    integer(c_int32_t) function c_declare_box(declaration, offset, size) bind(c, name="visapult_declare_box")
      import; type(c_ptr), value :: declaration; integer(c_int64_t), intent(in) :: offset(3), size(3)
    end function
    integer(c_int32_t) function c_declare_grid(declaration, spacing, origin, unit) bind(c, name="visapult_declare_grid")
      import; type(c_ptr), value :: declaration; real(c_double), intent(in) :: spacing(3), origin(3)
      character(kind=c_char), intent(in) :: unit(*)
    end function
    integer(c_int32_t) function c_declare_time_unit(declaration, unit) bind(c, name="visapult_declare_time_unit")
      import; type(c_ptr), value :: declaration; character(kind=c_char), intent(in) :: unit(*)
    end function
    integer(c_int32_t) function c_declare_calendar(declaration, calendar) bind(c, name="visapult_declare_calendar")
      import; type(c_ptr), value :: declaration; character(kind=c_char), intent(in) :: calendar(*)
    end function
    integer(c_int32_t) function c_declare_coordinates(declaration, axis, values, count, unit, name, positive) &
      bind(c, name="visapult_declare_coordinates")
      import; type(c_ptr), value :: declaration, unit, name, positive; integer(c_int32_t), value :: axis
      real(c_double), intent(in) :: values(*); integer(c_int64_t), value :: count
    end function
    integer(c_int32_t) function c_declare_field(declaration, name, unit, scalar) bind(c, name="visapult_declare_field")
      import; type(c_ptr), value :: declaration; character(kind=c_char), intent(in) :: name(*), unit(*)
      integer(c_int32_t), value :: scalar
    end function
    integer(c_int32_t) function c_declare_parameter(declaration, name, unit, kind, least, most, value) &
      bind(c, name="visapult_declare_parameter")
      import; type(c_ptr), value :: declaration; character(kind=c_char), intent(in) :: name(*), unit(*)
      integer(c_int32_t), value :: kind; real(c_double), value :: least, most, value
    end function
    type(c_ptr) function c_publish_listen(declaration, at, host) bind(c, name="visapult_publish_listen")
      import; type(c_ptr), value :: declaration, host; character(kind=c_char), intent(in) :: at(*)
    end function
    type(c_ptr) function c_publish_dial(declaration, url) bind(c, name="visapult_publish_dial")
      import; type(c_ptr), value :: declaration, url
    end function
    type(c_ptr) function c_url(publisher) bind(c, name="visapult_url")
      import; type(c_ptr), value :: publisher
    end function
    integer(c_int32_t) function c_put_array(publisher, field, scalar, size, values, strides) bind(c, name="visapult_put_array")
      import; type(c_ptr), value :: publisher, values; integer(c_int32_t), value :: field, scalar
      integer(c_int64_t), intent(in) :: size(3), strides(3)
    end function
    integer(c_size_t) function c_length(text) bind(c, name="strlen")
      import; type(c_ptr), value :: text
    end function
  end interface

contains

  function visapult_last_error() result(text)
    character(:), allocatable :: text
    text = text_of(c_last_error())
  end function

  type(c_ptr) function visapult_declare(name, size) result(declaration)
    character(*), intent(in) :: name
    integer, intent(in) :: size(3)
    declaration = c_declare(trim(name) // c_null_char, int(size, c_int64_t))
  end function

  !> As everywhere outside Fortran, offset counts from 0.
  integer(c_int32_t) function visapult_declare_box(declaration, offset, size) result(status)
    type(c_ptr), intent(in) :: declaration
    integer, intent(in) :: offset(3), size(3)
    status = c_declare_box(declaration, int(offset, c_int64_t), int(size, c_int64_t))
  end function

  integer(c_int32_t) function visapult_declare_grid(declaration, spacing, origin, unit) result(status)
    type(c_ptr), intent(in) :: declaration
    real(real64), intent(in) :: spacing(3), origin(3)
    character(*), intent(in) :: unit
    status = c_declare_grid(declaration, spacing, origin, trim(unit) // c_null_char)
  end function

  integer(c_int32_t) function visapult_declare_time_unit(declaration, unit) result(status)
    type(c_ptr), intent(in) :: declaration
    character(*), intent(in) :: unit
    status = c_declare_time_unit(declaration, trim(unit) // c_null_char)
  end function

  integer(c_int32_t) function visapult_declare_calendar(declaration, calendar) result(status)
    type(c_ptr), intent(in) :: declaration
    character(*), intent(in) :: calendar
    status = c_declare_calendar(declaration, trim(calendar) // c_null_char)
  end function

  !> Without a unit they have that of the grid; a blank one is none.
  integer(c_int32_t) function visapult_declare_coordinates(declaration, axis, values, unit, name, positive) result(status)
    type(c_ptr), intent(in) :: declaration
    integer(c_int32_t), intent(in) :: axis
    real(real64), intent(in) :: values(:)
    character(*), intent(in), optional :: unit, name, positive
    character(kind=c_char), allocatable, target :: kept_unit(:), kept_name(:), kept_positive(:)
    status = c_declare_coordinates(declaration, axis, values, size(values, kind=c_int64_t), pointer_to(unit, kept_unit), &
      pointer_to(name, kept_name), pointer_to(positive, kept_positive))
  end function

  integer(c_int32_t) function visapult_declare_field(declaration, name, unit, scalar) result(field)
    type(c_ptr), intent(in) :: declaration
    character(*), intent(in) :: name, unit
    integer(c_int32_t), intent(in) :: scalar
    field = c_declare_field(declaration, trim(name) // c_null_char, trim(unit) // c_null_char, scalar)
  end function

  integer(c_int32_t) function visapult_declare_parameter(declaration, name, unit, kind, least, most, value) result(parameter)
    type(c_ptr), intent(in) :: declaration
    character(*), intent(in) :: name, unit
    integer(c_int32_t), intent(in) :: kind
    real(real64), intent(in) :: least, most, value
    parameter = c_declare_parameter(declaration, trim(name) // c_null_char, trim(unit) // c_null_char, kind, least, most, value)
  end function

  type(c_ptr) function visapult_publish_listen(declaration, at, host) result(publisher)
    type(c_ptr), intent(in) :: declaration
    character(*), intent(in) :: at
    character(*), intent(in), optional :: host
    character(kind=c_char), allocatable, target :: kept(:)
    publisher = c_publish_listen(declaration, trim(at) // c_null_char, pointer_to(host, kept))
  end function

  !> Without url, or with a blank one, the environment variable VISAPULT_URL says where; without that, publishing is off.
  type(c_ptr) function visapult_publish_dial(declaration, url) result(publisher)
    type(c_ptr), intent(in) :: declaration
    character(*), intent(in), optional :: url
    character(kind=c_char), allocatable, target :: kept(:)
    publisher = c_publish_dial(declaration, pointer_to(url, kept))
  end function

  !> Empty where we dial or publishing is off.
  function visapult_url(publisher) result(text)
    type(c_ptr), intent(in) :: publisher
    character(:), allocatable :: text
    text = text_of(c_url(publisher))
  end function

  integer(c_int32_t) function put_real32(publisher, field, values) result(status)
    type(c_ptr), intent(in) :: publisher
    integer(c_int32_t), intent(in) :: field
    real(real32), intent(in), target :: values(:, :, :)
    integer :: n(3)
    type(c_ptr) :: places(4)
    places = c_null_ptr
    n = next(shape(values))
    if (all(n > 0)) places = [c_loc(values(1, 1, 1)), c_loc(values(n(1), 1, 1)), c_loc(values(1, n(2), 1)), &
      c_loc(values(1, 1, n(3)))]
    status = put(publisher, field, VISAPULT_FLOAT32, shape(values), places)
  end function

  integer(c_int32_t) function put_real64(publisher, field, values) result(status)
    type(c_ptr), intent(in) :: publisher
    integer(c_int32_t), intent(in) :: field
    real(real64), intent(in), target :: values(:, :, :)
    integer :: n(3)
    type(c_ptr) :: places(4)
    places = c_null_ptr
    n = next(shape(values))
    if (all(n > 0)) places = [c_loc(values(1, 1, 1)), c_loc(values(n(1), 1, 1)), c_loc(values(1, n(2), 1)), &
      c_loc(values(1, 1, n(3)))]
    status = put(publisher, field, VISAPULT_FLOAT64, shape(values), places)
  end function

  integer(c_int32_t) function put_int32(publisher, field, values) result(status)
    type(c_ptr), intent(in) :: publisher
    integer(c_int32_t), intent(in) :: field
    integer(int32), intent(in), target :: values(:, :, :)
    integer :: n(3)
    type(c_ptr) :: places(4)
    places = c_null_ptr
    n = next(shape(values))
    if (all(n > 0)) places = [c_loc(values(1, 1, 1)), c_loc(values(n(1), 1, 1)), c_loc(values(1, n(2), 1)), &
      c_loc(values(1, 1, n(3)))]
    status = put(publisher, field, VISAPULT_INT32, shape(values), places)
  end function

  !> Index of the second value along each axis, of the first where there is only one, 0 where there is none.
  pure function next(size) result(second)
    integer, intent(in) :: size(3)
    integer :: second(3)
    second = min(2, size)
  end function

  !> Strides are distances of neighbours: where the first value is, and the next along x, y and z; null where there are none.
  integer(c_int32_t) function put(publisher, field, scalar, size, places) result(status)
    type(c_ptr), intent(in) :: publisher, places(4)
    integer(c_int32_t), intent(in) :: field, scalar
    integer, intent(in) :: size(3)
    integer(c_intptr_t) :: addresses(4)
    addresses = transfer(places, addresses)
    status = c_put_array(publisher, field, scalar, int(size, c_int64_t), places(1), &
      int(addresses(2:4) - addresses(1), c_int64_t))
  end function

  function pointer_to(text, kept) result(pointer)
    character(*), intent(in), optional :: text
    character(kind=c_char), allocatable, target, intent(out) :: kept(:)
    type(c_ptr) :: pointer
    integer :: i
    pointer = c_null_ptr
    if (.not. present(text)) return
    allocate(kept(len_trim(text) + 1))
    do i = 1, len_trim(text)
      kept(i) = text(i:i)
    end do
    kept(len_trim(text) + 1) = c_null_char
    pointer = c_loc(kept)
  end function

  function text_of(pointer) result(text)
    type(c_ptr), intent(in) :: pointer
    character(:), allocatable :: text
    character(kind=c_char), pointer :: signs(:)
    integer :: i
    text = ''
    if (.not. c_associated(pointer)) return
    call c_f_pointer(pointer, signs, [c_length(pointer)])
    text = repeat(' ', size(signs))
    do i = 1, size(signs)
      text(i:i) = signs(i)
    end do
  end function
end module
