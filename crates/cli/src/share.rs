//! `visapult share`: a folder that others copy from, and into where its user allows it.

use anyhow::{Result, bail};
use serde_json::{Value, json};
use visapult_copy::{Access, Audit, Deed, Share, ShareEvent, counted, rate, size};
use visapult_ripp_net::{Identity, Options, RippUrl, own_host, user_folder};

use crate::arguments::ShareOptions;
use crate::crier::Crier;
use crate::inside::lies_in;
use crate::log::Log;
use crate::say::say;
use crate::stop;

pub(crate) fn run(options: &ShareOptions) -> Result<()> {
    let stop = stop::when_asked(options.listen.limit)?;
    if let Some(file) = options.log.as_ref().filter(|file| lies_in(file, &options.folder)) {
        let what = "tells who has copied what, and lies in the folder that is shared: name it elsewhere";
        bail!("{} {what}", file.display());
    }
    let log = options.log.as_deref().map(Log::open).transpose()?;
    let access = match &options.policy {
        Some(file) => Access::Policy(file.clone()),
        // Nothing is written unless that is said.
        None => Access::Url { write: options.write },
    };
    let secrets = user_folder()?;
    let mut share = Share::open(visapult_copy::ShareOptions {
        folder: options.folder.clone(),
        access,
        fetch: options.fetch.clone(),
        bind: options.bind,
        identity: Some(Identity::load_or_create(&secrets)?),
        secrets: Some(secrets),
        session: Options { rate: options.listen.rate, ..Options::default() },
    })?;
    let host = options.listen.host.clone().unwrap_or_else(|| own_host(share.local_addr()));
    if let Some(stripe) = &options.stripe {
        share.join(stripe, &host)?;
    }
    let url_lines =
        || share.urls(&host).into_iter().map(|(who, url)| (url_line(who.as_deref(), &url, options.json), who));
    url_lines().for_each(|(line, _)| say(&line));
    let is_json = options.json;
    let notice = move |said: String| if is_json { json!({ "notice": said }).to_string() } else { said };
    // Rights are seen to whether or not anybody reads what is said.
    let crier = Crier::start(say, move |count| notice(left_out(count)))?;
    let served = share.serve(stop, &|event| match event {
        ShareEvent::Done(audit) => {
            let record = record(&audit);
            if let Some(log) = &log {
                log.append(&record);
            }
            crier.say(if is_json { record.to_string() } else { line(&audit) });
        }
        ShareEvent::MistakenPolicy { why, out } => {
            let but = if out.is_empty() {
                String::new()
            } else {
                format!(", but not for {}, whom it does not name", out.join(", "))
            };
            crier.say(notice(format!("{why}; what the policy said before holds{but}")));
        }
        ShareEvent::Withheld { why } => crier.say(notice(why)),
        ShareEvent::Policy { fresh } => {
            crier.say(notice("the policy was read again".to_owned()));
            let is_fresh = |who: &Option<String>| who.as_ref().is_some_and(|who| fresh.contains(who));
            url_lines().filter(|(_, who)| is_fresh(who)).for_each(|(line, _)| crier.say(line));
        }
    });
    crier.finish();
    Ok(served?)
}

fn left_out(count: u64) -> String {
    format!("{} left out, as nobody read them", counted(count, "line"))
}

fn url_line(who: Option<&str>, url: &RippUrl, is_json: bool) -> String {
    let url = url.to_string();
    match who {
        Some(who) if is_json => json!({ "url": url, "who": who }).to_string(),
        None if is_json => json!({ "url": url }).to_string(),
        Some(who) => format!("{who} {url}"),
        None => url,
    }
}

fn record(audit: &Audit) -> Value {
    let seconds = audit.elapsed.as_secs_f64();
    json!({
        "when": humantime::format_rfc3339_millis(audit.began).to_string(),
        "who": who(audit),
        "from": audit.peer.ip().to_canonical().to_string(),
        "what": what(audit),
        "source": if let Deed::Fetch { from } = &audit.deed { Some(from) } else { None },
        "paths": audit.paths,
        "files": audit.files,
        "bytes": audit.bytes,
        "seconds": seconds,
        "bits_per_second": audit.bytes as f64 * 8.0 / seconds.max(1e-3),
        "result": audit.fault.as_deref().unwrap_or("done"),
    })
}

fn what(audit: &Audit) -> &'static str {
    match audit.deed {
        Deed::Get => "get",
        Deed::Put => "put",
        Deed::Fetch { .. } => "fetch",
        Deed::Check => "check",
        Deed::Dial => "dial",
    }
}

/// The name that the policy has for them, else where they are.
fn who(audit: &Audit) -> String {
    audit.who.clone().unwrap_or_else(|| audit.peer.ip().to_canonical().to_string())
}

fn line(audit: &Audit) -> String {
    let speed = rate(audit.bytes as f64 * 8.0 / audit.elapsed.as_secs_f64().max(1e-3));
    let paths: String =
        audit.paths.iter().map(|path| format!(" {}", if path.is_empty() { "." } else { path })).collect();
    let files = if matches!(audit.deed, Deed::Check | Deed::Dial) {
        String::new()
    } else {
        format!("{}, ", counted(audit.files, "file"))
    };
    format!(
        "{} {} {}{paths}: {files}{}, {speed}, {}",
        humantime::format_rfc3339_seconds(audit.began),
        who(audit),
        what(audit),
        size(audit.bytes),
        audit.fault.as_deref().unwrap_or("done"),
    )
}
