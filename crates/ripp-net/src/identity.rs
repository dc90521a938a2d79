//! Our certificate and its key, kept in the user's configuration folder.
//!
//! Both stand in one file, so that no reader ever sees one without the other; whoever comes second takes what is there.

use std::path::{Path, PathBuf};
use std::{env, fmt};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;

use crate::fingerprint::Fingerprint;
use crate::private::{self, PrivateError};

const FILE: &str = "ripp-identity.pem";

/// A certificate chain, end entity first, and its private key. `Debug` shows the fingerprint only.
pub struct Identity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
    fingerprint: Fingerprint,
}

/// Why there is no identity.
#[derive(Debug, Error)]
pub enum IdentityError {
    /// Neither variable of the environment says where the user's configuration is.
    #[error("neither XDG_CONFIG_HOME nor HOME says where the user's configuration is: set one of them")]
    NoFolder,
    /// HOME leads nowhere.
    #[error(
        "HOME is {0}, and there is no such folder: set HOME, or XDG_CONFIG_HOME, to a folder where configuration can be kept"
    )]
    NoHome(PathBuf),
    /// The file that it is kept in.
    #[error(transparent)]
    Kept(#[from] PrivateError),
    /// No certificate, no key, or they do not belong together.
    #[error("{place} holds no usable certificate and key: {cause}")]
    Unusable {
        /// The file, or what was given.
        place: String,
        /// What is wrong.
        cause: String,
    },
    /// None could be made.
    #[error("cannot make a certificate: {0}")]
    Make(String),
}

/// `$XDG_CONFIG_HOME/visapult`, else `~/.config/visapult`.
///
/// # Errors
/// [`IdentityError::NoFolder`] and [`IdentityError::NoHome`].
pub fn user_folder() -> Result<PathBuf, IdentityError> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(base) = absolute("XDG_CONFIG_HOME") {
        return Ok(base.join("visapult"));
    }
    let home = absolute("HOME").ok_or(IdentityError::NoFolder)?;
    // A home that is not there is a mistake, or not mounted: none is made.
    if home.is_dir() { Ok(home.join(".config/visapult")) } else { Err(IdentityError::NoHome(home)) }
}

impl Identity {
    /// The identity kept in `folder`; made and kept there, readable by the user alone, if there is none yet.
    ///
    /// # Errors
    /// [`IdentityError`], among them [`PrivateError::TooOpen`] where others could have read the key.
    pub fn load_or_create(folder: &Path) -> Result<Self, IdentityError> {
        let path = folder.join(FILE);
        if let Some(kept) = Self::load(&path)? {
            return Ok(kept);
        }
        private::make_folder(folder)?;
        private::place(&path, &self_signed()?)?;
        Self::load(&path)?.ok_or_else(|| PrivateError::missing(&path).into())
    }

    /// One that is kept nowhere.
    ///
    /// # Errors
    /// [`IdentityError::Make`].
    pub fn fresh() -> Result<Self, IdentityError> {
        let text = self_signed()?;
        Self::from_pem(text.as_bytes(), text.as_bytes())
    }

    /// The identity of a PEM file with a certificate chain, end entity first, and its key, which only the user may read.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn from_file(path: &Path) -> Result<Self, IdentityError> {
        Self::load(path)?.ok_or_else(|| PrivateError::missing(path).into())
    }

    /// The identity of a PEM certificate chain, end entity first, and a PEM private key; both may stand in one text.
    ///
    /// # Errors
    /// [`IdentityError::Unusable`].
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Self, IdentityError> {
        Self::read_pem("the PEM text given", certificate, key)
    }

    /// SHA-256 of our certificate, for the URL we print.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    fn load(path: &Path) -> Result<Option<Self>, IdentityError> {
        let Some(text) = private::read_ours(path)? else { return Ok(None) };
        Self::read_pem(&path.display().to_string(), &text, &text).map(Some)
    }

    fn read_pem(place: &str, certificate: &[u8], key: &[u8]) -> Result<Self, IdentityError> {
        let unusable = |cause: String| IdentityError::Unusable { place: place.to_owned(), cause };
        let chain: Vec<_> = CertificateDer::pem_slice_iter(certificate)
            .collect::<Result<_, _>>()
            .map_err(|cause| unusable(format!("the certificate is not PEM ({cause})")))?;
        let first = chain.first().ok_or_else(|| unusable("there is no certificate in it".to_owned()))?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|cause| unusable(format!("there is no private key in it ({cause})")))?;
        let fingerprint = Fingerprint::of_der(first);
        let identity = Self { chain, key, fingerprint };
        crate::tls::check_pair(&identity).map_err(unusable)?;
        Ok(identity)
    }
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Self { chain: self.chain.clone(), key: self.key.clone_key(), fingerprint: self.fingerprint }
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.fingerprint)
    }
}

