//! `visapult serve`: publishes a source to back ends elsewhere.

use anyhow::Result;
use visapult_pipeline::flow::{self, Publisher};
use visapult_ripp_net::{Identity, Options, Token, own_host, user_folder};

use crate::arguments::ServeOptions;
use crate::processes::record;
use crate::say::say;
use crate::stop;

pub(crate) fn run(options: &ServeOptions) -> Result<()> {
    let _recording = options.trace.as_ref().map(|file| record(file, &options.source, "serve")).transpose()?;
    let stop = stop::when_asked(options.listen.limit)?;
    let source = visapult_pipeline::open_to_publish(&options.source)?;
    let session = Options { rate: options.listen.rate, ..Options::default() };
    let host = options.listen.host.clone().unwrap_or_else(|| own_host(options.bind));
    // Who has had the URL of one source is not let in to the next.
    let protection = (Identity::load_or_create(&user_folder()?)?, Token::fresh()?);
    flow::serve(source.as_ref(), session, stop, |declared| {
        let publisher = Publisher::listen(options.bind, &host, Some(protection), declared)?;
        if let Some(url) = publisher.url() {
            say(&url.to_string());
        }
        Ok(publisher)
    })?;
    Ok(())
}
