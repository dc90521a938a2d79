//! What the environment may say: the library takes for granted that it makes sense.

use url::Url;

const ENDPOINTS: [&str; 5] =
    ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AWS_ENDPOINT_URL_STS", "AWS_METADATA_ENDPOINT"];
const REGIONS: [&str; 2] = ["AWS_REGION", "AWS_DEFAULT_REGION"];

/// Why this value of a variable makes no sense, if so. The value may be a secret: it is not told.
///
/// # Errors
/// What it should be.
pub(crate) fn check(name: &str, value: &str) -> Result<(), String> {
    if !value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        return Err(format!("{name} holds a sign that no store takes: only letters, digits and signs of ASCII do"));
    }
    if ENDPOINTS.contains(&name) && !is_endpoint(value) {
        return Err(format!("{name} is no URL of a store: write it as https://HOST or https://HOST:PORT"));
    }
    if REGIONS.contains(&name) && !is_region(value) {
        return Err(format!("{name} is no name of a region: write it as us-east-1, in letters, digits and -"));
    }
    Ok(())
}

fn is_endpoint(value: &str) -> bool {
    let is_plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~:/[]%".contains(&byte));
    let is_known = |url: &Url| ["http", "https"].contains(&url.scheme()) && url.has_host();
    // What the library takes apart by itself has the signs behind the scheme.
    is_plain && value.contains("://") && Url::parse(value).as_ref().is_ok_and(is_known)
}

fn is_region(value: &str) -> bool {
    value.len() <= 63 && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_told_with_its_variable_and_without_its_value() {
        for (name, value) in [
            ("AWS_ENDPOINT_URL", "https://minio.example.org:9000"),
            ("AWS_ENDPOINT_URL_S3", "http://[::1]:9000/"),
            ("AWS_METADATA_ENDPOINT", "http://169.254.169.254"),
            ("AWS_REGION", "eu-west-1"),
            ("AWS_SECRET_ACCESS_KEY", "a+b/c="),
        ] {
            assert_eq!(check(name, value), Ok(()), "{name}={value}");
        }
        for (name, value) in [
            ("AWS_ENDPOINT_URL", "minio:9000"),
            ("AWS_ENDPOINT_URL", "https:/minio"),
            ("AWS_ENDPOINT_URL", "https://minio:90000"),
            ("AWS_ENDPOINT_URL", "https://mi nio"),
            ("AWS_ENDPOINT_URL", "https://user:secret@minio"),
            ("AWS_ENDPOINT_URL_S3", "ftp://minio"),
            ("AWS_REGION", "eu west"),
            ("AWS_DEFAULT_REGION", "eu/west"),
            ("AWS_SESSION_TOKEN", "a\nb"),
            ("AWS_ACCESS_KEY_ID", "schlüssel"),
        ] {
            let told = check(name, value).unwrap_err();
            assert!(told.starts_with(&format!("{name} ")) && !told.contains(value), "{told}");
        }
    }
}
