//! `visapult verify`: holds files against the manifest of a copy.

use std::process::ExitCode;

use anyhow::Result;
use visapult_copy::{counted, size, verify};

use crate::arguments::VerifyOptions;

pub(crate) fn run(options: &VerifyOptions) -> Result<ExitCode> {
    let verified = verify(&options.manifest, &options.folder, &mut |path, why| eprintln!("visapult: {path}: {why}"))?;
    let right = counted(verified.right, "file");
    if verified.wrong == 0 {
        println!("verified {right}, {}", size(verified.bytes));
        return Ok(ExitCode::SUCCESS);
    }
    println!("verified {right}, {}; {} WRONG", size(verified.bytes), verified.wrong);
    Ok(ExitCode::FAILURE)
}
