//! The command line, and how people write sizes, times and levels on it.

mod backend;
mod copy;
mod doctor;
mod listen;
mod ls;
mod path;
mod perf;
mod serve;
mod trace;

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use visapult_pipeline::{Camera, CodeBits, MOST_EDGE, Up};
use visapult_ripp_net::units::parse_bytes;

use crate::output_file::growing_file;

pub(crate) use backend::BackendOptions;
pub(crate) use copy::{CopyOptions, FetchesOptions, ShareOptions, VerifyOptions};
pub(crate) use doctor::DoctorOptions;
pub(crate) use ls::LsOptions;
pub(crate) use perf::{PerfOptions, PerfSendOptions, PerfServeOptions, PerfSide};
pub(crate) use serve::ServeOptions;
pub(crate) use trace::{TraceCommand, TraceMergeOptions, TraceOptions, TracePlotOptions};

/// What is read.
const FILES: &str = "\
Sources:
  demo:wave?n=128          the 3-D wave equation, running while it is watched
  field.npy                numpy array [z, y, x] or [t, z, y, x]
  field.json               raw values with a JSON description
  scan.nii, scan.nii.gz    NIfTI-1 and -2
  run.h5:/group/dataset    HDF5 dataset; without a path, all that fit
  run.vtkhdf               VTKHDF: an image, or adaptively refined grids
  data.zarr                Zarr v2 or v3, OME-Zarr multiscales; a folder
  https://host/data.zarr   the same in an object store, of which only what is
  s3://bucket/data.zarr    looked at is read
  'image.zarr?level=1'     one of the levels that a file stores; else the finest that fits in memory
  'run.h5?box=0:256,:,7'   of its samples along z, y, x only these, from 0 on, as info counts them
  'ocean.nc?spacing=even'  samples that lie unevenly (depths, pressures) where their coordinates say";

/// What is received.
const FLOWS: &str = "  'ripp://...'             what `visapult serve` or a simulation publishes elsewhere;
                           ripp://host:port/name if the whole URL is a line of
                           ~/.config/visapult/urls, and so not to be seen here";

/// What is shown.
fn sources() -> String {
    format!("{FILES}\n{FLOWS}")
}

/// See large 3-D fields that live elsewhere, in a browser.
#[derive(Debug, Parser)]
#[command(name = "visapult", version, after_help = sources())]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show a source in the browser.
    View(ViewOptions),
    /// Receive a simulation, and show it in the browser; without a URL, waits for its ranks to dial, and prints the URL that they need.
    Backend(Box<BackendOptions>),
    /// Publish a source, to be shown elsewhere: prints the URL that `view` needs there.
    Serve(Box<ServeOptions>),
    /// Render one image to a PNG file.
    Render(Box<RenderOptions>),
    /// Tell grid, spacing, fields, steps and range of a source.
    Info(InfoOptions),
    /// Find what slows this host down, what it costs, and what mends it.
    Doctor(DoctorOptions),
    /// Measure what a path between two machines carries.
    Perf(PerfOptions),
    /// Share a folder, to be copied from (or into) elsewhere: prints the URL that `copy` needs there.
    Share(ShareOptions),
    /// List what is in a share, a folder or an object store, before anything is copied.
    Ls(LsOptions),
    /// Copy files and folders to or from a share, and go on where an earlier copy was interrupted.
    Copy(Box<CopyOptions>),
    /// Tell what a share fetches from other shares, or stop it.
    Fetches(FetchesOptions),
    /// Hold files against the manifest of a copy, against other files, or against a share.
    Verify(VerifyOptions),
    /// Show where the time of a run went, from the events that --trace has recorded.
    Trace(TraceOptions),
}

/// Options of `visapult view`.
#[derive(Debug, Args)]
#[command(after_help = format!("{}\n\nExamples:\n  visapult view demo:wave\n  visapult view scan.nii.gz --port 0\n  \
                                ssh -t -L 7420:127.0.0.1:7420 cluster visapult view run.h5:/density", sources()))]
pub(crate) struct ViewOptions {
    /// What to show.
    #[arg(value_parser = source())]
    pub(crate) source: String,
    #[command(flatten)]
    pub(crate) page: PageOptions,
    /// Record what each stage of each step takes, for `visapult trace plot` and Perfetto.
    #[arg(long, value_name = "FILE", value_parser = growing_file())]
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) split: SplitOptions,
}