/// Certificate and key in one PEM text. The dates are wide: peers believe the fingerprint, not the dates.
fn self_signed() -> Result<String, IdentityError> {
    let made = |cause: rcgen::Error| IdentityError::Make(cause.to_string());
    let key = rcgen::KeyPair::generate().map_err(made)?;
    let mut params = rcgen::CertificateParams::new(vec!["visapult".to_owned()]).map_err(made)?;
    params.distinguished_name.push(rcgen::DnType::CommonName, "visapult");
    let certificate = params.self_signed(&key).map_err(made)?;
    Ok(certificate.pem() + &key.serialize_pem())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::thread;

    use super::*;

    #[test]
    fn is_made_once_private_and_comes_back() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("config/visapult");
        let first = Identity::load_or_create(&folder).unwrap();
        assert_eq!(Identity::load_or_create(&folder).unwrap().fingerprint(), first.fingerprint());
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join(FILE))), (0o700, 0o600));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn all_who_start_at_once_get_the_same() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("visapult");
        let found: Vec<_> = thread::scope(|scope| {
            let started: Vec<_> =
                (0..8).map(|_| scope.spawn(|| Identity::load_or_create(&folder).unwrap().fingerprint())).collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(found.iter().all(|fingerprint| *fingerprint == found[0]));
    }

    #[test]
    fn a_key_that_others_may_read_is_refused_with_the_cure() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("visapult");
        Identity::load_or_create(&folder).unwrap();
        fs::set_permissions(folder.join(FILE), fs::Permissions::from_mode(0o640)).unwrap();
        let refusal = Identity::load_or_create(&folder).unwrap_err();
        assert!(refusal.to_string().contains("mode 640") && refusal.to_string().contains("chmod 600"), "{refusal}");
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("visapult");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        let refusal = Identity::load_or_create(&folder).unwrap_err().to_string();
        assert!(refusal.contains("mode 777") && refusal.contains("chmod 700"), "{refusal}");
    }

    #[test]
    fn a_damaged_file_is_named_and_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("visapult");
        Identity::load_or_create(&folder).unwrap();
        fs::write(folder.join(FILE), "-----BEGIN NOTHING-----").unwrap();
        let refusal = Identity::load_or_create(&folder).unwrap_err();
        assert!(refusal.to_string().contains(FILE), "{refusal}");
        assert_eq!(fs::read_to_string(folder.join(FILE)).unwrap(), "-----BEGIN NOTHING-----");
    }

    #[test]
    fn a_key_of_another_certificate_is_refused() {
        let (one, other) = (self_signed().unwrap(), self_signed().unwrap());
        assert!(Identity::from_pem(one.as_bytes(), one.as_bytes()).is_ok());
        assert!(matches!(Identity::from_pem(one.as_bytes(), other.as_bytes()), Err(IdentityError::Unusable { .. })));
    }

    #[test]
    fn debug_does_not_show_the_key() {
        let text = self_signed().unwrap();
        let identity = Identity::from_pem(text.as_bytes(), text.as_bytes()).unwrap();
        assert_eq!(format!("{identity:?}"), format!("Identity({})", identity.fingerprint()));
    }
}
