//! The command lines of `visapult share`, `visapult copy` and `visapult verify`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use visapult_copy::{Endpoint, FieldPart, RETRY, Rounding, Samples, Span, Steps, count_of, samples_zyx, zyx};
use visapult_ripp_net::units::parse_bytes;

use super::listen::{ListenOptions, parse_address};
use super::path::PathOptions;
use crate::output_file::growing_file;

const COPY_HELP: &str = "\
Places:
  path               on this machine
  ripp://TOKEN@host:port/NAME#PRINT
                     what `visapult share` printed there, in quotes; a path may
                     be appended: 'ripp://...#PRINT/run/a.h5', or stand before
                     the #, with %20 for a blank
  ripp://host:port/NAME/path
                     the same without its secret, which all users of a machine
                     see on a command line: the whole URL is a line of the file
                     ~/.config/visapult/urls (chmod 600)
  s3://BUCKET/KEY    an object, or what is below it, in a store that
                     AWS_ENDPOINT_URL names (else Amazon's); AWS_ACCESS_KEY_ID,
                     AWS_SECRET_ACCESS_KEY and AWS_REGION tell the rest, and
                     never the command line; without them nothing is signed, as
                     public buckets have it
  https://HOST/PATH  one file; as DST a folder or file of a server of WebDAV;
                     VISAPULT_HTTPS_USER and VISAPULT_HTTPS_PASSWORD, or
                     VISAPULT_HTTPS_TOKEN, say who asks the server that
                     VISAPULT_HTTPS_HOST names, and it alone is told

Where things go is the same every time that the command is given: a DST that is a folder takes the sources under their own names; so does one that is written with a / in the end, that of several sources, and that of a folder: it is made if it is not there. Any other DST is the new name of the one file. `SRC/.` is what is in the folder SRC. A SRC that is itself a link is followed; links in folders are copied as links, unless --follow-links is said. Times and modes are kept, holes stay holes.

What is there already, with the same size and time, is not sent (--checksum: with the same content, too). What is there and not in the sources stays, unless --delete is said: look at --dry-run first.

A copy that was interrupted goes on where it was when the same command is given again; a file has its name only once it is whole and verified, until then it is NAME.visapult-part, beside NAME.visapult-log, which says what has been verified. With --delete a folder that is to take the place of a file or link is NAME.visapult-folder until all is copied.

Exit codes: 0 all is there; 1 it ended before that, or what it tells could not be written, and an error says why; 2 a command line that does not fit; 3 some things were not copied, each is named, all others are there; 130 interrupted.

Examples:
  there:  visapult share /data/runs
  here, all of it:
    visapult copy 'ripp://...' .
  one thing, or some:
    visapult copy 'ripp://.../run-12' here
    visapult copy 'ripp://...' . --include '*.h5' --exclude tmp/ --dry-run
    visapult copy 'ripp://.../big.raw' part.raw --range 1GiB-2GiB
  the other way, where the share has --write:
    visapult copy results/ notes.txt 'ripp://.../in/'
  mirror/run-12 becomes the same:
    visapult copy 'ripp://.../run-12' mirror --checksum --delete
  straight from A to B, where B was started with --fetch:
    visapult copy 'ripp://A...' 'ripp://B.../in/'
  parts of fields:
    visapult copy 'ripp://.../run.h5' part.zarr --field /density \\
      --box 0:256,:,128: --stride 2
    visapult copy 'ripp://.../run.h5' small.zarr --steps 0:100:10 --level 2 \\
      --error 0.1%
  out of a store, or into one (or a share at the other end):
    visapult copy s3://bucket/run-12 .
    visapult copy run-12 s3://bucket/runs/
    visapult copy run-12 https://host/dav/runs/";

const SHARE_HELP: &str = "\
Examples:
  there:  visapult share /data/runs
  here, to see what there is, and to have it:
    visapult ls 'ripp://...'
    visapult copy 'ripp://...' .
  where others may copy into it, too; without --write it is --read-only:
    visapult share /data/incoming --write

All copies together have --rate, each way: they divide it by weight (`visapult copy --weight 3`), and what one leaves the others have. Without --rate each finds what the network carries.

Several machines that mount the same file system give as one: on each of them
  visapult share /data/runs --stripe ~/runs.stripe

Any one of their URLs is enough: a copy from it takes from all of them at once, one into it goes to all, and to those that are left when one of them dies. What --rate, --policy and --log say they say of one machine.

Whoever has the URL may copy, until the share ends. With --policy each person has a URL of their own, which stays the same as long as their token file is there, and may do what the file says:
  ask = \"Ada, ada@example.org\"      # told with every refusal
  [[person]]
  name = \"grace\"
  read = [\"runs\", \"notes/2026\"]     # folders in the share, \".\" for all of it
  write = [\"incoming/grace\"]
  most_rate = \"200M\"                # and then one copy at a time
  weight = 3                        # three times as much of --rate as weight 1
  # by the clock of this machine:
  hours = [\"mon-fri 18:00-07:30\", \"sat,sun\"]
  # the default, beside the policy; made if missing:
  token_file = \"grace.token\"";

const VERIFY_HELP: &str = "\
Examples:
  files against the hashes that `copy --manifest copied.b3` wrote:
    visapult verify copied.b3 copied
  two folders, or two files, of this machine, which are both read:
    visapult verify run-12 /backup/run-12
  files here against those of a share (only hashes travel), or against objects:
    visapult verify run-12 'ripp://.../run-12'
    visapult verify run-12 s3://bucket/run-12
  the hashes of those in a share, for `b3sum --check`:
    visapult verify 'ripp://.../run-12' > b3

Each file that differs, or is on one side only, is named; the exit code is 0 if there is none.";

/// Options of `visapult share`.
#[derive(Debug, Args)]
#[command(after_help = SHARE_HELP)]
pub(crate) struct ShareOptions {
    /// The folder to share.
    pub(crate) folder: PathBuf,
    /// Others may copy from it only, and not into it: so it is without this, too.
    #[arg(long, conflicts_with_all = ["write", "policy"])]
    pub(crate) read_only: bool,
    /// Others may copy into it, too, and not from it only.
    #[arg(long)]
    pub(crate) write: bool,
    /// Who may read and write what, how fast and when, is in this file; each has a URL of their own.
    #[arg(long, value_name = "FILE", conflicts_with = "write")]
    pub(crate) policy: Option<PathBuf>,
    /// Fetch from shares at this host, as their URLs name it, when somebody asks for that who may write (`visapult copy ripp://A ripp://HERE`);
    /// may be repeated, and `*` stands for any part of it. This machine then dials any port there that they name.
    #[arg(long, value_name = "HOST")]
    pub(crate) fetch: Vec<String>,
    /// Give, and take, as one with the shares of the same folder on other machines that name the same FOLDER here: each leaves its URL there, and any one of these
    /// serves for all. It has to be outside of what is shared, and yours alone (made so if it is not there).
    #[arg(long, value_name = "FOLDER")]
    pub(crate) stripe: Option<PathBuf>,
    /// Address and port to listen on (127.0.0.1:7440 for this machine alone); everything is encrypted, and needs the URL's token.
    #[arg(long, value_name = "ADDR:PORT", default_value = "0.0.0.0:7440", value_parser = parse_address)]
    pub(crate) bind: SocketAddr,
    #[command(flatten)]
    pub(crate) listen: ListenOptions,
    /// Append a line of JSON for every copy to this file: who, when, what, bytes, rate, result.
    #[arg(long, value_name = "FILE", value_parser = growing_file())]
    pub(crate) log: Option<PathBuf>,
    /// Print a line of JSON for the URL and for each copy.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `visapult copy`.
#[derive(Debug, Args)]
#[command(override_usage = "visapult copy [OPTIONS] <SRC>... <DST>", after_help = COPY_HELP)]
pub(crate) struct CopyOptions {
    /// What to copy, and in the end where to.
    #[arg(value_name = "SRC... DST", required = true, value_parser = place())]
    pub(crate) places: Vec<Endpoint>,
    /// Copy only files that match this pattern: of names, or with a / of paths below the source (`*.h5`, `run-*/**/*.h5`); with a / in the end
    /// all that is in such folders (`run-*/`); may be repeated.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) include: Vec<String>,
    /// Leave out files and folders that match this pattern, with a / in the end only folders (`tmp/`), and what is in them; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) exclude: Vec<String>,
    /// Copy what links in folders lead to, in place of the links; out of a share what lies in it.
    #[arg(long)]
    pub(crate) follow_links: bool,
    /// Compare by content what is there with the same size and time, and copy it if it differs; both ends read all of it.
    #[arg(long)]
    pub(crate) checksum: bool,
    /// When all is copied, delete in the folders that were copied what the sources do not have; with SRC/. in DST itself. What is of another kind
    /// there, such as a file where a folder is to be, gives way. Nothing is deleted where not all of the sources could be copied, or where they
    /// hold no file.
    #[arg(long)]
    pub(crate) delete: bool,
    /// With --delete and patterns: delete what the patterns leave out, too.
    #[arg(long, requires = "delete")]
    pub(crate) delete_unmatched: bool,
    /// Copy these bytes of the one file SRC to the new file DST: from A on, before B, in bytes, kB, MiB and so on; without B to its end
    /// (0-1MiB, 1GiB-). A DST that is there and has another size is left as it is.
    #[arg(long, value_name = "A-B", value_parser = parse_span, conflicts_with_all = ["include", "exclude", "delete"])]
    pub(crate) range: Option<Span>,
    /// Only tell what would be copied, made and deleted: a line for each, and one for all.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Copy everything from its beginning, whatever is there.
    #[arg(long)]
    pub(crate) no_resume: bool,
    /// Give files their names before the disk has them: many small files come faster on a slow disk, and may be empty after a loss of power.
    #[arg(long)]
    pub(crate) no_sync: bool,
    /// Write the hash of every file there, as `b3sum --check` and `visapult verify` read it; `-` prints it.
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub(crate) manifest: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) path: PathOptions,
    /// Where a share that was started with --rate has several copies: as many times as much of it as a copy of weight 1.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) weight: u32,
    /// From one share into another: leave when it has begun; `visapult fetches` tells how it stands.
    #[arg(long, conflicts_with_all = ["dry_run", "manifest"])]
    pub(crate) detach: bool,
    /// How long a connection that is lost is dialled again.
    #[arg(long, value_name = "TIME", default_value_t = RETRY.into())]
    pub(crate) retry: humantime::Duration,
    /// Print events as lines of JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) part: PartOptions,
}

/// Which part of the fields in a source is made and sent.
#[derive(Debug, Args)]
#[command(next_help_heading = "A part of the fields in SRC, sent as the Zarr group DST.zarr")]
#[group(id = "part", multiple = true, conflicts_with_all = ["include", "exclude", "follow_links", "range", "delete_unmatched"])]
pub(crate) struct PartOptions {
    /// This field, by its name or its path in the file (density, /fields/density); may be repeated; all if it is not said.
    #[arg(long, value_name = "NAME")]
    pub(crate) field: Vec<String>,
    /// Samples along z, y and x, counted from 0, the end not included, as NumPy has it: 0:256,:,128: (of the level, if one is said).
    #[arg(long = "box", value_name = "Z,Y,X", value_parser = parse_box, allow_hyphen_values = true)]
    pub(crate) bounds: Option<[Samples; 3]>,
    /// Every Nth of these samples, from the first on; or so many along z, y and x (1,2,2).
    #[arg(long, value_name = "N", value_parser = parse_stride)]
    pub(crate) stride: Option<[u64; 3]>,
    /// The level of detail, 0 being the finest; beyond those that the file stores, means of 2 x 2 x 2 samples each, and of these again.
    #[arg(long, value_name = "N")]
    pub(crate) level: Option<u32>,
    /// One step, or from one to before another, every so many: 7, 0:100, 0:100:10.
    #[arg(long, value_name = "A:B:C", value_parser = parse_steps, allow_hyphen_values = true)]
    pub(crate) steps: Option<Steps>,
    /// Round values, so that they compress: each is then at most so far from the source's, in its unit (0.01), or as a part of itself (0.1%).
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    pub(crate) error: Option<Rounding>,
}

impl PartOptions {
    /// None if all of the files is meant, as they are.
    pub(crate) fn part(&self, is_dry: bool) -> Option<FieldPart> {
        let Self { field, bounds, stride, level, steps, error } = self;
        let is_asked = bounds.is_some() || stride.is_some() || level.is_some() || steps.is_some() || error.is_some();
        (is_asked || !field.is_empty()).then(|| FieldPart {
            fields: field.clone(),
            bounds: *bounds,
            stride: stride.unwrap_or([1; 3]),
            level: level.unwrap_or(0),
            steps: *steps,
            rounding: error.unwrap_or_default(),
            is_dry,
        })
    }
}

/// Options of `visapult fetches`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  visapult copy 'ripp://A...' 'ripp://B.../in/' --detach\n  visapult fetches 'ripp://B...'\n  \
                        visapult fetches 'ripp://B...' --stop 1\n\nWhat has been copied by a copy that is stopped is kept."
)]
pub(crate) struct FetchesOptions {
    /// The share that fetches: what `visapult share` printed there.
    pub(crate) share: Endpoint,
    /// Stop the copy of this number.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) stop: Option<u64>,
    /// Print a line of JSON for each.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `visapult verify`.
#[derive(Debug, Args)]
#[command(after_help = VERIFY_HELP)]
pub(crate) struct VerifyOptions {
    /// What `visapult copy --manifest` or `b3sum` wrote; or a file or folder; or what `visapult share` printed, or objects (s3://, https://).
    #[arg(value_name = "MANIFEST | PATH | URL", value_parser = place())]
    pub(crate) what: Endpoint,
    /// With a manifest, the folder that its paths are in, or the one file (the DST of the copy) [default: .]; with a folder or file, what it is held against.
    #[arg(value_name = "PATH | URL", value_parser = place())]
    pub(crate) with: Option<Endpoint>,
}

/// Names of files need not be text.
pub(super) fn place() -> impl TypedValueParser<Value = Endpoint> {
    OsStringValueParser::new().try_map(Endpoint::try_from)
}

fn parse_span(text: &str) -> Result<Span, String> {
    let Some((start, end)) = text.split_once('-') else {
        return Err("expected the first byte and the one after the last, such as 0-1MiB or 1GiB-".to_owned());
    };
    let start = if start.trim() == "0" { 0 } else { parse_bytes(start)? };
    let end = if end.trim().is_empty() { None } else { Some(parse_bytes(end)?) };
    if end.is_some_and(|end| end <= start) {
        return Err("the range ends before it begins".to_owned());
    }
    Ok(Span { start, end })
}

fn parse_box(text: &str) -> Result<[Samples; 3], String> {
    samples_zyx(text).map_err(|why| format!("{why}: write it as 0:256,:,128:"))
}

fn parse_stride(text: &str) -> Result<[u64; 3], String> {
    let stride = if text.contains(',') { zyx(text, count_of)? } else { [count_of(text)?; 3] };
    if stride.contains(&0) { Err("a stride is 1 or more".to_owned()) } else { Ok(stride) }
}

fn parse_steps(text: &str) -> Result<Steps, String> {
    let mut parts = text.splitn(3, ':');
    let (first, end, every) = (parts.next().unwrap_or(""), parts.next(), parts.next());
    let span = end.map_or_else(|| first.to_owned(), |end| format!("{first}:{end}"));
    let Samples { first, end } = span.parse()?;
    let every = every.filter(|every| !every.trim().is_empty()).map_or(Ok(1), count_of)?;
    if every == 0 { Err("every 0th step is none".to_owned()) } else { Ok(Steps { first, end, every }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_and_steps_are_read_as_numpy_writes_them() {
        assert_eq!((parse_stride("2"), parse_stride("1,2,4")), (Ok([2; 3]), Ok([1, 2, 4])));
        assert_eq!(parse_steps("5"), Ok(Steps { first: 5, end: Some(6), every: 1 }));
        assert_eq!(parse_steps("0:100:10"), Ok(Steps { first: 0, end: Some(100), every: 10 }));
        assert_eq!(parse_steps("::3"), Ok(Steps { first: 0, end: None, every: 3 }));
        assert_eq!(parse_box("1:2"), Err("expected three, for z, y and x: write it as 0:256,:,128:".to_owned()));
        assert!(["0", "1,0,1", "-2", "1,2"].iter().all(|wrong| parse_stride(wrong).is_err()));
        assert!(["", "::0", "5:5", "1:2:3:4"].iter().all(|wrong| parse_steps(wrong).is_err()));
    }

    #[test]
    fn help_is_wrapped_once() {
        for help in [COPY_HELP, SHARE_HELP, VERIFY_HELP] {
            let lines: Vec<&str> = help.lines().collect();
            // What is laid out fits every terminal; what is not is one line, which the terminal's width wraps.
            let is_laid_out = |line: &str| line.starts_with("  ");
            assert!(lines.iter().all(|line| !is_laid_out(line) || line.chars().count() <= 80), "{help}");
            let is_prose = |line: &str| !line.is_empty() && !is_laid_out(line);
            assert!(lines.windows(2).all(|two| !(is_prose(two[0]) && is_prose(two[1]))), "{help}");
        }
    }

    #[test]
    fn ranges_are_read_with_units() {
        assert_eq!(parse_span("0-1MiB"), Ok(Span { start: 0, end: Some(1 << 20) }));
        assert_eq!(parse_span("1.5kB-"), Ok(Span { start: 1500, end: None }));
        for wrong in ["", "5", "-5", "7-7", "2k-1k", "a-b"] {
            assert!(parse_span(wrong).is_err(), "{wrong}");
        }
    }
}
