//! `visapult serve`: publishes a source to back ends elsewhere.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use visapult_pipeline::flow::{self, Publisher};
use visapult_ripp_net::{Identity, Options, user_folder};

use crate::arguments::ServeOptions;

const LOOK: Duration = Duration::from_millis(100);

/// Set when the user wants to stop.
static STOP: AtomicBool = AtomicBool::new(false);

pub(crate) fn run(options: &ServeOptions) -> Result<()> {
    ctrlc::set_handler(|| {
        // Asked twice, it does not wait.
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })?;
    if let Some(limit) = options.limit {
        thread::spawn(move || {
            let until = Instant::now() + limit;
            while Instant::now() < until {
                thread::sleep(LOOK);
            }
            STOP.store(true, Ordering::Relaxed);
        });
    }
    let source = visapult_pipeline::open_local(&options.source)?;
    let identity = Identity::load_or_create(&user_folder()?)?;
    let session = Options { rate: options.rate, ..Options::default() };
    let host = options.host.clone().unwrap_or_else(|| own_host(options.bind));
    flow::serve(source.as_ref(), session, &STOP, |declared| {
        let publisher = Publisher::listen(options.bind, &host, Some(identity), declared)?;
        if let Some(url) = publisher.url() {
            println!("{url}");
            // A reader that is gone does not want to know.
            let _ = std::io::stdout().flush();
        }
        Ok(publisher)
    })?;
    Ok(())
}

/// The address that others may reach this machine at: what it listens on, or the first address of its own that fits.
pub(crate) fn own_host(local: SocketAddr) -> String {
    if !local.ip().is_unspecified() {
        return local.ip().to_string();
    }
    let fits = |ip: &IpAddr| !ip.is_loopback() && (local.is_ipv6() || ip.is_ipv4());
    let addresses = if_addrs::get_if_addrs().unwrap_or_default();
    let own = addresses.iter().filter(|found| !found.is_link_local()).map(if_addrs::Interface::ip).find(fits);
    own.map_or_else(|| "127.0.0.1".to_owned(), |ip| ip.to_string())
}