/// Where the page is served, and for how long.
#[derive(Debug, Args)]
pub(crate) struct PageOptions {
    /// Port of the page; 0 takes any that is free [default: 7420, or the next that is free].
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Address of the page; loopback only, for the connection is not encrypted.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) bind: IpAddr,
    /// Write what is asked of the simulation, by whom, and before which step it took effect, to this file, a line of JSON each; a program that
    /// has VISAPULT_REPLAY=FILE in its environment does the same again.
    #[arg(long, value_name = "FILE", value_parser = growing_file())]
    pub(crate) steering_log: Option<PathBuf>,
    /// Stop by itself after this time (20s, 5m).
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) limit: Option<Duration>,
    /// Do not open a browser, even where there is a display.
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Stop when the standard input ends: together with the program that started this one and holds its other end. The page's secret is then this run's own.
    #[arg(long)]
    pub(crate) until_input_ends: bool,
}

/// How the work is split.
#[derive(Debug, Args)]
pub(crate) struct SplitOptions {
    /// Processing elements the grid is split over, over all processes under mpiexec [default: 1 for images, one per core up to 4 for views;
    /// as many for every process].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) pes: Option<u16>,
    /// Rendering threads; 0 takes every core.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
    /// What makes images and keyframes.
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) device: DeviceName,
}

/// What can make images and keyframes.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DeviceName {
    /// A graphics processor with a Vulkan driver where there is one, else the processor.
    Auto,
    /// The processor.
    Cpu,
    /// A graphics processor.
    Gpu,
    /// A Vulkan driver that calculates on the processor: slow, to try out what needs a graphics processor.
    Software,
}

/// Proxies an image can go through.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ProxyName {
    /// The image itself.
    Exact,
    /// Quantised bricks of one level, as a viewer gets them.
    Bricks,
    /// View-aligned layers of a key view, as a viewer gets them.
    Slabs,
    /// The field at the faces of slabs of a key view: good for any transfer function.
    ScalarSlabs,
    /// The values along the rays of a key view, in few depth intervals.
    Segments,
    /// The best of those within --budget, as predicted against an exact image of twice as many samples; beyond 45 dB the smallest.
    Auto,
}

/// Options of `visapult render`.
#[derive(Debug, Args)]
#[command(after_help = format!("{}\n\nExamples:\n  visapult render scan.nii.gz --out scan.png\n  \
    visapult render run.h5:/density --out a.png --size 1024x1024 --az 45 --el 10 --tf hot.json\n  \
    visapult render field.npy --out s.png --proxy slabs --key-az 30 --az 50 --json cost.json\n  \
    visapult render field.npy --out t.png --proxy scalar-slabs --key-az 30 --az 50 --tf other.json\n  \
    visapult render run.h5 --out d.png --field 'log10(density)'", sources()))]
