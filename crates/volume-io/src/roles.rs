//! What the axes of an array are, and its values in the order z, y, x whichever that of its axes is.

use crate::coordinates::{cut, names_space, names_steps};

/// The axes of arrays of 4, and of 3, in the order that most files have.
const FOUR: [Role; 4] = [Role::Step, Role::Space(2), Role::Space(1), Role::Space(0)];
const VOLUME: [Role; 3] = [Role::Space(2), Role::Space(1), Role::Space(0)];
const IMAGES: [Role; 3] = [Role::Step, Role::Space(1), Role::Space(0)];

/// What an axis of an array is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Step,
    Channel,
    /// One sample, of which nothing is made.
    Single,
    /// 0, 1, 2 for x, y, z.
    Space(usize),
}

impl Role {
    /// What an axis of such a name is.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        if names_steps(name) {
            return Some(Self::Step);
        }
        let is_channel = ["c", "channel", "band"].iter().any(|known| name.eq_ignore_ascii_case(known));
        if is_channel { Some(Self::Channel) } else { names_space(name).map(Self::Space) }
    }

    /// As people call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Step => "steps",
            Self::Channel => "channels",
            Self::Single => "one sample",
            Self::Space(axis) => ["x", "y", "z"][axis],
        }
    }
}

/// Whether the axes of space are stored as z, y, x.
pub(crate) fn is_in_order(roles: &[Role]) -> bool {
    space(roles).is_sorted_by(|one, next| one > next)
}

/// The axes of space as they are stored.
fn space(roles: &[Role]) -> impl DoubleEndedIterator<Item = usize> {
    roles.iter().filter_map(|role| if let Role::Space(axis) = role { Some(*axis) } else { None })
}

/// Puts values of one step and channel, in the order of an array's axes, into that of z, y, x.
pub(crate) fn put_in_order(roles: &[Role], stored: &[f32], size: [usize; 3], out: &mut [f32]) {
    let mut strides = [0; 3];
    let mut values = 1;
    for axis in space(roles).rev() {
        strides[axis] = values;
        values *= size[axis];
    }
    for (row, out) in out.chunks_exact_mut(size[0]).enumerate() {
        let first = row % size[1] * strides[1] + row / size[1] * strides[2];
        out.iter_mut().enumerate().for_each(|(x, out)| *out = stored[first + x * strides[0]]);
    }
}

/// The roles of axes that are told apart: of one alone nothing need be said, for it is what the others are not.
pub(crate) fn as_told(told: &[Option<Role>]) -> Option<Vec<Role>> {
    let roles = [&FOUR[..], &VOLUME, &IMAGES].into_iter().filter(|roles| roles.len() == told.len());
    roles.map(|roles| only(roles, told)).find(Option::is_some).flatten()
}

fn only(roles: &[Role], told: &[Option<Role>]) -> Option<Vec<Role>> {
    let mut left: Vec<Role> = roles.iter().copied().filter(|role| !told.contains(&Some(*role))).collect();
    let untold = told.iter().filter(|role| role.is_none()).count();
    if left.len() != untold || untold > 1 {
        return None;
    }
    told.iter().map(|role| role.or_else(|| left.pop())).collect()
}

/// Which of an array's axes are left out, so that `most` stay: those of one sample, first those of which nothing is told. `None` where there are too few of these.
pub(crate) fn singles(shape: &[u64], told: &[Option<Role>], most: usize) -> Option<Vec<bool>> {
    let mut left = shape.len().saturating_sub(most);
    let mut is_single = vec![false; shape.len()];
    for is_told in [false, true] {
        for (axis, is_single) in is_single.iter_mut().enumerate() {
            let told = told.get(axis).copied().flatten();
            let is_spare = !*is_single && shape[axis] == 1 && told.is_some() == is_told;
            if left > 0 && is_spare && !matches!(told, Some(Role::Space(_))) {
                *is_single = true;
                left -= 1;
            }
        }
    }
    (left == 0).then_some(is_single)
}

