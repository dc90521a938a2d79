//! The header that is committed is the one that the sources make.

use std::fs;
use std::path::Path;

/// Asked for, writes the header instead of holding it against the sources.
const WRITE: &str = "VISAPULT_WRITE_HEADER";

#[test]
fn the_header_is_up_to_date() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut builder = cbindgen::Builder::new().with_config(cbindgen::Config::from_file(root.join("cbindgen.toml"))?);
    for source in ["failure", "declaration", "publisher", "steering"] {
        builder = builder.with_src(root.join(format!("src/{source}.rs")));
    }
    let mut made = Vec::new();
    builder.generate()?.write(&mut made);
    let kept = root.join("visapult.h");
    if std::env::var_os(WRITE).is_some() {
        fs::write(&kept, &made)?;
    }
    assert!(fs::read(&kept)? == made, "visapult.h is old: run {WRITE}=1 cargo test -p visapult-c --test header");
    Ok(())
}
