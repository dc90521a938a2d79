//! Whom a rule is about: a network, an address, or host names.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};

/// Bits before an IPv4 address that is written as IPv6 (RFC 4291, 2.5.5.2).
const IPV4_WITHIN_IPV6: u8 = 96;

/// Those that a rule fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Network {
    /// Addresses of a network.
    Addresses(IpNet),
    /// A host by the name that it is dialled by.
    Host(String),
    /// Hosts whose name ends like this, the dot included.
    Domain(String),
    /// Everybody.
    All,
}

impl Network {
    /// What `text` means; `None` if it is neither a network nor a name.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::All);
        }
        if let Ok(ip) = text.parse::<IpAddr>() {
            return Some(Self::Addresses(ip.to_canonical().into()));
        }
        if text.contains('/') {
            return text.parse().ok().map(|network| Self::Addresses(canonical(network)));
        }
        let name = text.to_ascii_lowercase();
        // What ends with a number is an address that was meant, and is none (RFC 3696, section 2).
        let ends_with_number = |name: &str| {
            let last = name.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
            last.bytes().all(|byte| byte.is_ascii_digit())
        };
        let is_name = |name: &str| {
            let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
            !ends_with_number(name) && name.bytes().all(is_sign)
        };
        match name.strip_prefix("*.") {
            Some(domain) => is_name(domain).then(|| Self::Domain(format!(".{domain}"))),
            None => is_name(&name).then_some(Self::Host(name)),
        }
    }

    pub(super) fn holds(&self, host: Option<&str>, ip: IpAddr) -> bool {
        let host = host.map(str::to_ascii_lowercase);
        match self {
            Self::All => true,
            Self::Addresses(network) => network.contains(&ip),
            Self::Host(name) => host.is_some_and(|host| host == *name),
            Self::Domain(end) => host.is_some_and(|host| host.ends_with(end)),
        }
    }
}

/// IPv4 that is written as IPv6 as IPv4, which addresses are compared as.
fn canonical(network: IpNet) -> IpNet {
    let IpNet::V6(v6) = network else { return network };
    let length = v6.prefix_len().checked_sub(IPV4_WITHIN_IPV6);
    let v4 = v6.addr().to_ipv4_mapped().zip(length).and_then(|(ip, length)| Ipv4Net::new(ip, length).ok());
    v4.map_or(network, IpNet::V4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_addresses_and_names_hold_what_they_say() {
        let ip: IpAddr = "10.7.0.2".parse().unwrap();
        let holds = |text: &str| Network::parse(text).unwrap().holds(Some("Data.Example.org"), ip);
        for fits in [
            "*",
            "10.0.0.0/8",
            "10.7.0.2",
            "::ffff:10.7.0.2",
            "::ffff:10.7.0.0/112",
            "data.example.org",
            "*.example.org",
            "*.ORG",
        ] {
            assert!(holds(fits), "{fits}");
        }
        for other in ["10.8.0.0/16", "::/0", "::ffff:10.8.0.0/112", "example.org", "*.ample.org", "10.7.0.3"] {
            assert!(!holds(other), "{other}");
        }
    }

    #[test]
    fn who_dials_us_has_no_name() {
        assert!(!Network::parse("*.org").unwrap().holds(None, "10.7.0.2".parse().unwrap()));
    }

    #[test]
    fn what_is_neither_is_refused() {
        for bad in [
            "",
            "10.0.0.0/33",
            "a*.org",
            "*.",
            "two words",
            "10.0.0/8",
            "*.*",
            ".",
            "127.0.0",
            "127.0.0.256",
            "10",
            "10.7.0.2.",
            "*.7",
        ] {
            assert!(Network::parse(bad).is_none(), "{bad}");
        }
    }
}