/// What is told of the axes that stay.
pub(crate) fn staying<T: Clone>(told: &[T], is_single: &[bool]) -> Vec<T> {
    told.iter().zip(is_single).filter(|(_, is_single)| !**is_single).map(|(one, _)| one.clone()).collect()
}

/// The roles of all axes, where those that stay have these.
pub(crate) fn with_singles(roles: Vec<Role>, is_single: &[bool]) -> Vec<Role> {
    let mut roles = roles.into_iter();
    is_single
        .iter()
        .map(|is_single| if *is_single { Role::Single } else { roles.next().unwrap_or(Role::Single) })
        .collect()
}

/// The roles of 3 or 4 axes that are not told apart.
pub(crate) fn usual(told: &[Option<Role>]) -> Vec<Role> {
    match told {
        [_, _, _, _] => FOUR.to_vec(),
        [Some(Role::Step), _, _] => IMAGES.to_vec(),
        _ => VOLUME.to_vec(),
    }
}

/// What to say where something is told of axes, each by its name, that contradicts the roles they are taken for.
pub(crate) fn contradicted(axes: &[(String, Option<Role>)], roles: &[Role]) -> Option<String> {
    let is_other = |((_, told), role): (&(String, Option<Role>), &Role)| told.is_some_and(|told| told != *role);
    axes.iter().zip(roles).any(is_other).then(|| {
        let named: Vec<_> = axes.iter().map(|(name, _)| cut(name)).collect();
        let taken: Vec<_> = roles.iter().map(|role| role.name()).collect();
        let (named, taken) = (named.join(", "), taken.join(", "));
        format!("axes {named} are taken as {taken}, whatever they are called: store them in that order")
    })
}

/// Whether axes are stored as most are, but for those of one sample.
pub(crate) fn is_usual(roles: &[Role]) -> bool {
    let roles: Vec<_> = roles.iter().copied().filter(|role| *role != Role::Single).collect();
    [&FOUR[..], &VOLUME, &IMAGES].contains(&roles.as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: Option<Role> = Some(Role::Space(0));
    const Y: Option<Role> = Some(Role::Space(1));
    const Z: Option<Role> = Some(Role::Space(2));
    const T: Option<Role> = Some(Role::Step);

    #[test]
    fn axes_of_one_sample_are_left_out_first_those_of_which_nothing_is_told() {
        let kept = |shape: &[u64], told: &[Option<Role>]| singles(shape, told, 4);
        assert_eq!(kept(&[1, 1, 4, 5, 6], &[T, None, Z, Y, X]), Some(vec![false, true, false, false, false]));
        assert_eq!(kept(&[1, 1, 4, 5, 6], &[]), Some(vec![true, false, false, false, false]));
        assert_eq!(kept(&[3, 1, 1, 1, 6], &[None, T, Z, Y, X]), Some(vec![false, true, false, false, false]));
        assert_eq!(kept(&[3, 2, 4, 5, 6], &[None, T, Z, Y, X]), None);
        assert_eq!(with_singles(FOUR.to_vec(), &[false, true, false, false, false])[..2], [Role::Step, Role::Single]);
    }

    #[test]
    fn axes_that_are_told_apart_may_have_any_order() {
        let roles = |told: &[Option<Role>]| as_told(told).map(|roles| roles.into_iter().map(Some).collect::<Vec<_>>());
        assert_eq!(roles(&[X, Y, T, Z]), Some(vec![X, Y, T, Z]));
        assert_eq!(roles(&[X, None, T, Z]), Some(vec![X, Y, T, Z]));
        assert_eq!(roles(&[X, Y, None]), Some(vec![X, Y, Z]));
        assert_eq!(roles(&[X, Y, T]), Some(vec![X, Y, T]));
        assert_eq!(roles(&[X, None, T]), Some(vec![X, Y, T]));
        for unclear in [&[X, None, T, None][..], &[X, X, T, Z], &[T, Z, Y], &[X, None, None], &[None; 4], &[X]] {
            assert_eq!(roles(unclear), None, "{unclear:?}");
        }
        assert_eq!(usual(&[T, Z, Y]), IMAGES);
    }
}
