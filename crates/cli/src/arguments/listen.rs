//! What all commands have that print a URL and wait.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use visapult_ripp_net::{Rate, RippUrl, UrlError};

use super::path::parse_choice;

/// How others reach what is offered, how fast, and how long.
#[derive(Debug, Args)]
pub(crate) struct ListenOptions {
    /// Host name or address to put in the URL [default: the first address of this machine that fits].
    #[arg(long, value_name = "HOST", value_parser = parse_host)]
    pub(crate) host: Option<String>,
    /// Bits of IP packets per second on a path of your own (950M, 10Gbit), or `auto`, which finds and shares it.
    #[arg(long, value_name = "RATE", default_value = "auto", value_parser = parse_choice)]
    pub(crate) rate: Rate,
    /// Stop by itself after this time (20s, 5m).
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) limit: Option<Duration>,
}

/// An address in numbers, and a port.
pub(super) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "expected ADDR:PORT with an address in numbers: 0.0.0.0:7510 for all of this machine, 127.0.0.1:7510 for this machine alone, [::]:7510 with IPv6"
            .to_owned()
    })
}

/// A name or address that can be put in a URL.
pub(super) fn parse_host(text: &str) -> Result<String, UrlError> {
    RippUrl::check_host(text).map(|()| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_to_listen_on_is_told_by_example() {
        for right in ["127.0.0.1:0", "[::1]:7510"] {
            assert!(parse_address(right).is_ok(), "{right}");
        }
        for wrong in ["7510", "localhost:7510", "::1:7510", "127.0.0.1"] {
            let why = parse_address(wrong).unwrap_err();
            assert!(why.contains("ADDR:PORT") && why.contains("127.0.0.1:7510"), "{wrong}: {why}");
        }
    }
}
