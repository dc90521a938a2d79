//! The name that was probably meant by one that is not there, and those that are.

/// Signs of a name that is compared.
const MOST_SIGNS: usize = 80;
/// Names listed in a message.
const MAX_LISTED: usize = 8;

/// Which of `names` is nearly `wanted`, or ends in it as a path: one that differs in no more than a third of its signs.
#[must_use]
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let last = |path: &str| path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let (all, end) = (wanted.to_lowercase(), last(wanted));
    let apart = |name: &str| [apart(&all, &name.to_lowercase()), apart(&end, &last(name))].into_iter().flatten().min();
    let near = names.into_iter().filter_map(|name| Some((apart(name)?, name)));
    near.min_by_key(|(apart, _)| *apart).map(|(_, name)| name)
}

/// In how many signs two names differ; `None` where that is too many.
fn apart(one: &str, other: &str) -> Option<usize> {
    let [shorter, longer] = if one.len() < other.len() { [one, other] } else { [other, one] };
    let most = longer.len() / 3;
    if longer.len() > MOST_SIGNS || longer.len() - shorter.len() > most {
        return None;
    }
    Some(strsim::osa_distance(one, other)).filter(|apart| *apart <= most)
}

/// What there is instead of a field that is not: one nearly called so, or some of them.
pub(crate) fn instead<T: AsRef<str>>(wanted: &str, names: &[T]) -> String {
    let names: Vec<_> = names.iter().map(AsRef::as_ref).collect();
    if let Some(near) = nearest(wanted, names.iter().copied()) {
        return format!("; did you mean '{near}'?");
    }
    match names.as_slice() {
        [] => "; it holds no field".to_owned(),
        _ if names.len() > MAX_LISTED => {
            format!(
                "; there are {}, ... (visapult info FILE lists all {})",
                names[..MAX_LISTED].join(", "),
                names.len()
            )
        }
        _ => format!("; there are {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_meant_that_differs_in_few_signs() {
        let names = ["fields/density", "fields/temperature", "T2", "t1500"];
        for (wanted, meant) in [
            ("densty", Some("fields/density")),
            ("fields/Density", Some("fields/density")),
            ("temperatrue", Some("fields/temperature")),
            ("t2", Some("T2")),
            ("pressure", None),
            ("", None),
        ] {
            assert_eq!(nearest(wanted, names), meant, "{wanted}");
        }
    }
}
