//! Rebuilds the crate when the pages change: they are embedded.

fn main() {
    println!("cargo:rerun-if-changed=../../web/dist");
}