pub(crate) struct RenderOptions {
    /// What to render.
    #[arg(value_parser = source())]
    pub(crate) source: String,
    /// PNG file to write; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Size of the image in pixels.
    #[arg(long, value_name = "WxH", default_value = "512x512", value_parser = parse_size)]
    pub(crate) size: ImageSize,
    /// Azimuth of the eye, in degrees; 0 looks down from +z, or along y where z is up.
    #[arg(long, value_name = "DEGREES", default_value_t = 30.0, allow_negative_numbers = true)]
    pub(crate) az: f64,
    /// Elevation of the eye, in degrees.
    #[arg(long, value_name = "DEGREES", default_value_t = 20.0, allow_negative_numbers = true)]
    pub(crate) el: f64,
    /// Distance of the eye from the centre; the longest edge of the box is 1.
    #[arg(long, value_name = "LENGTH", default_value_t = 3.0, allow_negative_numbers = true)]
    pub(crate) distance: f64,
    /// The point that is looked at, where the box's centre is 0,0,0 and its longest edge 1: `at` in a link of the page.
    #[arg(long, value_name = "X,Y,Z", default_value = "0,0,0", value_parser = parse_triple, allow_hyphen_values = true)]
    pub(crate) at: Triple,
    /// Vertical field of view, in degrees.
    #[arg(long, value_name = "DEGREES", default_value_t = 30.0, allow_negative_numbers = true)]
    pub(crate) fov: f64,
    /// How many times as long as it is each axis is shown, such as 1,1,30 for a layer of air that is wide and thin.
    #[arg(long, value_name = "X,Y,Z", default_value = "1,1,1", value_parser = parse_triple, allow_hyphen_values = true)]
    pub(crate) stretch: Triple,
    /// From where to where along each axis the box is shown, 0 being its low face and 1 its high one, `:` all: 0.5:,:,: cuts away half of it.
    #[arg(long, value_name = "X,Y,Z", default_value = ":,:,:", value_parser = parse_crop, allow_hyphen_values = true)]
    pub(crate) crop: Crop,
    /// The axis that is shown upwards, y or z: with z, azimuth 0 looks along y, as from the south of a map.
    #[arg(long, value_name = "AXIS", default_value = "y", value_parser = parse_up)]
    pub(crate) up: Up,
    /// Transfer function: a JSON file of ours or of ParaView [default: fits the field's range].
    #[arg(long, value_name = "FILE")]
    pub(crate) tf: Option<PathBuf>,
    /// Distance between samples along a ray, in units of the smallest sample spacing.
    #[arg(long, value_name = "STEP", default_value_t = 1.0, allow_negative_numbers = true)]
    pub(crate) sample_step: f64,
    /// Field to show, '|B|' for the magnitude of Bx, By, Bz, or 'log10(NAME)' for what spans decades [default: the first].
    #[arg(long, value_name = "NAME")]
    pub(crate) field: Option<String>,
    /// Time step to show [default: the first].
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub(crate) time_step: Option<u64>,
    /// What the image goes through.
    #[arg(long, value_enum, default_value = "exact")]
    pub(crate) proxy: ProxyName,
    /// Azimuth of the key view, in degrees (slabs, scalar slabs, segments).
    #[arg(long, value_name = "DEGREES", default_value_t = 30.0, allow_negative_numbers = true)]
    pub(crate) key_az: f64,
    /// Elevation of the key view, in degrees (slabs, scalar slabs, segments).
    #[arg(long, value_name = "DEGREES", default_value_t = 20.0, allow_negative_numbers = true)]
    pub(crate) key_el: f64,
    /// Number of slabs [default: 64; of scalar slabs as many as the grid needs, at most 192].
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) slabs: Option<u16>,
    /// Most segments of a ray [default: 64].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=254))]
    pub(crate) segments: Option<u16>,
    /// Most bytes of the proxy on the wire (auto), such as 500kB or 2MiB [default: 8MB].
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, allow_negative_numbers = true)]
    pub(crate) budget: Option<u64>,
    /// Level of detail of the bricks; 0 is the full resolution, and the default.
    #[arg(long, value_name = "L")]
    pub(crate) bricks_level: Option<u32>,
    /// Bits of the bricks' codes: 4 to 8, or 16; fewer take fewer bytes, and are off by more [default: 8].
    #[arg(long, value_name = "BITS", value_parser = parse_code_bits)]
    pub(crate) bricks_bits: Option<CodeBits>,
    /// Most bytes of the field that are held, such as 4GiB: a step of a file that takes more is read block by block [default: what is free, which a step must fit].
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) memory: Option<u64>,
    /// Write what the image cost to this JSON file; `-` prints it.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) split: SplitOptions,
}

/// Options of `visapult info`.
#[derive(Debug, Args)]
#[command(after_help = sources())]
pub(crate) struct InfoOptions {
    /// What to look at.
    #[arg(value_parser = source())]
    pub(crate) source: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// From where to where along x, y and z, in shares of the box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Crop(pub(crate) [[f64; 2]; 3]);

/// Numbers along x, y and z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Triple(pub(crate) [f64; 3]);

/// Pixels across and down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImageSize {
    pub(crate) width: usize,
    pub(crate) height: usize,
}

const MOST_THREADS: usize = 1024;

/// The name of a source, or a URL, around which blanks mean nothing.
fn source() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().try_map(parse_source)
}

fn parse_source(written: OsString) -> Result<String, &'static str> {
    let text = written.into_string().map_err(|_| "it is no text in UTF-8: rename the file, or name a link to it")?;
    if text.trim().is_empty() {
        return Err("the name is empty, as a variable of the shell is that is not set: name a file, a folder or a URL");
    }
    Ok(if text.contains("://") { text.trim().to_owned() } else { text })
}

fn parse_size(text: &str) -> Result<ImageSize, String> {
    let edges = text.split_once(['x', 'X']).and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    match edges {
        Some((width, height)) if (1..=MOST_EDGE).contains(&width) && (1..=MOST_EDGE).contains(&height) => {
            Ok(ImageSize { width, height })
        }
        Some(_) => Err(format!("edges must be 1 to {MOST_EDGE} pixels")),
        None => Err("expected WIDTHxHEIGHT, such as 1024x768".to_owned()),
    }
}

fn parse_crop(text: &str) -> Result<Crop, String> {
    let end = |text: &str, all: f64| if text.trim().is_empty() { Some(all) } else { text.trim().parse().ok() };
    let part = |text: &str| text.split_once(':').and_then(|(from, to)| Some([end(from, 0.0)?, end(to, 1.0)?]));
    let parts: Option<Vec<_>> = text.split(',').map(part).collect();
    let crop: Option<[[f64; 2]; 3]> = parts.and_then(|parts| parts.try_into().ok());
    let crop = crop.ok_or("expected a part of each axis, such as 0:1,0.25:0.75,:")?;
    if (Camera { crop, ..Camera::default() }).validate().is_err() {
        return Err("a part goes upwards, from 0 or more to 1 at most: it is told in shares of the axis, not in samples, as ?box=Z,Y,X has them".to_owned());
    }
    Ok(Crop(crop))
}

fn parse_triple(text: &str) -> Result<Triple, String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|number| number.trim().parse()).collect();
    let triple = numbers.ok().and_then(|numbers| <[f64; 3]>::try_from(numbers).ok());
    triple.map(Triple).ok_or_else(|| "expected three numbers, such as 0.1,0,-0.25".to_owned())
}

fn parse_up(text: &str) -> Result<Up, String> {
    match text {
        "y" => Ok(Up::Y),
        "z" => Ok(Up::Z),
        _ => Err("expected y or z".to_owned()),
    }
}

fn parse_code_bits(text: &str) -> Result<CodeBits, String> {
    let bits = text.parse().ok().and_then(CodeBits::from_bits);
    bits.ok_or_else(|| "expected a number from 4 to 8, or 16".to_owned())
}

fn parse_threads(text: &str) -> Result<usize, String> {
    let threads = text.parse().ok().filter(|&threads| threads <= MOST_THREADS);
    threads.ok_or_else(|| format!("expected a number from 0 to {MOST_THREADS}"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn help_tells_how_much_memory_a_session_takes() {
        use visapult_ripp_net::Memory;
        for side in ["serve", "send"] {
            let help = Arguments::command()
                .find_subcommand_mut("perf")
                .unwrap()
                .find_subcommand_mut(side)
                .unwrap()
                .render_help()
                .to_string();
            let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
            let [least, default] = [Memory::LEAST, Memory::DEFAULT].map(|memory| memory.bytes() >> 20);
            assert!(words.contains(&format!("{least}MiB at least [default: {default}MiB]")), "{words}");
        }
    }

    #[test]
    fn sources_are_text_and_blanks_around_urls_mean_nothing() {
        use std::os::unix::ffi::OsStringExt;
        let source = |written: &[u8]| parse_source(OsString::from_vec(written.to_vec()));
        assert_eq!(source(b" ripp://host:1/x\n"), Ok("ripp://host:1/x".to_owned()));
        assert_eq!(source(b" field.npy"), Ok(" field.npy".to_owned()));
        assert!(source(b"caf\xe9.npy").unwrap_err().contains("rename the file"));
        assert!([&b""[..], b" "].iter().all(|nothing| source(nothing).unwrap_err().contains("the name is empty")));
        let command = ["visapult".into(), "info".into(), OsString::from_vec(b"caf\xe9.npy".to_vec())];
        let refused = Arguments::try_parse_from(command).unwrap_err().to_string();
        assert!(refused.contains("<SOURCE>") && refused.contains("rename the file"), "{refused}");
    }

    #[test]
    fn what_is_served_is_read_and_what_is_shown_may_be_received() {
        let help = |command: &str| Arguments::command().find_subcommand_mut(command).unwrap().render_help().to_string();
        let is_offered = |command: &str| help(command).contains("  'ripp://...'  ");
        assert_eq!(["view", "render", "info", "serve"].map(is_offered), [true, true, true, false]);
        for command in ["view", "render", "info", "serve"] {
            assert!(["https://", "s3://", "VTKHDF: an image"].iter().all(|source| help(command).contains(source)));
        }
    }

    #[test]
    fn a_crop_is_a_part_of_each_axis() {
        assert_eq!(parse_crop("0.5:, :0.25,:"), Ok(Crop([[0.5, 1.0], [0.0, 0.25], [0.0, 1.0]])));
        for text in ["", "0:1", "0:1,0:1,0", ":,:,:,:", "a:,:,:"] {
            assert!(parse_crop(text).unwrap_err().contains("0.25:0.75"), "{text}");
        }
        for text in ["0.7:0.2,:,:", ":,0.5:0.5,:", ":,:,10:20", "nan:,:,:"] {
            assert!(parse_crop(text).unwrap_err().contains("in shares of the axis"), "{text}");
        }
    }

    #[test]
    fn points_are_three_numbers() {
        assert_eq!(parse_triple("0.1,-2, 3e-1"), Ok(Triple([0.1, -2.0, 0.3])));
        for text in ["", "1,2", "1,2,3,4", "a,b,c"] {
            assert!(parse_triple(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!(parse_size("1024x768"), Ok(ImageSize { width: 1024, height: 768 }));
        assert!(parse_size("0x5").is_err());
        assert!(parse_size("big").is_err());
    }
}
